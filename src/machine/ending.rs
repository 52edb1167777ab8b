//! Ending: what a run that ends without an answer leaves behind.

use std::collections::BTreeSet;

use super::execute::{self, first_failure};
use super::outstanding::drafter;
use super::route::Exit;
use super::state::{ErrorCode, Failure, PhaseName, RunError, Task};
use super::trace::TraceLine;
use crate::contract::Source;
use crate::spec::{CompiledSpec, RoleName};

/// The trace line of a phase in which the run ends.
pub(super) fn leave_line(task: &mut Task, rules: &CompiledSpec, phase: PhaseName, error: Option<&RunError>) {
    let error = error.map(RunError::to_string);
    if let Some(message) = error.clone() {
        task.failures.push(Failure { phase, draft: task.draft, message });
    }
    let line = match phase {
        PhaseName::Plan => {
            let used_replan_planner = drafter(task, rules) == RoleName::Replanner;
            TraceLine::Plan { ok: false, used_replan_planner, steps: None, ignored: Vec::new(), error }
        }
        PhaseName::Execute => return execute::trace(task, false, error),
        PhaseName::Validate => TraceLine::Validate { ok: false, verdict: None, error },
        PhaseName::Write => TraceLine::Write { ok: false, final_chars: None, error },
        PhaseName::Done | PhaseName::Error => return,
    };
    task.trace.push(line);
}

/// The error of a run that may not go back to PLAN. The line of the phase that would send it back
/// says why already, so there is no other.
pub(super) fn exhausted(task: &mut Task, from: PhaseName, exit: Exit) -> RunError {
    let reason = || task.feedback.as_ref().map(|feedback| feedback.reason.clone());
    let (phase, code, message) = match exit {
        Exit::StepFailed => {
            let message = first_failure(task).map(|failure| failure.to_string());
            (PhaseName::Execute, ErrorCode::StepFailedMaxReplans, message)
        }
        Exit::Declined => (from, ErrorCode::Rejected, reason()),
        Exit::Executed => {
            let message = format!("the planner was asked {} times and gave no answer", task.draft);
            (PhaseName::Execute, ErrorCode::MaxIterationsExceeded, Some(message))
        }
        _ => (PhaseName::Validate, ErrorCode::ValidationFailedMaxReplans, reason()),
    };
    let error = RunError { code, message: message.unwrap_or_default() };
    task.failures.push(Failure { phase, draft: task.draft, message: error.to_string() });
    error
}

/// What a run that has an answer leaves behind: where that comes from.
pub(super) fn done(task: &mut Task) {
    let runs = task.progress.iter().flat_map(|progress| &progress.steps);
    let mut known: BTreeSet<&Source> = BTreeSet::new();
    let sources = runs.flat_map(|run| run.sources()).filter(|source| known.insert(source));
    task.artifacts.sources = sources.cloned().collect();
}
