//! Asking a web service for JSON: one request, bounded in time, size, tries and reach.
//!
//! **Invariant:** a key goes to the host it was configured for and nowhere else: a request that
//! carries one is never redirected, any other only within its own host. No error text holds a key,
//! whatever a server echoes.

use std::io::Read;
use std::slice;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Agent, Body, Timeout};

use planwright::driver::redact;
use planwright::ports::{Secret, ToolError};

use super::retry::{Failed, Retry, retry_after};
use planwright::ports::first_chars as cut;

/// Largest response that is read, in bytes after unpacking, unless a client says otherwise.
const MAX_RESPONSE_BYTES: u64 = 4 << 20;
/// Most of an error's body that is read, in bytes.
const MAX_ERROR_BYTES: u64 = 16 << 10;
/// Most characters of what a server said that are told on.
const MAX_EXCERPT_CHARS: usize = 300;
/// A connection that takes longer is given up and tried again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Most redirects within one host.
const MAX_REDIRECTS: u32 = 3;
/// Used where a call has no time-out.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

const USER_AGENT: &str = concat!("planwright/", env!("CARGO_PKG_VERSION"));

/// What to ask.
pub(super) struct Request<'a> {
    pub url: &'a str,
    pub query: &'a [(&'a str, &'a str)],
    /// Posted as JSON; a request without is a `GET`.
    pub body: Option<&'a Value>,
    /// Sent as a bearer token.
    pub key: Option<&'a Secret>,
    /// Sent with what is posted, as `Idempotency-Key`: the same for every repetition of a call.
    pub idempotency_key: Option<&'a str>,
}

/// Asks web services.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: Agent,
    pub retry: Retry,
    /// Largest response that is read, in bytes after unpacking.
    pub max_response_bytes: u64,
}

type Try<T> = Result<T, Failed<ToolError>>;

fn for_good<T>(kind: &str, message: impl Into<String>) -> Try<T> {
    Err(Failed::for_good(ToolError::new(kind, message)))
}

impl Client {
    pub(super) fn new() -> Self {
        let config = Agent::config_builder()
            .user_agent(USER_AGENT)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // Nothing stays from one call to the next.
            .max_idle_connections(0)
            .build();
        let max_response_bytes = MAX_RESPONSE_BYTES;
        Client { agent: config.new_agent(), retry: Retry::default(), max_response_bytes }
    }

    /// Asks until there is an answer, the tries are used up or the time is. What may happen `once` is asked
    /// for once; where nobody knows whether it did, that is said.
    pub(super) fn json(
        &self,
        request: &Request<'_>,
        timeout: Option<Duration>,
        once: bool,
    ) -> Result<Value, ToolError> {
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let retry = if once { self.retry.clone().tries(1) } else { self.retry.clone() };
        let asked = retry.run(timeout, |left| self.follow(request, left.max(Duration::from_millis(1))));
        asked.map_err(|(failed, tries)| {
            let ToolError { mut kind, mut message, .. } = failed.error;
            if once && kind == "http" && failed.again {
                kind = "unknown".into();
            }
            if kind == "timeout" {
                message = format!("{message} within {} ms", timeout.as_millis());
            }
            if let Some(after) = failed.after {
                message = format!("{message} (the server asks to wait {} s)", after.as_secs());
            }
            if tries > 1 {
                message = format!("{message} (tried {tries} times)");
            }
            ToolError::new(kind, redact(&message, request.key.map_or(&[], slice::from_ref)))
        })
    }

    /// One try, with its redirects.
    fn follow(&self, request: &Request<'_>, left: Duration) -> Try<Value> {
        let begun = std::time::Instant::now();
        let mut here = address(request.url).map_err(Failed::for_good)?;
        let mut query = request.query;
        for _ in 0..=MAX_REDIRECTS {
            let left = left.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            let response = self.send(&here, query, request, left)?;
            if !response.status().is_redirection() {
                return read(response, &here, request.key, self.max_response_bytes);
            }
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            let carries = request.key.is_some() || request.body.is_some();
            here = match location.and_then(|location| within_host(&here, location)) {
                Some(next) if !carries => next,
                _ => {
                    let told = location.map_or("nowhere".into(), |to| excerpt(to, request.key));
                    let host = host(&here);
                    return for_good("http", format!("{host} redirects to {told}, which is not followed"));
                }
            };
            // The new address holds the query already.
            query = &[];
        }
        for_good("http", format!("{} redirects more than {MAX_REDIRECTS} times", host(&here)))
    }

