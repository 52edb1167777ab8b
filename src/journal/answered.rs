//! How an answer is written: `{"model_replied":{…},"at":1795321413921}`, the event and beside it its time. In
//! format 3 there was no time.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::machine::Event;

#[derive(Serialize)]
struct Timed<'e> {
    #[serde(flatten)]
    event: &'e Event,
    at: u64,
}

pub(super) fn serialize<S: Serializer>(
    event: &Event,
    at: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match *at {
        Some(at) => Timed { event, at }.serialize(serializer),
        None => event.serialize(serializer),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<(Event, Option<u64>), D::Error> {
    source.deserialize_map(Answer)
}

/// Reads the event first, as it comes: nothing is buffered.
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
        let at = match map.next_key()? {
            Some(Key::At) => Some(map.next_value()?),
            None => None,
        };
        Ok((event, at))
    }
}
