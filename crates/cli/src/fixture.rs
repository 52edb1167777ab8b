//! `fixture from`: a stored run as a fixture, without the values of any key.

use std::path::Path;

use super::args::{FixtureArgs, FixtureCommand, FromArgs, StoreArgs};
use super::config::secrets;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::out;
use super::pending::{Open, Stored};
use planwright::driver::Redactor;
use planwright::journal::{Fixture, Record, fold};

pub fn fixture(args: &FixtureArgs) -> Outcome<Exit> {
    let FixtureCommand::From(from) = &args.command;
    self::from(&args.store, from)
}

/// Makes a fixture of a turn.
pub fn from(store: &StoreArgs, args: &FromArgs) -> Outcome<Exit> {
    let config = args.config.config.as_deref();
    let taken = |path: &&Path| path.exists() && !args.force;
    if let Some(path) = args.output.as_deref().filter(taken) {
        let problem = format!("{}: there is a file already", path.display());
        return Err(Failure::unusable(problem).hint("name another file, or replace this one with --force"));
    }
    let stored = Stored::known(store, config, &args.thread)?;
    let turn = stored.index(args.turn)?;
    let records = stored.threads.store().records(&stored.thread, turn)?;
    let clean = Redactor::new(secrets(config)?).records(records);
    let fixture = of(&clean).map_err(|error| {
        Failure::unusable(format!("thread {}, turn {}: {error}", stored.thread, turn + 1))
    })?;
    match &args.output {
        None => out::print(&fixture.to_json())?,
        Some(path) if path.as_os_str() == "-" => out::print(&fixture.to_json())?,
        Some(path) => {
            Fixture::check_writable(path).map_err(Failure::unusable)?;
            fixture.save(path).map_err(Failure::unusable)?;
            out::complain(&format!("planwright: written to {}", path.display()));
        }
    }
    Ok(Exit::Done)
}

fn of(records: &[Record]) -> Result<Fixture, planwright::journal::JournalError> {
    let folded = fold(records.iter().cloned())?;
    let open = Open::of(&folded).map(|open| format!("waits for a person: {}", open.text()));
    Fixture::of_records(records, open)
}
