//! Contracts: what a model must say and what a tool must declare.
//!
//! Every contract has two halves that are kept side by side: a JSON schema that goes *out* with the
//! request ([`schema`]), and a strict reading of what comes *in* ([`read`]). Servers may ignore the
//! schema, cut the reply or wrap it in prose; nothing that has not been read here reaches the machine.
//!
//! **Invariant:** nothing in this folder does I/O, and no text from outside can make it panic.

pub mod answer;
pub mod calls;
mod canonical;
mod compat;
pub mod decision;
pub mod intake;
pub mod plan;
pub mod react;
pub mod read;
mod sanitize;
pub mod schema;
mod source;
pub mod tool;
pub mod verdict;

pub use answer::AnswerForm;
pub use calls::AskedCall;
pub use canonical::canonical;
pub use decision::{Action, Collaboration, Decision};
pub use intake::{Confidence, Intent, IntentForm, PreviousContext, Scope};
pub use plan::{
    FINAL_ANSWER, FinalStep, HITL, Plan, PlanContract, PlanSays, PlanShape, PlanStep, ReadPlan, StepField,
};
pub use read::ContractError;
pub use sanitize::{is_sanitized, sanitize};
pub use source::Source;
pub use tool::{ToolContract, ToolEffect, Trust};
pub use verdict::{Verdict, VerdictForm};
