//! What a run waits for that a person has to say something about.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use planwright::driver::{open_question, token};
use planwright::journal::{Folded, RunStatus};
use planwright::machine::{EffectId, EffectKind, awaited, local};
use planwright::prompt::{Request, RequestBody};

/// What a run waits for: the answer to a question, or a word on a write in doubt.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The effect.
    pub effect: EffectId,
    pub(crate) subject: Subject,
    /// The token that an answer names.
    pub token: String,
    /// Since when, in milliseconds since 1970.
    pub since: Option<u64>,
    /// When the time for an answer is over.
    pub expires: Option<u64>,
}

/// What a person is asked about.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// A question.
    Question(String),
    /// A write that may or may not have happened.
    Doubt(DoubtedCall),
}

/// A call that may or may not have happened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoubtedCall {
    /// The tool that writes.
    pub tool: String,
    /// What it was called with.
    pub input: String,
}

impl Pending {
    /// What a run waits for.
    pub fn of(folded: &Folded) -> Option<Self> {
        let token = token(folded)?;
        if let Some((effect, tool)) = folded.doubts().next() {
            let asked = awaited(&folded.rules, &folded.state, effect);
            let body = asked.and_then(|asked| Request::of(&folded.rules, &folded.state, asked))?.body;
            let RequestBody::Tool { input, .. } = body else { return None };
            let input = input.to_string();
            let subject = Subject::Doubt(DoubtedCall { tool, input });
            return Some(Pending { effect, subject, token, since: None, expires: None });
        }
        let RunStatus::Waiting { since, .. } = RunStatus::of(folded) else { return None };
        let open = open_question(&folded.run, &folded.rules, &folded.state)?;
        Some(Pending {
            effect: open.effect,
            subject: Subject::Question(open.question),
            token,
            since: (since > 0).then_some(since),
            expires: expiry(folded, open.effect),
        })
    }

    /// Whether this is a write in doubt.
    pub fn is_doubt(&self) -> bool {
        matches!(self.subject, Subject::Doubt(_))
    }

    /// Whether the time for an answer is over: the run goes on without one.
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|end| now() >= end)
    }

    /// The question or the doubt, for people.
    pub fn text(&self) -> String {
        match &self.subject {
            Subject::Question(question) => question.clone(),
            Subject::Doubt(DoubtedCall { tool, input }) => {
                format!("in doubt: {tool} {input} was asked to change something, and no answer was recorded")
            }
        }
    }

    /// The flags that answer or resolve it, the usual one first.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        match &self.subject {
            Subject::Question(_) => answer_flags(self.effect),
            Subject::Doubt(_) => &["--happened OUTPUT", "--did-not-happen", "--stop REASON"],
        }
    }

    /// The object that `--json` prints, with the commands that answer it.
    pub fn to_json(&self, commands: Vec<String>) -> PendingJson<'_> {
        let (question, in_doubt) = match &self.subject {
            Subject::Question(question) => (Some(&**question), None),
            Subject::Doubt(call) => (None, Some(call)),
        };
        let (expires, expired) = (self.expires, self.has_expired());
        let (effect, token, since) = (self.effect, &*self.token, self.since);
        PendingJson { effect, token, since, expires, expired, question, in_doubt, commands }
    }
}

/// A pending question or doubt in `--json`.
#[derive(Debug, Serialize)]
pub struct PendingJson<'a> {
    effect: EffectId,
    token: &'a str,
    since: Option<u64>,
    expires: Option<u64>,
    expired: bool,
    question: Option<&'a str>,
    in_doubt: Option<&'a DoubtedCall>,
    /// The commands that answer or resolve it, the usual one first.
    commands: Vec<String>,
}

/// The flags that answer what a person is asked, the usual one first.
pub(crate) fn answer_flags(effect: EffectId) -> &'static [&'static str] {
    match effect.kind {
        EffectKind::ApprovePlan { .. } => &["--approve", "--reject REASON", "--edit FILE"],
        EffectKind::ApproveCall { .. } => {
            &["--approve", "--reject REASON", "--edit-input FILE", "--respond TEXT"]
        }
        _ => &["--respond TEXT", "--reject REASON", "--edit FILE"],
    }
}

/// When the time for an answer is over, by the limits of the run that asks.
fn expiry(folded: &Folded, effect: EffectId) -> Option<u64> {
    let asking = local(&folded.rules, &folded.state, effect)?;
    let seconds = asking.rules.spec().limits.answer_seconds?;
    let asked = folded.pending(effect)?.at?;
    Some(asked.saturating_add(seconds.saturating_mul(1_000)))
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
