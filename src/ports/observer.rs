//! The port of observers: what screens, streams and telemetry see of a run while it goes on.
//!
//! **Invariant:** an observer cannot change a run, and times are in its signals only, never in a trace.

use std::time::Duration;

use super::model::{ModelServer, Unanswered};
use crate::contract::Source;
use crate::machine::{EffectId, EffectKind, Event, PhaseName, State, TraceLine, Usage};
use crate::prompt::{RequestBody, TraceContext};
use crate::spec::Spec;

/// Something that an observer may show or measure. Every effect comes in a pair with the same [`Span`]:
/// [`Asked`](Signal::Asked), then [`Answered`](Signal::Answered).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// The run begins. Nothing was asked yet.
    Began(Beginning<'a>),
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
        /// What the world said, as it is on record; nothing where there was no answer.
        event: Option<&'a Event>,
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
        /// The last effect that the result is of, or the step whose nested run it is.
        effect: EffectId,
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
    /// The run has ended, or stops here: it waits for a person, or got no answer.
    Ended {
        /// The state that it ends in.
        state: &'a State,
        /// Why there was no answer, in a word; see [`Answer::failure`].
        failure: Option<&'a str>,
        /// When, in milliseconds since 1970.
        at: u64,
    },
}

/// What a run is and starts from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Beginning<'a> {
    /// The run's id.
    pub run: &'a str,
    /// The thread that it is a turn of; empty where it stands alone.
    pub thread: &'a str,
    /// The spec that it begins with.
    pub spec: &'a Spec,
    /// The question.
    pub question: &'a str,
    /// The name of the model that is asked where a role names none.
    pub model: &'a str,
    /// The servers of models that may be asked.
    pub servers: &'a [ModelServer],
    /// The span of the request that began it, if that was traced.
    pub parent: Option<&'a TraceContext>,
    /// When, in milliseconds since 1970.
    pub at: u64,
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
    /// When that which is told of it happened, in milliseconds since 1970, as the records have it.
    pub at: u64,
}

impl Span<'_> {
    /// Which try it is, from 1: a later asking of a role, or a later call of a step's tool.
    pub fn attempt(&self) -> u32 {
        match self.effect.kind {
            EffectKind::Scope { ask }
            | EffectKind::PreviousContext { ask }
            | EffectKind::Intent { ask }
            | EffectKind::Grant { ask }
            | EffectKind::Plan { ask, .. }
            | EffectKind::Orchestrate { ask, .. }
            | EffectKind::Validate { ask, .. }
            | EffectKind::Write { ask, .. } => ask,
            EffectKind::Fill { ask, .. } => ask.into(),
            EffectKind::Step { attempt, .. } | EffectKind::Wait { attempt, .. } => attempt,
            EffectKind::Pick { nth, .. } => nth,
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
    /// `expired` if a person did not answer in time.
    pub failure: Option<&'a str>,
    /// Whether the run stopped before an answer.
    pub is_open: bool,
}

/// Sees a run go by. Called on the thread that runs the loop.
pub trait Observer {
    /// Takes a signal.
    fn notice(&self, signal: Signal<'_>);

    /// Whether signals are wanted at all. A run that is not watched measures nothing.
    fn is_watching(&self) -> bool {
        true
    }

    /// The span of a run that begins or goes on, if the run is traced: models and tools are told theirs then.
    fn trace(&self, run: &str, parent: Option<&TraceContext>) -> Option<TraceContext> {
        let _ = (run, parent);
        None
    }

    /// What happened in a run before it goes on, for an observer that wants to know: `tell` tells it to the one that
    /// it is given.
    fn recall(&self, tell: &dyn Fn(&dyn Observer)) {
        let _ = tell;
    }

    /// Whether to look through the replies of models for [`Signal::Said`].
    fn wants_thoughts(&self) -> bool {
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
