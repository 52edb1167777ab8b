//! LLM agents on a pure, finite state machine: bounded, traced, recorded and replayed byte for byte.
//!
//! A model proposes a plan; a pure transition function decides, phase by phase (PLAN, EXECUTE,
//! VALIDATE, WRITE, DONE, ERROR), what happens next, and writes down why. A run is a fold of its
//! events, so the same run can be resumed, replayed from a file, drawn and proved bounded.
//!
//! ```
//! use planwright::driver::Agent;
//! use planwright_offline::Offline;
//! use planwright::tool::FnTool;
//! use planwright::contract::{ToolContract, ToolEffect};
//! use planwright::agents;
//!
//! // A shipped agent, reduced to one tool of our own; the offline model needs no key.
//! let notes = ToolContract::text("notes", "Searches my notes.", ToolEffect::Pure);
//! let agent = Agent::builder(agents::shipped("validated").unwrap().with_tools(|_| false))
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
//! # Floor plan
//!
//! The modules, in reading order. Imports point only downstairs: a module names those above it in
//! this list and none below; a test holds that.
//!
//! 0. [`contract`]: what models must say and tools must declare.
//! 1. [`spec`]: every choice an agent may make, as data.
//! 2. [`machine`]: the rules; [`agents`]: the shipped specs.
//! 3. [`prompt`]: the words.
//! 4. [`ports`]: what the driver asks of the world: models, tools, people, observers.
//! 5. [`journal`]: records, stores, fixtures, drift.
//! 6. [`driver`]: the loop.
//!
//! Models that speak to servers, tools, the SQLite store, the offline model and the program are crates of
//! their own around this one: there is no network, database or command line in its dependency tree.

#![forbid(unsafe_code)]

pub mod contract;
pub mod spec;

pub mod agents;
pub mod machine;

pub mod prompt;

pub mod ports;

pub mod journal;

pub mod driver;

/// The README's examples, compiled and run with the other doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
