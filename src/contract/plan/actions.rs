//! Actions instead of a plan: native tool calls, and thought and action as text. Each is read as the
//! steps of a plan.
//!
//! A reply in text is `Thought: …` with either `Action: <tool>` and `Action Input: <input>` or
//! `Final Answer: …`, each at the start of a line. What a model goes on to imagine after its action
//! (an `Observation:` of its own) is not read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::PlanContract;
use super::{Before, Plan, PlanStep, ReadPlan};
use crate::contract::read::{check_size, strip_all_thoughts};
use crate::contract::{ContractError, excerpt};

/// One tool call as a model asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: a JSON object, unread.
    pub arguments: String,
}

impl AskedCall {
    /// The step of a call that is refused: as servers take a call that is shown to them, with the arguments as they
    /// were written if they are a JSON object of at most so many bytes.
    fn as_step(&self, max_bytes: usize) -> PlanStep {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let legal = self.name.chars().map(|c| if is_legal(c) { c } else { '_' });
        let tool = if self.name.is_empty() { "_".to_owned() } else { legal.take(64).collect() };
        let fits = Some(&self.arguments).filter(|arguments| arguments.len() <= max_bytes);
        let arguments: Option<Map<String, Value>> = fits.and_then(|text| serde_json::from_str(text).ok());
        PlanStep { tool, input: Some(Value::Object(arguments.unwrap_or_default())), ..PlanStep::default() }
    }
}

/// What a reply with thought and action says.
#[derive(Clone, Debug, PartialEq)]
pub enum ReactReply {
    /// One tool is to be called.
    Act(Box<ReadPlan>),
    /// This is the answer.
    Answer(String),
}

impl PlanContract {
    /// Parses native tool calls as a plan of one step for each call.
    pub fn parse_calls(
        &self,
        before: Before<'_>,
        calls: &[AskedCall],
        max_bytes: usize,
    ) -> Result<ReadPlan, ContractError> {
        let mut steps = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let step = self.parse_call(call, max_bytes);
            steps.push(step.map_err(|error| error.under(&format!("$.tool_calls[{at}]")))?);
        }
        self.plan_of(before, steps).map_err(|error| error.moved("$.steps", "$.tool_calls"))
    }

    /// Parses native tool calls like [`parse_calls`](Self::parse_calls), but refuses a bad one among good ones by
    /// itself.
    pub(crate) fn parse_each_call(
        &self,
        before: Before<'_>,
        calls: &[AskedCall],
        max_bytes: usize,
    ) -> Result<ReadPlan, ContractError> {
        let strict = self.parse_calls(before, calls, max_bytes);
        if strict.is_ok() || self.check_count(calls.len()).is_err() {
            return strict;
        }
        let (mut steps, mut refused) = (Vec::with_capacity(calls.len()), Vec::new());
        for (at, call) in calls.iter().enumerate() {
            match self.parse_calls(before, std::slice::from_ref(call), max_bytes) {
                Ok(read) => steps.extend(Arc::unwrap_or_clone(read.plan).steps),
                Err(error) => {
                    steps.push(call.as_step(max_bytes.min(self.max_input_bytes)));
                    refused.push((at, error.moved("$.tool_calls[0]", &format!("$.tool_calls[{at}]"))));
                }
            }
        }
        if refused.len() == calls.len() {
            return strict;
        }
        let plan = Plan { steps, ..Plan::default() };
        Ok(ReadPlan { plan: Arc::new(plan), refused, ..ReadPlan::default() })
    }

    fn parse_call(&self, call: &AskedCall, max_bytes: usize) -> Result<PlanStep, ContractError> {
        let Some(tool) = self.tool(&call.name) else {
            let names: Vec<&str> = self.all().iter().map(|tool| tool.name.as_str()).collect();
            let found = excerpt(&call.name, 60);
            let problem = format!("expected one of {}, found {found:?}", names.join(", "));
            return Err(ContractError::at("name", problem));
        };
        check_size(&call.arguments, max_bytes).map_err(|error| error.under("arguments"))?;
        let arguments = Some(call.arguments.trim()).filter(|text| !text.is_empty()).unwrap_or("{}");
        let arguments: Map<String, Value> = serde_json::from_str(arguments)
            .map_err(|error| ContractError::at("arguments", format!("expected a JSON object ({error})")))?;
        let input = tool.parse_arguments(arguments).map_err(|error| error.under("arguments"))?;
        if self.agent(&call.name).is_none() {
            self.check_value(&call.name, &input).map_err(|error| error.under("arguments"))?;
        }
        Ok(PlanStep { tool: call.name.clone(), input: Some(input), ..PlanStep::default() })
    }

    /// Parses a reply with thought and action: an action as a plan of one step.
    pub fn parse_react(
        &self,
        before: Before<'_>,
        text: &str,
        max_bytes: usize,
    ) -> Result<ReactReply, ContractError> {
        check_size(text, max_bytes)?;
        let text = &strip_all_thoughts(text);
        let Some(name) = find_labelled(text, "Action:", &["Action Input:", "Observation:", "Thought:"])
        else {
            let answer = find_labelled(text, "Final Answer:", &[]).filter(|answer| !answer.is_empty());
            return answer.map(ReactReply::Answer).ok_or_else(|| {
                ContractError::at("$", "expected a line \"Action: …\" or \"Final Answer: …\", found neither")
            });
        };
        let input = find_labelled(text, "Action Input:", &["Observation:", "Thought:", "Action:"]);
        let input =
            input.ok_or_else(|| ContractError::at("Action Input", "expected an input, found none"))?;
        let value = match self.tool(&name).is_none_or(|tool| tool.takes_text()) {
            true => Value::String(strip_quotes(&input).to_owned()),
            false => serde_json::from_str(&input)
                .map_err(|error| ContractError::at("Action Input", format!("expected JSON ({error})")))?,
        };
        let step = PlanStep { tool: name, input: Some(value), ..PlanStep::default() };
        self.plan_of(before, vec![step]).map(|read| ReactReply::Act(Box::new(read)))
    }

    fn plan_of(&self, before: Before<'_>, steps: Vec<PlanStep>) -> Result<ReadPlan, ContractError> {
        let plan = Plan { steps, ..Plan::default() };
        let links = self.check(before, &plan)?;
        Ok(ReadPlan { plan: Arc::new(plan), links, ..ReadPlan::default() })
    }
}

/// The text after a label at the start of a line, up to the next line that starts with one of `ends`.
pub(in crate::contract) fn find_labelled(text: &str, label: &str, ends: &[&str]) -> Option<String> {
    let starts = |line: &str, label: &str| {
        line.trim_start().get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label))
    };
    let mut lines = text.split_inclusive('\n').skip_while(|line| !starts(line, label));
    let mut found = lines.next()?.trim_start()[label.len()..].to_owned();
    found.extend(lines.take_while(|line| !ends.iter().any(|end| starts(line, end))));
    Some(found.trim().to_owned())
}

/// A text without the quotation marks that models like to put around it.
fn strip_quotes(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}
