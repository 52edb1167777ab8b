//! The report of a walk.

use std::collections::BTreeSet;

use super::abstraction::Key;
use super::coverage::Taken;
use crate::machine::{Move, PhaseName};
use crate::spec::Bounds;

/// The claim that is about the walk's own means, and not about the agent.
pub(super) const ABSTRACTION: &str = "abstraction";

/// One invariant, and how it fared.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub invariant: &'static str,
    /// What was claimed.
    pub claim: &'static str,
    /// How many cases were tried.
    pub cases: usize,
    /// The cases in which it does not hold; the first ten.
    pub violations: Vec<String>,
}

impl Check {
    /// Whether it is about the walk's own means, and not about the agent.
    pub fn is_about_the_walk(&self) -> bool {
        self.invariant == ABSTRACTION
    }
}

/// What a walk found.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many abstract states are reachable.
    pub states: usize,
    /// The edges between them, refusals left out.
    pub edges: Vec<Edge>,
    /// The most that any run of the spec can do, worked out from the spec alone.
    pub bounds: Bounds,
    /// The longest paths of the graph that was walked.
    pub longest: Bounds,
    /// What was checked, invariant by invariant.
    pub checks: Vec<Check>,
    /// Whether every reachable state was walked; if not, the walk was given up.
    pub whole: bool,
    /// Which numbers of the spec were made smaller for the walk.
    pub explored_as: Vec<String>,
    /// The abstract states.
    pub keys: BTreeSet<Key>,
    /// The edges of the phase graph that were taken.
    pub moves: BTreeSet<Move>,
    /// The phases in which a reply is asked for again.
    pub repairs: BTreeSet<PhaseName>,
    /// The edges that runs can take, those inside phases included.
    pub taken: BTreeSet<Taken>,
}

impl Report {
    /// Whether every check holds.
    pub fn holds(&self) -> bool {
        self.whole && self.checks.iter().all(|check| check.violations.is_empty())
    }

    /// Why the walk shows neither that every invariant holds nor that one does not: it was given up, or
    /// it took states for the same that are not, and may have passed some over. Neither says anything
    /// against the agent. What is violated for certain is decided.
    pub fn undecided(&self) -> Option<String> {
        let violated = |check: &&Check| !check.violations.is_empty();
        if self.checks.iter().filter(violated).any(|check| !check.is_about_the_walk()) {
            return None;
        }
        if !self.whole {
            return Some(format!("the walk was given up after {} states", self.states));
        }
        let merged = self.checks.iter().find(violated)?;
        Some(format!("the walk took states for the same that are not: {}", merged.violations[0]))
    }
}

/// One step from one abstract state to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The state it leaves, by number.
    pub from: usize,
    /// The kind of event.
    pub on: String,
    /// The state it reaches, by number.
    pub to: usize,
    /// Model calls it asks for.
    pub model_calls: u32,
    /// Tool calls it asks for.
    pub tool_calls: u32,
    /// The trace lines it leaves, without their words.
    pub lines: Vec<String>,
}
