//! Explore: walks every state that the rules of a spec can reach, by feeding every kind of event
//! and every kind of reply to the real transition function.
//!
//! States are told apart by an abstraction ([`Key`]) that keeps every input of a branch and
//! drops the words and the call counters. From the walk come the proof of the invariants
//! ([`Check`]), the longest run ([`Report::longest`]) and the picture (`diagram`), so that
//! picture, proof and code cannot disagree.
//!
//! The walk is over the [`Machine`] trait, so that a test can hand it a broken machine and see it
//! caught.

mod abstraction;
mod alphabet;
mod check;
mod coverage;
mod diagram;
mod feed;
mod machine;
mod reduce;
mod report;
mod walk;

pub use abstraction::{Key, key};
pub use coverage::{Taken, taken};
pub use diagram::{arrows, dot, mermaid};
pub use machine::{Machine, Real};
pub use reduce::reduced;
pub use report::{Check, Edge, Report};

use std::collections::BTreeSet;

use crate::spec::CompiledSpec;

/// A walk that nobody bounds otherwise is given up after as many states.
pub const MOST_STATES: usize = 50_000;

/// Walks the rules of a spec.
///
/// ```
/// use planwright::{agents, machine::explore};
///
/// let rules = agents::shipped("plan-then-execute").unwrap().check()?;
/// let report = explore::explore(&rules);
/// assert!(report.holds());
/// assert_eq!(report.longest.model_calls, 2);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn explore(rules: &CompiledSpec) -> Report {
    explore_with(&Real, rules)
}

/// Walks a machine of your own under the rules of a spec.
pub fn explore_with(machine: &dyn Machine, rules: &CompiledSpec) -> Report {
    walk_reduced(machine, rules, usize::MAX)
}

/// Walks the rules of a spec, and gives up where there are more states than this. Then nothing is
/// [decided](Report::undecided), unless what was walked violates an invariant.
pub fn explore_within(rules: &CompiledSpec, most_states: usize) -> Report {
    walk_reduced(&Real, rules, most_states)
}

fn walk_reduced(machine: &dyn Machine, rules: &CompiledSpec, most_states: usize) -> Report {
    let mut explored_as = Vec::new();
    let small = reduced(rules.spec().clone(), &mut explored_as);
    let small = small.check().expect("a spec that checks still does with smaller numbers");
    let extent = walk::Extent { care: walk::Care::Full, most_states };
    walk::walk(machine, &small, rules.bounds(), explored_as, extent)
}

/// Walks the rules of a spec just far enough to draw the phase graph: every edge, few states.
pub fn sketch(rules: &CompiledSpec) -> Report {
    let mut explored_as = Vec::new();
    let small = reduce::smallest(rules.spec(), &mut explored_as);
    let small = small.check().expect("a spec that checks still does with smaller numbers");
    let extent = walk::Extent { care: walk::Care::Edges, most_states: usize::MAX };
    walk::walk(&Real, &small, rules.bounds(), explored_as, extent)
}

/// Every edge that a run under these rules can take. The walk is small: which edges there are does not
/// depend on how many steps or replans there may be.
pub fn reachable(rules: &CompiledSpec) -> BTreeSet<Taken> {
    let mut taken = sketch(rules).taken;
    // The machine takes an expiry whenever it comes; a driver gives one only where there is a time.
    if rules.spec().limits.answer_seconds.is_none() {
        taken.retain(|edge| !matches!(edge, Taken::Inside(_, what) if what.starts_with(coverage::EXPIRED)));
    }
    taken
}
