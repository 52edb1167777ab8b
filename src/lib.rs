//! LLM agents on a pure, finite state machine: bounded, traced, recorded and replayed byte for byte.
//!
//! A model proposes a plan; a pure transition function decides, phase by phase (PLAN, EXECUTE,
//! VALIDATE, WRITE, DONE, ERROR), what happens next, and writes down why. A run is a fold of its
//! events, so the same run can be resumed, replayed from a file, drawn and proved bounded.
//!
//! ```
//! use planwright::driver::Agent;
//! use planwright::model::Offline;
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
//! 4. [`journal`]: records, stores, fixtures, drift.
//! 5. [`driver`]: the loop, and the ports to the world.
//! 6. [`model`] and [`tool`]: the doors.
//! 7. the command line.
//!
//! # Features
//!
//! All are on by default. `http`: the OpenAI-compatible model, `wiki`, `lookup`, `search`. `calc`:
//! the calculator. `docs`: full-text search over a folder. `cli`: the command-line program. Without
//! any of them the crate has no network, database or command-line code in its dependency tree.

#![forbid(unsafe_code)]

pub mod contract;
pub mod spec;

pub mod agents;
pub mod machine;

pub mod prompt;

pub mod journal;

pub mod driver;

pub mod model;
pub mod tool;

#[cfg(feature = "cli")]
pub mod cli;

/// The README's examples, compiled and run with the other doctests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
