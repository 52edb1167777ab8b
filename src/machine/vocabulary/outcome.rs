//! Names for how things stand and go wrong: phases, why a run may write, errors, refusals.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::effect::EffectId;
use crate::contract::ContractError;

/// The name of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PhaseName {
    /// A plan is made.
    Plan,
    /// The steps of an accepted plan run.
    Execute,
    /// The results are judged.
    Validate,
    /// The answer is written.
    Write,
    /// There is an answer. Nothing more happens.
    Done,
    /// The run ended without one. Nothing more happens.
    Error,
}

impl PhaseName {
    /// Whether nothing follows this phase.
    pub fn is_terminal(self) -> bool {
        matches!(self, PhaseName::Done | PhaseName::Error)
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a run may enter WRITE. There is no other way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteReason {
    /// The validator accepted.
    Accepted,
    /// The policy has no validator.
    ValidationOff,
    /// The replans or the iterations are used up and the policy says to answer with what there is.
    Exhausted,
    /// No tool is needed, or no further one.
    NoToolNeeded,
    /// The written answer is judged, and not what was collected.
    JudgedAfterwards,
}

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
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{code}: {message}")]
pub struct RunError {
    /// The kind.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
}

/// The kinds of errors that end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
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
    /// The time for an answer ran out.
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

/// Why a step was not started. What is said of it is the same whatever was planned: no text can speak through a
/// refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Denial {
    /// No plan and no person has granted the call.
    AuthorityMissing,
    /// The call was granted, and has been made as often as that.
    AuthoritySpent,
    /// A plan that was made after something untrusted was read adds the call.
    PlanTaintedWrite,
    /// A person would be asked about the call, and was asked as often as they may be.
    QuestionLimit,
    /// A plan that was made after something untrusted was read adds a read whose arguments leave for a place that they
    /// name.
    EgressUntrusted,
}

impl Denial {
    /// Every denial.
    pub const ALL: [Denial; 5] = [
        Denial::AuthorityMissing,
        Denial::AuthoritySpent,
        Denial::PlanTaintedWrite,
        Denial::QuestionLimit,
        Denial::EgressUntrusted,
    ];

    /// The code: `authority_missing`, ….
    pub fn code(self) -> &'static str {
        match self {
            Denial::AuthorityMissing => "authority_missing",
            Denial::AuthoritySpent => "authority_spent",
            Denial::PlanTaintedWrite => "plan_tainted_write",
            Denial::QuestionLimit => "question_limit",
            Denial::EgressUntrusted => "egress_untrusted",
        }
    }

    /// What models and people are told.
    pub fn message(self) -> &'static str {
        match self {
            Denial::AuthorityMissing => {
                "not called: neither the first plan nor a person has allowed this call"
            }
            Denial::AuthoritySpent => "not called: this call was allowed once, and that is used up",
            Denial::PlanTaintedWrite => {
                "not called: this plan was made after untrusted text was read, and adds the call"
            }
            Denial::QuestionLimit => "not called: nobody may be asked about any more calls in this run",
            Denial::EgressUntrusted => {
                "not called: this plan was made after untrusted text was read, and adds an address to read"
            }
        }
    }
}

/// Why an event does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The run does not wait for this effect: it was answered before, or never asked for.
    #[error("the run does not wait for {0}")]
    NotAwaited(EffectId),
    /// The effect is outstanding, and this kind of event does not answer it.
    #[error("this kind of event does not answer {0}")]
    WrongKind(EffectId),
    /// The steps that a person wrote do not pass the checks of a plan. The question stands.
    #[error("the edited steps do not fit: {0}")]
    BadEdit(Box<ContractError>),
    /// The calls that a person allowed are not among those that they were asked about. The question stands.
    #[error("expected positions from 1 to {most}, ascending and each once")]
    BadPositions {
        /// How many calls they were asked about.
        most: usize,
    },
    /// What a person picked is not among what they were offered. The question stands.
    #[error("expected one of {}, found another value", offered.join(", "))]
    BadPick {
        /// What they were offered.
        offered: Vec<String>,
    },
    /// The input that a person wrote is none that the tool takes. The question stands.
    #[error("the edited input does not fit: {0}")]
    BadInput(Box<ContractError>),
    /// This is asked, and a person cannot answer it so. The question stands.
    #[error("{effect} is answered by {expected}, not by `{answer}`")]
    WrongAnswer {
        /// What is asked.
        effect: EffectId,
        /// The kind of the answer.
        answer: &'static str,
        /// What would answer it.
        expected: &'static str,
    },
    /// No phase handles the event. A fault in the machine, never in the caller.
    #[error("no phase handles it")]
    Unhandled,
}