    fn send(
        &self,
        to: &Uri,
        query: &[(&str, &str)],
        request: &Request<'_>,
        left: Duration,
    ) -> Try<Response<Body>> {
        let pairs = query.iter().copied();
        let bearer = request.key.map(|key| format!("Bearer {}", key.expose()));
        let connect = CONNECT_TIMEOUT.min(left);
        // A proxy cannot reach what is on this machine.
        let local = matches!(to.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let sent = match request.body {
            None => {
                let mut get = self.agent.get(to).query_pairs(pairs);
                if let Some(bearer) = &bearer {
                    get = get.header("authorization", bearer);
                }
                let mut config = get.config().timeout_global(Some(left)).timeout_connect(Some(connect));
                if local {
                    config = config.proxy(None);
                }
                config.build().call()
            }
            Some(body) => {
                let mut post = self.agent.post(to).query_pairs(pairs).content_type("application/json");
                if let Some(bearer) = &bearer {
                    post = post.header("authorization", bearer);
                }
                if let Some(key) = request.idempotency_key {
                    post = post.header("idempotency-key", key);
                }
                let mut config = post.config().timeout_global(Some(left)).timeout_connect(Some(connect));
                if local {
                    config = config.proxy(None);
                }
                config.build().send(body.to_string())
            }
        };
        sent.map_err(|error| unanswered(&error, to))
    }
}

/// A failure of the transport.
fn unanswered(error: &ureq::Error, to: &Uri) -> Failed<ToolError> {
    let host = host(to);
    let failed = |kind: &str, message: String, again| Failed {
        error: ToolError::new(kind, message),
        again,
        after: None,
    };
    match error {
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            failed("connection", format!("no connection to {host} in time"), true)
        }
        ureq::Error::Timeout(_) => failed("timeout", format!("no answer from {host}"), false),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            failed("timeout", format!("no answer from {host}"), false)
        }
        ureq::Error::Io(error) => failed("connection", format!("{host}: {error}"), true),
        ureq::Error::ConnectionFailed => failed("connection", format!("{host}: the connection failed"), true),
        ureq::Error::HostNotFound => failed("connection", format!("{host}: no such host"), false),
        ureq::Error::Protocol(error) => {
            failed("response", format!("{host} does not speak HTTP: {error}"), false)
        }
        other => failed("connection", format!("{host}: {other}"), false),
    }
}

/// The JSON of an answer, or what kind of failure it is.
fn read(mut response: Response<Body>, from: &Uri, key: Option<&Secret>, most: u64) -> Try<Value> {
    let host = host(from);
    let status = response.status();
    if !status.is_success() {
        let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|value| retry_after(value, SystemTime::now()));
        let mut said = Vec::new();
        // Best effort: the status alone says enough where the body breaks.
        let _ = response.body_mut().as_reader().take(MAX_ERROR_BYTES).read_to_end(&mut said);
        let said = said_by_server(&String::from_utf8_lossy(&said), key);
        let again = status.is_server_error() || [408, 425, 429].contains(&status.as_u16());
        let error = ToolError::new("http", format!("{host} answered {}{said}", named(status)));
        return Err(Failed { error, again, after: after.filter(|_| again) });
    }
    if response.body().content_length().is_some_and(|length| length > most) {
        return for_good("response", too_large(&host, most));
    }
    let mut bytes = Vec::new();
    let body = response.body_mut().as_reader().take(most.saturating_add(1)).read_to_end(&mut bytes);
    body.map_err(|error| unanswered(&ureq::Error::from(error), from))?;
    if bytes.len() as u64 > most {
        return for_good("response", too_large(&host, most));
    }
    serde_json::from_slice(&bytes).or_else(|error| {
        let found = excerpt(&String::from_utf8_lossy(&bytes), key);
        for_good("response", format!("expected JSON from {host}, found {found:?}: {error}"))
    })
}

