//! The lines of a program, one message each. The library drops a line that is too long or no message; here it is found
//! out whose answer it was, so that the call fails at once and says why.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use crate::explain::{MALFORMED, TOO_LARGE};
use crate::notices::Notices;

/// The id of a request whose answer the library drops, and why.
pub(crate) type Dropped = (i64, &'static str);

/// The longest line that is read. What is longer is dropped as it comes.
pub(crate) const MAX_BYTES: usize = 8 << 20;
/// How much of both ends of a line is looked at.
const EDGE: usize = 128;
/// How many dropped answers wait to be told.
const ROOM: usize = 64;

/// A program's output, as it is, with a note of each answer that is dropped.
pub(crate) struct Lines<R> {
    output: R,
    notices: Arc<Notices>,
    dropped: mpsc::Sender<Dropped>,
    /// The line that is being read, up to what is read of one; its last bytes, and its length so far.
    line: Vec<u8>,
    tail: Vec<u8>,
    length: usize,
}

impl<R> Lines<R> {
    /// The lines of this output. Gives as well the requests whose answers are dropped.
    pub fn of(output: R, notices: Arc<Notices>) -> (Self, mpsc::Receiver<Dropped>) {
        let (dropped, ids) = mpsc::channel(ROOM);
        (Lines { output, notices, dropped, line: Vec::new(), tail: Vec::new(), length: 0 }, ids)
    }

    fn note(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let was_short = self.length <= MAX_BYTES;
            self.length += piece.len();
            self.line.extend(piece.iter().take(MAX_BYTES - self.line.len()));
            self.tail.extend_from_slice(&piece[piece.len().saturating_sub(EDGE)..]);
            self.tail.drain(..self.tail.len().saturating_sub(EDGE));
            let is_long = self.length > MAX_BYTES;
            self.notices.dropped.fetch_add(usize::from(was_short && is_long), Ordering::Relaxed);
            if !piece.ends_with(b"\n") {
                continue;
            }
            let why = if is_long { Some(TOO_LARGE) } else { is_malformed(&self.line).then_some(MALFORMED) };
            let head = &self.line[..self.line.len().min(EDGE)];
            if let (Some(id), Some(why)) = (find_id(head, &self.tail), why) {
                let _ = self.dropped.try_send((id, why));
            }
            (self.line, self.tail, self.length) = (Vec::new(), Vec::new(), 0);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let known = buffer.filled().len();
        ready!(Pin::new(&mut self.output).poll_read(context, buffer))?;
        self.note(&buffer.filled()[known..]);
        Poll::Ready(Ok(()))
    }
}

/// Whether a line is an answer with both a result and an error, or with neither.
fn is_malformed(line: &[u8]) -> bool {
    let members: BTreeMap<String, IgnoredAny> = serde_json::from_slice(line).unwrap_or_default();
    let has = |name| members.contains_key(name);
    has("id") && !has("method") && has("result") == has("error")
}

/// The id of a response of which both ends are known. Servers write it before the result or behind it.
fn find_id(head: &[u8], tail: &[u8]) -> Option<i64> {
    const VERSION: &str = r#""jsonrpc":"2.0""#;
    let packed = |bytes| String::from_utf8_lossy(bytes).split_whitespace().collect::<String>();
    let (head, tail) = (packed(head), packed(tail));
    let first = head.strip_prefix('{').map(|head| head.strip_prefix(VERSION).unwrap_or(head));
    let first = first.map(|head| head.strip_prefix(',').unwrap_or(head));
    let first = first.and_then(|head| head.strip_prefix(r#""id":"#)?.split(',').next()?.parse().ok());
    let last = tail.strip_suffix('}').map(|tail| tail.strip_suffix(VERSION).unwrap_or(tail));
    let last = last.map(|tail| tail.strip_suffix(',').unwrap_or(tail));
    first.or_else(|| last?.rsplit_once(r#","id":"#)?.1.parse().ok())
}
