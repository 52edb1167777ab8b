//! The store in Postgres: what is told on every store, and what a server of its own adds. Each test has a database of
//! its own on a private server.
#![cfg(unix)]

#[path = "../common/postgres/mod.rs"]
mod server;

#[allow(dead_code, reason = "a part of it is for journals in files")]
#[path = "../common/crash_support/mod.rs"]
mod crash_support;
// The same tests as on SQLite, over `place.rs` here.
#[path = "../store/concurrent_resumes.rs"]
mod concurrent_resumes;
#[path = "../store/conformance.rs"]
mod conformance;
#[path = "../store/crash_kill.rs"]
mod crash_kill;
#[path = "../store/hooked.rs"]
mod hooked;
#[allow(dead_code, unused_imports, reason = "a part of it is for journals in files")]
#[path = "../store/support.rs"]
mod support;

mod lost;
mod named;
mod own;
mod place;
mod tls;
