//! Runs: recorded, replayed, resumed, streamed; the shipped agents.

#[path = "../../benches/support/mod.rs"]
mod canned;
#[path = "../common/repertoire/mod.rs"]
mod repertoire;
#[path = "../common/simulated/mod.rs"]
mod simulated;
#[path = "../common/stage/mod.rs"]
mod stage;
#[path = "../common/stories/mod.rs"]
mod stories;

mod agents;
mod allocations;
mod channel;
mod doubts;
mod durable;
mod fixture_file;
mod holes;
mod human;
mod journal_file;
mod keys;
mod legible;
mod model_cache;
mod model_scripted;
mod observer;
mod probe;
mod prompt_beginnings;
mod record;
mod replay;
mod resume;
mod retold;
mod runs;
mod simulation;
mod stream;
mod structured;
mod telemetry_ends;
mod thread;
mod tool_threads;
mod tools;
mod update;
mod waits;
