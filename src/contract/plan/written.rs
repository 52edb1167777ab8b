//! A plan as models write it: who does a step stands under `tool`, `agent` or `team`. Each step is read
//! where it will stay, because a step is large and most of it is left out.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Plan, PlanStep};
use crate::contract::ContractError;

/// The fields of a step as models write it.
#[derive(Clone, Copy, PartialEq, Deserialize)]
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

/// Their names, in the same order.
const NAMES: [&str; 16] = [
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

/// The fields that have been met, as a set of bits.
#[derive(Clone, Copy, Default)]
struct Fields(u32);

impl Fields {
    /// Whether the field was not there yet.
    fn add(&mut self, field: Field) -> bool {
        let bit = 1 << field as u32;
        let new = self.0 & bit == 0;
        self.0 |= bit;
        new
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().enumerate().filter(move |(at, _)| self.0 & 1 << at != 0).map(|(_, name)| name)
    }
}

/// What a written step says beside what is kept of it.
struct Said {
    /// Whether it says who does it.
    doer: bool,
    /// What it says that only the run may say.
    run_state: Fields,
}

const NO_DOER: &str = "missing field `tool`";

/// Reads a step into an empty one.
struct Written<'a>(&'a mut PlanStep);

impl<'de> Visitor<'de> for Written<'_> {
    type Value = Said;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Written")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
        let Written(step) = self;
        let (mut met, mut run_state) = (Fields::default(), Fields::default());
        let (mut agent, mut tool): (Option<String>, Option<String>) = (None, None);
        while let Some(field) = map.next_key::<Field>()? {
            if field != Field::Unknown && !met.add(field) {
                return Err(A::Error::duplicate_field(NAMES[field as usize]));
            }
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
                Field::Status
                | Field::Result
                | Field::Output
                | Field::Error
                | Field::HitlResponse
                | Field::Answered => {
                    if map.next_value::<Option<IgnoredAny>>()?.is_some() {
                        run_state.add(field);
                    }
                }
                Field::Unknown => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let doer = match (agent, tool) {
            // Beside an agent, `tool` says which of its tools it should take.
            (Some(agent), tool) => {
                step.tool = agent;
                step.with = tool.map(String::into_boxed_str).or(step.with.take());
                true
            }
            (None, Some(tool)) => {
                step.tool = tool;
                true
            }
            (None, None) => false,
        };
        Ok(Said { doer, run_state })
    }
}

impl<'de> DeserializeSeed<'de> for Written<'_> {
    type Value = Said;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Said, D::Error> {
        source.deserialize_struct("PlanStep", &NAMES, self)
    }
}

impl<'de> Deserialize<'de> for PlanStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut step = PlanStep::default();
        match Written(&mut step).deserialize(source)?.doer {
            true => Ok(step),
            false => Err(D::Error::custom(NO_DOER)),
        }
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
    /// Names the first step that does not say who does it.
    pub fn read(self) -> Result<(Plan, Vec<String>), ContractError> {
        let (goal, reasoning, strategy) = (self.goal, self.reasoning, self.strategy);
        let WrittenSteps { steps, notes, without_doer } = self.steps;
        match without_doer {
            Some(at) => Err(ContractError::at(format!("$.steps[{at}]"), NO_DOER)),
            None => Ok((Plan { goal, reasoning, strategy, steps }, notes)),
        }
    }
}

/// Most notes on what a reply says and may not.
const MAX_NOTES: usize = 20;

/// The steps of a plan as models write it.
#[derive(Default)]
struct WrittenSteps {
    steps: Vec<PlanStep>,
    /// Where they say what only the run may say.
    notes: Vec<String>,
    /// The first that does not say who does it.
    without_doer: Option<usize>,
}

/// Reads one more step into a list of them.
struct Onto<'a>(&'a mut Vec<PlanStep>);

impl<'de> DeserializeSeed<'de> for Onto<'_> {
    type Value = Said;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Said, D::Error> {
        let at = self.0.len();
        self.0.resize_with(at + 1, PlanStep::default);
        Written(&mut self.0[at]).deserialize(source)
    }
}

struct StepsVisitor;

impl<'de> Visitor<'de> for StepsVisitor {
    type Value = WrittenSteps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WrittenSteps, A::Error> {
        let mut written = WrittenSteps::default();
        while let Some(said) = list.next_element_seed(Onto(&mut written.steps))? {
            let at = written.steps.len() - 1;
            if !said.doer {
                written.without_doer.get_or_insert(at);
            }
            let room = MAX_NOTES.saturating_sub(written.notes.len());
            let fields = said.run_state.names().take(room);
            written.notes.extend(fields.map(|field| format!("$.steps[{at}].{field}")));
        }
        Ok(written)
    }
}

impl<'de> Deserialize<'de> for WrittenSteps {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_seq(StepsVisitor)
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
    fn text(self) -> Option<String> {
        match self {
            StepName::Number(number) => Some(format!("step_{number}")),
            StepName::Text(text) if text.parse::<u32>().is_ok() => Some(format!("step_{text}")),
            StepName::Text(text) => Some(text).filter(|text| !text.is_empty()),
        }
    }
}

/// A step id, where there is one.
struct Name(Option<String>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Ok(Name(Option::<StepName>::deserialize(source)?.and_then(StepName::text)))
    }
}

/// A list of step ids.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let names = Option::<Vec<StepName>>::deserialize(source)?.unwrap_or_default();
        Ok(Names(names.into_iter().filter_map(StepName::text).collect()))
    }
}
