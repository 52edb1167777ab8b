//! `waiting`: the runs that wait for people, the longest waiting first.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::args::WaitingArgs;
use super::exit::Exit;
use super::failure::Outcome;
use super::kept::{Open, Stored};
use super::store::Place;
use super::{out, text};
use crate::journal::{Listed, Order, Query};

pub fn waiting(args: &WaitingArgs) -> Outcome<Exit> {
    let place = Place::find(&args.store, args.config.config.as_deref())?;
    let threads = place.threads()?;
    let statuses = ["waiting", "in_doubt"].map(str::to_owned).to_vec();
    let limit = usize::from(args.limit);
    let query = Query { statuses, order: Order::LongestWaiting, limit: limit + 1, ..Query::default() };
    let mut listed = threads.list(&query)?;
    let more = listed.len() > limit;
    listed.truncate(limit);
    let mut found = Vec::new();
    for listed in listed {
        let stored = Stored { threads: threads.clone(), thread: listed.thread.clone(), flag: place.flag() };
        // Somebody may have answered since it was listed.
        if let Some(open) = stored.open()? {
            found.push((stored, listed, open));
        }
    }
    if args.json {
        let waiting: Vec<Value> =
            found.iter().map(|(stored, listed, open)| object(stored, listed, open)).collect();
        out::print_json(&json!({"waiting": waiting, "more": more}))?;
        return Ok(Exit::Done);
    }
    for (stored, listed, open) in &found {
        out::print_text(&lines(stored, listed, open).join("\n"))?;
    }
    if found.is_empty() {
        out::complain("planwright: nobody is waited for");
    }
    if more {
        out::complain("planwright: there are more; --limit N shows them");
    }
    Ok(Exit::Done)
}

/// How long it has waited, in milliseconds.
fn waited(listed: &Listed) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now).unwrap_or(u64::MAX).saturating_sub(listed.key(Order::LongestWaiting))
}

fn lines(stored: &Stored, listed: &Listed, open: &Open) -> Vec<String> {
    let head = format!(
        "{}  turn {}, for {}",
        text::line(stored.thread.as_str()),
        listed.turns,
        text::span(waited(listed))
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
