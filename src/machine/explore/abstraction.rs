//! What makes two states the same for exploring. The key holds every input of a branch: the phase
//! with its stage, how many plans were sent back, whether there is a hint, whether the run is
//! tainted, the shape of the plan and how far it is. It leaves out words, which no branch reads
//! once they are accepted, and call counters, which only grow: that the graph without them has no
//! cycle is the proof that runs end.

use serde::Serialize;

use crate::machine::{
    Asking, ErrorCode, Gate, Phase, PhaseName, PlanStage, Progress, State, StepRun, TraceLine,
};
use crate::spec::Rules;

/// An abstract state. Ordered and serialised, so that reports are the same every time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Key {
    /// The phase.
    pub phase: PhaseName,
    /// Which asking for the current reply this is, 0 where none is asked for.
    pub ask: u32,
    /// Whether the request shows a repair.
    pub repairing: bool,
    /// Why WRITE was entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// What ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
    /// Which draft.
    pub draft: u32,
    /// Plans sent back.
    pub replans: u32,
    /// Plans in the audit trail.
    pub past: usize,
    /// Whether there is feedback, and whether it holds a hint.
    pub feedback: Option<bool>,
    /// Whether untrusted output was read.
    pub tainted: bool,
    /// Whether there is an answer.
    pub answered: bool,
    /// How far the plan is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<PlanKey>,
}

/// How far a plan is. Terminal states hold none: nothing reads it any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PlanKey {
    /// Whether it was made after untrusted output had been read.
    pub tainted: bool,
    /// Replies it took to get plan and verdict.
    pub asks: (u32, u32),
    /// Steps that run, are finished, failed.
    pub counts: (u32, u32, u32),
    /// Whether the step that runs must run alone.
    pub alone: bool,
    /// For each step its kind, and its status where steps differ in kind or wait for each other.
    pub steps: Vec<StepKey>,
    /// For each step, the steps it waits for.
    pub needs: Vec<Vec<u32>>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct StepKey {
    /// The tool.
    pub tool: String,
    /// The status and the try, where it matters which step has it.
    pub status: Option<(&'static str, u32)>,
}

/// The abstraction of a state.
pub fn key(rules: &Rules, state: &State) -> Key {
    let task = &state.task;
    let phase = state.phase.name();
    let asking: Option<&Asking> = match &state.phase {
        Phase::Plan(PlanStage::Drafting(asking)) | Phase::Validate(asking) => Some(asking),
        Phase::Write(writing) => Some(&writing.asking),
        Phase::Execute(_) | Phase::Done | Phase::Error => None,
    };
    let progress = task.progress.as_ref().filter(|_| !phase.is_terminal());
    Key {
        phase,
        ask: asking.map_or(0, |asking| asking.ask),
        repairing: asking.is_some_and(|asking| asking.repair.is_some()),
        gate: match &state.phase {
            Phase::Write(writing) => Some(writing.gate),
            _ => None,
        },
        error: task.error().map(|error| error.code),
        draft: task.draft,
        replans: task.counters.replans,
        past: task.artifacts.past.len(),
        feedback: task.feedback.as_ref().map(|feedback| !feedback.fix_hint.trim().is_empty()),
        tainted: task.tainted,
        answered: task.artifacts.final_answer.is_some(),
        progress: progress.map(|progress| plan_key(rules, progress)),
    }
}

fn plan_key(rules: &Rules, progress: &Progress) -> PlanKey {
    let schedule = &progress.schedule;
    let tools: Vec<&str> =
        progress.plan.steps.iter().filter(|step| !step.is_final()).map(|step| step.tool.as_str()).collect();
    // Independent steps of one kind are interchangeable, except that one by one they keep order
    // anyway; steps that differ, or wait for each other, are not.
    let alike = tools.windows(2).all(|pair| pair[0] == pair[1]) && schedule.links.needs.is_empty();
    let one_by_one = rules.policy().execution.width() == 1;
    let status = |run: &StepRun| match run {
        StepRun::Running { attempt } => (run.status(), *attempt),
        _ => (run.status(), 0),
    };
    let in_order = one_by_one && schedule.links.needs.is_empty();
    let listed = !alike && !in_order;
    let steps =
        progress.plan.steps.iter().zip(&progress.steps).map(|(planned, run)| StepKey {
            tool: planned.tool.clone(),
            status: listed.then(|| status(run)),
        });
    PlanKey {
        tainted: progress.tainted,
        asks: (progress.plan_asks, progress.verdict_asks),
        counts: (schedule.running, schedule.finished, schedule.failed),
        alone: schedule.alone,
        steps: steps.collect(),
        needs: schedule.links.needs.clone(),
    }
}

/// A trace line without the words that no branch reads.
pub(super) fn line_key(line: &TraceLine) -> String {
    let blank = |text: &str| if text.is_empty() { "" } else { "…" };
    match line {
        TraceLine::Plan { ok, used_replan_planner, steps, .. } => {
            let steps = steps.as_ref().map_or(0, |steps| steps.as_slice().len());
            format!("PLAN ok={ok} replanner={used_replan_planner} steps={steps}")
        }
        TraceLine::Execute { ok, num_results, num_failed, .. } => {
            format!("EXECUTE ok={ok} results={num_results} failed={num_failed}")
        }
        TraceLine::Validate { ok, verdict, .. } => {
            format!("VALIDATE ok={ok} verdict={:?}", verdict.as_ref().map(|verdict| verdict.ok))
        }
        TraceLine::ReplanTrigger { replan_count, fix_hint, .. } => {
            format!("REPLAN_TRIGGER {replan_count} hint={}", blank(fix_hint))
        }
        TraceLine::Repair { of, repair, .. } => format!("REPAIR {of} {repair}"),
        TraceLine::Write { ok, .. } => format!("WRITE ok={ok}"),
    }
}
