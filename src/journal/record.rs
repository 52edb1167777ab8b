//! Records: what a journal holds, as values, as bytes and under a seal.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{JournalError, JournalErrorKind, ThreadId};
use crate::machine::{EffectId, Event, Input};
use crate::ports::ModelServer;
use crate::prompt::TraceContext;
use crate::spec::{Digest, Spec};

/// The version of the record format that this crate writes. A change in what a record means raises it.
///
/// Records are added within a version: 5 came to have [`Record::Asked`], [`Record::Interrupted`] and the time of
/// [`Record::Happened`], and a header `servers` and `trace`, which older programs do not read.
///
/// - 6: containment is enforced, and a no to a call leaves that call out. Older journals are read and continued
///   without the one, and with the end of the run for the other.
/// - 5: what a model is shown stands in another order. The digests of its requests in older journals name another
///   text, so they are compared with nothing.
/// - 4: an answer has a time ([`Record::Answered`]).
/// - 3: the first release. Its records read as answers without a time, so its journals are read and
///   continued as they are.
pub const JOURNAL_FORMAT: u32 = 6;

/// The oldest format that is read.
const OLDEST_FORMAT: u32 = 3;
/// The first format whose digests of model requests are those of today's words.
pub(super) const FIRST_COMPARED: u32 = 5;

/// One record of a journal. Times are in milliseconds since 1970, and outside of every state, digest, trace and
/// fixture.
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
    #[serde(with = "answered")]
    Happened {
        /// What happened.
        event: Event,
        /// When it was written.
        at: Option<u64>,
    },
    /// An effect had no answer, or the user stopped the run. It ends with what follows, or may have gone on since.
    Interrupted {
        /// The effect that had none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<EffectId>,
        /// Why, in a word: a [`Cause`](crate::ports::Cause).
        cause: String,
        /// When it was written.
        at: u64,
    },
    /// A person said what became of a write in doubt.
    #[serde(rename = "settled")]
    Resolved {
        /// The effect.
        effect: EffectId,
        /// What they said.
        #[serde(rename = "word")]
        resolution: ResolvedAs,
    },
    /// What follows, the run or the answer, was asked for by a client that may ask again.
    Asked(Asked),
    /// The spec was changed on purpose: the whole run, from its start, is now read under this one.
    #[serde(rename = "rules")]
    SpecChanged(Arc<Spec>),
}

impl Record {
    /// The record of an event: [`Answered`](Record::Answered) if it answers an effect, else
    /// [`Happened`](Record::Happened).
    pub fn of_event(event: Event, at: Option<u64>) -> Self {
        match event.effect() {
            Some(_) => Record::Answered { event, at },
            None => Record::Happened { event, at },
        }
    }

