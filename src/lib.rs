//! LLM agents on a pure, finite state machine: bounded, traced, recorded and replayed byte for byte.
//!
//! A model proposes a plan; a pure transition function decides, phase by phase (PLAN, EXECUTE,
//! VALIDATE, WRITE, DONE, ERROR), what happens next, and writes down why. A run is a fold of its
//! events, so the same run can be resumed, replayed from a file, drawn and proved bounded.
//!
//! ```
//! use planwright::prelude::*;
//! use planwright_offline::Offline;
//!
//! // A shipped agent, reduced to one tool of our own; the offline model needs no key.
//! let notes = ToolContract::text("notes", "Searches my notes.", ToolEffect::Pure);
//! let agent = Agent::builder(planwright::agents::shipped("validated").unwrap().with_tools(|_| false))
//!     .model(Offline::new())
//!     .tool(FnTool::new(notes, |_| Ok("The boiler was serviced on 3 May by Kim Ltd.".into())))
//!     .build()?;
//!
//! let run = agent.run("Who serviced the boiler?")?;
//! assert!(run.answer().unwrap().contains("Kim Ltd"));
//! for line in run.trace() {
//!     println!("{}", serde_json::to_string(line)?);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - Run an agent: [`Agent::builder`](driver::Agent::builder), then [`run`](driver::Agent::run), or
//!   [`job`](driver::Agent::job) for a journal, an observer or a fixture.
//! - Go on after a crash, or answer for a person: [`Agent::resume`](driver::Agent::resume), and
//!   [`Threads`](driver::Threads) over a [`Store`](journal::Store).
//! - Test an agent without a network: record with [`Job::record`](driver::Job::record), replay with
//!   [`assert_replays!`].
//! - Write a model, a tool or an observer: [`ports`].
//! - Choose how an agent plans, checks and asks: [`spec`].
//!
//! The modules stand in reading order below: a module names those above it and none below. Models that speak
//! to servers, tools, the stores in databases, the offline model and the program are crates of their own: there is no
//! network, database or command line in the dependency tree of this one.

#![forbid(unsafe_code)]

pub mod contract;
pub mod spec;

pub mod agents;
pub mod machine;
pub mod prompt;

pub mod ports;

pub mod journal;

pub mod driver;

/// What most programs that run an agent name.
pub mod prelude {
    pub use crate::assert_replays;
    pub use crate::contract::{ToolContract, ToolEffect};
    pub use crate::driver::{Agent, RecordMode, Run, Stopped, Threads};
    pub use crate::journal::Fixture;
    pub use crate::machine::{HumanAnswer, Input, ModelReply};
    pub use crate::ports::{FnTool, Model, ScriptedModel, Tool, ToolCall, ToolError};
    pub use crate::spec::Spec;
}

/// Replays a fixture against an agent, and panics with every difference where it does not repeat.
/// The [`Run`](driver::Run) is the value.
///
/// ```
/// use planwright::prelude::*;
///
/// let agent = Agent::builder(planwright::agents::shipped("validated").unwrap()).build()?;
/// let run = assert_replays!("fixtures/validated/replanned_twice.json", agent);
/// assert_eq!(run.error(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! assert_replays {
    ($path:expr, $agent:expr) => {{
        let path: &::std::path::Path = ::std::convert::AsRef::<::std::path::Path>::as_ref(&$path);
        let fixture = $crate::journal::Fixture::load(path).unwrap_or_else(|error| panic!("{error}"));
        match $agent.replay(&fixture) {
            ::std::result::Result::Ok(run) => run,
            ::std::result::Result::Err(stopped) => {
                panic!("{} does not replay\n{stopped}", path.display())
            }
        }
    }};
}

/// The README's examples, compiled and run with the other doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
