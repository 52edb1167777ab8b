//! `threads`: conversations that outlive their process, seen, forked, exported and cleared away.

mod list;
mod show;

use clap::ColorChoice;
use serde_json::json;

use crate::args::{ForkArgs, FromArgs, PruneArgs, StoreArgs, ThreadsArgs, ThreadsCommand};
use crate::out::Exit;
use crate::person::{confirm, is_typed};
use crate::resume::{answer_thread, resolve_thread, resume_thread};
use crate::{out, text};
pub use list::list_waiting;
use planwright::driver::{Redactor, Stopped};
use planwright::journal::{Fixture, JournalError, Record, RunStatus, ThreadId, fold};
use planwright::machine::EffectId;
use planwright_app::{Class, Error, Pending, Result, RunLocation, configured_keys, now, shell_word};

pub fn threads(args: &ThreadsArgs, color: ColorChoice) -> Result<Exit> {
    let store = &args.store;
    match &args.command {
        ThreadsCommand::List(args) => list::list(store, args),
        ThreadsCommand::Show(args) => show::show(store, args),
        ThreadsCommand::Resume(args) => resume_thread(store, args, color),
        ThreadsCommand::Answer(args) => answer_thread(store, args, color),
        ThreadsCommand::Resolve(args) => resolve_thread(store, args, color),
        ThreadsCommand::Cancel { thread, reason } => cancel(store, thread, reason),
        ThreadsCommand::Fork(args) => fork(store, args),
        ThreadsCommand::Export(args) => make_fixture(store, args),
        ThreadsCommand::Delete { threads, yes } => delete(store, threads, *yes),
        ThreadsCommand::Prune(args) => prune(store, args),
        ThreadsCommand::Vacuum => {
            store.place()?.threads()?.store().vacuum()?;
            Ok(Exit::Done)
        }
        ThreadsCommand::Check { json } => check(store, *json),
    }
}

fn redactor(store: &StoreArgs) -> Result<Redactor> {
    Ok(Redactor::new(configured_keys(store.config.as_deref())?))
}

fn cancel(store: &StoreArgs, thread: &ThreadId, reason: &str) -> Result<Exit> {
    let stored = store.place()?.thread(thread)?;
    if let Some(doubt) = Pending::of(&stored.fold(None)?).filter(Pending::is_doubt) {
        let problem = format!("{thread} is not ended without a word on what is {}", doubt.text());
        let hint = RunLocation::Thread(&stored).command_lines(&doubt);
        return Err(Error::new(Class::InDoubt, problem).hint(hint));
    }
    let keys = configured_keys(store.config.as_deref())?;
    stored.threads.at(thread).cancel(reason, &keys).map_err(|stopped| match stopped {
        Stopped::Store(error) => error.into(),
        Stopped::Journal(error) => error.into(),
        stopped => Error { hint: RunLocation::Thread(&stored).show_hint(), ..Error::unusable(stopped) },
    })?;
    out::remark(&format!("{thread} is ended: {}", Redactor::new(keys).text(reason.to_owned())));
    Ok(Exit::Done)
}

fn fork(store: &StoreArgs, args: &ForkArgs) -> Result<Exit> {
    let place = store.place()?;
    let stored = place.thread(&args.thread)?;
    if redactor(store)?.finds(args.to.as_str()) {
        return Err(Error::unusable("--to: the name holds the value of a key, and would be written down"));
    }
    let (turn, records) = stored.records(args.turn)?;
    let refuse = |problem: String| {
        Error::unusable(problem).hint(format!("{} --records  shows them", stored.command("show")))
    };
    let count =
        match (args.before, args.at) {
            (Some(effect), _) => Some(count_before(&records, effect).ok_or_else(|| {
                refuse(format!("--before: turn {turn} of {} has no {effect}", stored.thread))
            })?),
            (None, Some(at)) if at > records.len() as u64 => {
                let len = records.len();
                return Err(refuse(format!("--at: expected 1 to {len} records to copy, found {at}")));
            }
            (None, at) => at,
        };
    stored.threads.fork(&stored.thread, Some(turn - 1), count, &args.to)?;
    let fork = place.thread_of(&stored.threads, args.to.clone());
    out::complain(&format!("planwright: {} begins with what {} held", fork.thread, stored.thread));
    let next = match RunStatus::of(&fork.fold(None)?) {
        RunStatus::Unfinished => format!("{}  goes on with it", fork.command("resume")),
        RunStatus::Waiting { .. } | RunStatus::InDoubt { .. } => {
            format!("{}  says what it waits for", fork.command("show"))
        }
        _ => {
            let (thread, flag) = (shell_word(&fork.thread), &place.flag);
            format!("planwright chat --thread {thread}{flag}  goes on with it")
        }
    };
    out::complain(&format!("  hint: {next}"));
    Ok(Exit::Done)
}

