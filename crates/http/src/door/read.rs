//! Reads an answer to its end, whole or as a stream. Which of them it is shows in its first byte and not in what was
//! asked for or what the headers say; servers differ there.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::protocol::{Draft, Protocol};
use crate::client::{AttemptError, Client, Event, Response, detach, parse_json, wait};
use planwright::machine::ModelReply;
use planwright::ports::TokenSink;
use planwright::spec::RequestFrame;

/// How long the farewell of a stream is waited for after its reply has ended: the usage, and `[DONE]`.
const FAREWELL: Duration = Duration::from_secs(1);

/// Reads an answer. Text of a stream goes to the sink as it comes, and `idle` is the longest time between two lines of
/// one.
pub(super) fn read_reply<P: Protocol>(
    client: &Client,
    frame: &RequestFrame,
    mut response: Response,
    idle: Duration,
    mut sink: Option<TokenSink<'_>>,
    stop: &dyn Fn() -> bool,
) -> Result<ModelReply, AttemptError> {
    let unreadable = |bytes: &[u8]| client.explain_unreadable(P::ANSWER, bytes);
    let (start, response) = detach(stop, move || (response.peek(), response))?;
    let start = start?;
    // `data:`, `event:`, `id:`, `retry:`, a comment, or a byte-order mark before them.
    let is_stream = matches!(start.first(), Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xEF));
    let mut draft = P::Draft::begin(frame, is_stream);
    if !is_stream {
        let bytes = response.read_within(idle, stop)?;
        let value: Value = parse_json(&bytes).map_err(|_| unreadable(&bytes))?;
        draft.add(client, &value, &mut sink)?;
        return if draft.has_reply() { draft.finish() } else { Err(unreadable(&bytes)) };
    }
    let events = response.into_events()?;
    let mut farewell = None;
    let is_done = loop {
        let patience = match draft.has_ended() {
            true => farewell.get_or_insert_with(|| Instant::now() + FAREWELL).duration_since(Instant::now()),
            false => idle,
        };
        match wait(&events, patience, stop) {
            Ok(Ok(Event::Json(value))) => {
                farewell = None;
                if draft.add(client, &value, &mut sink)? {
                    break true;
                }
            }
            Ok(Ok(Event::Alive)) => {}
            Ok(Ok(Event::Done)) => break true,
            // What is missing then is the farewell, not the reply.
            _ if draft.has_ended() => break true,
            Ok(Ok(Event::Unreadable(data))) => return Err(unreadable(&data)),
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Timeout) if stop() => return Err(AttemptError::stopped()),
            Err(RecvTimeoutError::Timeout) => return Err(AttemptError::idle(idle)),
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    match is_done {
        true if draft.has_reply() => draft.finish(),
        false if start.starts_with(b"data") || start.starts_with(b"event:") => {
            Err(AttemptError::bad_response("the stream ended before the reply did", true))
        }
        _ => Err(unreadable(&start)),
    }
}
