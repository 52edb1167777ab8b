//! How far one step is, and what came of it.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contract::Source;
use crate::machine::vocabulary::{Denial, FailureClass, TraceLine};

/// How far one step is. Tries are counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StepRun {
    #[default]
    Pending,
    /// Its tool is being called, or the agent that does it is being asked.
    Running { attempt: u32 },
    /// It failed and is tried again, for the `attempt`th time, when some time has passed.
    Waiting { attempt: u32 },
    /// A person is being asked: to do it, or to approve its call.
    WaitingHuman,
    /// An agent does it in a run of its own, which the task keeps under the step's position.
    Nested { attempt: u32 },
    /// Done after so many tries; 0 where a person's answer stands in its place.
    Completed {
        output: StepOutput,
        sources: Box<[Source]>,
        /// The output as data, if a tool gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Box<Value>>,
        attempts: u32,
        /// Whether the reply came out of the cache.
        cached: bool,
        /// The write that was made earlier in the run and stands for this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<Box<str>>,
        /// The trace of the agent's own run.
        nested: Option<Box<[TraceLine]>>,
    },
    /// Failed after so many tries; 0 where it was not tried.
    Failed { failure: StepFailure, attempts: u32, nested: Option<Box<[TraceLine]>> },
    /// Left out: it repeats a step, or what remained of the plan was left out.
    Skipped { same_as: Option<u32> },
}

/// What came of a step that is done. What is not text becomes text only when it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutput {
    /// What a tool returned, an agent wrote or a person said.
    Text(String),
    /// The `final_answer` step: it is recorded, never called.
    FinalStep,
    /// A person approved it without a word.
    Approved,
    /// A person put other steps in the place of those behind it.
    Edited,
}

/// How a step failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    /// One word for the kind: `timeout`, `dependency`, `rejected`, ….
    pub(crate) kind: Cow<'static, str>,
    /// The failure as models and people are shown it. Nothing is read out of it again.
    pub(crate) shown: String,
}

/// The kind of a step that a person said no to.
pub(crate) const REJECTED: &str = "rejected";

/// The kind of a step that was not started because one that it waits for was left out.
pub(crate) const LEFT_OUT: &str = "left_out";

/// The kind of a call that was not made, because its tool or its arguments are none that may be.
pub(super) const REFUSED_CALL: &str = "call";

/// The kinds of failure that a planner may be told after untrusted output was read. A tool's own word is `other`.
pub(crate) const FAILURE_KINDS: [&str; 32] = [
    "agent",
    "ambiguous",
    "argument_untrusted",
    "authority_missing",
    "authority_spent",
    "bad_request",
    "connection",
    "content_filter",
    "context_length",
    "dependency",
    "egress_untrusted",
    "http",
    "input",
    "internal",
    "length",
    "limit",
    "not_found",
    "nothing_found",
    "other",
    "panic",
    "plan_tainted_write",
    "question_limit",
    "reference_type",
    "refusal",
    "reply",
    "resources",
    "response",
    "timeout",
    "too_large",
    LEFT_OUT,
    REFUSED_CALL,
    REJECTED,
];

/// Up to how many an orchestrator is told the number of results that it is not shown.
pub(crate) const MOST_COUNTED: usize = 5;

impl StepFailure {
    /// The kind, if it is one of [`FAILURE_KINDS`], else `other`.
    pub(crate) fn known_kind(&self) -> &'static str {
        FAILURE_KINDS.into_iter().find(|kind| *kind == self.kind).unwrap_or("other")
    }

    pub(crate) fn new(kind: impl Into<Cow<'static, str>>, message: impl fmt::Display) -> Self {
        let kind = kind.into();
        let shown = format!("ERROR: {kind}: {message}");
        StepFailure { kind, shown }
    }
}

impl StepRun {
    pub(crate) fn completed(output: StepOutput, attempts: u32) -> Self {
        StepRun::Completed {
            output,
            sources: Box::default(),
            data: None,
            attempts,
            cached: false,
            made_by: None,
            nested: None,
        }
    }

    pub(crate) fn failed(failure: StepFailure, attempts: u32) -> Self {
        StepRun::Failed { failure, attempts, nested: None }
    }

