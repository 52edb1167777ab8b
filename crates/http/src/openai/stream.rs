//! Reading the body of an answer: one JSON object or a stream of server-sent events.
//!
//! Which of the two it is, is seen from its first byte and not from what was asked for or what the
//! headers say; servers differ there.

use std::io::{BufRead, ErrorKind};

use serde_json::Value;

use super::reply::{Draft, ReplyError};
use crate::client::{AttemptError, CappedBody, Client, Event, Events};
use planwright::machine::FailureClass;
use planwright::ports::TokenSink;

const EXPECTED: &str = "a chat completion";

/// Reads an answer to its end. Text of a stream goes to the sink as it comes.
pub(super) fn read_reply(
    client: &Client,
    body: &mut CappedBody,
    mut sink: Option<TokenSink<'_>>,
) -> Result<Draft, ReplyError> {
    let start = skip_blanks(body).map_err(|error| explain_read(body, error))?;
    // `data:`, `event:`, `id:`, `retry:`, a comment, or a byte-order mark before them.
    if let Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xEF) = start.first() {
        return read_events(client, body, sink, &start);
    }
    let bytes = body.read_all()?.ok_or_else(too_large)?;
    let unreadable = || client.explain_unreadable(EXPECTED, &bytes);
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    let mut draft = Draft::default();
    draft.add(&value, &mut sink)?;
    if draft.has_choice() { Ok(draft) } else { Err(unreadable().into()) }
}

fn read_events(
    client: &Client,
    body: &mut CappedBody,
    mut sink: Option<TokenSink<'_>>,
    start: &[u8],
) -> Result<Draft, ReplyError> {
    let mut draft = Draft::default();
    let mut events = Events::new(body);
    let ended = loop {
        match events.next() {
            Ok(Some(Event::Json(value))) => draft.add(&value, &mut sink)?,
            Ok(Some(Event::Done)) => break Ok(()),
            // What is missing then is the farewell, not the reply.
            _ if draft.is_finished() => break Ok(()),
            Ok(Some(Event::Unreadable(data))) => {
                return Err(client.explain_unreadable(EXPECTED, &data).into());
            }
            Ok(None) => break Err(None),
            Err(error) => break Err(Some(error)),
        }
    };
    match ended {
        Ok(()) if draft.has_choice() => Ok(draft),
        Err(Some(error)) => Err(explain_read(body, error)),
        Err(None) if start.starts_with(b"data") => {
            Err(AttemptError::bad_response("the stream ended before the reply did", true).into())
        }
        _ => Err(client.explain_unreadable(EXPECTED, start).into()),
    }
}

/// Skips white space. Returns the first bytes after it, which stay to be read.
fn skip_blanks(body: &mut CappedBody) -> std::io::Result<Vec<u8>> {
    loop {
        let bytes = body.reader.fill_buf()?;
        let blanks = bytes.len() - bytes.trim_ascii_start().len();
        if blanks == 0 {
            return Ok(bytes.to_vec());
        }
        body.reader.consume(blanks);
    }
}

fn explain_read(body: &CappedBody, error: std::io::Error) -> ReplyError {
    match error.kind() {
        ErrorKind::FileTooLarge => too_large(),
        _ => body.explain(error).into(),
    }
}

fn too_large() -> ReplyError {
    let message = "the response is over the size limit and was not read to its end";
    ReplyError::failure(FailureClass::TooLarge, message)
}
