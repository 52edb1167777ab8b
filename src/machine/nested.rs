//! Nested: a step that a whole agent does is a run of its own, inside the step's slot. It goes through
//! the same transition function under its own rules; its effects go out under the step's name, its
//! answers come in by it, what it spends is the outer run's, and its trace hangs under the step.

use super::context::Context;
use super::effect_id::{EffectId, EffectKind, Place};
use super::event::Effect;
use super::execute::{self, place, slot};
use super::hierarchy;
use super::state::{
    Counters, ExecuteStage, Finding, Input, NestedRun, Phase, PhaseName, Progress, State, StepRun, Task,
};
use super::view::known_by;
use super::{Step, budget, spending};
use crate::contract::Trust;
use crate::spec::{CompiledSpec, Doer};

/// Begins the run of a step.
pub(super) fn start(task: &mut Task, context: &mut Context<'_>, step: u32, attempt: u32) {
    let Some((input, tainted)) = input(context.rules, task, step) else { return };
    let Some(rules) = rules_of(context.rules, task, step) else { return };
    let place = place(task, step, attempt);
    let id = EffectKind::Step { draft: task.draft, step, attempt }.into();
    if !budget::may_nest(task, context, id, rules) {
        return;
    }
    let begun = hierarchy::start(rules, input, tainted);
    let ended = settle(place, Counters::default(), begun, task, context);
    // A run begins by asking something; one whose limits allow nothing at all has failed.
    if let (Some(run), Some(progress)) = (ended, task.progress.as_mut()) {
        progress.schedule.running = progress.schedule.running.saturating_sub(1);
        progress.finish(step, run);
    }
}

/// What the run starts from, and whether it has read what may steer it. Both follow from the plan
/// alone and not from what else has finished by now.
fn input(rules: &CompiledSpec, task: &Task, step: u32) -> Option<(Input, bool)> {
    let progress = task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let links = &progress.schedule.links;
    let source = links.inputs.get(step as usize).copied().flatten();
    let material = source.and_then(|source| progress.output(source)).or(planned.given()).map(str::to_owned);
    let told = match planned.told() {
        "" => task.query().to_owned(),
        told => told.to_owned(),
    };
    let known = known_by(rules, task, step);
    let untrusted = |at: &u32| {
        let tool = progress.plan.steps.get(*at as usize).and_then(|planned| rules.tool(&planned.tool));
        tool.is_some_and(|tool| tool.trust == Trust::Untrusted)
    };
    let tainted = task.drafts.last().is_some_and(|draft| draft.tainted) || known.iter().any(untrusted);
    // What it is given to work on is not shown twice.
    let findings = known.into_iter().filter(|at| source != Some(*at));
    let findings = findings.filter_map(|at| finding(progress, at)).collect();
    let input = Input {
        question: told,
        now: task.input.now.clone(),
        outline: task.input.outline.clone(),
        material,
        findings,
        on_behalf_of: Some(task.input.question.clone()),
        ..Input::default()
    };
    Some((input, tainted))
}

/// What a finished step found, for a run that follows it.
fn finding(progress: &Progress, at: u32) -> Option<Finding> {
    let planned = progress.plan.steps.get(at as usize).filter(|planned| !planned.is_final())?;
    let output = progress.steps.get(at as usize)?.output()?.to_owned();
    let told = if planned.is_hitl() { planned.question() } else { planned.told() };
    let task = Some(told).filter(|told| !told.is_empty()).map(str::to_owned);
    Some(Finding { by: planned.tool.clone(), task, output })
}

/// The rules that a step's run goes by.
pub(super) fn rules_of<'a>(rules: &'a CompiledSpec, task: &Task, step: u32) -> Option<&'a CompiledSpec> {
    let progress = task.progress.as_ref()?;
    match rules.doer(&progress.plan.steps.get(step as usize)?.tool)? {
        Doer::Agent(inner) => Some(inner),
        Doer::Role(_) => None,
    }
}