/// How many records there are before an effect was answered; all if it is not answered yet.
fn count_before(records: &[Record], effect: EffectId) -> Option<u64> {
    let answers = |record: &Record| match record {
        Record::Answered { event, .. } => event.effect() == Some(effect),
        Record::Resolved { effect: resolved, .. } => *resolved == effect,
        _ => false,
    };
    let asks =
        |record: &Record| matches!(record, Record::Requested { effect: asked, .. } if *asked == effect);
    let at = records.iter().position(answers).or_else(|| records.iter().rposition(asks));
    at.map(|at| at as u64)
}

/// Makes a fixture of a turn, without the values of any key.
pub fn make_fixture(store: &StoreArgs, args: &FromArgs) -> Result<Exit> {
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    if let Some(path) = output.filter(|path| path.exists() && !args.force) {
        let problem = format!("{}: there is a file already", path.display());
        return Err(Error::unusable(problem).hint("name another file, or replace this one with --force"));
    }
    let stored = store.place()?.thread(&args.thread)?;
    let (turn, records) = stored.records(args.turn)?;
    let fixture = fixture_of(&redactor(store)?.records(records))
        .map_err(Error::at(format!("thread {}, turn {turn}", stored.thread)))?;
    match output {
        None => out::print(&fixture.to_json())?,
        Some(path) => {
            Fixture::check_writable(path).map_err(Error::unusable)?;
            fixture.save(path).map_err(Error::unusable)?;
            out::remark(&format!("written to {}", path.display()));
        }
    }
    Ok(Exit::Done)
}

fn fixture_of(records: &[Record]) -> Result<Fixture, JournalError> {
    let folded = fold(records.iter().cloned())?;
    let open = Pending::of(&folded).map(|pending| format!("waits for a person: {}", pending.text()));
    Fixture::of_records(records, open)
}

fn delete(store: &StoreArgs, names: &[ThreadId], yes: bool) -> Result<Exit> {
    let threads = store.place()?.threads()?;
    // All are there before one is gone.
    names.iter().try_for_each(|thread| threads.store().turns(thread).map(drop))?;
    let shown = names.iter().map(|thread| text::line(thread.as_str())).collect::<Vec<_>>().join(", ");
    if !yes && !is_typed() {
        let problem = format!("{shown}: nobody is here to be asked whether to delete");
        return Err(Error::unusable(problem).hint("--yes deletes without asking"));
    }
    if !yes && !confirm(&format!("delete {shown} with all turns"))? {
        out::remark("nothing is deleted");
        return Ok(Exit::Done);
    }
    for thread in names {
        threads.delete(thread)?;
        out::remark(&format!("{thread} is deleted"));
    }
    Ok(Exit::Done)
}

fn prune(store: &StoreArgs, args: &PruneArgs) -> Result<Exit> {
    let threads = store.place()?.threads()?;
    let age = u64::try_from(args.older_than.as_millis()).unwrap_or(u64::MAX);
    let statuses = args.status.as_deref().map_or(vec!["done", "failed"], |status| vec![status]);
    let mut gone = threads.find_ended(now().saturating_sub(age), &statuses)?;
    if !args.dry_run {
        gone = threads.prune(gone)?;
    }
    for listed in &gone {
        out::print_text(&format!("{}  {}", text::time(listed.updated), text::line(listed.thread.as_str())))?;
    }
    let (count, s) = (gone.len(), if gone.len() == 1 { "" } else { "s" });
    let done = match (count, args.dry_run) {
        (_, true) => "would be",
        (1, false) => "is",
        _ => "are",
    };
    out::remark(&format!("{count} thread{s} {done} deleted"));
    Ok(Exit::Done)
}

fn check(store: &StoreArgs, as_json: bool) -> Result<Exit> {
    let damage = store.place()?.threads()?.store().check()?;
    if as_json {
        out::print_json(&json!({"damaged": damage}))?;
    } else if damage.is_empty() {
        out::print_text("all is as it was written")?;
    } else {
        damage.iter().try_for_each(|line| out::print_text(&text::line(line)))?;
    }
    Ok(if damage.is_empty() { Exit::Done } else { Exit::Of(Class::Failed) })
}
