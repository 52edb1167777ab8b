//! The conversation of a planner that goes on call by call: what was called, what came of it, and
//! what it is told last.

use serde_json::{Value, json};

use super::react;
use planwright::contract::ToolContract;
use planwright::prompt::Message;

/// Most messages that are looked at.
const MAX_MESSAGES: usize = 2_000;

/// One call that was made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    id: String,
    pub tool: String,
    /// As a native call has them, whichever way it was written.
    pub arguments: Value,
    /// Its result, as a record of `tool_results`.
    pub record: Option<Value>,
}

/// What the planner is told after its last call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Note {
    /// What does not fit in its last reply.
    pub repair: Option<String>,
    /// What is still missing, or why it is.
    pub missing: Option<String>,
}

/// What was said since the first message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rounds {
    /// How many replies called something.
    pub count: usize,
    pub made: Vec<Made>,
    pub note: Note,
}

impl Rounds {
    pub(super) fn read(messages: &[Message], tools: &[ToolContract]) -> Self {
        let mut rounds = Rounds::default();
        for message in messages.iter().take(MAX_MESSAGES) {
            match message {
                Message::Assistant { text, calls } => {
                    rounds.note = Note::default();
                    let native =
                        calls.iter().map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone()));
                    let mut calls: Vec<(String, String, Value)> = native.collect();
                    if calls.is_empty() {
                        calls.extend(
                            react::action(text, tools).map(|(tool, input)| (String::new(), tool, input)),
                        );
                    }
                    rounds.count += usize::from(!calls.is_empty());
                    let made = |(id, tool, arguments)| Made { id, tool, arguments, record: None };
                    rounds.made.extend(calls.into_iter().map(made));
                }
                Message::Tool { id, content, .. } => rounds.result(|made| made.id == *id, content),
                Message::User { content } => rounds.told(content),
            }
        }
        rounds
    }

    /// Whether this call was made before.
    pub(super) fn has_made(&self, tool: &str, arguments: &Value) -> bool {
        self.made.iter().any(|made| made.tool == tool && made.arguments == *arguments)
    }

    /// The results, as records of `tool_results`.
    pub(super) fn records(&self) -> Vec<Value> {
        self.made.iter().filter_map(|made| made.record.clone()).collect()
    }

    fn result(&mut self, is_it: impl Fn(&Made) -> bool, content: &str) {
        let open = self.made.iter_mut().find(|made| made.record.is_none() && is_it(made));
        let Some(made) = open else { return };
        let read: Option<Value> = serde_json::from_str(content).ok().filter(Value::is_object);
        let field = |key: &str| read.as_ref()?.get(key)?.as_str();
        let status = field("status").unwrap_or("completed");
        let output = if read.is_some() { field("output").unwrap_or_default() } else { content };
        // A call that repeated another was left out, and brought nothing.
        let output = if status == "skipped" { "" } else { output };
        let input = made.arguments.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
        made.record = Some(json!({"tool": made.tool, "input": input, "status": status, "output": output}));
    }

    fn told(&mut self, content: &str) {
        let Ok(Value::Object(note)) = serde_json::from_str::<Value>(content) else { return };
        if let Some(observed) = note.get("observation") {
            let text = observed.as_str().map_or_else(|| observed.to_string(), str::to_owned);
            self.result(|_| true, &text);
            self.note = Note::default();
        }
        if let Some(repair) = note.get("repair") {
            let error = repair.get("error").unwrap_or(repair);
            self.note.repair = Some(error.as_str().map_or_else(|| error.to_string(), str::to_owned));
        }
        let said = |key: &str| note.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        if note.contains_key("missing_info") {
            self.note.missing = Some(said("missing_info").or(said("reason")).unwrap_or_default().to_owned());
        }
    }
}
