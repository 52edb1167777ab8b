//! Where a run is kept so that it can go on later, and with which commands.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::args::StoreArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::store::Place;
use super::text::quoted;
use planwright::driver::{Stopped, ThreadHandle, Threads, Waiting, open_question, token};
use planwright::journal::{FileJournal, Folded, RunStatus, StoreError, ThreadId, fold, in_doubt};
use planwright::machine::{EffectId, EffectKind, local};
use planwright::prompt;

/// Where a run is kept.
#[derive(Clone, Copy)]
pub enum Kept<'a> {
    Nowhere,
    Journal(&'a Path),
    Thread(&'a Stored),
}

/// A thread in a store.
pub struct Stored {
    pub threads: Threads,
    pub thread: ThreadId,
    /// What its commands name the store by.
    pub flag: String,
}

impl Stored {
    /// A thread where threads are kept, to be read or gone on with.
    pub fn known(store: &StoreArgs, config: Option<&Path>, thread: &ThreadId) -> Outcome<Self> {
        let place = Place::find(store, config)?;
        let stored = Stored { threads: place.threads()?, thread: thread.clone(), flag: place.flag() };
        stored.turns()?;
        Ok(stored)
    }

    pub fn handle(&self) -> ThreadHandle<'_> {
        self.threads.at(&self.thread)
    }

    pub fn turns(&self) -> Outcome<u32> {
        Ok(self.threads.store().turns(&self.thread)?)
    }

    /// A turn, named from 1 or the last, as the store counts it: from 0.
    pub fn index(&self, turn: Option<u32>) -> Outcome<u32> {
        match turn {
            Some(turn) => Ok(turn - 1),
            None => Ok(self.turns()?.saturating_sub(1)),
        }
    }

    /// A turn of it, folded; the last where none is named. Turns are named from 1.
    pub fn folded(&self, turn: Option<u32>) -> Outcome<Folded> {
        Ok(self.threads.folded(&self.thread, turn.map(|turn| turn - 1))?)
    }

    /// What its last turn waits with.
    pub fn open(&self) -> Outcome<Option<Open>> {
        Ok(Open::of(&self.folded(None)?))
    }

    /// A command of `planwright threads` on it.
    pub fn command(&self, command: &str) -> String {
        format!("planwright threads {command} {}{}", quoted(&self.thread), self.flag)
    }
}

/// The last turn of a thread that is there, or none.
pub fn last(stored: &Stored) -> Outcome<Option<Folded>> {
    match stored.threads.folded(&stored.thread, None) {
        Err(StoreError::NoThread { .. }) => Ok(None),
        folded => Ok(Some(folded?)),
    }
}

/// What a run waits with that a person has to say something about.
pub struct Open {
    pub effect: EffectId,
    /// What they are asked, or what is in doubt.
    pub what: What,
    pub token: String,
    /// Since when, in milliseconds since 1970; 0 where nobody wrote it down.
    pub since: u64,
    /// When the time for an answer is over, where there is such a time.
    pub expires: Option<u64>,
}

pub enum What {
    Question(String),
    Doubt { tool: String, input: String },
}

impl Open {
    pub fn of(folded: &Folded) -> Option<Self> {
        let token = token(folded)?;
        if let Some((effect, tool)) = in_doubt(folded) {
            let asked = planwright::machine::awaited(&folded.rules, &folded.state, effect);
            let input = asked.and_then(|asked| prompt::call(&folded.rules, &folded.state, asked));
            let input = input.map_or_else(String::new, |(_, input)| input.to_string());
            return Some(Open { effect, what: What::Doubt { tool, input }, token, since: 0, expires: None });
        }
        let RunStatus::Waiting { since, .. } = RunStatus::of(folded) else { return None };
        let Waiting { effect, question, .. } = open_question(&folded.run, &folded.rules, &folded.state)?;
        let expires = expires(folded, effect);
        Some(Open { effect, what: What::Question(question), token, since, expires })
    }

    /// Whether the time for an answer is over: the run goes on without one.
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|end| now() >= end)
    }

    /// The question, or what is in doubt, for people.
    pub fn text(&self) -> String {
        match &self.what {
            What::Question(question) => question.clone(),
            What::Doubt { tool, input } => {
                format!("in doubt: {tool} {input} was asked to change something, and no answer was recorded")
            }
        }
    }

    /// The commands that answer or settle it in a thread: the first as it is usual, then the others.
    pub fn commands(&self, stored: &Stored) -> Vec<String> {
        Kept::Thread(stored).commands(self)
    }

    /// The flags that answer or settle it, the usual first.
    fn flags(&self) -> &'static [&'static str] {
        match &self.what {
            What::Question(_) => answers(self.effect),
            What::Doubt { .. } => &["--happened OUTPUT", "--did-not-happen", "--stop REASON"],
        }
    }

    pub fn json(&self, stored: &Stored) -> Value {
        let mut object = json!({
            "effect": self.effect, "token": self.token, "since": (self.since > 0).then_some(self.since),
            "expires": self.expires, "expired": self.has_expired(),
            "question": null, "in_doubt": null, "commands": self.commands(stored),
        });
        match &self.what {
            What::Question(question) => object["question"] = json!(question),
            What::Doubt { tool, input } => object["in_doubt"] = json!({"tool": tool, "input": input}),
        }
        object
    }
}

