//! Contracts: what a model must say and what a tool must declare.
//!
//! Every contract has two halves that are kept side by side: a JSON schema that goes *out* with the
//! request ([`schema`]), and a strict reading of what comes *in* ([`read`]). Servers may ignore the
//! schema, cut the reply or wrap it in prose; nothing that has not been read here reaches the machine.
//!
//! **Invariant:** nothing in this folder does I/O, and no text from outside can make it panic.

pub mod answer;
pub mod plan;
pub mod read;
pub mod schema;
pub mod tool;
pub mod verdict;

pub use answer::AnswerForm;
pub use plan::{FINAL_ANSWER, FinalStep, Plan, PlanContract, PlanStep, StepField};
pub use read::ContractError;
pub use tool::{ToolContract, ToolEffect, Trust};
pub use verdict::Verdict;
