//! Server-sent events as they come.
//!
//! Lines are put together as bytes before they are read as text, so a character that is split between
//! two reads is whole again.

use std::io::{self, BufRead};

use serde_json::Value;

use super::body::CappedBody;

/// One event of a stream.
#[derive(Debug)]
pub(crate) enum Event {
    /// JSON data.
    Json(Value),
    /// `[DONE]`: nothing follows.
    Done,
    /// Data that is no JSON.
    Unreadable(Vec<u8>),
}

/// The events of a body.
pub(crate) struct Events<'a> {
    body: &'a mut CappedBody,
    /// Data of an event that has begun and is no JSON yet.
    data: Vec<u8>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(body: &'a mut CappedBody) -> Self {
        Events { body, data: Vec::new() }
    }

    /// Reads the next event; `None` at the end of the body.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            let mut line = Vec::new();
            let count = self.body.reader.read_until(b'\n', &mut line)?;
            let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii_end();
            let event = if line.is_empty() { self.end_event() } else { self.add_line(line) };
            if event.is_some() || count == 0 {
                return Ok(event);
            }
        }
    }

    fn add_line(&mut self, line: &[u8]) -> Option<Event> {
        let data = line.strip_prefix(b"data:")?;
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if self.data.is_empty() {
            if data.trim_ascii() == b"[DONE]" {
                return Some(Event::Done);
            }
            // Nearly every event is one line; then nothing waits for the blank line after it.
            if let Ok(value) = serde_json::from_slice(data) {
                return Some(Event::Json(value));
            }
        } else {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        None
    }

    /// Reads the data of an event that came on several lines.
    fn end_event(&mut self) -> Option<Event> {
        let data = std::mem::take(&mut self.data);
        if data.is_empty() {
            return None;
        }
        Some(serde_json::from_slice(&data).map_or(Event::Unreadable(data), Event::Json))
    }
}
