//! Streams of events as `text/event-stream`.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;
use utoipa::IntoParams;

use crate::caller::Caller;
use crate::describe::Reads;
use crate::feed::{Follow, Item, Position, follow};
use crate::input::{Given, Thread};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::service::Shared;
use planwright::driver::Progress;
use planwright::journal::{StoreError, ThreadId};
use planwright_app::shapes::{EventId, StreamEvent, ThreadName};

/// After how long a client that lost the connection asks again.
const RETRY: Duration = Duration::from_secs(1);
/// How long a stream is silent before a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Whether a client asks for a stream.
pub(crate) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|value| value.split(',')).any(|kind| {
        let mut parts = kind.split(';').map(str::trim);
        let is_stream = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"));
        // A weight of 0 says that it is not wanted (RFC 9110, 12.4.2).
        let mut weights = parts.filter_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_stream && weights.next_back() != Some(0.0)
    })
}

/// A stream of what is told. The first event has an id before anything has happened.
pub(crate) fn stream(
    caller: &Caller,
    thread: &ThreadId,
    from: Position,
    items: mpsc::Receiver<Item>,
) -> Response {
    let begin = json!({"thread_id": thread, "turn": from.turn});
    let begin = event("thread", &caller.tell(begin)).id(from.to_string()).retry(RETRY);
    stream_behind(caller, Some(begin), items)
}

/// A stream for a client that has seen its beginning, unless there is one.
fn stream_behind(caller: &Caller, begin: Option<Event>, items: mpsc::Receiver<Item>) -> Response {
    let (caller, mut state) = (caller.clone(), (begin, items));
    send(move |context| match state.0.take() {
        Some(begin) => Poll::Ready(Some(begin)),
        None => state.1.poll_recv(context).map(|item| Some(of_item(&caller, item?))),
    })
}

fn send(mut next: impl FnMut(&mut Context<'_>) -> Poll<Option<Event>> + Send + Unpin + 'static) -> Response {
    let events = futures_util::stream::poll_fn(move |context| {
        next(context).map(|event| Some(Ok::<_, Infallible>(event?)))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT);
    // Proxies hand it on as it comes.
    ([("x-accel-buffering", "no")], Sse::new(events).keep_alive(alive)).into_response()
}

/// Where the events of another protocol go, as long as somebody takes them in time.
pub(crate) struct Outlet {
    sender: mpsc::Sender<Event>,
    patience: Duration,
}

impl Outlet {
    /// Sends the data of an event. Nothing comes of it once nobody takes them.
    pub async fn send(&self, data: impl ToString) -> Option<()> {
        self.sender.send_timeout(Event::default().data(data.to_string()), self.patience).await.ok()
    }
}

/// A stream in another protocol: what a teller sends.
pub(crate) fn stream_told<T>(patience: Duration, tell: impl FnOnce(Outlet) -> T) -> Response
where
    T: Future<Output = Option<()>> + Send + 'static,
{
    let (sender, mut events) = mpsc::channel(1);
    tokio::spawn(tell(Outlet { sender, patience }));
    send(move |context| events.poll_recv(context))
}

/// What the id of an end has behind its place: a client that has seen it need not ask again.
const END: &str = "-end";

fn of_item(caller: &Caller, item: Item) -> Event {
    match item {
        Item::Event(position, progress) => of_progress(&progress).id(position.to_string()),
        Item::Passing(progress) => of_progress(&progress),
        Item::End(position, reply) => event("end", &caller.tell(json!(reply))).id(format!("{position}{END}")),
        Item::Cut(problem) => event("cut", &caller.tell(json!(problem))),
    }
}

fn of_progress(progress: &Progress) -> Event {
    let name = json!(progress.kind);
    event(name.as_str().unwrap_or_default(), progress)
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // JSON of ours has no line break outside of its strings, and writes those as \n.
    Event::default().event(name).data(json!(data).to_string())
}

/// Where a stream begins, and when it ends.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsParameters {
    /// The id of the event before the first; `Last-Event-ID` says the same. `1-0-0` begins with the first turn. Without
    /// one, the stream begins with the last turn.
    #[param(value_type = EventId, required = false)]
    from: Option<String>,
    /// Whether it goes on with what comes when nothing runs any more.
    #[param(required = false)]
    follow: bool,
}

/// What a client says that was cut off.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
struct LastSeen<'a> {
    /// The id of the last event that was seen.
    #[param(rename = "Last-Event-ID", value_type = EventId, required = false)]
    id: Option<&'a str>,
}

impl<'a> LastSeen<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let id = headers.get("last-event-id").map(|id| id.to_str().unwrap_or("?"));
        LastSeen { id: id.filter(|id| !id.is_empty()) }
    }
}

/// What happens in a thread, as it happens: each event once and in order, from a place on.
#[utoipa::path(
    get, path = "/threads/{thread_id}/events", tag = "threads",
    params(("thread_id" = ThreadName, Path, description = "The thread"), EventsParameters, LastSeen),
    responses(
        (status = 200, body = StreamEvent, content_type = "text/event-stream"),
        (status = 204, description = "The end was seen, and nothing runs"), Reads,
    )
)]
pub(crate) async fn stream_events(
    State(service): State<Shared>,
    caller: Caller,
    Thread(thread): Thread,
    Given(parameters): Given<EventsParameters>,
    headers: HeaderMap,
) -> Result<Response> {
    let LastSeen { id: seen } = LastSeen::of(&headers);
    let parse = |id: &str| id.strip_suffix(END).unwrap_or(id).parse::<Position>();
    let from = parameters.from.as_deref().map(parse).transpose()?;
    let has_seen_end = seen.or(parameters.from.as_deref()).is_some_and(|id| id.ends_with(END));
    let asked = seen.map(parse).transpose()?.or(from);
    let watching = service.live.watch(&thread, None);
    let (known, is_running) = (service.clone(), watching.is_running());
    let (stored, from, created, is_over) = read(move || {
        let stored = known.thread(thread);
        let turns = match known.turns_of(&stored) {
            // One that stands in line is not there yet.
            Err(_) if is_running => 0,
            turns => turns?.0,
        };
        let from: Position = asked.unwrap_or(Position::before(turns.max(1)));
        if from.turn > turns + 1 {
            let problem = format!("Last-Event-ID: expected an id of the {turns} turns, found {from}");
            return Err(Problem::new(Kind::NoTurn, problem));
        }
        let news = known.news(&stored, from, None)?;
        if turns > 0 && news.created.is_none() {
            return Err(StoreError::NoThread { thread: stored.thread.clone() }.into());
        }
        Ok((stored, from, news.created, !is_running && !news.running && news.events.is_empty()))
    })
    .await?;
    // A client of the browser asks again after every end, until it is told that there is nothing more.
    if is_over && has_seen_end && !parameters.follow {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let how = Follow { from, only: None, stays: parameters.follow, patience: service.patience, created };
    let named = stored.thread.clone();
    let items = follow(&service, stored, watching, how);
    Ok(match seen {
        Some(_) => stream_behind(&caller, None, items),
        None => stream(&caller, &named, from, items),
    })
}
