//! Where the records of a run are, and which commands go on with it.

use std::path::Path;

use crate::error::{Class, Error};
use crate::pending::{Pending, Subject, answer_flags, resume_command};
use crate::store::StoredThread;
use planwright::driver::{Stopped, Waiting};
use planwright::journal::{FileJournal, ThreadId, fold};

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
    /// The journal file.
    pub fn journal(self) -> Option<&'a Path> {
        match self {
            RunLocation::Journal(path) => Some(path),
            _ => None,
        }
    }

    /// The thread.
    pub fn thread(self) -> Option<&'a ThreadId> {
        self.stored().map(|stored| &stored.thread)
    }

    /// The thread in its store.
    pub fn stored(self) -> Option<&'a StoredThread> {
        match self {
            RunLocation::Thread(stored) => Some(stored),
            _ => None,
        }
    }

    /// The command that goes on with the run.
    pub fn resume_command(self) -> Option<String> {
        match self {
            RunLocation::Nowhere => None,
            RunLocation::Journal(path) => Some(resume_command(path)),
            RunLocation::Thread(stored) => Some(stored.command("resume")),
        }
    }

    /// The command that answers what the run waits with, and the other flags it takes.
    pub fn answer_hint(self, waiting: &Waiting) -> String {
        let (flag, others) = (answer_flags(waiting.effect)[0], answer_flags(waiting.effect)[1..].join(", "));
        let token = &waiting.token;
        let shell_path = |path: &Path| crate::pending::shell_word(path.display());
        let command = match self {
            RunLocation::Nowhere => {
                return "with --thread NAME or --journal FILE the run could be answered later".to_owned();
            }
            RunLocation::Journal(path) => {
                format!("planwright resume --token {token} {flag} {}", shell_path(path))
            }
            RunLocation::Thread(stored) => format!("{} --token {token} {flag}", stored.command("answer")),
        };
        format!("{command}  answers; or {others}")
    }

    /// What the run waits for, as its records say it.
    pub fn pending(self) -> Option<Pending> {
        match self {
            RunLocation::Nowhere => None,
            RunLocation::Thread(stored) => stored.pending().ok().flatten(),
            RunLocation::Journal(path) => {
                let records = FileJournal::parse(&std::fs::read(path).ok()?).ok()?;
                Pending::of(&fold(records).ok()?)
            }
        }
    }

    /// The commands that answer or resolve what is pending, the usual one first. What has expired cannot be
    /// answered; the run goes on.
    pub fn commands(self, pending: &Pending) -> Vec<String> {
        if pending.has_expired() {
            return self.resume_command().into_iter().collect();
        }
        let command = match (self, &pending.subject) {
            (RunLocation::Nowhere, _) => return Vec::new(),
            (RunLocation::Journal(path), _) => resume_command(path),
            (RunLocation::Thread(stored), Subject::Question(_)) => stored.command("answer"),
            (RunLocation::Thread(stored), Subject::Doubt { .. }) => stored.command("resolve"),
        };
        pending.flags().iter().map(|flag| format!("{command} --token {} {flag}", pending.token)).collect()
    }

    /// The commands, a line each, as a hint.
    pub fn command_lines(self, pending: &Pending) -> String {
        self.commands(pending).join("\n        ")
    }

    /// The error of an answer without a token: what it would be for, and how it is given.
    pub fn missing_token(self, pending: &Pending) -> Error {
        if pending.has_expired() {
            let hint = self.resume_command().map(|command| format!("{command}  goes on without an answer"));
            let expired = Stopped::Expired { question: pending.text() };
            return Error::new(Class::Conflict, expired).maybe_hint(hint);
        }
        let run = match self {
            RunLocation::Nowhere => "the run".to_owned(),
            RunLocation::Journal(path) => path.display().to_string(),
            RunLocation::Thread(stored) => stored.thread.to_string(),
        };
        let question = pending.text();
        let problem =
            format!("expected the token of what is answered, found none; {run} waits with: {question}");
        Error::unusable(problem).hint(self.command_lines(pending))
    }
}
