//! What goes wrong, as RFC 9457 says it: a status, a stable type, and what to do.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use planwright::driver::Stopped;
use planwright::journal::{JournalErrorKind, StoreError, ThreadId};
use planwright::ports::Cause;
use planwright_app::{Class, Error};

/// A problem, as `application/problem+json`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// The kind: `urn:planwright:` and a word that stays as it is.
    #[serde(rename = "type")]
    #[schema(example = "urn:planwright:no-such-thread")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The status of the response.
    status: u16,
    /// What is wrong here.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// After how many seconds another try may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    /// Whether the store could not be read or written for now: what it has is whole.
    #[serde(skip)]
    may_pass: bool,
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    /// A problem of a kind: its status, its word and its title.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let (status, word, title) = kind.parts();
        let retry_after = matches!(kind, Kind::Busy).then_some(1);
        let kind = format!("urn:planwright:{word}");
        let detail = hide_address(&detail.into());
        Problem { kind, title, status: status.as_u16(), detail, hint: None, retry_after, may_pass: false }
    }

    /// Whether the same may succeed once the store can be read and written again.
    pub fn may_pass(&self) -> bool {
        self.may_pass
    }

    /// The word that its type ends in.
    pub fn word(&self) -> &str {
        self.kind.rsplit(':').next().unwrap_or_default()
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The problem of a thread, whose name the hint has.
    pub fn of_thread(self, thread: &ThreadId) -> Self {
        let hint = self.hint.map(|hint| hint.replace("{thread_id}", &in_path(thread.as_str())));
        Problem { hint, ..self }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Problem { hint: Some(hint.into()), ..self }
    }

    /// The problem without a hint that names a path or a header, for those who do not speak HTTP.
    pub fn without_path(self) -> Self {
        let is_http = |hint: &String| {
            ["/threads/", "/openapi.json", "Last-Event-ID"].iter().any(|name| hint.contains(name))
        };
        Problem { hint: self.hint.filter(|hint| !is_http(hint)), ..self }
    }

    pub fn retry_after(self, seconds: u64) -> Self {
        Problem { retry_after: Some(seconds), ..self }
    }
}

/// A text without the address of a database: where the store is, is not for those who ask the service.
fn hide_address(text: &str) -> String {
    let is_address = |word: &&str| word.starts_with("postgres://") || word.starts_with("postgresql://");
    let hide = |word| match Some(word).filter(is_address) {
        Some(word) => format!("the store{}", if word.ends_with(':') { ":" } else { "" }),
        None => word.to_owned(),
    };
    text.split(' ').map(hide).collect::<Vec<_>>().join(" ")
}

/// What a name is not written with in a path (RFC 3986, 3.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// A name as a part of a path.
///
/// ```
/// assert_eq!(planwright_serve::in_path("가/나"), "%EA%B0%80%2F%EB%82%98");
/// ```
pub fn in_path(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident: $status:ident, $word:literal, $title:literal;)*) => {
        /// What can go wrong.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Kind {
            $($(#[$about])* $name),*
        }

        impl Kind {
            fn parts(self) -> (StatusCode, &'static str, &'static str) {
                match self {
                    $(Kind::$name => (StatusCode::$status, $word, $title)),*
                }
            }
        }
    };
}

// The status, the word that its type ends in, and the title.
kinds! {
    /// The request does not read, or asks for what cannot be.
    Input: UNPROCESSABLE_ENTITY, "wrong-input", "The request cannot be used";
    Message: BAD_REQUEST, "wrong-message", "The message does not fit the protocol";
    NotAcceptable: NOT_ACCEPTABLE, "not-acceptable", "The reply would not be taken";
    MediaType: UNSUPPORTED_MEDIA_TYPE, "wrong-media-type", "The body is not what is expected";
    TooLarge: PAYLOAD_TOO_LARGE, "too-large", "The request is too large";
    TooMuch: UNPROCESSABLE_ENTITY, "reply-too-large", "The reply would be too large";
    Late: REQUEST_TIMEOUT, "too-slow", "The request did not arrive in time";
    /// No key, or none that is known.
    NoKey: UNAUTHORIZED, "no-key", "A key is needed";
    Forbidden: FORBIDDEN, "forbidden", "The request is not allowed";
    NoPath: NOT_FOUND, "no-such-path", "There is no such path";
    NoMethod: METHOD_NOT_ALLOWED, "no-such-method", "The path does not take this method";
    NoThread: NOT_FOUND, "no-such-thread", "There is no such thread";
    /// A session of another protocol has ended, or is of another key.
    NoSession: NOT_FOUND, "no-such-session", "There is no such session";
    NoTurn: NOT_FOUND, "no-such-turn", "There is no such turn or record";
    NoAgent: NOT_FOUND, "no-such-agent", "There is no such agent";
    Exists: CONFLICT, "thread-exists", "There is such a thread already";
    /// An `Idempotency-Key` came with another body before.
    Reused: UNPROCESSABLE_ENTITY, "idempotency-key-reused", "The key is of another request";
    /// Another process or request goes on with it.
    Busy: CONFLICT, "thread-is-running", "Somebody else has the thread";
    /// The answer is for something else, came too late, or was given before.
    Answer: CONFLICT, "answer-does-not-fit", "The answer is not taken";
    /// The last turn has to be gone on with, or resolved, first.
    Open: CONFLICT, "turn-is-open", "The last turn has not ended";
    InDoubt: CONFLICT, "write-in-doubt", "A write may or may not have happened";
    TooMany: TOO_MANY_REQUESTS, "too-busy", "Too many runs wait in line";
    TooOften: TOO_MANY_REQUESTS, "too-often", "Too many requests";
    /// The model did not answer. The turn is kept and can go on.
    Interrupted: SERVICE_UNAVAILABLE, "interrupted", "The model did not answer";
    Stopping: SERVICE_UNAVAILABLE, "stopping", "The service is stopping";
    /// The run ended without the answer that was streamed.
    NoAnswer: UNPROCESSABLE_ENTITY, "no-answer", "The run has no such answer";
    /// The reader of a stream does not take what there is.
    TooSlow: REQUEST_TIMEOUT, "reader-too-slow", "The reader is too slow";
    Store: SERVICE_UNAVAILABLE, "store", "The store cannot be used";
    NotReady: SERVICE_UNAVAILABLE, "not-ready", "The service is not ready";
}

