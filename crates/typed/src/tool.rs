//! Tools from functions.

use std::sync::Arc;

use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::schema::{Readable, Writable, of_input, of_output};

type Call = dyn Fn(&ToolCall<'_>) -> Result<ToolOutput, ToolError> + Send + Sync;

/// A tool made of a function. Its contract follows from the types; what they cannot say is added by
/// [`with_contract`](TypedTool::with_contract).
pub struct TypedTool {
    contract: ToolContract,
    call: Box<Call>,
}

/// A tool that does what a function does. A function from or to a text is a text tool; other outputs are data that
/// later steps may refer to.
///
/// ```
/// use planwright::contract::ToolEffect;
/// use planwright::ports::Tool;
/// use planwright_typed::tool;
///
/// let shout = tool("shout", ToolEffect::Pure, |text: String| Ok::<_, std::fmt::Error>(text.to_uppercase()))
///     .description("Says it louder.");
/// assert!(shout.contract().takes_text() && shout.contract().check().is_ok());
/// ```
pub fn tool<I: Readable, O: Writable, E: Into<Failure>>(
    name: &str,
    effect: ToolEffect,
    function: impl Fn(I) -> Result<O, E> + Send + Sync + 'static,
) -> TypedTool {
    tool_with_call(name, effect, move |input, _: &ToolCall<'_>| function(input))
}

/// A tool that does what a method of a shared value does: `method(&desk, "book", ToolEffect::Write, Desk::book)`.
pub fn method<S: Send + Sync + 'static, I: Readable, O: Writable, E: Into<Failure>>(
    state: &Arc<S>,
    name: &str,
    effect: ToolEffect,
    method: impl Fn(&S, I) -> Result<O, E> + Send + Sync + 'static,
) -> TypedTool {
    let state = Arc::clone(state);
    tool_with_call(name, effect, move |input, _: &ToolCall<'_>| method(&state, input))
}

/// A tool whose function is given the call as well: its idempotency key, its time, and whether it is waited for.
pub fn tool_with_call<I: Readable, O: Writable, E: Into<Failure>>(
    name: &str,
    effect: ToolEffect,
    function: impl Fn(I, &ToolCall<'_>) -> Result<O, E> + Send + Sync + 'static,
) -> TypedTool {
    let (input, description) = of_input::<I>();
    let output = of_output::<O>();
    let mut contract = ToolContract::text(name, &description, effect);
    if input != json!({"type": "string"}) {
        contract = contract.input(input);
    }
    let (is_text, is_empty) = (output["type"] == "string", output["type"] == "null");
    if !is_text && !is_empty {
        contract = contract.output(output);
    }
    let call = move |call: &ToolCall<'_>| {
        let input = I::deserialize(call.input).map_err(|_| misfit::<I>(call.input))?;
        let output = function(input, call).map_err(|error| ToolError::from(error.into()))?;
        let failed = |error: serde_json::Error| ToolError::new(ToolErrorKind::Internal, error.to_string());
        Ok(match serde_json::to_value(output).map_err(failed)? {
            Value::String(text) if is_text => text.into(),
            _ if is_empty => "done".into(),
            data => ToolOutput::from_data(data),
        })
    };
    TypedTool { contract, call: Box::new(call) }
}

/// Where an input that conforms to the schema is no value of the type all the same.
fn misfit<I: Readable>(input: &Value) -> ToolError {
    let problem = serde_path_to_error::deserialize::<_, I>(input).err();
    ToolError::input(problem.map_or_else(|| "expected another input".to_owned(), |error| error.to_string()))
}

impl TypedTool {
    /// Says what it does and when to use it; else the doc comment of its input's type does.
    #[must_use]
    pub fn description(self, description: &str) -> Self {
        self.with_contract(|contract| ToolContract { description: description.to_owned(), ..contract })
    }

    /// Changes the contract: `.with_contract(|contract| contract.idempotent().needs_approval())`.
    #[must_use]
    pub fn with_contract(self, change: impl FnOnce(ToolContract) -> ToolContract) -> Self {
        TypedTool { contract: change(self.contract), ..self }
    }
}

impl Tool for TypedTool {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        (self.call)(call)
    }
}
