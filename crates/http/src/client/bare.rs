//! Bare exchanges over the one client, for a protocol that another crate speaks over HTTP.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use ureq::http::Request as HttpRequest;

use super::error::{AttemptError, Bounds, Stage};
use super::{Client, Endpoint, Event, Network, Response, parse_address};
use planwright::ports::Secret;

/// Largest body that is read, in bytes after decompression.
const MAX_BODY_BYTES: u64 = 8 << 20;

/// A server to which requests of any method go, each once. It follows no redirect.
#[derive(Clone, Debug)]
pub struct Bare {
    client: Client,
    endpoint: Endpoint,
}

/// Why there is no response, or no more of it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BareError {
    /// What went wrong, without any key.
    pub message: String,
    /// Whether the request may have reached the server.
    pub may_have_arrived: bool,
    /// Whether the answer is larger than what is read of one.
    pub is_too_large: bool,
}

impl BareError {
    /// What came is not what was expected.
    pub fn unreadable(problem: impl fmt::Display) -> Self {
        BareError { message: problem.to_string(), may_have_arrived: true, is_too_large: false }
    }
}

impl From<AttemptError> for BareError {
    fn from(error: AttemptError) -> Self {
        let may_have_arrived = !matches!(error.stage, Stage::NotSent);
        BareError {
            message: error.message,
            may_have_arrived,
            is_too_large: matches!(error.stage, Stage::TooLarge),
        }
    }
}

/// A response whose body is still to be read, up to 8 MiB.
pub struct BareResponse(Response);

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
        let refused = |error: AttemptError| {
            let message = client.redact(&error.message).into_owned();
            BareError { message, ..error.into() }
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
        Ok(BareResponse(Response::new(response, bounds)))
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
    /// The status.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// A header of the response.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// Reads the JSON of the next server-sent event; `None` at the end.
    ///
    /// # Errors
    /// Where the body breaks off or is too large, or an event is no JSON.
    pub fn next_event(&mut self) -> Result<Option<Value>, BareError> {
        loop {
            match self.0.next_event()? {
                Some(Event::Json(value)) => return Ok(Some(value)),
                Some(Event::Unreadable(_)) => return Err(BareError::unreadable("an event is no JSON")),
                Some(Event::Alive | Event::Done) => {}
                None => return Ok(None),
            }
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// Where the body breaks off or is too large.
    pub fn read_all(self) -> Result<Vec<u8>, BareError> {
        Ok(self.0.read_whole()?)
    }
}
