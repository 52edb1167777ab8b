//! What a run that gave no answer is as an error: its class, and what to do about it.

use crate::error::{Class, Error};
use crate::report::RunInfo;
use crate::store::shell_word;
use planwright::driver::{Interrupted, Run, Stopped};
use planwright::journal::{Drift, Fixture, Outcome};
use planwright::machine::{ErrorCode, RunError};
use planwright::ports::Cause;

impl RunInfo<'_> {
    /// The error of a run; nothing where it has an answer or waits for a person.
    pub fn error(&self, result: &Result<Run, Stopped>) -> Option<Error> {
        let stopped = match result {
            Ok(run) => return run.error().map(|error| self.ended_without_answer(error)),
            Err(stopped) => stopped,
        };
        let location = self.location;
        let stored_command = |command: &str| location.stored().map(|stored| stored.command(command));
        let pending_commands = || location.pending().map(|pending| location.command_lines(&pending));
        let (class, hint) = match stopped {
            Stopped::Interrupted(interrupted) => return Some(self.interruption(interrupted)),
            Stopped::Unsaved { run, error } => {
                let failed = run.error().map(|error| self.ended_without_answer(error));
                return failed.or_else(|| Some(Error::unusable(error)));
            }
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
            Stopped::Refused { .. } => {
                (Class::Waiting, Some("the run waits on; give another answer".to_owned()))
            }
            Stopped::AlreadyAnswered { .. } | Stopped::WrongToken => (Class::Conflict, location.show_hint()),
            Stopped::Expired { .. } => (Class::Conflict, location.resume_hint("goes on without an answer")),
            Stopped::Waiting { .. } => (Class::Waiting, pending_commands()),
            Stopped::Unfinished => {
                let commands = stored_command("resume").zip(stored_command("cancel"));
                let hint = |(resume, cancel)| format!("{resume}  goes on with it; {cancel}  ends it");
                (Class::Interrupted, commands.map(hint))
            }
            Stopped::InDoubt { .. } => {
                let hint = || "look whether it happened; the journal is left as it is".to_owned();
                (Class::InDoubt, Some(pending_commands().map_or_else(hint, doubt_hint)))
            }
            Stopped::Secret { .. } => {
                let hint = "a key goes into an environment variable and nowhere else".to_owned();
                (Class::Unusable, Some(hint))
            }
            Stopped::NotWaiting | Stopped::NotInDoubt | Stopped::Ended => {
                (Class::Unusable, location.show_hint())
            }
            _ => (Class::Unusable, None),
        };
        Some(Error { hint, ..Error::new(class, stopped) })
    }

    fn ended_without_answer(&self, error: &RunError) -> Error {
        let hint = match error.code {
            ErrorCode::Cancelled => None,
            ErrorCode::ValidationFailedMaxReplans if self.prepared.model.contains("offline") => {
                Some("ask in other words, or name the folder to search with --docs DIR")
            }
            ErrorCode::ValidationFailedMaxReplans | ErrorCode::StepFailedMaxReplans => {
                Some("--max-replans N lets the run try more plans")
            }
            ErrorCode::DeadlineExceeded => Some("`deadline_seconds` in the spec's limits sets the time"),
            _ => Some("--trace shows each transition").filter(|_| !self.shows_trace),
        };
        let class = if error.code == ErrorCode::Cancelled { Class::Cancelled } else { Class::Failed };
        let problem = format!("the run ended without an answer: {error}");
        Error { hint: hint.map(str::to_owned), ..Error::new(class, problem) }
    }

    fn interruption(&self, interrupted: &Interrupted) -> Error {
        // A write whose time ran out may have happened.
        if let Some(pending) = self.location.pending().filter(|pending| pending.is_doubt()) {
            let hint = doubt_hint(self.location.command_lines(&pending));
            return Error::new(Class::InDoubt, interrupted).hint(hint);
        }
        let hint = match (self.location.resume_hint("goes on where it stopped"), self.fixture) {
            (Some(resume), _) => resume,
            (None, Some(path)) => {
                let shown = shell_word(path.display());
                let outcome = Fixture::load(path).map(|fixture| fixture.outcome);
                match matches!(outcome, Ok(Outcome::Interrupted(_))) {
                    true => format!(
                        "what was answered is kept in {shown}; the same command with --record-mode \
                         new_episodes goes on"
                    ),
                    false => format!("{shown} holds a whole run and is left as it was"),
                }
            }
            (None, None) => "with --thread NAME or --journal FILE the run could have been resumed".to_owned(),
        };
        let advice = match interrupted.cause.cause {
            Cause::Authentication => {
                "check the key in OPENAI_API_KEY, or the variable that --api-key-env names; "
            }
            Cause::Quota => "check the account's quota and credit; ",
            Cause::NotFound => "check --base-url (it usually ends in /v1) and --model; ",
            Cause::Connection => "check that the server runs and --base-url is its address; ",
            Cause::Timeout => "call_timeout_seconds in the configuration file gives it more time; ",
            Cause::BadResponse => "check that --base-url is an OpenAI-compatible server; ",
            _ => "",
        };
        Error::new(Class::Interrupted, interrupted).hint(format!("{advice}{hint}"))
    }
}

fn doubt_hint(commands: String) -> String {
    format!("look whether it happened, and say so:\n        {commands}")
}
