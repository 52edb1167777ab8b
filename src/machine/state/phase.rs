//! The phases, and what each is doing at the moment.

use serde::{Deserialize, Serialize};

use crate::contract::ContractError;
use crate::machine::vocabulary::{PhaseName, WriteReason};

/// The six phases. What a phase is doing at the moment is data inside it: its stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// A plan is made.
    Plan(PlanStage),
    /// The steps of an accepted plan run.
    Execute(ExecuteStage),
    /// The results are judged.
    Validate(Asking),
    /// The answer is written.
    Write(Writing),
    /// There is an answer. Nothing more happens.
    Done,
    /// The run ended without one. Nothing more happens.
    Error,
}

impl Phase {
    /// The phase without its stage.
    pub fn name(&self) -> PhaseName {
        match self {
            Phase::Plan(_) => PhaseName::Plan,
            Phase::Execute(_) => PhaseName::Execute,
            Phase::Validate(_) => PhaseName::Validate,
            Phase::Write(_) => PhaseName::Write,
            Phase::Done => PhaseName::Done,
            Phase::Error => PhaseName::Error,
        }
    }
}

/// What PLAN is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStage {
    /// Waiting to hear whether the question is in scope.
    Screening(Asking),
    /// Waiting to hear whether the answer needs the earlier turns.
    Recalling(Asking),
    /// Waiting to hear what the user wants.
    Classifying(Asking),
    /// Waiting for a planner's reply: the first plan, one after a rejection, or the next steps.
    Drafting(Asking),
    /// Waiting for a person to approve the plan. Nothing of it runs before they do.
    AwaitingApproval,
}

impl PlanStage {
    /// The reply of a model that it waits for, where it waits for one.
    pub fn asking(&self) -> Option<&Asking> {
        match self {
            PlanStage::Screening(asking)
            | PlanStage::Recalling(asking)
            | PlanStage::Classifying(asking)
            | PlanStage::Drafting(asking) => Some(asking),
            PlanStage::AwaitingApproval => None,
        }
    }
}

/// What EXECUTE is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecuteStage {
    /// Steps run.
    Running,
    /// Waiting for a person to answer about one step. Nothing else moves until they do.
    AwaitingHuman {
        /// The step's position in the plan, from 0.
        step: u32,
    },
    /// Waiting for a person to approve the call of one step. Nothing else moves until they answer.
    AwaitingCallApproval {
        /// The step's position in the plan, from 0.
        step: u32,
    },
    /// Waiting to hear what becomes of the rest of the plan. No step runs.
    Orchestrating(Asking),
}

/// Waiting for one reply of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Which asking this is, from 1; later ones are repairs.
    pub ask: u32,
    /// What was wrong with the reply before, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Box<Repair>>,
}

impl Asking {
    /// The first asking.
    pub fn first() -> Self {
        Asking { ask: 1, repair: None }
    }
}

/// What WRITE is doing: waiting for the writer, and why it may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Why the run may write.
    pub gate: WriteReason,
    /// The reply it waits for.
    #[serde(flatten)]
    pub asking: Asking,
}

/// A reply that broke its contract, to be shown to the model with the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// What was wrong, and where.
    pub error: ContractError,
    /// The reply, cut to a bounded length.
    pub reply: String,
}
