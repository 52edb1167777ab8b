//! `fixture from`: a stored run as a fixture, without the values of any key.

use std::path::Path;

use crate::args::{FixtureArgs, FixtureCommand, FromArgs, StoreArgs};
use crate::exit::Exit;
use crate::out;
use planwright::driver::Redactor;
use planwright::journal::{Fixture, JournalError, Record, fold};
use planwright_app::{Error, Pending, Result, configured_keys};

pub fn fixture(args: &FixtureArgs) -> Result<Exit> {
    let FixtureCommand::From(from) = &args.command;
    make_fixture(&args.store, from)
}

/// Makes a fixture of a turn.
pub fn make_fixture(store: &StoreArgs, args: &FromArgs) -> Result<Exit> {
    let taken = |path: &&Path| path.exists() && !args.force;
    if let Some(path) = args.output.as_deref().filter(taken) {
        let problem = format!("{}: there is a file already", path.display());
        return Err(Error::unusable(problem).hint("name another file, or replace this one with --force"));
    }
    let stored = store.place(&args.config)?.thread(&args.thread)?;
    let turn = stored.turn_index(args.turn)?;
    let records = stored.threads.store().records(&stored.thread, turn)?;
    let clean = Redactor::new(configured_keys(args.config.config.as_deref())?).records(records);
    let fixture = fixture_of(&clean)
        .map_err(|error| Error::unusable(format!("thread {}, turn {}: {error}", stored.thread, turn + 1)))?;
    match &args.output {
        None => out::print(&fixture.to_json())?,
        Some(path) if path.as_os_str() == "-" => out::print(&fixture.to_json())?,
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
