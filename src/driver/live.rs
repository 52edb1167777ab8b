//! The live world: asks models, calls tools, lets time pass. What comes back is an event, or no answer
//! at all. People are asked elsewhere (`person.rs`): they look at the whole run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use super::clock::{Clock, RealTime, Sleeper, SystemClock};
use super::prepare::{Prepared, Request};
use super::redact::Redactor;
use crate::contract::{ToolContract, ToolEffect};
use crate::machine::{EffectId, Event, ToolOutcome};
use crate::ports::{
    Cause, Human, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput,
    Unanswered,
};
use crate::spec::RoleName;

/// The models and tools of an agent, and whoever else answers it.
#[derive(Default)]
pub(super) struct World {
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

impl World {
    /// What the clock says, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.as_deref().unwrap_or(&SystemClock).now_ms()
    }

    /// Performs an effect once. `None` where it was to wait and `stop` said not to wait any longer:
    /// the time has not passed.
    pub fn perform(
        &self,
        run: &str,
        prepared: &Prepared<'_>,
        tokens: Option<TokenSink<'_>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Event>, Unanswered> {
        let effect = prepared.id;
        match &prepared.request {
            Request::Model { role, request } => {
                let Some(model) = self.models.get(role).or(self.model.as_ref()) else {
                    return Err(unavailable(format!("no model is configured for the role {role}")));
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
            Request::Tool { tool, input, contract, .. } => {
                let outcome = self.call(run, effect, tool, *contract, input)?;
                Ok(Some(Event::ToolReturned { effect, outcome }))
            }
            Request::Wait { delay } => {
                self.sleeper.as_deref().unwrap_or(&RealTime).sleep(*delay, stop);
                Ok((!stop()).then_some(Event::TimePassed { effect }))
            }
            Request::Human { .. } => Ok(None),
        }
    }

    fn call(
        &self,
        run: &str,
        effect: EffectId,
        tool: &str,
        contract: Option<&ToolContract>,
        input: &Value,
    ) -> Result<ToolOutcome, Unanswered> {
        let (Some(Registered { tool: port, .. }), Some(contract)) = (self.tools.get(tool), contract) else {
            return Err(unavailable(format!("the tool {tool:?} is not registered")));
        };
        let most = contract.max_output_bytes as usize;
        // Keys go before the cut: half a key is still a secret.
        Ok(match call(port, contract, run, effect, input)? {
            Ok(output) => ToolOutcome::Returned {
                output: cut(self.redactor.text(output.text), most),
                sources: self.redactor.sources(output.sources),
            },
            Err(ToolError { kind, message, .. }) => ToolOutcome::Failed {
                kind: self.redactor.text(kind.to_string()),
                message: cut(self.redactor.text(message), most),
            },
        })
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
    // All tries of a write are one to whoever is written to: what ran out of time may have happened.
    let named = if contract.effect == ToolEffect::Write { effect.first_try() } else { effect };
    let key = format!("{run}/{named}");
    let once = contract.happens_once();
    let most = contract.max_output_bytes as usize;
    match contract.timeout_ms.map(Duration::from_millis) {
        None => settled(guarded(&**tool, input, &key, None, (most, once)), contract, once),
        Some(timeout) => {
            // The call gets a thread of its own that can be left behind: nothing else ends a
            // blocking call that does not come back.
            let (sender, receiver) = channel();
            let (tool, input) = (Arc::clone(tool), input.clone());
            let spawned =
                std::thread::Builder::new().name(format!("tool {}", contract.name)).spawn(move || {
                    let _ = sender.send(guarded(&*tool, &input, &key, Some(timeout), (most, once)));
                });
            match spawned.map(|_| receiver.recv_timeout(timeout)) {
                Ok(Ok(result)) => settled(result, contract, once),
                Ok(Err(RecvTimeoutError::Timeout)) => {
                    let message = format!("no answer within {} ms", timeout.as_millis());
                    settled(Err(ToolError::new(ToolErrorKind::Timeout, message)), contract, once)
                }
                Ok(Err(RecvTimeoutError::Disconnected)) => {
                    settled(Err(ToolError::new(ToolErrorKind::Panic, "the tool panicked")), contract, once)
                }
                Err(error) => {
                    let message = format!("no thread for the call: {error}");
                    Ok(Err(ToolError::new(ToolErrorKind::Resources, message).did_not_happen()))
                }
            }
        }
    }
}

/// What came of a call. Of a write that may not happen twice, a failure that says nothing of whether it
/// happened is no answer.
fn settled(
    result: Result<ToolOutput, ToolError>,
    contract: &ToolContract,
    once: bool,
) -> Result<Result<ToolOutput, ToolError>, Unanswered> {
    match result {
        Err(error) if once && error.may_have_happened() => {
            let message = format!("{}: {}; the write may have happened", contract.name, error.message);
            Err(Unanswered { cause: Cause::Timeout, message, retry_after: None, tries: 1 })
        }
        result => Ok(result),
    }
}

fn guarded(
    tool: &dyn Tool,
    input: &Value,
    key: &str,
    timeout: Option<Duration>,
    (most, once): (usize, bool),
) -> Result<ToolOutput, ToolError> {
    let call = ToolCall { input, idempotency_key: key, timeout, max_output_bytes: most, once };
    catch_unwind(AssertUnwindSafe(|| tool.call(&call))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ToolError::new(ToolErrorKind::Panic, said.unwrap_or_else(|| "the tool panicked".to_owned())))
    })
}

/// Cuts a text to at most `most` bytes, between characters, and says so.
pub(super) fn cut(mut text: String, most: usize) -> String {
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
