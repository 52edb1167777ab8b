//! Approvals: what ties a person's word to what they were shown.
//!
//! A question has a token: a SHA-256 digest over the run, the effect and exactly what is asked. So a
//! token is good for one question of one run, once: the effect is answered once, another run (a fork,
//! another thread) has another id, and a call with another input is another question.

use sha2::{Digest as _, Sha256};

use super::run::Waiting;
use crate::contract::canonical;
use crate::journal::{Folded, Record, find_question, fold};
use crate::machine::{Effect, EffectId, Event, State, awaited, outstanding};
use crate::prompt::{self, Request, RequestBody};
use crate::spec::CompiledSpec;

/// What a person says of a write that is in doubt: whether it happened is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It happened, and this came of it.
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

/// The token of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    fn over(run: &str, effect: EffectId, what: &str) -> Self {
        let mut hasher = Sha256::new();
        for part in [run, &effect.to_string(), what] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Token(hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Whether a given text is this token.
    pub fn is(&self, given: &str) -> bool {
        self.0 == given
    }

    /// As it is shown.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// The token of a question that a run waits with.
pub(super) fn of_question(run: &str, rules: &CompiledSpec, state: &State, id: EffectId) -> Option<Token> {
    let effect = awaited(rules, state, id)?;
    let Effect::AskHuman { .. } = effect else { return None };
    Some(Token::over(run, id, &prompt::subject(rules, state, effect)?))
}

/// The token of a doubt.
pub(super) fn of_doubt(folded: &Folded, id: EffectId) -> Option<Token> {
    let pending = folded.pending(id)?;
    let effect = awaited(&folded.rules, &folded.state, id)?;
    let (tool, input) = prompt::call(&folded.rules, &folded.state, effect)?;
    let what = format!("in doubt at {}: {tool} {}", pending.index, canonical(&input));
    Some(Token::over(&folded.run, id, &what))
}

/// The token of what a run waits with: of its doubt, or of its question.
pub(super) fn open(folded: &Folded) -> Option<Token> {
    let Folded { run, rules, state, .. } = folded;
    match folded.doubts().next() {
        Some((effect, _)) => of_doubt(folded, effect),
        None => of_question(run, rules, state, find_question(rules, state)?.0),
    }
}

/// The token that an answer to a stored run must carry: of its open question, or of its write in doubt.
pub fn token(folded: &Folded) -> Option<String> {
    open(folded).map(Token::into_text)
}

/// The question that a run of this id waits with, if a person has to answer.
pub fn open_question(run: &str, rules: &CompiledSpec, state: &State) -> Option<Waiting> {
    let asks = |effect: &Effect| matches!(effect, Effect::AskHuman { .. });
    let effect = outstanding(rules, state).into_iter().find(asks)?;
    let Request { effect, body, .. } = Request::of(rules, state, effect)?;
    let RequestBody::Human { step, question } = body else { return None };
    let token = of_question(run, rules, state, effect).map(Token::into_text)?;
    Some(Waiting { effect, step, question, token, refused: None })
}

/// The effect that a token was of, if its question was answered before.
pub(super) fn spent(records: &[Record], given: &str) -> Option<EffectId> {
    let ends = records.iter().enumerate().filter_map(|(at, record)| match record {
        Record::Answered { event: Event::HumanAnswered { effect, .. }, .. }
        | Record::Resolved { effect, .. } => Some((at, *effect)),
        _ => None,
    });
    for (at, effect) in ends {
        let folded = fold(records[..at].iter().cloned()).ok()?;
        let open = of_question(&folded.run, &folded.rules, &folded.state, effect)
            .or_else(|| of_doubt(&folded, effect));
        if open.is_some_and(|open| open.is(given)) {
            return Some(effect);
        }
    }
    None
}
