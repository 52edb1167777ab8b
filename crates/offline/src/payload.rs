//! The payload that a language model would get, field by field.
//!
//! What an answer stands or falls by is read strictly. What only helps (earlier turns, proposals, a
//! summary) is left out where it is not of the form that is expected.

use serde_json::{Map, Value, json};

use super::text::clean;

/// Most earlier turns that are looked at.
const MAX_TURNS: usize = 40;
/// Most characters of one earlier turn.
const MAX_TURN: usize = 4_000;
/// Most entries of a list.
const MAX_LIST: usize = 500;

/// One earlier turn of the conversation with the user.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    /// Whether the user said it.
    pub user: bool,
    pub text: String,
}

/// A step of a plan that was sent back: who did it, and what it was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rejected {
    pub who: String,
    pub input: Value,
}

/// What a payload says.
pub(super) struct Payload<'a> {
    /// The question as it was asked.
    pub question: &'a str,
    /// The records of what the plan brought back.
    pub results: &'a [Value],
    /// The steps of the plan that was sent back.
    pub rejected: Option<Vec<Rejected>>,
    /// Why it was, and what to do differently, as one text.
    pub hint: String,
    /// Whether the last reply did not fit.
    pub repair: bool,
    fields: &'a Map<String, Value>,
}

impl<'a> Payload<'a> {
    /// Reads a payload.
    ///
    /// # Errors
    /// What is missing or of another type, by key.
    pub(super) fn parse(payload: &'a Value) -> Result<Self, String> {
        let fields = payload.as_object();
        let fields = fields.ok_or_else(|| mismatch("payload", "a JSON object", Some(payload)))?;
        let text = |key: &str| match fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            other => Err(mismatch(&format!("payload.{key}"), "a text", other)),
        };
        let question =
            text("user_question")?.ok_or_else(|| mismatch("payload.user_question", "a text", None))?;
        let results = match fields.get("tool_results") {
            None | Some(Value::Null) => &[],
            Some(Value::Array(records)) => records.as_slice(),
            other => return Err(mismatch("payload.tool_results", "a list", other)),
        };
        let rejected = match fields.get("rejected_plan") {
            None | Some(Value::Null) => None,
            Some(Value::Object(plan)) => Some(rejected(plan)),
            other => return Err(mismatch("payload.rejected_plan", "an object", other)),
        };
        let hint = text("fix_hint")?.filter(|hint| !hint.trim().is_empty());
        let hint = hint.or(text("rejected_because")?).unwrap_or_default().to_owned();
        let repair = fields.get("repair").is_some_and(|repair| !repair.is_null());
        Ok(Payload { question, results, rejected, hint, repair, fields })
    }

    /// A text that only some roles get; `None` where it is blank.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    /// A list that only some roles get.
    pub(super) fn list(&self, key: &str) -> &'a [Value] {
        let list = self.fields.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        &list[..list.len().min(MAX_LIST)]
    }

    /// The entries of a list of texts.
    pub(super) fn labels(&self, key: &str) -> Vec<&'a str> {
        self.list(key).iter().filter_map(Value::as_str).filter(|label| !label.trim().is_empty()).collect()
    }

    /// The answer that is judged.
    pub(super) fn answer(&self) -> Option<&'a str> {
        self.fields.get("answer").and_then(Value::as_str)
    }

    /// What is to be answered: the question made to stand alone, where it was.
    pub(super) fn query(&self) -> &'a str {
        self.text("rewritten_query").unwrap_or(self.question)
    }

    /// The records of what is there to answer from: results, and what was handed over.
    pub(super) fn records(&self) -> Vec<Value> {
        let mut records = self.results.to_vec();
        records.extend(self.text("material").map(|material| completed("material", material)));
        for finding in self.list("findings") {
            let text = |key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default();
            records.push(completed(text("by"), text("output")));
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
}

/// A record of `tool_results`.
pub(super) fn completed(source: &str, output: &str) -> Value {
    json!({"tool": source, "status": "completed", "output": output})
}

fn rejected(plan: &Map<String, Value>) -> Vec<Rejected> {
    let steps = plan.get("steps").or(plan.get("execution_steps")).and_then(Value::as_array);
    let step = |step: &Value| {
        let first = |keys: [&str; 3]| {
            keys.into_iter().filter_map(|key| step.get(key)).find(|value| !value.is_null()).cloned()
        };
        let who = first(["agent", "team", "tool"]);
        Rejected {
            who: who.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
            input: first(["input", "task", "description"]).unwrap_or_default(),
        }
    };
    steps.into_iter().flatten().map(step).collect()
}

fn mismatch(place: &str, expected: &str, found: Option<&Value>) -> String {
    let found = match found {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a truth value",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    };
    format!("{place}: expected {expected}, found {found}")
}
