//! Native function calling: the calls that a planner's reply asks for, read as the steps of a plan.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::plan::{Before, PlanContract, ReadPlan};
use super::{ContractError, Plan, PlanStep, ToolContract, read, schema};

/// One tool call as a model asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: a JSON object, unread.
    pub arguments: String,
}

/// The name of the one argument of a tool that takes no object.
pub const INPUT: &str = "input";

impl ToolContract {
    /// The JSON schema of the tool's arguments in a native call: its input where that is an object,
    /// else an object that holds the input as [`INPUT`].
    ///
    /// ```
    /// use planwright::contract::{ToolContract, ToolEffect};
    ///
    /// let wiki = ToolContract::text("wiki", "Searches an encyclopedia.", ToolEffect::Read);
    /// assert_eq!(wiki.parameters()["required"], serde_json::json!(["input"]));
    /// ```
    pub fn parameters(&self) -> Value {
        if self.takes_object() {
            return self.input.clone();
        }
        schema::strict_object(json!({INPUT: self.input}))
    }

    /// The arguments of a native call with this input.
    pub fn arguments(&self, input: &Value) -> Value {
        match self.takes_object() {
            true => input.clone(),
            false => json!({INPUT: input}),
        }
    }

    fn takes_object(&self) -> bool {
        self.input.get("type").and_then(Value::as_str) == Some("object")
    }

    /// The input that a native call's arguments hold.
    fn input_of(&self, arguments: Map<String, Value>) -> Result<Value, ContractError> {
        if self.takes_object() {
            return Ok(Value::Object(arguments));
        }
        // Models rename a lone argument (`query`, `title`, …); what it holds is clear all the same.
        let lone = arguments.len() == 1;
        let mut values = arguments.into_iter();
        let named = values.find_map(|(name, value)| (lone || name == INPUT).then_some(value));
        named.ok_or_else(|| ContractError::at(INPUT, "expected an input, found none"))
    }
}

impl PlanContract {
    /// Reads native tool calls as a plan of one step for each call.
    ///
    /// # Errors
    /// The first thing that does not fit, as a path into `$.tool_calls`.
    pub fn read_calls(
        &self,
        before: Before<'_>,
        calls: &[AskedCall],
        max_bytes: usize,
    ) -> Result<ReadPlan, ContractError> {
        let mut steps = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            let step = self.read_call(call, max_bytes);
            steps.push(step.map_err(|error| error.under(&format!("$.tool_calls[{at}]")))?);
        }
        let plan = Plan { steps, ..Plan::default() };
        let links =
            self.check_after(before, &plan).map_err(|error| error.moved("$.steps", "$.tool_calls"))?;
        Ok(ReadPlan { plan, links, ignored: Vec::new() })
    }

    fn read_call(&self, call: &AskedCall, max_bytes: usize) -> Result<PlanStep, ContractError> {
        let Some(tool) = self.tool(&call.name) else {
            let names: Vec<&str> = self.all().iter().map(|tool| tool.name.as_str()).collect();
            let found = read::excerpt(&call.name, 60);
            let problem = format!("expected one of {}, found {found:?}", names.join(", "));
            return Err(ContractError::at("name", problem));
        };
        read::within(&call.arguments, max_bytes).map_err(|error| error.under("arguments"))?;
        let written = match call.arguments.trim() {
            "" => "{}",
            written => written,
        };
        let arguments: Map<String, Value> = serde_json::from_str(written)
            .map_err(|error| ContractError::at("arguments", format!("expected a JSON object ({error})")))?;
        let input = tool.input_of(arguments).map_err(|error| error.under("arguments"))?;
        if self.agent(&call.name).is_none() {
            schema::check(&tool.input, &input).map_err(|error| error.under("arguments"))?;
        }
        Ok(PlanStep { tool: call.name.clone(), input: Some(input), ..PlanStep::default() })
    }
}
