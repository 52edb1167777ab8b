//! The request: the payload that a language model would get, read field by field.
//!
//! What an answer stands or falls by is read strictly. What only helps (earlier turns, proposals, a
//! summary) is left out where it is not of the form that is expected.

use serde_json::{Map, Value, json};

use super::plan::Step;
use super::text::clean;

/// Most earlier turns that are looked at.
const MAX_TURNS: usize = 40;
/// Most characters of one earlier turn.
const MAX_TURN: usize = 4_000;
/// Most labels of an outline, and most of any other list.
const MAX_LABELS: usize = 500;

/// One earlier turn of the conversation with the user.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    /// Whether the user said it.
    pub user: bool,
    pub text: String,
}

/// What a payload says.
pub(super) struct Payload<'a> {
    /// The question as it was asked.
    pub question: &'a str,
    /// The same, made to stand alone.
    rewritten: Option<&'a str>,
    /// The records of what the plan brought back.
    pub results: &'a [Value],
    /// The steps of the plan that was sent back.
    pub rejected: Option<Vec<Step>>,
    /// Why it was, and what to do differently, as one text.
    pub hint: String,
    /// Whether the last reply did not fit.
    pub repair: bool,
    /// The written answer, where that is judged.
    pub answer: Option<&'a str>,
    /// What an agent is to do.
    pub task: Option<&'a str>,
    /// What an agent works on.
    pub input: Option<&'a str>,
    /// Whether the agent does a step of another.
    pub nested: bool,
    /// What a nested agent works on.
    pub material: Option<&'a str>,
    fields: &'a Map<String, Value>,
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// What is missing or of another type, by key.
    pub(super) fn read(payload: &'a Value) -> Result<Self, String> {
        let Some(fields) = payload.as_object() else {
            return Err(format!("payload: expected a JSON object, found {}", type_name(payload)));
        };
        let question = text(fields, "user_question")?
            .ok_or("payload.user_question: expected a text, found nothing".to_owned())?;
        let results = match fields.get("tool_results") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(records)) => records.as_slice(),
            Some(other) => return Err(mismatch("tool_results", "a list", other)),
        };
        let rejected = match fields.get("rejected_plan") {
            None | Some(Value::Null) => None,
            Some(Value::Object(plan)) => Some(steps(plan)),
            Some(other) => return Err(mismatch("rejected_plan", "an object", other)),
        };
        let hint = text(fields, "fix_hint")?.filter(|hint| !hint.trim().is_empty());
        let hint = hint.or(text(fields, "rejected_because")?).unwrap_or_default();
        let repair = fields.get("repair").is_some_and(|repair| !repair.is_null());
        Ok(Payload {
            question,
            rewritten: said(fields, "rewritten_query"),
            results,
            rejected,
            hint: hint.to_owned(),
            repair,
            answer: fields.get("answer").and_then(Value::as_str),
            task: said(fields, "task"),
            input: said(fields, "input"),
            nested: said(fields, "on_behalf_of").is_some(),
            material: said(fields, "material"),
            fields,
        })
    }

    /// What is to be answered: the question made to stand alone, where somebody has done so.
    pub(super) fn query(&self) -> &'a str {
        self.rewritten.unwrap_or(self.question)
    }

    /// The records of what is there to answer from: results, and what was handed over.
    pub(super) fn records(&self) -> Vec<Value> {
        let mut records = self.results.to_vec();
        if let Some(material) = self.material {
            records.push(json!({"tool": "material", "status": "completed", "output": material}));
        }
        for finding in self.list("findings") {
            let [by, output] = ["by", "output"].map(|key| finding.get(key).cloned().unwrap_or_default());
            records.push(json!({"tool": by, "status": "completed", "output": output}));
        }
        records
    }

    /// Whether nothing was planned or run before this request.
    pub(super) fn comes_first(&self) -> bool {
        let ran = self.fields.contains_key("tool_results") && !self.fields.contains_key("intent");
        self.results.is_empty() && !ran && !self.fields.contains_key("plan")
    }

    /// The earlier turns, oldest first.
    pub(super) fn history(&self) -> Vec<Turn> {
        let turns = self.list("history");
        let turn = |turn: &Value| {
            let text = clean(turn.get("content")?.as_str()?, MAX_TURN).trim().to_owned();
            Some(Turn { user: turn.get("role")?.as_str()? == "user", text })
        };
        turns[turns.len().saturating_sub(MAX_TURNS)..].iter().filter_map(turn).collect()
    }

    /// The labels of the parts of the material at hand.
    pub(super) fn outline(&self) -> Vec<&'a str> {
        self.labels("outline")
    }

    /// Those of them that nobody has read.
    pub(super) fn unexplored(&self) -> Vec<&'a str> {
        self.labels("unexplored")
    }

    /// The calls that are proposed: tool and input.
    pub(super) fn suggested(&self) -> Vec<(&'a str, &'a Value)> {
        let call = |call: &'a Value| Some((call.get("tool")?.as_str()?, call.get("input")?));
        self.list("suggested_calls").iter().filter_map(call).collect()
    }

    /// The kept results of earlier plans.
    pub(super) fn past(&self) -> &'a [Value] {
        self.list("past_steps")
    }

    /// One of the lists that only some roles get.
    pub(super) fn list(&self, key: &str) -> &'a [Value] {
        let list = self.fields.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        &list[..list.len().min(MAX_LABELS)]
    }

    fn labels(&self, key: &str) -> Vec<&'a str> {
        self.list(key).iter().filter_map(Value::as_str).filter(|label| !label.trim().is_empty()).collect()
    }
}

fn said<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(mismatch(key, "a text", other)),
    }
}

fn steps(plan: &Map<String, Value>) -> Vec<Step> {
    let steps = plan.get("steps").or(plan.get("execution_steps"));
    let steps = steps.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let step = |step: &Value| {
        let named = |key: &str| step.get(key).filter(|value| !value.is_null());
        let who = named("agent").or(named("team")).or(named("tool"));
        Step {
            tool: who.and_then(Value::as_str).unwrap_or_default().to_owned(),
            input: named("input").or(named("task")).or(named("description")).cloned().unwrap_or_default(),
            from: None,
        }
    };
    steps.iter().map(step).collect()
}

fn mismatch(key: &str, expected: &str, found: &Value) -> String {
    format!("payload.{key}: expected {expected}, found {}", type_name(found))
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
