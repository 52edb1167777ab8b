//! The task's memory: what a run knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Failure, Progress, RunError};
use crate::contract::{Decision, Intent, PlanStep, PreviousContext, Scope, Source, Verdict};
use crate::machine::TraceLine;
use crate::machine::event::Usage;
use crate::spec::{Money, RoleName};

/// What a run starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question. It is never rewritten: every role sees it as it was asked.
    pub question: String,
    /// The time of asking with its time zone, as the models are shown it (RFC 9557, such as
    /// `2026-11-20T09:30:00+09:00[Asia/Seoul]`); empty where the models are not to know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// The earlier turns of the thread, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Turn>,
    /// The parts of the material at hand, such as the articles of a contract: what of it has been
    /// read is told from the sources of the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<String>,
    /// Whose question it is, for people; no model is shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// For a nested run: the output of an earlier step that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// For a nested run: what the steps before it found, as far as it does not depend on chance which
    /// of them have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// For a nested run: the question of the run that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
}

impl Input {
    /// Whether the person whose question it is asks in Korean.
    pub fn is_korean(&self) -> bool {
        let asked = self.on_behalf_of.as_deref().unwrap_or(&self.question);
        asked.chars().any(|letter| ('\u{ac00}'..='\u{d7a3}').contains(&letter))
    }

    /// A question, without a time.
    pub fn question(question: impl Into<String>) -> Self {
        Input { question: question.into(), ..Input::default() }
    }
}

/// What a step before found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Who found it: an agent, a tool, or a person (`hitl`).
    pub by: String,
    /// What they were to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What came of it.
    pub output: String,
}

/// What was said earlier in the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Who said it.
    pub role: Speaker,
    /// What they said.
    pub content: String,
}

/// Who speaks in a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The person who asks.
    User,
    /// The agent.
    Assistant,
}

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
    pub permits_asked: Vec<u32>,
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

/// What a run has spent, nested runs included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Plans sent back so far, by rejections and step failures alike.
    pub replans: u32,
    /// Steps that an orchestrator added.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added_steps: u32,
    /// Model calls asked for.
    pub model_calls: u32,
    /// Of them, those that were answered out of the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_replies: u32,
    /// Tool calls asked for, further tries included.
    pub tool_calls: u32,
    /// Transitions made.
    pub transitions: u32,
    /// Tokens, summed over all replies.
    pub usage: Usage,
    /// What they cost, as far as prices are known.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
}

/// A question without earlier turns, and without the time.
impl From<&str> for Input {
    fn from(question: &str) -> Self {
        Input::question(question)
    }
}

/// A question without earlier turns, and without the time.
impl From<String> for Input {
    fn from(question: String) -> Self {
        Input::question(question)
    }
}
