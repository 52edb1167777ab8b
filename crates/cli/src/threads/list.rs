//! `threads list` and `waiting`: a page of threads, and a page of the runs that wait for people.

use crate::args::{ListArgs, PageArgs, StoreArgs};
use crate::out::stdout_columns;
use crate::{out, text};
use planwright::journal::{Listed, Order, Query, RunStatus};
use planwright_app::{Result, ThreadsPage, WaitingPage, WaitingRun, list_page, shell_word};

/// Most columns of a thread's name on a terminal.
const NAME: usize = 40;

pub fn list(store: &StoreArgs, args: &ListArgs) -> Result<()> {
    let place = store.place()?;
    let (statuses, prefix) = (args.status.clone(), args.prefix.clone());
    let query = Query { statuses, prefix, order: Order::Newest, ..Query::default() };
    let (listed, next) =
        list_page(&place.threads()?, query, args.page.after.as_deref(), args.page.limit.into())?;
    if args.json {
        return out::print_json(&ThreadsPage { threads: listed, next });
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
    let (all, after) = (String::new(), page.after.as_deref());
    let found = WaitingPage::load(&place, &place.threads()?, all, after, page.limit.into())?;
    found.problems.iter().for_each(|problem| out::remark(problem));
    if as_json {
        return out::print_json(&found);
    }
    for WaitingRun { pending, thread, turn, waited_seconds, .. } in &found.waiting {
        let expired = if pending.expired { ", expired" } else { "" };
        let mut lines = vec![format!(
            "{}  turn {turn}, for {}{expired}",
            text::line(thread),
            text::span(waited_seconds * 1000)
        )];
        lines.extend(text::clean(&pending.text()).lines().map(|line| format!("  {line}")));
        lines.extend(pending.commands.iter().map(|command| format!("    {command}")));
        out::print_text(&lines.join("\n"))?;
    }
    if found.waiting.is_empty() {
        out::remark("nobody is waited for");
    }
    name_next_page(&format!("planwright waiting{}", place.flags), page, found.next);
    Ok(())
}
