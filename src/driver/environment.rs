//! The environment: asks models, calls tools, lets time pass, and ends runs from outside. What comes back is an
//! event, or no answer at all. People are asked in `human_input.rs`, because they look at the whole run.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::left_behind::Call;
use super::redact::Redactor;
use crate::contract::{ToolContract, ToolEffect, schema::Schema};
use crate::journal::system;
use crate::machine::{EffectId, Event, ToolOutcome};
use crate::ports::{
    Cause, Human, Model, ModelError, RetrySink, TokenSink, Tool, ToolCall, ToolError, ToolErrorKind,
    ToolOutput, Unanswered,
};
use crate::prompt::{Request, RequestBody, TraceContext};
use crate::spec::{CompiledSpec, Policy, RoleName};

/// The models and tools of an agent, and who or what else answers it.
#[derive(Default)]
pub(super) struct Environment {
    pub model: Option<Arc<dyn Model>>,
    pub models: HashMap<RoleName, Arc<dyn Model>>,
    pub tools: BTreeMap<String, Registered>,
    pub human: Option<Box<dyn Human>>,
    pub clock: Box<dyn Clock>,
    pub redactor: Redactor,
    /// Where the agent's spec holds a key, if it does. Nothing may be written down under such a spec.
    pub leak: Option<String>,
}

impl Default for Box<dyn Clock> {
    fn default() -> Self {
        Box::new(SystemClock)
    }
}

/// A tool, with what it declared about itself when it was registered.
pub(super) struct Registered {
    pub tool: Arc<dyn Tool>,
    pub declared: ToolContract,
}

impl Environment {
    /// Performs an effect once. `None` for a wait that `stop` ended before its time, and for a call that can be made
    /// again and that is left behind. A call that cannot be made again is left behind once `leave` says so, and is in
    /// doubt then.
    pub fn perform(
        &self,
        (run, trace): (&str, Option<&TraceContext>),
        request: &Request<'_>,
        tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        (stop, leave): (&dyn Fn() -> bool, &dyn Fn() -> bool),
    ) -> Result<Option<Event>, Unanswered> {
        let effect = request.effect;
        let unavailable = |message| Err(Unanswered::new(Cause::Unavailable, message));
        match &request.body {
            RequestBody::Model { role, request } => {
                let Some(model) = self.models.get(role).or(self.model.as_ref()) else {
                    return unavailable(format!("no model is configured for the role {role}"));
                };
                let retrying = |error: &Unanswered, most, delay| {
                    let message = self.redactor.text(error.message.clone());
                    retrying(&Unanswered { message, ..error.clone() }, most, delay);
                };
                let event = match model.ask_until(request, tokens, &retrying, stop) {
                    Ok(reply) => Event::ModelReplied { effect, reply },
                    Err(ModelError::Failed(failure)) => Event::ModelFailed { effect, failure },
                    Err(ModelError::Unanswered(mut cause)) => {
                        cause.message = self.redactor.text(cause.message);
                        return Err(cause);
                    }
                };
                Ok(Some(self.redactor.clean(event)))
            }
            RequestBody::Tool { tool, input, contract, output, .. } => {
                let (Some(Registered { tool, .. }), Some(contract)) = (self.tools.get(&**tool), contract)
                else {
                    return unavailable(format!("the tool {tool:?} is not registered"));
                };
                let Some(result) = call_tool(tool, contract, (run, trace), effect, input, (stop, leave))
                else {
                    return Ok(None);
                };
                let outcome = self.take_result(result, contract, *output)?;
                Ok(Some(Event::ToolReturned { effect, outcome }))
            }
            RequestBody::Wait { delay_ms } => {
                self.clock.sleep(Duration::from_millis(*delay_ms), stop);
                Ok((!stop()).then_some(Event::TimePassed { effect }))
            }
            RequestBody::Human { .. } => Ok(None),
        }
    }

    /// The outcome of a call, without keys and of bounded size. A failed write that may not happen twice has
    /// none unless the tool says that it did not happen: the run is interrupted, and the write in doubt.
    fn take_result(
        &self,
        result: Result<ToolOutput, ToolError>,
        contract: &ToolContract,
        output: Option<&Schema>,
    ) -> Result<ToolOutcome, Unanswered> {
        // Keys go before the cut: half a key is still a secret.
        let clean = |text: String| shorten(self.redactor.text(text), contract);
        match result {
            Ok(ToolOutput { text, sources, data }) => {
                let (text, data) = (self.redactor.text(text), data.map(|data| self.redactor.clean(data)));
                let data = match (contract.take_data(output, &text, data), contract.effect) {
                    (Err(error), ToolEffect::Pure | ToolEffect::Read) => {
                        let (kind, message) = (ToolErrorKind::Response.to_string(), error.to_string());
                        return Ok(ToolOutcome::Failed { kind, message });
                    }
                    (taken, _) => taken.ok().flatten().map(Box::new),
                };
                let sources = self.redactor.clean(sources);
                Ok(ToolOutcome::Returned { output: shorten(text, contract), sources, data })
            }
            Err(error) if contract.happens_once() && error.may_have_happened() => {
                let said = clean(error.message);
                let message = format!("{}: {said}; the write may have happened", contract.name);
                Err(Unanswered::new(Cause::InDoubt, self.redactor.text(message)))
            }
            Err(error) => Ok(ToolOutcome::Failed {
                kind: self.redactor.text(error.kind.to_string()),
                message: clean(error.message),
            }),
        }
    }
}

