//! What makes two states the same for exploring. The key holds every input of a branch. It leaves out
//! words, which no branch reads once they are accepted, and call counters, which only grow: that the
//! graph without them has no cycle is the proof that runs end.

use std::collections::BTreeMap;

use super::sample::{fresh_input, sample};
use crate::contract::{PlanStep, ToolEffect};
use crate::machine::authority::find_untrusted;
use crate::machine::awaits::{nested_spec, stage_awaits};
use crate::machine::state::{ExecuteStage, granted_input, literal_template, write_key};
use crate::machine::{
    ErrorCode, GrantedBy, Phase, PhaseName, Progress, State, StepRun, Task, TraceLine, WriteReason,
};
use crate::spec::{CompiledSpec, Duplicates, Orchestrate, Planner, Write};

/// An abstract state. Ordered, so that reports are the same every time.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub phase: PhaseName,
    /// What is waited for, unless it is steps.
    pub stage: &'static str,
    /// How often the current reply was asked for, and whether the request shows a repair.
    asking: (u32, bool),
    gate: Option<WriteReason>,
    error: Option<ErrorCode>,
    draft: u32,
    replans: u32,
    added: u32,
    /// How many calls were asked about, if that has a limit.
    questions: u32,
    past: usize,
    /// Whether there is feedback, and whether it holds a hint.
    feedback: Option<bool>,
    /// Whether untrusted output was read, and whether it had been when the draft was made.
    tainted: (bool, bool),
    answered: bool,
    /// Of a nested run that begins once more if it was only refused: whether it was by now.
    anew: Option<bool>,
    /// The writes that are not made again.
    written: Vec<String>,
    /// The calls that may be made without a person, and those that were.
    authority: Vec<(String, bool)>,
    pub progress: Option<PlanKey>,
    /// The runs nested in steps, by the steps' positions.
    nested: Vec<(u32, Key)>,
}

/// How far a plan is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlanKey {
    /// What branches read of the steps of earlier drafts, counted no further than anything counts.
    kept: BTreeMap<(String, &'static str), usize>,
    alone: bool,
    /// The tool of each step of the draft, of a write with its input; the status with the try if it
    /// matters which step has it.
    pub steps: Vec<(String, Option<Status>)>,
    /// How many steps have which status, if it does not matter which.
    pub counts: BTreeMap<Status, usize>,
    /// For each step, the steps it waits for and the one it repeats.
    needs: Vec<(Vec<u32>, Option<u32>)>,
}

