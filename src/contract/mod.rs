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
pub(crate) use plan::Links;
pub use plan::{AskedCall, FinalStep, Plan, PlanSays, PlanStep, StepField};
pub use read::ContractError;
pub(crate) use read::{check_size, strip_thoughts};
pub use replies::{Action, AnswerForm, Decision, Verdict};
pub use sanitize::sanitize;
pub use tool::{FINAL_ANSWER, HITL, Source, ToolContract, ToolEffect, Trust};
pub(crate) use tool::{canonical, check_name};

// For the other crates of this workspace and for tests.
#[doc(hidden)]
pub use intake::{Intent, PreviousContext, Scope};
#[doc(hidden)]
pub use plan::{Before, PlanContract, PlanShape, ReactReply, ReadPlan};
#[doc(hidden)]
pub use read::excerpt;
#[doc(hidden)]
pub use replies::{Collaboration, VerdictForm};
#[doc(hidden)]
pub use sanitize::is_sanitized;