/// Calls a tool within its contract's time. A panic is a failure like others. `None` once `stop` says so, unless the
/// call may not be made again and `leave` does not say so.
fn call_tool(
    tool: &Arc<dyn Tool>,
    contract: &ToolContract,
    (run, trace): (&str, Option<&TraceContext>),
    effect: EffectId,
    input: &Value,
    (stop, leave): (&dyn Fn() -> bool, &dyn Fn() -> bool),
) -> Option<Result<ToolOutput, ToolError>> {
    // All tries of a write have one key for the server: what ran out of time may have happened.
    let keyed = if contract.effect == ToolEffect::Write { effect.first_try() } else { effect };
    let mut key = String::with_capacity(run.len() + 24);
    key.push_str(run);
    let _ = write!(key, "/{keyed}");
    let trace = trace.map(|trace| match keyed == effect {
        true => trace.child(run, &key[run.len() + 1..]),
        false => trace.child(run, &effect.to_string()),
    });
    let timeout = contract.timeout_ms.map(Duration::from_millis);
    let (max_output_bytes, once) = (contract.max_output_bytes as usize, contract.happens_once());
    let call = move |tool: &dyn Tool, input: &Value, abandoned: &AtomicBool| {
        tool.call(&ToolCall {
            input,
            idempotency_key: &key,
            timeout,
            max_output_bytes,
            once,
            abandoned,
            trace,
        })
    };
    let Some(timeout) = timeout else {
        let call = || call(&**tool, input, &AtomicBool::new(false));
        return Some(result_of(catch_unwind(AssertUnwindSafe(call))));
    };
    let (tool, input) = (Arc::clone(tool), input.clone());
    let begun = match Call::begin(move |abandoned| call(&*tool, &input, abandoned)) {
        Ok(begun) => begun,
        Err(error) => {
            let message = format!("no thread for the call: {error}");
            return Some(Err(ToolError::new(ToolErrorKind::Resources, message).did_not_happen()));
        }
    };
    let (began, mut grace) = (Instant::now(), GRACE);
    let waits = contract.effect == ToolEffect::Write;
    let came = loop {
        let left = timeout.saturating_sub(began.elapsed());
        if let Some(result) = begun.wait(left.min(SLICE)) {
            break Some(result);
        }
        if left.is_zero() || leave() || (!waits && grace == 0) {
            break begun.leave();
        }
        grace -= u32::from(grace > 0 && stop());
    };
    match came {
        Some(result) => Some(result_of(result)),
        None if began.elapsed() < timeout && !once => None,
        None if began.elapsed() < timeout => {
            let message = "its answer was not waited for, because the process ends";
            Some(Err(ToolError::new(ToolErrorKind::Timeout, message)))
        }
        None => {
            let message = format!("no answer within {} ms", timeout.as_millis());
            Some(Err(ToolError::new(ToolErrorKind::Timeout, message)))
        }
    }
}

/// The result of a call, which may be a panic.
fn result_of(called: std::thread::Result<Result<ToolOutput, ToolError>>) -> Result<ToolOutput, ToolError> {
    called.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(ToolError::new(ToolErrorKind::Panic, text.unwrap_or_else(|| "the tool panicked".to_owned())))
    })
}

/// Cuts a text to the bytes that a tool's contract allows, between characters, and marks the cut.
pub(super) fn shorten(mut text: String, contract: &ToolContract) -> String {
    let (whole, most) = (text.len(), contract.max_output_bytes as usize);
    if whole <= most {
        return text;
    }
    let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.truncate(end);
    text + &format!("… [cut: {end} of {whole} bytes]")
}

/// How often a sleeping run looks whether it is to stop.
const SLICE: Duration = Duration::from_millis(20);
/// For how many slices more an answer is waited for, which may be about to come.
const GRACE: u32 = 12;