/// Hands an answer to the run it is for.
pub(super) fn on_event(stage: &mut ExecuteStage, task: &mut Task, context: &mut Context<'_>) {
    let Some(event) = context.event.take() else { return };
    let inner = event.effect().and_then(EffectId::outside);
    let slot = inner.and_then(|(place, _)| slot(&mut task.progress, place.step));
    let (Some((place, id)), Some(slot)) = (inner, slot) else {
        context.event = Some(event);
        return;
    };
    let StepRun::Nested { attempt, run } = std::mem::take(slot) else {
        context.event = Some(event);
        return;
    };
    let Some(rules) = rules_of(context.rules, task, place.step) else { return };
    let outer = event.effect();
    let before = run.task.counters;
    match hierarchy::step(rules, *run, event.addressed(id)) {
        Ok(stepped) => {
            if let Some(run) = settle(place, before, stepped, task, context) {
                execute::finished(stage, place.step, run, task, context);
            }
        }
        Err(refused) => {
            let refused = *refused;
            if let Some(slot) = execute::slot(&mut task.progress, place.step) {
                *slot = StepRun::Nested { attempt, run: Box::new(refused.state) };
            }
            context.event = outer.map(|outer| refused.event.addressed(outer));
        }
    }
}

/// Counts what a run has spent, sends its effects out, and says what became of the step where it has
/// ended.
fn settle(
    place: Place,
    before: Counters,
    stepped: Step,
    task: &mut Task,
    context: &mut Context<'_>,
) -> Option<StepRun> {
    let Step { state, effects, .. } = stepped;
    spending::include(task, place.step, before, &state.task);
    let effects = effects.into_iter().filter_map(|effect| Some(effect.under(effect.id().inside(place)?)));
    context.effects.extend(effects);
    if !state.phase.name().is_terminal() {
        if let Some(slot) = slot(&mut task.progress, place.step) {
            *slot = StepRun::Nested { attempt: place.attempt, run: Box::new(state) };
        }
        return None;
    }
    task.tainted |= state.task.tainted;
    let ended = state.phase.name();
    let inner = *state.task;
    let nested = Some(Box::new(NestedRun { trace: inner.trace, counters: inner.counters }));
    let attempts = place.attempt;
    Some(match (ended, inner.artifacts.final_answer) {
        (PhaseName::Done, Some(output)) => {
            let sources = inner.artifacts.sources;
            StepRun::Completed { output, sources, attempts, cached: false, nested }
        }
        (_, _) => {
            let error = inner.artifacts.error.map(|error| error.to_string()).unwrap_or_default();
            StepRun::Failed { output: format!("ERROR: agent: {error}"), attempts, nested }
        }
    })
}

/// The run that an effect belongs to: its rules, its state, and the effect as that run knows it.
#[derive(Clone, Copy, Debug)]
pub struct Local<'r, 's> {
    /// The rules it goes by.
    pub rules: &'r CompiledSpec,
    /// Where it is.
    pub state: &'s State,
    /// The effect's id in it.
    pub id: EffectId,
    /// The names of the steps that it is nested in, outermost first: whose they are.
    pub agents: [Option<&'s str>; crate::spec::MAX_NESTING],
}

/// Finds the run that an effect belongs to: the run itself, or one nested in its steps. `None` where
/// there is no such run now.
pub fn local<'r, 's>(rules: &'r CompiledSpec, state: &'s State, id: EffectId) -> Option<Local<'r, 's>> {
    let mut found = Local { rules, state, id, agents: [None; crate::spec::MAX_NESTING] };
    let mut depth = 0;
    while let Some((place, inner)) = found.id.outside() {
        let task = &found.state.task;
        let runs = matches!(found.state.phase, Phase::Execute(ExecuteStage::Running));
        if place.draft != task.draft || !runs {
            return None;
        }
        let progress = task.progress.as_ref()?;
        let StepRun::Nested { attempt, run } = progress.steps.get(place.step as usize)? else { return None };
        if *attempt != place.attempt {
            return None;
        }
        found.agents[depth] = Some(&progress.plan.steps.get(place.step as usize)?.tool);
        depth += 1;
        found.rules = rules_of(found.rules, task, place.step)?;
        found.state = run;
        found.id = inner;
    }
    Some(found)
}

/// The effects of nested runs that wait, under the names that the outer run knows.
pub(super) fn outstanding(rules: &CompiledSpec, state: &State, found: &mut Vec<Effect>) {
    let task = &state.task;
    let Some(progress) = &task.progress else { return };
    for (step, run) in progress.steps.iter().enumerate() {
        let StepRun::Nested { attempt, run } = run else { continue };
        let step = step as u32;
        let Some(inner) = rules_of(rules, task, step) else { continue };
        let place = place(task, step, *attempt);
        let waits = super::outstanding(inner, run);
        found.extend(waits.into_iter().filter_map(|effect| Some(effect.under(effect.id().inside(place)?))));
    }
}
