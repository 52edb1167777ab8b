//! The plan: what a planner must say, checked whole before step 1 runs.

mod check;
mod links;
mod schema;
mod written;

pub use check::{PlanContract, PlanShape, ReadPlan};
pub use links::{Before, Links};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The pseudo-tool that ends a plan. It is recorded and never called.
pub const FINAL_ANSWER: &str = "final_answer";

/// The pseudo-tool that asks a person. It pauses the run until they have answered.
pub const HITL: &str = "hitl";

/// What a person is asked by a step that has no question: "Please approve".
pub const DEFAULT_QUESTION: &str = "승인해주세요";

/// A plan: a goal and the steps that lead there. Frozen once it is accepted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan is for, in the planner's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Why it was planned this way, where the planner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// How the steps belong together, where the planner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The steps, in plan order.
    #[serde(alias = "execution_steps")]
    pub steps: Vec<PlanStep>,
}

/// One step of a plan. It carries only what a plan may say; what happened to the step is kept by
/// the run, and a reply that sets it (`status`, `result`, …) is read without those fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanStep {
    /// The step's own name. Left out, it is `step_N` with N its position from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who does it: a tool, an agent, [`FINAL_ANSWER`] or [`HITL`].
    pub tool: String,
    /// Which of its tools an agent should take, where the planner says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Box<str>>,
    /// What the tool is called with: a text, or a JSON value where the tool's schema asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The earlier step whose output is this step's input: instead of `input` for a tool, beside it
    /// for an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_from: Option<String>,
    /// Earlier steps that must be finished before this one starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What an agent is to do; serves as its input where there is no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What the step is for, in the planner's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a person is asked, for a [`HITL`] step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_question: Option<String>,
}

impl PlanStep {
    /// Whether this is the pseudo-step that ends a plan.
    pub fn is_final(&self) -> bool {
        self.tool == FINAL_ANSWER
    }

    /// The step's name in a plan where it stands at `index` (from 0).
    pub fn name(&self, index: usize) -> String {
        self.id.clone().unwrap_or_else(|| default_name(index))
    }

    /// Whether a person does this step.
    pub fn is_hitl(&self) -> bool {
        self.tool == HITL
    }

    /// What an agent is told to do: the step's task, else its input, else its description.
    pub fn told(&self) -> &str {
        let input = self.input.as_ref().and_then(Value::as_str);
        let said = [self.task.as_deref(), input, self.description.as_deref()];
        said.into_iter().flatten().map(str::trim).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// What an agent is given to work on besides what it is told: its input, where it has a task too.
    pub fn given(&self) -> Option<&str> {
        self.task.as_ref().filter(|task| !task.trim().is_empty())?;
        self.input.as_ref().and_then(Value::as_str).filter(|input| !input.trim().is_empty())
    }

    /// What a person is asked.
    pub fn question(&self) -> &str {
        let said = [self.hitl_question.as_deref(), self.description.as_deref(), self.task.as_deref()];
        let said = said.into_iter().chain([self.input.as_ref().and_then(Value::as_str)]);
        said.flatten().map(str::trim).find(|text| !text.is_empty()).unwrap_or(DEFAULT_QUESTION)
    }

    fn refers(&self) -> bool {
        self.input_from.is_some() || !self.depends_on.is_empty()
    }
}

fn default_name(index: usize) -> String {
    format!("step_{}", index + 1)
}

/// Whether a plan must end in [`FINAL_ANSWER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalStep {
    /// The last step, and only the last, is [`FINAL_ANSWER`].
    #[default]
    Required,
    /// Plans have no such step.
    None,
}

/// An optional field of a plan step that the planner's schema offers. What the schema does not
/// offer is read all the same where a model sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepField {
    /// `id`: a name for the step.
    Id,
    /// `input_from`: an earlier step's output as input.
    InputFrom,
    /// `depends_on`: earlier steps to wait for.
    DependsOn,
    /// `description`: what the step is for.
    Description,
    /// `task`: what an agent is to do.
    Task,
    /// `hitl_question`: what a person is asked.
    HitlQuestion,
    /// `tool` beside `agent`: which of its tools an agent should take.
    With,
}

impl StepField {
    /// The field's name in a plan.
    pub fn as_str(self) -> &'static str {
        match self {
            StepField::Id => "id",
            StepField::InputFrom => "input_from",
            StepField::DependsOn => "depends_on",
            StepField::Description => "description",
            StepField::Task => "task",
            StepField::HitlQuestion => "hitl_question",
            StepField::With => "with",
        }
    }
}

/// What a plan must say beside its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSays {
    /// `goal`: what it is for. It must, unless set.
    pub goal: bool,
    /// `reasoning`: why it is planned this way.
    pub reasoning: bool,
    /// `strategy`: how the steps belong together.
    pub strategy: bool,
}

impl PlanSays {
    /// Nothing but its steps.
    pub const NOTHING: PlanSays = PlanSays { goal: false, reasoning: false, strategy: false };
}

impl Default for PlanSays {
    fn default() -> Self {
        PlanSays { goal: true, reasoning: false, strategy: false }
    }
}
