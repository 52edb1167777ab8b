//! Run: one run under one event. It is the only door by which an effect, a trace line, a charge or an
//! exit goes out; limits are checked where effects leave. A phase says here how it ended; `route.rs`
//! says what follows.

use smallvec::SmallVec;

use super::awaits::{Stage, drafter, stage_awaits};
use super::need::Need;
use super::route::{Exit, Move, Next, route};
use super::state::{Asking, ExecuteStage, Input, Phase, PlanStage, State, StepRun, Task, Writing};
use super::vocabulary::{Effect, EffectId, ErrorCode, Event, Failure, PhaseName, Place, RunError, TraceLine};
use crate::spec::{CompiledSpec, RoleName};

/// The effects of one step: nearly always one.
pub type Effects = SmallVec<[Effect; 1]>;

/// The phase changes of one step: at most three (PLAN → EXECUTE → WRITE for a plan of only
/// `final_answer`, and one more where a limit is reached on the way).
pub type Moves = SmallVec<[Move; 3]>;

/// A run after one event.
#[derive(Debug)]
pub struct Step {
    /// The state now.
    pub state: State,
    /// What the run asks of the world now.
    pub effects: Effects,
    /// Which edges of the phase graph were taken.
    pub moves: Moves,
}

/// What a phase is told.
pub(super) enum Incoming {
    /// Something happened in the world.
    Event(Event),
    /// The run of an agent that did a step has ended.
    NestedEnded { step: u32, result: StepRun },
}

/// A step whose agent is to begin a run of its own.
pub(super) struct Begin {
    pub place: Place,
    pub input: Input,
    pub tainted: bool,
}

/// One run under one event.
pub(super) struct Run<'a> {
    pub rules: &'a CompiledSpec,
    pub task: Box<Task>,
    /// What happened, until a handler takes it. statig lends handlers `&Event`, and copying every tool
    /// output would be felt.
    pub incoming: Option<Incoming>,
    pub effects: Effects,
    pub moves: Moves,
    /// The nested runs to begin.
    pub begins: Vec<Begin>,
    /// What ended the run, until ERROR is entered.
    pub error: Option<RunError>,
    exit: Option<Exit>,
}

impl<'a> Run<'a> {
    pub fn new(rules: &'a CompiledSpec, task: Box<Task>, incoming: Option<Incoming>) -> Self {
        let (effects, moves, begins) = (Effects::new(), Moves::new(), Vec::new());
        Run { rules, task, incoming, effects, moves, begins, error: None, exit: None }
    }

    /// The event, where it is still to be taken.
    pub fn event(&self) -> Option<&Event> {
        match &self.incoming {
            Some(Incoming::Event(event)) => Some(event),
            _ => None,
        }
    }

    /// Takes the event.
    pub fn take_event(&mut self) -> Option<Event> {
        match self.incoming.take() {
            Some(Incoming::Event(event)) => Some(event),
            other => {
                self.incoming = other;
                None
            }
        }
    }

    /// Gives an event back that is not for this phase.
    pub fn give_back(&mut self, event: Event) {
        self.incoming = Some(Incoming::Event(event));
    }

    /// Leaves a trace line.
    pub fn line(&mut self, line: TraceLine) {
        self.task.trace.push(line);
    }

    /// Notes something that went wrong.
    pub fn note_failure(&mut self, phase: PhaseName, message: String) {
        let draft = self.task.draft;
        self.task.failures.push(Failure { phase, draft, message });
    }

    /// Ends the phase.
    pub fn leave(&mut self, exit: Exit) {
        self.exit = Some(exit);
    }

    /// Ends the run without an answer.
    pub fn fail(&mut self, code: ErrorCode, message: impl Into<String>) {
        self.error = Some(RunError { code, message: message.into() });
        self.exit = Some(Exit::Failed);
    }

    /// Whether the phase has ended.
    pub fn has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// How the phase ended, and what follows.
    pub fn take_exit(&mut self) -> Option<(Exit, Next)> {
        let exit = self.exit.take()?;
        let limits = &self.rules.spec().limits;
        let again = match limits.max_iterations {
            Some(most) => self.task.draft < most,
            None => self.task.counters.replans < limits.max_replans,
        };
        Some((exit, route(self.rules.policy(), exit, again)))
    }

    /// The role that drafts.
    pub fn drafter(&self) -> RoleName {
        drafter(&self.task, self.rules)
    }

    /// The effect that a stage waits for.
    pub fn awaited(&self, stage: Stage<'_>) -> Option<Effect> {
        stage_awaits(stage, &self.task, self.rules)
    }

    /// Asks for what a stage waits for. Returns whether the limits allow it.
    pub fn ask(&mut self, stage: Stage<'_>) -> bool {
        self.awaited(stage).is_some_and(|effect| self.emit(effect))
    }

