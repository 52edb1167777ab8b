//! `threads list` and `waiting`: a page of threads, and a page of the runs that wait for people.

use serde::Serialize;
use serde_json::json;

use crate::args::{ListArgs, PageArgs, StoreArgs, WaitingArgs};
use crate::out::{Exit, stdout_columns};
use crate::{out, text};
use planwright::driver::Threads;
use planwright::journal::{Cursor, JournalErrorKind, Listed, Order, Query, RunStatus, StoreError, ThreadId};
use planwright_app::{Error, Pending, PendingJson, Result, RunLocation, StoredThread, now, shell_word};

/// Most columns of a thread's name on a terminal.
const NAME: usize = 40;

pub fn list(store: &StoreArgs, args: &ListArgs) -> Result<Exit> {
    let place = store.place()?;
    let (statuses, prefix) = (args.status.clone(), args.prefix.clone());
    let query = Query { statuses, prefix, order: Order::Newest, ..Query::default() };
    let (listed, next) = list_page(&place.threads()?, query, &args.page)?;
    if args.json {
        out::print_json(&json!({"threads": listed, "next": next}))?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        out::remark("there are no such threads");
        return Ok(Exit::Done);
    }
    let most = stdout_columns();
    let row = |listed: &Listed| {
        let name = text::line(listed.thread.as_str());
        let name = if most.is_some() { text::cut(&name, NAME) } else { name };
        let status = match &listed.status {
            _ if listed.running => "running",
            RunStatus::Failed { unknown, .. } if !unknown.is_empty() => "failed, in doubt",
            status => status.name(),
        };
        let (turns, updated) = (listed.turns.to_string(), text::time(listed.updated));
        [name, status.to_owned(), turns, updated, text::line(&listed.title)]
    };
    let head = ["thread", "status", "turns", "updated", "first question"];
    out::print_lines(&text::table(head, listed.iter().map(row), most))?;
    let mut command = format!("planwright threads list{}", place.flag());
    args.status.iter().for_each(|status| command.push_str(&format!(" --status {status}")));
    if !args.prefix.is_empty() {
        command.push_str(&format!(" --prefix {}", shell_word(&args.prefix)));
    }
    name_next_page(&command, &args.page, next);
    Ok(Exit::Done)
}

/// Lists a page, with the cursor of the next one. One thread more is asked for: it shows whether there is one.
fn list_page(threads: &Threads, query: Query, page: &PageArgs) -> Result<(Vec<Listed>, Option<String>)> {
    let parse = |text: &str| {
        let (at, thread) = text.split_once(':')?;
        Some(Cursor { at: at.parse().ok()?, thread: thread.parse().ok()? })
    };
    let cursor = page.after.as_deref().map(|text| {
        parse(text).ok_or_else(|| {
            let problem = format!("--after: expected a cursor, such as 1763712000000:보고서, found {text:?}");
            Error::unusable(problem).hint("the page before says it, on stderr or as `next`")
        })
    });
    let (order, most) = (query.order, usize::from(page.limit));
    let mut listed = threads.list(&Query { after: cursor.transpose()?, limit: most + 1, ..query })?;
    let more = listed.len() > most;
    listed.truncate(most);
    let last = listed.last().filter(|_| more).map(|last| last.cursor(order));
    let next = last.map(|Cursor { at, thread }| format!("{at}:{thread}"));
    Ok((listed, next))
}

/// Names the command for the next page on stderr.
fn name_next_page(command: &str, page: &PageArgs, next: Option<String>) {
    if let Some(next) = next.map(shell_word) {
        let limit = page.limit;
        out::complain(&format!("planwright: there are more: {command} --limit {limit} --after {next}"));
    }
}

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
    let place = args.store.place()?;
    let threads = place.threads()?;
    let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
    let query = Query { statuses, order: Order::LongestWaiting, ..Query::default() };
    let (listed, next) = list_page(&threads, query, &args.page)?;
    let mut found = Vec::new();
    for listed in listed {
        let stored = place.thread_of(&threads, listed.thread.clone());
        if let Some(pending) = load_pending(&stored)? {
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
    name_next_page(&format!("planwright waiting{}", place.flag()), &args.page, next);
    Ok(Exit::Done)
}

/// Loads what a thread waits for. Since it was listed it may have been answered or deleted; and a thread that cannot
/// be read hides no other.
fn load_pending(stored: &StoredThread) -> Result<Option<Pending>> {
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
        let (thread, turn) = (text::line(self.stored.thread.as_str()), self.listed.turns);
        let expired = if self.pending.has_expired() { ", expired" } else { "" };
        let mut lines = vec![format!("{thread}  turn {turn}, for {}{expired}", text::span(self.waited()))];
        lines.extend(text::clean(&self.pending.text()).lines().map(|line| format!("  {line}")));
        lines.extend(self.commands().into_iter().map(|command| format!("    {command}")));
        lines
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
