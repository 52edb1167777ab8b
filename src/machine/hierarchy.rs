//! Hierarchy: the one file that names statig. It puts the phases under their superstate (the live run,
//! which handles what may come at any time) and composes statig's public `StateExt` into a pure step. A
//! state read from a file steps on without an `init`, so no entry action runs twice.
//!
//! Runs nested in steps are stepped here too, by the path of the effect that was answered, before
//! EXECUTE is told what came of it: no phase calls back up.

use statig::Outcome;
use statig::blocking::{IntoStateMachine, State as Leaf, StateExt, Superstate};

use super::admit::Refused;
use super::awaits::{nest, nested_spec};
use super::route::{Exit, Move, Next};
use super::run::{Begin, Run, Step, first_stage};
use super::state::{
    Artifacts, Asking, Input, Phase, PlanStage, State, StepFailure, StepOutput, StepRun, Task, Turn,
};
use super::vocabulary::{Counters, EffectId, ErrorCode, Event, PhaseName, Place, Refusal};
use crate::spec::CompiledSpec;

/// The superstate of every phase but DONE and ERROR.
struct Live {
    phase: PhaseName,
}

/// The state machine, as statig knows it. Everything that moves is in the [`Run`].
struct Machine;

impl IntoStateMachine for Machine {
    type Event<'event> = ();
    type Context<'context> = Run<'context>;
    type State = Phase;
    type Superstate<'sub> = Live;

    fn initial() -> Phase {
        Phase::Plan(PlanStage::Drafting(Asking::first()))
    }
}

impl Leaf<Machine> for Phase {
    fn call_handler(&mut self, _: &mut Machine, _: &(), run: &mut Run<'_>) -> Outcome<Phase> {
        // What may come at any time is the superstate's; a phase never sees it.
        if matches!(run.event, Some(Event::Cancelled { .. } | Event::DeadlinePassed)) {
            return Outcome::Super;
        }
        run.await_for(self);
        match self {
            Phase::Plan(stage) => run.on_plan(stage),
            Phase::Execute(stage) => run.on_execute(stage),
            Phase::Validate(asking) => run.on_validate(asking),
            Phase::Write(writing) => run.on_write(writing),
            Phase::Done | Phase::Error => return Outcome::Super,
        }
        run.ask(self);
        match next(self.name(), run) {
            Some(phase) => Outcome::Transition(phase),
            None if run.event.is_some() => Outcome::Super,
            None => Outcome::Handled,
        }
    }

    fn call_entry_action(&mut self, _: &mut Machine, run: &mut Run<'_>) {
        match self {
            Phase::Plan(_) => run.enter_plan(),
            Phase::Execute(stage) => run.enter_execute(stage),
            Phase::Validate(_) => {}
            Phase::Write(writing) => run.enter_write(writing),
            Phase::Done => run.enter_done(),
            Phase::Error => run.enter_error(),
        }
        run.ask(self);
    }

    fn superstate(&mut self) -> Option<Live> {
        let phase = self.name();
        (!phase.is_terminal()).then_some(Live { phase })
    }
}

impl Superstate<Machine> for Live {
    fn call_handler(&mut self, _: &mut Machine, _: &(), run: &mut Run<'_>) -> Outcome<Phase> {
        match run.event.take() {
            Some(Event::Cancelled { reason }) => run.fail(ErrorCode::Cancelled, reason),
            Some(Event::DeadlinePassed) => {
                let seconds = run.compiled.spec().limits.deadline_seconds;
                run.fail(ErrorCode::DeadlineExceeded, format!("the run took more than {seconds} s"));
            }
            other => {
                run.event = other;
                return Outcome::Super;
            }
        }
        match next(self.phase, run) {
            Some(phase) => Outcome::Transition(phase),
            None => Outcome::Handled,
        }
    }
}

/// The phase that follows, where the current one has ended.
fn next(from: PhaseName, run: &mut Run<'_>) -> Option<Phase> {
    let (exit, next) = run.take_exit()?;
    if exit == Exit::Failed {
        run.leave_failed(from);
    }
    if next == (Next::Error { exhausted: true }) {
        run.leave_exhausted(from, exit);
    }
    let phase = first_stage(next);
    run.moves.push(Move { from, exit, to: phase.name() });
    Some(phase)
}

pub(super) fn start(compiled: &CompiledSpec, input: Input, tainted: bool) -> Step {
    let untrusted = !input.history.iter().all(Turn::is_trusted);
    let tainted = tainted || (untrusted && compiled.policy().plans_from_answers());
    start_after(compiled, Task::new(input, tainted))
}

/// Begins a run with this memory: what was written before, which it does not write again, and the authority of the run
/// around it.
fn start_after(compiled: &CompiledSpec, task: Task) -> Step {
    let mut run = Run::new(compiled, Box::new(task), None);
    let mut phase = Phase::Plan(run.plan_stage_after(None));
    let levels = phase.depth();
    phase.enter(&mut Machine, &mut run, levels);
    settle(&mut phase, &mut run);
    Step { state: State { phase, task: run.task }, effects: run.effects, moves: run.moves }
}

