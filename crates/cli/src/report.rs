//! What comes of a run, told: the answer or one JSON object on stdout, the rest on stderr.

use std::path::Path;

use serde_json::json;

use super::args::ShowArgs;
use super::cost::Spent;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::object::{drift_json, object};
use super::pending::{Kept, Open, What, answers};
use super::screen::Screen;
use super::text::quoted;
use super::watch::Watch;
use super::{out, text, trace};
use planwright::driver::{Interrupted, Run, Stopped, Waiting};
use planwright::journal::{Drift, Fixture};
use planwright::machine::{ErrorCode, RunError, State};
use planwright::ports::Cause;
use planwright::spec::Prices;

/// A run as it was asked for.
pub struct Asked<'a> {
    pub question: &'a str,
    pub agent: &'a str,
    pub model: &'a str,
    pub show: &'a ShowArgs,
    /// Where it is kept.
    pub kept: Kept<'a>,
    pub record: Option<&'a Path>,
    /// What models cost, and in which currency.
    pub prices: &'a Prices,
    pub currency: Option<&'a str>,
}

impl ShowArgs {
    /// Who watches a run that is shown like this.
    pub fn watch<'a>(&self, screen: &'a Screen) -> Watch<'a> {
        match (self.events, self.json) {
            (true, _) => Watch::events(screen),
            (false, true) => Watch::quietly(screen),
            (false, false) => Watch::answer(screen),
        }
    }
}

/// Tells what came of it.
pub fn conclude(asked: &Asked<'_>, watch: &Watch<'_>, result: Result<Run, Stopped>) -> Outcome<Exit> {
    let screen = watch.screen;
    screen.clear();
    watch.ended(&result);
    match result {
        Ok(run) => ended(asked, watch, &run),
        Err(Stopped::Interrupted(interrupted)) => self::interrupted(asked, screen, &interrupted),
        Err(stopped @ Stopped::Refused { .. }) => {
            let hint = "the run waits on; give another answer".to_owned();
            Err(Failure { exit: Exit::Waiting, error: stopped.into(), hint: Some(hint) })
        }
        Err(stopped @ (Stopped::AlreadyAnswered { .. } | Stopped::WrongToken)) => {
            let hint = shows(asked);
            Err(Failure { exit: Exit::Conflict, error: stopped.into(), hint })
        }
        Err(stopped @ Stopped::Expired { .. }) => {
            let hint = asked.kept.resume().map(|command| format!("{command}  goes on without an answer"));
            Err(Failure { exit: Exit::Conflict, error: stopped.into(), hint })
        }
        Err(stopped @ Stopped::Waiting { .. }) => Err(Failure {
            exit: Exit::Waiting,
            error: stopped.into(),
            hint: asked.kept.open().map(|(_, commands)| commands),
        }),
        Err(stopped @ Stopped::Unfinished) => {
            Err(Failure { exit: Exit::Interrupted, error: stopped.into(), hint: unfinished(asked) })
        }
        Err(Stopped::Changed { difference }) => {
            let problem = format!("the run began under other rules than those of --spec: {difference}");
            let hint = "--adopt goes on under those of --spec, --keep under those it began with";
            Err(Failure::unusable(problem).hint(hint))
        }
        Err(stopped @ (Stopped::NotWaiting | Stopped::NotInDoubt | Stopped::Ended)) => {
            let failure = Failure::unusable(stopped);
            Err(Failure { hint: shows(asked), ..failure })
        }
        Err(Stopped::Drifted(drifts)) => drifted(asked, &drifts),
        Err(stopped @ Stopped::InDoubt { .. }) => in_doubt(asked, stopped),
        Err(Stopped::Incomplete(problem)) => Err(Failure::unusable(problem)),
        Err(stopped @ Stopped::Secret { .. }) => {
            Err(Failure::unusable(stopped).hint("a key goes into an environment variable and nowhere else"))
        }
        Err(Stopped::Unsaved { error, run }) => {
            ended(asked, watch, &run)?;
            Err(Failure::unusable(error))
        }
        Err(Stopped::Store(error)) => Err(Failure::from(error)),
        Err(Stopped::Journal(error)) => Err(Failure::from(error)),
        Err(Stopped::Fixture(error)) => Err(Failure::unusable(error)),
        Err(stopped) => Err(Failure::unusable(stopped)),
    }
}

