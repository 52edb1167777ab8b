//! Explore: walks every state that a spec can reach, by feeding every kind of event and every kind of
//! reply to the real transition function.
//!
//! States are told apart by an abstraction that keeps every input of a branch and drops the words and the
//! call counters. From the walk come the proof of the invariants ([`Check`]), the longest run
//! ([`Report::longest`]) and the picture ([`mermaid`]), so that picture, proof and code cannot disagree.

mod check;
mod key;
mod letters;
mod reduce;
mod replies;
mod report;
mod walk;

#[doc(hidden)]
pub use check::Machine;
#[doc(hidden)]
pub use key::{Key, key};
#[doc(hidden)]
pub use reduce::reduced;
pub(crate) use report::taken;
pub use report::{Check, Report, mermaid};
#[doc(hidden)]
pub use report::{Taken, arrows, dot};

use std::collections::BTreeSet;

use self::walk::walk;
use crate::spec::{CompiledSpec, Spec};

/// The states after which a walk is given up by default.
#[doc(hidden)]
pub const MOST_STATES: usize = 50_000;

/// The machine that this crate runs.
#[doc(hidden)]
pub struct Real;

impl Machine for Real {}

/// Walks every state that a spec can reach.
///
/// ```
/// use planwright::{agents, machine::explore};
///
/// let compiled = agents::shipped("plan-then-execute").unwrap().check()?;
/// let report = explore::explore(&compiled);
/// assert!(report.holds());
/// assert_eq!(report.longest.model_calls, 2);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn explore(compiled: &CompiledSpec) -> Report {
    explore_with(&Real, compiled, usize::MAX)
}

/// Walks any machine, and gives up if there are more states than this. Then nothing is
/// [decided](Report::undecided), unless what was walked violates an invariant.
#[doc(hidden)]
pub fn explore_with(machine: &dyn Machine, compiled: &CompiledSpec, most_states: usize) -> Report {
    let mut explored_as = Vec::new();
    let small = compile(reduced(compiled.spec().clone(), &mut explored_as));
    Report { explored_as, bounds: compiled.bounds(), ..walk(machine, &small, most_states, true) }
}

/// Walks a spec, checking nothing, with the smallest numbers that have every edge of the phase graph.
#[doc(hidden)]
pub fn sketch(compiled: &CompiledSpec) -> Report {
    walk(&Real, &compile(reduce::smallest(compiled.spec().clone())), usize::MAX, false)
}

fn compile(small: Spec) -> CompiledSpec {
    small.check().expect("a spec that checks still does with smaller numbers")
}

/// Lists every edge that a run can take. Which edges there are does not depend on how many steps or
/// replans there may be, so the walk is small.
pub fn reachable(compiled: &CompiledSpec) -> BTreeSet<Taken> {
    let mut taken = sketch(compiled).taken;
    // The machine takes an expiry whenever it comes; a driver gives one only if there is a time.
    if compiled.spec().limits.answer_seconds.is_none() {
        taken.retain(|edge| !matches!(edge, Taken::Inside(_, what) if what.starts_with(report::EXPIRED)));
    }
    taken
}
