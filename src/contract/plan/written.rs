//! A plan as models write it: the agent or tool of a step stands under `tool`, `agent` or `team`.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Plan, PlanStep};
use crate::contract::ContractError;

/// The fields of a step as models write it.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    #[serde(alias = "step_id")]
    Id,
    Tool,
    #[serde(alias = "team")]
    Agent,
    With,
    Input,
    InputFrom,
    DependsOn,
    Task,
    Description,
    HitlQuestion,
    // What happened to a step is kept by the run; a reply cannot say it.
    Status,
    Result,
    Output,
    Error,
    HitlResponse,
    Answered,
    #[serde(other)]
    Unknown,
}

/// The names of the known fields, in the order of [`Field`].
const FIELDS: [&str; 16] = [
    "id",
    "tool",
    "agent",
    "with",
    "input",
    "input_from",
    "depends_on",
    "task",
    "description",
    "hitl_question",
    "status",
    "result",
    "output",
    "error",
    "hitl_response",
    "answered",
];

const NO_TOOL: &str = "missing field `tool`";

/// What a step says beside the fields that are kept.
struct Notes {
    has_tool: bool,
    /// The fields it sets that only the run may set, as bits.
    run_state: u32,
}

/// Reads a step into an empty one, where it stays: steps are large, and moving them costs time.
struct Written<'a>(&'a mut PlanStep);

impl<'de> Visitor<'de> for Written<'_> {
    type Value = Notes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Written")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Notes, A::Error> {
        let Written(step) = self;
        let (mut met, mut run_state) = (0, 0);
        let (mut agent, mut tool): (Option<String>, Option<String>) = (None, None);
        while let Some(field) = map.next_key::<Field>()? {
            let bit = 1 << field as u32;
            if met & bit != 0
                && let Some(name) = FIELDS.get(field as usize)
            {
                return Err(A::Error::duplicate_field(name));
            }
            met |= bit;
            match field {
                Field::Id => step.id = map.next_value::<Name>()?.0,
                Field::Tool => tool = map.next_value()?,
                Field::Agent => agent = map.next_value()?,
                Field::With => step.with = map.next_value()?,
                Field::Input => step.input = map.next_value()?,
                Field::InputFrom => step.input_from = map.next_value::<Name>()?.0,
                Field::DependsOn => step.depends_on = map.next_value::<Names>()?.0,
                Field::Task => step.task = map.next_value()?,
                Field::Description => step.description = map.next_value()?,
                Field::HitlQuestion => step.hitl_question = map.next_value()?,
                Field::Unknown => drop(map.next_value::<IgnoredAny>()?),
                _ if map.next_value::<Option<IgnoredAny>>()?.is_some() => run_state |= bit,
                _ => {}
            }
        }
        let has_tool = agent.is_some() || tool.is_some();
        // Beside an agent, `tool` says which of its tools it should take.
        if let Some(agent) = agent {
            step.with = tool.map(String::into_boxed_str).or(step.with.take());
            step.tool = agent;
        } else {
            step.tool = tool.unwrap_or_default();
        }
        Ok(Notes { has_tool, run_state })
    }
}

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = Notes;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Notes, D::Error> {
        source.deserialize_struct("Written", &FIELDS, self)
    }
}

impl<'de> Deserialize<'de> for PlanStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut step = PlanStep::default();
        let notes = Written(&mut step).deserialize(source)?;
        if notes.has_tool { Ok(step) } else { Err(D::Error::custom(NO_TOOL)) }
    }
}

/// Adds one more step to a list.
struct OneMore<'a>(&'a mut Vec<PlanStep>);

impl<'de> DeserializeSeed<'de> for OneMore<'_> {
    type Value = Notes;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Notes, D::Error> {
        self.0.push(PlanStep::default());
        Written(self.0.last_mut().expect("one was added")).deserialize(source)
    }
}

/// The steps of a plan as models write it.
#[derive(Default)]
struct WrittenSteps {
    steps: Vec<PlanStep>,
    /// Where they say what only the run may say.
    ignored: Vec<String>,
    /// The first that names neither a tool nor an agent.
    without_tool: Option<usize>,
}

/// Most notes on what a reply says and may not.
const MAX_NOTES: usize = 20;

struct StepsVisitor;

impl<'de> Visitor<'de> for StepsVisitor {
    type Value = WrittenSteps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WrittenSteps, A::Error> {
        let mut written = WrittenSteps::default();
        while let Some(notes) = list.next_element_seed(OneMore(&mut written.steps))? {
            let at = written.steps.len() - 1;
            if !notes.has_tool {
                written.without_tool.get_or_insert(at);
            }
            let room = MAX_NOTES.saturating_sub(written.ignored.len());
            let fields = FIELDS.iter().enumerate().filter(|(bit, _)| notes.run_state & (1 << bit) != 0);
            written.ignored.extend(fields.take(room).map(|(_, field)| format!("$.steps[{at}].{field}")));
        }
        Ok(written)
    }
}

impl<'de> Deserialize<'de> for WrittenSteps {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_seq(StepsVisitor)
    }
}

/// A plan as models write it.
#[derive(Deserialize)]
pub(super) struct WrittenPlan {
    goal: Option<String>,
    reasoning: Option<String>,
    strategy: Option<String>,
    #[serde(alias = "execution_steps")]
    steps: WrittenSteps,
}

impl WrittenPlan {
    /// The plan, and the places where the reply says what only the run may say.
    ///
    /// # Errors
    /// Names the first step without a tool or an agent.
    pub(super) fn into_plan(self) -> Result<(Plan, Vec<String>), ContractError> {
        let WrittenPlan { goal, reasoning, strategy, steps: written } = self;
        match written.without_tool {
            Some(at) => Err(ContractError::at(format!("$.steps[{at}]"), NO_TOOL)),
            None => Ok((Plan { goal, reasoning, strategy, steps: written.steps }, written.ignored)),
        }
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

/// A step id, if there is one.
struct Name(Option<String>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Name(Option::<StepName>::deserialize(source)?.and_then(StepName::into_text)))
    }
}

/// A list of step ids.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let names = Option::<Vec<StepName>>::deserialize(source)?.unwrap_or_default();
        Ok(Names(names.into_iter().filter_map(StepName::into_text).collect()))
    }
}
