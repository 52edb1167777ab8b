//! What all protocols tell a model in the same words: the form of a reply, and what is wrong with one.

use serde_json::{Map, Value};

use super::names::plain;
use planwright::prompt::Call;
use planwright::spec::RequestFrame;

/// What stands for the assistant's words where there were none before a note.
pub(crate) const NO_WORDS: &str = "Noted.";
const FORM_INSTRUCTION: &str =
    "Reply with one JSON object and nothing else. It must conform to this JSON schema:";

/// The system message, with a schema that is told in words.
pub(crate) fn render_system(frame: &RequestFrame, told: Option<&Value>) -> String {
    match told {
        Some(schema) => format!("{}\n\n{FORM_INSTRUCTION}\n{schema}", frame.system),
        None => frame.system.clone(),
    }
}

/// A reply that is to be repaired and what is wrong with it, if that is what a note says.
pub(crate) fn parse_repair(note: &str) -> Option<(String, String)> {
    let mut note: Value = serde_json::from_str(note).ok()?;
    let Value::String(reply) = note.get_mut("repair")?.as_object_mut()?.shift_remove("your_reply")? else {
        return None;
    };
    Some((reply, note.to_string()))
}

/// The words of a reply as a repair shows it, and its calls, one a line: `name({…})`. None where one was cut off or
/// has arguments that are no JSON object, which no server takes.
pub(crate) fn split_reply(reply: &str) -> (&str, Vec<Call>) {
    let parse_call = |line: &str| {
        let (name, arguments) = line.strip_suffix(')')?.split_once('(')?;
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let arguments = serde_json::from_str::<Map<String, Value>>(arguments).ok().filter(|_| is_name)?;
        Some((plain(name), Value::Object(arguments)))
    };
    let (mut words, mut calls) = (reply, Vec::new());
    loop {
        let (before, line) = words.rsplit_once('\n').unwrap_or(("", words));
        let Some((name, arguments)) = parse_call(line) else { break };
        calls.insert(0, (name, arguments));
        words = before;
    }
    let number = |(nth, (name, arguments))| Call { id: format!("bad_{}", nth + 1), name, arguments };
    (words, calls.into_iter().enumerate().map(number).collect())
}
