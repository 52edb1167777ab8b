//! The port of observers: what screens, streams and telemetry see of a run while it goes on.
//!
//! **Invariant:** an observer cannot change a run, and times are in its signals only, never in a trace.

use std::time::Duration;

use super::model::Unanswered;
use crate::contract::Source;
use crate::machine::{EffectId, EffectKind, PhaseName, TraceLine, Usage};
use crate::prompt::RequestBody;

/// Something that an observer may show or measure. Every effect comes in a pair with the same [`Span`]:
/// [`Asked`](Signal::Asked), then [`Answered`](Signal::Answered).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// The run entered a phase.
    Entered(PhaseName),
    /// An effect is on record and about to be performed.
    Asked {
        /// Which effect of which run.
        span: Span<'a>,
        /// What is asked.
        request: &'a RequestBody<'a>,
    },
    /// An effect was answered, or will not be.
    Answered {
        /// Which effect of which run.
        span: Span<'a>,
        /// How.
        answer: Answer<'a>,
    },
    /// What a model thought, and what it said beside its calls.
    Said {
        /// Which effect of which run.
        span: Span<'a>,
        /// Its thoughts; empty if it shows none.
        thoughts: &'a str,
        /// Its words beside calls; empty where it made none.
        words: &'a str,
    },
    /// A request got no answer and will be made again: what was streamed of its answer is void.
    Retrying {
        /// Which effect of which run.
        span: Span<'a>,
        /// Why, and how many tries there were.
        error: &'a Unanswered,
        /// How many tries there may be.
        most: u32,
        /// How long is waited before the next.
        delay: Duration,
    },
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
        /// How long its last try took; nothing where the step was a whole run.
        duration: Option<Duration>,
    },
    /// The run left a trace line.
    Traced(&'a TraceLine),
    /// A piece of the answer, as it is written.
    Token(&'a str),
    /// What was streamed of the answer so far is void: it was a thought, a word beside a call or a draft.
    Restarted,
    /// Where the answer comes from. Sent once, at the end, if tools named their sources.
    Sources(&'a [Source]),
}

/// One effect of a run, from asking to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span<'a> {
    /// The run's id.
    pub run: &'a str,
    /// The thread that the run is a turn of; empty where it stands alone.
    pub thread: &'a str,
    /// The effect.
    pub effect: EffectId,
    /// Whom it asks; see [`Request::asked`](crate::prompt::Request::asked).
    pub asked: &'a str,
}

impl Span<'_> {
    /// Which try it is, from 1: a later asking of a role, or a later call of a step's tool.
    pub fn attempt(&self) -> u32 {
        match self.effect.kind {
            EffectKind::Scope { ask }
            | EffectKind::PreviousContext { ask }
            | EffectKind::Intent { ask }
            | EffectKind::Plan { ask, .. }
            | EffectKind::Orchestrate { ask, .. }
            | EffectKind::Validate { ask, .. }
            | EffectKind::Write { ask, .. } => ask,
            EffectKind::Step { attempt, .. } | EffectKind::Wait { attempt, .. } => attempt,
            EffectKind::Human { .. } | EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. } => 1,
        }
    }
}

/// What came of an effect, apart from the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer<'a> {
    /// The time since it was asked.
    pub duration: Duration,
    /// What a model's reply cost.
    pub usage: Option<Usage>,
    /// Whether the reply came out of a cache: no model was asked for it.
    pub cached: bool,
    /// The class of failure, in a word: of a model ([`FailureClass`](crate::machine::FailureClass)), of a
    /// tool ([`ToolErrorKind`](super::ToolErrorKind)) or of the transport ([`Cause`](super::Cause));
    /// `expired` if a person did not answer in time, `open` if the run stopped before an answer.
    pub failure: Option<&'a str>,
}

/// Sees a run go by. Called on the thread that runs the loop.
pub trait Observer {
    /// Takes a signal.
    fn notice(&self, signal: Signal<'_>);

    /// Whether signals are wanted at all. A run that is not watched measures nothing.
    fn is_watching(&self) -> bool {
        true
    }

    /// Whether to stream the answer as [`Signal::Token`]. The stream may be cut short or given up for
    /// another answer: only the run has the answer.
    fn wants_tokens(&self) -> bool {
        false
    }
}

/// The observer that watches nothing.
impl Observer for () {
    fn notice(&self, _: Signal<'_>) {}

    fn is_watching(&self) -> bool {
        false
    }
}
