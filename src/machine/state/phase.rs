//! The phases, and what each is doing at the moment.

use serde::{Deserialize, Serialize};

use crate::contract::ContractError;
use crate::machine::vocabulary::{PhaseName, WriteReason};

/// The six phases. What a phase is doing at the moment is data inside it: its stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    Plan(PlanStage),
    Execute(ExecuteStage),
    Validate(Asking),
    Write(Writing),
    Done,
    Error,
}

impl Phase {
    /// The phase without its stage.
    pub(crate) fn name(&self) -> PhaseName {
        match self {
            Phase::Plan(_) => PhaseName::Plan,
            Phase::Execute(_) => PhaseName::Execute,
            Phase::Validate(_) => PhaseName::Validate,
            Phase::Write(_) => PhaseName::Write,
            Phase::Done => PhaseName::Done,
            Phase::Error => PhaseName::Error,
        }
    }

    /// The reply of a model that the phase waits for.
    pub(crate) fn asking(&self) -> Option<&Asking> {
        match self {
            Phase::Plan(
                PlanStage::Screening(asking)
                | PlanStage::Recalling(asking)
                | PlanStage::Classifying(asking)
                | PlanStage::Granting(asking)
                | PlanStage::Drafting(asking),
            )
            | Phase::Execute(ExecuteStage::Orchestrating(asking) | ExecuteStage::Filling { asking, .. })
            | Phase::Validate(asking)
            | Phase::Write(Writing { asking, .. }) => Some(asking),
            _ => None,
        }
    }
}

/// What PLAN waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStage {
    /// Whether the question is in scope.
    Screening(Asking),
    /// Whether the answer needs the earlier turns.
    Recalling(Asking),
    /// What the user wants.
    Classifying(Asking),
    /// Which writes the question calls for.
    Granting(Asking),
    /// A planner's reply: the first plan, one after a rejection, or the next steps.
    Drafting(Asking),
    /// A person's approval of the plan. Nothing of it runs before.
    AwaitingApproval,
}

/// What EXECUTE is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecuteStage {
    /// Steps run.
    Running,
    /// A person is asked about one step. Nothing else moves until they answer.
    AwaitingHuman { step: u32 },
    /// A person is asked to approve the call of one step. Nothing else moves until they answer.
    AwaitingCallApproval { step: u32 },
    /// A person is asked which of several values a step is to take, for so many times from 1. Nothing else moves until
    /// they answer.
    AwaitingPick { step: u32, nth: u32 },
    /// A model is asked what becomes of the rest of the plan. No step runs.
    Orchestrating(Asking),
    /// A model writes a value that the input of one step leaves open. Nothing else moves until it is there.
    Filling { step: u32, asking: Asking },
}

/// Waiting for one reply of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Which asking this is, from 1; later ones are repairs.
    pub(crate) ask: u32,
    pub(crate) repair: Option<Box<Repair>>,
}

impl Asking {
    pub(crate) fn first() -> Self {
        Asking { ask: 1, repair: None }
    }
}

/// Waiting for the writer, and why WRITE was entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    pub(crate) gate: WriteReason,
    #[serde(flatten)]
    pub(crate) asking: Asking,
}

/// A reply that broke its contract, cut to a bounded length, to be shown to the model with the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    pub(crate) error: ContractError,
    pub(crate) reply: String,
}
