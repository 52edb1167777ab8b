//! `waiting`: the runs that wait for people, the longest waiting first.

use serde::Serialize;
use serde_json::json;

use crate::args::WaitingArgs;
use crate::exit::Exit;
use crate::threads::{next_page, page_query, split_page};
use crate::{out, text};
use planwright::journal::{JournalErrorKind, Listed, Order, Query, StoreError, ThreadId};
use planwright_app::{Pending, PendingJson, Result, RunLocation, StoredThread, now};

/// A run that waits.
struct Waiting {
    stored: StoredThread,
    listed: Listed,
    pending: Pending,
}

/// A run that waits, in `--json`.
#[derive(Serialize)]
struct WaitingJson<'a> {
    #[serde(flatten)]
    pending: PendingJson<'a>,
    thread: &'a ThreadId,
    turn: u32,
    status: &'static str,
    waited_seconds: u64,
    command: Option<String>,
}

pub fn list_waiting(args: &WaitingArgs) -> Result<Exit> {
    let place = args.store.place(&args.config)?;
    let threads = place.threads()?;
    let order = Order::LongestWaiting;
    let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
    let query = Query { statuses, order, ..page_query(&args.page)? };
    let (listed, next) = split_page(threads.list(&query)?, &args.page, order);
    let mut found = Vec::new();
    for listed in listed {
        let stored = place.thread_of(&threads, listed.thread.clone());
        if let Some(pending) = read_pending(&stored)? {
            found.push(Waiting { stored, listed, pending });
        }
    }
    if args.json {
        let waiting: Vec<WaitingJson<'_>> = found.iter().map(Waiting::to_json).collect();
        out::print_json(&json!({"waiting": waiting, "more": next.is_some(), "next": next}))?;
        return Ok(Exit::Done);
    }
    found.iter().try_for_each(|waiting| out::print_text(&waiting.lines().join("\n")))?;
    if found.is_empty() {
        out::remark("nobody is waited for");
    }
    next_page(&format!("planwright waiting{}", place.flag()), &args.page, next);
    Ok(Exit::Done)
}

/// Reads what a thread waits for. Since it was listed it may have been answered or deleted; and a thread that cannot
/// be read hides no other.
fn read_pending(stored: &StoredThread) -> Result<Option<Pending>> {
    match stored.threads.folded(&stored.thread, None) {
        Ok(folded) => Ok(Pending::of(&folded)),
        Err(StoreError::NoThread { .. }) => Ok(None),
        Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
            out::remark(&format!("{} does not read: {error}", stored.thread));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

impl Waiting {
    fn commands(&self) -> Vec<String> {
        RunLocation::Thread(&self.stored).commands(&self.pending)
    }

    /// How long it has waited, in milliseconds.
    fn waited(&self) -> u64 {
        now().saturating_sub(self.listed.key(Order::LongestWaiting))
    }

    fn lines(&self) -> Vec<String> {
        let head = format!(
            "{}  turn {}, for {}{}",
            text::line(self.stored.thread.as_str()),
            self.listed.turns,
            text::span(self.waited()),
            if self.pending.has_expired() { ", expired" } else { "" }
        );
        let question = text::clean(&self.pending.text());
        let question = question.lines().map(|line| format!("  {line}"));
        let commands = self.commands().into_iter().map(|command| format!("    {command}"));
        std::iter::once(head).chain(question).chain(commands).collect()
    }

    fn to_json(&self) -> WaitingJson<'_> {
        let commands = self.commands();
        WaitingJson {
            thread: &self.stored.thread,
            turn: self.listed.turns,
            status: self.listed.status.name(),
            waited_seconds: self.waited() / 1000,
            command: commands.first().cloned(),
            pending: self.pending.to_json(commands),
        }
    }
}