/// When the time for an answer is over, by the limits of the run that asks.
fn expires(folded: &Folded, effect: EffectId) -> Option<u64> {
    let asks = local(&folded.rules, &folded.state, effect)?;
    let seconds = asks.rules.spec().limits.answer_seconds?;
    let asked = folded.pending(effect)?.at?;
    Some(asked.saturating_add(seconds.saturating_mul(1_000)))
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The flags that answer what a person is asked, the usual first.
pub fn answers(effect: EffectId) -> &'static [&'static str] {
    match effect.kind {
        EffectKind::Approve { .. } => &["--approve", "--reject REASON", "--edit FILE"],
        EffectKind::Permit { .. } => &["--approve", "--reject REASON", "--edit-input FILE", "--respond TEXT"],
        _ => &["--respond TEXT", "--reject REASON", "--edit FILE"],
    }
}

impl Kept<'_> {
    pub fn journal(&self) -> Option<&Path> {
        match self {
            Kept::Journal(path) => Some(path),
            _ => None,
        }
    }

    pub fn thread(&self) -> Option<&ThreadId> {
        match self {
            Kept::Thread(stored) => Some(&stored.thread),
            _ => None,
        }
    }

    /// The command that goes on with the run.
    pub fn resume(&self) -> Option<String> {
        match self {
            Kept::Nowhere => None,
            Kept::Journal(path) => Some(format!("planwright resume {}", quoted(path.display()))),
            Kept::Thread(stored) => Some(stored.command("resume")),
        }
    }

    /// The command that answers what the run waits with.
    pub fn answer(&self, open: &Waiting) -> Option<String> {
        let flag = answers(open.effect)[0];
        let token = &open.token;
        match self {
            Kept::Nowhere => None,
            Kept::Journal(path) => {
                Some(format!("planwright resume --token {token} {flag} {}", quoted(path.display())))
            }
            Kept::Thread(stored) => Some(format!("{} --token {token} {flag}", stored.command("answer"))),
        }
    }

    /// What the run waits with, and the commands that answer or settle it.
    pub fn open(&self) -> Option<(Open, String)> {
        let open = match self {
            Kept::Nowhere => return None,
            Kept::Thread(stored) => stored.open().ok().flatten()?,
            Kept::Journal(path) => {
                let records = FileJournal::parse(&std::fs::read(path).ok()?).ok()?;
                Open::of(&fold(records).ok()?)?
            }
        };
        let commands = self.commands(&open).join("\n        ");
        Some((open, commands))
    }

    /// The commands that answer or settle what is open: the first as it is usual, then the others. What
    /// has expired cannot be answered; the run goes on.
    fn commands(&self, open: &Open) -> Vec<String> {
        if open.has_expired() {
            return self.resume().into_iter().collect();
        }
        let command = match (self, &open.what) {
            (Kept::Nowhere, _) => return Vec::new(),
            (Kept::Journal(path), _) => format!("planwright resume {}", quoted(path.display())),
            (Kept::Thread(stored), What::Question(_)) => stored.command("answer"),
            (Kept::Thread(stored), What::Doubt { .. }) => stored.command("settle"),
        };
        open.flags().iter().map(|flag| format!("{command} --token {} {flag}", open.token)).collect()
    }

    /// The error of a word without a token: what it would be for, and how it is said.
    pub fn tokenless(&self, open: &Open) -> Failure {
        if open.has_expired() {
            let error = Stopped::Expired { question: open.text() }.into();
            let hint = self.resume().map(|command| format!("{command}  goes on without an answer"));
            return Failure { exit: Exit::Conflict, error, hint };
        }
        let what = match self {
            Kept::Nowhere => "the run".to_owned(),
            Kept::Journal(path) => path.display().to_string(),
            Kept::Thread(stored) => stored.thread.to_string(),
        };
        let problem =
            format!("expected the token of what is answered, found none; {what} waits with: {}", open.text());
        Failure::unusable(problem).hint(self.commands(open).join("\n        "))
    }
}
