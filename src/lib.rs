//! LLM agents on a pure, finite state machine.
#![forbid(unsafe_code)]

pub mod agents;
#[cfg(feature = "cli")]
pub mod cli;
pub mod contract;
pub mod driver;
pub mod journal;
pub mod machine;
pub mod model;
pub mod prompt;
pub mod spec;
pub mod tool;
