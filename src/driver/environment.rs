//! The environment: asks models, calls tools, lets time pass. What comes back is an event, or no answer
//! at all. People are asked elsewhere (`human_input.rs`): they look at the whole run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use super::clock::{Clock, RealTime, Sleeper, SystemClock};
use super::redact::Redactor;
use crate::contract::{ToolContract, ToolEffect};
use crate::machine::{EffectId, Event, ToolOutcome};
use crate::ports::{
    Cause, Human, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput,
    Unanswered,
};
use crate::prompt::{Request, RequestBody};
use crate::spec::RoleName;

/// The models and tools of an agent, and who or what else answers it.
#[derive(Default)]
pub(super) struct Environment {
    pub model: Option<Arc<dyn Model>>,
    pub models: HashMap<RoleName, Arc<dyn Model>>,
    pub tools: HashMap<String, Registered>,
    pub human: Option<Arc<dyn Human>>,
    pub sleeper: Option<Arc<dyn Sleeper>>,
    pub clock: Option<Arc<dyn Clock>>,
    pub redactor: Redactor,
    /// Where the agent's spec holds a key, if it does: nothing may be written down under it.
    pub leak: Option<String>,
}

/// A tool, with what it declared about itself when it was registered.
pub(super) struct Registered {
    pub tool: Arc<dyn Tool>,
    pub declared: ToolContract,
}

impl Environment {
    /// What the clock says, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.as_deref().unwrap_or(&SystemClock).now_ms()
    }

    /// Performs an effect once. `None` where it was to wait and `stop` ended the waiting: the time has not
    /// passed.
    pub fn perform(
        &self,
        run: &str,
        request: &Request<'_>,
        tokens: Option<TokenSink<'_>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Event>, Unanswered> {
        let effect = request.effect;
        match &request.body {
            RequestBody::Model { role, request } => {
                let Some(model) = self.models.get(role).or(self.model.as_ref()) else {
                    return Err(Unanswered::new(
                        Cause::Unavailable,
                        format!("no model is configured for the role {role}"),
                    ));
                };
                let event = match model.ask(request, tokens) {
                    Ok(reply) => Event::ModelReplied { effect, reply },
                    Err(ModelError::Failed(failure)) => Event::ModelFailed { effect, failure },
                    Err(ModelError::Unanswered(mut cause)) => {
                        cause.message = self.redactor.text(cause.message);
                        return Err(cause);
                    }
                };
                Ok(Some(self.redactor.event(event)))
            }
            RequestBody::Tool { tool, input, contract, .. } => {
                let (Some(Registered { tool, .. }), Some(contract)) = (self.tools.get(tool), contract) else {
                    let message = format!("the tool {tool:?} is not registered");
                    return Err(Unanswered::new(Cause::Unavailable, message));
                };
                let result = call_tool(tool, contract, run, effect, input);
                let outcome = self.take_result(result, contract)?;
                Ok(Some(Event::ToolReturned { effect, outcome }))
            }
            RequestBody::Wait { delay_ms } => {
                let delay = Duration::from_millis(*delay_ms);
                self.sleeper.as_deref().unwrap_or(&RealTime).sleep(delay, stop);
                Ok((!stop()).then_some(Event::TimePassed { effect }))
            }
            RequestBody::Human { .. } => Ok(None),
        }
    }

    /// What came of a call, without keys and of bounded size.
    ///
    /// # Errors
    /// The failure of a write that may not happen twice, unless the tool says that it did not happen: there
    /// is no answer to give, the run is interrupted, and the write in doubt.
    fn take_result(
        &self,
        result: Result<ToolOutput, ToolError>,
        contract: &ToolContract,
    ) -> Result<ToolOutcome, Unanswered> {
        let most = contract.max_output_bytes as usize;
        // Keys go before the cut: half a key is still a secret.
        let clean = |text: String| shorten(self.redactor.text(text), most);
        match result {
            Ok(output) => {
                let sources = self.redactor.sources(output.sources);
                Ok(ToolOutcome::Returned { output: clean(output.text), sources })
            }
            Err(error) if contract.happens_once() && error.may_have_happened() => {
                let message = format!("{}: {}; the write may have happened", contract.name, error.message);
                Err(Unanswered::new(Cause::Timeout, self.redactor.text(message)))
            }
            Err(error) => Ok(ToolOutcome::Failed {
                kind: self.redactor.text(error.kind.to_string()),
                message: clean(error.message),
            }),
        }
    }
}

/// Calls a tool within its contract's time. A panic is a failure like others.
fn call_tool(
    tool: &Arc<dyn Tool>,
    contract: &ToolContract,
    run: &str,
    effect: EffectId,
    input: &Value,
) -> Result<ToolOutput, ToolError> {
    // All tries of a write have one key for the server: what ran out of time may have happened.
    let keyed = if contract.effect == ToolEffect::Write { effect.first_try() } else { effect };
    let key = format!("{run}/{keyed}");
    let timeout = contract.timeout_ms.map(Duration::from_millis);
    let (max_output_bytes, once) = (contract.max_output_bytes as usize, contract.happens_once());
    let call = move |tool: &dyn Tool, input: &Value| {
        let call = ToolCall { input, idempotency_key: &key, timeout, max_output_bytes, once };
        catch_unwind(AssertUnwindSafe(|| tool.call(&call))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "the tool panicked".to_owned());
            Err(ToolError::new(ToolErrorKind::Panic, text))
        })
    };
    let Some(timeout) = timeout else { return call(&**tool, input) };
    // The call gets a thread of its own that can be left behind: nothing else ends a blocking call that
    // does not come back.
    let (sender, receiver) = channel();
    let (tool, input) = (Arc::clone(tool), input.clone());
    let thread = std::thread::Builder::new().name(format!("tool {}", contract.name));
    let spawned = thread.spawn(move || {
        let _ = sender.send(call(&*tool, &input));
    });
    match spawned.map(|_| receiver.recv_timeout(timeout)) {
        Ok(Ok(result)) => result,
        Ok(Err(RecvTimeoutError::Timeout)) => {
            let message = format!("no answer within {} ms", timeout.as_millis());
            Err(ToolError::new(ToolErrorKind::Timeout, message))
        }
        Ok(Err(RecvTimeoutError::Disconnected)) => {
            Err(ToolError::new(ToolErrorKind::Panic, "the tool panicked"))
        }
        Err(error) => {
            let message = format!("no thread for the call: {error}");
            Err(ToolError::new(ToolErrorKind::Resources, message).did_not_happen())
        }
    }
}

/// Cuts a text to at most `most` bytes, between characters, and marks the cut.
pub(super) fn shorten(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let whole = text.len();
    let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.truncate(end);
    text.push_str(&format!("… [cut: {end} of {whole} bytes]"));
    text
}
