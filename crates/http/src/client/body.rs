//! A response whose body is read up to a limit and not beyond, compressed or not.

use std::io::{self, BufReader, ErrorKind, Read};

use ureq::http::{HeaderMap, Response as HttpResponse};
use ureq::{Body, BodyReader, Error};

use super::attempt_error::{AttemptError, AttemptTime};

/// A response with its body still to be read.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: CappedBody,
}

impl Response {
    pub(super) fn new(response: HttpResponse<Body>, limit: usize, time: AttemptTime) -> Self {
        let (head, body) = response.into_parts();
        let announced = body.content_length().unwrap_or_default();
        let left = usize::try_from(announced).ok().filter(|&length| length <= limit).map(|_| limit);
        let body = CappedBody { reader: BufReader::new(Capped { inner: body.into_reader(), left }), time };
        Response { status: head.status.as_u16(), headers: head.headers, body }
    }
}

/// The body of a response. Reading beyond the limit is an error of the kind
/// [`FileTooLarge`](ErrorKind::FileTooLarge).
pub(crate) struct CappedBody {
    pub(crate) reader: BufReader<Capped>,
    time: AttemptTime,
}

impl CappedBody {
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
    pub(crate) fn read_some(&mut self, limit: u64) -> String {
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
pub(crate) struct Capped {
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
