//! The fold: what a sequence of records means.

use std::sync::Arc;

use super::walk::walk;
use super::{Header, JournalError, Record, ResolvedAs, Unknown, check_format};
use crate::machine::{Effect, EffectId, State, awaited};
use crate::prompt;
use crate::spec::{CompiledSpec, Digest, Spec};

/// What was requested and is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The effect.
    pub effect: EffectId,
    /// The index of the record that last requested it.
    pub index: u64,
    /// The digest of what was last asked.
    pub digest: Digest,
    /// When it was first asked, where that was written down.
    pub at: Option<u64>,
}

/// A journal, folded.
#[derive(Debug)]
pub struct Folded {
    /// The run's id.
    pub run: String,
    /// The thread that it is a turn of; empty where it stands alone.
    pub thread: String,
    /// Which turn of the thread it is, from 0.
    pub turn: u32,
    /// The name of the model that it began with.
    pub model: String,
    /// The rules it runs under.
    pub rules: CompiledSpec,
    /// Where it is.
    pub state: State,
    /// What was requested and not answered, in the order of asking.
    pub pending: Vec<Pending>,
    /// The writes of which a person has said that nobody knows whether they happened.
    pub unknown: Vec<Unknown>,
    /// How many records there are: the index of the next.
    pub len: u64,
}

impl Folded {
    /// What was requested and not answered, by its effect.
    pub fn pending(&self, effect: EffectId) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.effect == effect)
    }
}

/// Folds a journal: the state is what [`start`](crate::machine::start) and [`transition`](crate::machine::transition) make of its events.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn fold(records: impl IntoIterator<Item = Record>) -> Result<Folded, JournalError> {
    let records: Vec<Record> = records.into_iter().collect();
    let header = header(&records)?.clone();
    let spec = Spec::clone(spec(&header, &records));
    fold_under(spec, header, records)
}

/// The spec that a journal is read under: the last that it names.
pub fn spec<'r>(header: &'r Header, records: &'r [Record]) -> &'r Arc<Spec> {
    let changed = records.iter().rev().find_map(|record| match record {
        Record::SpecChanged(spec) => Some(spec),
        _ => None,
    });
    changed.unwrap_or(&header.spec)
}

/// The header of a journal in the format of this version.
///
/// # Errors
/// Where there is none, or another format's.
pub fn header(records: &[Record]) -> Result<&Header, JournalError> {
    let header = match records.first() {
        Some(Record::Header(header)) => header,
        Some(_) => return Err(JournalError::at(0, "expected a header, found another record")),
        None => return Err(JournalError::at(0, "expected a header, found an empty journal")),
    };
    check_format(header.format)?;
    Ok(header)
}

/// Folds a journal under a spec that may be another than its own.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn fold_under(spec: Spec, header: Header, records: Vec<Record>) -> Result<Folded, JournalError> {
    let rules = spec.check().map_err(|error| JournalError::at(0, format!("spec: {error}")))?;
    let mut pending: Vec<Pending> = Vec::new();
    let mut unknown: Vec<Unknown> = Vec::new();
    let Header { run, thread, turn, model, input, .. } = header;
    let walked = walk(&rules, input, records, |index, state, record| {
        let ended = match record {
            Record::Requested { effect, digest, at } => {
                match pending.iter_mut().find(|asked| asked.effect == *effect) {
                    // Asked again after a crash, it is still the one effect.
                    Some(asked) => (asked.index, asked.digest) = (index, *digest),
                    None => pending.push(Pending { effect: *effect, index, digest: *digest, at: *at }),
                }
                return Ok(());
            }
            Record::Resolved { effect, resolution: ResolvedAs::Unknown } => {
                unknown.retain(|left| left.effect != *effect);
                let tool = is_once(&rules, state, *effect);
                unknown.extend(tool.map(|tool| Unknown { effect: *effect, tool }));
                return Ok(());
            }
            Record::Resolved { effect, resolution: ResolvedAs::DidNotHappen } => Some(*effect),
            Record::Answered { event, .. } | Record::Happened(event) => event.effect(),
            Record::Header(_) | Record::Resolved { .. } | Record::SpecChanged(_) => None,
        };
        pending.retain(|asked| Some(asked.effect) != ended);
        unknown.retain(|left| Some(left.effect) != ended);
        Ok(())
    });
    let (state, len) = walked.map_err(|halted| JournalError::at(halted.record, halted.problem))?;
    Ok(Folded { run, thread, turn, model, rules, state, pending, unknown, len })
}

/// The tool of an effect that the run waits for, where calling it twice would change something twice.
pub fn is_once(rules: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    let effect @ Effect::CallTool { .. } = awaited(rules, state, id)? else { return None };
    let contract = prompt::called(rules, state, effect)?;
    contract.happens_once().then(|| contract.name.clone())
}
