//! Bare exchanges over the one client, for a protocol that another crate speaks over HTTP.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Take};
use std::time::Duration;

use ureq::http::{HeaderMap, Request as HttpRequest};
use ureq::{Body, BodyReader};

use super::error::{AttemptError, Bounds, Stage};
use super::{Client, Endpoint, Network, parse_address};
use planwright::ports::Secret;

/// Largest body that is read, in bytes after decompression.
const MAX_BODY_BYTES: u64 = 8 << 20;

/// A server to which requests of any method go, each once. It follows no redirect.
#[derive(Clone, Debug)]
pub struct Bare {
    client: Client,
    endpoint: Endpoint,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BareError {
    /// What went wrong, without any key.
    pub message: String,
    /// Whether the request may have reached the server.
    pub may_have_arrived: bool,
}

/// A response whose body is still to be read, up to 8 MiB.
pub struct BareResponse {
    /// The status.
    pub status: u16,
    headers: HeaderMap,
    body: BufReader<Take<BodyReader<'static>>>,
}

impl Bare {
    /// A client of the server at this address. `headers` go with every request, and so does the key of `bearer`.
    ///
    /// # Errors
    /// Where the address, a header, the key or the way there cannot be used.
    pub fn new(
        address: &str,
        bearer: Option<&Secret>,
        headers: &[(String, Secret)],
        network: &Network,
    ) -> Result<Self, String> {
        let mut client = Client::with_key(bearer.unwrap_or(&Secret::new("")))?;
        for (name, value) in headers {
            client.add_header(name, value.expose())?;
        }
        client.go_through(network)?;
        Ok(Bare { client, endpoint: Endpoint(parse_address(address)?) })
    }

    /// Sends one request and waits for the response's head. `time` bounds the whole, the body included.
    ///
    /// # Errors
    /// Where there is no response. Any status is one.
    pub fn send(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
        time: Duration,
    ) -> Result<BareResponse, BareError> {
        let (client, uri) = (&self.client, &self.endpoint.0);
        let refused = |error: AttemptError| BareError {
            message: client.redact(&error.message).into_owned(),
            may_have_arrived: !matches!(error.stage, Stage::NotSent),
        };
        if let (Some("https"), Err(problem)) = (uri.scheme_str(), &client.certificates) {
            return Err(refused(AttemptError::set_up(problem)));
        }
        let connect = client.connect_timeout.min(time);
        let bounds = Bounds { left: time, whole: time, connect, max_bytes: MAX_BODY_BYTES };
        let mut head = HttpRequest::builder().uri(uri).method(method);
        for (name, value) in &client.headers {
            head = head.header(name, value);
        }
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        let sent = match body {
            Some(body) => head.body(body).map_err(Into::into).and_then(|request| client.run(request, bounds)),
            None => head.body(()).map_err(Into::into).and_then(|request| client.run(request, bounds)),
        };
        let response = sent.map_err(|error| refused(client.explain_transport(error, bounds, uri)))?;
        let (head, body) = response.into_parts();
        let body: Body = body;
        let body = BufReader::new(body.into_reader().take(MAX_BODY_BYTES + 1));
        Ok(BareResponse { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// The text without the keys of this client.
    pub fn redact(&self, text: &str) -> String {
        self.client.redact(text).into_owned()
    }

    /// The keys that nothing may hold.
    pub fn secrets(&self) -> Vec<Secret> {
        self.client.secrets.clone()
    }
}

impl BareResponse {
    /// A header of the response.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Reads the next line, its end included; `None` at the end.
    ///
    /// # Errors
    /// Where the body breaks off or is too large.
    pub fn read_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let count = self.body.read_until(b'\n', &mut line)?;
        self.check_size()?;
        Ok((count > 0).then_some(line))
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// Where the body breaks off or is too large.
    pub fn read_all(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        self.check_size()?;
        Ok(bytes)
    }

    fn check_size(&self) -> io::Result<()> {
        let problem = format!("expected at most {MAX_BODY_BYTES} bytes, found more");
        match self.body.get_ref().limit() {
            0 => Err(io::Error::new(ErrorKind::FileTooLarge, problem)),
            _ => Ok(()),
        }
    }
}
