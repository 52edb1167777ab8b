//! The conversation of a planner that goes on call by call: what was called, what came of it, and what it
//! is told last; as native calls, or as thought and action in a text.

use serde_json::{Value, json};

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
                Message::Assistant { text, calls } => {
                    (rounds.repair, rounds.missing) = (None, None);
                    let made =
                        |id: &str, tool, arguments| Made { id: id.to_owned(), tool, arguments, record: None };
                    let before = rounds.made.len();
                    let native =
                        calls.iter().map(|call| made(&call.id, call.name.clone(), call.arguments.clone()));
                    rounds.made.extend(native);
                    if calls.is_empty() {
                        rounds
                            .made
                            .extend(parse_action(text, tools).map(|(tool, input)| made("", tool, input)));
                    }
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
    let json = || step.input.clone().unwrap_or_default().to_string();
    let input = step.text().map_or_else(json, |text| line(text, usize::MAX));
    let thought = match korean {
        false => format!("I call {} for: {input}", step.who),
        true => format!("{} 도구로 찾아봅니다: {input}", step.who),
    };
    format!("Thought: {}\nAction: {}\nAction Input: {input}", line(&thought, MAX_THOUGHT_CHARS), step.who)
}

/// The final answer. A line of it that looks like a label is set apart, so that it is not read as one.
pub(super) fn final_answer(text: &str, korean: bool) -> String {
    const LABELS: [&str; 5] = ["action:", "action input:", "observation:", "thought:", "final answer:"];
    let set_apart = |line: &str| {
        let lower = line.trim_start().to_lowercase();
        let labelled = LABELS.iter().any(|label| lower.starts_with(label));
        if labelled { format!("· {}", line.trim_start()) } else { line.to_owned() }
    };
    let lines: Vec<String> = text.lines().map(set_apart).collect();
    let thought = if korean { "찾은 내용으로 답합니다." } else { "I answer with what was found." };
    format!("Thought: {thought}\nFinal Answer: {}", lines.join("\n"))
}

/// The action of an earlier reply: the tool, and its arguments as a native call has them.
fn parse_action(text: &str, tools: &[ToolContract]) -> Option<(String, Value)> {
    let labelled =
        |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
    let name = labelled("Action:")?;
    let input = labelled("Action Input:").unwrap_or_default();
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Some((name.to_owned(), json!({"input": input})));
    };
    let value =
        if tool.takes_text() { json!(input) } else { serde_json::from_str(input).unwrap_or_default() };
    Some((name.to_owned(), tool.arguments(&value)))
}
