//! What a run waits for that a person has to say something about, where its records are, and the commands that go
//! on with it.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::error::{Class, Error};
use crate::steps::results_text;
use crate::store::{StoredThread, flag, shell_word};
use planwright::driver::{Stopped, Waiting, open_question, token};
use planwright::journal::system::now_ms;
use planwright::journal::{FileJournal, Folded, RunStatus, fold};
use planwright::machine::{AllowedCall, EffectId, EffectKind, awaited, local};
use planwright::prompt::{Request, RequestBody, choices};

/// What a run waits for: the answer to a question, or a word on a write in doubt.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pending {
    /// The effect.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
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
    /// The calls that are asked about together, if they are several, in the order of their positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ShownCall>,
    /// The values of which one is to be picked: the answer in words is one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// What was found by then.
    #[serde(skip)]
    pub results: String,
    pub(crate) in_doubt: Option<ShownCall>,
    /// The commands that answer or resolve it, the usual one first. What has expired cannot be answered; the run
    /// goes on.
    pub commands: Vec<String>,
}

/// A call as it is shown: one that a person is asked about, or that may or may not have happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownCall {
    /// The tool.
    pub tool: String,
    /// Its input: a text, or JSON.
    pub input: String,
}

impl Pending {
    /// What a run waits for whose records are there.
    pub fn of(folded: &Folded, location: RunLocation<'_>) -> Option<Self> {
        let Folded { run, compiled, state, .. } = folded;
        let (mut since, mut expires, mut question, mut in_doubt) = (None, None, None, None);
        let shown = |(tool, input): (String, Value)| {
            let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
            ShownCall { tool, input }
        };
        let mut calls = Vec::new();
        let (effect, flags) = if let Some((effect, _)) = folded.doubts().next() {
            let request = Request::of(compiled, state, awaited(compiled, state, effect)?)?;
            let RequestBody::Tool { tool, input, .. } = request.body else { return None };
            in_doubt = Some(ShownCall { tool: tool.into_owned(), input: input.to_string() });
            (effect, &["--happened OUTPUT", "--did-not-happen", "--stop REASON"][..])
        } else {
            let RunStatus::Waiting { since: asked, .. } = RunStatus::of(folded) else { return None };
            let open = open_question(run, compiled, state)?;
            let limits = local(compiled, state, open.effect).map(|asks| &asks.compiled.spec().limits);
            let given = limits.and_then(|limits| limits.answer_seconds).zip(folded.asked_at(open.effect));
            expires = given.map(|(seconds, at)| at.saturating_add(seconds.saturating_mul(1_000)));
            (since, question) = (Some(asked).filter(|asked| *asked > 0), Some(open.question));
            calls =
                if open.calls.len() > 1 { open.calls.into_iter().map(shown).collect() } else { Vec::new() };
            (open.effect, answer_flags(open.effect, calls.len()))
        };
        let choices = choices(compiled, state, effect);
        let results = results_text(state, effect);
        let (token, expired) = (token(folded)?, expires.is_some_and(|end| now_ms() >= end));
        let answers = if in_doubt.is_some() { "resolve" } else { "answer" };
        let command = location.command(if expired { "resume" } else { answers });
        let with = |flag| Some(format!("{} --token {token} {flag}", command.as_deref()?));
        let commands = match expired {
            true => command.iter().cloned().collect(),
            false => flags.iter().filter_map(with).collect(),
        };
        Some(Pending {
            effect,
            token,
            since,
            expires,
            expired,
            question,
            calls,
            choices,
            results,
            in_doubt,
            commands,
        })
    }

    /// Whether this is a write in doubt.
    pub fn is_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// The question or the doubt, for people.
    pub fn text(&self) -> String {
        let doubt = |ShownCall { tool, input }: &ShownCall| {
            format!("in doubt: {tool} {input} was asked to change something, and no answer was recorded")
        };
        self.question.clone().or(self.in_doubt.as_ref().map(doubt)).unwrap_or_default()
    }

    /// The commands, a line each, as a hint.
    pub fn command_lines(&self) -> String {
        self.commands.join("\n        ")
    }
}

