//! `threads list`: a page of threads.

use std::io::IsTerminal;

use serde_json::{Value, json};

use crate::args::{ListArgs, StoreArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::store::Place;
use crate::style::columns;
use crate::{out, text};
use planwright::journal::{Cursor, Listed, Order, Query, RunStatus};

/// Most columns of a thread's name on a terminal.
const NAME: usize = 40;

pub fn list(store: &StoreArgs, args: &ListArgs) -> Outcome<Exit> {
    let place = Place::find(store, args.config.config.as_deref())?;
    let after = args.after.as_deref().map(cursor).transpose()?;
    let limit = usize::from(args.limit);
    let query = Query {
        statuses: args.status.iter().map(|status| status.word()).collect(),
        prefix: args.prefix.clone(),
        order: Order::Newest,
        after,
        limit: limit + 1,
    };
    let mut listed = place.threads()?.list(&query)?;
    let more = listed.len() > limit;
    listed.truncate(limit);
    let next = listed.last().filter(|_| more).map(|last| written(&last.cursor(Order::Newest)));
    if args.json {
        let threads: Vec<Value> = listed.iter().map(|listed| json!(listed)).collect();
        out::print_json(&json!({"threads": threads, "next": next}))?;
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        out::complain("planwright: there are no such threads");
        return Ok(Exit::Done);
    }
    out::print(&(table(&listed).join("\n") + "\n"))?;
    if let Some(next) = next {
        out::complain(&format!("planwright: there are more: {}", page(&place, args, &next)));
    }
    Ok(Exit::Done)
}

/// The command for the next page.
fn page(place: &Place, args: &ListArgs, next: &str) -> String {
    let mut command = format!("planwright threads list{}", place.flag());
    for status in &args.status {
        command.push_str(&format!(" --status {}", status.word()));
    }
    if !args.prefix.is_empty() {
        command.push_str(&format!(" --prefix {}", text::quoted(&args.prefix)));
    }
    format!("{command} --limit {} --after {}", args.limit, text::quoted(next))
}

fn table(listed: &[Listed]) -> Vec<String> {
    let stdout = std::io::stdout();
    let own = if stdout.is_terminal() { terminal_size::terminal_size_of(&stdout) } else { None };
    let most = columns(own);
    let head = ["thread", "status", "turns", "updated", "first question"].map(str::to_owned).to_vec();
    let row = |listed: &Listed| {
        let name = text::line(listed.thread.as_str());
        let name = if most.is_some() { text::cut(&name, NAME) } else { name };
        let status = match &listed.standing {
            _ if listed.running => "running",
            RunStatus::Failed { unknown, .. } if !unknown.is_empty() => "failed, in doubt",
            standing => standing.status(),
        };
        let turns = listed.turns.to_string();
        vec![name, status.to_owned(), turns, time(listed.updated), text::line(&listed.title)]
    };
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(listed.iter().map(row)).collect();
    text::table(&rows, most)
}

/// A time in the user's time zone.
pub fn time(milliseconds: u64) -> String {
    let read = || jiff::Timestamp::from_millisecond(i64::try_from(milliseconds).ok()?).ok();
    let local = read().map(|time| time.to_zoned(jiff::tz::TimeZone::system()));
    local.map_or_else(String::new, |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}

/// A place in the list as it is said: when, and which thread.
pub fn written(cursor: &Cursor) -> String {
    format!("{}:{}", cursor.at, cursor.thread)
}

pub fn cursor(text: &str) -> Outcome<Cursor> {
    let read = || {
        let (at, thread) = text.split_once(':')?;
        Some(Cursor { at: at.parse().ok()?, thread: thread.parse().ok()? })
    };
    read().ok_or_else(|| {
        let problem = format!("--after: expected a cursor, such as 1763712000000:보고서, found {text:?}");
        Failure::unusable(problem).hint("the page before says it, on stderr or as `next`")
    })
}
