//! What went wrong in a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::phase_name::PhaseName;

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The phase it happened in.
    pub phase: PhaseName,
    /// The draft it happened in, from 1.
    pub draft: u32,
    /// What it was.
    pub message: String,
}

/// What ended a run without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The kind.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for RunError {}

/// The kinds of errors that end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// No usable plan came.
    PlanError,
    /// A step failed and the policy says to stop.
    ExecuteError,
    /// No usable verdict came.
    ValidateError,
    /// No usable answer came.
    WriteError,
    /// The validator rejected once more than there are replans.
    ValidationFailedMaxReplans,
    /// A step failed once more than there are replans.
    StepFailedMaxReplans,
    /// `max_transitions` is used up.
    MaxStepsExceeded,
    /// `max_model_calls` is used up.
    MaxModelCallsExceeded,
    /// `max_tool_calls` is used up.
    MaxToolCallsExceeded,
    /// PLAN was entered as often as it may be, and there is no answer.
    MaxIterationsExceeded,
    /// `max_tokens` is used up.
    MaxTokensExceeded,
    /// `max_cost` is used up.
    MaxCostExceeded,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// Someone stopped the run.
    Cancelled,
    /// The deadline passed.
    DeadlineExceeded,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
