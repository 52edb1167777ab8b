//! Thought and action as text: how models were asked to call tools before servers could.
//!
//! A reply is `Thought: …` with either `Action: <tool>` and `Action Input: <input>` or
//! `Final Answer: …`, each at the start of a line. What a model goes on to imagine after its action
//! (an `Observation:` of its own) is not read.

use serde_json::Value;

use super::plan::{Before, PlanContract, ReadPlan};
use super::{ContractError, Plan, PlanStep, read};

/// What a reply in this form says.
#[derive(Clone, Debug, PartialEq)]
pub enum ReactReply {
    /// One tool is to be called.
    Act(ReadPlan),
    /// This is the answer.
    Answer(String),
}

/// The text after a label at the start of a line, up to the next of `ends`.
fn after<'a>(text: &'a str, label: &str, ends: &[&str]) -> Option<&'a str> {
    let starts = |line: &str, label: &str| {
        line.trim_start().get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label))
    };
    let mut from = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        match from {
            None if starts(line, label) => {
                let indent = line.len() - line.trim_start().len();
                from = Some(at + indent + label.len());
            }
            Some(begun) if ends.iter().any(|end| starts(line, end)) => return Some(text[begun..at].trim()),
            _ => {}
        }
        at += line.len();
    }
    from.map(|begun| text[begun..].trim())
}

impl PlanContract {
    /// Reads a reply in this form: an action as a plan of one step.
    ///
    /// # Errors
    /// What is missing or does not fit, under its label.
    pub fn read_react(
        &self,
        before: Before<'_>,
        text: &str,
        max_bytes: usize,
    ) -> Result<ReactReply, ContractError> {
        read::within(text, max_bytes)?;
        let text = read::spoken(text);
        let action = after(text, "Action:", &["Action Input:", "Observation:", "Thought:"]);
        let answer = after(text, "Final Answer:", &[]);
        let Some(name) = action else {
            let answer = answer.filter(|answer| !answer.is_empty()).ok_or_else(|| {
                ContractError::at("$", "expected a line \"Action: …\" or \"Final Answer: …\", found neither")
            })?;
            return Ok(ReactReply::Answer(answer.to_owned()));
        };
        let input = after(text, "Action Input:", &["Observation:", "Thought:", "Action:"]);
        let input =
            input.ok_or_else(|| ContractError::at("Action Input", "expected an input, found none"))?;
        let takes_text = self.tool(name).is_none_or(super::ToolContract::takes_text);
        let value = match takes_text {
            true => Value::String(unquoted(input).to_owned()),
            false => serde_json::from_str(input)
                .map_err(|error| ContractError::at("Action Input", format!("expected JSON ({error})")))?,
        };
        let step = PlanStep { tool: name.to_owned(), input: Some(value), ..PlanStep::default() };
        let plan = Plan { steps: vec![step], ..Plan::default() };
        let links = self.check_after(before, &plan)?;
        Ok(ReactReply::Act(ReadPlan { plan, links, ignored: Vec::new() }))
    }
}

/// A text without the quotation marks that models like to put around it.
fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}
