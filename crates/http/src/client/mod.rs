//! The one HTTP client: bounded in time, size, tries and reach.
//!
//! **Invariant:** a key goes to the host that it was configured for and to no other. A request that
//! carries a key or a body is never redirected, any other only within its host. No error text holds a
//! key, whatever a server echoes, and nothing is read beyond its limit, compressed or not.

mod address;
mod bare;
mod error;
mod network;
mod response;
mod retry;

pub use address::show_address;
pub(crate) use address::{Endpoint, parse_address, parse_endpoint};
pub use bare::{Bare, BareError, BareResponse};
pub(crate) use error::{AttemptError, ServerError, Stage};
pub use network::Network;
pub(crate) use response::{Event, Response, parse_json};
pub use retry::Retry;
pub(crate) use retry::{detach, wait};

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use ureq::http::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, LOCATION,
};
use ureq::http::{Request as HttpRequest, Response as HttpResponse, Uri};
use ureq::tls::RootCerts;
use ureq::{Agent, AsSendBody, Body, Proxy};

use self::error::Bounds;
use self::network::{find_roots, open_agent, read_certificates};
use self::retry::MAX_TIME;
use planwright::contract::excerpt;
use planwright::driver::redact;
use planwright::ports::{Cause, Secret, ToolCall, ToolError};
use planwright::prompt::TraceContext;

const MAX_REDIRECTS: usize = 3;
const MAX_ERROR_BYTES: u64 = 64 << 10;
/// Most characters shown of a body that is no answer.
const MAX_SHOWN_CHARS: usize = 120;
/// The time of a tool call that has no time-out of its own.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Client {
    agent: Agent,
    roots: RootCerts,
    /// What is wrong with the certificates of the environment, which only a request with TLS needs.
    certificates: Result<(), String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Every value of a header, which no error shows.
    hidden: Vec<Secret>,
    /// Those of them that nothing may hold.
    secrets: Vec<Secret>,
    pub(crate) retry: Retry,
    /// The longest time between two pieces of what a tool is answered.
    idle_timeout: Duration,
    /// The longest wait for a connection, name look-up and TLS each included.
    pub(crate) connect_timeout: Duration,
    /// Largest response that is read, in bytes after decompression.
    pub(crate) max_response_bytes: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) uri: &'a Uri,
    /// Posted as JSON; a request without a body is a GET.
    pub(crate) body: Option<&'a [u8]>,
    /// Equal for every repetition of a call.
    pub(crate) idempotency_key: Option<&'a str>,
    /// The span that it is of, if the run is traced.
    pub(crate) trace: Option<TraceContext>,
}

impl Client {
    /// A client that trusts the certificates in the file that `SSL_CERT_FILE` names, else the usual ones.
    pub(crate) fn new() -> Self {
        let (roots, certificates) = find_roots();
        Client {
            agent: open_agent(roots.clone(), None),
            roots,
            certificates,
            headers: Vec::new(),
            hidden: Vec::new(),
            secrets: Vec::new(),
            retry: Retry::default(),
            idle_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            max_response_bytes: 4 << 20,
        }
    }

    /// A client that sends a key as `Authorization: Bearer …`, without blanks around it; an empty one is not sent.
    pub(crate) fn with_key(key: &Secret) -> Result<Self, String> {
        Client::with_key_in(AUTHORIZATION.as_str(), "Bearer ", key)
    }

