//! Stores: conformance, damage, faults, kills.

#[path = "../common/crash_support/mod.rs"]
mod crash_support;
#[path = "../common/damaged/mod.rs"]
mod damaged;
#[path = "../common/faults/mod.rs"]
mod faults;
#[path = "../common/stage/mod.rs"]
mod stage;
#[path = "../common/store_conformance/mod.rs"]
mod store_conformance;

mod altered;
mod concurrent_resumes;
mod conformance;
mod crash_bytes;
mod crash_kill;
mod damage;
mod durable_growth;
mod faults_threads;
mod files;
mod golden;
mod hooked;
mod io;
mod processes;
mod prune;
mod specs;
mod system_faults;