/// How far a step is, and in which try.
pub type Status = (&'static str, u32);

/// The abstraction of a state.
pub fn key(compiled: &CompiledSpec, state: &State) -> Key {
    let task = &state.task;
    let phase = state.phase.name();
    let asking = state.phase.asking();
    // Nothing reads drafts and progress of a run that has ended.
    let draft = task.drafts.last().filter(|_| !phase.is_terminal());
    let progress = task.progress.as_ref().filter(|_| !phase.is_terminal());
    Key {
        phase,
        stage: stage_awaits(&state.phase, task, compiled).map_or("", |effect| effect.id().kind.parts().0),
        asking: match (&state.phase, asking) {
            (Phase::Execute(ExecuteStage::AwaitingPick { nth, .. }), _) => (*nth, false),
            (_, asking) => asking.map_or((0, false), |asking| (asking.ask, asking.repair.is_some())),
        },
        gate: if let Phase::Write(writing) = &state.phase { Some(writing.gate) } else { None },
        error: state.error().map(|error| error.code),
        draft: task.draft,
        replans: task.counters.replans,
        added: task.counters.added_steps,
        questions: compiled.spec().limits.max_questions.map_or(0, |most| most.min(task.counters.questions)),
        past: task.artifacts.past.len(),
        feedback: task.feedback.as_ref().map(|feedback| !feedback.fix_hint.trim().is_empty()),
        tainted: (task.tainted, draft.is_some_and(|draft| draft.tainted)),
        written: if phase.is_terminal() { Vec::new() } else { written(compiled, task) },
        authority: if phase.is_terminal() { Vec::new() } else { authority(compiled, task) },
        answered: task.artifacts.final_answer.is_some(),
        anew: None,
        progress: progress.map(|progress| plan_key(compiled, task, progress)),
        nested: task
            .nested
            .iter()
            .filter_map(|(step, inner)| {
                let key = key(nested_spec(compiled, task, *step)?, inner);
                let anew = task.may_begin_anew(*step, &inner.task).then(|| inner.task.was_refused());
                Some((*step, Key { anew, ..key }))
            })
            .collect(),
    }
}

fn plan_key(compiled: &CompiledSpec, task: &Task, progress: &Progress) -> PlanKey {
    let schedule = &progress.schedule;
    let first = task.first_step();
    let slots = || progress.slots().skip(first);
    let refs = compiled.plan().offers_references();
    let call = |at: usize, planned: &PlanStep| {
        // Whether a person is asked about what earlier steps chose.
        let asks = if find_untrusted(compiled, task, at as u32).is_some() { " !" } else { "" };
        // What a person may be asked to pick.
        let picks = task.choices(compiled, at as u32).len();
        let picks = if picks > 0 { format!(" {picks}?") } else { String::new() };
        // Whether a read whose arguments leave stands in a plan that was frozen.
        let containment = compiled.policy().containment;
        let tool = compiled.tool(&planned.tool);
        let guarded = tool.is_some_and(|tool| tool.effect == ToolEffect::Read && containment.guards(tool));
        let template = guarded.then(|| task.call_template(at as u32)).flatten();
        let frozen = template.is_some_and(|template| {
            task.authority.find(&template).is_some() || task.authority.is_spent(&template)
        });
        let frozen = if frozen { " frozen" } else { "" };
        // Which of what the question calls for it may stand for, or stands for.
        let bound = match task.authority.granted().and_then(|granted| granted.of_step(at as u32)) {
            Some(of) => format!(" is {of}"),
            None => {
                task.find_granted(compiled, at as u32).map_or(String::new(), |(of, _)| format!(" as {of}"))
            }
        };
        // Whether it was called before it failed: one that a person said no to was not, and leaves no line.
        let run = progress.steps.get(at).filter(|run| run.has_failed() && run.attempts() > 0);
        let failed = run.is_some() && task.authority.used(at as u32).is_some();
        let failed = if failed { " called" } else { "" };
        // Whether it was answered in the place of a call that needs authority: it leaves no line of who allowed it.
        let answered = tool.is_some_and(|tool| containment.guards(tool))
            && matches!(progress.steps.get(at), Some(StepRun::Completed { attempts: 0, made_by: None, .. }));
        let answered = if answered { " answered" } else { "" };
        // Whether a person has allowed it.
        let allowed = if schedule.approved.contains_key(&(at as u32)) { " allowed" } else { "" };
        let key = call_key(compiled, task, at as u32, &planned.tool)
            + asks
            + frozen
            + &picks
            + &bound
            + allowed
            + failed
            + answered;
        let (filled, holes) = (progress.filled(at as u32).len(), planned.holes().len());
        match schedule.links.references.contains_key(&(at as u32)) {
            true if holes > 0 => format!("{key} {filled} of {holes} ←"),
            true => format!("{key} ←"),
            false => key,
        }
    };
    let working = slots().filter(|(_, step, _)| !step.is_final());
    let calls: Vec<String> = working.map(|(at, step, _)| call(at, step)).collect();
    let waits = |at: usize| schedule.links.needs.get(at).is_some_and(|needs| !needs.is_empty());
    let linked = !schedule.twins.is_empty() || (first..progress.steps.len()).any(waits);
    // Independent steps of one kind are interchangeable, except that one by one they keep order
    // anyway; steps that differ, or wait for each other, are not.
    // Of calls that are asked about together, a later one may be left out before an earlier one is made: which one
    // decides what a later plan repeats.
    let keep_order = slots().is_sorted_by_key(|(.., run)| !run.is_finished());
    let writes = || slots().any(|(at, ..)| task.write_key(compiled, at as u32).is_some());
    let alike = calls.windows(2).all(|pair| pair[0] == pair[1]) && !linked && (keep_order || !writes());
    let in_order = compiled.policy().execution.width() == 1 && !linked && keep_order;
    // Whether it is the last step that failed decides whether there is an answer.
    let last_matters = compiled.policy().write == Write::LastResult;
    let listed = last_matters || (!alike && !in_order);
    let status = |run: &StepRun| match run {
        StepRun::Running { attempt } | StepRun::Nested { attempt } => ("running", *attempt),
        StepRun::Waiting { attempt } => ("waiting", *attempt),
        StepRun::Completed { made_by: Some(_), .. } => ("standing", 0),
        StepRun::Completed { data: Some(_), .. } if refs => ("with data", 0),
        _ => (run.status(), 0),
    };
    let mut counts = BTreeMap::new();
    for (.., run) in slots().filter(|_| !listed) {
        *counts.entry(status(run)).or_default() += 1;
    }
    let from_here = |at: u32| at.checked_sub(first as u32);
    let needs = (first..progress.steps.len()).filter(|_| linked).map(|at| {
        let needs = schedule.links.needs.get(at).into_iter().flatten();
        // A step that it repeats from an earlier draft is done, whichever it was.
        let twin = progress.twin(at as u32).map(|twin| from_here(twin).unwrap_or(u32::MAX));
        (needs.filter_map(|need| from_here(*need)).collect(), twin)
    });
    PlanKey {
        kept: kept(compiled, task, progress, first, listed),
        alone: schedule.alone,
        steps: slots().map(|(at, step, run)| (call(at, step), listed.then(|| status(run)))).collect(),
        counts,
        needs: needs.collect(),
    }
}

/// The writes that a later call can equal. Where steps are kept every letter has an input of its own, but for
/// what a person may write in the place of one.
fn written(compiled: &CompiledSpec, task: &Task) -> Vec<String> {
    let again = |key: &&String| !compiled.policy().keeps_steps() || is_sample(compiled, key);
    task.written.keys().filter(again).cloned().collect()
}

/// The calls of which a later plan may have more. Where steps are kept, a plan can repeat what was dropped, and what
/// leaves no room for another input.
fn authority(compiled: &CompiledSpec, task: &Task) -> Vec<(String, bool)> {
    let mut known: Vec<_> =
        task.authority.templates().map(|(template, spent)| (template.to_owned(), spent)).collect();
    if compiled.policy().keeps_steps() {
        known.retain(|(template, _)| is_repeatable(compiled, template));
        let granted = |step: &PlanStep| task.authority.find(&literal_template(step)).is_some();
        known.extend(dropped_write(compiled, task).map(|step| (step.tool.clone(), granted(step))));
    }
    known.sort_unstable();
    known.extend(called_for(compiled, task));
    known
}

/// Whether a call is of a tool whose every letter has one input.
fn is_repeatable(compiled: &CompiledSpec, template: &str) -> bool {
    compiled.plan().all().iter().any(|tool| {
        let input = sample(&tool.input);
        let step = PlanStep { tool: tool.name.clone(), input: Some(input), ..PlanStep::default() };
        literal_template(&step) == template && fresh_input(compiled, tool, 0) == sample(&tool.input)
    })
}

/// The steps that the question calls for: whether all is read that each refers to, and whether it may still be made.
fn called_for(compiled: &CompiledSpec, task: &Task) -> Vec<(String, bool)> {
    let Some((contract, view)) = compiled.grants().zip(task.granted_by_now(compiled, None)) else {
        return Vec::new();
    };
    let step = |at: usize| {
        let (template, input) = (view.template(at as u32)?, granted_input(contract, &view, at));
        let left = task.authority.find(&template).is_some();
        let made = |input| task.written.contains_key(&write_key(&view.plan.steps[at].tool, input));
        Some((format!("{template} {:?}", input.as_ref().map(made)), left))
    };
    (0..view.steps.len()).filter_map(step).collect()
}

/// The first write of a plan that was sent back, if it had not begun and refers to nothing.
pub(super) fn dropped_write<'t>(compiled: &CompiledSpec, task: &'t Task) -> Option<&'t PlanStep> {
    let writes = |step: &PlanStep| {
        compiled.called_tool(&step.tool).is_some_and(|tool| tool.effect == ToolEffect::Write)
    };
    let refers = |step: &PlanStep| step.input_from.is_some() || literal_template(step).contains("$from");
    let mut dropped = task.feedback.iter().flat_map(|feedback| &feedback.dropped);
    dropped.find(|step| writes(step) && !refers(step))
}

