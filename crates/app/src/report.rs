//! What comes of a run: as `--json` prints it, what it has spent, and as an error where it gave no answer.

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::PreparedAgent;
use crate::error::{Class, Error};
use crate::pending::{Pending, RunLocation};
use crate::servers::Server;
use crate::steps::{report_text, step_json};
use crate::store::{StoredThread, shell_word};
use planwright::contract::sanitize;
use planwright::driver::{Interrupted, Run, Stopped};
use planwright::journal::{Drift, Fixture, Outcome};
use planwright::machine::{EffectId, ErrorCode, RunError, State, Usage};
use planwright::ports::Cause;
use planwright_http::show_address;

/// A run as it was asked for.
#[derive(Clone, Copy)]
pub struct RunInfo<'a> {
    /// The question.
    pub question: &'a str,
    /// The agent.
    pub prepared: &'a PreparedAgent,
    /// Where its records are.
    pub location: RunLocation<'a>,
    /// The fixture that it is recorded to.
    pub fixture: Option<&'a Path>,
    /// Whether the caller shows each transition.
    pub shows_trace: bool,
}

/// What the user is told at the end: the answer, or that the run was stopped and why, in the language of the
/// question; `None` before the end.
pub fn result_text(state: &State) -> Option<String> {
    let stopped = |error: &RunError| {
        let why = if error.message.is_empty() { error.code.to_string() } else { error.message.clone() };
        let said =
            if state.input().is_korean() { "실행이 중단되었습니다" } else { "The run was stopped" };
        format!("{said}: {why}")
    };
    let answer = || state.answer().map(|answer| with_objection(answer, state));
    answer().or_else(|| state.error().map(stopped))
}

/// An answer with what the validator said against it, if it stands all the same.
fn with_objection(answer: &str, state: &State) -> String {
    let said = match state.input().is_korean() {
        true => "이 답은 검증을 통과하지 못했습니다",
        false => "This answer was not accepted when it was checked",
    };
    state.objection().map_or_else(|| answer.to_owned(), |reason| format!("{answer}\n\n({said}: {reason})"))
}

/// A drift of a replay in `--json`.
pub fn drift_json(drift: &Drift) -> Value {
    let mut object = json!({"kind": drift.kind(), "message": drift.to_string()});
    if let Some(difference) = drift.difference() {
        object["path"] = json!(difference.path);
        object["recorded"] = json!(difference.recorded);
        object["now"] = json!(difference.now);
    }
    if let Drift::Request { tools, .. } = drift {
        object["tools"] = json!(tools);
    }
    object
}

