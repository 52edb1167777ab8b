//! What happens in a thread, from a place in its journal on: every event once, in order, whatever process the run
//! goes on in.
//!
//! **Invariant:** the id of an event follows from the journal alone. What has none is not on record.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc;

use crate::live::{Note, Watching, What};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Shared, Work};
use planwright::driver::{Progress, retell};
use planwright::journal::{StoreError, ThreadId};
use planwright::ports::Signal;
use planwright_app::StoredThread;

/// How many events wait for the reader.
const ROOM: usize = 32;
/// How often the store is looked at for what another process writes.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is looked at where nothing is known to go on.
const GLANCE: Duration = Duration::from_secs(2);

/// A place in a thread: behind the `nth` event of a record. Turns and events count from 1, records from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub turn: u32,
    pub record: u64,
    pub nth: u32,
}

impl Position {
    /// Before everything that happens in a turn.
    pub fn before(turn: u32) -> Self {
        Position { turn, record: 0, nth: 0 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.turn, self.record, self.nth)
    }
}

impl FromStr for Position {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split('-');
        let mut next = || parts.next()?.parse::<u64>().ok();
        let (turn, record, nth) = (next(), next(), next());
        let position = || {
            let (turn, nth) = (u32::try_from(turn?).ok()?, u32::try_from(nth?).ok()?);
            Some(Position { turn, record: record?, nth })
        };
        position().filter(|position| position.turn > 0 && position.to_string() == text).ok_or_else(|| {
            let problem =
                format!("Last-Event-ID: expected the id of an event, such as 1-4-2, found {text:?}");
            Problem::new(Kind::Input, problem).hint("without one, the stream begins with the last turn")
        })
    }
}

/// What a reader is told.
pub(crate) enum Item {
    /// An event that is on record.
    Event(Position, Progress),
    /// Something that passes and is not: words of an answer that is being written, a try that failed.
    Passing(Arc<Progress>),
    /// The run has ended or waits, behind this place: how its turn stands.
    End(Position, Box<ChatReply>),
    /// There is more, but not here or not now.
    Cut(Problem),
}

/// How a stream goes.
#[derive(Clone, Copy)]
pub(crate) struct Follow {
    /// Where it begins.
    pub from: Position,
    /// The turn that alone is told.
    pub only: Option<u32>,
    /// Whether it stays when nothing runs any more.
    pub stays: bool,
    /// How long a reader may take for what there is.
    pub patience: Duration,
    /// When the thread began, if it is there: another may come under its name.
    pub created: Option<u64>,
}

/// What is on record behind a place.
pub(crate) struct News {
    pub events: Vec<(Position, Progress)>,
    /// Whether some process goes on with the thread.
    pub running: bool,
    /// When the thread began, if it is there.
    pub created: Option<u64>,
}

impl Service {
    /// Reads what is on record behind a place. A thread that is not there has nothing yet.
    pub fn news(&self, stored: &StoredThread, from: Position, only: Option<u32>) -> Result<News> {
        let Some(listed) = self.threads().store().find(&stored.thread)? else {
            return Ok(News { events: Vec::new(), running: false, created: None });
        };
        let mut events = Vec::new();
        for turn in from.turn..=only.unwrap_or(u32::MAX).min(listed.turns) {
            let records = self.threads().store().records(&stored.thread, turn - 1)?;
            let mut last = Position::before(turn);
            for (record, progress) in retell(&records).map_err(StoreError::from)? {
                let nth = if record == last.record { last.nth + 1 } else { 1 };
                last = Position { turn, record, nth };
                events.extend((last > from).then_some((last, progress)));
            }
        }
        Ok(News { events, running: listed.running, created: Some(listed.created) })
    }

    /// The place behind everything that is on record of a turn.
    pub fn end_of(&self, stored: &StoredThread, turn: u32) -> Result<Position> {
        let news = self.news(stored, Position::before(turn), Some(turn))?;
        Ok(news.events.last().map_or(Position::before(turn), |(position, _)| *position))
    }
}

/// Where the stream of a run begins.
#[derive(Clone, Copy)]
pub(crate) enum Begin {
    /// With a turn that is not there yet.
    NextTurn,
    /// With what comes next in the last turn.
    Here,
}

/// Performs a run, and follows it alone from its beginning on. What goes wrong before it begins is an error.
pub(crate) async fn perform_followed(
    service: &Shared,
    thread: ThreadId,
    begin: Begin,
    work: Work<ChatReply>,
) -> Result<(Position, mpsc::Receiver<Item>)> {
    let running = service.live.run(&thread);
    let mut watching = service.live.watch(&thread, Some(&running));
    let stored = service.thread(thread.clone());
    let (known, here) = (Arc::clone(service), matches!(begin, Begin::Here));
    let (stored, here) = read(move || {
        let here = if here { Some(known.end_of(&stored, known.turns_of(&stored)?.0)?) } else { None };
        Ok((stored, here))
    })
    .await?;
    // Once it has begun it goes on by itself.
    let told = tokio::select! {
        biased;
        done = service.perform_as(running, thread, work) => Some(done?),
        () = watching.begun() => None,
    };
    match (watching.turn(), told) {
        // Nothing began: it was done before, or the thread waits.
        (None, Some(told)) => {
            let (known, turn) = (Arc::clone(service), told.turn);
            let at = read(move || known.end_of(&stored, turn)).await?;
            let (sender, items) = mpsc::channel(1);
            let _ = sender.try_send(Item::End(at, Box::new(told)));
            Ok((at, items))
        }
        (turn, _) => {
            let turn = turn.unwrap_or(1);
            let from = here.filter(|here| here.turn == turn).unwrap_or(Position::before(turn));
            let how =
                Follow { from, only: Some(turn), stays: false, patience: service.patience, created: None };
            Ok((from, follow(service, stored, watching, how)))
        }
    }
}

