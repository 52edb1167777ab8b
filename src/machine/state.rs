//! The state of a run: the phase with its stage, and the task's memory.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::Usage;
use super::trace::TraceLine;
use crate::contract::plan::Links;
use crate::contract::{ContractError, Plan};

/// A run at one moment. It serialises whole: written, read and stepped is the same as stepped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What the run is doing.
    pub phase: Phase,
    /// What the run knows.
    pub task: Box<Task>,
}

/// The six phases. What a phase is doing at the moment is data inside it: its stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Phase {
    /// A plan is made.
    Plan(PlanStage),
    /// The steps of an accepted plan run.
    Execute(ExecuteStage),
    /// The results are judged.
    Validate(Asking),
    /// The answer is written.
    Write(Writing),
    /// There is an answer. Nothing more happens.
    Done,
    /// The run ended without one. Nothing more happens.
    Error,
}

impl Phase {
    /// The phase without its stage.
    pub fn name(&self) -> PhaseName {
        match self {
            Phase::Plan(_) => PhaseName::Plan,
            Phase::Execute(_) => PhaseName::Execute,
            Phase::Validate(_) => PhaseName::Validate,
            Phase::Write(_) => PhaseName::Write,
            Phase::Done => PhaseName::Done,
            Phase::Error => PhaseName::Error,
        }
    }
}

/// The name of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PhaseName {
    /// See [`Phase::Plan`].
    Plan,
    /// See [`Phase::Execute`].
    Execute,
    /// See [`Phase::Validate`].
    Validate,
    /// See [`Phase::Write`].
    Write,
    /// See [`Phase::Done`].
    Done,
    /// See [`Phase::Error`].
    Error,
}

impl PhaseName {
    /// Whether nothing follows this phase.
    pub fn is_terminal(self) -> bool {
        matches!(self, PhaseName::Done | PhaseName::Error)
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhaseName::Plan => "PLAN",
            PhaseName::Execute => "EXECUTE",
            PhaseName::Validate => "VALIDATE",
            PhaseName::Write => "WRITE",
            PhaseName::Done => "DONE",
            PhaseName::Error => "ERROR",
        })
    }
}

/// What PLAN is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStage {
    /// Waiting for a planner's reply: the first plan, or one after a rejection.
    Drafting(Asking),
}

/// What EXECUTE is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecuteStage {
    /// Steps run.
    Running,
}

/// Waiting for one reply of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// Which asking this is, from 1; later ones are repairs.
    pub ask: u32,
    /// What was wrong with the reply before, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Box<Repair>>,
}

impl Asking {
    /// The first asking.
    pub fn first() -> Self {
        Asking { ask: 1, repair: None }
    }
}

/// What WRITE is doing: waiting for the writer, and why it may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writing {
    /// Why the run may write.
    pub gate: Gate,
    /// The reply it waits for.
    #[serde(flatten)]
    pub asking: Asking,
}

/// Why a run may enter WRITE. There is no other way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The validator accepted.
    Accepted,
    /// The policy has no validator.
    ValidationOff,
    /// The replans are used up and the policy says to answer with what there is.
    Exhausted,
}

/// A reply that broke its contract, to be shown to the model with the error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// What was wrong, and where.
    pub error: ContractError,
    /// The reply, cut to a bounded length.
    pub reply: String,
}

/// What a run starts from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question. It is never rewritten: every role sees it as it was asked.
    pub question: String,
    /// The time of asking with its time zone, as the models are shown it (RFC 9557, such as
    /// `2026-11-20T09:30:00+09:00[Asia/Seoul]`); empty where the models are not to know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
}

impl Input {
    /// A question, without a time.
    pub fn question(question: impl Into<String>) -> Self {
        Input { question: question.into(), now: String::new() }
    }
}

/// The task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What the run started from.
    pub input: Input,
    /// Which draft of the plan is being made or carried out, from 1.
    pub draft: u32,
    /// Why the plan before was sent back, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// The plan being carried out, and how far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What came of the run so far.
    pub artifacts: Artifacts,
    /// What went wrong so far, in order: bad replies and what ended the run. Failed steps are in the
    /// steps, rejections in the trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What was spent so far.
    pub counters: Counters,
    /// Whether untrusted output has been read. It only ever becomes true.
    pub tainted: bool,
    /// One line for each phase visit and for what happened between them.
    pub trace: Vec<TraceLine>,
}

impl Task {
    /// The error that ended the run, where one did.
    pub fn error(&self) -> Option<&RunError> {
        self.artifacts.error.as_ref()
    }
}

