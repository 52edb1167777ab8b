//! `threads list`: a page of threads.

use serde_json::json;

use super::page::{next_page, page_query, split_page};
use crate::args::{ListArgs, StoreArgs};
use crate::exit::Exit;
use crate::style::stdout_columns;
use crate::{out, text};
use planwright::journal::{Listed, Order, Query, RunStatus};
use planwright_app::{Result, shell_word};

/// Most columns of a thread's name on a terminal.
const NAME: usize = 40;

pub fn list(store: &StoreArgs, args: &ListArgs) -> Result<Exit> {
    let place = store.place(&args.config)?;
    let (statuses, prefix) = (args.status.clone(), args.prefix.clone());
    let query = Query { statuses, prefix, order: Order::Newest, ..page_query(&args.page)? };
    let (listed, next) = split_page(place.threads()?.list(&query)?, &args.page, Order::Newest);
    if args.json {
        out::print_json(&json!({"threads": listed, "next": next}))?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        out::remark("there are no such threads");
        return Ok(Exit::Done);
    }
    out::print_lines(&table(&listed))?;
    let mut command = format!("planwright threads list{}", place.flag());
    args.status.iter().for_each(|status| command.push_str(&format!(" --status {status}")));
    if !args.prefix.is_empty() {
        command.push_str(&format!(" --prefix {}", shell_word(&args.prefix)));
    }
    next_page(&command, &args.page, next);
    Ok(Exit::Done)
}

fn table(listed: &[Listed]) -> Vec<String> {
    let most = stdout_columns();
    let head = ["thread", "status", "turns", "updated", "first question"].map(str::to_owned).to_vec();
    let row = |listed: &Listed| {
        let name = text::line(listed.thread.as_str());
        let name = if most.is_some() { text::cut(&name, NAME) } else { name };
        let status = match &listed.status {
            _ if listed.running => "running",
            RunStatus::Failed { unknown, .. } if !unknown.is_empty() => "failed, in doubt",
            standing => standing.name(),
        };
        let turns = listed.turns.to_string();
        vec![name, status.to_owned(), turns, text::time(listed.updated), text::line(&listed.title)]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(listed.iter().map(row)).collect();
    text::table(&rows, most)
}
