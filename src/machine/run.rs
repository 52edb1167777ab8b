//! Run: one run under one event. It is the only door by which an effect, a trace line, a charge or an
//! exit goes out; limits are checked where effects leave.

use smallvec::SmallVec;

use super::awaits::{drafter, stage_awaits, step_awaits};
use super::route::{Exit, Move, Next, route};
use super::state::{Asking, ExecuteStage, Input, Phase, PlanStage, State, StepRun, Task, Writing};
use super::vocabulary::{
    Counters, Effect, EffectKind, ErrorCode, Event, Failure, PhaseName, Place, RunError, TraceLine,
};
use crate::contract::{PlanStep, ToolContract, ToolEffect};
use crate::spec::{Bounds, CompiledAgent, CompiledSpec, Orchestrate, RoleName};

/// The effects of one step: nearly always one.
pub type Effects = SmallVec<[Effect; 1]>;

/// The phase changes of one step: three for a plan of only `final_answer` that meets a limit.
pub type Moves = SmallVec<[Move; 3]>;

/// A run after one event.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The state now.
    pub state: State,
    /// What the run asks of the world now.
    pub effects: Effects,
    /// Which edges of the phase graph were taken.
    pub moves: Moves,
}

/// A step whose agent is to begin a run of its own.
pub(super) struct Begin {
    pub place: Place,
    pub input: Input,
    pub tainted: bool,
    /// What a run that was only refused has left of itself, if this one is made in its place.
    pub refused: Option<Vec<TraceLine>>,
}

/// One run under one event.
pub(super) struct Run<'a> {
    pub compiled: &'a CompiledSpec,
    pub task: Box<Task>,
    /// What happened, until a handler takes it: statig lends only `&Event`, and copies would be felt.
    pub event: Option<Event>,
    /// A step whose agent's own run has ended, and its result.
    pub ended: Option<Box<(u32, StepRun)>>,
    /// What the stage waited for before the event.
    pub awaited: Option<Effect>,
    /// The line of a repair that is about to be asked for.
    pub repair: Option<Box<TraceLine>>,
    pub effects: Effects,
    pub moves: Moves,
    /// The nested runs to begin.
    pub begins: Vec<Begin>,
    /// What ended the run, until ERROR is entered.
    pub error: Option<RunError>,
    exit: Option<Exit>,
}

impl<'a> Run<'a> {
    pub fn new(compiled: &'a CompiledSpec, task: Box<Task>, event: Option<Event>) -> Self {
        Run {
            compiled,
            task,
            event,
            ended: None,
            awaited: None,
            repair: None,
            effects: Effects::new(),
            moves: Moves::new(),
            begins: Vec::new(),
            error: None,
            exit: None,
        }
    }

    pub fn line(&mut self, line: TraceLine) {
        self.task.trace.push(line);
    }

    pub fn note_failure(&mut self, phase: PhaseName, message: String) {
        let draft = self.task.draft;
        self.task.failures.push(Failure { phase, draft, message });
    }

    pub fn leave(&mut self, exit: Exit) {
        self.exit = Some(exit);
    }

    /// Ends the run without an answer.
    pub fn fail(&mut self, code: ErrorCode, message: impl Into<String>) {
        self.error = Some(RunError { code, message: message.into() });
        self.exit = Some(Exit::Failed);
    }

    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// How the phase ended, and what follows.
    pub fn take_exit(&mut self) -> Option<(Exit, Next)> {
        let exit = self.exit.take()?;
        let limits = &self.compiled.spec().limits;
        let again = match limits.max_iterations {
            Some(most) => self.task.draft < most,
            None => self.task.counters.replans < limits.max_replans,
        };
        let policy = self.compiled.policy();
        let stands = exit == Exit::Rejected && self.task.stands_rejected(policy);
        Some((exit, route(policy, exit, again, stands)))
    }

    /// Whether the re-planner drafts.
    pub fn uses_replanner(&self) -> bool {
        drafter(&self.task, self.compiled) == RoleName::Replanner
    }

    /// Notes what a stage waits for before the event is handled.
    pub fn await_for(&mut self, phase: &Phase) {
        self.awaited = stage_awaits(phase, &self.task, self.compiled);
    }

    /// Asks for what a stage waits for, unless it did so before the event.
    pub fn ask(&mut self, phase: &Phase) {
        if self.has_ended() {
            return;
        }
        let effect = stage_awaits(phase, &self.task, self.compiled);
        let before = self.awaited.map(|effect| effect.id().kind);
        if let Some(effect) = effect.filter(|effect| Some(effect.id().kind) != before) {
            // A repair that the limits do not allow never happened, so no line tells of it.
            let line = self.repair.take();
            if self.emit(effect) {
                self.task.trace.extend(line.map(|line| *line));
            }
        }
    }

