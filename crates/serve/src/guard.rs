//! The guard before every path: who may ask, from which page, how often, and how long a request may take to arrive.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use crate::accept::Remote;
use crate::caller::Caller;
use crate::keys::{Key, KeyFile, Right, find_key};
use crate::limits::{Failures, Rates};
use crate::options::Options;
use crate::page::is_page;
use crate::problem::{Kind, Problem, Result};

/// What the guard goes by.
pub(crate) struct Guard {
    keys: KeyFile,
    /// Whether there were keys since the start: without a file none of them is good any more.
    has_keys: AtomicBool,
    is_loopback: bool,
    /// Whether it only shows.
    read_only: bool,
    origins: Vec<HeaderValue>,
    arrives_within: Duration,
    max_body_bytes: usize,
    max_reply_bytes: u64,
    wrong: Failures,
    rates: Option<Rates>,
}

/// Why a request is refused, and how long that is kept back.
struct Refused {
    problem: Box<Problem>,
    after: Duration,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Refused { problem: Box::new(problem), after: Duration::ZERO }
    }
}

impl Guard {
    /// # Errors
    /// Where the keys cannot be read, or anybody could ask and that is not said.
    pub fn new(options: &Options) -> planwright_app::Result<Self> {
        use planwright_app::Error;
        let (is_loopback, keys) = (options.listen.ip().is_loopback(), KeyFile::at(&options.keys));
        let has_keys = keys.load()?.is_some();
        if !is_loopback && !has_keys && !options.allow_anonymous {
            let problem =
                format!("--listen: {} is reached from other machines, and anybody could ask", options.listen);
            let hint =
                "listen on 127.0.0.1, make a key with `planwright serve keys new`, or say --allow-anonymous";
            return Err(Error::unusable(problem).hint(hint));
        }
        let origins = options.allow_origin.iter().map(|origin| origin.parse());
        let origins = origins.collect::<Result<_, _>>().map_err(Error::at("--allow-origin"))?;
        // A person at their own machine is not counted.
        let usual = (has_keys || !is_loopback).then_some(600);
        Ok(Guard {
            keys,
            has_keys: has_keys.into(),
            is_loopback,
            read_only: options.read_only,
            origins,
            arrives_within: options.arrives_within,
            max_body_bytes: options.max_body_bytes,
            max_reply_bytes: options.max_reply_bytes,
            wrong: Failures::default(),
            rates: options.max_requests.or(usual).map(Rates::per_minute),
        })
    }

    /// What lets pages of the listed origins read; nothing where none is listed.
    pub fn cors(&self) -> Option<CorsLayer> {
        let origins = AllowOrigin::list(self.origins.clone());
        let layer = CorsLayer::new().allow_origin(origins).allow_methods(AllowMethods::mirror_request());
        let exposed = [header::RETRY_AFTER, header::WWW_AUTHENTICATE];
        let layer = layer.allow_headers(AllowHeaders::mirror_request()).expose_headers(exposed);
        (!self.origins.is_empty()).then_some(layer)
    }

    /// The keys of now. `None` where none were ever made.
    fn keys(&self) -> Result<Option<Vec<Key>>> {
        // Where they are is not for who asks.
        let keys = self.keys.load().map_err(|error| {
            tracing::error!(problem = error.to_string(), "keys");
            Problem::new(Kind::Store, "the keys cannot be read")
        })?;
        if keys.is_some() {
            self.has_keys.store(true, Ordering::Relaxed);
        }
        Ok(keys.or_else(|| self.has_keys.load(Ordering::Relaxed).then(Vec::new)))
    }

