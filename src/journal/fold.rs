//! The fold: what a sequence of records means.

use super::record::check_format;
use super::{Header, JournalError, Record, ResolvedAs, Unknown};
use crate::contract::ToolEffect;
use crate::machine::{
    Effect, EffectId, Input, State, awaited, outstanding, start, transition, void_approvals,
};
use crate::prompt::{Request, RequestBody, TraceContext};
use crate::spec::{CompiledSpec, Containment, Digest, OnRejection, Spec};

/// What was requested and is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub effect: EffectId,
    /// The index of the record that last requested it.
    pub index: u64,
    /// The digest of the last request.
    digest: Digest,
    /// When it was first requested.
    at: Option<u64>,
}

/// What the records of a run say besides its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// What was requested and not answered, in the order of the requests.
    pub pending: Vec<Pending>,
    /// The writes that a person has said to be unknown.
    pub unknown: Vec<Unknown>,
    /// The number of records.
    pub len: u64,
}

impl Ledger {
    /// Takes the next record. The state is that before it.
    pub fn note(&mut self, compiled: &CompiledSpec, state: &State, record: &Record) {
        let index = self.len;
        self.len += 1;
        let ended = match record {
            Record::Requested { effect, digest, at } => {
                match self.pending.iter_mut().find(|asked| asked.effect == *effect) {
                    // Requested again after a crash, it is still the one effect.
                    Some(asked) => (asked.index, asked.digest) = (index, *digest),
                    None => self.pending.push(Pending { effect: *effect, index, digest: *digest, at: *at }),
                }
                return;
            }
            Record::Resolved { effect, resolution: ResolvedAs::Unknown } => {
                self.unknown.retain(|left| left.effect != *effect);
                let tool = find_unrepeatable(compiled, state, *effect);
                self.unknown.extend(tool.map(|tool| Unknown { effect: *effect, tool }));
                return;
            }
            Record::Resolved { effect, resolution: ResolvedAs::DidNotHappen } => Some(*effect),
            Record::Answered { event, .. } | Record::Happened { event, .. } => event.effect(),
            Record::Header(_)
            | Record::Resolved { .. }
            | Record::Interrupted { .. }
            | Record::Asked(_)
            | Record::SpecChanged(_) => None,
        };
        self.pending.retain(|asked| Some(asked.effect) != ended);
        self.unknown.retain(|left| Some(left.effect) != ended);
    }

    /// The unanswered request of an effect.
    pub fn find_pending(&self, effect: EffectId) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.effect == effect)
    }

    /// When an effect was first requested, if it is not answered and the time is known.
    pub fn asked_at(&self, effect: EffectId) -> Option<u64> {
        self.find_pending(effect)?.at
    }

    /// The writes in doubt, each with its tool.
    pub fn doubts(&self, compiled: &CompiledSpec, state: &State) -> impl Iterator<Item = (EffectId, String)> {
        let pending = self.pending.iter().map(|pending| pending.effect);
        pending.filter_map(|id| Some((id, find_unrepeatable(compiled, state, id)?)))
    }
}

/// A journal, folded.
#[derive(Debug)]
pub struct Folded {
    /// The run's id.
    pub run: String,
    /// The thread that it is a turn of; empty if it stands alone.
    pub thread: String,
    /// Which turn of the thread it is, from 0.
    pub turn: u32,
    /// The name of the model that it began with.
    pub model: String,
    /// The spec that it runs under.
    pub compiled: CompiledSpec,
    /// The state after the last record.
    pub state: State,
    /// The span of the request that began it.
    pub(crate) trace: Option<TraceContext>,
    pub(crate) ledger: Ledger,
}

impl Folded {
    /// The index of the next record, which is the number of records.
    pub fn next_index(&self) -> u64 {
        self.ledger.len
    }

    /// The effects that were requested and not answered, in the order of the requests.
    pub fn unanswered(&self) -> impl Iterator<Item = EffectId> {
        self.ledger.pending.iter().map(|pending| pending.effect)
    }

    /// When an effect was first requested, in milliseconds since 1970, if it is not answered and the time is
    /// known.
    pub fn asked_at(&self, effect: EffectId) -> Option<u64> {
        self.ledger.asked_at(effect)
    }

    /// The writes in doubt, each with its tool: requested, not answered, and not to be done twice.
    pub fn doubts(&self) -> impl Iterator<Item = (EffectId, String)> {
        self.ledger.doubts(&self.compiled, &self.state)
    }

    /// The writes that a person has said to be unknown.
    pub fn unknown(&self) -> &[Unknown] {
        &self.ledger.unknown
    }

    /// An unanswered write that would be repeated with another input than before. Its receiver would take the
    /// two for one, as they have the same idempotency key.
    pub(crate) fn find_altered_write(&self) -> Option<EffectId> {
        let is_altered = |pending: &Pending| {
            let Request { digest, body, .. } = request_call(&self.compiled, &self.state, pending.effect)?;
            let RequestBody::Tool { contract: Some(contract), .. } = body else { return None };
            let repeats = contract.effect == ToolEffect::Write && !contract.happens_once();
            (repeats && digest != pending.digest).then_some(pending.effect)
        };
        self.ledger.pending.iter().find_map(is_altered)
    }
}

