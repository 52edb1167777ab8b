//! Records, and what a sequence of them means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::JournalError;
use crate::machine::{EffectId, Event, Input, State, start, transition};
use crate::spec::{Digest, Rules, Spec};

/// The version of the record format that this crate writes and reads.
pub const JOURNAL_FORMAT: u32 = 1;

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
    },
    /// An effect was answered. Written before the machine moves on.
    Answered(Event),
    /// Something happened that answers no effect.
    Happened(Event),
}

/// What a run is and starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the record format.
    pub format: u32,
    /// The run's id. Tool calls carry `<run>/<effect id>` as their idempotency key.
    pub run: String,
    /// The rules the run began with, and resumes under.
    pub spec: Arc<Spec>,
    /// What it starts from.
    pub input: Input,
    /// The name of the model that it began with; empty where there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// A journal, folded.
#[derive(Debug)]
pub struct Folded {
    /// The run's id.
    pub run: String,
    /// The name of the model that it began with.
    pub model: String,
    /// The rules it runs under.
    pub rules: Rules,
    /// Where it is.
    pub state: State,
    /// What was requested and not answered, in the order of asking.
    pub unanswered: Vec<EffectId>,
    /// How many records there are: the index of the next.
    pub len: u64,
}

/// Folds a journal: the state is what [`start`] and [`transition`] make of its events.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn fold(records: impl IntoIterator<Item = Record>) -> Result<Folded, JournalError> {
    let mut records = records.into_iter();
    let header = match records.next() {
        Some(Record::Header(header)) => *header,
        Some(_) => return Err(JournalError::at(0, "expected a header, found another record")),
        None => return Err(JournalError::at(0, "expected a header, found an empty journal")),
    };
    if header.format != JOURNAL_FORMAT {
        let problem = format!("expected journal format {JOURNAL_FORMAT}, found {}", header.format);
        return Err(JournalError::at(0, problem));
    }
    let spec = Arc::unwrap_or_clone(header.spec);
    let rules = spec.check().map_err(|error| JournalError::at(0, format!("spec: {error}")))?;
    let mut state = start(&rules, header.input).state;
    let mut unanswered = Vec::new();
    let mut len = 1;
    for record in records {
        let event = match record {
            Record::Header(_) => return Err(JournalError::at(len, "expected no second header")),
            Record::Requested { effect, .. } => {
                // Asked again after a crash, it is still the one effect.
                if !unanswered.contains(&effect) {
                    unanswered.push(effect);
                }
                len += 1;
                continue;
            }
            Record::Answered(event) | Record::Happened(event) => event,
        };
        unanswered.retain(|effect| Some(*effect) != event.effect());
        state = match transition(&rules, state, event) {
            Ok(step) => step.state,
            Err(refused) => return Err(JournalError::at(len, refused.to_string())),
        };
        len += 1;
    }
    Ok(Folded { run: header.run, model: header.model, rules, state, unanswered, len })
}
