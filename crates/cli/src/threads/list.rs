//! `threads list` and `waiting`: a page of threads, and a page of the runs that wait for people.

use serde_json::{Value, json};

use crate::args::{ListArgs, PageArgs, StoreArgs};
use crate::out::stdout_columns;
use crate::{out, text};
use planwright::journal::system::now_ms;
use planwright::journal::{JournalErrorKind, Listed, Order, Query, RunStatus, StoreError};
use planwright_app::{Pending, Result, RunLocation, StoredThread, list_page, shell_word};

/// Most columns of a thread's name on a terminal.
const NAME: usize = 40;

pub fn list(store: &StoreArgs, args: &ListArgs) -> Result<()> {
    let place = store.place()?;
    let (statuses, prefix) = (args.status.clone(), args.prefix.clone());
    let query = Query { statuses, prefix, order: Order::Newest, ..Query::default() };
    let (listed, next) =
        list_page(&place.threads()?, query, args.page.after.as_deref(), args.page.limit.into())?;
    if args.json {
        return out::print_json(&json!({"threads": listed, "next": next}));
    }
    if listed.is_empty() {
        out::remark("there are no such threads");
        return Ok(());
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
    let mut command = format!("planwright threads list{}", place.flags);
    args.status.iter().for_each(|status| command.push_str(&format!(" --status {status}")));
    if !args.prefix.is_empty() {
        command.push_str(&format!(" --prefix {}", shell_word(&args.prefix)));
    }
    name_next_page(&command, &args.page, next);
    Ok(())
}

fn name_next_page(command: &str, page: &PageArgs, next: Option<String>) {
    if let Some(next) = next.map(shell_word) {
        let limit = page.limit;
        out::complain(&format!("planwright: there are more: {command} --limit {limit} --after {next}"));
    }
}

pub fn list_waiting(store: &StoreArgs, page: &PageArgs, as_json: bool) -> Result<()> {
    let place = store.place()?;
    let threads = place.threads()?;
    let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
    let query = Query { statuses, order: Order::LongestWaiting, ..Query::default() };
    let (listed, next) = list_page(&threads, query, page.after.as_deref(), page.limit.into())?;
    let mut waiting = Vec::new();
    for listed in listed {
        let stored = place.thread_of(&threads, listed.thread.clone());
        let waited = now_ms().saturating_sub(listed.key(Order::LongestWaiting));
        waiting.extend(load_pending(&stored)?.map(|pending| (listed, waited, pending)));
    }
    if as_json {
        let object = |(listed, waited, pending): &(Listed, u64, Pending)| {
            let mut object = json!(pending);
            object["thread"] = json!(listed.thread);
            object["turn"] = json!(listed.turns);
            object["status"] = json!(listed.status.name());
            object["waited_seconds"] = json!(waited / 1000);
            object["command"] = json!(pending.commands.first());
            object
        };
        let objects: Value = waiting.iter().map(object).collect();
        return out::print_json(&json!({"waiting": objects, "more": next.is_some(), "next": next}));
    }
    for (listed, waited, pending) in &waiting {
        let expired = if pending.expired { ", expired" } else { "" };
        let thread = text::line(listed.thread.as_str());
        let mut lines =
            vec![format!("{thread}  turn {}, for {}{expired}", listed.turns, text::span(*waited))];
        lines.extend(text::clean(&pending.text()).lines().map(|line| format!("  {line}")));
        lines.extend(pending.commands.iter().map(|command| format!("    {command}")));
        out::print_text(&lines.join("\n"))?;
    }
    if waiting.is_empty() {
        out::remark("nobody is waited for");
    }
    name_next_page(&format!("planwright waiting{}", place.flags), page, next);
    Ok(())
}

/// Loads what a thread waits for. Since it was listed it may have been answered or deleted; and a thread that cannot
/// be read hides no other.
fn load_pending(stored: &StoredThread) -> Result<Option<Pending>> {
    match stored.fold(None) {
        Ok(folded) => Ok(Pending::of(&folded, RunLocation::in_thread(stored))),
        Err(StoreError::NoThread { .. }) => Ok(None),
        Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
            out::remark(&format!("{} does not read: {error}", stored.thread));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