/// Folds a journal: its state is what [`start`] and [`transition`] make of its events.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn fold(records: impl IntoIterator<Item = Record>) -> Result<Folded, JournalError> {
    let records: Vec<Record> = records.into_iter().collect();
    let spec = split(&records)?.1;
    fold_under(spec, records)
}

/// Folds a journal under a spec that may be another than its own.
pub(crate) fn fold_under(spec: Spec, records: Vec<Record>) -> Result<Folded, JournalError> {
    let Header { run, thread, turn, model, input, trace, .. } = split(&records)?.0.clone();
    let compiled = compile(spec)?;
    let mut ledger = Ledger { len: 1, ..Ledger::default() };
    let walked = walk(&compiled, input, records, |_, state, record| {
        ledger.note(&compiled, state, record);
        Ok(())
    });
    let (state, _) = walked.map_err(|(index, problem)| JournalError::at(index, problem))?;
    Ok(Folded { run, thread, turn, model, compiled, state, trace, ledger })
}

/// The tool of an effect that the run waits for, if calling it twice would change something twice.
pub fn find_unrepeatable(compiled: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    let RequestBody::Tool { contract, .. } = request_call(compiled, state, id)?.body else { return None };
    contract.filter(|contract| contract.happens_once()).map(|contract| contract.name.clone())
}

/// The request of a tool call that the run waits for. No other request is rendered.
fn request_call<'a>(compiled: &'a CompiledSpec, state: &State, id: EffectId) -> Option<Request<'a>> {
    let effect @ Effect::CallTool { .. } = awaited(compiled, state, id)? else { return None };
    Request::of(compiled, state, effect)
}

/// The request of an effect that the run waits for.
pub(crate) fn render_awaited<'a>(
    compiled: &'a CompiledSpec,
    state: &State,
    id: EffectId,
) -> Option<Request<'a>> {
    Request::of(compiled, state, awaited(compiled, state, id)?)
}

/// The question that a run waits with when it waits for people alone, and the effect that an answer answers.
pub(crate) fn find_question(compiled: &CompiledSpec, state: &State) -> Option<(EffectId, String)> {
    let waits = outstanding(compiled, state);
    let people = waits.iter().all(|effect| matches!(effect, Effect::AskHuman { .. }));
    let first = waits.first().filter(|_| people)?;
    Some((first.id(), Request::of(compiled, state, *first)?.into_question()?))
}

/// The first format in which containment is enforced, and a no to a call leaves that call out unless the spec says
/// otherwise.
const FIRST_CONTAINED: u32 = 6;

/// The header of a journal, and the spec that it is read under: the last that it names, with what an older version
/// made of it.
pub(crate) fn split(records: &[Record]) -> Result<(&Header, Spec), JournalError> {
    let header = match records.first() {
        Some(Record::Header(header)) => header,
        Some(_) => return Err(JournalError::at(0, "expected a header, found another record")),
        None => return Err(JournalError::at(0, "expected a header, found an empty journal")),
    };
    check_format(header.format)?;
    let changed = records.iter().rev().find_map(|record| match record {
        Record::SpecChanged(spec) => Some(spec),
        _ => None,
    });
    let mut spec = Spec::clone(changed.unwrap_or(&header.spec));
    if header.format < FIRST_CONTAINED {
        leave_uncontained(&mut spec);
    }
    Ok((header, spec))
}

/// The spec of a journal whose version kept `containment` and did not enforce it.
fn leave_uncontained(spec: &mut Spec) {
    spec.policy.containment = Containment::Off;
    // Where nobody is asked, nothing says what follows from a no.
    if spec.policy.on_rejection == OnRejection::default() && !spec.policy.approval.is_never() {
        spec.policy.on_rejection = OnRejection::Stop;
    }
    spec.agents.iter_mut().filter_map(|agent| agent.spec.as_deref_mut()).for_each(leave_uncontained);
}

/// Checks the spec of a journal.
pub(crate) fn compile(spec: Spec) -> Result<CompiledSpec, JournalError> {
    spec.check().map_err(|error| JournalError::at(0, format!("spec: {error}")))
}

/// Walks a journal from its start. `visit` sees every record behind the header with its index and the state
/// before it. Gives the last state and the number of records, or the index that the walk stopped at and why.
pub(super) fn walk(
    compiled: &CompiledSpec,
    input: Input,
    records: impl IntoIterator<Item = Record>,
    mut visit: impl FnMut(u64, &State, &Record) -> Result<(), String>,
) -> Result<(State, u64), (u64, String)> {
    let mut state = start(compiled, input).state;
    let mut index = 1;
    let mut records = records.into_iter();
    let copied = records.next().map_or(0, |first| first.copied());
    for record in records {
        let halt = |problem| (index, problem);
        visit(index, &state, &record).map_err(halt)?;
        match record {
            Record::Header(_) => return Err(halt("expected no second header".to_owned())),
            Record::Answered { event, .. } | Record::Happened { event, .. } => {
                state =
                    transition(compiled, state, event).map_err(|refused| halt(refused.to_string()))?.state;
            }
            Record::Requested { .. }
            | Record::Resolved { .. }
            | Record::Interrupted { .. }
            | Record::Asked(_)
            | Record::SpecChanged(_) => {}
        }
        index += 1;
        if index == copied {
            void_approvals(compiled, &mut state);
        }
    }
    Ok((state, index))
}
