//! What a run waits for that a person has to say something about, where its records are, and the commands that go
//! on with it.

use std::path::Path;

use serde::Serialize;

use crate::error::{Class, Error};
use crate::steps::results_text;
use crate::store::{StoredThread, shell_word};
use planwright::driver::{Stopped, Waiting, open_question, token};
use planwright::journal::system::now_ms;
use planwright::journal::{FileJournal, Folded, RunStatus, fold};
use planwright::machine::{EffectId, EffectKind, awaited, local};
use planwright::prompt::{Request, RequestBody};

/// What a run waits for: the answer to a question, or a word on a write in doubt.
#[derive(Clone, Debug, Serialize)]
pub struct Pending {
    /// The effect.
    pub effect: EffectId,
    /// The token that an answer names.
    pub token: String,
    /// Since when, in milliseconds since 1970.
    pub since: Option<u64>,
    /// When the time for an answer is over.
    pub expires: Option<u64>,
    /// Whether it is over: the run goes on without an answer.
    pub expired: bool,
    question: Option<String>,
    /// What was found by then.
    #[serde(skip)]
    pub results: String,
    pub(crate) in_doubt: Option<DoubtedCall>,
    /// The commands that answer or resolve it, the usual one first. What has expired cannot be answered; the run
    /// goes on.
    pub commands: Vec<String>,
}

/// A call that may or may not have happened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoubtedCall {
    pub tool: String,
    input: String,
}

impl Pending {
    /// What a run waits for whose records are there.
    pub fn of(folded: &Folded, location: RunLocation<'_>) -> Option<Self> {
        let Folded { run, compiled, state, .. } = folded;
        let (mut since, mut expires, mut question, mut in_doubt) = (None, None, None, None);
        let (effect, flags) = if let Some((effect, _)) = folded.doubts().next() {
            let request = Request::of(compiled, state, awaited(compiled, state, effect)?)?;
            let RequestBody::Tool { tool, input, .. } = request.body else { return None };
            in_doubt = Some(DoubtedCall { tool, input: input.to_string() });
            (effect, &["--happened OUTPUT", "--did-not-happen", "--stop REASON"][..])
        } else {
            let RunStatus::Waiting { since: asked, .. } = RunStatus::of(folded) else { return None };
            let open = open_question(run, compiled, state)?;
            let limits = local(compiled, state, open.effect).map(|asks| &asks.compiled.spec().limits);
            let given = limits.and_then(|limits| limits.answer_seconds).zip(folded.asked_at(open.effect));
            expires = given.map(|(seconds, at)| at.saturating_add(seconds.saturating_mul(1_000)));
            (since, question) = (Some(asked).filter(|asked| *asked > 0), Some(open.question));
            (open.effect, answer_flags(open.effect))
        };
        let results = results_text(state, effect);
        let (token, expired) = (token(folded)?, expires.is_some_and(|end| now_ms() >= end));
        let answers = if in_doubt.is_some() { "resolve" } else { "answer" };
        let command = location.command(if expired { "resume" } else { answers });
        let with = |flag| Some(format!("{} --token {token} {flag}", command.as_deref()?));
        let commands = match expired {
            true => command.iter().cloned().collect(),
            false => flags.iter().filter_map(with).collect(),
        };
        Some(Pending { effect, token, since, expires, expired, question, results, in_doubt, commands })
    }

    /// Whether this is a write in doubt.
    pub fn is_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// The question or the doubt, for people.
    pub fn text(&self) -> String {
        let doubt = |DoubtedCall { tool, input }: &DoubtedCall| {
            format!("in doubt: {tool} {input} was asked to change something, and no answer was recorded")
        };
        self.question.clone().or(self.in_doubt.as_ref().map(doubt)).unwrap_or_default()
    }

    /// The commands, a line each, as a hint.
    pub fn command_lines(&self) -> String {
        self.commands.join("\n        ")
    }
}

/// The flags that answer what a person is asked, the usual one first.
fn answer_flags(effect: EffectId) -> &'static [&'static str] {
    match effect.kind {
        EffectKind::ApprovePlan { .. } => &["--approve", "--reject REASON", "--edit FILE"],
        EffectKind::ApproveCall { .. } => {
            &["--approve", "--reject REASON", "--edit-input FILE", "--respond TEXT"]
        }
        _ => &["--respond TEXT", "--reject REASON", "--edit FILE"],
    }
}

/// Where the records of a run are.
#[derive(Clone, Copy)]
pub enum RunLocation<'a> {
    /// In this process alone.
    Nowhere,
    /// In a journal file.
    Journal(&'a Path),
    /// In a thread of a store.
    Thread(&'a StoredThread),
}

impl<'a> RunLocation<'a> {
    pub(crate) fn journal(self) -> Option<&'a Path> {
        if let RunLocation::Journal(path) = self { Some(path) } else { None }
    }

    pub(crate) fn stored(self) -> Option<&'a StoredThread> {
        if let RunLocation::Thread(stored) = self { Some(stored) } else { None }
    }

    /// A command of `planwright threads` on the run; `planwright resume` does them all on a journal.
    fn command(self, command: &str) -> Option<String> {
        match self {
            RunLocation::Nowhere => None,
            RunLocation::Journal(path) => Some(format!("planwright resume {}", shell_word(path.display()))),
            RunLocation::Thread(stored) => Some(stored.command(command)),
        }
    }

    /// The command that goes on with the run.
    pub fn resume_command(self) -> Option<String> {
        self.command("resume")
    }

    pub(crate) fn resume_hint(self, what: &str) -> Option<String> {
        self.resume_command().map(|command| format!("{command}  {what}"))
    }

    /// The command that shows a stored run, as a hint.
    pub fn show_hint(self) -> Option<String> {
        self.stored().map(|stored| format!("{}  says how it stands", stored.command("show")))
    }

    /// The command that answers what the run waits with, and the other flags it takes.
    pub fn answer_hint(self, waiting: &Waiting) -> String {
        let (flags, token) = (answer_flags(waiting.effect), &waiting.token);
        match self.command("answer") {
            None => "with --thread NAME or --journal FILE the run could be answered later".to_owned(),
            Some(command) => {
                format!("{command} --token {token} {}  answers; or {}", flags[0], flags[1..].join(", "))
            }
        }
    }

    /// What the run waits for, as its records say it.
    pub fn pending(self) -> Option<Pending> {
        match self {
            RunLocation::Nowhere => None,
            RunLocation::Thread(stored) => Pending::of(&stored.fold(None).ok()?, self),
            RunLocation::Journal(path) => {
                let records = FileJournal::parse(&std::fs::read(path).ok()?).ok()?;
                Pending::of(&fold(records).ok()?, self)
            }
        }
    }

    /// The error of an answer without a token: what it would be for, and how it is given.
    pub fn missing_token(self, pending: &Pending) -> Error {
        let question = pending.text();
        if pending.expired {
            let hint = self.resume_hint("goes on without an answer");
            return Error { hint, ..Error::new(Class::Conflict, Stopped::Expired { question }) };
        }
        let run = match self {
            RunLocation::Nowhere => "the run".to_owned(),
            RunLocation::Journal(path) => path.display().to_string(),
            RunLocation::Thread(stored) => stored.thread.to_string(),
        };
        let problem =
            format!("expected the token of what is answered, found none; {run} waits with: {question}");
        Error::unusable(problem).hint(pending.command_lines())
    }
}