/// Why a plan was sent back to PLAN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The validator's reason, or which step failed.
    pub reason: String,
    /// What the next plan should do differently; empty where nobody said.
    pub fix_hint: String,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Artifacts {
    /// Earlier plans with their results, oldest first: the audit trail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Progress>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_answer: Option<String>,
    /// What ended the run without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

/// A plan being carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The plan. Frozen.
    pub plan: Arc<Plan>,
    /// How many replies it took to get the plan, repairs included.
    pub plan_asks: u32,
    /// How many replies it took to get a verdict on its results; 0 before there is one.
    pub verdict_asks: u32,
    /// Whether the plan was made after untrusted output had been read.
    pub tainted: bool,
    /// One slot for each step, in plan order.
    pub steps: Vec<StepRun>,
    /// Which steps may start.
    pub schedule: Schedule,
}

impl Progress {
    /// Whether the step's tool was called and has answered.
    pub(super) fn was_called(&self, step: u32) -> bool {
        let at = step as usize;
        let (Some(run), Some(planned)) = (self.steps.get(at), self.plan.steps.get(at)) else {
            return false;
        };
        run.output().is_some() && !planned.is_final() && self.failed_need(at).is_none()
    }

    /// The first of the steps that a step waits for that failed, if one did.
    pub(super) fn failed_need(&self, step: usize) -> Option<u32> {
        let needs = self.schedule.links.needs.get(step)?;
        let failed = |&need: &u32| matches!(self.steps.get(need as usize), Some(StepRun::Failed { .. }));
        needs.iter().copied().find(|need| failed(need))
    }
}

/// How far one step is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum StepRun {
    /// Not started.
    #[default]
    Pending,
    /// Its tool is being called.
    Running {
        /// Which try, from 1.
        attempt: u32,
    },
    /// Done.
    Completed {
        /// What the tool returned.
        output: String,
    },
    /// Failed; the output is `ERROR: <kind>: <message>`.
    Failed {
        /// The failure as a result.
        output: String,
    },
}

impl StepRun {
    /// The step's result, where it has one.
    pub fn output(&self) -> Option<&str> {
        match self {
            StepRun::Completed { output } | StepRun::Failed { output } => Some(output),
            StepRun::Pending | StepRun::Running { .. } => None,
        }
    }

    /// The status by name.
    pub fn status(&self) -> &'static str {
        match self {
            StepRun::Pending => "pending",
            StepRun::Running { .. } => "running",
            StepRun::Completed { .. } => "completed",
            StepRun::Failed { .. } => "failed",
        }
    }
}

/// Which steps may start: counted, never searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Which steps wait for which.
    pub links: Links,
    /// For each step, how many of those it waits for are unfinished; empty where none waits.
    pub missing: Vec<u32>,
    /// Steps that wait for nothing and have not started.
    pub ready: BTreeSet<u32>,
    /// How many steps run.
    pub running: u32,
    /// How many steps are finished, failed ones included.
    pub finished: u32,
    /// How many steps failed.
    pub failed: u32,
    /// Whether the step that runs must run alone.
    pub alone: bool,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The phase it happened in.
    pub phase: PhaseName,
    /// The draft it happened in, from 1.
    pub draft: u32,
    /// What it was.
    pub message: String,
}

/// What ended a run without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The kind.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for RunError {}

/// The kinds of errors that end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// No usable plan came.
    PlanError,
    /// A step failed and the policy says to stop.
    ExecuteError,
    /// No usable verdict came.
    ValidateError,
    /// No usable answer came.
    WriteError,
    /// The validator rejected once more than there are replans.
    ValidationFailedMaxReplans,
    /// A step failed once more than there are replans.
    StepFailedMaxReplans,
    /// `max_transitions` is used up.
    MaxStepsExceeded,
    /// `max_model_calls` is used up.
    MaxModelCallsExceeded,
    /// `max_tool_calls` is used up.
    MaxToolCallsExceeded,
    /// Someone stopped the run.
    Cancelled,
    /// The deadline passed.
    DeadlineExceeded,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorCode::PlanError => "PLAN_ERROR",
            ErrorCode::ExecuteError => "EXECUTE_ERROR",
            ErrorCode::ValidateError => "VALIDATE_ERROR",
            ErrorCode::WriteError => "WRITE_ERROR",
            ErrorCode::ValidationFailedMaxReplans => "VALIDATION_FAILED_MAX_REPLANS",
            ErrorCode::StepFailedMaxReplans => "STEP_FAILED_MAX_REPLANS",
            ErrorCode::MaxStepsExceeded => "MAX_STEPS_EXCEEDED",
            ErrorCode::MaxModelCallsExceeded => "MAX_MODEL_CALLS_EXCEEDED",
            ErrorCode::MaxToolCallsExceeded => "MAX_TOOL_CALLS_EXCEEDED",
            ErrorCode::Cancelled => "CANCELLED",
            ErrorCode::DeadlineExceeded => "DEADLINE_EXCEEDED",
        })
    }
}

/// What a run has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Plans sent back so far, by rejections and step failures alike.
    pub replans: u32,
    /// Model calls asked for.
    pub model_calls: u32,
    /// Tool calls asked for.
    pub tool_calls: u32,
    /// Transitions made.
    pub transitions: u32,
    /// Tokens, summed over all replies.
    pub usage: Usage,
}
