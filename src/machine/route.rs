//! Route: the whole phase graph. A phase says how it ended; only this file says what follows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::{Gate, PhaseName};
use crate::spec::{OnExhausted, Policy, Validate};

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// PLAN has an accepted plan.
    Planned,
    /// EXECUTE has a result for every step.
    Executed,
    /// EXECUTE has a failed step, and the policy says to plan anew.
    StepFailed,
    /// VALIDATE accepted the results.
    Accepted,
    /// VALIDATE rejected the results.
    Rejected,
    /// WRITE has the answer.
    Written,
    /// Something ended the run: no usable reply, a failed step that may not fail, a limit, a person.
    Failed,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Exit::Planned => "planned",
            Exit::Executed => "executed",
            Exit::StepFailed => "step failed",
            Exit::Accepted => "accepted",
            Exit::Rejected => "rejected",
            Exit::Written => "written",
            Exit::Failed => "failed",
        })
    }
}

/// One edge of the phase graph, taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Move {
    /// The phase that ended.
    pub from: PhaseName,
    /// How it ended.
    pub exit: Exit,
    /// The phase that follows.
    pub to: PhaseName,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A draft of a new plan, counted as a replan where one was sent back.
    Plan,
    Execute,
    Validate,
    Write(Gate),
    Done,
    /// The run ends. `exhausted` where it is for want of replans and not yet said.
    Error {
        exhausted: bool,
    },
}

/// The phase graph.
pub(super) fn route(policy: &Policy, exit: Exit, replans_left: bool) -> Next {
    match exit {
        Exit::Planned => Next::Execute,
        Exit::Executed => match policy.validate {
            Validate::Verdict | Validate::Sufficiency => Next::Validate,
            Validate::Off => Next::Write(Gate::ValidationOff),
        },
        Exit::Accepted => Next::Write(Gate::Accepted),
        Exit::StepFailed | Exit::Rejected if replans_left => Next::Plan,
        Exit::StepFailed | Exit::Rejected => match policy.on_exhausted {
            OnExhausted::Write => Next::Write(Gate::Exhausted),
            OnExhausted::Fail => Next::Error { exhausted: true },
        },
        Exit::Written => Next::Done,
        Exit::Failed => Next::Error { exhausted: false },
    }
}
