//! What whoever plans is told: the steps that are kept, what the question calls for, and why a plan was sent back.

use super::object::Payload;
use crate::contract::PlanStep;
use crate::machine::{Feedback, Progress, Task};
use crate::spec::{CompiledSpec, Horizon, Planner};

/// Results with their ids, for a plan that may refer to them.
pub(super) const PAST_STEPS: &str = "past_steps";
const GRANTED: &str = "What the question calls for, frozen before anything was read. Of the calls that write, these alone are made, each once: call the tool with the targets that stand here, and the rest of the input is filled in as it stands here. Make the reads that they refer to first, with these very inputs. A call that is not needed is left out.";
const GRANTED_UNSEEN: &str = "What the question calls for, frozen before anything was read. What was read since is not shown: it has led to a call that the question does not call for. If one of these calls does your task, make it: with what stands here, and with any value of the right type in the place of a reference, which is filled in. Else call what your task itself names.";

impl Payload {
    /// The steps that a planner in JSON keeps.
    pub(super) fn add_past(&mut self, compiled: &CompiledSpec, task: &Task) {
        let policy = compiled.policy();
        let kept = task.progress.as_ref().filter(|_| policy.keeps_steps() && policy.planner == Planner::Json);
        match kept {
            Some(progress) if task.is_closed(policy) => self.add_states(PAST_STEPS, progress, true),
            Some(progress) => self.add_results(PAST_STEPS, compiled, progress, |_, _, _| true),
            None => {}
        }
    }

    pub(super) fn add_planning(&mut self, compiled: &CompiledSpec, task: &Task) {
        let policy = compiled.policy();
        let goes_on = policy.horizon == Horizon::Next && policy.planner != Planner::Json;
        // The first message of a conversation stays what it was.
        if !policy.suggestions.is_empty() && (goes_on || task.draft == 1) {
            self.add_list("suggested_calls", &compiled.suggested(task.query()));
        }
        self.add_granted(task);
        if goes_on {
            return;
        }
        let kept = task.progress.as_ref().filter(|_| policy.keeps_steps());
        let closed = task.is_closed(policy);
        if kept.is_some() && policy.planner == Planner::Json && !closed {
            self.add_parts(task);
        }
        let Some(feedback) = &task.feedback else { return };
        let past = task.artifacts.past.last().filter(|_| kept.is_none());
        self.add_some("rejected_plan", past.map(|past| &past.plan));
        if closed {
            return self.add_closed(feedback, past, past.or(kept));
        }
        if let Some(progress) = past.or(kept).filter(|_| feedback.step_failed) {
            self.add_results("failed_steps", compiled, progress, |_, _, run| run.has_failed());
        }
        self.add_list("dropped_steps", &feedback.dropped);
        self.add_some("rejected_answer", feedback.answer.as_ref());
        self.add_str("rejected_because", &feedback.reason);
        self.add_text("fix_hint", feedback.fix_hint.trim());
    }

    /// The calls that may be made because the question calls for them.
    fn add_granted(&mut self, task: &Task) {
        let Some(granted) = task.authority.granted().filter(|granted| !granted.progress.steps.is_empty())
        else {
            return;
        };
        self.begin_value("granted");
        self.0.push(b'{');
        self.add_str("instruction", if granted.unseen { GRANTED_UNSEEN } else { GRANTED });
        self.add_records("steps", granted.progress.slots(), |record, (at, step, _)| {
            record.add_str("id", &step.name(at));
            record.add_str("tool", &step.tool);
            record.add_value("input", step.input.as_ref());
        });
        self.0.push(b'}');
    }

    /// Why a plan was sent back, in the closed form: nothing in it is anyone's words but ours, the planner's own and a
    /// person's.
    fn add_closed(&mut self, feedback: &Feedback, past: Option<&Progress>, tried: Option<&Progress>) {
        if let Some(past) = past {
            self.add_states("step_states", past, false);
        }
        self.add_list("dropped_steps", &feedback.dropped);
        let Some((verdict, about)) = &feedback.judged else {
            self.add_str("rejected_because", &feedback.reason);
            return self.add_text("fix_hint", feedback.fix_hint.trim());
        };
        self.begin_value("rejected_because");
        self.0.push(b'{');
        self.add("verdict", verdict);
        self.begin_value("steps");
        self.0.push(b'[');
        let step = |at: u32| Some((at, tried?.plan.steps.get(at as usize)?));
        for (at, step) in about.iter().filter_map(|at| step(*at)) {
            self.add_item(step.name(at as usize));
        }
        self.0.extend(b"]}");
        self.add_str("fix_hint", verdict.advice());
    }

    /// What became of each step, without what it returned; with what it was to do unless the plan stands beside it.
    fn add_states(&mut self, key: &str, progress: &Progress, whole: bool) {
        let steps = progress.slots().filter(|(_, step, _)| whole || !step.is_final());
        self.add_records(key, steps, |record, (at, step, run)| {
            if whole {
                record.add("step_index", at);
            }
            match &step.id {
                Some(id) => record.add_str("id", id),
                None => record.add("id", format_args!("step_{}", at + 1)),
            }
            if whole {
                record.add_call(step);
            }
            record.add_str("status", run.status());
            record.add_some("failure", run.failure_kind());
            // What a person said is theirs.
            record.add_some("output", run.output().filter(|_| whole && step.is_hitl() && !run.has_failed()));
        });
    }

    /// What a step is to do, as it was planned.
    pub(super) fn add_call(&mut self, step: &PlanStep) {
        self.add_str("tool", &step.tool);
        self.add_some("with", step.with.as_deref());
        self.add_value("input", step.input.as_ref());
        self.add_some("input_from", step.input_from.as_ref());
        self.add_list("depends_on", &step.depends_on);
        self.add_some("task", step.task.as_ref());
        self.add_some("description", step.description.as_ref().filter(|_| !step.is_hitl()));
        self.add_some("question", step.is_hitl().then(|| step.question()));
    }
}
