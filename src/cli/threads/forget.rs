//! `threads delete`, `prune`, `vacuum` and `check`: keeping house.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::list::time;
use crate::cli::args::{CheckArgs, ConfigArgs, DeleteArgs, Ended, PruneArgs, StoreArgs};
use crate::cli::exit::Exit;
use crate::cli::failure::{Failure, Outcome};
use crate::cli::store::Place;
use crate::cli::stored::each_thread;
use crate::cli::{line, out, text};
use crate::journal::{Listed, Standing, StoreError};

pub fn delete(store: &StoreArgs, args: &DeleteArgs) -> Outcome<Exit> {
    let threads = Place::find(store, args.config.config.as_deref())?.threads()?;
    // All are there before one is gone.
    for thread in &args.threads {
        threads.store().turns(thread)?;
    }
    if !args.yes && !confirmed(args)? {
        out::complain("planwright: nothing is deleted");
        return Ok(Exit::Done);
    }
    for thread in &args.threads {
        threads.delete(thread)?;
        out::complain(&format!("planwright: {thread} is deleted"));
    }
    Ok(Exit::Done)
}

fn confirmed(args: &DeleteArgs) -> Outcome<bool> {
    let names: Vec<String> = args.threads.iter().map(|thread| text::line(thread.as_str())).collect();
    let names = names.join(", ");
    if !line::is_typed() {
        let problem = format!("{names}: nobody is here to be asked whether to delete");
        return Err(Failure::unusable(problem).hint("--yes deletes without asking"));
    }
    let said = line::next(&format!("delete {names} with all turns (yes or no)? "))?.unwrap_or_default();
    Ok(line::is_yes(&said))
}

pub fn prune(store: &StoreArgs, args: &PruneArgs) -> Outcome<Exit> {
    let threads = Place::find(store, args.config.config.as_deref())?.threads()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = u64::try_from(now.saturating_sub(args.older_than).as_millis()).unwrap_or(u64::MAX);
    let is_meant = |listed: &Listed| {
        let ended = match (&listed.standing, args.status) {
            (Standing::Done { .. }, status) => status != Some(Ended::Failed),
            (Standing::Failed { .. }, status) => status != Some(Ended::Done),
            _ => false,
        };
        ended && !listed.running && listed.updated < before
    };
    let mut old = Vec::new();
    each_thread(&threads, |listed| {
        if is_meant(listed) {
            old.push((listed.thread.clone(), listed.updated));
        }
    })?;
    let mut gone = 0;
    for (thread, updated) in &old {
        if !args.dry_run {
            match threads.delete(thread) {
                // Somebody goes on with it: it is not old any more.
                Err(StoreError::AlreadyRunning { .. } | StoreError::NoThread { .. }) => continue,
                deleted => deleted?,
            }
        }
        gone += 1;
        out::print_text(&format!("{}  {}", time(*updated), text::line(thread.as_str())))?;
    }
    let (s, done) = (if gone == 1 { "" } else { "s" }, if args.dry_run { "would be" } else { "are" });
    out::complain(&format!("planwright: {gone} thread{s} {done} deleted"));
    Ok(Exit::Done)
}

pub fn vacuum(store: &StoreArgs, args: &ConfigArgs) -> Outcome<Exit> {
    Place::find(store, args.config.as_deref())?.threads()?.store().vacuum()?;
    Ok(Exit::Done)
}

pub fn check(store: &StoreArgs, args: &CheckArgs) -> Outcome<Exit> {
    let damage = Place::find(store, args.config.config.as_deref())?.threads()?.store().check()?;
    if args.json {
        out::print_json(&json!({"damaged": damage}))?;
    } else if damage.is_empty() {
        out::print_text("all is as it was written")?;
    } else {
        damage.iter().try_for_each(|line| out::print_text(&text::line(line)))?;
    }
    Ok(if damage.is_empty() { Exit::Done } else { Exit::Failed })
}
