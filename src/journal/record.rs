//! Records, and what a sequence of them means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{JournalError, is_once};
use crate::machine::{EffectId, Event, Input, State, start, transition};
use crate::spec::{CompiledSpec, Digest, Spec};

/// The version of the record format that this crate writes.
///
/// The rule of migration: whatever changes the meaning of a record raises this number. A journal of another
/// number is refused by that number, unless this version can read it: either because a record of the older
/// format means the same in this one, or through a function that turns its records into those of the next.
///
/// - 3: the first that was released.
pub const JOURNAL_FORMAT: u32 = 3;

/// The oldest format that is read.
const OLDEST_FORMAT: u32 = 3;

/// One record of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The first record: what the run is and starts from.
    Header(Box<Header>),
    /// An effect is about to be performed. The request itself is rendered again by folding.
    Requested {
        /// The effect.
        effect: EffectId,
        /// The digest of the request.
        digest: Digest,
        /// When it was asked, in milliseconds since 1970: of what a person is asked alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// An effect was answered. Written before the machine moves on.
    Answered(Event),
    /// Something happened that answers no effect.
    Happened(Event),
    /// A person said what became of an effect that was in doubt.
    Settled {
        /// The effect.
        effect: EffectId,
        /// What they said.
        word: ResolvedAs,
    },
    /// The rules were changed on purpose: from here on the whole run, from its start, is read under
    /// these.
    #[serde(rename = "rules")]
    SpecChanged(Arc<Spec>),
}

/// What a person says of a write that may or may not have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedAs {
    /// It happened. What came of it is the record that follows.
    Happened,
    /// It did not; it is to be done.
    DidNotHappen,
    /// They do not know, and end the run. That it is cancelled is the record that follows; without it the
    /// write is in doubt as before.
    Unknown,
}

/// A write of which nobody knows whether it happened, in a run that was ended so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    /// The effect.
    pub effect: EffectId,
    /// The tool.
    pub tool: String,
}

/// What a run is and starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the record format.
    pub format: u32,
    /// The run's id. Tool calls carry `<run>/<effect id>` as their idempotency key.
    pub run: String,
    /// The thread that it is a turn of; empty where it stands alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// Which turn of the thread it is, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// Where its beginning was copied from, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The rules the run began with, and resumes under.
    pub spec: Arc<Spec>,
    /// What it starts from.
    pub input: Input,
    /// The name of the model that it began with; empty where there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Where the beginning of a run was copied from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The thread.
    pub thread: String,
    /// The turn, from 0.
    pub turn: u32,
    /// How many of its records were copied, the header included.
    pub records: u64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

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

/// Folds a journal: the state is what [`start`] and [`transition`] make of its events.
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

/// Whether this version reads journals of a format: of [`JOURNAL_FORMAT`], and of those before it that it can
/// read.
///
/// # Errors
/// [`Format`](super::JournalErrorKind::Format) where it does not.
pub fn check_format(found: u32) -> Result<(), JournalError> {
    if (OLDEST_FORMAT..=JOURNAL_FORMAT).contains(&found) { Ok(()) } else { Err(JournalError::format(found)) }
}

/// Folds a journal under a spec that may be another than its own.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn fold_under(spec: Spec, header: Header, records: Vec<Record>) -> Result<Folded, JournalError> {
    let rules = spec.check().map_err(|error| JournalError::at(0, format!("spec: {error}")))?;
    let mut state = start(&rules, header.input).state;
    let mut pending: Vec<Pending> = Vec::new();
    let mut unknown: Vec<Unknown> = Vec::new();
    let mut len = 1;
    for record in records.into_iter().skip(1) {
        match record {
            Record::Header(_) => return Err(JournalError::at(len, "expected no second header")),
            // Asked again after a crash, it is still the one effect.
            Record::Requested { effect, digest, at } => {
                match pending.iter_mut().find(|asked| asked.effect == effect) {
                    Some(asked) => (asked.index, asked.digest) = (len, digest),
                    None => pending.push(Pending { effect, index: len, digest, at }),
                }
            }
            Record::Settled { effect, word: ResolvedAs::DidNotHappen } => {
                pending.retain(|asked| asked.effect != effect);
                unknown.retain(|left| left.effect != effect);
            }
            Record::Settled { effect, word: ResolvedAs::Unknown } => {
                unknown.retain(|left| left.effect != effect);
                let tool = is_once(&rules, &state, effect);
                unknown.extend(tool.map(|tool| Unknown { effect, tool }));
            }
            Record::Settled { word: ResolvedAs::Happened, .. } | Record::SpecChanged(_) => {}
            Record::Answered(event) | Record::Happened(event) => {
                if let Some(effect) = event.effect() {
                    pending.retain(|asked| asked.effect != effect);
                    unknown.retain(|left| left.effect != effect);
                }
                state = match transition(&rules, state, event) {
                    Ok(step) => step.state,
                    Err(refused) => return Err(JournalError::at(len, refused.to_string())),
                };
            }
        }
        len += 1;
    }
    let Header { run, thread, turn, model, .. } = header;
    Ok(Folded { run, thread, turn, model, rules, state, pending, unknown, len })
}
