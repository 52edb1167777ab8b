//! `threads`: conversations that outlive their process, seen, forked, exported and cleared away.

mod list;
mod show;

use std::time::Duration;

use clap::ColorChoice;
use serde_json::json;

use crate::args::{ForkArgs, FromArgs, StoreArgs, ThreadsCommand};
use crate::editor::is_typed;
use crate::out::Exit;
use crate::person::confirm;
use crate::resume::InThread;
use crate::{out, text};
pub use list::list_waiting;
use planwright::driver::{Redactor, Stopped, Threads};
use planwright::journal::system::now_ms;
use planwright::journal::{FileJournal, Listed, Query, Record, RunStatus, ThreadId, UngroundedCall};
use planwright::machine::EffectId;
use planwright::ports::Secret;
use planwright_app::{
    Class, Error, Pending, Result, RunLocation, StoredThread, configured_keys, make_fixture_of, shell_word,
};

pub fn threads(store: &StoreArgs, command: ThreadsCommand, color: ColorChoice) -> Result<Exit> {
    match command {
        ThreadsCommand::List(args) => list::list(store, &args)?,
        ThreadsCommand::Show(args) => return show::show(store, &args),
        ThreadsCommand::Resume(args) => return InThread::open(store, &args, color)?.resume(),
        ThreadsCommand::Answer { answer, thread } => {
            let given = answer.answer()?;
            return InThread::open(store, &thread, color)?.answer(given, answer.token);
        }
        ThreadsCommand::Resolve { token, resolution, thread } => {
            let resolution = resolution.resolution().expect("clap asks for one of the flags");
            return InThread::open(store, &thread, color)?.resolve(resolution, token);
        }
        ThreadsCommand::Cancel { thread, reason } => cancel(store, &thread, &reason)?,
        ThreadsCommand::Fork(args) => fork(store, &args)?,
        ThreadsCommand::Export(args) => export(store, &args)?,
        ThreadsCommand::Delete { threads, yes } => delete(store, &threads, yes)?,
        ThreadsCommand::Prune { older_than, status, dry_run } => {
            prune(store, older_than, status.as_deref(), dry_run)?;
        }
        ThreadsCommand::Vacuum => store.place()?.threads()?.store().vacuum()?,
        ThreadsCommand::Check { json } => return check(store, json),
    }
    Ok(None)
}

fn cancel(store: &StoreArgs, thread: &ThreadId, reason: &str) -> Result<()> {
    let stored = store.place()?.thread(thread)?;
    let location = RunLocation::in_thread(&stored);
    if let Some(doubt) = Pending::of(&stored.fold(None)?, location).filter(Pending::is_doubt) {
        let problem = format!("{thread} is not ended without a word on what is {}", doubt.text());
        return Err(Error::new(Class::InDoubt, problem).hint(doubt.command_lines()));
    }
    let keys = configured_keys(store.config.as_deref())?;
    stored.threads.at(thread).cancel(reason, &keys).map_err(|stopped| match stopped {
        Stopped::Store(error) => error.into(),
        Stopped::Journal(error) => error.into(),
        stopped => Error { hint: location.show_hint(), ..Error::unusable(stopped) },
    })?;
    out::remark(&format!("{thread} is ended: {}", Redactor::new(keys).text(reason.to_owned())));
    Ok(())
}

