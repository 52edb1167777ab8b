//! The machine: the rules by which a run moves.
//!
//! ```text
//!          ┌──────────────────────── replan ───────────────────────┐
//!          ▼                                                       │
//! start ─▶ PLAN ─ planned ─▶ EXECUTE ─ executed ─▶ VALIDATE ─ rejected
//!          │ ▲                 │    └─ validation off ─┐   │ accepted
//!          │ └─ step failed ───┤                       ▼   ▼
//!          └────── failed ─────┴──── failed ──────────▶ WRITE ─ written ─▶ DONE
//!                     └▶ ERROR ◀── failed, limit reached, cancelled ──┘
//! ```
//!
//! Three functions, all pure and by value: [`start`] begins a run, [`admit`] says whether an event
//! fits, [`transition`] moves a run by one event. Each phase has a file and ends in an exit; the
//! file `route.rs` alone says which phase follows. [`explore`] walks all of it.
//!
//! **Invariant:** nothing in this folder does I/O, reads a clock or draws a random number, and
//! nothing in it can fail because of the world. A time-out, a refused connection and nonsense from a
//! model are all events.

mod amend;
mod approve;
mod budget;
mod context;
mod dispatch;
mod effect_id;
mod ending;
mod event;
mod execute;
pub mod explore;
mod hierarchy;
mod human;
mod intake;
mod nested;
mod orchestrate;
mod outstanding;
mod plan;
mod refusal;
mod reply;
mod route;
mod schedule;
mod spending;
mod state;
mod tool_approval;
mod trace;
mod validate;
mod view;
mod write;

pub use effect_id::{EffectId, EffectKind, Path, Place};
pub use event::{Effect, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, ToolOutcome, Usage};
pub use nested::{Local, local};
pub use outstanding::{awaited, outstanding};
pub use refusal::{Refusal, Refused, admit};
pub use route::{Exit, Move};
pub use state::{
    Artifacts, Asking, Counters, Decided, Draft, ErrorCode, ExecuteStage, Failure, Feedback, Finding, Input,
    NestedRun, Phase, PhaseName, PlanStage, Progress, Repair, RunError, Schedule, Speaker, State, StepRun,
    Task, Turn, Understanding, WriteReason, Writing,
};
pub use trace::{Concern, NestedTrace, Steps, TraceLine};
pub use view::{
    PastStep, PlanView, StepView, collected_info, decision_log, explored, known_by, past_steps, result,
    waits_for_a_person,
};

use smallvec::SmallVec;

use crate::spec::CompiledSpec;

/// What the result of a `final_answer` step says: it is recorded, never called.
pub const FINAL_STEP_OUTPUT: &str = "(final step - no tool execution)";

/// The effects of one step: nearly always one.
pub type Effects = SmallVec<[Effect; 1]>;

/// The phase changes of one step: at most three (PLAN → EXECUTE → WRITE for a plan of only
/// `final_answer`, and one more where a limit is reached on the way).
pub type Moves = SmallVec<[Move; 3]>;

/// A run after one event.
#[derive(Debug)]
pub struct Step {
    /// The state now.
    pub state: State,
    /// What the run asks of the world now.
    pub effects: Effects,
    /// Which edges of the phase graph were taken.
    pub moves: Moves,
}

/// Begins a run: PLAN, waiting for the first plan.
///
/// ```
/// use planwright::machine::{Effect, Input, PhaseName, start};
///
/// let rules = planwright::agents::shipped("validated").unwrap().check()?;
/// let step = start(&rules, Input::question("Why is the sky blue?"));
/// assert_eq!(step.state.phase.name(), PhaseName::Plan);
/// assert!(matches!(step.effects[0], Effect::AskModel { .. }));
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
pub fn start(rules: &CompiledSpec, input: Input) -> Step {
    hierarchy::start(rules, input, false)
}

/// Moves a run by one event. Does no I/O: equal arguments give equal results. An event that does
/// not fit comes back as a [`Refused`] with the state unchanged.
///
/// # Errors
/// What [`admit`] says.
///
/// ```
/// use planwright::machine::{Event, Input, PhaseName, start, transition};
///
/// let rules = planwright::agents::shipped("validated").unwrap().check()?;
/// let begun = start(&rules, Input::question("12/4+9?"));
/// let ended = transition(&rules, begun.state, Event::Cancelled { reason: "changed my mind".into() })?;
/// assert_eq!(ended.state.phase.name(), PhaseName::Error);
///
/// let refused = transition(&rules, ended.state, Event::DeadlinePassed).unwrap_err();
/// assert_eq!(refused.to_string(), "deadline_passed refused in ERROR: the run has ended");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn transition(rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
    match admit(rules, &state, &event) {
        Ok(()) => hierarchy::step(rules, state, event),
        Err(refusal) => Err(Box::new(Refused { state, event, refusal })),
    }
}
