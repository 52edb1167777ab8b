//! Contracts: what a model must say and what a tool must declare.
//!
//! Every contract has two halves that are kept side by side: a JSON schema that goes *out* with the
//! request, and a strict parser for what comes *in*. Servers may ignore the schema, cut the reply or wrap
//! it in prose; nothing reaches the machine that was not parsed here.
//!
//! **Invariant:** nothing in this folder does I/O, and no text from outside can make it panic.

mod intake;
mod plan;
mod read;
mod replies;
mod sanitize;
pub mod schema;
mod tool;

pub use intake::IntentForm;
#[doc(hidden)]
pub use intake::{Intent, PreviousContext, Scope};
pub(crate) use plan::Links;
pub use plan::{AskedCall, FinalStep, Plan, PlanContract, PlanSays, PlanStep, StepField};
#[doc(hidden)]
pub use plan::{Before, PlanShape, ReactReply, ReadPlan};
pub use read::{ContractError, excerpt};
pub(crate) use read::{check_size, strip_thoughts};
pub use replies::{Action, AnswerForm, Collaboration, Decision, Verdict, VerdictForm};
pub use sanitize::{is_sanitized, sanitize};
pub use tool::{FINAL_ANSWER, HITL, Source, ToolContract, ToolEffect, Trust};
pub(crate) use tool::{canonical, check_name};