fn fork(store: &StoreArgs, args: &ForkArgs) -> Result<()> {
    let place = store.place()?;
    let stored = place.thread(&args.thread)?;
    if Redactor::new(configured_keys(store.config.as_deref())?).finds(args.to.as_str()) {
        return Err(Error::unusable("--to: the name holds the value of a key, and would be written down"));
    }
    let (turn, records) = stored.records(args.turn)?;
    let (thread, len) = (&stored.thread, records.len());
    let count = match (args.before, args.at) {
        (Some(effect), _) => {
            let problem = || format!("--before: turn {turn} of {thread} has no {effect}");
            count_before(&records, effect).map(Some).ok_or_else(problem)
        }
        (None, Some(at)) if at > len as u64 => {
            Err(format!("--at: expected 1 to {len} records to copy, found {at}"))
        }
        (None, at) => Ok(at),
    };
    let shows = || format!("{} --records  shows them", stored.command("show"));
    let count = count.map_err(|problem| Error::unusable(problem).hint(shows()))?;
    stored.threads.fork(thread, Some(turn - 1), count, &args.to)?;
    let fork = place.thread_of(&stored.threads, args.to.clone());
    out::complain(&format!("planwright: {} begins with what {thread} held", fork.thread));
    let next = match RunStatus::of(&fork.fold(None)?) {
        RunStatus::Unfinished => format!("{}  goes on with it", fork.command("resume")),
        RunStatus::Waiting { .. } | RunStatus::InDoubt { .. } => {
            format!("{}  says what it waits for", fork.command("show"))
        }
        _ => {
            let (thread, flag) = (shell_word(&fork.thread), &place.flags);
            format!("planwright chat --thread {thread}{flag}  goes on with it")
        }
    };
    out::complain(&format!("  hint: {next}"));
    Ok(())
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
pub fn make_fixture(store: &StoreArgs, args: &FromArgs) -> Result<()> {
    write_turn(store, args, |stored, keys| Ok(make_fixture_of(stored, args.turn, keys)?.to_json()))
}

/// Writes the records of a turn as the lines of a journal, without the values of any key.
fn export(store: &StoreArgs, args: &FromArgs) -> Result<()> {
    write_turn(store, args, |stored, keys| {
        let (_, records) = stored.records(args.turn)?;
        let lines = FileJournal::encode(&Redactor::new(keys).records(records))?;
        Ok(String::from_utf8(lines).expect("seals and JSON are UTF-8"))
    })
}

/// Writes what is made of a turn into a file that is not there yet, or to stdout.
fn write_turn(
    store: &StoreArgs,
    args: &FromArgs,
    make: impl Fn(&StoredThread, Vec<Secret>) -> Result<String>,
) -> Result<()> {
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let stored = store.place()?.thread(&args.thread)?;
    let text = make(&stored, configured_keys(store.config.as_deref())?)?;
    let Some(path) = output else { return out::print(&text) };
    out::write_file(path, args.force, &text)
}

fn delete(store: &StoreArgs, names: &[ThreadId], yes: bool) -> Result<()> {
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
        return Ok(());
    }
    for thread in names {
        threads.delete(thread)?;
        out::remark(&format!("{thread} is deleted"));
    }
    Ok(())
}

fn prune(store: &StoreArgs, older_than: Duration, status: Option<&str>, dry_run: bool) -> Result<()> {
    let threads = store.place()?.threads()?;
    let age = u64::try_from(older_than.as_millis()).unwrap_or(u64::MAX);
    let statuses = status.map_or(vec!["done", "failed"], |status| vec![status]);
    let mut gone = threads.find_ended(now_ms().saturating_sub(age), &statuses)?;
    if !dry_run {
        gone = threads.prune(gone)?;
    }
    for listed in &gone {
        out::print_text(&format!("{}  {}", text::time(listed.updated), text::line(listed.thread.as_str())))?;
    }
    let done = text::count(gone.len() as u64, "thread");
    let verb = match (dry_run, gone.len()) {
        (true, _) => "would be",
        (false, 1) => "is",
        (false, _) => "are",
    };
    out::remark(&format!("{done} {verb} deleted"));
    Ok(())
}

fn check(store: &StoreArgs, as_json: bool) -> Result<Exit> {
    let threads = store.place()?.threads()?;
    let mut damage = threads.store().check()?;
    damage.extend(find_ungrounded(&threads)?);
    if as_json {
        out::print_json(&json!({"damaged": damage}))?;
    } else if damage.is_empty() {
        out::print_text("all is as it was written")?;
    } else {
        damage.iter().try_for_each(|line| out::print_text(&text::line(line)))?;
    }
    Ok((!damage.is_empty()).then_some(Class::Failed))
}

/// The calls of stored runs that do not rest on the plan and the results of their run, a line each. What does not read
/// is damaged otherwise.
fn find_ungrounded(threads: &Threads) -> Result<Vec<String>> {
    let (mut found, mut query) = (Vec::new(), Query::default());
    loop {
        let page = threads.store().list(&query)?;
        for Listed { thread, turns, .. } in &page {
            for turn in 0..*turns {
                let Ok(records) = threads.store().records(thread, turn) else { continue };
                let calls = UngroundedCall::find_all(&records).map_or_else(
                    |error| vec![error.to_string()],
                    |calls| calls.iter().map(ToString::to_string).collect(),
                );
                found.extend(calls.iter().map(|call| format!("thread {thread}, turn {}: {call}", turn + 1)));
            }
        }
        match page.last() {
            Some(last) if page.len() == query.limit => query.after = Some(last.cursor(query.order)),
            _ => return Ok(found),
        }
    }
}
