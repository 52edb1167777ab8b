//! The payload that a language model would get, field by field.
//!
//! What an answer stands or falls by is read strictly. What only helps (earlier turns, proposals, a
//! summary) is left out if it does not have the expected form.

use serde_json::{Map, Value, json};

use super::text::{clean, line};

const MAX_TURNS: usize = 40;
const MAX_TURN_CHARS: usize = 4_000;
const MAX_LIST: usize = 500;

/// A step of a plan that was sent back: who did it, and what it was told.
pub(super) struct Rejected {
    pub who: String,
    pub input: Value,
}

pub(super) struct Payload<'a> {
    pub question: &'a str,
    pub results: &'a [Value],
    pub rejected: Option<Vec<Rejected>>,
    /// Why it was, and what to do differently, as one text.
    pub hint: &'a str,
    pub repair: bool,
    fields: &'a Map<String, Value>,
}

impl<'a> Payload<'a> {
    /// Reads a payload; an error says by key what is missing or of another type.
    pub(super) fn parse(payload: &'a Value) -> Result<Self, String> {
        let fields = payload.as_object().ok_or_else(|| mismatch("", "a JSON object", payload))?;
        let field = |key| fields.get(key).unwrap_or(&Value::Null);
        let text = |key| match field(key) {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text.as_str())),
            other => Err(mismatch(&format!(".{key}"), "a text", other)),
        };
        let question = text("user_question")?;
        let question = question.ok_or("payload.user_question: expected a text, found nothing")?;
        let results = match field("tool_results") {
            Value::Null => &[],
            Value::Array(records) => records.as_slice(),
            other => return Err(mismatch(".tool_results", "a list", other)),
        };
        let rejected = match field("rejected_plan") {
            Value::Null => None,
            Value::Object(plan) => Some(rejected(plan)),
            other => return Err(mismatch(".rejected_plan", "an object", other)),
        };
        // A verdict in the closed form: its advice is always the same, and has no words to look for.
        let closed = field("rejected_because").is_object();
        let hint = text("fix_hint")?.filter(|hint| !hint.trim().is_empty() && !closed);
        let because = if closed { None } else { text("rejected_because")? };
        let hint = hint.or(because).unwrap_or_default();
        Ok(Payload { question, results, rejected, hint, repair: !field("repair").is_null(), fields })
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    pub(super) fn field(&self, key: &str) -> &'a Value {
        self.fields.get(key).unwrap_or(&Value::Null)
    }

    pub(super) fn list(&self, key: &str) -> &'a [Value] {
        let list = self.fields.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        &list[..list.len().min(MAX_LIST)]
    }

    pub(super) fn labels(&self, key: &str) -> Vec<&'a str> {
        self.list(key).iter().filter_map(Value::as_str).filter(|label| !label.trim().is_empty()).collect()
    }

    /// The answer that is judged, blank or not.
    pub(super) fn answer(&self) -> Option<&'a str> {
        self.fields.get("answer").and_then(Value::as_str)
    }

    /// What is to be answered: the question made to stand alone, if it was.
    pub(super) fn query(&self) -> &'a str {
        self.text("rewritten_query").unwrap_or(self.question)
    }

    /// The records of what there is to answer from: results, and what was handed over.
    pub(super) fn records(&self) -> Vec<Value> {
        let material = self.text("material").map(|material| completed("material", material));
        let finding = |finding: &Value| completed(str_of(finding, "by"), str_of(finding, "output"));
        let findings = self.list("findings").iter().map(finding);
        self.results.iter().cloned().chain(material).chain(findings).collect()
    }

    /// Whether nothing was planned or run before this request.
    pub(super) fn comes_first(&self) -> bool {
        let ran = self.fields.contains_key("tool_results") && !self.fields.contains_key("intent");
        self.results.is_empty() && !ran && !self.fields.contains_key("plan")
    }

    /// What the user said in earlier turns, oldest first.
    pub(super) fn turns(&self) -> Vec<String> {
        let turns = self.list("history");
        let last = turns[turns.len().saturating_sub(MAX_TURNS)..].iter();
        let by_user = last.filter(|turn| str_of(turn, "role") == "user");
        by_user.map(|turn| clean(str_of(turn, "content"), MAX_TURN_CHARS).trim().to_owned()).collect()
    }
}

pub(super) fn str_of<'v>(record: &'v Value, key: &str) -> &'v str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn completed(source: &str, output: &str) -> Value {
    json!({"tool": source, "status": "completed", "output": output})
}

fn rejected(plan: &Map<String, Value>) -> Vec<Rejected> {
    let steps = plan.get("steps").or(plan.get("execution_steps")).and_then(Value::as_array);
    let step = |step: &Value| {
        let first = |keys: [&str; 3]| {
            keys.into_iter().filter_map(|key| step.get(key)).find(|value| !value.is_null()).cloned()
        };
        let who = first(["agent", "team", "tool"]).unwrap_or_default();
        let input = first(["input", "task", "description"]).unwrap_or_default();
        Rejected { who: who.as_str().unwrap_or_default().to_owned(), input }
    };
    steps.into_iter().flatten().map(step).collect()
}

fn mismatch(key: &str, expected: &str, found: &Value) -> String {
    format!("payload{key}: expected {expected}, found {}", line(&found.to_string(), 40))
}
