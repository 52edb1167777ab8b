//! The trace: the lines that a run leaves behind. No timings, no ids that change from run to run: equal
//! runs leave equal traces.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::effect::EffectId;
use super::event::HumanAnswer;
use super::outcome::{Denial, PhaseName};
use super::usage::is_zero;
use crate::contract::{Decision, LabelledPart, Plan, PlanStep, Verdict};
use crate::spec::RoleName;

/// One line of the trace: one for each visit of PLAN, EXECUTE, VALIDATE and WRITE, and one for each replan,
/// repair, decision and answer of a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum TraceLine {
    /// A visit of PLAN ended.
    Plan {
        /// Whether it gave a plan.
        ok: bool,
        /// Whether the re-planner was asked.
        used_replan_planner: bool,
        /// The steps of the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steps: Option<Steps>,
        /// What was left out of the reply because no plan may say it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<String>,
        /// What ended the run here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A visit of EXECUTE ended.
    Execute {
        /// Whether the run may go on with the results.
        ok: bool,
        /// How many steps have a result, failed ones and `final_answer` included.
        num_results: u32,
        /// How many of them failed.
        #[serde(default, skip_serializing_if = "is_zero")]
        num_failed: u32,
        /// How often a step was tried again.
        #[serde(default, skip_serializing_if = "is_zero")]
        num_retries: u32,
        /// The runs of the agents that did steps, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nested: Vec<NestedTrace>,
        /// What ended the run here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A visit of VALIDATE ended.
    Validate {
        /// Whether it gave a verdict.
        ok: bool,
        /// The verdict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict: Option<Verdict>,
        /// What ended the run here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The plan was sent back.
    ReplanTrigger {
        /// How many were, this one included.
        replan_count: u32,
        /// Why.
        reason: String,
        /// What the next plan should do differently.
        fix_hint: String,
    },
    /// It was found out whether the question is in scope.
    Scope {
        /// Whether it is.
        in_scope: bool,
    },
    /// It was found out whether the answer needs the earlier turns.
    PreviousContext {
        /// Whether it does.
        needed: bool,
    },
    /// It was found out what the user wants.
    Intent {
        /// The kind, or the whole in words.
        intent: String,
        /// Whether a tool is needed.
        needs_tool: bool,
    },
    /// It was found out which writes the question calls for.
    Grant {
        /// The writes, with the reads that they refer to. Each is good for one call.
        steps: Steps,
    },
    /// A step was left out because it repeats one that succeeded, or a write that the run has made.
    Skip {
        /// The step.
        step: String,
        /// Its tool.
        tool: String,
        /// The step it repeats.
        same_as: String,
    },
    /// A call was made that needs authority.
    Authority {
        /// The step.
        step: String,
        /// Its tool.
        tool: String,
        /// By what it was allowed.
        by: GrantedBy,
        /// The parts of its input that earlier steps chose, with who chose them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<LabelledPart>,
    },
    /// A model wrote values of a step's input.
    Fill {
        /// The step.
        step: String,
        /// Its tool.
        tool: String,
        /// How many.
        values: u32,
    },
    /// A step was not started because nothing allows it.
    Denied {
        /// The step.
        step: String,
        /// Its tool.
        tool: String,
        /// Why.
        code: Denial,
    },
    /// The orchestrator decided what becomes of the rest of the plan.
    Decision {
        /// After how many finished steps.
        after: u32,
        /// What was decided.
        decision: Box<Decision>,
        /// Whether it stands in for one that could not be had or carried out, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
        /// What remains to be done now, where that changed: who, in order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining: Option<Vec<String>>,
    },
    /// A person answered.
    Human {
        /// The step; `plan` where it was about a whole plan.
        step: String,
        /// What they were asked to do.
        #[serde(default, skip_serializing_if = "Concern::is_step")]
        about: Concern,
        /// What they said.
        answer: HumanAnswer,
    },
    /// The time for an answer ran out.
    Expired {
        /// The step; `plan` where it was about a whole plan.
        step: String,
        /// What the person was asked to do.
        #[serde(default, skip_serializing_if = "Concern::is_step")]
        about: Concern,
    },
    /// A role gave no usable reply, and what the spec gives in its place was read.
    Fallback {
        /// The role.
        of: RoleName,
        /// What was wrong with the reply.
        error: String,
    },
    /// A reply came out of the cache.
    Cached {
        /// Whose.
        of: RoleName,
        /// The step it was for, where it was for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// A reply broke its contract and is asked for again.
    Repair {
        /// The phase that asked.
        of: PhaseName,
        /// Which repair of this reply, from 1.
        repair: u32,
        /// What was wrong, and where.
        error: String,
    },
    /// A visit of WRITE ended.
    Write {
        /// Whether it gave an answer.
        ok: bool,
        /// The answer's length in characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_chars: Option<u32>,
        /// What ended the run here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl TraceLine {
    /// The phase that leaves the line; nothing where more than one may.
    pub(crate) fn within(&self) -> Option<PhaseName> {
        Some(match self {
            TraceLine::Plan { .. }
            | TraceLine::Scope { .. }
            | TraceLine::PreviousContext { .. }
            | TraceLine::Intent { .. }
            | TraceLine::Grant { .. } => PhaseName::Plan,
            TraceLine::Execute { .. }
            | TraceLine::Skip { .. }
            | TraceLine::Authority { .. }
            | TraceLine::Denied { .. }
            | TraceLine::Decision { .. } => PhaseName::Execute,
            TraceLine::Validate { .. } => PhaseName::Validate,
            TraceLine::Write { .. } => PhaseName::Write,
            TraceLine::Repair { of, .. } => *of,
            _ => return None,
        })
    }
}

/// By what a call is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedBy {
    /// A plan that was frozen before anything untrusted was read.
    Plan {
        /// The draft, from 1.
        draft: u32,
        /// The step of it that stands for the call.
        step: String,
    },
    /// The question: a write that it calls for, told before anything was read.
    Question {
        /// The granted step.
        step: String,
    },
    /// A person: the question that they answered.
    Approval(EffectId),
}

impl fmt::Display for GrantedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrantedBy::Plan { draft, step } => write!(f, "{step} of draft {draft}"),
            GrantedBy::Question { step } => write!(f, "{step} of what the question calls for"),
            GrantedBy::Approval(effect) => write!(f, "approved at {effect}"),
        }
    }
}

/// What a person is asked to do.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concern {
    /// A step of the plan.
    #[default]
    Step,
    /// To approve the plan.
    Plan,
    /// To allow the call of a step.
    Call,
    /// Which of several values a step is to take.
    Value,
}

impl Concern {
    fn is_step(&self) -> bool {
        *self == Concern::Step
    }
}

/// The trace of an agent's run, under the step it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedTrace {
    /// The step.
    pub step: String,
    /// The agent.
    pub agent: String,
    /// The trace.
    pub trace: Vec<TraceLine>,
}

/// The steps of a plan in a trace line. Shares the frozen plan: no step is copied.
#[derive(Clone, Debug)]
pub struct Steps(Arc<Plan>);

// A line read from a file knows the steps and not the goal, so the steps alone are compared.
impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Steps {
    pub(in crate::machine) fn of(plan: &Arc<Plan>) -> Self {
        Steps(Arc::clone(plan))
    }

    /// The steps, in plan order.
    pub fn as_slice(&self) -> &[PlanStep] {
        &self.0.steps
    }
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(sink)
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let steps = Vec::deserialize(source)?;
        Ok(Steps(Arc::new(Plan { steps, ..Plan::default() })))
    }
}
