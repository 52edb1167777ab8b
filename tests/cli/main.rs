//! The program, as its users run it.

#[path = "../common/cli_support/mod.rs"]
mod cli_support;
#[path = "../common/faults/mod.rs"]
mod faults;
#[cfg(unix)]
#[path = "../common/postgres/mod.rs"]
mod postgres;
#[path = "../common/support.rs"]
mod support;

mod chat;
mod compare;
mod copied;
mod cost;
mod coverage;
mod crash_calls;
#[cfg(unix)]
mod ctrl_c;
mod damage;
mod explain;
mod file_limits;
mod golden;
mod hinted;
mod human;
mod keys;
mod legible;
mod mcp;
mod mcp_ends;
mod models;
mod one_writer;
#[cfg(unix)]
mod page;
mod private;
mod replay;
mod replayed;
mod run;
mod serve;
mod shown;
mod stored;
#[cfg(unix)]
mod telemetry;
#[cfg(unix)]
mod telemetry_logs;
mod telemetry_truth;
mod terminal;
mod threads;
mod usage;
mod verify;
mod view;
mod waiting;
mod world;
