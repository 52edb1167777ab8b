//! Records: what a journal holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::{EffectId, Event, Input};
use crate::spec::{Digest, Spec};

/// The version of the record format that this crate writes.
///
/// The rule of migration: whatever changes the meaning of a record raises this number. A journal of another
/// number is refused by that number, unless this version can read it: either because a record of the older
/// format means the same in this one, or through a function that turns its records into those of the next.
///
/// - 4: an answer says when it was written ([`Record::Answered`]). A record of format 3 reads as one of format 4
///   without a time, so journals of format 3 are read, and continued, as they are.
/// - 3: the first that was released.
pub const JOURNAL_FORMAT: u32 = 4;

/// The oldest format that is read.
pub(super) const OLDEST_FORMAT: u32 = 3;

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
        /// When it was written, in milliseconds since 1970.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// An effect was answered. Written before the machine moves on.
    #[serde(with = "super::answered")]
    Answered {
        /// The answer.
        event: Event,
        /// When it was written, in milliseconds since 1970.
        at: Option<u64>,
    },
    /// Something happened that answers no effect.
    Happened(Event),
    /// A person said what became of an effect that was in doubt.
    #[serde(rename = "settled")]
    Resolved {
        /// The effect.
        effect: EffectId,
        /// What they said.
        #[serde(rename = "word")]
        resolution: ResolvedAs,
    },
    /// The rules were changed on purpose: from here on the whole run, from its start, is read under
    /// these.
    #[serde(rename = "rules")]
    SpecChanged(Arc<Spec>),
}

impl Record {
    /// The record of an event: what answers an effect was [`Answered`](Record::Answered), anything else
    /// [`Happened`](Record::Happened). `at` is when it is written, in milliseconds since 1970.
    pub fn of_event(event: Event, at: Option<u64>) -> Self {
        match event.effect() {
            Some(_) => Record::Answered { event, at },
            None => Record::Happened(event),
        }
    }

    /// When it was written, in milliseconds since 1970, where it says so. No state, digest, trace or fixture
    /// depends on it.
    pub fn time(&self) -> Option<u64> {
        match self {
            Record::Requested { at, .. } | Record::Answered { at, .. } => *at,
            _ => None,
        }
    }

    /// The record without its time, to compare what happened and not when.
    #[must_use]
    pub fn without_time(mut self) -> Self {
        if let Record::Requested { at, .. } | Record::Answered { at, .. } = &mut self {
            *at = None;
        }
        self
    }
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
