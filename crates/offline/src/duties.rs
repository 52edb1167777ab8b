//! Duties: the kinds of work that a question asks for, and that a tool or an agent does. Both are told by
//! words, those of `tables/duties.toml`; no agent is known by its name alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::lexicon::Words;
use planwright::contract::ToolContract;

/// A kind of work, in the order in which one follows another.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Duty {
    Search,
    Validation,
    Analysis,
    Comparison,
    Critique,
    Summary,
    Translation,
    Document,
    /// Writes what is the answer.
    Writing,
}

/// The words of a duty; `duties.toml` says what each list is for.
#[derive(Deserialize)]
struct DutyWords {
    done_by: Words,
    asked_by: Words,
    kinds: Words,
    noun: [String; 2],
}

static DUTIES: LazyLock<BTreeMap<Duty, DutyWords>> = LazyLock::new(|| {
    toml::from_str(include_str!("tables/duties.toml")).expect("every test of this crate reads duties.toml")
});

impl Duty {
    /// What the kinds of an intent may call it.
    pub(super) fn is_kind(self, kind: &str) -> bool {
        DUTIES[&self].done_by.are_in(kind) || DUTIES[&self].kinds.are_in(kind)
    }

    /// The work of a tool or an agent: what its name says, else what its description says first.
    pub(super) fn of(contract: &ToolContract) -> Option<Duty> {
        let by =
            |text: &str| DUTIES.iter().find(|(_, words)| words.done_by.are_in(text)).map(|(duty, _)| *duty);
        let name = contract.name.to_lowercase().replace(['_', '-'], " ");
        by(&name).or_else(|| by(&contract.description.to_lowercase()))
    }

    /// The work that a question asks for, in its order.
    pub(super) fn asked(question: &str) -> Vec<Duty> {
        let lower = question.to_lowercase();
        DUTIES.iter().filter(|(_, words)| words.asked_by.are_in(&lower)).map(|(duty, _)| *duty).collect()
    }

    pub(super) fn noun(self, korean: bool) -> &'static str {
        &DUTIES[&self].noun[usize::from(korean)]
    }
}