    /// Moves a step on, and asks for what it waits for then.
    pub fn set_step(&mut self, step: u32, run: StepRun) {
        let effect = step_awaits(&run, step, &self.task, self.compiled);
        self.task.set_slot(step, run);
        if let Some(effect) = effect {
            self.emit(effect);
        }
    }

    /// Lets an effect out, or ends the run if it may not ask any more. Returns whether it went out.
    fn emit(&mut self, effect: Effect) -> bool {
        let (more, role) = match effect {
            Effect::AskModel { role, .. } => (REPLY, Some(role)),
            Effect::CallTool { .. } => (CALL, None),
            Effect::AskHuman { .. } | Effect::Wait { .. } => (ANSWER, None),
        };
        let allowed = self.has_room(effect.id().kind, more, role);
        if allowed {
            let counters = &mut self.task.counters;
            counters.model_calls = counters.model_calls.saturating_add(more.model_calls);
            counters.tool_calls = counters.tool_calls.saturating_add(more.tool_calls);
            self.effects.push(effect);
        }
        allowed
    }

    /// Has the agent of a step begin a run of its own, if the limits leave room for all that it may need.
    pub fn begin(&mut self, inner: &CompiledSpec, begin: Begin) {
        let Place { draft, step, attempt } = begin.place;
        let bounds = inner.bounds();
        let more = Bounds { transitions: bounds.transitions.max(1), ..bounds };
        if self.has_room(EffectKind::Step { draft, step, attempt }, more, Some(RoleName::Agent)) {
            self.begins.push(begin);
        }
    }

    /// Whether the limits leave room for so much more; ends the run if not.
    fn has_room(&mut self, kind: EffectKind, more: Bounds, role: Option<RoleName>) -> bool {
        // Steps side by side spend in the order in which answers come, so nothing is judged between them.
        let beside = role == Some(RoleName::Agent) && self.compiled.policy().execution.width() > 1;
        if role.is_some() && !beside && !self.may_spend() {
            return false;
        }
        let Some(over) = first_over(&self.task.counters, more, self.compiled) else { return true };
        self.fail_over(&over, format!("{kind} would be {} {} of {}", over.kind, over.wanted, over.most));
        false
    }

    /// Whether tokens and money are left; ends the run if not.
    fn may_spend(&mut self) -> bool {
        let limits = &self.compiled.spec().limits;
        let (usage, cost) = (self.task.counters.usage, self.task.counters.cost);
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        if let Some(most) = limits.max_tokens.filter(|most| tokens >= *most) {
            self.fail(ErrorCode::MaxTokensExceeded, format!("{tokens} tokens are spent, {most} are allowed"));
        } else if let Some(most) = limits.max_cost.filter(|most| cost >= *most) {
            self.fail(ErrorCode::MaxCostExceeded, format!("{cost} is spent, {most} is allowed"));
        }
        !self.has_ended()
    }

    /// Whether the limits allow all of the current plan, after so many answers; ends the run if not.
    pub fn allows_plan(&mut self, answers: u32) -> bool {
        let pending = self.task.drafted().filter(|(_, _, run)| matches!(run, StepRun::Pending));
        let mut need = need(pending.map(|(_, planned, _)| planned), self.compiled);
        if need.transitions > 0 {
            need.transitions = need.transitions.saturating_add(answers);
        }
        match first_over(&self.task.counters, need, self.compiled) {
            Some(over) => self.fail_over(&over, format!("the plan needs {}", over.in_all())),
            None => return need.model_calls == 0 || self.may_spend(),
        }
        false
    }

    /// Ends the run over a limit. Which effect or plan met it does not matter for transitions.
    fn fail_over(&mut self, over: &Over, message: String) {
        let Over { code, wanted, most, .. } = *over;
        self.fail(
            code,
            match code {
                ErrorCode::MaxStepsExceeded => {
                    format!("the run needs {wanted} transitions so far, {most} are allowed")
                }
                _ => message,
            },
        );
    }
}

/// The phase that follows, in its first stage.
pub(super) fn first_stage(next: Next) -> Phase {
    match next {
        Next::Plan => Phase::Plan(PlanStage::Drafting(Asking::first())),
        Next::Execute => Phase::Execute(ExecuteStage::Running),
        Next::Validate => Phase::Validate(Asking::first()),
        Next::Write(gate) => Phase::Write(Writing { gate, asking: Asking::first() }),
        Next::Done => Phase::Done,
        Next::Error { .. } => Phase::Error,
    }
}

