//! `threads delete`, `prune`, `vacuum` and `check`: keeping house.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::list::time;
use crate::args::{CheckArgs, ConfigArgs, DeleteArgs, PruneArgs, StoreArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::store::Place;
use crate::{line, out, text};
use planwright::driver::Prune;

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
    let mut what = Prune { dry_run: args.dry_run, ..Prune::before(before) };
    if let Some(ended) = args.status {
        what.statuses = vec![ended.word().to_owned()];
    }
    let gone = threads.prune(&what)?;
    for listed in &gone {
        out::print_text(&format!("{}  {}", time(listed.updated), text::line(listed.thread.as_str())))?;
    }
    out::complain(&format!("planwright: {}", pruned(gone.len(), args.dry_run)));
    Ok(Exit::Done)
}

fn pruned(threads: usize, dry_run: bool) -> String {
    match (threads, dry_run) {
        (1, false) => "1 thread is deleted".to_owned(),
        (1, true) => "1 thread would be deleted".to_owned(),
        (threads, false) => format!("{threads} threads are deleted"),
        (threads, true) => format!("{threads} threads would be deleted"),
    }
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
