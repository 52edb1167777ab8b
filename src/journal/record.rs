//! Records: what a journal holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::machine::{EffectId, Event, Input};
use crate::spec::{Digest, Spec};

/// The version of the record format that this crate writes.
///
/// A change in what a record means raises this number. A journal of another number is refused, unless this
/// version can read it: because its records mean the same here, or through a function that turns them into
/// those of the next format.
///
/// - 4: an answer has a time ([`Record::Answered`]). A record of format 3 reads as one without, so journals
///   of format 3 are read, and continued, as they are; a version that reads only 3 takes one that was
///   continued for damaged.
/// - 3: the first release.
pub const JOURNAL_FORMAT: u32 = 4;

/// The oldest format that is read.
pub(super) const OLDEST_FORMAT: u32 = 3;

/// One record of a journal. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The first record: what the run is and starts from.
    Header(Box<Header>),
    /// An effect is about to be performed. Folding renders the request itself again.
    Requested {
        /// The effect.
        effect: EffectId,
        /// The digest of the request.
        digest: Digest,
        /// When it was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// An effect was answered. Written before the machine moves on.
    #[serde(with = "answered")]
    Answered {
        /// The answer.
        event: Event,
        /// When it was written.
        at: Option<u64>,
    },
    /// Something happened that answers no effect.
    Happened(Event),
    /// A person said what became of a write in doubt.
    #[serde(rename = "settled")]
    Resolved {
        /// The effect.
        effect: EffectId,
        /// What they said.
        #[serde(rename = "word")]
        resolution: ResolvedAs,
    },
    /// The spec was changed on purpose: the whole run, from its start, is now read under this one.
    #[serde(rename = "rules")]
    SpecChanged(Arc<Spec>),
}

impl Record {
    /// Makes the record of an event: [`Answered`](Record::Answered) if it answers an effect, else
    /// [`Happened`](Record::Happened). `at` is the time in milliseconds since 1970.
    pub fn of_event(event: Event, at: Option<u64>) -> Self {
        match event.effect() {
            Some(_) => Record::Answered { event, at },
            None => Record::Happened(event),
        }
    }

    /// When it was written, in milliseconds since 1970, if that is known. No state, digest, trace or fixture
    /// depends on it.
    pub fn time(&self) -> Option<u64> {
        match self {
            Record::Requested { at, .. } | Record::Answered { at, .. } => *at,
            _ => None,
        }
    }
}

/// What a person says of a write that may or may not have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedAs {
    /// It happened. The record that follows holds its result.
    Happened,
    /// It did not happen, and is to be done.
    DidNotHappen,
    /// Unknown, and the run ends. The record that follows cancels it; until then the write is in doubt.
    Unknown,
}

/// A write whose outcome was unknown when its run was ended.
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
    /// The thread that it is a turn of; empty if it stands alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// Which turn of the thread it is, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn: u32,
    /// The run that it is a fork of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The spec that the run began with, and resumes under.
    pub spec: Arc<Spec>,
    /// What it starts from.
    pub input: Input,
    /// The name of the model that it began with; empty if it had none.
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
    /// How many of its records were copied, with the header.
    pub records: u64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// An answer as it is written, `{"model_replied":{…},"at":1795321413921}`: the event, and its time beside it.
mod answered {
    use std::fmt;

    use serde::de::value::MapAccessDeserializer;
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::machine::Event;

    #[derive(Serialize)]
    struct Timed<'e> {
        #[serde(flatten)]
        event: &'e Event,
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    }

    pub fn serialize<S: Serializer>(event: &Event, at: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        Timed { event, at: *at }.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<(Event, Option<u64>), D::Error> {
        source.deserialize_map(Answer)
    }

    /// Reads the event as it comes: `flatten` would hold a copy of it.
    struct Answer;

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Key {
        At,
    }

    impl<'de> Visitor<'de> for Answer {
        type Value = (Event, Option<u64>);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an event, and when it was written")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let event = Event::deserialize(MapAccessDeserializer::new(&mut map))?;
            let at = map.next_key::<Key>()?.map(|Key::At| map.next_value()).transpose()?;
            Ok((event, at))
        }
    }
}
