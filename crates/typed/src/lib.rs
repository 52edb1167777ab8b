//! Tools and answers as Rust types: what a model is told of them follows from the types and their doc comments.
//!
//! ```
//! use planwright::prelude::*;
//! use planwright_typed::{Answering, tool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! /// Books a meeting room for some hours.
//! #[derive(Deserialize, JsonSchema)]
//! struct Booking {
//!     /// The room's name.
//!     room: String,
//!     hours: u8,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Booked {
//!     id: u32,
//! }
//!
//! /// What was booked, and for how much.
//! #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
//! struct Invoice {
//!     item: String,
//!     cents: u32,
//! }
//!
//! let book = tool("book_room", ToolEffect::Write, |booking: Booking| {
//!     if booking.hours == 0 { Err(std::io::Error::other("no hours")) } else { Ok(Booked { id: 7 }) }
//! });
//! let model = ScriptedModel::replies([
//!     r#"{"goal": "book", "steps": [{"tool": "book_room", "input": {"room": "A", "hours": 2}},
//!                                   {"tool": "final_answer", "input": "sum up"}]}"#,
//!     r#"{"item": "Room A", "cents": 4000}"#,
//! ]);
//! let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
//! let agent = Agent::builder(spec).model(model).tool(book).build()?;
//!
//! let invoice: Invoice = agent.run_as("Book room A for two hours.")?;
//! assert_eq!(invoice, Invoice { item: "Room A".into(), cents: 4000 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A type that lacks a schema does not compile, and the error says which:
//!
//! ```compile_fail,E0277
//! #[derive(serde::Deserialize)]
//! struct Booking;
//!
//! planwright_typed::tool("book", planwright::contract::ToolEffect::Write, |_: Booking| Ok::<_, std::io::Error>(1));
//! ```

#![forbid(unsafe_code)]

mod answer;
mod failure;
mod schema;
mod tool;

pub use answer::{Answering, NoValue, form_of};
pub use failure::{DidNotHappen, Failure};
pub use schema::{Readable, Writable};
pub use tool::{TypedTool, method, tool, tool_with_call};

/// The guide's examples, compiled with the other doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
pub struct Guide;
