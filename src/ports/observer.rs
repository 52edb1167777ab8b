//! The observer: what screens, streams and telemetry see of a run while it goes on.

use std::time::Duration;

use serde_json::Value;

use crate::contract::Source;
use crate::machine::{EffectId, PhaseName, TraceLine};
use crate::spec::RoleName;

/// Something to show. What is said here is never asked for by the machine, so an observer cannot
/// change a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// The run entered a phase.
    Entered(PhaseName),
    /// A model is being asked.
    Asking {
        /// The effect.
        effect: EffectId,
        /// The role.
        role: RoleName,
    },
    /// A tool is being called.
    Calling {
        /// The effect.
        effect: EffectId,
        /// The step's position, from 0.
        step: u32,
        /// The tool.
        tool: &'a str,
        /// What it is called with.
        input: &'a Value,
    },
    /// A person is to be asked. Whether anybody is there shows later.
    AskingHuman {
        /// The effect.
        effect: EffectId,
        /// The step's position, from 0.
        step: u32,
        /// The question.
        question: &'a str,
    },
    /// The run waits before another try.
    Waiting {
        /// The effect.
        effect: EffectId,
        /// How long.
        delay: Duration,
    },
    /// A reply came out of the cache: no model was asked for it.
    Cached {
        /// The effect.
        effect: EffectId,
    },
    /// Where the answer comes from. Comes once, as the run is done, and only where a tool said so.
    Sources(&'a [Source]),
    /// A step has a result.
    Finished {
        /// The step's position, from 0.
        step: u32,
        /// The tool.
        tool: &'a str,
        /// Whether it failed.
        failed: bool,
        /// What it returned, or how it failed.
        output: &'a str,
    },
    /// The run left a trace line.
    Traced(&'a TraceLine),
    /// A piece of the answer, as the writer streams it.
    Token(&'a str),
}

/// Sees a run go by. Called on the thread that runs the loop.
pub trait Observer {
    /// Takes a signal.
    fn notice(&self, signal: Signal<'_>);

    /// Whether to stream the answer as [`Signal::Token`]. What is streamed may be less than the answer,
    /// or be given up for another one: the run has the answer.
    fn wants_tokens(&self) -> bool {
        false
    }
}

/// Nobody looks.
pub struct Nobody;

impl Observer for Nobody {
    fn notice(&self, _: Signal<'_>) {}
}
