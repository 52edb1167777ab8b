//! A plan as models write it: the agent or tool of a step stands under `tool`, `agent` or `team`. Steps are
//! large, so each is read where it stays: reading them by way of another struct is felt in
//! a run of the machine (docs/BENCHMARKS.md).

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Plan, PlanStep};
use crate::contract::{ContractError, excerpt};

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
const NAMES: &str = "id tool agent with input input_from depends_on task description hitl_question status result \
    output error hitl_response answered";

const MAX_NOTES: usize = 20;

/// The steps of a plan as models write it.
#[derive(Default)]
struct WrittenSteps {
    /// Whether a field that no step has is refused.
    is_strict: bool,
    steps: Vec<PlanStep>,
    /// Where they say what only the run may say.
    ignored: Vec<String>,
    /// The first that names neither a tool nor an agent.
    without_tool: Option<usize>,
}

/// Reads one more step into a list.
struct OneMore<'a>(&'a mut WrittenSteps);

impl<'de> DeserializeSeed<'de> for OneMore<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneMore<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let WrittenSteps { is_strict, steps, ignored, without_tool } = self.0;
        let at = steps.len();
        // Made where it stays: one that is pushed is copied.
        steps.resize_with(at + 1, PlanStep::default);
        let step = &mut steps[at];
        let (mut agent, mut tool): (Option<String>, Option<String>) = (None, None);
        let (mut met, mut run_state) = (0_u32, 0);
        while let Some(field) = next_field(&mut map, is_strict.then_some(at + 1))? {
            let (bit, name) =
                (1 << field as u32, || NAMES.split(' ').nth(field as usize).unwrap_or_default());
            if met & bit != 0 && !matches!(field, Field::Unknown) {
                return Err(A::Error::custom(format!("duplicate field `{}`", name())));
            }
            met |= bit;
            match field {
                Field::Id => step.id = map.next_value::<Option<StepName>>()?.and_then(StepName::into_text),
                Field::Tool => tool = map.next_value()?,
                Field::Agent => agent = map.next_value()?,
                Field::With => step.with = map.next_value()?,
                Field::Input => step.input = map.next_value()?,
                Field::InputFrom => {
                    step.input_from = map.next_value::<Option<StepName>>()?.and_then(StepName::into_text);
                }
                Field::DependsOn => {
                    let names = map.next_value::<Option<Vec<StepName>>>()?.unwrap_or_default();
                    step.depends_on = names.into_iter().filter_map(StepName::into_text).collect();
                }
                Field::Task => step.task = map.next_value()?,
                Field::Description => step.description = map.next_value()?,
                Field::HitlQuestion => step.hitl_question = map.next_value()?,
                Field::Unknown => drop(map.next_value::<IgnoredAny>()?),
                _ if map.next_value::<Option<IgnoredAny>>()?.is_some() => run_state |= bit,
                _ => {}
            }
        }
        if run_state != 0 {
            let room = MAX_NOTES.saturating_sub(ignored.len());
            let names = NAMES.split(' ').enumerate().filter(|(field, _)| run_state & (1 << field) != 0);
            ignored.extend(names.take(room).map(|(_, name)| format!("$.steps[{at}].{name}")));
        }
        if agent.is_none() && tool.is_none() {
            without_tool.get_or_insert(at);
        }
        // Beside an agent, `tool` says which of its tools it should take.
        if let Some(agent) = agent {
            step.with = tool.map(String::into_boxed_str).or(step.with.take());
            step.tool = agent;
        } else {
            step.tool = tool.unwrap_or_default();
        }
        Ok(())
    }
}

/// The next field of a step. A strict reading, which knows the number of the step, refuses one that a person cannot give.
fn next_field<'de, A: MapAccess<'de>>(map: &mut A, strict: Option<usize>) -> Result<Option<Field>, A::Error> {
    let Some(step) = strict else { return map.next_key() };
    let Some(name) = map.next_key::<String>()? else { return Ok(None) };
    let field = Field::deserialize(name.as_str().into_deserializer())?;
    if field as u32 <= Field::HitlQuestion as u32 {
        return Ok(Some(field));
    }
    let known = NAMES.split_ascii_whitespace().take(Field::Status as usize).collect::<Vec<_>>().join(", ");
    let name = excerpt(&name, 80);
    Err(A::Error::custom(format!("step {step}: unknown field `{name}`, a step has {known}")))
}

/// The steps that a person gives in the place of those that are left. A field that no step has is refused, so that
/// none is lost because its name is mistyped.
///
/// ```
/// use planwright::contract::EditedSteps;
///
/// let EditedSteps(steps) = serde_json::from_str(r#"[{"tool": "calc", "input": "6*7"}]"#)?;
/// assert_eq!(steps[0].tool, "calc");
/// let mistyped = serde_json::from_str::<EditedSteps>(r#"[{"tool": "calc", "inptu": "6*7"}]"#);
/// assert!(mistyped.unwrap_err().to_string().starts_with("step 1: unknown field `inptu`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EditedSteps(pub Vec<PlanStep>);

impl<'de> Deserialize<'de> for EditedSteps {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let written = source.deserialize_seq(StepsVisitor { is_strict: true })?;
        match written.without_tool {
            Some(at) => Err(D::Error::custom(format!("step {}: missing field `tool`", at + 1))),
            None => Ok(EditedSteps(written.steps)),
        }
    }
}

impl<'de> Deserialize<'de> for PlanStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut written = WrittenSteps::default();
        OneMore(&mut written).deserialize(source)?;
        let step = written.steps.pop().filter(|_| written.without_tool.is_none());
        step.ok_or_else(|| D::Error::missing_field("tool"))
    }
}

struct StepsVisitor {
    is_strict: bool,
}

impl<'de> Visitor<'de> for StepsVisitor {
    type Value = WrittenSteps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WrittenSteps, A::Error> {
        let mut written = WrittenSteps { is_strict: self.is_strict, ..WrittenSteps::default() };
        while list.next_element_seed(OneMore(&mut written))?.is_some() {}
        Ok(written)
    }
}

fn deserialize_steps<'de, D: Deserializer<'de>>(source: D) -> Result<WrittenSteps, D::Error> {
    source.deserialize_seq(StepsVisitor { is_strict: false })
}

/// A plan as models write it.
#[derive(Deserialize)]
pub(super) struct WrittenPlan {
    goal: Option<String>,
    reasoning: Option<String>,
    strategy: Option<String>,
    #[serde(alias = "execution_steps", deserialize_with = "deserialize_steps")]
    steps: WrittenSteps,
}

impl WrittenPlan {
    /// The plan, and the places where the reply says what only the run may say.
    /// `doer` is the key under which a step names who does it.
    pub(super) fn into_plan(self, doer: &str) -> Result<(Plan, Vec<String>), ContractError> {
        let WrittenPlan { goal, reasoning, strategy, steps: written } = self;
        match written.without_tool {
            Some(at) => Err(ContractError::at(format!("$.steps[{at}]"), format!("missing field `{doer}`"))),
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
