//! Thought and action as text: a planner's next move written out, and read back.

use serde_json::{Value, json};

use super::plan::Step;
use super::text::line;
use planwright::contract::ToolContract;

/// Most characters of a thought.
const MAX_THOUGHT: usize = 200;

/// One action.
pub(super) fn act(step: &Step, korean: bool) -> String {
    let input = step.input.as_str().map_or_else(|| step.input.to_string(), |text| line(text, usize::MAX));
    let thought = match korean {
        false => format!("I call {} for: {input}", step.tool),
        true => format!("{} 도구로 찾아봅니다: {input}", step.tool),
    };
    format!("Thought: {}\nAction: {}\nAction Input: {input}", line(&thought, MAX_THOUGHT), step.tool)
}

/// The final answer. A line of it that looks like a label is set apart, so that it is not read as one.
pub(super) fn answer(text: &str, korean: bool) -> String {
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
pub(super) fn action(text: &str, tools: &[ToolContract]) -> Option<(String, Value)> {
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
