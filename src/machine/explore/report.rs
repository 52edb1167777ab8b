//! The report of a walk: the claims, the edges that runs can take, and the picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use super::channel::Channel;
use super::key::Key;
use crate::machine::{Concern, Effect, HumanAnswer, Move, PhaseName, Step, TraceLine};
use crate::spec::Bounds;

/// One invariant, and how it fared.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Check {
    /// Its name.
    pub invariant: &'static str,
    /// What was claimed.
    pub claim: &'static str,
    /// How many cases were tried.
    pub cases: usize,
    /// The first ten cases in which it does not hold.
    pub violations: Vec<String>,
}

impl Check {
    /// Whether it is about the walk itself, and not about the agent.
    pub fn is_about_the_walk(&self) -> bool {
        self.invariant == "abstraction"
    }
}

/// What a walk found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How many abstract states are reachable.
    pub states: usize,
    /// How many edges there are between them.
    pub edges: usize,
    /// The most that any run of the spec can do, counted from the spec alone.
    pub bounds: Bounds,
    /// The longest paths of the graph that was walked; none where it has a cycle.
    pub longest: Option<Bounds>,
    /// What can happen once untrusted output was read.
    pub channel: Channel,
    /// What was checked, invariant by invariant.
    pub checks: Vec<Check>,
    /// Whether every reachable state was walked.
    pub whole: bool,
    /// Which numbers of the spec were made smaller for the walk.
    pub explored_as: Vec<String>,
    #[doc(hidden)]
    pub keys: BTreeSet<Key>,
    #[doc(hidden)]
    pub taken: BTreeSet<Taken>,
}

impl Report {
    /// Whether every check holds.
    pub fn holds(&self) -> bool {
        self.whole && self.checks.iter().all(|check| check.violations.is_empty())
    }

    /// Adds what was checked in another walk of the same agent.
    pub(super) fn add(&mut self, other: Report) {
        self.whole &= other.whole;
        for (check, other) in self.checks.iter_mut().zip(other.checks) {
            check.cases += other.cases;
            check.violations.extend(other.violations.into_iter().map(|found| format!("nested: {found}")));
        }
    }

    /// Why the walk decides nothing: it was given up, or it merged states that differ and may have
    /// passed some over. A violation of a claim about the agent is always decided.
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

/// The edges of the phase graph with their labels.
fn labels<'t>(taken: impl IntoIterator<Item = &'t Taken>) -> BTreeMap<(PhaseName, PhaseName), Vec<String>> {
    let mut edges: BTreeMap<(PhaseName, PhaseName), Vec<String>> = BTreeMap::new();
    for taken in taken {
        match taken {
            Taken::Move(Move { from, exit, to }) => {
                edges.entry((*from, *to)).or_default().push(exit.to_string());
            }
            Taken::Inside(phase, what) if what == "repair" => {
                edges.entry((*phase, *phase)).or_default().push(what.clone());
            }
            Taken::Inside(..) => {}
        }
    }
    edges
}

/// The phases in which runs end.
fn ends(report: &Report) -> BTreeSet<PhaseName> {
    let to = labels(&report.taken).into_keys().map(|(_, to)| to);
    to.filter(|phase| phase.is_terminal()).collect()
}

/// Draws the phase graph as a Mermaid state diagram.
pub fn mermaid(report: &Report) -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> PLAN\n");
    for ((from, to), labels) in labels(&report.taken) {
        let _ = writeln!(text, "    {from} --> {to}: {}", labels.join(", "));
    }
    for end in ends(report) {
        let _ = writeln!(text, "    {end} --> [*]");
    }
    text
}

/// Draws the phase graph in Graphviz DOT.
pub fn dot(report: &Report) -> String {
    let mut text = String::from(
        "digraph planwright {\n    rankdir=LR;\n    node [shape=box, style=rounded];\n    start [shape=point];\n    \
         start -> PLAN;\n",
    );
    for end in ends(report) {
        let _ = writeln!(text, "    {end} [peripheries=2];");
    }
    for ((from, to), labels) in labels(&report.taken) {
        let _ = writeln!(text, "    {from} -> {to} [label=\"{}\"];", labels.join("\\n"));
    }
    text.push_str("}\n");
    text
}