/// Follows a thread. What it tells can be read until it ends; a reader who goes away ends it.
pub(crate) fn follow(
    service: &Shared,
    stored: StoredThread,
    watching: Watching,
    how: Follow,
) -> mpsc::Receiver<Item> {
    // The last place is for the reason of a cut.
    let (sender, receiver) = mpsc::channel(ROOM + 1);
    let reserved = sender.clone().try_reserve_owned().ok();
    let feed = Feed { service: Arc::clone(service), stored: Arc::new(stored), sender, how };
    tokio::spawn(async move {
        if let Err(cut) = feed.tell(watching).await
            && let (Some(problem), Some(reserved)) = (cut, reserved)
        {
            reserved.send(Item::Cut(problem));
        }
    });
    receiver
}

struct Feed {
    service: Shared,
    stored: Arc<StoredThread>,
    sender: mpsc::Sender<Item>,
    how: Follow,
}

/// Why a stream ends before its end: nothing, if the reader went away.
type Cut = Option<Problem>;

impl Feed {
    async fn tell(mut self, mut watching: Watching) -> Result<(), Cut> {
        self.tell_news().await?;
        if let Some(words) = watching.words() {
            // A reader who was here before has some of them.
            let taken_back = Progress::of(&Signal::Restarted).into_iter();
            for progress in taken_back.chain([words]) {
                self.send(Item::Passing(Arc::new(progress))).await?;
            }
        }
        let mut problem = None;
        loop {
            // Who runs now has written more by the time it does not.
            let was_running = watching.is_running();
            let running = self.tell_news().await?;
            if !was_running && (self.how.only.is_some() || !running) && !self.how.stays {
                return self.end(problem).await;
            }
            let pause = match (was_running, running) {
                (false, true) => LOOK,
                _ => GLANCE,
            };
            let note = tokio::select! {
                note = watching.notes.recv() => note,
                () = tokio::time::sleep(pause) => continue,
                _ = watching.stopping.changed() => {
                    let problem = Problem::new(Kind::Stopping, "the service is stopping");
                    return Err(Some(problem.hint("ask again with the id of the last event in Last-Event-ID")));
                }
                () = self.sender.closed() => return Err(None),
            };
            problem = self.take(note, &mut watching).await?.or(problem);
        }
    }

    /// Takes notes until there is something to read. Gives why a run got no further.
    async fn take(
        &mut self,
        mut note: Result<Note, RecvError>,
        watching: &mut Watching,
    ) -> Result<Option<Arc<Problem>>, Cut> {
        let mut has_moved = false;
        loop {
            match note.map(|note| watching.is_of(&note).then_some(note.what)) {
                Ok(Some(What::Moved)) => has_moved = true,
                Ok(Some(What::Stopped(problem))) => return Ok(problem),
                Ok(Some(What::Passing(reply, progress))) => {
                    // What is on record was there before these words.
                    if std::mem::take(&mut has_moved) {
                        self.tell_news().await?;
                    }
                    // Those that are on record by now were told with that.
                    if watching.is_current(reply) {
                        self.send(Item::Passing(progress)).await?;
                    }
                }
                Ok(None) => {}
                Err(RecvError::Lagged(_)) => return Err(Some(too_slow())),
                Err(RecvError::Closed) => return Ok(None),
            }
            note = match watching.notes.try_recv() {
                Ok(note) => Ok(note),
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(None),
            };
        }
    }

    /// Tells what has come on record. Says whether some process goes on with the thread.
    async fn tell_news(&mut self) -> Result<bool, Cut> {
        let (service, stored) = (Arc::clone(&self.service), Arc::clone(&self.stored));
        let Follow { from, only, .. } = self.how;
        let news = read(move || service.news(&stored, from, only)).await.map_err(Some)?;
        if self.how.created.is_some() && self.how.created != news.created {
            return Err(Some(Problem::new(Kind::NoThread, "the thread was deleted")));
        }
        self.how.created = news.created;
        for (position, progress) in news.events {
            self.send(Item::Event(position, progress)).await?;
            self.how.from = position;
        }
        Ok(news.running)
    }

    /// Says how the turn stands. One that got no further has no end yet.
    async fn end(self, problem: Option<Arc<Problem>>) -> Result<(), Cut> {
        let (service, stored) = (Arc::clone(&self.service), Arc::clone(&self.stored));
        let turn = self.how.only.unwrap_or_default();
        let last = read(move || {
            let turn = service.turn(&stored, turn)?;
            let is_open = matches!(turn.status, "unfinished" | "running");
            Ok((is_open, ChatReply::of(&stored, turn)?))
        });
        match last.await.map_err(Some)? {
            (false, reply) => self.send(Item::End(self.how.from, Box::new(reply))).await,
            (true, _) => Err(Some(problem.map_or_else(left_open, Arc::unwrap_or_clone))),
        }
    }

    async fn send(&self, item: Item) -> Result<(), Cut> {
        self.sender.send_timeout(item, self.how.patience).await.map_err(|error| match error {
            mpsc::error::SendTimeoutError::Timeout(_) => Some(too_slow()),
            mpsc::error::SendTimeoutError::Closed(_) => None,
        })
    }
}

fn too_slow() -> Problem {
    Problem::new(Kind::TooSlow, "the reader took too long for what there was")
        .hint("ask again with the id of the last event in Last-Event-ID")
}

fn left_open() -> Problem {
    Problem::new(Kind::Open, "the run stopped before its end")
        .hint("it goes on when its process starts again, or with POST /threads/{thread_id}/resume")
}
