//! Explore: walks every state that a spec can reach, by feeding every kind of event and every kind of
//! reply to the real transition function.
//!
//! States are told apart by an abstraction ([`Key`]) that keeps every input of a branch and drops the
//! words and the call counters. From the walk come the proof of the invariants ([`Check`]), the longest
//! run ([`Report::longest`]) and the picture ([`mermaid`]), so that picture, proof and code cannot
//! disagree. The walk is over the [`Machine`] trait, so that a test can hand it a broken machine and see
//! it caught.

mod abstraction;
mod check;
mod coverage;
mod letters;
mod machine;
mod reduce;
mod replies;
mod report;
mod walk;

#[doc(hidden)]
pub use abstraction::{Key, key};
pub use coverage::Taken;
pub(crate) use coverage::taken;
pub use machine::Machine;
#[doc(hidden)]
pub use reduce::reduced;
pub use report::{Check, Edge, Report, arrows, dot, mermaid};

use std::collections::BTreeSet;

use self::machine::Real;
use self::walk::{Extent, walk};
use crate::spec::{CompiledSpec, Spec};

/// The states after which a walk is given up by default.
pub const MOST_STATES: usize = 50_000;

/// Walks a spec.
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

/// Walks a machine of your own under a spec.
pub fn explore_with(machine: &dyn Machine, rules: &CompiledSpec) -> Report {
    walk_reduced(machine, rules, Extent { edges_only: false, most_states: usize::MAX })
}

/// Walks a spec, and gives up if there are more states than this. Then nothing is
/// [decided](Report::undecided), unless what was walked violates an invariant.
pub fn explore_within(rules: &CompiledSpec, most_states: usize) -> Report {
    walk_reduced(&Real, rules, Extent { edges_only: false, most_states })
}

/// Walks a spec just far enough to draw the phase graph: every edge, few states.
pub fn sketch(rules: &CompiledSpec) -> Report {
    walk_reduced(&Real, rules, Extent { edges_only: true, most_states: usize::MAX })
}

fn walk_reduced(machine: &dyn Machine, rules: &CompiledSpec, extent: Extent) -> Report {
    let mut explored_as = Vec::new();
    let reduce: fn(Spec, &mut Vec<String>) -> Spec =
        if extent.edges_only { reduce::smallest } else { reduced };
    let small = reduce(rules.spec().clone(), &mut explored_as);
    let small = small.check().expect("a spec that checks still does with smaller numbers");
    walk(machine, &small, rules.bounds(), explored_as, extent)
}

/// Lists every edge that a run can take. The walk is small: which edges there are does not depend on how
/// many steps or replans there may be.
pub fn reachable(rules: &CompiledSpec) -> BTreeSet<Taken> {
    let mut taken = sketch(rules).taken;
    // The machine takes an expiry whenever it comes; a driver gives one only if there is a time.
    if rules.spec().limits.answer_seconds.is_none() {
        taken.retain(|edge| !matches!(edge, Taken::Inside(_, what) if what.starts_with(coverage::EXPIRED)));
    }
    taken
}
