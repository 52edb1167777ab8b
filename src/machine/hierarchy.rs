//! Hierarchy: the one file that names statig. It puts the phases under their superstate (the live
//! run, which handles what may come at any time) and composes statig's public `StateExt` into a
//! pure step: events come in and effects go out through the [`Context`], the task's memory is the
//! shared storage, and the state is moved in and out by value.
//!
//! A state read from a file steps on without an `init`, so no entry action runs twice.

use statig::Outcome;
use statig::blocking::{IntoStateMachine, State as Leaf, StateExt, Superstate};

use super::context::Context;
use super::event::Event;
use super::refusal::{Refusal, Refused};
use super::state::{
    Artifacts, Asking, Counters, Draft, ErrorCode, Input, Phase, PhaseName, PlanStage, State, Task,
    Understanding,
};
use super::{Step, ending, execute, intake, plan, validate, write};
use crate::spec::CompiledSpec;

/// The superstate of every phase but DONE and ERROR.
struct Live {
    phase: PhaseName,
}

/// The shared storage. A type of its own, so that statig stays out of the crate's interface.
struct Memory(Box<Task>);

impl IntoStateMachine for Memory {
    type Event<'event> = ();
    type Context<'context> = Context<'context>;
    type State = Phase;
    type Superstate<'sub> = Live;

    fn initial() -> Phase {
        Phase::Plan(PlanStage::Drafting(Asking::first()))
    }
}

impl Leaf<Memory> for Phase {
    fn call_handler(&mut self, memory: &mut Memory, _: &(), context: &mut Context<'_>) -> Outcome<Phase> {
        let task = &mut *memory.0;
        let from = self.name();
        // What may come at any time is the superstate's; a phase never sees it.
        if matches!(context.event, None | Some(Event::Cancelled { .. } | Event::DeadlinePassed)) {
            return Outcome::Super;
        }
        match self {
            Phase::Plan(stage) => plan::on_event(stage, task, context),
            Phase::Execute(stage) => execute::on_event(stage, task, context),
            Phase::Validate(asking) => validate::on_event(asking, task, context),
            Phase::Write(writing) => write::on_event(writing, task, context),
            Phase::Done | Phase::Error => return Outcome::Super,
        }
        match context.next(task, from) {
            Some(phase) => Outcome::Transition(phase),
            None if context.event.is_some() => Outcome::Super,
            None => Outcome::Handled,
        }
    }

    fn call_entry_action(&mut self, memory: &mut Memory, context: &mut Context<'_>) {
        let task = &mut *memory.0;
        match self {
            Phase::Plan(stage) => plan::enter(stage, task, context),
            Phase::Execute(stage) => execute::enter(stage, task, context),
            Phase::Validate(asking) => validate::enter(asking, task, context),
            Phase::Write(writing) => write::enter(writing, task, context),
            Phase::Done => ending::done(task),
            Phase::Error => {
                task.artifacts.error = context.error.take();
                // What was not accepted is no answer.
                task.artifacts.final_answer = None;
            }
        }
    }

    fn superstate(&mut self) -> Option<Live> {
        let phase = self.name();
        (!phase.is_terminal()).then_some(Live { phase })
    }
}

impl Superstate<Memory> for Live {
    fn call_handler(&mut self, memory: &mut Memory, _: &(), context: &mut Context<'_>) -> Outcome<Phase> {
        let task = &mut *memory.0;
        match context.event.take() {
            Some(Event::Cancelled { reason }) => context.fail(ErrorCode::Cancelled, reason),
            Some(Event::DeadlinePassed) => {
                let seconds = context.rules.spec().limits.deadline_seconds;
                context.fail(ErrorCode::DeadlineExceeded, format!("the run took more than {seconds} s"));
            }
            other => {
                context.event = other;
                return Outcome::Super;
            }
        }
        match context.next(task, self.phase) {
            Some(phase) => Outcome::Transition(phase),
            None => Outcome::Handled,
        }
    }
}

pub(super) fn start(rules: &CompiledSpec, input: Input, tainted: bool) -> Step {
    let mut memory = Memory(Box::new(Task {
        input,
        understanding: Understanding::default(),
        draft: 1,
        drafts: vec![Draft { tainted, ..Draft::default() }],
        feedback: None,
        progress: None,
        decisions: Vec::new(),
        artifacts: Artifacts::default(),
        failures: Vec::new(),
        counters: Counters::default(),
        usage_by_role: Default::default(),
        usage_by_agent: Default::default(),
        tainted,
        trace: Vec::new(),
    }));
    let mut context = Context::new(rules, None);
    let mut phase = Phase::Plan(intake::next(None, &mut memory.0, rules));
    let levels = phase.depth();
    phase.enter(&mut memory, &mut context, levels);
    settle(phase, memory, context)
}

pub(super) fn step(rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
    let State { mut phase, task } = state;
    let mut memory = Memory(task);
    let mut context = Context::new(rules, Some(event));
    memory.0.counters.transitions += 1;
    match phase.handle(&mut memory, &(), &mut context) {
        Outcome::Handled => Ok(settle(phase, memory, context)),
        Outcome::Transition(target) => {
            change(&mut phase, target, &mut memory, &mut context);
            Ok(settle(phase, memory, context))
        }
        // statig drops an event that no state handles; here it comes back.
        Outcome::Super => {
            memory.0.counters.transitions -= 1;
            let event = context.event.take().expect("a handler that answers Super leaves the event");
            Err(Box::new(Refused {
                state: State { phase, task: memory.0 },
                event,
                refusal: Refusal::Unhandled,
            }))
        }
    }
}

/// Follows the phases that end as soon as they are entered: a plan of only `final_answer` passes
/// EXECUTE without an effect. Each phase leads on to a later one, so this ends.
fn settle(mut phase: Phase, mut memory: Memory, mut context: Context<'_>) -> Step {
    while let Some(target) = context.next(&mut memory.0, phase.name()) {
        change(&mut phase, target, &mut memory, &mut context);
    }
    let Context { effects, moves, .. } = context;
    Step { state: State { phase, task: memory.0 }, effects, moves }
}

fn change(phase: &mut Phase, mut target: Phase, memory: &mut Memory, context: &mut Context<'_>) {
    let (exit_levels, enter_levels) = phase.transition_path(&mut target);
    phase.exit(memory, context, exit_levels);
    *phase = target;
    phase.enter(memory, context, enter_levels);
}
