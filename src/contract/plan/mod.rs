//! The plan: what a planner must say, checked whole before step 1 runs.

mod actions;
mod contract;
mod links;
mod references;
mod written;

pub(super) use actions::find_labelled;
pub use actions::{AskedCall, ReactReply};
pub use contract::PlanContract;
pub use links::{Before, Links};
pub(crate) use references::{FILL, Hole, is_expression};
pub use references::{LabelledPart, Origin, Returned, Unresolved, label_input, resolve_input};
pub use written::EditedSteps;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ContractError, FINAL_ANSWER, HITL};

/// What a person is asked by a step that has no question: "Please approve".
const DEFAULT_QUESTION: &str = "승인해주세요";

/// A plan: a goal and the steps that lead there. Frozen once it is accepted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan is for, in the planner's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Why it was planned this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// How the steps belong together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The steps, in plan order.
    #[serde(alias = "execution_steps")]
    pub steps: Vec<PlanStep>,
}

/// One step of a plan, without what happened to it: a reply that sets that (`status`, …) is read without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanStep {
    /// The step's own name. Default: `step_N` with N its position from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool or agent that does it, `final_answer` or `hitl`.
    pub tool: String,
    /// The tool that an agent should take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Box<str>>,
    /// What the tool is called with: a text, or a JSON value if the tool's schema asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The step whose output is this step's input: instead of `input` for a tool, beside it for an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_from: Option<String>,
    /// Earlier steps that must be finished before this one starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What an agent is to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What the step is for, in the planner's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What a person is asked, for a `hitl` step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hitl_question: Option<String>,
}

impl PlanStep {
    /// Whether this is the pseudo-step that ends a plan.
    pub fn is_final(&self) -> bool {
        self.tool == FINAL_ANSWER
    }

    /// Whether a person does this step.
    pub fn is_hitl(&self) -> bool {
        self.tool == HITL
    }

    /// The step's name in a plan in which it stands at `index` (from 0).
    pub fn name(&self, index: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("step_{}", index + 1))
    }

    fn input_text(&self) -> Option<&str> {
        self.input.as_ref().and_then(Value::as_str)
    }

    /// What an agent is told to do: the step's task, else its input, else its description.
    pub fn instruction(&self) -> &str {
        let texts = [self.task.as_deref(), self.input_text(), self.description.as_deref()];
        first_filled(texts).unwrap_or_default()
    }

    /// What an agent works on besides its task: the step's input, if the step has a task too.
    pub(crate) fn material(&self) -> Option<&str> {
        self.task.as_ref().filter(|task| !task.trim().is_empty())?;
        self.input_text().filter(|input| !input.trim().is_empty())
    }

    /// What a person is asked.
    pub fn question(&self) -> &str {
        let [question, description, task] =
            [&self.hitl_question, &self.description, &self.task].map(Option::as_deref);
        first_filled([question, description, task, self.input_text()]).unwrap_or(DEFAULT_QUESTION)
    }

    /// The values of the input that a model writes when the step is about to start, in that order.
    pub(crate) fn holes(&self) -> Vec<Hole<'_>> {
        self.input.as_ref().map_or_else(Vec::new, references::find_holes)
    }

    fn refers(&self) -> bool {
        self.input_from.is_some() || !self.depends_on.is_empty()
    }

    fn has(&self, field: StepField) -> bool {
        match field {
            StepField::Id => self.id.is_some(),
            StepField::InputFrom => self.input_from.is_some(),
            StepField::DependsOn => !self.depends_on.is_empty(),
            StepField::Description => self.description.is_some(),
            StepField::Task => self.task.is_some(),
            StepField::HitlQuestion => self.hitl_question.is_some(),
            StepField::With => self.with.is_some(),
            StepField::Holes => !self.holes().is_empty(),
            StepField::Refs => {
                let found = self.input.as_ref().map_or(Ok(Vec::new()), references::find);
                found.map_or(true, |found| !found.is_empty())
            }
        }
    }
}

fn first_filled<const N: usize>(texts: [Option<&str>; N]) -> Option<&str> {
    texts.into_iter().flatten().map(str::trim).find(|text| !text.is_empty())
}

/// Whether a plan must end in the pseudo-tool `final_answer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalStep {
    /// The last step, and only the last, is `final_answer`.
    #[default]
    Required,
    /// Plans have no such step.
    None,
}

/// An optional field of a plan step that the planner's schema may offer. It is read in any case.
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
    /// No field of its own: a value of `input` may be worked out from what earlier steps returned:
    /// `{"$from": id, "take": pointer}`, with `in`, `where`, `order_by`, `first` and `extract`, `$template` or `$calc`.
    /// The guide on specs has them all.
    Refs,
    /// No field of its own: a value of `input` may be left to a model that fills it in when the step is about to start:
    /// `{"$fill": what is wanted, "type": schema, "from": [id or reference, …]}`. Needs `refs` and the role `executor`.
    Holes,
}

impl fmt::Display for StepField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What a plan must say beside its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanSays {
    /// `goal`: what it is for. Default: true.
    pub goal: bool,
    /// `reasoning`: why it is planned this way.
    pub reasoning: bool,
    /// `strategy`: how the steps belong together.
    pub strategy: bool,
}

impl PlanSays {
    pub(crate) const NOTHING: PlanSays = PlanSays { goal: false, reasoning: false, strategy: false };
}

impl Default for PlanSays {
    fn default() -> Self {
        PlanSays { goal: true, ..PlanSays::NOTHING }
    }
}

/// Whether a field of a policy may be left out where it is written down.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a plan must look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanPolicy {
    /// Fewest steps of a plan. Default: 1. 0 lets the planner say that nothing needs doing.
    pub min_steps: u32,
    /// Most steps of a plan. Default: 6.
    pub max_steps: u32,
    /// Most steps that wait for one another in a row. Default: no limit.
    #[serde(skip_serializing_if = "is_default")]
    pub max_depth: Option<u32>,
    /// Whether the last step must be `final_answer`. Default: required.
    pub final_step: FinalStep,
    /// What a plan must say beside its steps: `goal`, `reasoning`, `strategy`. Default: `goal`.
    #[serde(skip_serializing_if = "is_default")]
    pub says: PlanSays,
    /// The optional step fields that the planner is offered. Default: none.
    pub fields: Vec<StepField>,
    /// The offered fields that every step of a tool or an agent must have. Default: none.
    #[serde(skip_serializing_if = "is_default")]
    pub required: Vec<StepField>,
    /// Most values of one plan that a model fills in, where `fields` offers `holes`. Default: 4.
    #[serde(skip_serializing_if = "is_usual_holes")]
    pub max_holes: u32,
}

/// Most values of one plan that a model fills in, unless a spec says otherwise.
pub(crate) const USUAL_HOLES: u32 = 4;

fn is_usual_holes(most: &u32) -> bool {
    *most == USUAL_HOLES
}

impl Default for PlanPolicy {
    fn default() -> Self {
        PlanPolicy {
            min_steps: 1,
            max_steps: 6,
            max_depth: None,
            final_step: FinalStep::Required,
            says: PlanSays::default(),
            fields: Vec::new(),
            required: Vec::new(),
            max_holes: USUAL_HOLES,
        }
    }
}

/// A plan that passed, with what was worked out on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadPlan {
    /// The plan. The state of a run and its trace share it.
    pub plan: Arc<Plan>,
    /// Which of its steps wait for which.
    pub links: Links,
    /// JSON paths of what the reply said that no plan may say. It was left out.
    pub ignored: Vec<String>,
    /// The steps that no run may take, by position, with what is wrong with each.
    pub refused: Vec<(usize, ContractError)>,
}
