//! What a run that gave no answer is as an error: its class, and what to do about it.

use crate::error::{Class, Error};
use crate::report::RunInfo;
use crate::store::shell_word;
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
    let (class, hint) = match stopped {
        Stopped::Interrupted(interrupted) => return Some(interruption(info, interrupted)),
        Stopped::Unsaved { run, .. } if run.error().is_some() => {
            return run.error().map(|error| ended_without_answer(info, error));
        }
        Stopped::Unsaved { error, .. } => return Some(Error::unusable(error)),
        Stopped::Store(error) => return Some(error.clone().into()),
        Stopped::Journal(error) => return Some(error.clone().into()),
        Stopped::Changed { difference } => {
            let problem = format!("the run began under other rules than those of --spec: {difference}");
            let hint = "--adopt goes on under those of --spec, --keep under those it began with";
            return Some(Error::unusable(problem).hint(hint));
        }
        Stopped::Drifted(drifts) => {
            let lines: Vec<String> = drifts.iter().map(Drift::to_string).collect();
            let problem = format!("the replay differs from its recording\n{}", lines.join("\n"));
            let hint = "if the change is meant, record anew with --record FILE --record-mode all";
            return Some(Error::new(Class::Failed, problem).hint(hint));
        }
        Stopped::Refused { .. } => (Class::Waiting, Some("the run waits on; give another answer".to_owned())),
        Stopped::AlreadyAnswered { .. } | Stopped::WrongToken => (Class::Conflict, shows()),
        Stopped::Expired { .. } => {
            let resume = location.resume_command();
            (Class::Conflict, resume.map(|command| format!("{command}  goes on without an answer")))
        }
        Stopped::Waiting { .. } => {
            (Class::Waiting, location.pending().map(|pending| location.command_lines(&pending)))
        }
        Stopped::Unfinished => {
            let commands = stored_command("resume").zip(stored_command("cancel"));
            let hint = |(resume, cancel)| format!("{resume}  goes on with it; {cancel}  ends it");
            (Class::Interrupted, commands.map(hint))
        }
        Stopped::InDoubt { .. } => {
            let lines = location.pending().map(|pending| doubt_hint(&location.command_lines(&pending)));
            let hint = || "look whether it happened; the journal is left as it is".to_owned();
            (Class::InDoubt, Some(lines.unwrap_or_else(hint)))
        }
        Stopped::Secret { .. } => {
            let hint = "a key goes into an environment variable and nowhere else".to_owned();
            (Class::Unusable, Some(hint))
        }
        Stopped::NotWaiting | Stopped::NotInDoubt | Stopped::Ended => (Class::Unusable, shows()),
        _ => (Class::Unusable, None),
    };
    Some(Error::new(class, stopped).maybe_hint(hint))
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
    // Whether a fixture holds a run that was interrupted.
    let is_unfinished =
        |path| Fixture::load(path).is_ok_and(|fixture| matches!(fixture.outcome, Outcome::Interrupted(_)));
    let hint = match (info.location.resume_command(), info.fixture) {
        (Some(resume), _) => format!("{resume}  goes on where it stopped"),
        (None, Some(path)) if is_unfinished(path) => format!(
            "what was answered is kept in {}; the same command with --record-mode new_episodes goes on",
            shell_word(path.display())
        ),
        (None, Some(path)) => {
            format!("{} holds a whole run and is left as it was", shell_word(path.display()))
        }
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

fn doubt_hint(commands: &str) -> String {
    format!("look whether it happened, and say so:\n        {commands}")
}
