//! The command-line program.
//!
//! stdout holds results alone: the answer, a table, one JSON object, or events as JSON lines. Whatever tells how it is
//! going, and every error, goes to stderr. `exit.rs` holds the exit codes.
//!
//! **Invariant:** nothing here decides anything about a run; a run of the program is a run of the
//! library. No key is ever printed, and no text of a model, a tool or a file reaches a terminal with
//! anything that the terminal would act on.

mod agent;
mod agents;
mod answer;
mod args;
mod chat;
mod config;
mod contract;
mod cost;
mod coverage;
mod diagram;
mod docs;
mod exit;
mod failure;
mod fixture;
mod handbook;
mod interrupt;
mod line;
mod object;
mod out;
mod pending;
mod person;
mod prepare;
mod replay;
mod report;
mod resume;
mod resume_setup;
mod run;
mod screen;
mod store;
mod stored;
mod style;
mod talk;
mod text;
mod threads;
mod trace;
mod turn;
mod verify;
mod waiting;
mod watch;
mod world;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;
use failure::{Failure, Outcome};
use style::{Look, Style};

/// The program: reads the command line, does what it says, and tells how that ended.
pub fn main() -> ExitCode {
    interrupt::outlive_file_limits();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where the help cannot be written, nobody reads it.
            let _ = error.print();
            return if error.use_stderr() { Exit::Unusable.into() } else { Exit::Done.into() };
        }
    };
    let color = cli.color;
    let json = cli.command.wants_json();
    let done = dispatch(cli);
    done.unwrap_or_else(|failure| {
        // Who asked for JSON gets an object, also where nothing came of it.
        if json && !out::has_printed() {
            let message = format!("{:#}", failure.error);
            let error = serde_json::json!({
                "error": {"code": failure.exit.name(), "message": message, "hint": failure.hint},
            });
            let _ = out::print_json(&error);
        }
        complain(&failure, Style::of(color, &std::io::stderr()));
        failure.exit
    })
    .into()
}

fn dispatch(cli: Cli) -> Outcome<Exit> {
    match cli.command {
        Command::Run(args) => run::run(&args, cli.color),
        Command::Chat(args) => chat::chat(&args, cli.color),
        Command::Resume(args) => resume::resume(&args, cli.color),
        Command::Threads(args) => threads::threads(&args, cli.color),
        Command::Waiting(args) => waiting::waiting(&args),
        Command::Replay(args) if args.all_stored => stored::replay(&args, cli.color),
        Command::Replay(args) => replay::replay(&args, cli.color),
        Command::Fixture(args) => fixture::fixture(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Diagram(args) => diagram::diagram(&args),
        Command::Agents(args) => agents::agents(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Coverage(args) => coverage::coverage(&args),
    }
}

fn complain(failure: &Failure, style: Style) {
    for (nth, line) in failure.lines().into_iter().enumerate() {
        let look = if nth == 0 { Look::Bad } else { Look::Dim };
        out::complain(&style.paint(look, &text::clean(&line)));
    }
}
