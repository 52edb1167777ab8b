//! The machine that is walked: the real one, or one that a test breaks on purpose.

use crate::machine::{Event, Input, Refusal, Refused, State, Step, admit, start, transition};
use crate::spec::CompiledSpec;

/// The three functions that are walked.
pub trait Machine {
    /// See [`start`].
    fn start(&self, rules: &CompiledSpec, input: Input) -> Step {
        start(rules, input)
    }

    /// See [`admit`](admit()).
    ///
    /// # Errors
    /// Why the event does not fit.
    fn admit(&self, rules: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
        admit(rules, state, event)
    }

    /// See [`transition`].
    ///
    /// # Errors
    /// The event, refused.
    fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        transition(rules, state, event)
    }
}

/// The machine that this crate runs.
#[derive(Clone, Copy, Debug)]
pub struct Real;

impl Machine for Real {}
