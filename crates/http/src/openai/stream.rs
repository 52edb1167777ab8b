//! Reading the body of an answer: one JSON object or a stream of server-sent events.
//!
//! Which of the two it is, is seen from its first byte and not from what was asked for or what the
//! headers say; servers differ there. Lines are put together as bytes before they are read as
//! text, so a character that is split between two reads is whole again.

use std::io::Read;

use serde_json::Value;

use super::attempt_error::Trouble;
use super::reply::Draft;
use crate::transport::{Bounded, Client, ReadError};
use planwright::contract::read::excerpt;
use planwright::driver::redact;
use planwright::machine::FailureClass;
use planwright::ports::{Cause, Secret, TokenSink};

/// Most characters shown of a body that is no answer.
const MAX_SHOWN_CHARS: usize = 120;

/// Reads the answers of one client.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) client: &'a Client,
    pub(super) secrets: &'a [Secret],
}

impl Reader<'_> {
    /// Reads an answer to its end. Text of a stream goes to the sink as it comes.
    pub(super) fn read(
        self,
        mut body: Bounded<impl Read>,
        mut sink: Option<TokenSink<'_>>,
    ) -> Result<Draft, Trouble> {
        let mut start = Vec::new();
        let mut buffer = [0; 8192];
        loop {
            let count = body.read(&mut buffer).map_err(|error| self.unread(error))?;
            start.extend_from_slice(&buffer[..count]);
            let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
            match first {
                None if count > 0 => {}
                // `data:`, `event:`, `id:`, `retry:`, a comment, or a byte-order mark before them.
                Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xEF) => {
                    return Events::new(self, sink).read(&start, body);
                }
                _ => {
                    body.read_to_end(&mut start).map_err(|error| self.unread(error))?;
                    return self.whole(&start, &mut sink);
                }
            }
        }
    }

    fn whole(self, bytes: &[u8], sink: &mut Option<TokenSink<'_>>) -> Result<Draft, Trouble> {
        let mut draft = Draft::default();
        let value: Value = serde_json::from_slice(bytes).map_err(|_| self.no_answer(bytes))?;
        draft.add(&value, sink)?;
        if draft.has_choice() { Ok(draft) } else { Err(self.no_answer(bytes)) }
    }

    fn unread(self, error: ReadError) -> Trouble {
        match error {
            ReadError::TooLarge => {
                let message = "the response is over the size limit and was not read to its end";
                Trouble::failed(FailureClass::TooLarge, message)
            }
            ReadError::Broken(error) => Trouble::broken(self.client.explain(error)),
        }
    }

    /// Keys are taken out before anything is cut off, or half a key would be left standing.
    fn no_answer(self, bytes: &[u8]) -> Trouble {
        let text = String::from_utf8_lossy(bytes);
        let found = match redact(text.trim(), self.secrets) {
            text if text.is_empty() => "an empty body".to_owned(),
            text => format!("{:?}", excerpt(&text, MAX_SHOWN_CHARS)),
        };
        let message = format!("expected a chat completion, found {found}; is the base URL right?");
        Trouble::passing(Cause::BadResponse, message)
    }
}

/// A stream of server-sent events, as far as it was read.
struct Events<'a, 's> {
    reader: Reader<'a>,
    draft: Draft,
    sink: Option<TokenSink<'s>>,
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun, where it is no JSON yet.
    data: Vec<u8>,
}

impl<'a, 's> Events<'a, 's> {
    fn new(reader: Reader<'a>, sink: Option<TokenSink<'s>>) -> Self {
        Events { reader, draft: Draft::default(), sink, line: Vec::new(), data: Vec::new() }
    }

    fn read(mut self, start: &[u8], mut body: Bounded<impl Read>) -> Result<Draft, Trouble> {
        let mut buffer = [0; 8192];
        let mut bytes = start;
        let mut done = false;
        while !done && !bytes.is_empty() {
            for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
                self.line.extend_from_slice(piece);
                done = done || (piece.ends_with(b"\n") && self.end_line()?);
            }
            if done {
                break;
            }
            bytes = match body.read(&mut buffer) {
                Ok(count) => &buffer[..count],
                // What is missing then is the farewell, not the reply.
                Err(ReadError::Broken(_)) if self.draft.is_finished() => &[],
                Err(error) => return Err(self.reader.unread(error)),
            };
        }
        if !done {
            self.end_of_stream(start)?;
        }
        if self.draft.has_choice() { Ok(self.draft) } else { Err(self.reader.no_answer(start)) }
    }

    /// Reads the line that has come to its end. Returns whether the stream says that it is done.
    fn end_line(&mut self) -> Result<bool, Trouble> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii_end();
        if line.is_empty() {
            return self.end_event().map(|()| false);
        }
        let Some(data) = line.strip_prefix(b"data:") else { return Ok(false) };
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if self.data.is_empty() {
            if data.trim_ascii() == b"[DONE]" {
                return Ok(true);
            }
            // Nearly every event is one line; then nothing waits for the blank line after it.
            if let Ok(value) = serde_json::from_slice(data) {
                return self.draft.add(&value, &mut self.sink).map(|()| false);
            }
        } else {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        Ok(false)
    }

    /// Reads the data of an event that was told on several lines.
    fn end_event(&mut self) -> Result<(), Trouble> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() {
            return Ok(());
        }
        let value = serde_json::from_slice(&data).map_err(|_| self.reader.no_answer(&data))?;
        self.draft.add(&value, &mut self.sink)
    }

    /// The stream stopped without saying that it is done. That is well where the reply was
    /// finished, and where the last line, which no line break ended, says so after all.
    fn end_of_stream(&mut self, start: &[u8]) -> Result<(), Trouble> {
        let last = match self.end_line() {
            Ok(true) => return Ok(()),
            Ok(false) => self.end_event(),
            Err(trouble) => Err(trouble),
        };
        match last {
            Err(Trouble::Said(said)) => Err(Trouble::Said(said)),
            _ if self.draft.is_finished() => Ok(()),
            _ if !self.draft.has_choice() && !start.starts_with(b"data") => Err(self.reader.no_answer(start)),
            _ => Err(Trouble::passing(Cause::BadResponse, "the stream ended before the reply did")),
        }
    }
}
