//! The live world: asks models and calls tools. What comes back is an event, or no answer at all.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use super::ports::{Cause, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput, Unanswered};
use super::prepare::{Prepared, Request};
use super::redact::Redactor;
use crate::contract::{ToolContract, ToolEffect};
use crate::machine::{EffectId, Event, ToolOutcome};
use crate::spec::{RoleName, Rules};

/// The models and tools of an agent.
#[derive(Default)]
pub(super) struct World {
    pub model: Option<Arc<dyn Model>>,
    pub models: HashMap<RoleName, Arc<dyn Model>>,
    pub tools: HashMap<String, Arc<dyn Tool>>,
    pub redactor: Redactor,
}

impl World {
    /// Performs an effect once.
    pub fn perform(
        &self,
        rules: &Rules,
        run: &str,
        prepared: &Prepared,
        tokens: Option<TokenSink<'_>>,
    ) -> Result<Event, Unanswered> {
        let event = match &prepared.request {
            Request::Model { role, request } => {
                let Some(model) = self.models.get(role).or(self.model.as_ref()) else {
                    return Err(unavailable(format!("no model is configured for the role {role}")));
                };
                match model.ask(request, tokens) {
                    Ok(reply) => Event::ModelReplied { effect: prepared.id, reply },
                    Err(ModelError::Failed(failure)) => Event::ModelFailed { effect: prepared.id, failure },
                    Err(ModelError::Unanswered(mut cause)) => {
                        cause.message = self.redactor.text(cause.message);
                        return Err(cause);
                    }
                }
            }
            Request::Tool { tool, input, .. } => {
                let (Some(port), Some(contract)) = (self.tools.get(tool), rules.tool(tool)) else {
                    return Err(unavailable(format!("the tool {tool:?} is not registered")));
                };
                let most = contract.max_output_bytes as usize;
                // Keys go before the cut: half a key is still a secret.
                let outcome = match call(port, contract, run, prepared.id, input)? {
                    Ok(output) => ToolOutcome::Returned {
                        output: cut(self.redactor.text(output.text), most),
                        sources: self.redactor.sources(output.sources),
                    },
                    Err(ToolError { kind, message }) => ToolOutcome::Failed {
                        kind: self.redactor.text(kind),
                        message: cut(self.redactor.text(message), most),
                    },
                };
                return Ok(Event::ToolReturned { effect: prepared.id, outcome });
            }
        };
        Ok(self.redactor.event(event))
    }
}

fn unavailable(message: String) -> Unanswered {
    Unanswered { cause: Cause::Unavailable, message, retry_after: None, tries: 1 }
}

/// Calls a tool within its contract's time. A panic is a failure like others.
///
/// # Errors
/// A write that may not happen twice and has not come back: it may have happened or may yet, so
/// there is no answer to give. The run is interrupted, and the write in doubt.
fn call(
    tool: &Arc<dyn Tool>,
    contract: &ToolContract,
    run: &str,
    effect: EffectId,
    input: &Value,
) -> Result<Result<ToolOutput, ToolError>, Unanswered> {
    let key = format!("{run}/{effect}");
    let most = contract.max_output_bytes as usize;
    match contract.timeout_ms.map(Duration::from_millis) {
        None => Ok(guarded(&**tool, input, &key, None, most)),
        Some(timeout) => {
            // The call gets a thread of its own that can be left behind: nothing else ends a
            // blocking call that does not come back.
            let (sender, receiver) = channel();
            let (tool, input) = (Arc::clone(tool), input.clone());
            let spawned =
                std::thread::Builder::new().name(format!("tool {}", contract.name)).spawn(move || {
                    let _ = sender.send(guarded(&*tool, &input, &key, Some(timeout), most));
                });
            match spawned.map(|_| receiver.recv_timeout(timeout)) {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(RecvTimeoutError::Timeout)) => {
                    let message = format!("no answer within {} ms", timeout.as_millis());
                    if contract.effect == ToolEffect::Write && !contract.is_idempotent() {
                        let message = format!("{}: {message}; the write may have happened", contract.name);
                        let cause = Cause::Timeout;
                        return Err(Unanswered { cause, message, retry_after: None, tries: 1 });
                    }
                    Ok(Err(ToolError::new("timeout", message)))
                }
                Ok(Err(RecvTimeoutError::Disconnected)) => {
                    Ok(Err(ToolError::new("panic", "the tool panicked")))
                }
                Err(error) => {
                    Ok(Err(ToolError::new("resources", format!("no thread for the call: {error}"))))
                }
            }
        }
    }
}

fn guarded(
    tool: &dyn Tool,
    input: &Value,
    key: &str,
    timeout: Option<Duration>,
    most: usize,
) -> Result<ToolOutput, ToolError> {
    let call = ToolCall { input, idempotency_key: key, timeout, max_output_bytes: most };
    catch_unwind(AssertUnwindSafe(|| tool.call(&call))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ToolError::new("panic", said.unwrap_or_else(|| "the tool panicked".to_owned())))
    })
}

/// Cuts a text to at most `most` bytes, between characters, and says so.
fn cut(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let whole = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str(&format!("… [cut: {end} of {whole} bytes]"));
    text
}
