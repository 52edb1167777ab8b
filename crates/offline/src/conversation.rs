//! The conversation of a planner that goes on call by call: what was called, what came of it, and
//! what it is told last; as native calls, or as thought and action in a text.

use serde_json::{Value, json};

use super::shape::Step;
use super::text::line;
use planwright::contract::ToolContract;
use planwright::prompt::Message;

/// Most characters of a thought.
const MAX_THOUGHT: usize = 200;
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
    pub(super) fn parse(messages: &[Message], tools: &[ToolContract]) -> Self {
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
                            parse_action(text, tools).map(|(tool, input)| (String::new(), tool, input)),
                        );
                    }
                    rounds.count += usize::from(!calls.is_empty());
                    let made = |(id, tool, arguments)| Made { id, tool, arguments, record: None };
                    rounds.made.extend(calls.into_iter().map(made));
                }
                Message::Tool { id, content, .. } => rounds.result(|made| made.id == *id, content),
                Message::User { content } => rounds.take_note(content),
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

/// A step as thought and action.
pub(super) fn thought_and_action(step: &Step, korean: bool) -> String {
    let json = || step.input.clone().unwrap_or_default().to_string();
    let input = step.text().map_or_else(json, |text| line(text, usize::MAX));
    let thought = match korean {
        false => format!("I call {} for: {input}", step.who),
        true => format!("{} 도구로 찾아봅니다: {input}", step.who),
    };
    format!("Thought: {}\nAction: {}\nAction Input: {input}", line(&thought, MAX_THOUGHT), step.who)
}

/// The final answer. A line of it that looks like a label is set apart, so that it is not read as one.
pub(super) fn final_answer(text: &str, korean: bool) -> String {
    const LABELS: [&str; 5] = ["action:", "action input:", "observation:", "thought:", "final answer:"];
    let labelled = |line: &&str| {
        let lower = line.trim_start().to_lowercase();
        LABELS.iter().any(|label| lower.starts_with(label))
    };
    let lines: Vec<String> = text
        .lines()
        .map(|line| if labelled(&line) { format!("· {}", line.trim_start()) } else { line.to_owned() })
        .collect();
    let thought = match korean {
        false => "I answer with what was found.",
        true => "찾은 내용으로 답합니다.",
    };
    format!("Thought: {thought}\nFinal Answer: {}", lines.join("\n"))
}

/// The action of an earlier reply: the tool, and its arguments as a native call has them.
fn parse_action(text: &str, tools: &[ToolContract]) -> Option<(String, Value)> {
    let labelled =
        |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
    let name = labelled("Action:")?;
    let input = labelled("Action Input:").unwrap_or_default();
    let tool = tools.iter().find(|tool| tool.name == name);
    let value = match tool.is_none_or(ToolContract::takes_text) {
        true => json!(input),
        false => serde_json::from_str(input).unwrap_or_default(),
    };
    let arguments = tool.map_or_else(|| json!({"input": input}), |tool| tool.arguments(&value));
    Some((name.to_owned(), arguments))
}
