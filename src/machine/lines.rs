//! Lines: what a visit of EXECUTE leaves in the trace, worked out from its steps when it ends, so that
//! it does not depend on the order in which answers came.

use super::run::Run;
use super::state::{StepRun, Task};
use super::vocabulary::{NestedTrace, TraceLine};
use crate::spec::RoleName;

impl Run<'_> {
    /// Leaves the lines of a visit of EXECUTE that ends: those of its steps, then its own.
    pub fn execute_line(&mut self, ok: bool, error: Option<String>) {
        let lines: Vec<TraceLine> = step_lines(&self.task).collect();
        self.task.trace.extend(lines);
        let line = visit_line(&self.task, ok, error);
        self.line(line);
    }
}

/// The lines of single steps, in plan order: what was skipped, what came out of the cache.
fn step_lines(task: &Task) -> impl Iterator<Item = TraceLine> {
    task.drafted().filter_map(|(at, planned, run)| match run {
        StepRun::Skipped { same_as: Some(same) } => Some(TraceLine::Skip {
            step: planned.name(at),
            tool: planned.tool.clone(),
            same_as: task.step_name(*same),
        }),
        StepRun::Completed { cached: true, .. } => {
            Some(TraceLine::Cached { of: RoleName::Agent, step: Some(planned.name(at)) })
        }
        _ => None,
    })
}

/// The line of the visit: what became of the steps of the current draft.
fn visit_line(task: &Task, ok: bool, error: Option<String>) -> TraceLine {
    let (mut num_results, mut num_failed, mut num_retries, mut nested) = (0, 0, 0_u32, Vec::new());
    for (at, planned, run) in task.drafted() {
        num_retries = run.attempts().saturating_sub(1).saturating_add(num_retries);
        let (StepRun::Completed { nested: kept, .. } | StepRun::Failed { nested: kept, .. }) = run else {
            continue;
        };
        num_results += 1;
        num_failed += u32::from(matches!(run, StepRun::Failed { .. }));
        nested.extend(kept.as_ref().map(|kept| NestedTrace {
            step: planned.name(at),
            agent: planned.tool.clone(),
            trace: kept.trace.clone(),
        }));
    }
    TraceLine::Execute { ok, num_results, num_failed, num_retries, nested, error }
}
