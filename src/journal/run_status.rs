//! The status of a run. It follows from the records alone.

use serde::{Deserialize, Serialize};

use super::{Folded, Outcome, Unknown};
use crate::machine::{Effect, EffectId, State, outstanding};
use crate::prompt::Request;
use crate::spec::CompiledSpec;

/// The status of a run, as a list of runs shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum RunStatus {
    /// It is under way, or was when its process ended. When resumed, it goes on by itself.
    Unfinished,
    /// A person has to answer.
    Waiting {
        /// The effect that the answer answers.
        effect: EffectId,
        /// The question.
        question: String,
        /// When it was asked, in milliseconds since 1970; 0 if that is unknown.
        since: u64,
    },
    /// A person has to say what became of a write that was requested and not answered, and may not be done
    /// twice.
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
    /// It ended without an answer.
    Failed {
        /// Why.
        error: String,
        /// The writes whose outcome is unknown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unknown: Vec<Unknown>,
    },
    /// Its records do not read. Its thread can be deleted.
    Damaged {
        /// What is wrong, and where.
        problem: String,
    },
}

impl RunStatus {
    /// The status of a folded journal.
    pub fn of(folded: &Folded) -> Self {
        if let Some((effect, tool)) = folded.doubts().next() {
            return RunStatus::InDoubt { effect, tool };
        }
        let since = |effect| folded.pending(effect)?.at;
        RunStatus::without_doubts(&folded.rules, &folded.state, &folded.unknown, since)
    }

    /// The status of a run in which no write is in doubt. `since` says when something was asked.
    pub(crate) fn without_doubts(
        rules: &CompiledSpec,
        state: &State,
        unknown: &[Unknown],
        since: impl Fn(EffectId) -> Option<u64>,
    ) -> Self {
        match Outcome::ended(state) {
            Some(Outcome::Answer(answer)) => return RunStatus::Done { answer },
            Some(Outcome::Error(error)) => {
                return RunStatus::Failed { error: error.to_string(), unknown: unknown.to_vec() };
            }
            _ => {}
        }
        let Some((effect, question)) = find_question(rules, state) else { return RunStatus::Unfinished };
        RunStatus::Waiting { effect, question, since: since(effect).unwrap_or(0) }
    }

    /// The name: `unfinished`, `waiting`, `in_doubt`, `done`, `failed` or `damaged`.
    pub fn name(&self) -> &'static str {
        match self {
            RunStatus::Unfinished => "unfinished",
            RunStatus::Waiting { .. } => "waiting",
            RunStatus::InDoubt { .. } => "in_doubt",
            RunStatus::Done { .. } => "done",
            RunStatus::Failed { .. } => "failed",
            RunStatus::Damaged { .. } => "damaged",
        }
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self, RunStatus::Done { .. } | RunStatus::Failed { .. })
    }

    /// Since when the run has waited for a person, in milliseconds since 1970; `updated` if that is unknown.
    pub fn waiting_since(&self, updated: u64) -> u64 {
        match self {
            RunStatus::Waiting { since, .. } if *since > 0 => *since,
            _ => updated,
        }
    }
}

/// The question that a run waits with when it waits for people alone, and the effect that an answer answers.
pub(crate) fn find_question(rules: &CompiledSpec, state: &State) -> Option<(EffectId, String)> {
    let waits = outstanding(rules, state);
    let people = waits.iter().all(|effect| matches!(effect, Effect::AskHuman { .. }));
    let first = waits.first().filter(|_| people)?;
    Some((first.id(), Request::of(rules, state, *first)?.into_question()?))
}
