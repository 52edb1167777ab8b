//! The machine: the rules by which a run moves.
//!
//! ```text
//! start ─▶ PLAN
//! PLAN     ─ declined ─▶ PLAN
//! PLAN     ─ planned ─▶ EXECUTE
//! PLAN     ─ nothing to do ─▶ WRITE
//! PLAN     ─ answered, out of scope ─▶ DONE
//! PLAN     ─ declined, failed ─▶ ERROR
//! EXECUTE  ─ declined, executed, step failed ─▶ PLAN
//! EXECUTE  ─ executed ─▶ VALIDATE
//! EXECUTE  ─ executed, step failed ─▶ WRITE
//! EXECUTE  ─ declined, executed, failed, step failed ─▶ ERROR
//! VALIDATE ─ rejected ─▶ PLAN
//! VALIDATE ─ accepted, rejected ─▶ WRITE
//! VALIDATE ─ accepted, rejected ─▶ DONE
//! VALIDATE ─ failed, rejected ─▶ ERROR
//! WRITE    ─ step failed ─▶ PLAN
//! WRITE    ─ written ─▶ VALIDATE
//! WRITE    ─ written ─▶ DONE
//! WRITE    ─ failed, step failed ─▶ ERROR
//! ```
//!
//! Three functions, all pure and by value: [`start`] begins a run, [`admit`](admit()) says whether an event
//! fits, [`transition`] moves a run by one event. Each phase has a file and ends in an exit; the
//! file `route.rs` alone says which phase follows. [`explore`] walks all of it.
//!
//! A whole run by hand: answer what is asked until nothing is.
//!
//! ```
//! use planwright::machine::{Effect, Event, Input, ModelReply, ToolOutcome, start, transition};
//! use planwright::spec::RoleName;
//!
//! let compiled = planwright::agents::shipped("validated").unwrap().check()?;
//! let begun = start(&compiled, Input::question("12/4+9?"));
//! let (mut state, mut effects) = (begun.state, begun.effects);
//! while let Some(effect) = effects.pop() {
//!     let id = effect.id();
//!     let replied = |text: &str| Event::ModelReplied { effect: id, reply: ModelReply::text(text) };
//!     let event = match effect {
//!         Effect::AskModel { role: RoleName::Planner, .. } => replied(
//!             r#"{"goal": "a number", "steps": [
//!                 {"tool": "calc", "input": "12/4+9"},
//!                 {"tool": "final_answer", "input": "say it"}]}"#,
//!         ),
//!         Effect::AskModel { role: RoleName::Validator, .. } => {
//!             replied(r#"{"ok": true, "reason": "it is the number", "fix_hint": ""}"#)
//!         }
//!         Effect::AskModel { .. } => replied("It is 12."),
//!         _ => Event::ToolReturned { effect: id, outcome: ToolOutcome::returned("12") },
//!     };
//!     let step = transition(&compiled, state, event)?;
//!     state = step.state;
//!     effects.extend(step.effects);
//! }
//! assert_eq!(state.answer(), Some("It is 12."));
//! let refused = transition(&compiled, state, Event::DeadlinePassed).unwrap_err();
//! assert_eq!(refused.to_string(), "deadline_passed refused in DONE: the run has ended");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariant:** nothing in this folder does I/O, reads a clock or draws a random number, and
//! nothing in it can fail because of the world. A time-out, a refused connection and nonsense from a
//! model are all events.

mod admit;
mod authority;
mod awaits;
mod batch;
pub mod explore;
mod hierarchy;
mod phase;
mod reply;
mod route;
mod run;
mod state;
mod vocabulary;

pub use admit::{Refused, admit};
pub use awaits::outstanding;
#[doc(hidden)]
pub use awaits::{Local, awaited, local};
#[doc(hidden)]
pub use run::Effects;
pub use run::Step;
#[doc(hidden)]
pub use state::{Decided, Finding, PlanView};
pub use state::{Input, Speaker, State, StepRecord, Turn};
pub use vocabulary::{
    AllowedCall, Counters, Denial, Effect, EffectId, ErrorCode, Event, FailureClass, GrantedBy, HumanAnswer,
    ModelFailure, ModelReply, PhaseName, Refusal, RunError, ToolOutcome, TraceLine, Usage,
};
#[doc(hidden)]
pub use vocabulary::{Concern, EffectKind};

pub(crate) use authority::{asked_instead, void_approvals};
pub(crate) use batch::asked_calls;
pub(crate) use route::{Exit, Move};
pub(crate) use state::{Draft, Feedback, MOST_COUNTED, Phase, Progress, StepRun, Task, explored, known_by};
pub(crate) use vocabulary::{Path, Place, WriteReason};

use crate::spec::CompiledSpec;

/// Begins a run: PLAN, waiting for the first plan.
pub fn start(compiled: &CompiledSpec, input: Input) -> Step {
    hierarchy::start(compiled, input, false)
}

/// Moves a run by one event. Does no I/O: equal arguments give equal results. An event that does
/// not fit comes back as a [`Refused`] with the state unchanged.
///
/// # Errors
/// What [`admit`] says.
pub fn transition(compiled: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
    match admit(compiled, &state, &event) {
        Ok(()) => transition_admitted(compiled, state, event),
        Err(refusal) => Err(Box::new(Refused { state, event, refusal })),
    }
}

/// Moves a run by an event that [`admit`](admit()) has let through.
pub(crate) fn transition_admitted(
    compiled: &CompiledSpec,
    state: State,
    event: Event,
) -> Result<Step, Box<Refused>> {
    hierarchy::step(compiled, state, event)
}