/// Moves a run, or the one nested in it that the event is for.
#[inline]
pub(super) fn step(compiled: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
    if let Some((place, inner)) = event.effect().and_then(EffectId::outside) {
        return step_nested(compiled, state, event, place, inner);
    }
    let State { mut phase, task } = state;
    let before = task.counters.transitions;
    let mut run = Run::new(compiled, task, Some(event));
    run.task.counters.transitions = before.saturating_add(1);
    handle(&mut phase, &mut run);
    // statig drops an event that no state handles; here it comes back.
    if let Some(event) = run.event.take() {
        run.task.counters.transitions = before;
        return Err(unhandled(State { phase, task: run.task }, event));
    }
    settle(&mut phase, &mut run);
    Ok(Step { state: State { phase, task: run.task }, effects: run.effects, moves: run.moves })
}

fn unhandled(state: State, event: Event) -> Box<Refused> {
    Box::new(Refused { state, event, refusal: Refusal::Unhandled })
}

fn step_nested(
    compiled: &CompiledSpec,
    mut state: State,
    event: Event,
    place: Place,
    inner: EffectId,
) -> Result<Step, Box<Refused>> {
    let nested = state.task.nested.remove(&place.step);
    let Some((inner_spec, nested)) = nested_spec(compiled, &state.task, place.step).zip(nested) else {
        return Err(unhandled(state, event));
    };
    let before = nested.task.counters;
    match step(inner_spec, nested, event.addressed(inner)) {
        Ok(stepped) => {
            let State { mut phase, task } = state;
            let mut run = Run::new(compiled, task, None);
            run.task.counters.transitions = run.task.counters.transitions.saturating_add(1);
            absorb(&mut run, place, before, stepped);
            settle(&mut phase, &mut run);
            Ok(Step { state: State { phase, task: run.task }, effects: run.effects, moves: run.moves })
        }
        Err(refused) => {
            let Refused { state: nested, event, .. } = *refused;
            state.task.nested.insert(place.step, nested);
            Err(unhandled(state, event.addressed(inner.inside(place).unwrap_or(inner))))
        }
    }
}

/// Charges what a nested run has spent, lets its effects out, and keeps it, or tells what came of it.
fn absorb(run: &mut Run<'_>, place: Place, before: Counters, stepped: Step) {
    let Step { state, effects, .. } = stepped;
    run.charge_nested(place.step, before, state.task.counters);
    run.effects.extend(effects.into_iter().filter_map(|effect| nest(effect, place)));
    let ended = state.phase.name();
    if !ended.is_terminal() {
        run.task.nested.insert(place.step, state);
        return;
    }
    run.task.tainted |= state.task.tainted;
    let mut inner = *state.task;
    let spec = nested_spec(run.compiled, &run.task, place.step);
    let read = spec.and_then(|spec| inner.granted_by_now(spec, None));
    run.task.take_back(std::mem::take(&mut inner.authority), read, (place.draft, place.step));
    run.task.keep_writes(std::mem::take(&mut inner.written), place.step);
    if spec.is_some_and(|spec| run.begin_anew(spec, place, &mut inner)) {
        return;
    }
    let kept = Some(inner.trace.into());
    let (attempts, step) = (place.attempt, place.step);
    let Artifacts { final_answer, sources, error, .. } = inner.artifacts;
    let sources = sources.into();
    let result = match final_answer.map(StepOutput::Text).filter(|_| ended == PhaseName::Done) {
        Some(output) => {
            let (data, made_by) = (None, None);
            StepRun::Completed { output, sources, data, attempts, cached: false, made_by, nested: kept }
        }
        None => {
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            StepRun::Failed { failure: StepFailure::new("agent", error), attempts, nested: kept }
        }
    };
    run.ended = Some(Box::new((step, result)));
}

fn handle(phase: &mut Phase, run: &mut Run<'_>) {
    if let Outcome::Transition(target) = phase.handle(&mut Machine, &(), run) {
        change(phase, target, run);
    }
}

/// Begins the nested runs that are to begin, and follows the phases that end as soon as they are
/// entered: a plan of only `final_answer` passes EXECUTE without an effect. Each phase leads on to a
/// later one, and each step is begun once a try, so this ends.
fn settle(phase: &mut Phase, run: &mut Run<'_>) {
    loop {
        if run.ended.is_some() {
            handle(phase, run);
            // No phase but EXECUTE has steps that could end.
            run.ended = None;
        } else if let Some(target) = next(phase.name(), run) {
            change(phase, target, run);
        } else if !run.begins.is_empty() && !phase.name().is_terminal() {
            let Begin { place, input, tainted, refused } = run.begins.remove(0);
            if let Some(compiled) = nested_spec(run.compiled, &run.task, place.step) {
                let mut task = Task::new(input, tainted);
                task.written = run.task.writes_to_pass_on();
                task.authority = run.task.hand_down(run.compiled, place.step, refused.is_some());
                task.trace.extend(refused.into_iter().flatten());
                let begun = start_after(compiled, task);
                absorb(run, place, Counters::default(), begun);
                run.effects.sort_by_key(|effect| effect.id().step());
            }
        } else {
            break;
        }
    }
    if phase.name().is_terminal() {
        run.task.nested.clear();
        run.effects.clear();
    }
}

fn change(phase: &mut Phase, mut target: Phase, run: &mut Run<'_>) {
    let (exit_levels, enter_levels) = phase.transition_path(&mut target);
    phase.exit(&mut Machine, run, exit_levels);
    *phase = target;
    phase.enter(&mut Machine, run, enter_levels);
}