    /// Lets an effect out, or ends the run where it may not ask any more. Returns whether it went out.
    pub fn emit(&mut self, effect: Effect) -> bool {
        let allowed = match effect {
            Effect::AskModel { id, role } => self.may_spend_on(role) && self.may_ask(id, 1),
            Effect::CallTool { id, .. } => self.may_call(id, 1),
            Effect::AskHuman { .. } | Effect::Wait { .. } => true,
        };
        if !(allowed && self.may_move(1)) {
            return false;
        }
        let counters = &mut self.task.counters;
        match effect {
            Effect::AskModel { .. } => counters.model_calls = counters.model_calls.saturating_add(1),
            Effect::CallTool { .. } => counters.tool_calls = counters.tool_calls.saturating_add(1),
            Effect::AskHuman { .. } | Effect::Wait { .. } => {}
        }
        self.effects.push(effect);
        true
    }

    /// Has the agent of a step begin a run of its own, where the limits leave room for all that it may
    /// need.
    pub fn begin(&mut self, id: EffectId, inner: &CompiledSpec, begin: Begin) {
        let bounds = inner.bounds();
        let allowed = self.may_call(id, bounds.tool_calls)
            && self.may_spend_on(RoleName::Agent)
            && self.may_ask(id, bounds.model_calls)
            && self.may_move(bounds.transitions.max(1));
        if allowed {
            self.begins.push(begin);
        }
    }

    fn may_ask(&mut self, id: EffectId, calls: u32) -> bool {
        let (spent, most) = (self.task.counters.model_calls, self.rules.bounds().model_calls);
        let within = spent.saturating_add(calls) <= most;
        if !within {
            let message = format!("{id} would be model call {} of {most}", spent.saturating_add(1));
            self.fail(ErrorCode::MaxModelCallsExceeded, message);
        }
        within
    }

    fn may_call(&mut self, id: EffectId, calls: u32) -> bool {
        let (spent, most) = (self.task.counters.tool_calls, self.rules.bounds().tool_calls);
        let wanted = spent.saturating_add(calls);
        let within = calls == 0 || wanted <= most;
        if !within {
            let message = format!("{id} would be tool call {wanted} of {most}");
            self.fail(ErrorCode::MaxToolCallsExceeded, message);
        }
        within
    }

    /// Every effect is answered by one transition, so what may not be answered is not asked.
    fn may_move(&mut self, wanted: u32) -> bool {
        let most = self.rules.bounds().transitions;
        let needed = self.task.counters.transitions.saturating_add(wanted);
        if needed > most {
            let message = format!("the run needs {needed} transitions so far, {most} are allowed");
            self.fail(ErrorCode::MaxStepsExceeded, message);
        }
        needed <= most
    }

    /// Whether tokens and money are left. Looked at where nothing runs beside, so that it never depends
    /// on the order in which answers came: between steps that run side by side they are not.
    fn may_spend_on(&mut self, role: RoleName) -> bool {
        (role == RoleName::Agent && self.rules.policy().execution.width() > 1) || self.may_spend()
    }

    fn may_spend(&mut self) -> bool {
        let limits = &self.rules.spec().limits;
        let (usage, cost) = (self.task.counters.usage, self.task.counters.cost);
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        if let Some(most) = limits.max_tokens.filter(|most| tokens >= *most) {
            self.fail(ErrorCode::MaxTokensExceeded, format!("{tokens} tokens are spent, {most} are allowed"));
            return false;
        }
        if let Some(most) = limits.max_cost.filter(|most| cost >= *most) {
            self.fail(ErrorCode::MaxCostExceeded, format!("{cost} is spent, {most} is allowed"));
            return false;
        }
        true
    }

    /// Whether all calls of the current plan are within the limits. `answers` are those that come
    /// before its first step.
    pub fn allows_plan(&mut self, answers: u32) -> bool {
        let pending = self.task.drafted().filter(|(_, _, run)| matches!(run, StepRun::Pending));
        let need = Need::of(pending.map(|(_, planned, _)| planned), self.rules);
        let (spent, bounds) = (self.task.counters, self.rules.bounds());
        let tools = ("tool", spent.tool_calls, need.tool_calls, bounds.tool_calls);
        let models = ("model", spent.model_calls, need.model_calls, bounds.model_calls);
        let kinds = [(tools, ErrorCode::MaxToolCallsExceeded), (models, ErrorCode::MaxModelCallsExceeded)];
        for ((kind, spent, needed, most), code) in kinds {
            let wanted = spent.saturating_add(needed);
            if needed > 0 && wanted > most {
                self.fail(code, format!("the plan needs {wanted} {kind} calls in all, {most} are allowed"));
                return false;
            }
        }
        (need.model_calls == 0 || self.may_spend())
            && (need.transitions == 0 || self.may_move(need.transitions.saturating_add(answers)))
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
