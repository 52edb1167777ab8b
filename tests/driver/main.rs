//! Runs: recorded, replayed, resumed, streamed; the shipped agents.

#[path = "../common/repertoire/mod.rs"]
mod repertoire;
#[path = "../common/simulated/mod.rs"]
mod simulated;
#[path = "../common/stage/mod.rs"]
mod stage;
#[path = "../common/stories/mod.rs"]
mod stories;

mod agents;
mod durable;
mod fixture_file;
mod golden;
mod human;
mod journal_file;
mod keys;
mod legible;
mod model_cache;
mod model_cache_shared;
mod model_scripted;
mod observer;
mod probe;
mod record;
mod record_keys;
mod replay;
mod resume;
mod runs;
mod simulation;
mod stream;
mod thread;
mod tools;
mod tools_registered;
mod waits;