/// Draws the phase graphs of several walks as one text, an arrow a line.
pub fn arrows(reports: &[Report]) -> String {
    let mut text = String::from("start ─▶ PLAN\n");
    let taken: BTreeSet<&Taken> = reports.iter().flat_map(|report| &report.taken).collect();
    for ((from, to), mut exits) in labels(taken.into_iter().filter(|taken| matches!(taken, Taken::Move(_)))) {
        exits.sort();
        let _ = writeln!(text, "{:<8} ─ {} ─▶ {to}", from.to_string(), exits.join(", "));
    }
    text
}

/// One edge: from one phase to the next, or something that happens inside a phase.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taken {
    Move(Move),
    Inside(PhaseName, String),
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Taken::Move(Move { from, exit, to }) => write!(f, "{from} --{exit}--> {to}"),
            Taken::Inside(phase, what) => write!(f, "{phase}: {what}"),
        }
    }
}

/// The edges that one step takes; `lines_before` is how many trace lines there were before it.
pub(crate) fn taken(step: &Step, lines_before: usize) -> impl Iterator<Item = Taken> + '_ {
    let moves = step.moves.iter().copied().map(Taken::Move);
    let lines = step.state.task.trace.iter().skip(lines_before).filter_map(inside);
    let again = step.effects.iter().any(|effect| matches!(effect, Effect::Wait { .. }));
    let again = again.then(|| Taken::Inside(PhaseName::Execute, "a step is tried again".to_owned()));
    moves.chain(lines).chain(again)
}

pub(super) const EXPIRED: &str = "nobody answered in time";

fn inside(line: &TraceLine) -> Option<Taken> {
    let planning = |what: &str| (PhaseName::Plan, what.to_owned());
    let executing = |what: &str| (PhaseName::Execute, what.to_owned());
    let (phase, what) = match line {
        TraceLine::Scope { in_scope } => planning(if *in_scope { "in scope" } else { "out of scope" }),
        TraceLine::PreviousContext { needed: true } => planning("earlier turns needed"),
        TraceLine::PreviousContext { needed: false } => planning("earlier turns not needed"),
        TraceLine::Intent { needs_tool: true, .. } => planning("intent to be planned"),
        TraceLine::Intent { needs_tool: false, .. } => planning("intent answered at once"),
        TraceLine::Grant { .. } => planning("what the question calls for"),
        TraceLine::Skip { .. } => executing("a repeated call is skipped"),
        TraceLine::Denied { .. } => executing("a call is refused"),
        TraceLine::Decision { fallback: Some(_), .. } => executing("decision falls back"),
        TraceLine::Decision { decision, .. } => executing(&format!("decision {}", decision.action)),
        TraceLine::Human { about, answer, .. } => {
            let answered = match (answer, about) {
                (HumanAnswer::Approve | HumanAnswer::ApproveCalls { .. }, _) => "approved",
                (HumanAnswer::Respond { .. }, Concern::Call) => "answered in the place of",
                (HumanAnswer::Respond { .. }, _) => "responded",
                (HumanAnswer::Reject { .. }, _) => "rejected",
                (HumanAnswer::Edit { .. }, Concern::Plan) => "edited",
                (HumanAnswer::Edit { .. }, _) => "edited the rest",
                (HumanAnswer::EditInput { .. }, _) => "edited the input of",
            };
            let (phase, what) = asked_about(*about);
            (phase, format!("a person {answered}{what}"))
        }
        TraceLine::Expired { about, .. } => {
            let (phase, what) = asked_about(*about);
            (phase, format!("{EXPIRED}{}", what.replacen(' ', " about ", 1)))
        }
        TraceLine::Repair { of, .. } => (*of, "repair".to_owned()),
        _ => return None,
    };
    Some(Taken::Inside(phase, what))
}

/// Where a person is asked, and what about unless it is a step of theirs.
fn asked_about(about: Concern) -> (PhaseName, &'static str) {
    match about {
        Concern::Step => (PhaseName::Execute, ""),
        Concern::Plan => (PhaseName::Plan, " the plan"),
        Concern::Call => (PhaseName::Execute, " a call"),
        Concern::Value => (PhaseName::Execute, " a value"),
    }
}
