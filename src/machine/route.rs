//! Route: the whole phase graph. A phase says how it ended; only this file says what follows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::vocabulary::{PhaseName, WriteReason};
use crate::spec::{Horizon, OnExhausted, Policy, Validate, ValidateAt};

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// PLAN found the question out of scope, and has a refusal for the user.
    OutOfScope,
    /// PLAN found that no tool is needed, or no further one.
    NothingToDo,
    /// PLAN has the planner's own words as the answer.
    Answered,
    /// PLAN has an accepted plan.
    Planned,
    /// EXECUTE has a result for every step.
    Executed,
    /// EXECUTE has a failed step, and the policy says to plan anew.
    StepFailed,
    /// PLAN or EXECUTE may not go on with this plan: a person said no, or said nothing in time.
    Declined,
    /// VALIDATE accepted what it judged.
    Accepted,
    /// VALIDATE rejected it.
    Rejected,
    /// WRITE has the answer.
    Written,
    /// Something ended the run: no usable reply, a failed step that may not fail, a limit, a person.
    Failed,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&name.trim_matches('"').replace('_', " "))
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
    /// A draft of a new plan, or of the next steps.
    Plan,
    Execute,
    Validate,
    Write(WriteReason),
    Done,
    /// The run ends; `exhausted` if because PLAN may not be entered again, which is still to be said.
    Error {
        exhausted: bool,
    },
}

/// The phase graph. `again` says whether PLAN may be entered once more, `stands` whether what
/// was done stands though it is rejected.
pub(super) fn route(policy: &Policy, exit: Exit, again: bool, stands: bool) -> Next {
    let judges = policy.validate != Validate::Off;
    match exit {
        Exit::OutOfScope => Next::Done,
        Exit::NothingToDo => Next::Write(WriteReason::NoToolNeeded),
        Exit::Planned => Next::Execute,
        Exit::Executed if judges && policy.validate_at == ValidateAt::Results => Next::Validate,
        Exit::Executed if policy.horizon == Horizon::Next => match again {
            true => Next::Plan,
            false => exhausted(policy, exit, stands),
        },
        Exit::Executed if judges => Next::Write(WriteReason::JudgedAfterwards),
        Exit::Executed => Next::Write(WriteReason::ValidationOff),
        Exit::Answered | Exit::Written => match policy.validate_at {
            ValidateAt::Answer => Next::Validate,
            ValidateAt::Results => Next::Done,
        },
        Exit::Accepted => match policy.validate_at {
            ValidateAt::Answer => Next::Done,
            ValidateAt::Results => Next::Write(WriteReason::Accepted),
        },
        Exit::Rejected | Exit::StepFailed | Exit::Declined if again => Next::Plan,
        Exit::Rejected | Exit::StepFailed | Exit::Declined => exhausted(policy, exit, stands),
        Exit::Failed => Next::Error { exhausted: false },
    }
}

/// PLAN may not be entered again. A person's no is never written around. A validator that has read what is untrusted
/// takes no finished answer away, nor the account of what was done: that stands, with what was said against it.
fn exhausted(policy: &Policy, exit: Exit, stands: bool) -> Next {
    let on_answer = policy.validate_at == ValidateAt::Answer;
    match (policy.on_exhausted, exit) {
        (OnExhausted::Fail, _) | (_, Exit::Declined) if !stands => Next::Error { exhausted: true },
        (_, Exit::Rejected) if on_answer => Next::Done,
        _ => Next::Write(WriteReason::Exhausted),
    }
}
