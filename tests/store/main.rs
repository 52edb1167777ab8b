//! Stores: conformance, damage, faults, kills.

#[path = "../common/crash_support/mod.rs"]
mod crash_support;
#[path = "../common/faults/mod.rs"]
mod faults;
#[path = "../common/stage/mod.rs"]
mod stage;

mod altered;
mod at_once;
mod bent;
mod concurrent_resumes;
mod conformance;
mod crash_bytes;
mod crash_kill;
mod damaged;
mod durable_growth;
mod files;
mod groups;
mod hooked;
mod io;
mod place;
mod processes;
mod prune;
mod specs;
mod strike;
mod support;
mod system_faults;