impl RunInfo<'_> {
    /// The object that `--json` prints for a run; nothing where the result says nothing of a run, such as a refused
    /// answer. Every field is always there.
    pub fn report(&self, result: &Result<Run, Stopped>) -> Option<Value> {
        let (mut waiting, mut interrupted, mut in_doubt, mut drift) = (None, None, None, Vec::new());
        let doubt = |effect: EffectId, tool: &str, token: Option<String>| {
            Some(json!({"effect": effect, "tool": tool, "token": token}))
        };
        match result {
            Ok(run) => {
                waiting = run.waiting().map(|waiting| {
                    json!({
                        "effect": waiting.effect, "step": u64::from(waiting.step) + 1,
                        "question": waiting.question, "token": waiting.token, "refused": waiting.refused,
                    })
                });
            }
            Err(Stopped::Unsaved { .. }) => {}
            Err(Stopped::Interrupted(stopped)) => {
                let cause = &stopped.cause;
                interrupted = Some(json!({
                    "effect": stopped.effect, "cause": cause.cause.to_string(), "message": cause.message,
                    "tries": cause.tries,
                    "retry_after_seconds": cause.retry_after.map(|delay| delay.as_secs_f64()),
                }));
                // Of a write that failed nobody knows whether it happened.
                in_doubt = self
                    .location
                    .pending()
                    .and_then(|pending| doubt(pending.effect, &pending.in_doubt?.tool, Some(pending.token)));
            }
            Err(Stopped::InDoubt { effect, tool }) => {
                in_doubt = doubt(*effect, tool, self.location.pending().map(|pending| pending.token));
            }
            Err(Stopped::Drifted(drifts)) => drift = drifts.iter().map(drift_json).collect(),
            Err(_) => return None,
        }
        let state = last_state(result);
        Some(json!({
            "answer": state.and_then(State::answer),
            "objection": state.and_then(State::objection),
            "result": state.and_then(result_text),
            "report": state.and_then(|state| report_text(self.prepared.agent.compiled(), state)),
            "error": state.and_then(State::error),
            "cut_reply": state.and_then(State::cut_reply),
            "interrupted": interrupted,
            "in_doubt": in_doubt,
            "waiting": waiting,
            "drift": drift,
            "phase": state.map(State::phase),
            // The run's own question is without the value of a key.
            "question": state.map_or(self.question, |state| &state.input().question),
            "now": state.map(|state| &*state.input().now),
            "agent": self.prepared.agent.compiled().spec().name,
            "model": self.prepared.model,
            "journal": self.location.journal.map(|path| path.display().to_string()),
            "thread": self.location.stored.map(|stored| &stored.thread),
            "fixture": self.fixture.map(|path| path.display().to_string()),
            "counters": state.map(State::counters),
            "spent": state.map(|state| self.spent(state)),
            "sources": state.map_or(&[][..], State::sources),
            "orchestration_decisions": state.map_or(&[][..], State::decisions),
            "intent": state.and_then(State::intent),
            "tainted": state.map(State::is_tainted),
            "steps": state.into_iter().flat_map(State::steps).map(step_json).collect::<Vec<_>>(),
            "trace": state.map_or(&[][..], State::trace),
        }))
    }

    /// The answer for people: after the work, where the answer alone only says how each step stands.
    pub fn answer_text(&self, state: &State) -> Option<String> {
        let (answer, report) = (state.answer()?, report_text(self.prepared.agent.compiled(), state));
        Some(report.map_or_else(|| answer.to_owned(), |report| format!("{report}\n\n{answer}")))
    }

    fn has_prices(&self) -> bool {
        !self.prepared.agent.compiled().spec().prices.is_empty()
    }

    /// What a run has spent: tokens by role and agent, and money where prices are known.
    fn spent(&self, state: &State) -> Value {
        let counters = state.counters();
        let by_role = state.usage_by_name().map(|(role, usage)| (role, json!(usage)));
        json!({
            "tokens": counters.usage, "by_role": by_role.collect::<Value>(),
            "cost": self.has_prices().then_some(counters.cost), "currency": self.prepared.currency,
        })
    }

    /// What a run has spent, in one line for people; `None` where nothing was spent.
    pub fn spent_line(&self, state: &State) -> Option<String> {
        let Usage { input_tokens, output_tokens, cached_tokens, estimated_tokens, .. } =
            state.counters().usage;
        if state.counters().usage.is_zero() {
            return None;
        }
        let mut line = format!("{input_tokens} tokens read, {output_tokens} written");
        if cached_tokens > 0 {
            line.push_str(&format!(" ({cached_tokens} of those read were cached)"));
        }
        if estimated_tokens > 0 {
            line.push_str(&format!(" ({estimated_tokens} of all are estimated: the server does not count)"));
        }
        for (at, (role, usage)) in state.usage_by_name().enumerate() {
            let mark = if at == 0 { ";" } else { "," };
            line.push_str(&format!("{mark} {role} {}+{}", usage.input_tokens, usage.output_tokens));
        }
        if self.has_prices() {
            let currency = self.prepared.currency.as_deref().map(sanitize).unwrap_or_default();
            let cost = format!("; cost {} {currency}", state.counters().cost);
            line.push_str(cost.trim_end());
        }
        Some(line)
    }

    /// The error of a run; nothing where it waits for a person, or has an answer to which nobody objects.
    pub fn error(&self, result: &Result<Run, Stopped>) -> Option<Error> {
        if let Some(error) = ended_run(result).and_then(Run::error) {
            return Some(self.ended_without_answer(error));
        }
        if let Some(reason) = result.as_ref().ok().and_then(|run| run.state().objection()) {
            let problem = format!("the answer was not accepted when it was checked: {}", one_line(reason));
            return Some(Error::new(Class::Failed, problem).hint(self.rejection_hint()));
        }
        let (stopped, location) = (result.as_ref().err()?, self.location);
        let pending_commands = || location.pending().map(|pending| pending.command_lines());
        let (class, hint) = match stopped {
            Stopped::Interrupted(interrupted) => return Some(self.interruption(interrupted)),
            Stopped::Store(error) => return Some(error.clone().into()),
            Stopped::Journal(error) => return Some(error.clone().into()),
            Stopped::Changed { difference } => {
                let problem = format!("the run began under other rules than those of --spec: {difference}");
                let hint = "--adopt goes on under those of --spec, --keep under those it began with";
                return Some(Error::unusable(problem).hint(hint));
            }
            Stopped::Unfit { problem } => {
                let problem = format!("what has happened does not fit the rules of --spec: {problem}");
                return Some(Error::unusable(problem).hint("--keep goes on under those it began with"));
            }
            Stopped::Drifted(_) => {
                let problem = format!("the replay differs from its recording\n{stopped}");
                let hint = "if the change is meant, `planwright replay --update FILE` records anew what asks \
                            nothing, --record FILE --record-mode new_episodes asks what is new";
                return Some(Error::new(Class::Failed, problem).hint(hint));
            }
            Stopped::Refused { .. } => {
                (Class::Waiting, Some("the run waits on; give another answer".to_owned()))
            }
            Stopped::AlreadyAnswered { .. } | Stopped::WrongToken => (Class::Conflict, location.show_hint()),
            Stopped::Expired { .. } => (Class::Conflict, location.resume_hint("goes on without an answer")),
            Stopped::Waiting { .. } => (Class::Waiting, pending_commands()),
            Stopped::Unfinished => {
                let hint = |stored: &StoredThread| {
                    let resume = location.resume_hint("goes on with it").unwrap_or_default();
                    format!("{resume}; {}  ends it", stored.command("cancel"))
                };
                (Class::Interrupted, location.stored.map(hint))
            }
            Stopped::InDoubt { .. } => {
                let hint = || "look whether it happened; the journal is left as it is".to_owned();
                (Class::InDoubt, Some(pending_commands().map_or_else(hint, doubt_hint)))
            }
            Stopped::Secret { .. } => {
                (Class::Unusable, Some("a key goes into an environment variable and nowhere else".to_owned()))
            }
            Stopped::NotWaiting | Stopped::NotInDoubt | Stopped::Ended => {
                (Class::Unusable, location.show_hint())
            }
            _ => (Class::Unusable, None),
        };
        Some(Error { hint, ..Error::new(class, stopped) })
    }

    fn ended_without_answer(&self, error: &RunError) -> Error {
        let (mut class, mut why) = (Class::Failed, error.to_string());
        let hint = match error.code {
            ErrorCode::Cancelled => {
                class = Class::Cancelled;
                None
            }
            ErrorCode::ValidationFailedMaxReplans => {
                // The validator's own words say what was not found.
                why.clone_from(&error.message);
                Some(self.rejection_hint())
            }
            ErrorCode::StepFailedMaxReplans => Some("--max-replans N lets the run try more plans"),
            ErrorCode::DeadlineExceeded => Some("`deadline_seconds` in the spec's limits sets the time"),
            _ => Some("--trace shows each transition").filter(|_| !self.shows_trace),
        };
        let problem = format!("the run ended without an answer: {}", one_line(&why));
        Error { hint: hint.map(str::to_owned), ..Error::new(class, problem) }
    }

    /// What to do where no plan was good enough for the validator.
    fn rejection_hint(&self) -> &'static str {
        match self.prepared.model.contains("offline") {
            true if self.prepared.has_documents => "ask in other words",
            true => "ask in other words, or name the folder to search with --docs DIR",
            false => "--max-replans N lets the run try more plans",
        }
    }

    fn interruption(&self, interrupted: &Interrupted) -> Error {
        // Of a write that failed nobody knows whether it happened.
        if let Some(pending) = self.location.pending().filter(Pending::is_doubt) {
            let hint = doubt_hint(pending.command_lines());
            return Error::new(Class::InDoubt, interrupted).hint(hint);
        }
        let fixture = self.fixture.map(|path| {
            let shown = shell_word(path.display());
            let outcome = Fixture::load(path).map(|fixture| fixture.outcome);
            match matches!(outcome, Ok(Outcome::Interrupted(_))) {
                true => format!(
                    "what was answered is kept in {shown}; `planwright run --record {shown}{}` with the same \
                     question goes on (under --record-mode all it begins again)",
                    self.prepared.flags
                ),
                false => format!("{shown} holds a whole run and is left as it was"),
            }
        });
        let resume = self.location.resume_hint("goes on where it stopped");
        let hint = resume.into_iter().chain(fixture).reduce(|resume, fixture| format!("{resume}; {fixture}"));
        let hint = hint.unwrap_or_else(|| {
            "with --thread NAME or --journal FILE the run could have been resumed".to_owned()
        });
        let advice = match interrupted.cause.cause {
            Cause::Proxy => {
                "check the name and password of the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; "
                    .to_owned()
            }
            Cause::Quota => "check the account's quota and credit; ".to_owned(),
            Cause::Timeout => {
                "call_timeout_seconds in the configuration file gives it more time; ".to_owned()
            }
            cause => {
                // The message begins with the address that was asked; of several that were, the last one counts.
                let message = &interrupted.cause.message;
                let place =
                    |server: &&Server| message.rfind(&format!("{}: ", show_address(&server.base_url)));
                let servers = self.prepared.servers.iter().rev().filter(|server| place(server).is_some());
                servers.max_by_key(place).map(|server| server.advise(cause)).unwrap_or_default()
            }
        };
        let class = match interrupted.cause.cause {
            Cause::Stopped => Class::Cancelled,
            Cause::InDoubt => Class::InDoubt,
            _ => Class::Interrupted,
        };
        Error::new(class, one_line(&interrupted.to_string())).hint(format!("{advice}{hint}"))
    }
}

/// The run that ended or waits, if the result is one.
pub fn ended_run(result: &Result<Run, Stopped>) -> Option<&Run> {
    match result {
        Ok(run) => Some(run),
        Err(Stopped::Unsaved { run, .. }) => Some(run),
        Err(_) => None,
    }
}

/// The state in which a run ended or was interrupted, where the result has it.
pub fn last_state(result: &Result<Run, Stopped>) -> Option<&State> {
    match result {
        Err(Stopped::Interrupted(interrupted)) => Some(&interrupted.state),
        result => ended_run(result).map(Run::state),
    }
}

/// What a model or a server said, so that no line of it passes for one of the program's.
fn one_line(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn doubt_hint(commands: String) -> String {
    format!("look whether it happened, and say so:\n        {commands}")
}
