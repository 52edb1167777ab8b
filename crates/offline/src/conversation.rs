//! The conversation of a planner that goes on call by call: what was called, what came of it, and what it
//! is told last; as native calls, or as thought and action in a text.

use serde_json::{Value, json};

use super::lexicon::{say, table};
use super::payload::str_of;
use super::shape::Step;
use super::text::line;
use planwright::contract::ToolContract;
use planwright::prompt::Message;

const MAX_THOUGHT_CHARS: usize = 200;

pub(super) struct Made {
    id: String,
    pub tool: String,
    /// As a native call has them, also if the call was written as text.
    pub arguments: Value,
    pub record: Option<Value>,
}

#[derive(Default)]
pub(super) struct Rounds {
    pub count: usize,
    pub made: Vec<Made>,
    /// What does not fit in the last reply.
    pub repair: Option<String>,
    /// What is still missing after the last call, or why it is.
    pub missing: Option<String>,
}

impl Rounds {
    pub(super) fn parse(messages: &[Message], tools: &[ToolContract]) -> Self {
        let mut rounds = Rounds::default();
        for message in messages {
            match message {
                Message::Assistant { text, calls, .. } => {
                    (rounds.repair, rounds.missing) = (None, None);
                    let native = calls.iter().map(|call| {
                        let (id, tool, arguments) =
                            (call.id.clone(), call.name.clone(), call.arguments.clone());
                        Made { id, tool, arguments, record: None }
                    });
                    let before = rounds.made.len();
                    rounds.made.extend(native.chain(parse_action(text, tools).filter(|_| calls.is_empty())));
                    rounds.count += usize::from(rounds.made.len() > before);
                }
                Message::Tool { id, content, .. } => rounds.add_result(|made| made.id == *id, content),
                Message::User { content } => rounds.take_note(content),
            }
        }
        rounds
    }

    fn add_result(&mut self, is_it: impl Fn(&Made) -> bool, content: &str) {
        let Some(made) = self.made.iter_mut().find(|made| made.record.is_none() && is_it(made)) else {
            return;
        };
        let parsed: Option<Value> = serde_json::from_str(content).ok().filter(Value::is_object);
        let field = |key: &str| parsed.as_ref()?.get(key)?.as_str();
        let status = field("status").unwrap_or("completed");
        let output = if parsed.is_some() { field("output").unwrap_or_default() } else { content };
        // A call that repeated another was left out, and brought nothing.
        let output = if status == "skipped" { "" } else { output };
        let input = made.arguments.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
        made.record = Some(json!({"tool": made.tool, "input": input, "status": status, "output": output}));
    }

    fn take_note(&mut self, content: &str) {
        let Ok(note) = serde_json::from_str::<Value>(content) else { return };
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let Some(observed) = note.get("observation") {
            self.add_result(|_| true, &text(observed));
            (self.repair, self.missing) = (None, None);
        }
        if let Some(repair) = note.get("repair") {
            self.repair = Some(text(repair.get("error").unwrap_or(repair)));
        }
        if note.get("missing_info").is_some() {
            let mut reasons = ["missing_info", "reason"].map(|key| str_of(&note, key)).into_iter();
            self.missing = Some(reasons.find(|text| !text.trim().is_empty()).unwrap_or_default().to_owned());
        }
    }
}

pub(super) fn thought_and_action(step: &Step, korean: bool) -> String {
    let input = match step.input.clone().unwrap_or_default() {
        Value::String(text) => line(&text, usize::MAX),
        other => other.to_string(),
    };
    let thought = say("i_call", korean).replacen("{}", &step.who, 1).replacen("{}", &input, 1);
    format!("Thought: {}\nAction: {}\nAction Input: {input}", line(&thought, MAX_THOUGHT_CHARS), step.who)
}

/// The final answer. A line of it that looks like a label is set apart, so that it is not read as one.
pub(super) fn final_answer(text: &str, korean: bool) -> String {
    let set_apart = |line: &str| match table("labels").begin(&line.trim_start().to_lowercase()) {
        true => format!("· {}", line.trim_start()),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(set_apart).collect();
    format!("Thought: {}\nFinal Answer: {}", say("i_answer", korean), lines.join("\n"))
}

/// The action of an earlier reply, with its arguments as a native call has them.
fn parse_action(text: &str, tools: &[ToolContract]) -> Option<Made> {
    let labelled =
        |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
    let name = labelled("Action:")?;
    let input = labelled("Action Input:").unwrap_or_default();
    let arguments = match tools.iter().find(|tool| tool.name == name) {
        Some(tool) if !tool.takes_text() => tool.arguments(&serde_json::from_str(input).unwrap_or_default()),
        Some(tool) => tool.arguments(&json!(input)),
        None => json!({"input": input}),
    };
    Some(Made { id: String::new(), tool: name.to_owned(), arguments, record: None })
}