    /// When it was written, if that is known.
    pub fn time(&self) -> Option<u64> {
        match self {
            Record::Requested { at, .. } | Record::Answered { at, .. } | Record::Happened { at, .. } => *at,
            Record::Interrupted { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Whether an effect is answered with it, or has no answer.
    pub(crate) fn ends(&self, ended: EffectId) -> bool {
        match self {
            Record::Answered { event, .. } => event.effect() == Some(ended),
            Record::Interrupted { effect, .. } => *effect == Some(ended),
            _ => false,
        }
    }

    /// The JSON text that is stored and sealed. `index` is the record's place, for the error.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn encode(&self, index: u64) -> Result<Vec<u8>, JournalError> {
        // Most records are of this size: a buffer that grows is copied at every step.
        let mut text = Vec::with_capacity(512);
        serde_json::to_writer(&mut text, self).map_err(|error| JournalError::at(index, error.to_string()))?;
        Ok(text)
    }

    /// Reads a record from a text whose seal fits.
    ///
    /// # Errors
    /// If the text is no record of this version.
    pub fn decode(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| format!("does not read as a journal record: {error}"))
    }

    /// Checks the format that the text of a header names. Any other text passes.
    ///
    /// # Errors
    /// [`JournalErrorKind::Format`] if this version does not read it.
    pub fn check_format(text: &[u8]) -> Result<(), JournalError> {
        #[derive(Deserialize)]
        struct Named {
            format: u32,
        }
        #[derive(Deserialize)]
        struct First {
            header: Named,
        }
        serde_json::from_slice(text).map_or(Ok(()), |First { header }| check_format(header.format))
    }

    /// Of the header of a fork, how many records are the copy that it begins with.
    pub(crate) fn copied(&self) -> u64 {
        match self {
            Record::Header(header) => header.origin.as_ref().map_or(0, |origin| origin.copied),
            _ => 0,
        }
    }

    /// Checks that a record may be stored at a place: a header has to name its thread and turn.
    ///
    /// # Errors
    /// [`JournalErrorKind::Damaged`], with the thread and turn that the header names.
    pub fn check_place(&self, thread: &ThreadId, turn: u32, index: u64) -> Result<(), JournalError> {
        let Record::Header(header) = self else { return Ok(()) };
        if header.thread == thread.as_str() && header.turn == turn {
            return Ok(());
        }
        let (expected, found) = (u64::from(turn) + 1, u64::from(header.turn) + 1);
        let problem = format!(
            "expected the header of thread {thread}, turn {expected}, found that of thread {}, turn {found}",
            header.thread
        );
        Err(JournalError::at(index, problem))
    }
}

/// Refuses a format that this version does not read.
pub(super) fn check_format(found: u32) -> Result<(), JournalError> {
    if (OLDEST_FORMAT..=JOURNAL_FORMAT).contains(&found) {
        return Ok(());
    }
    let problem = format!("expected journal format {JOURNAL_FORMAT}, found {found}");
    Err(JournalError::new(JournalErrorKind::Format, "journal record 0", problem))
}

/// What a client asked for under a key of its own, so that the same asked again is known. Both are digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Of the key and whose it is.
    pub key: String,
    /// Of what was asked.
    pub body: String,
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
    /// The servers of models that it may ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ModelServer>,
    /// The span of the request that began it, if the run is traced in the trace of that. In no digest of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
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
    /// How many records of this journal are the copy. What people allowed in them and was not done is void behind
    /// them. Zero in a copy that was made before that was so.
    #[serde(default, skip_serializing_if = "is_none")]
    pub copied: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The digest of all records so far. A store keeps one with each record, so that a record that was changed,
/// moved, lost from the middle or put in from elsewhere does not fit what follows.
///
/// ```
/// use planwright::journal::{Record, Seal};
///
/// let record = Record::Happened { event: planwright::machine::Event::DeadlinePassed, at: None };
/// let text = record.encode(0)?;
/// let seal = Seal::new().with(&text);
/// // Stored: the text and the seal. Read back:
/// assert_eq!(Seal::new().with(&text), seal, "as it was written");
/// assert_eq!(Record::decode(&text)?, record);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal(Digest);

impl Seal {
    /// Bytes of a seal as text.
    pub const WIDTH: usize = 32;

    /// The seal of an empty journal.
    pub fn new() -> Self {
        Seal(Digest::of([b"planwright-journal".as_slice()]))
    }

    /// The seal after the text of one more record.
    #[must_use]
    pub fn with(self, text: &[u8]) -> Self {
        Seal(Digest::of([self.0.bytes(), text]))
    }

    /// The seal that [`as_bytes`](Seal::as_bytes) gave; `None` for another number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Seal(Digest::of_bytes(bytes.try_into().ok()?)))
    }

    /// The seal as bytes. As text it is its `Display`.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Default for Seal {
    fn default() -> Self {
        Seal::new()
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An event as it is written, `{"model_replied":{…},"at":1795321413921}`: the event, and its time beside it.
mod answered {
    use serde::de::value::{MapAccessDeserializer, StrDeserializer};
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::machine::Event;

    #[derive(Serialize)]
    struct Timed<'e> {
        #[serde(flatten)]
        event: &'e Event,
        at: u64,
    }

    pub fn serialize<S: Serializer>(event: &Event, at: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match *at {
            Some(at) => Timed { event, at }.serialize(to),
            None => event.serialize(to),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<(Event, Option<u64>), D::Error> {
        source.deserialize_any(Answer)
    }

    /// Reads the event as it comes: `flatten` would hold a copy of it, and take what does not belong there.
    struct Answer;

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Key {
        At,
    }

    impl<'de> Visitor<'de> for Answer {
        type Value = (Event, Option<u64>);

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an event, and when it was written")
        }

        // An event without members and without a time.
        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
            Ok((Event::deserialize(StrDeserializer::new(name))?, None))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let event = Event::deserialize(MapAccessDeserializer::new(&mut map))?;
            let at = map.next_key::<Key>()?.map(|Key::At| map.next_value()).transpose()?;
            Ok((event, at))
        }
    }
}
