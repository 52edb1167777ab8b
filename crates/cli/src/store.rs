//! `store`: the tables of a database, and threads from one store to another.

use planwright_app::{Class, CopyReport, Result, copy_threads};
use serde_json::{json, to_value};

use crate::args::{StoreArgs, StoreCommand};
use crate::out::{self, Exit};
use crate::text::count;

pub fn store(store: &StoreArgs, command: &StoreCommand) -> Result<Exit> {
    match command {
        StoreCommand::Migrate => {
            out::print_text(&store.place()?.address.migrate()?)?;
            Ok(None)
        }
        StoreCommand::Copy { from, to, json } => {
            let (from, to) = (store.place_at(from)?, store.place_at(to)?);
            let (old, new) = (from.threads()?, to.make()?);
            let tell = |report: &CopyReport| out::remark(&tell_progress(report));
            let report = copy_threads(old.store(), new.store(), tell)?;
            if *json {
                let mut object = to_value(&report).expect("a report is plain data");
                object["from"] = json!(from.address.to_string());
                object["to"] = json!(to.address.to_string());
                out::print_json(&object)?;
            } else {
                out::print_text(&tell_progress(&report))?;
                report.uncopied.iter().for_each(|left| {
                    out::remark(&format!("not copied: {}: {}", left.thread, left.problem));
                });
            }
            Ok(class_of(&report))
        }
    }
}

fn tell_progress(report: &CopyReport) -> String {
    let CopyReport { copied, same, ahead, turns, records, uncopied } = report;
    let mut told = format!("{} copied, {same} there already", count(*copied, "thread"));
    if *ahead > 0 {
        told += &format!(", {ahead} further on there");
    }
    if !uncopied.is_empty() {
        told += &format!(", {} not copied", uncopied.len());
    }
    format!("{told}: {} with {} compared", count(*turns, "turn"), count(*records, "record"))
}

/// A thread that another process has can be copied later; nothing else that was left can.
fn class_of(report: &CopyReport) -> Exit {
    let only_held = report.uncopied.iter().all(|left| left.is_held);
    let class = if only_held { Class::Conflict } else { Class::Failed };
    (!report.uncopied.is_empty()).then_some(class)
}
