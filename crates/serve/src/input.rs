//! What a request brings: JSON that reads whole, or an error with the place.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use utoipa::IntoParams;

use crate::caller::Caller;
use crate::problem::{Kind, Problem};
use crate::service::Service;
use planwright::contract::excerpt;
use planwright::journal::{Folded, ThreadId};
use planwright_app::shapes::ThreadName;
use planwright_app::{RunView, ShownThread, ShownTurn};

const HINT: &str = "GET /openapi.json describes every body";

/// The body of a request: a JSON object.
pub(crate) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|refused| Problem::new(Kind::Input, refused.body_text()))?;
        parse(&bytes).map(Body).map_err(|problem| problem.hint(HINT))
    }
}

/// Reads a JSON object whole.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be taken for an object without the names of its fields.
    if let Ok(found) = serde_json::from_slice::<Value>(bytes)
        && !found.is_object()
    {
        let found = excerpt(&found.to_string(), 80);
        return Err(Problem::new(Kind::Input, format!("$: expected an object, found {found}")));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = read_object(&mut json)?;
    json.end().map_err(|error| Problem::new(Kind::Input, format!("$: {error}")))?;
    Ok(read)
}

/// Reads an object of which it is known that it is one.
pub(crate) fn read_object<'de, T, D>(from: D) -> Result<T, Problem>
where
    T: DeserializeOwned,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "$".to_owned() } else { format!("$.{path}") };
        Problem::new(Kind::Input, format!("{place}: {}", error.into_inner()))
    })
}

/// Reads a whole number from 1, however it is written: JSON has no integers.
pub(crate) fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    let is_whole = |number: &f64| number.fract() == 0.0 && *number >= 1.0;
    let whole = number.as_u64().or(number.as_f64().filter(is_whole).map(|number| number as u64));
    let expected = || D::Error::custom(format!("expected a whole number from 1, found {number}"));
    whole.filter(|number| *number > 0).map(Some).ok_or_else(expected)
}

/// The parameters behind the `?` of a path.
pub(crate) struct Given<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let given = Query::<T>::from_request_parts(parts, state).await;
        given
            .map(|Query(given)| Given(given))
            .map_err(|refused| Problem::new(Kind::Input, refused.body_text()))
    }
}

/// The thread of the caller that a path names.
pub(crate) struct Thread(pub ThreadId);

impl<S: Send + Sync> FromRequestParts<S> for Thread {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Named {
            thread_id: String,
        }
        let named = Path::<Named>::from_request_parts(parts, state).await;
        let Path(named) = named.map_err(|refused| Problem::new(Kind::Input, refused.body_text()))?;
        let caller = Caller::from_request_parts(parts, state).await?;
        caller.thread("thread_id", &named.thread_id).map(Thread).map_err(no_thread)
    }
}

/// What can be the name of no thread is the name of none that is there.
pub(crate) fn no_thread(problem: Problem) -> Problem {
    Problem::new(Kind::NoThread, problem.detail())
}

/// A turn that a path names.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TurnOf {
    /// The thread.
    #[param(rename = "thread_id", value_type = ThreadName)]
    pub thread: ThreadId,
    /// The turn, from 1.
    #[param(minimum = 1, example = 1)]
    pub turn: u32,
}

impl<S: Send + Sync> FromRequestParts<S> for TurnOf {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Numbered {
            turn: String,
        }
        let Thread(thread) = Thread::from_request_parts(parts, state).await?;
        let numbered = Path::<Numbered>::from_request_parts(parts, state).await;
        // A number that no turn has is looked up like any other.
        let turn = numbered.ok().and_then(|Path(numbered)| numbered.turn.parse::<u64>().ok());
        let turn = turn.map(|turn| u32::try_from(turn).unwrap_or(u32::MAX));
        let nothing = || Problem::new(Kind::NoTurn, "turn: expected a number from 1");
        Ok(TurnOf { thread, turn: turn.filter(|turn| *turn > 0).ok_or_else(nothing)? })
    }
}

impl TurnOf {
    /// The turn as it is shown, with the first `record_chars` characters of each record where they are wanted.
    pub fn load(&self, service: &Service, record_chars: Option<usize>) -> Result<ShownTurn, Problem> {
        let stored = service.known_thread(self.thread.clone())?;
        let mut shown = ShownThread::load(&stored, Some(self.turn), record_chars)?;
        Ok(shown.turns.remove(0))
    }

    /// The turn as a page draws it, after its first `most` records or after all.
    pub fn view(&self, service: &Service, most: Option<usize>) -> Result<RunView, Problem> {
        let mut view = RunView::load(&service.known_thread(self.thread.clone())?, self.turn, most)?;
        view.currency = service.agent(None)?.currency.clone();
        Ok(view)
    }

    /// The turn as its records leave it.
    pub fn fold(&self, service: &Service) -> Result<Folded, Problem> {
        Ok(service.known_thread(self.thread.clone())?.fold(Some(self.turn))?)
    }
}
