//! The command-line program.
//!
//! stdout holds results alone: the answer, a table, one JSON object, or events as JSON lines. Progress and errors
//! go to stderr. `out.rs` holds the exit codes.
//!
//! **Invariant:** nothing here decides anything about a run; a run of the program is a run of the
//! library. No key is ever printed, and no text of a model, a tool or a file reaches a terminal with
//! anything that the terminal would act on.

mod agents;
mod args;
mod chat;
mod compare;
mod cost;
mod drift;
mod editor;
mod explain;
mod export;
mod indexing;
mod manual;
mod mcp;
mod out;
mod person;
mod replay;
mod resume;
mod run;
mod screen;
mod serve;
mod session;
mod signals;
mod store;
mod text;
mod threads;
mod trace;
mod view;
mod wrap;

use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Parser;

use args::{Cli, Command, FixtureCommand, McpCommand};
use out::{Exit, Style};
use planwright_app::{Class, Result, end_connections};

fn main() -> ExitCode {
    outlive_file_limits();
    let exit = match Cli::try_parse() {
        Ok(cli) => run_command(cli),
        Err(error) => {
            let shown = error.render().to_string();
            match out::without_keys(&shown) {
                Cow::Owned(clean) => out::complain(&clean),
                // Where the help cannot be written, nobody reads it.
                Cow::Borrowed(_) => drop(error.print()),
            }
            error.use_stderr().then_some(Class::Unusable)
        }
    };
    end_connections();
    signals::give_way();
    out::exit_code(exit).into()
}

fn run_command(cli: Cli) -> Exit {
    let color = cli.color;
    dispatch(cli).unwrap_or_else(|error| {
        signals::give_way();
        // A caller who asked for JSON gets an object also for an error.
        let wants_json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
        if wants_json && !out::PRINTED.load(Ordering::Relaxed) {
            let _ = out::print_json(&error.to_json());
        }
        out::complain_of(&error, Style::of(color, &std::io::stderr()));
        Some(error.class)
    })
}

fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        Command::Run(args) => return run::run(&args, cli.color),
        Command::Chat(args) => return chat::chat(&args, cli.color),
        Command::Resume(args) => return resume::resume_journal(&args, cli.color),
        Command::Threads { store, command } => return threads::threads(&store, command, cli.color),
        Command::Store { store, command } => return store::store(&store, &command),
        Command::Waiting { store, page, json } => threads::list_waiting(&store, &page, json)?,
        Command::Serve(args) => serve::serve(&args)?,
        Command::Mcp { command: McpCommand::Serve(args) } => serve::serve_mcp(&args)?,
        Command::Mcp { command: McpCommand::Pin { servers, check } } => return mcp::pin(&servers, check),
        Command::Mcp { command: McpCommand::List { servers, json } } => mcp::list(&servers, json)?,
        Command::Cost(args) => cost::cost(&args)?,
        Command::Replay(args) => return replay::replay(&args, cli.color),
        Command::Fixture { store, command: FixtureCommand::From(args) } => {
            threads::make_fixture(&store, &args)?;
        }
        Command::Trace(args) => trace::trace(&args)?,
        Command::View(args) => view::view(&args)?,
        Command::Explain(args) => explain::explain(&args)?,
        Command::Compare(args) => return compare::compare_runs(&args, cli.color),
        Command::Export { command } => export::export(&command)?,
        Command::Diagram { agent, format } => agents::draw_diagram(agent.as_deref(), format)?,
        Command::Agents { command, json } => agents::agents(command, json)?,
        Command::Verify { agent, max_states, json } => {
            return agents::verify(agent.as_deref(), max_states, json);
        }
        Command::Completions { shell } => manual::print_completions(shell)?,
        Command::Man { command } => manual::print_man(&command)?,
        Command::Coverage { paths, all, json } => return agents::coverage(&paths, all, json),
    }
    Ok(None)
}

/// Has the system answer a write beyond the largest size of a file (`ulimit -f`) with an error. Left alone,
/// it would end the program amid what it does, without a word: a process that handles the signal outlives it.
fn outlive_file_limits() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}