    /// Who asks, if they may ask this. Else why not, and how long that is kept back.
    fn caller(&self, request: &Request) -> Result<Caller, Refused> {
        let remote = request.extensions().get::<Remote>().map_or(IpAddr::from([0; 4]), |remote| remote.0);
        let keys = self.keys();
        self.check_pages(request, !matches!(keys, Ok(None)))?;
        match request.uri().path() {
            "/healthz" => return Ok(Caller::default()),
            "/readyz" if let Err(problem) = &keys => {
                return Err(Problem::new(Kind::NotReady, problem.detail()).into());
            }
            path if is_open_path(path) => return Ok(Caller::default()),
            _ => {}
        }
        let right = wanted_right(request.method(), request.uri().path());
        if self.read_only && right != Right::Read {
            let problem = Problem::new(Kind::Forbidden, "this service only shows");
            return Err(problem.hint("`planwright serve` also asks and answers").into());
        }
        let Some(keys) = keys? else {
            self.check_rate(&remote.to_string())?;
            return Ok(self.let_in(Caller::default()));
        };
        let given =
            request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        let missing = || {
            Problem::new(Kind::NoKey, "expected the header Authorization: Bearer KEY")
                .hint("`planwright serve keys new` makes a key")
        };
        let (scheme, text) = given.and_then(|given| given.split_once(' ')).ok_or_else(missing)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(missing().into());
        }
        let Some(key) = find_key(&keys, text.trim()) else {
            let problem = Problem::new(Kind::NoKey, "the key is not known");
            return Err(Refused { problem: Box::new(problem), after: self.wrong.note(remote) });
        };
        if key.has_expired() {
            let problem = Problem::new(Kind::NoKey, "the key has expired").hint("ask for another one");
            return Err(problem.into());
        }
        self.check_rate(&key.name)?;
        // Of the Model Context Protocol each call is looked at by itself.
        let may_call = request.uri().path() == "/mcp" && key.may(Right::Answer);
        if !key.may(right) && !may_call {
            let detail = format!("the key may not {}, which this needs", right.name());
            return Err(Problem::new(Kind::Forbidden, detail).into());
        }
        Ok(self.let_in(Caller::of(key)))
    }

    fn let_in(&self, caller: Caller) -> Caller {
        if self.read_only { caller.reading() } else { caller }
    }

    fn check_rate(&self, who: &str) -> Result<()> {
        let wait = self.rates.as_ref().and_then(|rates| rates.take(who));
        wait.map_or(Ok(()), |seconds| {
            let problem = Problem::new(Kind::TooOften, "more requests than a minute has room for");
            Err(problem.hint("try again later").retry_after(seconds))
        })
    }

    /// Refuses a request that a page of another site may have sent. A page that had its own name resolve to loopback
    /// would read the answers of every thread; where keys are wanted it has none.
    fn check_pages(&self, request: &Request, has_keys: bool) -> Result<()> {
        let host = only(request.headers(), header::HOST)?.and_then(|host| host.to_str().ok());
        let (is_open, host) = (self.is_loopback && !has_keys, host.unwrap_or_default());
        let refused = |what: &str, hint: &str| Err(Problem::new(Kind::Forbidden, what).hint(hint));
        // A request line may name a host as well.
        let named = request.uri().authority().map_or(host, |authority| authority.as_str());
        if is_open && !(is_here(host) && is_here(named)) {
            let hint = "send it from this machine, or listen on another address with --listen";
            return refused("Host: expected this machine (localhost or a loopback address)", hint);
        }
        let Some(origin) = only(request.headers(), header::ORIGIN)? else { return Ok(()) };
        let page = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let page = page.filter(|(scheme, _)| ["http", "https"].contains(scheme)).map(|(_, page)| page);
        let is_own = page.is_some_and(|page| page == host || (is_open && is_here(page)));
        match is_own || self.origins.contains(origin) {
            true => Ok(()),
            false => {
                refused("Origin: expected a page of this service", "--allow-origin ORIGIN lets others in")
            }
        }
    }

    /// Refuses to send more than a reply may hold. What only reads can be asked for in parts.
    fn check_reply(&self, reply: &Response) -> Result<()> {
        let (most, found) = (self.max_reply_bytes, reply.body().size_hint().exact().unwrap_or_default());
        if found <= most {
            return Ok(());
        }
        let problem = format!("the reply has {found} bytes, and at most {most} are sent");
        Err(Problem::new(Kind::TooMuch, problem).hint("ask for one turn, or for a smaller page"))
    }

    /// The request once it has arrived whole.
    async fn whole(&self, request: Request) -> Result<Request> {
        let most = self.max_body_bytes;
        if request.body().size_hint().lower() > most as u64 {
            return Err(Problem::new(Kind::TooLarge, format!("the body may have at most {most} bytes")));
        }
        let (parts, body) = request.into_parts();
        let arriving = Bytes::from_request(Request::from_parts(parts.clone(), body), &());
        let late = |_| Problem::new(Kind::Late, "the request took too long to arrive");
        let arrived = tokio::time::timeout(self.arrives_within, arriving).await.map_err(late)?;
        let bytes = arrived.map_err(|refused| {
            let is_large = refused.status() == StatusCode::PAYLOAD_TOO_LARGE;
            Problem::new(if is_large { Kind::TooLarge } else { Kind::Input }, refused.body_text())
        })?;
        Ok(Request::from_parts(parts, Body::from(bytes)))
    }
}

/// Lets a request through that may be made, with who makes it.
pub(crate) async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let caller = match guard.caller(&request) {
        Ok(caller) => caller,
        Err(Refused { problem, after }) => {
            tokio::time::sleep(after).await;
            return problem.into_response();
        }
    };
    let mut request = match guard.whole(request).await {
        Ok(request) => request,
        Err(problem) => return problem.into_response(),
    };
    request.extensions_mut().insert(caller.clone());
    // The description is sent whole: who is told to ask for less reads there how.
    let only_reads = request.method() == Method::GET && request.uri().path() != "/openapi.json";
    let response = next.run(request).await;
    if let (true, Err(problem)) = (only_reads, guard.check_reply(&response)) {
        return problem.into_response();
    }
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_json = matches!(kind, Some(b"application/json" | b"application/problem+json"));
    if !is_json || !caller.has_own_names() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // It is whole already: only streams are longer than what is at hand.
    let told = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let told = match serde_json::from_slice(&told) {
        Ok(told) => caller.tell(told).to_string().into(),
        Err(_) => told,
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(told))
}

/// Whether anybody may ask it: it says that the process lives, or is a file of the page, and tells nothing of threads.
pub(crate) fn is_open_path(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz") || is_page(path)
}

/// What a key must be allowed for this request.
fn wanted_right(method: &Method, path: &str) -> Right {
    let answers = path == "/hitl/resume" || (path.starts_with("/threads/") && path.ends_with("/resolve"));
    match *method {
        // What a session hears is of runs of its own.
        Method::GET if path == "/mcp" => Right::Run,
        Method::GET | Method::HEAD => Right::Read,
        _ if answers => Right::Answer,
        _ => Right::Run,
    }
}

/// The header of this name, which a request has once.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&HeaderValue>> {
    let mut values = headers.get_all(&name).into_iter();
    let value = values.next();
    match values.next() {
        Some(_) => Err(Problem::new(Kind::Forbidden, format!("{name}: expected it once"))),
        None => Ok(value),
    }
}

/// Whether a host, with or without a port, is this machine.
fn is_here(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if !(port.is_empty() || port.strip_prefix(':').is_some_and(is_port)) {
        return false;
    }
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}
