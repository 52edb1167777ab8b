//! RunStatus: where a run stands, as a list of runs says it. It follows from the records alone.

use serde::{Deserialize, Serialize};

use super::{Folded, Outcome, Pending, Unknown, is_once};
use crate::contract::ToolEffect;
use crate::machine::{Effect, EffectId, State, awaited, outstanding};
use crate::prompt::{self, tool_digest};
use crate::spec::CompiledSpec;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum RunStatus {
    /// It is under way, or was when its process ended. It goes on by itself when it is resumed.
    Unfinished,
    /// A person has to answer.
    Waiting {
        /// The effect that the answer answers.
        effect: EffectId,
        /// What they are asked.
        question: String,
        /// When it was asked, in milliseconds since 1970; 0 where nobody wrote it down.
        since: u64,
    },
    /// A write was requested, was not answered, and may not be done twice: a person has to say what
    /// became of it.
    InDoubt {
        /// The effect.
        effect: EffectId,
        /// The tool.
        tool: String,
    },
    /// It ended with an answer.
    Done {
        /// The answer.
        answer: String,
    },
    /// It ended without one.
    Failed {
        /// Why.
        error: String,
        /// The writes of which nobody knows whether they happened.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unknown: Vec<Unknown>,
    },
    /// What is kept of it does not read, so nobody knows. Its thread can be deleted.
    Damaged {
        /// What is wrong, and where.
        problem: String,
    },
}

impl RunStatus {
    /// Where a folded journal stands.
    pub fn of(folded: &Folded) -> Self {
        if let Some((effect, tool)) = in_doubt(folded) {
            return RunStatus::InDoubt { effect, tool };
        }
        let standing = RunStatus::at(&folded.rules, &folded.state, |effect| folded.pending(effect)?.at);
        standing.leaving(&folded.unknown)
    }

    /// Where a run stands of which nothing is in doubt. `since` says when something was asked.
    pub fn at(rules: &CompiledSpec, state: &State, since: impl Fn(EffectId) -> Option<u64>) -> Self {
        match Outcome::ended(state) {
            Some(Outcome::Answer(answer)) => return RunStatus::Done { answer },
            Some(Outcome::Error(error)) => {
                return RunStatus::Failed { error: error.to_string(), unknown: Vec::new() };
            }
            _ => {}
        }
        match asks(rules, state) {
            Some((effect, question)) => {
                let since = since(effect).unwrap_or(0);
                RunStatus::Waiting { effect, question, since }
            }
            None => RunStatus::Unfinished,
        }
    }

    /// The same, of a run that was ended although nobody knows whether these writes happened.
    #[must_use]
    pub fn leaving(self, left: &[Unknown]) -> Self {
        match self {
            RunStatus::Failed { error, .. } => RunStatus::Failed { error, unknown: left.to_vec() },
            other => other,
        }
    }

    /// In one word: `unfinished`, `waiting`, `in_doubt`, `done`, `failed` or
    /// `damaged`.
    pub fn status(&self) -> &'static str {
        match self {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Waiting { .. } => "waiting",
            RunStatus::InDoubt { .. } => "in_doubt",
            RunStatus::Done { .. } => "done",
            RunStatus::Failed { .. } => "failed",
            RunStatus::Damaged { .. } => "damaged",
        }
    }

    /// Whether a person has to say something before it can go on.
    pub fn needs_a_person(&self) -> bool {
        matches!(self, RunStatus::Waiting { .. } | RunStatus::InDoubt { .. })
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self, RunStatus::Done { .. } | RunStatus::Failed { .. })
    }
}

/// What a person is asked where nothing else is outstanding, with the effect that an answer answers.
pub fn asks(rules: &CompiledSpec, state: &State) -> Option<(EffectId, String)> {
    let waits = outstanding(rules, state);
    let people = waits.iter().all(|effect| matches!(effect, Effect::AskHuman { .. }));
    let first = waits.first().filter(|_| people)?;
    Some((first.id(), prompt::question(rules, state, *first)?))
}

/// The effect, and its tool, that was requested, never answered, and may not be done twice.
pub fn in_doubt(folded: &Folded) -> Option<(EffectId, String)> {
    doubts(folded).next()
}

/// All of them.
pub fn doubts(folded: &Folded) -> impl Iterator<Item = (EffectId, String)> {
    let pending = folded.pending.iter().map(|pending| pending.effect);
    pending.filter_map(|id| Some((id, is_once(&folded.rules, &folded.state, id)?)))
}

/// A write that was requested and not answered, would be asked for again unasked, and now otherwise than
/// it was: under the same key, whoever is called would take it for the same.
pub fn altered(folded: &Folded) -> Option<EffectId> {
    let Folded { rules, state, .. } = folded;
    let is_altered = |pending: &&Pending| {
        let Some(effect @ Effect::CallTool { .. }) = awaited(rules, state, pending.effect) else {
            return false;
        };
        let writes = prompt::called(rules, state, effect).is_some_and(|it| it.effect == ToolEffect::Write);
        let now = prompt::call(rules, state, effect).map(|(tool, input)| tool_digest(tool, &input));
        writes && now != Some(pending.digest) && is_once(rules, state, pending.effect).is_none()
    };
    folded.pending.iter().find(is_altered).map(|pending| pending.effect)
}
