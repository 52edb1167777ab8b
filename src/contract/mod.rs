//! Contracts: what a model must say and what a tool must declare.
//!
//! Every contract has two halves that are kept side by side: a JSON schema that goes *out* with the
//! request, and a strict parser for what comes *in*. Servers may ignore the schema, cut the reply or wrap
//! it in prose; nothing reaches the machine that was not parsed here.
//!
//! **Invariant:** nothing in this folder does I/O, and no text from outside can make it panic.

mod contained;
mod growing;
mod intake;
mod plan;
mod read;
mod replies;
#[doc(hidden)]
pub mod schema;
mod text;
mod tool;
mod trust;

pub(crate) use contained::find_addresses;
pub(crate) use growing::{WordsIn, split_thoughts};
pub use plan::{AskedCall, EditedSteps, FinalStep, Plan, PlanPolicy, PlanStep};
pub(crate) use plan::{FILL, Hole, Links, USUAL_HOLES, is_default, is_expression};
pub use read::ContractError;
pub(crate) use read::{parse_words, strip_thoughts};
pub(crate) use replies::Filling;
pub use replies::{AnswerForm, Decision, Shortfall, Validate, Verdict};
pub(crate) use text::canonical;
pub(crate) use tool::check_name;
pub use tool::{Source, ToolContract, ToolEffect};
pub use trust::{ArgumentRole, FieldType, Label, OutputField, OutputFormat, Trust};

// For the other crates of this workspace and for tests.
#[doc(hidden)]
pub use intake::{Intent, IntentForm, PreviousContext, Scope};
#[doc(hidden)]
pub use plan::{
    Before, LabelledPart, Origin, PlanContract, PlanSays, ReactReply, ReadPlan, Returned, StepField,
    Unresolved, label_input, resolve_input,
};
#[doc(hidden)]
pub use replies::{Action, Collaboration};
#[doc(hidden)]
pub use text::{excerpt, first_chars, is_sanitized, is_shown, sanitize, sanitize_value};
#[doc(hidden)]
pub use tool::{FINAL_ANSWER, HITL};