impl Kind {
    pub fn status(self) -> StatusCode {
        self.parts().0
    }

    /// The word that its type ends in.
    pub fn word(self) -> &'static str {
        self.parts().1
    }

    pub fn title(self) -> &'static str {
        self.parts().2
    }

    /// Whether a reply may say when to try again.
    pub fn may_be_tried_again(self) -> bool {
        matches!(self, Kind::Busy | Kind::TooMany | Kind::TooOften | Kind::Interrupted | Kind::Stopping)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, retry_after) = (self.status(), self.retry_after);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        use JournalErrorKind::{Damaged, Fenced, Locked, Stale};
        let journal = if let StoreError::Journal(error) = &error { Some(error.kind()) } else { None };
        let kind = match (&error, journal) {
            (StoreError::NoThread { .. }, _) => Kind::NoThread,
            (StoreError::NoTurn { .. }, _) => Kind::NoTurn,
            (StoreError::AlreadyRunning { .. }, _) | (_, Some(Fenced | Stale | Locked)) => Kind::Busy,
            (StoreError::Exists { .. }, _) => Kind::Exists,
            _ => Kind::Store,
        };
        let hint = "`planwright threads check` says what is damaged; a copy of the store puts it right";
        let hint = (journal == Some(Damaged)).then(|| hint.to_owned());
        let may_pass = journal == Some(JournalErrorKind::Io);
        Problem { hint, may_pass, ..Problem::new(kind, error.to_string()) }
    }
}

/// How a write in doubt is gone on with.
pub(crate) const RESOLVE: &str = "POST /threads/{thread_id}/resolve says what became of it";

/// What of the program is wrong before a run begins: a setting, an agent, a contract.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match error.class {
            Class::Conflict => Kind::Busy,
            Class::Interrupted => Kind::Interrupted,
            _ if error.is_of_store => Kind::Store,
            _ => Kind::Input,
        };
        Problem::new(kind, error.to_string())
    }
}

impl From<Stopped> for Problem {
    fn from(stopped: Stopped) -> Self {
        let (kind, hint) = match &stopped {
            Stopped::Store(error) => return error.clone().into(),
            Stopped::Journal(error) => return StoreError::from(error.clone()).into(),
            Stopped::Interrupted(interrupted) if interrupted.cause.cause == Cause::Stopped => {
                let hint = "the turn is kept, and goes on when the service starts again";
                return Problem::new(Kind::Stopping, "the service is stopping").hint(hint).retry_after(1);
            }
            Stopped::Interrupted(interrupted) if interrupted.cause.cause == Cause::InDoubt => {
                (Kind::InDoubt, RESOLVE)
            }
            Stopped::Interrupted(interrupted) => {
                let hint = "the turn is kept: POST /threads/{thread_id}/resume goes on with it";
                let problem = Problem::new(Kind::Interrupted, stopped.to_string()).hint(hint);
                return match interrupted.cause.retry_after {
                    Some(delay) => problem.retry_after(delay.as_secs().max(1)),
                    None => problem,
                };
            }
            // The first has ended since this was looked up.
            Stopped::AskedBefore => (Kind::Busy, "send it again"),
            Stopped::InDoubt { .. } => (Kind::InDoubt, RESOLVE),
            Stopped::Unfinished => {
                (Kind::Open, "POST /threads/{thread_id}/resume goes on with it, /cancel ends it")
            }
            Stopped::Refused { .. } => (Kind::Input, "the run waits on; give another answer"),
            Stopped::Expired { .. } => {
                (Kind::Answer, "POST /threads/{thread_id}/resume goes on without an answer")
            }
            Stopped::AlreadyAnswered { .. }
            | Stopped::WrongToken
            | Stopped::NotWaiting
            | Stopped::NotInDoubt
            | Stopped::Ended => (Kind::Answer, "GET /threads/{thread_id} says how it stands"),
            _ => return Problem::new(Kind::Input, stopped.to_string()),
        };
        Problem::new(kind, stopped.to_string()).hint(hint)
    }
}