/// A step's tool, and of a write what decides whether it is made.
fn call_key(compiled: &CompiledSpec, task: &Task, step: u32, tool: &str) -> String {
    match task.write_key(compiled, step) {
        None => tool.to_owned(),
        Some(key) if !compiled.policy().keeps_steps() => key,
        Some(key) => {
            let template = task.call_template(step);
            let granted = template.map(|template| {
                (task.authority.find(&template).is_some(), task.authority.is_spent(&template))
            });
            let made = task.written.contains_key(&key);
            format!("{tool} {made} {} {granted:?}", is_sample(compiled, &key))
        }
    }
}

fn is_sample(compiled: &CompiledSpec, key: &str) -> bool {
    let tool = key.split(' ').next().and_then(|tool| compiled.tool(tool));
    tool.is_some_and(|tool| key == write_key(&tool.name, &sample(&tool.input)))
}

/// What branches read of the steps of earlier drafts, and an orchestrator of this one's.
fn kept(
    compiled: &CompiledSpec,
    task: &Task,
    progress: &Progress,
    first: usize,
    listed: bool,
) -> BTreeMap<(String, &'static str), usize> {
    let policy = compiled.policy();
    let orchestrated = policy.orchestrate == Orchestrate::EachStep;
    let upto = if orchestrated && !listed { progress.steps.len() } else { first };
    let by_tool = policy.duplicates == Duplicates::Skip || orchestrated;
    let referred =
        policy.planner == Planner::Json || matches!(policy.write, Write::LastResult | Write::Summary);
    let repeats = policy.duplicates == Duplicates::Skip && policy.planner == Planner::ToolCalls;
    let mut kept = BTreeMap::new();
    for (at, planned, run) in progress.slots().take(upto) {
        let required = policy.required_calls.iter().find(|required| required.tool == planned.tool);
        if let Some(required) = required.filter(|_| run.counts_as_made()) {
            let most = required.least.max(if required.per_line.is_some() { MOST_LINES } else { 0 });
            let count: &mut usize = kept.entry((planned.tool.clone(), "made")).or_default();
            *count = (*count + 1).min(most as usize);
        }
        if matches!(run, StepRun::Completed { .. }) && (by_tool || referred) {
            let tool = if by_tool { planned.tool.clone() } else { String::new() };
            let refers = compiled.plan().offers_references() && run.data().is_some();
            kept.insert((tool, if refers { "with data" } else { "completed" }), 1);
        }
        if repeats && may_be_called_again(planned, run) {
            // Of a write, whether it is one that every later plan has too.
            let write = task.write_key(compiled, at as u32);
            let again = write.is_some_and(|key| is_sample(compiled, &key));
            let what = if again { "may be called again, as always" } else { "may be called again" };
            kept.insert((planned.tool.clone(), what), 1);
        }
    }
    // If the drafts after it do nothing, the last step decides whether there is an answer.
    if policy.write == Write::LastResult
        && let Some((_, run)) = progress.last_to_answer_with(first)
    {
        let failed = matches!(run, StepRun::Failed { .. });
        kept.insert((String::new(), if failed { "last failed" } else { "last done" }), 1);
    }
    kept
}

