//! The payload that a language model would get, field by field.
//!
//! What does not have the expected form is left out, but for the question.

use planwright::contract::{Plan, PlanStep};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::text::clean;

const MAX_TURNS: usize = 40;
const MAX_TURN_CHARS: usize = 4_000;
const MAX_LIST: usize = 500;

pub(super) struct Payload<'a> {
    pub question: &'a str,
    pub results: &'a [Value],
    /// The steps of a plan that was sent back.
    pub rejected: Option<Vec<PlanStep>>,
    /// Why it was, and what to do differently, as one text.
    pub hint: &'a str,
    pub repair: bool,
    fields: &'a Map<String, Value>,
}

impl<'a> Payload<'a> {
    /// Reads a payload; an error says what is missing.
    pub(super) fn parse(payload: &'a Value) -> Result<Self, &'static str> {
        let fields = payload.as_object().ok_or("payload: expected a JSON object")?;
        let field = |key| fields.get(key).unwrap_or(&Value::Null);
        let question = field("user_question").as_str().ok_or("payload.user_question: expected a text")?;
        let results = field("tool_results").as_array().map_or(&[][..], Vec::as_slice);
        let rejected = Plan::deserialize(field("rejected_plan")).ok().map(|plan| plan.steps);
        // A verdict in the closed form: its advice is always the same, and has no words to look for.
        let closed = field("rejected_because").is_object();
        let mut hints = ["fix_hint", "rejected_because"].into_iter().filter_map(|key| field(key).as_str());
        let hint = hints.find(|hint| !hint.trim().is_empty() && !closed).unwrap_or_default();
        Ok(Payload { question, results, rejected, hint, repair: !field("repair").is_null(), fields })
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.field(key).as_str().filter(|text| !text.trim().is_empty())
    }

    pub(super) fn field(&self, key: &str) -> &'a Value {
        self.fields.get(key).unwrap_or(&Value::Null)
    }

    pub(super) fn list(&self, key: &str) -> &'a [Value] {
        let list = self.field(key).as_array().map_or(&[][..], Vec::as_slice);
        &list[..list.len().min(MAX_LIST)]
    }

    pub(super) fn labels(&self, key: &str) -> Vec<&'a str> {
        self.list(key).iter().filter_map(Value::as_str).filter(|label| !label.trim().is_empty()).collect()
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

/// A value as a text: a text as it is, anything else as JSON.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn completed(source: &str, output: &str) -> Value {
    json!({"tool": source, "status": "completed", "output": output})
}