    /// The step's result as models and people are shown it, if it has one.
    pub(crate) fn output(&self) -> Option<&str> {
        Some(match self {
            StepRun::Failed { failure, .. } => &failure.shown,
            StepRun::Completed { output, .. } => match output {
                StepOutput::Text(text) => text,
                StepOutput::FinalStep => "(final step - no tool execution)",
                StepOutput::Approved => "approved",
                StepOutput::Edited => "(the remaining steps were edited)",
            },
            _ => return None,
        })
    }

    /// The kind of failure that a planner may be told, if it failed.
    pub(crate) fn failure_kind(&self) -> Option<&'static str> {
        if let StepRun::Failed { failure, .. } = self { Some(failure.known_kind()) } else { None }
    }

    /// The output as data.
    pub(crate) fn data(&self) -> Option<&Value> {
        if let StepRun::Completed { data, .. } = self { data.as_deref() } else { None }
    }

    pub(crate) fn sources(&self) -> &[Source] {
        if let StepRun::Completed { sources, .. } = self { sources } else { &[] }
    }

    /// How often it was tried so far, a try under way included.
    pub(crate) fn attempts(&self) -> u32 {
        match self {
            StepRun::Pending | StepRun::Skipped { .. } => 0,
            StepRun::WaitingHuman => 1,
            StepRun::Running { attempt } | StepRun::Nested { attempt } => *attempt,
            StepRun::Waiting { attempt } => attempt.saturating_sub(1),
            StepRun::Completed { attempts, .. } | StepRun::Failed { attempts, .. } => *attempts,
        }
    }

    /// Whether it is a call that could not be made. Its input is the arguments as they came.
    pub(crate) fn is_refused_call(&self) -> bool {
        matches!(self, StepRun::Failed { failure, attempts: 0, .. } if failure.kind == REFUSED_CALL)
    }

    /// Whether it was not started because one of its references fits no value, or several.
    pub(crate) fn is_ambiguous(&self) -> bool {
        matches!(self, StepRun::Failed { failure, attempts: 0, .. } if failure.kind == "ambiguous")
    }

    /// Why it was not started, if it was refused for want of authority.
    pub(crate) fn denial(&self) -> Option<Denial> {
        match self {
            StepRun::Failed { failure, attempts: 0, .. } => {
                Denial::ALL.into_iter().find(|denial| denial.code() == failure.kind)
            }
            _ => None,
        }
    }

    /// Whether it was left out without a try, by a rule or a person's word: the run goes on without it.
    pub(crate) fn is_left_out(&self) -> bool {
        let left_out = matches!(self, StepRun::Failed { failure, attempts: 0, .. } if [REJECTED, LEFT_OUT].contains(&&*failure.kind));
        left_out || self.denial().is_some()
    }

    /// Whether it counts as a call that was made: so does one that failed, or that a person answered.
    pub(crate) fn counts_as_made(&self) -> bool {
        match self {
            StepRun::Completed { .. } => true,
            StepRun::Failed { attempts, .. } => *attempts > 0,
            _ => false,
        }
    }

    pub(crate) fn status(&self) -> &'static str {
        match self {
            StepRun::Pending => "pending",
            StepRun::Running { .. } | StepRun::Waiting { .. } | StepRun::Nested { .. } => "running",
            StepRun::WaitingHuman => "waiting_human",
            StepRun::Completed { .. } => "completed",
            StepRun::Failed { .. } => "failed",
            StepRun::Skipped { .. } => "skipped",
        }
    }

    /// Whether something is awaited for it.
    pub(crate) fn is_running(&self) -> bool {
        !self.is_finished() && *self != StepRun::Pending
    }

    /// Whether nothing more will happen to it.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self, StepRun::Completed { .. } | StepRun::Failed { .. } | StepRun::Skipped { .. })
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self, StepRun::Failed { .. })
    }

    /// Whether it failed for want of anything to work on, which another try would not find either.
    pub(crate) fn found_nothing(&self) -> bool {
        let nothing = FailureClass::NothingFound.to_string();
        matches!(self, StepRun::Failed { failure, .. } if failure.kind == nothing)
    }
}