/// Whether a step is a call that succeeded and that can be asked for once more, word for word.
pub(super) fn may_be_called_again(planned: &PlanStep, run: &StepRun) -> bool {
    let given = planned.input.is_some() && planned.input_from.is_none();
    given && matches!(run, StepRun::Completed { .. })
}

/// How many lines of an answer the letters count that need a call each.
pub(super) const MOST_LINES: u32 = 2;

/// A trace line without the words that no branch reads.
pub(super) fn line_key(line: &TraceLine) -> String {
    match line {
        TraceLine::Plan { ok, used_replan_planner, steps, .. } => {
            let steps = steps.as_ref().map_or(0, |steps| steps.as_slice().len());
            format!("PLAN {ok} {used_replan_planner} {steps}")
        }
        TraceLine::Execute { ok, num_results, num_failed, .. } => {
            format!("EXECUTE {ok} {num_results} {num_failed}")
        }
        TraceLine::Validate { ok, verdict, .. } => {
            format!("VALIDATE {ok} {:?}", verdict.as_ref().map(|verdict| verdict.ok))
        }
        TraceLine::ReplanTrigger { replan_count, fix_hint, .. } => {
            format!("REPLAN_TRIGGER {replan_count} {}", fix_hint.is_empty())
        }
        TraceLine::Intent { needs_tool, .. } => format!("INTENT {needs_tool}"),
        TraceLine::Skip { tool, .. } => format!("SKIP {tool}"),
        TraceLine::Authority { tool, by, .. } => {
            format!("AUTHORITY {tool} {}", matches!(by, GrantedBy::Plan { .. }))
        }
        TraceLine::Denied { tool, code, .. } => format!("DENIED {tool} {code:?}"),
        TraceLine::Decision { decision, fallback, remaining, .. } => {
            let remaining = remaining.as_ref().map(Vec::len);
            format!("DECISION {:?} {} {remaining:?}", decision.action, fallback.is_some())
        }
        TraceLine::Human { about, answer, .. } => format!("HUMAN {about:?} {}", answer.kind()),
        TraceLine::Expired { about, .. } => format!("EXPIRED {about:?}"),
        TraceLine::Fallback { of, .. } => format!("FALLBACK {of}"),
        TraceLine::Repair { of, repair, .. } => format!("REPAIR {of} {repair}"),
        TraceLine::Write { ok, .. } => format!("WRITE {ok}"),
        wordless => format!("{wordless:?}"),
    }
}
