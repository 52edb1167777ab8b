//! What a run that gave no answer is as an error: its class, and what to do about it.

use std::path::Path;

use crate::error::{Class, Error};
use crate::pending::shell_word;
use crate::report::RunInfo;
use planwright::driver::{Interrupted, Run, Stopped};
use planwright::journal::{Drift, Fixture, Outcome};
use planwright::machine::{ErrorCode, RunError};
use planwright::ports::Cause;

/// The error of a run; nothing where it has an answer or waits for a person.
pub fn run_error(info: &RunInfo<'_>, result: &Result<Run, Stopped>) -> Option<Error> {
    let location = info.location;
    let stopped = match result {
        Ok(run) => return run.error().map(|error| ended_without_answer(info, error)),
        Err(stopped) => stopped,
    };
    let stored_command = |command: &str| location.stored().map(|stored| stored.command(command));
    let shows = || stored_command("show").map(|command| format!("{command}  says how it stands"));
    Some(match stopped {
        Stopped::Interrupted(interrupted) => interruption(info, interrupted),
        Stopped::Refused { .. } => {
            Error::new(Class::Waiting, stopped).hint("the run waits on; give another answer")
        }
        Stopped::AlreadyAnswered { .. } | Stopped::WrongToken => {
            Error::new(Class::Conflict, stopped).maybe_hint(shows())
        }
        Stopped::Expired { .. } => {
            let resume = location.resume_command();
            let hint = resume.map(|command| format!("{command}  goes on without an answer"));
            Error::new(Class::Conflict, stopped).maybe_hint(hint)
        }
        Stopped::Waiting { .. } => {
            let hint = location.pending().map(|pending| location.command_lines(&pending));
            Error::new(Class::Waiting, stopped).maybe_hint(hint)
        }
        Stopped::Unfinished => {
            let hint = stored_command("resume").zip(stored_command("cancel"));
            let hint = hint.map(|(resume, cancel)| format!("{resume}  goes on with it; {cancel}  ends it"));
            Error::new(Class::Interrupted, stopped).maybe_hint(hint)
        }
        Stopped::Changed { difference } => {
            let problem = format!("the run began under other rules than those of --spec: {difference}");
            let hint = "--adopt goes on under those of --spec, --keep under those it began with";
            Error::unusable(problem).hint(hint)
        }
        Stopped::NotWaiting | Stopped::NotInDoubt | Stopped::Ended => {
            Error::unusable(stopped).maybe_hint(shows())
        }
        Stopped::Drifted(drifts) => drifted(drifts),
        Stopped::InDoubt { .. } => {
            let hint = match location.pending() {
                Some(pending) => doubt_hint(&location.command_lines(&pending)),
                None => "look whether it happened; the journal is left as it is".to_owned(),
            };
            Error::new(Class::InDoubt, stopped).hint(hint)
        }
        Stopped::Secret { .. } => {
            Error::unusable(stopped).hint("a key goes into an environment variable and nowhere else")
        }
        Stopped::Unsaved { error, run } => match run.error() {
            Some(error) => ended_without_answer(info, error),
            None => Error::unusable(error),
        },
        Stopped::Store(error) => Error::from(error.clone()),
        Stopped::Journal(error) => Error::from(error.clone()),
        stopped => Error::unusable(stopped),
    })
}

fn ended_without_answer(info: &RunInfo<'_>, error: &RunError) -> Error {
    let hint = match error.code {
        ErrorCode::Cancelled => None,
        ErrorCode::ValidationFailedMaxReplans if info.model.contains("offline") => {
            Some("ask in other words, or name the folder to search with --docs DIR")
        }
        ErrorCode::ValidationFailedMaxReplans | ErrorCode::StepFailedMaxReplans => {
            Some("--max-replans N lets the run try more plans")
        }
        ErrorCode::DeadlineExceeded => Some("`deadline_seconds` in the spec's limits sets the time"),
        _ if info.shows_trace => None,
        _ => Some("--trace shows each transition"),
    };
    let class = if error.code == ErrorCode::Cancelled { Class::Cancelled } else { Class::Failed };
    Error::new(class, format!("the run ended without an answer: {error}")).maybe_hint(hint.map(str::to_owned))
}

fn interruption(info: &RunInfo<'_>, interrupted: &Interrupted) -> Error {
    // A write whose time ran out may have happened.
    if let Some(pending) = info.location.pending().filter(|pending| pending.is_doubt()) {
        let hint = doubt_hint(&info.location.command_lines(&pending));
        return Error::new(Class::InDoubt, interrupted).hint(hint);
    }
    let hint = match (info.location.resume_command(), info.fixture) {
        (Some(resume), _) => format!("{resume}  goes on where it stopped"),
        (None, Some(fixture)) if !is_unfinished(fixture) => {
            format!("{} holds a whole run and is left as it was", shell_word(fixture.display()))
        }
        (None, Some(fixture)) => format!(
            "what was answered is kept in {}; the same command with --record-mode new_episodes goes on",
            shell_word(fixture.display())
        ),
        (None, None) => "with --thread NAME or --journal FILE the run could have been resumed".to_owned(),
    };
    let hint = match advice(interrupted.cause.cause) {
        Some(advice) => format!("{advice}; {hint}"),
        None => hint,
    };
    Error::new(Class::Interrupted, interrupted).hint(hint)
}

/// What to look at first.
fn advice(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Authentication => "check the key in OPENAI_API_KEY, or the variable that --api-key-env names",
        Cause::Quota => "check the account's quota and credit",
        Cause::NotFound => "check --base-url (it usually ends in /v1) and --model",
        Cause::Connection => "check that the server runs and --base-url is its address",
        Cause::Timeout => "call_timeout_seconds in the configuration file gives it more time",
        Cause::BadResponse => "check that --base-url is an OpenAI-compatible server",
        _ => return None,
    })
}

/// Whether a fixture holds a run that was interrupted.
fn is_unfinished(fixture: &Path) -> bool {
    Fixture::load(fixture).is_ok_and(|fixture| matches!(fixture.outcome, Outcome::Interrupted(_)))
}

fn drifted(drifts: &[Drift]) -> Error {
    let lines: Vec<String> = drifts.iter().map(Drift::to_string).collect();
    let problem = format!("the replay differs from its recording\n{}", lines.join("\n"));
    let hint = "if the change is meant, record anew with --record FILE --record-mode all";
    Error::new(Class::Failed, problem).hint(hint)
}

fn doubt_hint(commands: &str) -> String {
    format!("look whether it happened, and say so:\n        {commands}")
}
