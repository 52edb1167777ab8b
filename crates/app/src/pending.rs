//! What a run waits for that a person has to say something about.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};

use planwright::driver::{open_question, token};
use planwright::journal::{Folded, RunStatus};
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
    pub(crate) in_doubt: Option<DoubtedCall>,
}

/// A call that may or may not have happened.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoubtedCall {
    pub tool: String,
    input: String,
}

impl Pending {
    /// What a run waits for.
    pub fn of(folded: &Folded) -> Option<Self> {
        let Folded { run, compiled, state, .. } = folded;
        let pending = |effect| {
            let token = token(folded)?;
            let (since, expires, expired, question, in_doubt) = (None, None, false, None, None);
            Some(Pending { effect, token, since, expires, expired, question, in_doubt })
        };
        if let Some((effect, _)) = folded.doubts().next() {
            let request = Request::of(compiled, state, awaited(compiled, state, effect)?)?;
            let RequestBody::Tool { tool, input, .. } = request.body else { return None };
            let in_doubt = Some(DoubtedCall { tool, input: input.to_string() });
            return Some(Pending { in_doubt, ..pending(effect)? });
        }
        let RunStatus::Waiting { since, .. } = RunStatus::of(folded) else { return None };
        let open = open_question(run, compiled, state)?;
        let (effect, question) = (open.effect, Some(open.question));
        let seconds =
            local(compiled, state, effect).and_then(|asks| asks.compiled.spec().limits.answer_seconds);
        let asked = folded.asked_at(effect);
        let end = |(seconds, at): (u64, u64)| at.saturating_add(seconds.saturating_mul(1_000));
        let expires = seconds.zip(asked).map(end);
        let expired = expires.is_some_and(|end| now() >= end);
        let since = Some(since).filter(|since| *since > 0);
        Some(Pending { since, expires, expired, question, ..pending(effect)? })
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

    /// The flags that answer or resolve it, the usual one first.
    pub(crate) fn flags(&self) -> &'static [&'static str] {
        match self.is_doubt() {
            true => &["--happened OUTPUT", "--did-not-happen", "--stop REASON"],
            false => answer_flags(self.effect),
        }
    }

    /// The object that `--json` prints, with the commands that answer it, the usual one first.
    pub fn to_json(&self, commands: &[String]) -> Value {
        let mut object = json!(self);
        object["commands"] = json!(commands);
        object
    }
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

/// Milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
