//! A response whose body is read up to a limit and not beyond, compressed or not: whole, or as server-sent
//! events as they come.

use std::io::{self, BufRead, BufReader, Read, Take};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;
use ureq::http::{HeaderMap, Response as HttpResponse};
use ureq::{Body, BodyReader};

use super::error::{AttemptError, Bounds};
use super::retry::wait;

/// Most characters of a request's id.
const MAX_ID_CHARS: usize = 100;

/// A response with its body still to be read.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(super) headers: HeaderMap,
    /// Has one byte more than may be read: once that has come, the body is too large.
    reader: BufReader<Take<BodyReader<'static>>>,
    bounds: Bounds,
    /// Data of a server-sent event that has begun and is no JSON yet.
    data: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum Event {
    Json(Value),
    /// `[DONE]`: nothing follows.
    Done,
    /// Data that is no JSON.
    Unreadable(Vec<u8>),
    /// A line that is no event yet, or that only keeps the connection open.
    Alive,
}

impl Response {
    pub(super) fn new(response: HttpResponse<Body>, bounds: Bounds) -> Self {
        let (head, body) = response.into_parts();
        let fits = body.content_length().unwrap_or_default() <= bounds.max_bytes;
        let limit = if fits { bounds.max_bytes.saturating_add(1) } else { 0 };
        let reader = BufReader::new(body.into_reader().take(limit));
        Response { status: head.status.as_u16(), headers: head.headers, reader, bounds, data: Vec::new() }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The name that the server gave the request, by which its operators find it.
    pub(crate) fn request_id(&self) -> Option<String> {
        let id =
            ["request-id", "x-request-id"].iter().find_map(|name| self.headers.get(*name))?.to_str().ok()?;
        Some(id.trim().chars().take(MAX_ID_CHARS).collect()).filter(|id: &String| !id.is_empty())
    }

    /// Skips white space. Returns the first bytes after it, which stay to be read.
    pub(crate) fn peek(&mut self) -> Result<Vec<u8>, AttemptError> {
        loop {
            let bytes = self.reader.fill_buf().map_err(|error| explain(error, self.bounds))?;
            let blanks = bytes.len() - bytes.trim_ascii_start().len();
            if blanks == 0 {
                return Ok(bytes.to_vec());
            }
            self.reader.consume(blanks);
        }
    }

    /// Reads the whole body on a thread of its own; `idle` is the longest time between two pieces of it.
    pub(crate) fn read_within(
        mut self,
        idle: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<u8>, AttemptError> {
        let (bounds, (sender, pieces)) = (self.bounds, channel());
        let read = move || {
            while let Some(piece) = self.read_piece().transpose() {
                let is_last = piece.is_err();
                if sender.send(piece).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("planwright-body".to_owned()).spawn(read);
        thread.map_err(|error| explain(error, bounds))?;
        let mut bytes = Vec::new();
        loop {
            match wait(&pieces, idle, stop) {
                Ok(piece) => bytes.extend(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
                Err(RecvTimeoutError::Timeout) if stop() => return Err(AttemptError::stopped()),
                Err(RecvTimeoutError::Timeout) => return Err(AttemptError::idle(idle)),
            }
        }
    }

    /// Reads the whole body here and now.
    pub(super) fn read_whole(mut self) -> Result<Vec<u8>, AttemptError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.read_piece()? {
            bytes.extend(piece);
        }
        Ok(bytes)
    }

    /// Reads what is there; `None` at the end.
    fn read_piece(&mut self) -> Result<Option<Vec<u8>>, AttemptError> {
        let piece = self.reader.fill_buf().map_err(|error| explain(error, self.bounds))?.to_vec();
        self.reader.consume(piece.len());
        if piece.is_empty() { self.check_size().map(|()| None) } else { Ok(Some(piece)) }
    }

    /// Reads what can be read of a server's words about an error: some are better than none.
    pub(super) fn read_some(&mut self, limit: u64) -> String {
        let mut bytes = Vec::new();
        let _ = self.reader.by_ref().take(limit).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads the events on a thread of their own, so that the wait for the next one can have an end. The thread ends
    /// with the response, once the receiver is gone, or when the time of the request is up.
    pub(crate) fn into_events(mut self) -> Result<Receiver<Result<Event, AttemptError>>, AttemptError> {
        let (bounds, (sender, events)) = (self.bounds, channel());
        let read = move || {
            while let Some(event) = self.next_event().transpose() {
                let is_last = event.is_err();
                if sender.send(event).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("planwright-stream".to_owned()).spawn(read);
        thread.map(|_| events).map_err(|error| explain(error, bounds))
    }

    /// Reads the next line; `None` at the end. Lines are bytes, so no character is split between two reads.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, AttemptError> {
        let mut line = Vec::new();
        let count = self.reader.read_until(b'\n', &mut line);
        let count = count.map_err(|error| explain(error, self.bounds))?;
        if count == 0 {
            self.check_size()?;
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line).trim_ascii_end();
        let event = if line.is_empty() { self.end_event() } else { self.add_line(line) };
        Ok(event.or((count > 0).then_some(Event::Alive)))
    }

    fn add_line(&mut self, line: &[u8]) -> Option<Event> {
        let data = line.strip_prefix(b"data:")?;
        let data = data.strip_prefix(b" ").unwrap_or(data);
        if !self.data.is_empty() {
            self.data.push(b'\n');
        } else if data.trim_ascii() == b"[DONE]" {
            return Some(Event::Done);
        } else if let Ok(value) = parse_json(data) {
            // Nearly every event is one line; then nothing waits for the blank line after it.
            return Some(Event::Json(value));
        }
        self.data.extend_from_slice(data);
        None
    }

    /// Reads the data of an event that came on several lines.
    fn end_event(&mut self) -> Option<Event> {
        let data = Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty())?;
        Some(parse_json(&data).map_or(Event::Unreadable(data), Event::Json))
    }

    fn check_size(&self) -> Result<(), AttemptError> {
        let is_too_large = self.reader.get_ref().limit() == 0;
        if is_too_large { Err(AttemptError::too_large(self.bounds)) } else { Ok(()) }
    }
}

/// Parses JSON. Half of a character in two halves (`\ud83d` alone) is replaced: a stream cut it, or a model left it out.
pub(crate) fn parse_json(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| {
        let mended = replace_lone_surrogates(bytes);
        if mended == bytes { Err(error) } else { serde_json::from_slice(&mended) }
    })
}

fn replace_lone_surrogates(bytes: &[u8]) -> Vec<u8> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let (mut mended, mut at) = (bytes.to_vec(), 0);
    while at < bytes.len() {
        at += match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                mended[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            None if bytes[at] != b'\\' => 1,
            // The next character is escaped, a backslash too.
            Some(_) | None => 2,
        };
    }
    mended
}

fn explain(error: io::Error, bounds: Bounds) -> AttemptError {
    // There was a connection: what TLS or a compression breaks off may come whole another time.
    if error.kind() == io::ErrorKind::InvalidData {
        return AttemptError::bad_response(format!("the answer broke off: {error}"), true);
    }
    AttemptError::from_transport(error.into(), bounds)
}
