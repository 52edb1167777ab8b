//! The task's memory: what a run knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Counters;
use super::input::Input;
use super::steps::{Progress, StepRun};
use crate::contract::{Decision, Intent, PlanStep, PreviousContext, Scope, Source, Verdict};
use crate::machine::vocabulary::{Failure, RunError, TraceLine, Usage};
use crate::spec::RoleName;

/// The task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What the run started from.
    pub input: Input,
    /// What was found out about the question before the first draft.
    #[serde(default, skip_serializing_if = "Understanding::is_empty")]
    pub understanding: Understanding,
    /// Which draft of the plan is being made or carried out, from 1.
    pub draft: u32,
    /// One entry for each draft so far.
    pub drafts: Vec<Draft>,
    /// Why the plan before was sent back, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The plan being carried out, and how far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What the orchestrator decided, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decided>,
    /// What came of the run so far.
    pub artifacts: Artifacts,
    /// What went wrong so far, in order: bad replies and what ended the run. Failed steps are in the
    /// steps, rejections in the trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What was spent so far.
    pub counters: Counters,
    /// The tokens among it of each role that is not an agent's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage_by_role: BTreeMap<RoleName, Usage>,
    /// The tokens among it of each agent that does steps, by its name. What a whole agent's run spends
    /// is that agent's, whoever spent it in there: so each token is counted under one name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage_by_agent: BTreeMap<String, Usage>,
    /// Whether untrusted output has been read. It only ever becomes true.
    pub tainted: bool,
    /// One line for each phase visit and for what happened between them.
    pub trace: Vec<TraceLine>,
}

impl Task {
    /// The memory of a run that begins.
    pub(in crate::machine) fn new(input: Input, tainted: bool) -> Self {
        Task {
            input,
            understanding: Understanding::default(),
            draft: 1,
            drafts: vec![Draft { tainted, ..Draft::default() }],
            feedback: None,
            progress: None,
            decisions: Vec::new(),
            artifacts: Artifacts::default(),
            failures: Vec::new(),
            counters: Counters::default(),
            usage_by_role: BTreeMap::new(),
            usage_by_agent: BTreeMap::new(),
            tainted,
            trace: Vec::new(),
        }
    }

    /// What was planned at a position.
    pub(in crate::machine) fn planned(&self, step: u32) -> Option<&PlanStep> {
        self.progress.as_ref()?.plan.steps.get(step as usize)
    }

    /// How far the step at a position is.
    pub(in crate::machine) fn slot(&mut self, step: u32) -> Option<&mut StepRun> {
        self.progress.as_mut()?.steps.get_mut(step as usize)
    }

    /// The name of a step of the plan under way.
    pub(in crate::machine) fn step_name(&self, step: u32) -> String {
        self.planned(step).map(|planned| planned.name(step as usize)).unwrap_or_default()
    }

    /// The steps of the current draft with how far they are, after their positions.
    pub(in crate::machine) fn drafted(&self) -> impl Iterator<Item = (usize, &PlanStep, &StepRun)> {
        let steps = self.progress.iter().flat_map(|progress| progress.plan.steps.iter().zip(&progress.steps));
        steps.enumerate().skip(self.first_step()).map(|(at, (planned, run))| (at, planned, run))
    }

    /// The first failed step of the current draft: which, and how it failed.
    pub(in crate::machine) fn first_failure(&self) -> Option<(String, String)> {
        self.drafted().find_map(|(at, planned, run)| match run {
            StepRun::Failed { failure, .. } => {
                Some((format!("{} ({}) failed", planned.name(at), planned.tool), failure.shown.clone()))
            }
            _ => None,
        })
    }

    /// How many decisions of the orchestrator the current draft has had.
    pub(in crate::machine) fn decided(&self) -> u32 {
        self.drafts.last().map_or(0, |draft| draft.decision_asks.len() as u32)
    }

    /// The error that ended the run, where one did.
    pub fn error(&self) -> Option<&RunError> {
        self.artifacts.error.as_ref()
    }

    /// The tokens spent so far under the name of who spent them, as requests are named: a role
    /// (`planner`), in the order that a run asks them, then the agents (`agent:search`) by name. They
    /// add up to `counters.usage`.
    pub fn usage_by_name(&self) -> impl Iterator<Item = (String, Usage)> + '_ {
        let roles = self.usage_by_role.iter().map(|(role, usage)| (role.to_string(), *usage));
        let agents = self.usage_by_agent.iter().map(|(name, usage)| (format!("agent:{name}"), *usage));
        roles.chain(agents)
    }

    /// The question as tools and patterns should see it: rewritten to stand alone, where it was.
    pub fn query(&self) -> &str {
        let intent = self.understanding.intent.as_ref();
        intent.and_then(|intent| intent.rewritten_query.as_deref()).unwrap_or(&self.input.question)
    }

    /// The draft being made or carried out.
    pub(in crate::machine) fn current(&mut self) -> &mut Draft {
        if self.drafts.is_empty() {
            self.drafts.push(Draft::default());
        }
        self.drafts.last_mut().expect("one was put there if there was none")
    }

    /// How many steps stood before the current draft.
    pub fn first_step(&self) -> usize {
        self.drafts.last().map_or(0, |draft| draft.first_step as usize)
    }
}

/// What was found out about the question before the first draft.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Understanding {
    /// Whether it is in scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Whether the answer needs the earlier turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_context: Option<PreviousContext>,
    /// What the user wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// How many replies each of the three took.
    #[serde(default, skip_serializing_if = "is_zero_of_three")]
    pub asks: [u32; 3],
}

fn is_zero_of_three(asks: &[u32; 3]) -> bool {
    *asks == [0; 3]
}

impl Understanding {
    fn is_empty(&self) -> bool {
        *self == Understanding::default()
    }
}

/// One draft: what it took, and what stands between it and the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// How many steps stood before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_step: u32,
    /// How many replies it took to get the plan, repairs included; 0 before there is one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub plan_asks: u32,
    /// How many to get a verdict.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verdict_asks: u32,
    /// How many to get an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub write_asks: u32,
    /// How many each of the orchestrator's decisions took, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_asks: Vec<u32>,
    /// Whether a person was asked to approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approval_asked: bool,
    /// The steps whose calls a person was asked about, by their positions from 0, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls_asked: Vec<u32>,
    /// Whether it was made after untrusted output had been read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What the planner said beside its calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// What the validator said of it, where the planner goes on and is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<Verdict>>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A decision of the orchestrator, and when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// In which draft.
    pub draft: u32,
    /// After how many finished steps.
    pub after: u32,
    /// What was decided.
    pub decision: Decision,
    /// Whether it stands in for a decision that could not be had, or not be carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// Why a plan was sent back to PLAN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// The validator's reason, which step failed, or a person's word.
    pub reason: String,
    /// What the next plan should do differently; empty where nobody said.
    pub fix_hint: String,
    /// Whether it was a failed step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub step_failed: bool,
    /// The steps of that plan that had not begun, where what had begun is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<PlanStep>,
    /// The answer that was rejected, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Artifacts {
    /// Earlier plans with their results, oldest first: the audit trail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Progress>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_answer: Option<String>,
    /// Where what it rests on comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// What ended the run without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}