const REPLY: Bounds = Bounds { model_calls: 1, tool_calls: 0, transitions: 1 };
const CALL: Bounds = Bounds { model_calls: 0, tool_calls: 1, transitions: 1 };
/// A person's answer, or a wait.
const ANSWER: Bounds = Bounds { model_calls: 0, tool_calls: 0, transitions: 1 };

/// The most that steps may need, further tries included. Asked before the first of them runs, so no run ends
/// halfway through a plan for want of budget, and what has run by then never depends on the order of answers.
fn need<'a>(steps: impl Iterator<Item = &'a PlanStep>, compiled: &CompiledSpec) -> Bounds {
    let policy = compiled.policy();
    let mut need = Bounds { transitions: 0, ..ANSWER };
    let mut add = |times: u32, each: Bounds| {
        let more = |sum: &mut u32, each: u32| *sum = sum.saturating_add(times.saturating_mul(each));
        more(&mut need.model_calls, each.model_calls);
        more(&mut need.tool_calls, each.tool_calls);
        more(&mut need.transitions, each.transitions);
    };
    let mut count: u32 = 0;
    for planned in steps.filter(|planned| !planned.is_final()) {
        count = count.saturating_add(1);
        if compiled.may_ask(&planned.tool) {
            add(1, ANSWER);
        }
        add(compiled.most_picks(), ANSWER);
        if policy.approval.steps && planned.is_hitl() {
            add(1, ANSWER);
            continue;
        }
        let most = policy.step_tries.tries;
        let tries = if most > 1 && happens_once(planned, compiled) { 1 } else { most };
        let (each, anew) = match compiled.agent(&planned.tool) {
            None => (CALL, 0),
            Some(CompiledAgent::Role(_)) => (REPLY, 0),
            Some(CompiledAgent::Spec(inner)) => (inner.bounds(), inner.runs_anew()),
        };
        add(tries + anew, each);
        if compiled.plan().offers_holes() {
            // Each value is asked for until it fits.
            let asks = 1 + compiled.repairs(RoleName::Executor, false);
            add((planned.holes().len() as u32).saturating_mul(asks), REPLY);
        }
        // The waits between the tries.
        add(tries.saturating_sub(1), ANSWER);
    }
    if policy.orchestrate == Orchestrate::EachStep && count > 0 {
        // A decision before the first step and one after each.
        add(count.saturating_add(1), REPLY);
    }
    need
}

/// Whether a step may change something outside, by itself or by a tool of its agent: it runs alone.
pub(super) fn may_write(planned: &PlanStep, compiled: &CompiledSpec) -> bool {
    compiled.tool(&planned.tool).is_some_and(|tool| tool.effect == ToolEffect::Write)
}

/// Whether a step is a write that may not happen twice: it is never tried again.
pub(super) fn happens_once(planned: &PlanStep, compiled: &CompiledSpec) -> bool {
    compiled.tool(&planned.tool).is_some_and(ToolContract::happens_once)
}

/// A limit that would be passed.
struct Over {
    code: ErrorCode,
    kind: &'static str,
    wanted: u32,
    most: u32,
}

impl Over {
    /// What steps may need, and what is allowed.
    fn in_all(&self) -> String {
        format!("{} {}s in all, {} are allowed", self.wanted, self.kind, self.most)
    }
}

/// The first limit that would be passed if a run did so much more.
#[inline]
fn first_over(spent: &Counters, more: Bounds, compiled: &CompiledSpec) -> Option<Over> {
    let bounds = compiled.bounds();
    let over = |code, kind, spent: u32, more: u32, most: u32| {
        let wanted = spent.saturating_add(more);
        (more > 0 && wanted > most).then_some(Over { code, kind, wanted, most })
    };
    let (tools, models) = (ErrorCode::MaxToolCallsExceeded, ErrorCode::MaxModelCallsExceeded);
    over(tools, "tool call", spent.tool_calls, more.tool_calls, bounds.tool_calls)
        .or_else(|| over(models, "model call", spent.model_calls, more.model_calls, bounds.model_calls))
        .or_else(|| {
            let most = bounds.transitions;
            over(ErrorCode::MaxStepsExceeded, "transition", spent.transitions, more.transitions, most)
        })
}

/// Whether steps that take the place of others can still be carried out.
pub(super) fn leaves_room(
    spent: &Counters,
    compiled: &CompiledSpec,
    steps: &[PlanStep],
) -> Result<(), String> {
    let over = first_over(spent, need(steps.iter(), compiled), compiled);
    over.map_or(Ok(()), |over| Err(format!("the steps may need {}", over.in_all())))
}
