//! A response whose body is read up to a limit and not beyond, compressed or not: whole, or as server-sent
//! events as they come.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use serde_json::Value;
use ureq::http::{HeaderMap, Response as HttpResponse};
use ureq::{Body, BodyReader, Error};

use super::error::{AttemptError, AttemptTime};

/// A response with its body still to be read. Reading beyond the limit is an error of the kind
/// [`FileTooLarge`](ErrorKind::FileTooLarge).
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(super) headers: HeaderMap,
    reader: BufReader<Capped>,
    time: AttemptTime,
}

impl Response {
    pub(super) fn new(response: HttpResponse<Body>, limit: usize, time: AttemptTime) -> Self {
        let (head, body) = response.into_parts();
        let announced = body.content_length().unwrap_or_default();
        let left = usize::try_from(announced).ok().filter(|&length| length <= limit).map(|_| limit);
        let reader = BufReader::new(Capped { inner: body.into_reader(), left });
        Response { status: head.status.as_u16(), headers: head.headers, reader, time }
    }

    /// Whether the server answered with what was asked for.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Skips white space. Returns the first bytes after it, which stay to be read.
    pub(crate) fn peek(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let bytes = self.reader.fill_buf()?;
            let blanks = bytes.len() - bytes.trim_ascii_start().len();
            if blanks == 0 {
                return Ok(bytes.to_vec());
            }
            self.reader.consume(blanks);
        }
    }

    /// Reads to the end. `None` means that there is more than the limit.
    pub(crate) fn read_all(&mut self) -> Result<Option<Vec<u8>>, AttemptError> {
        let mut bytes = Vec::new();
        match self.reader.read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => Ok(None),
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Reads what can be read of a server's words about an error: some are better than none.
    pub(super) fn read_some(&mut self, limit: u64) -> String {
        let mut bytes = Vec::new();
        let _ = self.reader.by_ref().take(limit).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Says what an error of the reader means.
    pub(crate) fn explain(&self, error: io::Error) -> AttemptError {
        AttemptError::from_transport(Error::from(error), self.time)
    }
}

/// A reader with a limit. `None` is left where the server announced more than that.
struct Capped {
    inner: BodyReader<'static>,
    left: Option<usize>,
}

impl Read for Capped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.ok_or(ErrorKind::FileTooLarge)?;
        // One byte more than is left is asked for: whether it comes tells "full" from "too large".
        let most = buffer.len().min(left.saturating_add(1));
        let count = self.inner.read(&mut buffer[..most])?;
        self.left = left.checked_sub(count);
        self.left.map(|_| count).ok_or_else(|| ErrorKind::FileTooLarge.into())
    }
}

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

/// The server-sent events of a body. Lines are put together as bytes before they are read as text, so a
/// character that is split between two reads is whole again.
pub(crate) struct Events<'a> {
    response: &'a mut Response,
    /// Data of an event that has begun and is no JSON yet.
    data: Vec<u8>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(response: &'a mut Response) -> Self {
        Events { response, data: Vec::new() }
    }

    /// Reads the next event; `None` at the end of the body.
    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            let mut line = Vec::new();
            let count = self.response.reader.read_until(b'\n', &mut line)?;
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
        if !self.data.is_empty() {
            self.data.push(b'\n');
        } else if data.trim_ascii() == b"[DONE]" {
            return Some(Event::Done);
        } else if let Ok(value) = serde_json::from_slice(data) {
            // Nearly every event is one line; then nothing waits for the blank line after it.
            return Some(Event::Json(value));
        }
        self.data.extend_from_slice(data);
        None
    }

    /// Reads the data of an event that came on several lines.
    fn end_event(&mut self) -> Option<Event> {
        let data = Some(std::mem::take(&mut self.data)).filter(|data| !data.is_empty())?;
        Some(serde_json::from_slice(&data).map_or(Event::Unreadable(data), Event::Json))
    }
}