fn too_large(host: &str, most: u64) -> String {
    format!("expected at most {most} bytes from {host}, found more")
}

fn named(status: StatusCode) -> String {
    let reason = status.canonical_reason().map(|reason| format!(" {reason}"));
    format!("{}{}", status.as_u16(), reason.unwrap_or_default())
}

/// What the server gives as the reason, after `: `. A page for people says nothing to a program.
fn said_by_server(body: &str, key: Option<&Secret>) -> String {
    let said = match serde_json::from_str::<Value>(body) {
        Ok(json) => {
            let places = ["/detail/error", "/error/message", "/error/info", "/detail", "/error", "/message"];
            let text = places.iter().find_map(|place| json.pointer(place).and_then(Value::as_str));
            text.map_or_else(|| body.to_owned(), str::to_owned)
        }
        Err(_) if body.trim_start().starts_with('<') => String::new(),
        Err(_) => body.to_owned(),
    };
    let said = excerpt(&said, key);
    if said.is_empty() { said } else { format!(": {said}") }
}

/// The beginning of a text on one line, without the key. The key goes first: half a key is one, too.
fn excerpt(text: &str, key: Option<&Secret>) -> String {
    let line =
        redact(text, key.map_or(&[], slice::from_ref)).split_whitespace().collect::<Vec<_>>().join(" ");
    let short = cut(&line, MAX_EXCERPT_CHARS);
    if short.len() < line.len() { format!("{short}…") } else { line }
}

fn host(address: &Uri) -> String {
    address.authority().map_or_else(|| address.to_string(), |authority| authority.as_str().to_owned())
}

/// An address of a web service.
pub(super) fn address(url: &str) -> Result<Uri, ToolError> {
    let refuse =
        |problem: &str| Err(ToolError::new("input", format!("expected an http or https address, {problem}")));
    let Ok(address) = url.parse::<Uri>() else { return refuse(&format!("found {url:?}")) };
    if !matches!(address.scheme_str(), Some("http" | "https")) || address.host().is_none_or(str::is_empty) {
        return refuse(&format!("found {url:?}"));
    }
    // Not shown: what stands before the `@` is a password.
    if address.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return refuse("found one with a user name in it");
    }
    Ok(address)
}

/// Where a redirect leads, where that is the same host. From http to https is allowed, back is not.
fn within_host(from: &Uri, location: &str) -> Option<Uri> {
    let authority = from.authority()?;
    if location.starts_with('/') && !location.starts_with("//") {
        return format!("{}://{authority}{location}", from.scheme_str()?).parse().ok();
    }
    let to = address(location).ok()?;
    let same = to.scheme() == from.scheme() && to.authority() == Some(authority);
    let upgraded = from.scheme_str() == Some("http")
        && to.scheme_str() == Some("https")
        && to.host() == from.host()
        && to.port().is_none()
        && from.port().is_none();
    (same || upgraded).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, location: &str, expected: Option<&str>) {
        let next = within_host(&address(from).unwrap(), location);
        assert_eq!(next.map(|next| next.to_string()).as_deref(), expected, "{from} -> {location}");
    }

    #[test]
    fn redirects_stay_on_their_host() {
        check("http://a.org/w", "/x?y=1", Some("http://a.org/x?y=1"));
        check("http://a.org:81/w", "http://a.org:81/x", Some("http://a.org:81/x"));
        check("http://a.org/w", "https://a.org/x", Some("https://a.org/x"));
        for elsewhere in [
            "//b.org/x",
            "http://b.org/x",
            "https://a.org:8443/x",
            "ftp://a.org/x",
            "x",
            "",
            "http://u@a.org/",
        ] {
            check("http://a.org/w", elsewhere, None);
        }
        check("https://a.org/w", "http://a.org/x", None);
        check("http://a.org:81/w", "https://a.org/x", None);
        check("http://a.org/w", "http://a.org.evil.org/x", None);
    }
}
