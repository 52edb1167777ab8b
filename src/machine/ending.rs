//! Ending: what a run that ends without an answer leaves behind.

use super::outstanding::drafter;
use super::route::Exit;
use super::state::{ErrorCode, Failure, PhaseName, Progress, RunError, Task};
use super::trace::TraceLine;
use crate::spec::{RoleName, Rules};

/// The trace line of a phase in which the run ends.
pub(super) fn leave_line(task: &mut Task, rules: &Rules, phase: PhaseName, error: Option<&RunError>) {
    let error = error.map(RunError::to_string);
    if let Some(message) = error.clone() {
        task.failures.push(Failure { phase, draft: task.draft, message });
    }
    let line = match phase {
        PhaseName::Plan => {
            let used_replan_planner = drafter(task, rules) == RoleName::Replanner;
            TraceLine::Plan { ok: false, used_replan_planner, steps: None, error }
        }
        PhaseName::Execute => {
            let schedule = task.progress.as_ref().map(|progress| &progress.schedule);
            let (num_results, num_failed) = schedule.map_or((0, 0), |steps| (steps.finished, steps.failed));
            TraceLine::Execute { ok: false, num_results, num_failed, error }
        }
        PhaseName::Validate => TraceLine::Validate { ok: false, verdict: None, error },
        PhaseName::Write => TraceLine::Write { ok: false, final_chars: None, error },
        PhaseName::Done | PhaseName::Error => return,
    };
    task.trace.push(line);
}

/// The error of a run that has no replan left. The line of the phase that sent the plan back says
/// why already, so there is no other.
pub(super) fn exhausted(task: &mut Task, exit: Exit) -> RunError {
    let (phase, code, message) = match exit {
        Exit::StepFailed => {
            let failure = task.progress.as_ref().and_then(Progress::first_failure);
            let message = failure.map(|failure| failure.to_string());
            (PhaseName::Execute, ErrorCode::StepFailedMaxReplans, message)
        }
        _ => {
            let reason = task.feedback.as_ref().map(|feedback| feedback.reason.clone());
            (PhaseName::Validate, ErrorCode::ValidationFailedMaxReplans, reason)
        }
    };
    let error = RunError { code, message: message.unwrap_or_default() };
    task.failures.push(Failure { phase, draft: task.draft, message: error.to_string() });
    error
}
