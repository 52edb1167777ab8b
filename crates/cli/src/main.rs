//! The command-line program.
//!
//! stdout holds results alone: the answer, a table, one JSON object, or events as JSON lines. Progress and errors
//! go to stderr. `exit.rs` holds the exit codes.
//!
//! **Invariant:** nothing here decides anything about a run; a run of the program is a run of the
//! library. No key is ever printed, and no text of a model, a tool or a file reaches a terminal with
//! anything that the terminal would act on.

mod agents;
mod answer;
mod args;
mod chat;
mod conversation;
mod coverage;
mod exit;
mod explore;
mod fixture;
mod indexing;
mod interrupt;
mod line;
mod out;
mod person;
mod replay;
mod resume;
mod run;
mod screen;
mod session;
mod stored;
mod style;
mod text;
mod threads;
mod trace;
mod waiting;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;
use planwright_app::{Class, Result};
use style::Style;

/// The program: reads the command line, does what it says, and reports how that ended.
pub fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where the help cannot be written, nobody reads it.
            let _ = error.print();
            return if error.use_stderr() { Exit::Of(Class::Unusable) } else { Exit::Done }.into();
        }
    };
    let (color, json) = (cli.color, cli.command.wants_json());
    let done = dispatch(cli);
    done.unwrap_or_else(|error| {
        // A caller who asked for JSON gets an object also for an error.
        if json && !out::has_printed() {
            let _ = out::print_json(&error.to_json());
        }
        out::complain_of(&error, Style::of(color, &std::io::stderr()));
        Exit::Of(error.class())
    })
    .into()
}

fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        Command::Run(args) => run::run(&args, cli.color),
        Command::Chat(args) => chat::chat(&args, cli.color),
        Command::Resume(args) => resume::resume_journal(&args, cli.color),
        Command::Threads(args) => threads::threads(&args, cli.color),
        Command::Waiting(args) => waiting::list_waiting(&args),
        Command::Replay(args) => replay::replay(&args, cli.color),
        Command::Fixture(args) => fixture::fixture(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Diagram(args) => explore::draw_diagram(&args),
        Command::Agents(args) => agents::agents(&args),
        Command::Verify(args) => explore::verify(&args),
        Command::Coverage(args) => coverage::coverage(&args),
    }
}
