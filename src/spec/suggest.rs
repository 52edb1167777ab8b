//! Suggestions: calls that are proposed to a planner if a question matches a pattern.

use regex_lite::Regex;
use serde::Serialize;
use serde_json::Value;

use super::{SpecError, Suggestion};
use crate::contract::{PlanContract, schema};

/// A call that is proposed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggested {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
}

/// Most proposals for one question.
const MAX_SUGGESTED: usize = 8;

/// What is proposed for a question: every match of every suggestion, in order, that fits its tool.
pub(super) fn suggest(rules: &[(Suggestion, Regex)], plan: &PlanContract, question: &str) -> Vec<Suggested> {
    let mut found: Vec<Suggested> = Vec::new();
    for (Suggestion { tool, input: template, .. }, pattern) in rules {
        for groups in pattern.captures_iter(question) {
            let mut text = String::new();
            groups.expand(template, &mut text);
            // If the tool takes another value than a text, the text is its JSON.
            let fits =
                |value: &Value| plan.tool(tool).is_some_and(|tool| schema::check(&tool.input, value).is_ok());
            let as_json = || serde_json::from_str(&text).ok();
            let input = Some(Value::from(text.as_str())).filter(fits).or_else(|| as_json().filter(fits));
            let suggested = input.map(|input| Suggested { tool: tool.clone(), input });
            found.extend(suggested.filter(|suggested| !found.contains(suggested)));
            if found.len() == MAX_SUGGESTED {
                return found;
            }
        }
    }
    found
}

/// Checks a suggestion. Its pattern comes compiled.
pub(super) fn compile_pattern(suggestion: &Suggestion, plan: &PlanContract) -> Result<Regex, SpecError> {
    let pattern =
        Regex::new(&suggestion.pattern).map_err(|error| SpecError::at("pattern", error.to_string()))?;
    if plan.tool(&suggestion.tool).is_none() {
        return Err(SpecError::at("tool", format!("there is no tool {:?}", suggestion.tool)));
    }
    let known = |name: &&str| match name.parse::<usize>() {
        Ok(nth) => nth < pattern.captures_len(),
        Err(_) => pattern.capture_names().flatten().any(|group| group == *name),
    };
    match referenced_groups(&suggestion.input).into_iter().find(|name| !known(name)) {
        Some(unknown) => {
            let problem = "which `pattern` does not have; a plain `$` is written `$$`";
            Err(SpecError::at("input", format!("refers to the group {unknown:?}, {problem}")))
        }
        None => Ok(pattern),
    }
}

/// The groups that a template refers to, as [`regex_lite::Captures::expand`] reads it: `$name` with the
/// longest name there is, or `${name}`; `$$` is a plain `$`.
fn referenced_groups(template: &str) -> Vec<&str> {
    let reference = Regex::new(r"\$(?:\$|\{([^}]*)\}|([0-9A-Za-z_]+))").expect("it is a pattern");
    let groups = reference.captures_iter(template).filter_map(|found| found.get(1).or(found.get(2)));
    groups.map(|group| group.as_str()).collect()
}
