//! HTTP as every door here speaks it: bounded in time and size, and never led elsewhere.
//!
//! **Invariant:** no redirect is followed, so a header (the key's above all) goes to the host that
//! was configured and to no other. Nothing is read beyond its limit, compressed or not.

use std::io::{self, Read};
use std::time::{Duration, SystemTime};

use ureq::http::{HeaderMap, Uri};
use ureq::{Error, Timeout};

use planwright::ports::Cause;

/// An HTTP client with its time-outs. Not `Debug`: a proxy's address may hold a password.
#[derive(Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    connect: Duration,
    call: Duration,
}

/// A request that got no (whole) answer.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    /// Whether the same request may fare better later.
    pub(crate) passing: bool,
}

impl Client {
    /// A client that waits at most `connect` for a connection (name look-up and TLS each included)
    /// and at most `call` for a whole exchange. A loopback `uri` is asked directly; for others the
    /// usual proxy variables of the environment are honoured.
    pub(crate) fn new(uri: &Uri, connect: Duration, call: Duration) -> Self {
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("planwright/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .timeout_global(Some(call));
        if is_loopback(uri) {
            config = config.proxy(None);
        }
        Client { agent: config.build().new_agent(), connect, call }
    }

    pub(crate) fn agent(&self) -> &ureq::Agent {
        &self.agent
    }

    /// What an error of this client means.
    pub(crate) fn explain(&self, error: Error) -> Broken {
        let (cause, passing, message) = match error {
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                (Cause::Timeout, true, format!("no connection within {:?}", self.connect))
            }
            Error::Timeout(_) => (Cause::Timeout, true, format!("no whole answer within {:?}", self.call)),
            Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
                (Cause::Timeout, true, error.to_string())
            }
            Error::Io(error) => (Cause::Connection, true, error.to_string()),
            Error::HostNotFound => (Cause::Connection, true, "the host is not known".to_owned()),
            Error::ConnectionFailed | Error::ConnectProxyFailed(_) => {
                (Cause::Connection, true, error.to_string())
            }
            Error::Http(_) | Error::BadUri(_) => (Cause::NotFound, false, error.to_string()),
            Error::Protocol(_)
            | Error::LargeResponseHeader(..)
            | Error::Decompress(..)
            | Error::BodyStalled => (Cause::BadResponse, true, error.to_string()),
            // What is left is a matter of set-up: certificates, TLS, proxy settings.
            _ => (Cause::Connection, false, error.to_string()),
        };
        Broken { cause, message, passing }
    }
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Why a body could not be read to its end.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// There is more than the limit.
    TooLarge,
    /// It broke off.
    Broken(Error),
}

/// A body that is read up to a limit and not beyond.
pub(crate) struct Bounded<R> {
    inner: R,
    left: usize,
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(inner: R, limit: usize) -> Self {
        Bounded { inner, left: limit }
    }

    /// Reads some bytes; zero means the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        // One byte more than is left is asked for: whether it comes tells "full" from "too large".
        let most = buffer.len().min(self.left.saturating_add(1));
        let count = loop {
            match self.inner.read(&mut buffer[..most]) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Broken(Error::from(error))),
            }
        };
        self.left = self.left.checked_sub(count).ok_or(ReadError::TooLarge)?;
        Ok(count)
    }

    /// Reads to the end, adding to `bytes`. What was read before an error stays in `bytes`.
    pub(crate) fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut buffer = [0; 8192];
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(()),
                count => bytes.extend_from_slice(&buffer[..count]),
            }
        }
    }
}

/// How long the server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |text: &str| {
        let seconds: f64 = text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    if let Some(delay) = text("retry-after-ms").and_then(seconds) {
        return Some(delay / 1000);
    }
    let asked = text("retry-after")?;
    seconds(asked).or_else(|| {
        let date = httpdate::parse_http_date(asked).ok()?;
        Some(date.duration_since(now).unwrap_or_default())
    })
}

/// An address as it may be shown: without user name, password, query and fragment, any of which
/// may hold a key.
pub(crate) fn shown(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let host_end = rest.find('/').unwrap_or(rest.len());
    let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}{}", &rest[host_start..])
}
