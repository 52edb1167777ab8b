//! A plan as models write it: the agent or tool of a step stands under `tool`, `agent` or `team`.

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Plan, PlanStep};
use crate::contract::ContractError;

/// A step as models write it.
#[derive(Deserialize)]
#[serde(rename = "Written")]
struct WrittenStep {
    #[serde(default, alias = "step_id", deserialize_with = "parse_name")]
    id: Option<String>,
    tool: Option<String>,
    #[serde(alias = "team")]
    agent: Option<String>,
    with: Option<Box<str>>,
    input: Option<Value>,
    #[serde(default, deserialize_with = "parse_name")]
    input_from: Option<String>,
    #[serde(default, deserialize_with = "parse_names")]
    depends_on: Vec<String>,
    task: Option<String>,
    description: Option<String>,
    hitl_question: Option<String>,
    // What happened to a step is kept by the run; a reply cannot say it.
    status: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    output: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    hitl_response: Option<IgnoredAny>,
    answered: Option<IgnoredAny>,
}

const NO_TOOL: &str = "missing field `tool`";

impl WrittenStep {
    /// The fields it sets that only the run may set.
    fn run_state(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("status", &self.status),
            ("result", &self.result),
            ("output", &self.output),
            ("error", &self.error),
            ("hitl_response", &self.hitl_response),
            ("answered", &self.answered),
        ];
        fields.map(|(name, field)| field.is_some().then_some(name)).into_iter().flatten()
    }

    /// The step; `None` if it names neither a tool nor an agent.
    fn into_step(self) -> Option<PlanStep> {
        let (tool, with) = match (self.agent, self.tool) {
            // Beside an agent, `tool` says which of its tools it should take.
            (Some(agent), tool) => (agent, tool.map(String::into_boxed_str).or(self.with)),
            (None, tool) => (tool?, self.with),
        };
        let WrittenStep { id, input, input_from, depends_on, task, description, hitl_question, .. } = self;
        Some(PlanStep { id, tool, with, input, input_from, depends_on, task, description, hitl_question })
    }
}

impl<'de> Deserialize<'de> for PlanStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        WrittenStep::deserialize(source)?.into_step().ok_or_else(|| D::Error::custom(NO_TOOL))
    }
}

/// A plan as models write it.
#[derive(Deserialize)]
pub(super) struct WrittenPlan {
    goal: Option<String>,
    reasoning: Option<String>,
    strategy: Option<String>,
    #[serde(alias = "execution_steps")]
    steps: Vec<WrittenStep>,
}

/// Most notes on what a reply says and may not.
const MAX_NOTES: usize = 20;

impl WrittenPlan {
    /// The plan, and the places where the reply says what only the run may say.
    ///
    /// # Errors
    /// Names the first step without a tool or an agent.
    pub(super) fn into_plan(self) -> Result<(Plan, Vec<String>), ContractError> {
        let mut notes = Vec::new();
        let mut steps = Vec::with_capacity(self.steps.len());
        for (at, written) in self.steps.into_iter().enumerate() {
            let room = MAX_NOTES.saturating_sub(notes.len());
            notes.extend(written.run_state().take(room).map(|field| format!("$.steps[{at}].{field}")));
            let step = written.into_step();
            steps.push(step.ok_or_else(|| ContractError::at(format!("$.steps[{at}]"), NO_TOOL))?);
        }
        let WrittenPlan { goal, reasoning, strategy, .. } = self;
        Ok((Plan { goal, reasoning, strategy, steps }, notes))
    }
}

/// Models write ids as texts or as numbers; the number N means `step_N`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a step id: a text or a whole number")]
enum StepName {
    Number(u32),
    Text(String),
}

impl StepName {
    fn into_text(self) -> Option<String> {
        match self {
            StepName::Number(number) => Some(format!("step_{number}")),
            StepName::Text(text) if text.parse::<u32>().is_ok() => Some(format!("step_{text}")),
            StepName::Text(text) => Some(text).filter(|text| !text.is_empty()),
        }
    }
}

fn parse_name<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<StepName>::deserialize(source)?.and_then(StepName::into_text))
}

fn parse_names<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    let names = Option::<Vec<StepName>>::deserialize(source)?.unwrap_or_default();
    Ok(names.into_iter().filter_map(StepName::into_text).collect())
}
