//! `threads fork`: a thread that begins with what another holds up to a point.

use crate::args::{ForkArgs, StoreArgs};
use crate::exit::Exit;
use crate::out;
use planwright::driver::Redactor;
use planwright::journal::{Record, RunStatus};
use planwright::machine::EffectId;
use planwright_app::{Error, Result, StoredThread, configured_keys};

pub fn fork(store: &StoreArgs, args: &ForkArgs) -> Result<Exit> {
    let stored = store.place(&args.config)?.thread(&args.thread)?;
    if Redactor::new(configured_keys(args.config.config.as_deref())?).finds(args.to.as_str()) {
        return Err(Error::unusable("--to: the name holds the value of a key, and would be written down"));
    }
    let turn = stored.turn_index(args.turn)?;
    let records = match args.before {
        Some(effect) => Some(records_before(&stored, turn, effect)?),
        None => args.at,
    };
    if let Some(at) = args.at {
        let len = stored.threads.store().records(&stored.thread, turn)?.len() as u64;
        if at > len {
            let problem = format!("--at: expected 1 to {len} records to copy, found {at}");
            let hint = format!("{} --records  shows them", stored.command("show"));
            return Err(Error::unusable(problem).hint(hint));
        }
    }
    stored.threads.fork(&stored.thread, Some(turn), records, &args.to)?;
    let fork = stored.sibling(args.to.clone());
    out::complain(&format!("planwright: {} begins with what {} held", fork.thread, stored.thread));
    let next = match RunStatus::of(&fork.fold_turn(None)?) {
        RunStatus::Unfinished => format!("{}  goes on with it", fork.command("resume")),
        RunStatus::Waiting { .. } | RunStatus::InDoubt { .. } => {
            format!("{}  says what it waits for", fork.command("show"))
        }
        RunStatus::Done { .. } | RunStatus::Failed { .. } | RunStatus::Damaged { .. } => {
            format!("{}  goes on with it", fork.chat_command())
        }
    };
    out::complain(&format!("  hint: {next}"));
    Ok(Exit::Done)
}

/// How many records there are before an effect was answered; all if it is not answered yet.
fn records_before(stored: &StoredThread, turn: u32, effect: EffectId) -> Result<u64> {
    let records = stored.threads.store().records(&stored.thread, turn)?;
    let answers = |record: &Record| match record {
        Record::Answered { event, .. } => event.effect() == Some(effect),
        Record::Resolved { effect: resolved, .. } => *resolved == effect,
        _ => false,
    };
    let asks =
        |record: &Record| matches!(record, Record::Requested { effect: asked, .. } if *asked == effect);
    let at = records.iter().position(answers).or_else(|| records.iter().rposition(asks));
    at.map(|at| at as u64).ok_or_else(|| {
        let problem = format!("--before: turn {} of {} has no {effect}", turn + 1, stored.thread);
        Error::unusable(problem).hint(format!("{} --records  shows them", stored.command("show")))
    })
}
