//! LLM agents on a pure, finite state machine.
#![forbid(unsafe_code)]

pub mod agents;
pub mod contract;
pub mod driver;
pub mod machine;
pub mod model;
pub mod prompt;
pub mod spec;
