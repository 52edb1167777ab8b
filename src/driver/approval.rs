//! Approvals: what ties a person's word to what they were shown.
//!
//! A question has a token: a SHA-256 digest over the run, the effect and exactly what is asked. So a token is
//! good for one question of one run, once: the effect is answered once, another run (a fork, another thread)
//! has another id, and a call with another input is another question.

use sha2::{Digest as _, Sha256};

use super::run::Waiting;
use crate::contract::canonical;
use crate::journal::{Folded, Record, find_question, fold};
use crate::machine::{Effect, EffectId, Event, State, awaited, outstanding};
use crate::prompt::{Request, RequestBody, subject};
use crate::spec::CompiledSpec;

/// What a person says of a write in doubt: it is not known whether it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It happened.
    Happened {
        /// What the tool would have returned.
        output: String,
    },
    /// It did not happen: it is done now.
    DidNotHappen,
    /// Whatever happened, the run ends here.
    Stop {
        /// Why.
        reason: String,
    },
}

fn make_token(run: &str, effect: EffectId, what: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [run, &effect.to_string(), what] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The token of a question that a run waits with.
pub(super) fn question_token(run: &str, rules: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    Some(make_token(run, id, &subject(rules, state, awaited(rules, state, id)?)?))
}

/// The token of a write in doubt.
fn doubt_token(folded: &Folded, id: EffectId) -> Option<String> {
    let Folded { run, rules, state, .. } = folded;
    let body = Request::of(rules, state, awaited(rules, state, id)?)?.body;
    let RequestBody::Tool { tool, input, .. } = body else { return None };
    let index = folded.pending(id)?.index;
    Some(make_token(run, id, &format!("in doubt at {index}: {tool} {}", canonical(&input))))
}

/// The token that an answer to a stored run must carry: of its write in doubt, or of its open question.
pub fn token(folded: &Folded) -> Option<String> {
    let Folded { run, rules, state, .. } = folded;
    match folded.doubts().next() {
        Some((effect, _)) => doubt_token(folded, effect),
        None => question_token(run, rules, state, find_question(rules, state)?.0),
    }
}

/// The question that a run of this id waits with, if a person has to answer.
pub fn open_question(run: &str, rules: &CompiledSpec, state: &State) -> Option<Waiting> {
    let asks = |effect: &Effect| matches!(effect, Effect::AskHuman { .. });
    let effect = outstanding(rules, state).into_iter().find(asks)?;
    let Request { effect, body, .. } = Request::of(rules, state, effect)?;
    let RequestBody::Human { step, question } = body else { return None };
    let token = question_token(run, rules, state, effect)?;
    Some(Waiting { effect, step, question, token, refused: None })
}

/// The effect that a token was of, if its question was answered before.
pub(super) fn find_spent(records: &[Record], token: &str) -> Option<EffectId> {
    records.iter().enumerate().find_map(|(at, record)| {
        let (Record::Answered { event: Event::HumanAnswered { effect, .. }, .. }
        | Record::Resolved { effect, .. }) = record
        else {
            return None;
        };
        let folded = fold(records[..at].iter().cloned()).ok()?;
        let open = question_token(&folded.run, &folded.rules, &folded.state, *effect)
            .or_else(|| doubt_token(&folded, *effect));
        open.is_some_and(|open| open == token).then_some(*effect)
    })
}
