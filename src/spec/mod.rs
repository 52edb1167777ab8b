//! The spec: every choice an agent may make, as data.
//!
//! A [`Spec`] is what a person writes (as TOML) and what a journal keeps. [`Spec::check`] refuses
//! contradictions once and gives a [`CompiledSpec`]: the spec together with what is worked out from it
//! once, such as the contracts' schemas, the constant part of each request and the bounds of a run.
//!
//! **Invariant:** no code asks which agent runs. Whatever agents may differ in is a field here.

mod bounds;
mod check;
mod compiled;
mod definition;
mod error;
mod frame;
mod grant;
mod limits;
mod mcp;
mod parse;
mod policy;
mod role;
mod steps;
mod suggest;
pub(crate) mod tools;

pub use crate::contract::{PlanPolicy, Validate};
pub use compiled::CompiledSpec;
pub(crate) use compiled::MAX_NESTING;
pub use definition::{Spec, SubAgent};
pub use error::SpecError;
pub use frame::RequestFrame;
pub use limits::{Bounds, Limits, Money, Price};
pub use mcp::{McpHints, McpOverride, McpPin, McpPins, McpServer, McpTool};
pub use policy::{
    Containment, Horizon, Intake, IntentPolicy, Memory, OnExhausted, OnReplan, OnUnauthorised, Planner,
    Policy, Suggestion, ValidateAt, Write,
};
pub use role::{OnFailure, Role, RoleName};
pub use steps::{
    Approval, Duplicates, Execution, OnExpiry, OnRejection, OnStepFailure, Orchestrate, RequiredCall,
    StepTries,
};

// For the other crates of this workspace and for tests.
#[doc(hidden)]
pub use compiled::{CompiledAgent, Suggested};
#[doc(hidden)]
pub use frame::Digest;
#[doc(hidden)]
pub use parse::{TomlError, parse_toml};
#[doc(hidden)]
pub use policy::OnCut;