    /// A client that sends a key in a header, after what stands before it there.
    pub(crate) fn with_key_in(header: &str, before: &str, key: &Secret) -> Result<Self, String> {
        let (mut client, key) = (Client::new(), key.expose().trim());
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            let found = "found a character that no header can carry";
            return Err(format!("expected a key of visible ASCII characters, {found}"));
        }
        if !key.is_empty() {
            client.add_header(header, &format!("{before}{key}"))?;
            client.hidden = vec![Secret::new(key)];
            client.secrets.clone_from(&client.hidden);
        }
        Ok(client)
    }

    /// Sends one more header with every request, in the place of an equal one.
    pub(crate) fn add_header(&mut self, name: &str, value: &str) -> Result<(), String> {
        let problem = |what| format!("the header {name:?}: expected {what}, found something else");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| problem("a name"))?;
        if [CONTENT_TYPE, CONTENT_LENGTH, HOST].contains(&header) {
            return Err(problem("one that is not worked out here"));
        }
        let mut sent = HeaderValue::from_str(value.trim()).map_err(|_| problem("one line of text"))?;
        sent.set_sensitive(true);
        self.headers.retain(|(known, _)| *known != header);
        self.headers.push((header, sent));
        let value = value.trim();
        self.hidden.push(Secret::new(value));
        if is_credential(name) {
            self.hidden.extend(credentials(value));
            self.secrets.extend(credentials(value));
        }
        Ok(())
    }

    /// Gets to its server this way. A problem names its setting or its variable.
    pub(crate) fn go_through(&mut self, network: &Network) -> Result<(), String> {
        match &network.ca_file {
            Some(file) => {
                let roots = read_certificates(file).map_err(|problem| format!("ca_file: {problem}"))?;
                (self.roots, self.certificates) = (roots, Ok(()));
            }
            None => self.certificates.clone()?,
        }
        self.idle_timeout = network.idle_timeout.unwrap_or(self.idle_timeout);
        self.agent = open_agent(self.roots.clone(), network.open_proxy()?);
        Ok(())
    }

    pub(crate) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redact(text, &self.hidden)
    }

    /// Sends a request once and follows its redirects. Any status but a redirect is a response. Once `stop` says so,
    /// the request is left behind.
    pub(crate) fn send(
        &self,
        request: Request<'_>,
        left: Duration,
        whole: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Response, AttemptError> {
        let (client, uri, trace) = (self.clone(), request.uri.clone(), request.trace);
        let (body, key) = (request.body.map(<[u8]>::to_vec), request.idempotency_key.map(str::to_owned));
        detach(stop, move || {
            let (body, idempotency_key) = (body.as_deref(), key.as_deref());
            client.follow(Request { uri: &uri, body, idempotency_key, trace }, left, whole)
        })?
    }

    fn follow(
        &self,
        request: Request<'_>,
        left: Duration,
        whole: Duration,
    ) -> Result<Response, AttemptError> {
        let begun = Instant::now();
        let [left, whole] = [left, whole].map(|time| time.min(MAX_TIME));
        let max_bytes = self.max_response_bytes as u64;
        let mut here = Cow::Borrowed(request.uri);
        for _ in 0..=MAX_REDIRECTS {
            let left = left.saturating_sub(begun.elapsed()).max(Duration::from_millis(1));
            if let (Some("https"), Err(problem)) = (here.scheme_str(), &self.certificates) {
                return Err(AttemptError::set_up(problem));
            }
            let bounds = Bounds { left, whole, connect: self.connect_timeout.min(left), max_bytes };
            let response = self.exchange(&here, request, bounds);
            let response = response.map_err(|error| self.explain_transport(error, bounds, &here))?;
            if !response.status().is_redirection() {
                return Ok(Response::new(response, bounds));
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let carries = !self.headers.is_empty() || request.body.is_some();
            let next = location.filter(|_| !carries);
            let Some(next) = next.and_then(|next| address::resolve_redirect(&here, next)) else {
                let place = location.map_or_else(|| "nowhere".to_owned(), show_address);
                let message =
                    format!("expected an answer, found a redirect to {place}, which is not followed");
                return Err(AttemptError::bad_response(self.redact(&message), false));
            };
            here = Cow::Owned(next);
        }
        let message = format!("expected at most {MAX_REDIRECTS} redirects, found more");
        Err(AttemptError::bad_response(message, false))
    }

    /// Says why there is no response, and names the proxy in between.
    fn explain_transport(&self, error: ureq::Error, bounds: Bounds, uri: &Uri) -> AttemptError {
        let is_refused =
            matches!(&error, ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused);
        let mut error = AttemptError::from_transport(error, bounds);
        // Nothing listens there yet, or the port is wrong; that shows at once.
        error.doubtful |= is_refused && address::is_loopback(uri);
        if let Some(proxy) = self.find_proxy(uri).filter(|_| matches!(error.stage, Stage::NotSent)) {
            error.transient &= !matches!(error.cause, Cause::Connection);
            error.message = format!("through the proxy {}:{}: {}", proxy.host(), proxy.port(), error.message);
        }
        error
    }

    /// The proxy between here and an address, from the environment.
    fn find_proxy(&self, uri: &Uri) -> Option<&Proxy> {
        let proxy = self.agent.config().proxy()?;
        (!address::is_loopback(uri) && !proxy.is_no_proxy(uri)).then_some(proxy)
    }

    fn exchange(
        &self,
        to: &Uri,
        request: Request<'_>,
        bounds: Bounds,
    ) -> Result<HttpResponse<Body>, ureq::Error> {
        let mut head = HttpRequest::builder().uri(to);
        for (name, value) in &self.headers {
            head = head.header(name, value);
        }
        if let Some(key) = request.idempotency_key {
            head = head.header("idempotency-key", key);
        }
        if let Some(trace) = request.trace {
            head = head.header("traceparent", trace.to_string());
        }
        let Some(body) = request.body else { return self.run(head.body(())?, bounds) };
        self.run(head.method("POST").header(CONTENT_TYPE, "application/json").body(body)?, bounds)
    }

    fn run(
        &self,
        request: HttpRequest<impl AsSendBody>,
        Bounds { left, connect, .. }: Bounds,
    ) -> Result<HttpResponse<Body>, ureq::Error> {
        let is_loopback = address::is_loopback(request.uri());
        let config = self.agent.configure_request(request).timeout_global(Some(left));
        let config = config.timeout_resolve(Some(connect)).timeout_connect(Some(connect));
        self.agent.run(if is_loopback { config.proxy(None).build() } else { config.build() })
    }

    pub(crate) fn read_error(&self, mut response: Response, stop: &dyn Fn() -> bool) -> AttemptError {
        let retry_after = retry::parse_retry_after(&response.headers, SystemTime::now());
        let id = response.request_id();
        let status = response.status;
        let error = match detach(stop, move || response.read_some(MAX_ERROR_BYTES)) {
            Ok(body) => self.explain_error(ServerError::parse(status, &body)).with_request(id),
            Err(stopped) => return stopped,
        };
        AttemptError { retry_after, ..error }
    }

    /// Says what a server's error means, without the key.
    pub(crate) fn explain_error(&self, mut error: ServerError) -> AttemptError {
        error.message = self.redact(&error.message).into_owned();
        error.into()
    }

    /// Says what was found in place of an answer. Keys are taken out before anything is cut off.
    pub(crate) fn explain_unreadable(&self, expected: &str, found: &[u8]) -> AttemptError {
        let text = String::from_utf8_lossy(found);
        let is_json = text.trim_start().starts_with(['{', '[']);
        let problem = serde_json::from_slice::<Value>(found).err().filter(|_| is_json);
        let problem = problem.map_or_else(String::new, |problem| format!(" ({problem})"));
        let found = match self.redact(text.trim()) {
            text if text.is_empty() => "an empty body".to_owned(),
            text => format!("{:?}", excerpt(&text, MAX_SHOWN_CHARS)),
        };
        let message = format!("expected {expected}, found {found}{problem}; is the base URL right?");
        AttemptError::bad_response(message, true)
    }

    /// Asks for JSON within `budget`, all tries included. What may happen only `once` is tried once.
    pub(crate) fn ask_json(
        &self,
        request: Request<'_>,
        budget: Duration,
        once: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Value, ToolError> {
        let tries = if once { 1 } else { self.retry.tries };
        let answer = Retry { tries, ..self.retry.clone() }.run(
            budget,
            |_, _, _| {},
            stop,
            |left| {
                let response = self.send(request, left, budget, stop)?;
                if !response.is_success() {
                    return Err(self.read_error(response, stop));
                }
                let bytes = response.read_within(self.idle_timeout, stop)?;
                parse_json(&bytes).map_err(|_| self.explain_unreadable("JSON", &bytes))
            },
        );
        answer.map_err(|mut error| {
            error.message = self.redact(&error.message).into_owned();
            error.into_tool_error(&show_address(&request.uri.to_string()))
        })
    }

    /// Asks for JSON in the time of a tool call. What is posted carries the call's idempotency key.
    pub(crate) fn ask_for_call(
        &self,
        uri: &Uri,
        body: Option<&[u8]>,
        call: &ToolCall<'_>,
    ) -> Result<Value, ToolError> {
        let idempotency_key = body.map(|_| call.idempotency_key);
        let budget = call.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let request = Request { uri, body, idempotency_key, trace: call.trace };
        self.ask_json(request, budget, call.once, &|| call.is_abandoned())
    }
}

/// What a credential header holds that nothing may show: its value, and the parts of it that a server may repeat by
/// themselves, such as the key behind `Bearer` or the value of a cookie.
pub fn credentials(value: &str) -> Vec<Secret> {
    let parts =
        value.split([' ', ';', ',']).flat_map(|part| [Some(part), part.split_once('=').map(|(_, is)| is)]);
    std::iter::once(value).chain(parts.flatten()).filter(|part| !part.is_empty()).map(Secret::new).collect()
}

/// Whether the name of a header says that its value is a credential, which nothing that is kept may hold.
pub fn is_credential(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    ["key", "auth", "token", "secret", "cookie"].iter().any(|part| name.contains(part))
}

/// Without the agent: the address of a proxy may hold a password.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("key", &self.secrets.first())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
