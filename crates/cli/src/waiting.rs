//! `waiting`: the runs that wait for people, the longest waiting first.

use serde_json::{Value, json};

use super::args::WaitingArgs;
use super::exit::Exit;
use super::failure::Outcome;
use super::pending::{Open, Stored, now};
use super::store::Place;
use super::threads::{cursor, written};
use super::{out, text};
use planwright::journal::{JournalErrorKind, Listed, Order, Query, StoreError};

pub fn waiting(args: &WaitingArgs) -> Outcome<Exit> {
    let place = Place::find(&args.store, args.config.config.as_deref())?;
    let threads = place.threads()?;
    let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
    let limit = usize::from(args.limit);
    let after = args.after.as_deref().map(cursor).transpose()?;
    let order = Order::LongestWaiting;
    let query = Query { statuses, order, after, limit: limit + 1, ..Query::default() };
    let mut listed = threads.list(&query)?;
    let more = listed.len() > limit;
    listed.truncate(limit);
    let next = listed.last().filter(|_| more).map(|last| written(&last.cursor(order)));
    let mut found = Vec::new();
    for listed in listed {
        let stored = Stored { threads: threads.clone(), thread: listed.thread.clone(), flag: place.flag() };
        if let Some(open) = open(&stored)? {
            found.push((stored, listed, open));
        }
    }
    if args.json {
        let waiting: Vec<Value> =
            found.iter().map(|(stored, listed, open)| object(stored, listed, open)).collect();
        out::print_json(&json!({"waiting": waiting, "more": more, "next": next}))?;
        return Ok(Exit::Done);
    }
    for (stored, listed, open) in &found {
        out::print_text(&lines(stored, listed, open).join("\n"))?;
    }
    if found.is_empty() {
        out::complain("planwright: nobody is waited for");
    }
    if let Some(next) = next {
        let command =
            format!("planwright waiting{} --limit {limit} --after {}", place.flag(), text::quoted(&next));
        out::complain(&format!("planwright: there are more: {command}"));
    }
    Ok(Exit::Done)
}

/// What a thread waits with. Since it was listed somebody may have answered, or deleted it; and one that
/// does not read hides no other.
fn open(stored: &Stored) -> Outcome<Option<Open>> {
    match stored.threads.folded(&stored.thread, None) {
        Ok(folded) => Ok(Open::of(&folded)),
        Err(StoreError::NoThread { .. }) => Ok(None),
        Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
            let problem = format!("planwright: {} does not read: {error}", stored.thread);
            out::complain(&text::line(&problem));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// How long it has waited, in milliseconds.
fn waited(listed: &Listed) -> u64 {
    now().saturating_sub(listed.key(Order::LongestWaiting))
}

fn lines(stored: &Stored, listed: &Listed, open: &Open) -> Vec<String> {
    let head = format!(
        "{}  turn {}, for {}{}",
        text::line(stored.thread.as_str()),
        listed.turns,
        text::span(waited(listed)),
        if open.has_expired() { ", expired" } else { "" }
    );
    let asked = text::clean(&open.text()).lines().map(|line| format!("  {line}")).collect::<Vec<_>>();
    let commands = open.commands(stored).into_iter().map(|command| format!("    {command}"));
    std::iter::once(head).chain(asked).chain(commands).collect()
}

fn object(stored: &Stored, listed: &Listed, open: &Open) -> Value {
    let mut object = open.json(stored);
    object["thread"] = json!(stored.thread);
    object["turn"] = json!(listed.turns);
    object["status"] = json!(listed.standing.status());
    object["waited_seconds"] = json!(waited(listed) / 1000);
    object["command"] = object["commands"][0].clone();
    object
}
