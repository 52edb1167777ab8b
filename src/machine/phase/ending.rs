//! Ending: what a visit of EXECUTE and a run that ends leave behind, whatever the order of the answers.

use crate::machine::route::Exit;
use crate::machine::run::Run;
use crate::machine::state::StepRun;
use crate::machine::vocabulary::{ErrorCode, NestedTrace, PhaseName, RunError, TraceLine};
use crate::spec::RoleName;

impl Run<'_> {
    /// Leaves the line of a phase in which the run ends.
    pub(in crate::machine) fn leave_failed(&mut self, phase: PhaseName) {
        let error = self.error.as_ref().map(RunError::to_string);
        if let Some(message) = error.clone() {
            self.note_failure(phase, message);
        }
        let line = match phase {
            PhaseName::Plan => {
                let used_replan_planner = self.uses_replanner();
                TraceLine::Plan { ok: false, used_replan_planner, steps: None, ignored: Vec::new(), error }
            }
            PhaseName::Execute => return self.execute_line(false, error),
            PhaseName::Validate => TraceLine::Validate { ok: false, verdict: None, error },
            PhaseName::Write => TraceLine::Write { ok: false, final_chars: None, error },
            PhaseName::Done | PhaseName::Error => return,
        };
        self.line(line);
    }

    /// Leaves the lines of a visit of EXECUTE that ends: those of its steps in plan order, then its own.
    pub(in crate::machine) fn execute_line(&mut self, ok: bool, error: Option<String>) {
        let task = &*self.task;
        let (mut lines, mut nested) = (Vec::new(), Vec::new());
        let (mut num_results, mut num_failed, mut num_retries) = (0, 0, 0u32);
        for (at, planned, run) in task.drafted() {
            let (step, tool) = (|| planned.name(at), || planned.tool.clone());
            if let Some(code) = run.denial() {
                lines.push(TraceLine::Denied { step: step(), tool: tool(), code });
            } else if let Some(by) = task.authority.used(at as u32).filter(|_| run.attempts() > 0) {
                let parts = task.told_parts(self.compiled, at as u32);
                lines.push(TraceLine::Authority { step: step(), tool: tool(), by: by.clone(), parts });
            }
            let filled = task.progress.as_ref().map_or(0, |progress| progress.filled(at as u32).len());
            if filled > 0 {
                lines.push(TraceLine::Fill { step: step(), tool: tool(), values: filled as u32 });
            }
            num_retries = num_retries.saturating_add(run.attempts().saturating_sub(1));
            num_failed += u32::from(run.has_failed());
            match run {
                StepRun::Skipped { same_as: Some(same) } => {
                    let (step, same_as) = (planned.name(at), task.step_name(*same));
                    lines.push(TraceLine::Skip { step, tool: planned.tool.clone(), same_as });
                }
                StepRun::Completed { made_by: Some(same), .. } => {
                    let (step, same_as) = (planned.name(at), String::from(&**same));
                    lines.push(TraceLine::Skip { step, tool: planned.tool.clone(), same_as });
                }
                StepRun::Completed { cached: true, .. } => {
                    lines.push(TraceLine::Cached { of: RoleName::Agent, step: Some(planned.name(at)) });
                }
                _ => {}
            }
            if let StepRun::Completed { nested: kept, .. } | StepRun::Failed { nested: kept, .. } = run {
                num_results += 1;
                nested.extend(kept.as_ref().map(|trace| NestedTrace {
                    step: planned.name(at),
                    agent: planned.tool.clone(),
                    trace: trace.to_vec(),
                }));
            }
        }
        self.task.trace.append(&mut lines);
        self.line(TraceLine::Execute { ok, num_results, num_failed, num_retries, nested, error });
    }

    /// Ends a run that may not go back to PLAN. The line of the phase before says why already.
    pub(in crate::machine) fn leave_exhausted(&mut self, from: PhaseName, exit: Exit) {
        let task = &self.task;
        let reason = || task.feedback.as_ref().map(|feedback| feedback.reason.clone());
        let (phase, code, message) = match exit {
            Exit::StepFailed => {
                let message = task.first_failure().map(|(step, output)| format!("{step}: {output}"));
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
        self.note_failure(phase, error.to_string());
        self.error = Some(error);
    }

    /// Notes where the answer comes from.
    pub(in crate::machine) fn enter_done(&mut self) {
        let artifacts = &mut self.task.artifacts;
        // An answer that was rejected for the last time is better than none, where the policy says so.
        if artifacts.final_answer.is_none() {
            let feedback = self.task.feedback.as_mut();
            artifacts.final_answer = feedback.and_then(|feedback| feedback.answer.take());
        }
        let sources = self.task.sources().into_iter().cloned().collect();
        self.task.artifacts.sources = sources;
    }

    pub(in crate::machine) fn enter_error(&mut self) {
        self.task.artifacts.error = self.error.take();
        // What was not accepted is no answer.
        self.task.artifacts.final_answer = None;
    }
}