/// Parses which of several calls a person allows: positions between commas, or a JSON list that may hold objects with a
/// `position` and another `input`.
///
/// # Errors
/// What was expected.
pub fn parse_calls(text: &str) -> std::result::Result<Vec<AllowedCall>, String> {
    let list = match text.trim() {
        list if list.starts_with('[') => list.to_owned(),
        positions => format!("[{positions}]"),
    };
    serde_json::from_str(&list).map_err(|_| {
        "expected positions such as 1,3, or a JSON list such as [1, {\"position\": 3, \"input\": \"a text\"}]".to_owned()
    })
}

/// The flags that answer what a person is asked, the usual one first.
fn answer_flags(effect: EffectId, calls: usize) -> &'static [&'static str] {
    match effect.kind {
        _ if calls > 1 => &["--approve", "--approve-calls 1,2", "--reject REASON"],
        EffectKind::ApprovePlan { .. } => &["--approve", "--reject REASON", "--edit FILE"],
        EffectKind::ApproveCall { .. } => {
            &["--approve", "--reject REASON", "--edit-input FILE", "--respond TEXT"]
        }
        EffectKind::Pick { .. } => &["--respond VALUE", "--reject REASON"],
        _ => &["--respond TEXT", "--reject REASON", "--edit FILE"],
    }
}

/// Where the records of a run are: in a journal file, in a thread of a store, or in this process alone.
#[derive(Clone, Copy, Default)]
pub struct RunLocation<'a> {
    pub(crate) journal: Option<&'a Path>,
    config: Option<&'a Path>,
    pub(crate) stored: Option<&'a StoredThread>,
    /// What a command that goes on with it is given besides.
    flags: &'a str,
}

impl<'a> RunLocation<'a> {
    /// A journal file, of a call that named this configuration file.
    pub fn in_journal(path: &'a Path, config: Option<&'a Path>) -> Self {
        RunLocation { journal: Some(path), config, ..RunLocation::default() }
    }

    /// A thread of a store.
    pub fn in_thread(stored: &'a StoredThread) -> Self {
        RunLocation { stored: Some(stored), ..RunLocation::default() }
    }

    /// Has the commands on this run choose the model and the documents by these flags.
    #[must_use]
    pub fn with(self, flags: &'a str) -> Self {
        RunLocation { flags, ..self }
    }

    /// A command of `planwright threads` on the run; `planwright resume` does them all on a journal.
    fn command(self, command: &str) -> Option<String> {
        let config = self.config.map(|path| flag("config", path.display())).unwrap_or_default();
        let journal = |path: &Path| format!("planwright resume {}{config}", shell_word(path.display()));
        let command = self.stored.map(|stored| stored.command(command)).or(self.journal.map(journal))?;
        Some(command + self.flags)
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
        self.stored.map(|stored| format!("{}  says how it stands", stored.command("show")))
    }

    /// The command that answers what the run waits with, and the other flags it takes.
    pub fn answer_hint(self, waiting: &Waiting) -> String {
        let (flags, token) = (answer_flags(waiting.effect, waiting.calls.len()), &waiting.token);
        match self.command("answer") {
            None => "with --thread NAME or --journal FILE the run could be answered later".to_owned(),
            Some(command) => {
                format!("{command} --token {token} {}  answers; or {}", flags[0], flags[1..].join(", "))
            }
        }
    }

    /// What the run waits for, as its records say it.
    pub fn pending(self) -> Option<Pending> {
        let folded = match self.stored {
            Some(stored) => stored.fold(None).ok()?,
            None => fold(FileJournal::parse(&std::fs::read(self.journal?).ok()?).ok()?).ok()?,
        };
        Pending::of(&folded, self)
    }

    /// The error of an answer without a token: what it would be for, and how it is given.
    pub fn missing_token(self, pending: &Pending) -> Error {
        let question = pending.text();
        if pending.expired {
            let hint = self.resume_hint("goes on without an answer");
            return Error { hint, ..Error::new(Class::Conflict, Stopped::Expired { question }) };
        }
        let stored = self.stored.map(|stored| stored.thread.to_string());
        let run = stored.or(self.journal.map(|path| path.display().to_string()));
        let run = run.unwrap_or_else(|| "the run".to_owned());
        let problem =
            format!("expected the token of what is answered, found none; {run} waits with: {question}");
        Error::unusable(problem).hint(pending.command_lines())
    }
}