/// The command that shows how a thread stands.
fn shows(asked: &Asked<'_>) -> Option<String> {
    let Kept::Thread(stored) = asked.kept else { return None };
    Some(format!("{}  says how it stands", stored.command("show")))
}

fn unfinished(asked: &Asked<'_>) -> Option<String> {
    let Kept::Thread(stored) = asked.kept else { return None };
    Some(format!("{}  goes on with it; {}  ends it", stored.command("resume"), stored.command("cancel")))
}

fn ended(asked: &Asked<'_>, watch: &Watch<'_>, run: &Run) -> Outcome<Exit> {
    let state = run.state();
    show_trace(asked, watch.screen, state);
    if let Some(line) = Spent::of(state, asked.prices).line(asked.currency) {
        watch.screen.note(&line);
    }
    if let Some(open) = run.waiting() {
        return waiting(asked, state, open);
    }
    if asked.show.json {
        out::print_json(&object(asked, Some(state)))?;
    }
    let Some(error) = run.error() else {
        if !asked.show.json {
            watch.print_answer(run.answer().unwrap_or_default())?;
        }
        return Ok(Exit::Done);
    };
    let exit = if error.code == ErrorCode::Cancelled { Exit::Cancelled } else { Exit::Failed };
    let problem = anyhow::anyhow!("the run ended without an answer: {error}");
    Err(Failure { exit, error: problem, hint: hint_for(error, asked) })
}

/// The question, and how to answer it.
fn waiting(asked: &Asked<'_>, state: &State, open: &Waiting) -> Outcome<Exit> {
    if asked.show.json {
        let mut object = object(asked, Some(state));
        object["waiting"] = json!({
            "effect": open.effect, "step": u64::from(open.step) + 1, "question": open.question,
            "token": open.token, "refused": open.refused,
        });
        out::print_json(&object)?;
    }
    out::complain(&format!("planwright: the run waits for a person: {}", text::clean(&open.question)));
    if let Some(refused) = &open.refused {
        out::complain(&format!("  the last answer was refused: {}", text::line(refused)));
    }
    out::complain(&match asked.kept.answer(open) {
        Some(command) => {
            let others = answers(open.effect)[1..].join(", ");
            format!("  hint: {command}  answers; or {others}")
        }
        None => "  hint: with --thread NAME or --journal FILE the run could be answered later".to_owned(),
    });
    Ok(Exit::Waiting)
}

fn hint_for(error: &RunError, asked: &Asked<'_>) -> Option<String> {
    let hint = match error.code {
        ErrorCode::Cancelled => return None,
        ErrorCode::ValidationFailedMaxReplans if asked.model.contains("offline") => {
            "ask in other words, or name the folder to search with --docs DIR"
        }
        ErrorCode::ValidationFailedMaxReplans | ErrorCode::StepFailedMaxReplans => {
            "--max-replans N lets the run try more plans"
        }
        ErrorCode::DeadlineExceeded => "`deadline_seconds` in the spec's limits sets the time",
        _ if asked.show.trace || asked.show.json => return None,
        _ => "--trace shows each transition",
    };
    Some(hint.to_owned())
}

