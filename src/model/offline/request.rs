//! The request: the payload that a language model would get, read field by field.

use serde_json::{Map, Value};

use super::plan::Step;

/// What a payload says.
pub(super) struct Payload<'a> {
    pub question: &'a str,
    /// The records of what the plan brought back.
    pub results: &'a [Value],
    /// The steps of the plan that was sent back.
    pub rejected: Option<Vec<Step>>,
    /// Why it was, and what to do differently, as one text.
    pub hint: String,
    /// Whether the last reply did not fit.
    pub repair: bool,
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
        Ok(Payload { question, results, rejected, hint: hint.to_owned(), repair })
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(mismatch(key, "a text", other)),
    }
}

fn steps(plan: &Map<String, Value>) -> Vec<Step> {
    let steps = plan.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let step = |step: &Value| Step {
        tool: step.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned(),
        input: step.get("input").cloned().unwrap_or_default(),
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
