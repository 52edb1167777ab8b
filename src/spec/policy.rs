//! Policy: the choices in which one agent differs from another.

use serde::{Deserialize, Serialize};

use crate::contract::{FinalStep, StepField};

/// Every choice of an agent. Left-out fields take the default that each names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What a plan must look like.
    pub plan: PlanPolicy,
    /// What follows from a failed step.
    pub on_step_failure: OnStepFailure,
    /// What a new plan keeps of the old one.
    pub on_replan: OnReplan,
    /// What follows from a reply that does not read.
    pub on_bad_reply: OnBadReply,
    /// Whether steps run one by one or side by side.
    pub execution: Execution,
    /// Whether the results are judged before the answer is written.
    pub validate: Validate,
    /// What follows when the replans are used up.
    pub on_exhausted: OnExhausted,
    /// What a plan made after reading untrusted output may do.
    pub containment: Containment,
}

/// What a plan must look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanPolicy {
    /// Fewest steps of a plan; 1 unless set.
    pub min_steps: u32,
    /// Most steps of a plan; 6 unless set.
    pub max_steps: u32,
    /// Whether the last step must be `final_answer`; it must unless set.
    pub final_step: FinalStep,
    /// The optional step fields that the planner is offered; none unless set.
    pub fields: Vec<StepField>,
}

impl Default for PlanPolicy {
    fn default() -> Self {
        PlanPolicy { min_steps: 1, max_steps: 6, final_step: FinalStep::Required, fields: Vec::new() }
    }
}

/// What follows from a failed step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStepFailure {
    /// The failure is a result like any other, and the run goes on.
    #[default]
    Record,
    /// The run goes back to PLAN with the failure, while replans remain.
    Replan,
    /// The run ends.
    Abort,
}

/// What a new plan keeps of the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReplan {
    /// Nothing: the new plan runs whole and only its results reach validator and writer. The old
    /// plan and its results stay in the audit trail.
    #[default]
    Restart,
}

/// What follows from a reply that breaks its contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadReply {
    /// The run ends at once.
    Fail,
    /// The model is asked again and shown the exact error, at most `limits.max_repairs` times for
    /// each reply that was asked for.
    #[default]
    Repair,
}

/// How the steps of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Execution {
    /// One by one, in plan order.
    #[default]
    Sequential,
    /// Each as soon as the steps it waits for are finished, at most `width` at a time. A write that
    /// is not idempotent runs alone.
    Parallel {
        /// Most steps at a time.
        width: u32,
    },
}

impl Execution {
    /// Most steps that run at a time.
    pub fn width(self) -> u32 {
        match self {
            Execution::Sequential => 1,
            Execution::Parallel { width } => width,
        }
    }
}

/// Whether the results of a plan are judged before the answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// No. The whole-plan check is the only validation.
    Off,
    /// The validator gives a verdict on the results.
    #[default]
    Verdict,
}

/// What follows when the replans are used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run ends.
    #[default]
    Fail,
    /// The answer is written with what there is.
    Write,
}

/// What a plan made after reading untrusted output may do. The choice, the run's taint and each
/// plan's own are kept in state and journal; this version does not yet refuse steps by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// It may add `pure` and `read` steps.
    #[default]
    Standard,
    /// It may add `pure` steps.
    Strict,
}