fn interrupted(asked: &Asked<'_>, screen: &Screen, interrupted: &Interrupted) -> Outcome<Exit> {
    show_trace(asked, screen, &interrupted.state);
    // A write whose time ran out may have happened.
    let doubt = asked.kept.open().filter(|(open, _)| matches!(open.what, What::Doubt { .. }));
    if asked.show.json {
        let mut object = object(asked, Some(&interrupted.state));
        if let Some((Open { effect, what: What::Doubt { tool, .. }, token, .. }, _)) = &doubt {
            object["in_doubt"] = json!({"effect": effect, "tool": tool, "token": token});
        }
        let cause = &interrupted.cause;
        object["interrupted"] = json!({
            "effect": interrupted.effect,
            "cause": cause.cause.to_string(),
            "message": cause.message,
            "tries": cause.tries,
            "retry_after_seconds": cause.retry_after.map(|delay| delay.as_secs_f64()),
        });
        out::print_json(&object)?;
    }
    let hint = match (asked.kept.resume(), asked.record) {
        (Some(resume), _) => format!("{resume}  goes on where it stopped"),
        (None, Some(fixture)) if !holds_a_part(fixture) => {
            format!("{} holds a whole run and is left as it was", quoted(fixture.display()))
        }
        (None, Some(fixture)) => format!(
            "what was answered is kept in {}; the same command with --record-mode new_episodes goes on",
            quoted(fixture.display())
        ),
        (None, None) => "with --thread NAME or --journal FILE the run could have been resumed".to_owned(),
    };
    let hint = match advice(interrupted.cause.cause) {
        Some(advice) => format!("{advice}; {hint}"),
        None => hint,
    };
    let error = anyhow::anyhow!("{}", text::line(&interrupted.to_string()));
    Err(match doubt {
        Some((_, commands)) => Failure { exit: Exit::InDoubt, error, hint: Some(look(&commands)) },
        None => Failure { exit: Exit::Interrupted, error, hint: Some(hint) },
    })
}

/// What to look at first.
fn advice(cause: Cause) -> Option<&'static str> {
    match cause {
        Cause::Authentication => {
            Some("check the key in OPENAI_API_KEY, or the variable that --api-key-env names")
        }
        Cause::Quota => Some("check the account's quota and credit"),
        Cause::NotFound => Some("check --base-url (it usually ends in /v1) and --model"),
        Cause::Connection => Some("check that the server runs and --base-url is its address"),
        Cause::Timeout => Some("call_timeout_seconds in the configuration file gives it more time"),
        Cause::BadResponse => Some("check that --base-url is an OpenAI-compatible server"),
        _ => None,
    }
}

/// Whether a fixture holds a run that was interrupted.
fn holds_a_part(path: &Path) -> bool {
    Fixture::load(path)
        .is_ok_and(|fixture| matches!(fixture.outcome, planwright::journal::Outcome::Interrupted(_)))
}

fn drifted(asked: &Asked<'_>, drifts: &[Drift]) -> Outcome<Exit> {
    if asked.show.json {
        let mut object = object(asked, None);
        object["drift"] = drifts.iter().map(drift_json).collect();
        out::print_json(&object)?;
    }
    let said: Vec<String> = drifts.iter().map(Drift::to_string).collect();
    let error = anyhow::anyhow!("the replay differs from its recording\n{}", said.join("\n"));
    let hint = "if the change is meant, record anew with --record FILE --record-mode all".to_owned();
    Err(Failure { exit: Exit::Failed, error, hint: Some(hint) })
}

fn look(commands: &str) -> String {
    format!("look whether it happened, and say so:\n        {commands}")
}

fn in_doubt(asked: &Asked<'_>, stopped: Stopped) -> Outcome<Exit> {
    let (token, hint) = match asked.kept.open() {
        Some((open, commands)) => (Some(open.token), look(&commands)),
        None => (None, "look whether it happened; the journal is left as it is".to_owned()),
    };
    if let (true, Stopped::InDoubt { effect, tool }) = (asked.show.json, &stopped) {
        let mut object = object(asked, None);
        object["in_doubt"] = json!({"effect": effect, "tool": tool, "token": token});
        out::print_json(&object)?;
    }
    Err(Failure { exit: Exit::InDoubt, error: stopped.into(), hint: Some(hint) })
}

fn show_trace(asked: &Asked<'_>, screen: &Screen, state: &State) {
    if asked.show.trace {
        let lines = trace::table(&state.task.trace, None, Some(screen.columns()));
        lines.iter().for_each(|line| out::complain(line));
    }
}