/// What an agent's models are told of the time, with the machine's time zone (RFC 9557). To the second, such
/// as `2026-11-20T09:30:00+09:00[Asia/Seoul]`; the day alone if replies are cached, so that the requests of
/// one day are equal.
pub fn time_for(policy: &Policy) -> String {
    let now = jiff::Zoned::now();
    if policy.enable_cache {
        let zone = now.time_zone().iana_name().map_or_else(String::new, |name| format!("[{name}]"));
        return format!("{}{zone}", now.date());
    }
    let to_the_second = jiff::ZonedRound::new().smallest(jiff::Unit::Second).mode(jiff::RoundMode::Trunc);
    now.round(to_the_second).unwrap_or(now).to_string()
}

/// The clock of an agent; the system's unless a test sets another. A method that is left out is the system's.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970: when a person was asked, and whether they had time enough.
    fn now_ms(&self) -> u64 {
        system::now_ms()
    }

    /// Lets time pass before another try of a step. Returns early once `stop` says so.
    fn sleep(&self, delay: Duration, stop: &dyn Fn() -> bool) {
        sleep(delay, stop);
    }
}

/// Lets time pass, and returns early once `stop` says so.
pub fn sleep(delay: Duration, stop: &dyn Fn() -> bool) {
    let began = Instant::now();
    while !stop() {
        let left = delay.saturating_sub(began.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(SLICE));
    }
}

/// The system's clock.
struct SystemClock;

impl Clock for SystemClock {}

/// Stops runs from another thread. What may not be done twice is waited for, unless it is [left](CancelToken::leave);
/// what can be asked again is left behind, where the port can do that, and waits and tries end at once.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicU8>);

/// What a token says, the stronger word last.
const INTERRUPT_SOON: u8 = 1;
const INTERRUPT: u8 = 2;
const CANCEL: u8 = 3;
/// Beside a word: nothing is waited for.
const LEAVE: u8 = 0x80;

impl CancelToken {
    /// A token that stops nothing yet.
    pub fn new() -> Self {
        CancelToken::default()
    }

    /// Ends every run that holds this token, as `CANCELLED`.
    pub fn cancel(&self) {
        self.0.fetch_max(CANCEL, Ordering::Relaxed);
    }

    /// Has every run that holds this token stop as [`Interrupted`](super::Interrupted), to be gone on with.
    pub fn interrupt(&self) {
        self.0.fetch_max(INTERRUPT, Ordering::Relaxed);
    }

    /// As [`interrupt`](CancelToken::interrupt), once what each run asks now is answered.
    pub fn interrupt_soon(&self) {
        self.0.fetch_max(INTERRUPT_SOON, Ordering::Relaxed);
    }

    /// As [`interrupt`](CancelToken::interrupt), and leaves behind what may not be done twice: it is in doubt then, as
    /// after a crash. For the end of the process.
    pub fn leave(&self) {
        self.interrupt();
        self.0.fetch_or(LEAVE, Ordering::Relaxed);
    }

    fn says(&self, word: u8) -> bool {
        self.0.load(Ordering::Relaxed) & !LEAVE == word
    }
}

/// The time limit of a run in this process, and the token that stops it.
pub(super) struct Deadline {
    cancel: CancelToken,
    began: Instant,
    limit: Duration,
    /// The time that people took, in milliseconds. It does not count.
    paused: AtomicU64,
}

impl Deadline {
    /// Begins now.
    pub fn new(compiled: &CompiledSpec, cancel: CancelToken) -> Self {
        let limit = Duration::from_secs(u64::from(compiled.spec().limits.deadline_seconds));
        Deadline { cancel, began: Instant::now(), limit, paused: AtomicU64::new(0) }
    }

    /// The event that ends the run, once it is to end.
    pub fn ending_event(&self) -> Option<Event> {
        if self.cancel.says(CANCEL) {
            return Some(Event::Cancelled { reason: "stopped by the user".to_owned() });
        }
        let paused = Duration::from_millis(self.paused.load(Ordering::Relaxed));
        (self.began.elapsed() > self.limit + paused).then_some(Event::DeadlinePassed)
    }

    /// Whether the run is to stop and to be gone on with.
    pub fn is_interrupted(&self) -> bool {
        self.cancel.says(INTERRUPT)
    }

    /// Whether nothing is waited for any more.
    pub fn leaves(&self) -> bool {
        self.cancel.0.load(Ordering::Relaxed) & LEAVE != 0
    }

    /// Whether the run is to stop once what it asks now is answered.
    pub fn stops_soon(&self) -> bool {
        self.cancel.says(INTERRUPT_SOON) || self.is_interrupted()
    }

    /// Whether the run is to end or to stop.
    pub fn has_passed(&self) -> bool {
        self.is_interrupted() || self.ending_event().is_some()
    }

    /// Leaves time out of the count. Never called while anything else waits for time to pass.
    pub fn pause(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.paused.fetch_add(millis.min(u64::MAX / 4), Ordering::Relaxed);
    }
}
