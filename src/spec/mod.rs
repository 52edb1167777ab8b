//! The spec: every choice an agent may make, as data.
//!
//! A [`Spec`] is what a person writes (as TOML) and what a journal keeps. [`Spec::check`] refuses
//! contradictions once and gives [`CompiledSpec`]: the spec together with all that is worked out from it
//! once, such as the tool index, the contracts' schemas, the constant part of each request with its
//! digest, and the bounds of a run.
//!
//! **Invariant:** nothing in this crate asks which agent runs. Whatever agents may differ in is a
//! field here.

mod approval;
mod bounds;
mod check;
mod compiled;
mod counting;
mod definition;
mod digest;
mod error;
mod execution;
mod frame;
mod limits;
mod money;
mod policy;
mod prices;
mod role;
mod suggest;

pub use approval::{Approval, OnExpiry, OnRejection};
pub use bounds::Bounds;
pub(crate) use compiled::MAX_NESTING;
pub use compiled::{CompiledSpec, Doer};
pub use definition::{Member, Spec};
pub use digest::Digest;
pub use error::SpecError;
pub use execution::Execution;
pub use frame::RequestFrame;
pub use limits::Limits;
pub use money::{Money, Price, Prices};
pub use policy::{
    Containment, Duplicates, Horizon, Intake, IntentPolicy, Memory, OnBadReply, OnExhausted, OnReplan,
    OnStepFailure, Orchestrate, PlanPolicy, Planner, Policy, RequiredCall, StepTries, Suggestion, Validate,
    ValidateAt, Write,
};
pub use role::{OnFailure, Role, RoleName, Roles};
pub use suggest::Suggested;
