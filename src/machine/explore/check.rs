//! The checks: the invariants as claims over every state and every step of a walk.

use std::collections::{BTreeMap, BTreeSet};

use super::key::Key;
use super::letters::Letter;
use super::report::{Check, Taken};
use crate::machine::{
    Counters, Effect, ErrorCode, Event, Exit, Move, Phase, PhaseName, Refusal, Refused, State, Step,
    WriteReason, admit, outstanding, transition,
};
use crate::spec::{Bounds, CompiledSpec, Horizon, OnExhausted, Validate, ValidateAt, Write};

/// Violations kept of one invariant; more would only repeat them.
const MAX_VIOLATIONS: usize = 10;

const CLAIMS: [(&str, &str); 8] = [
    ("total", "every state and every event give a step or a refusal, and a live run waits for something"),
    ("bounded", "every run ends in DONE or ERROR within the bounds computed from the spec"),
    (
        "replans",
        "no run replans more often than `max_replans`, and the next rejection ends as the policy says",
    ),
    ("gated", "WRITE is entered only after an accepted verdict, or where the policy says why not"),
    ("answered once", "an answer fits exactly once; unknown, repeated and late ones change nothing"),
    ("terminal", "DONE and ERROR ask for nothing and take nothing"),
    ("faithful", "written, read and stepped is the same as stepped"),
    ("abstraction", "states that are told to be the same do the same"),
];

/// The machine that is walked. Each default is the real one; a test breaks one on purpose.
#[doc(hidden)]
pub trait Machine {
    fn admit(&self, compiled: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
        admit(compiled, state, event)
    }

    fn transition(&self, compiled: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        transition(compiled, state, event)
    }
}

/// What one letter does to a state. Broken is a panic, or a refusal that changes something.
#[derive(PartialEq)]
pub(super) enum Outcome {
    Refused(State),
    Stepped(Step),
    Broken,
}

/// One step from an abstract state to another, without words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub on: String,
    pub to: usize,
    pub model_calls: u32,
    pub tool_calls: u32,
    pub lines: Vec<String>,
}

/// A budget that is used up before the event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Nothing,
    ModelCalls,
    ToolCalls,
    Transitions,
}

impl Spent {
    pub const ALL: [Spent; 4] = [Spent::Nothing, Spent::ModelCalls, Spent::ToolCalls, Spent::Transitions];

    /// The state with the budget used up.
    pub fn apply(self, compiled: &CompiledSpec, state: &State) -> State {
        let mut state = state.clone();
        let (bounds, Counters { model_calls, tool_calls, transitions, .. }) =
            (compiled.bounds(), &mut state.task.counters);
        match self {
            Spent::Nothing => {}
            Spent::ModelCalls => *model_calls = bounds.model_calls,
            Spent::ToolCalls => *tool_calls = bounds.tool_calls,
            // The event itself is the last transition.
            Spent::Transitions => *transitions = bounds.transitions.saturating_sub(1),
        }
        state
    }
}

pub(super) struct Checks<'a> {
    machine: &'a dyn Machine,
    compiled: &'a CompiledSpec,
    checks: Vec<Check>,
}

impl<'a> Checks<'a> {
    pub fn new(machine: &'a dyn Machine, compiled: &'a CompiledSpec) -> Self {
        let check = |(invariant, claim)| Check { invariant, claim, cases: 0, violations: Vec::new() };
        Checks { machine, compiled, checks: CLAIMS.map(check).into() }
    }

    pub fn finish(self) -> Vec<Check> {
        self.checks
    }

    fn claim(&mut self, invariant: &str, holds: bool, violation: impl FnOnce() -> String) {
        let check = self.checks.iter_mut().find(|check| check.invariant == invariant);
        let check = check.expect("one of the claims");
        check.cases += 1;
        if !holds && check.violations.len() < MAX_VIOLATIONS {
            check.violations.push(violation());
        }
    }

    pub fn check_start(&mut self, begun: &Step) {
        let same = begun.effects.to_vec() == outstanding(self.compiled, &begun.state);
        self.claim("total", same, || "a run begins waiting for something it did not ask".into());
    }

    pub fn check_state(&mut self, state: &State, letters: &[Letter]) {
        let phase = state.phase.name();
        let waiting = outstanding(self.compiled, state);
        let waits = || format!("{phase} waits for {waiting:?}");
        self.claim("total", phase.is_terminal() == waiting.is_empty(), waits);
        let answers = letters.iter().any(|letter| letter.fits && letter.event.effect().is_some());
        self.claim("total", answers != phase.is_terminal(), waits);
        let limits = &self.compiled.spec().limits;
        let (replans, draft) = (state.task.counters.replans, state.task.draft);
        let counted = match limits.max_iterations {
            Some(most) => replans == 0 && draft <= most,
            None => replans <= limits.max_replans && replans + 1 == draft,
        };
        self.claim("replans", counted, || format!("draft {draft}, {replans} replans of {limits:?}"));
        if let Phase::Write(writing) = &state.phase {
            let policy = self.compiled.policy();
            let holds = match writing.gate {
                WriteReason::Accepted => policy.validate != Validate::Off,
                WriteReason::ValidationOff => policy.validate == Validate::Off,
                WriteReason::JudgedAfterwards => policy.validate_at == ValidateAt::Answer,
                WriteReason::NoToolNeeded => policy.can_skip_plan(),
                WriteReason::Exhausted => policy.on_exhausted == OnExhausted::Write,
            };
            self.claim("gated", holds, || format!("WRITE with the gate {:?}", writing.gate));
        }
    }

    pub fn check_step(&mut self, before: &State, letter: &Letter, outcome: &Outcome) {
        let phase = before.phase.name();
        let case = |what: &str| format!("{} in {phase} ({:?}): {what}", letter.name, letter.event.effect());
        self.claim("total", !matches!(outcome, Outcome::Broken), || case("a panic or a changed state"));
        let admitted = self.machine.admit(self.compiled, before, &letter.event).is_ok();
        let stepped = matches!(outcome, Outcome::Stepped(_));
        self.claim("total", admitted == stepped, || case(&format!("admitted {admitted}, stepped {stepped}")));
        if phase.is_terminal() {
            self.claim("terminal", !stepped, || case("taken"));
        } else if letter.fits {
            self.claim("total", stepped, || case("refused, though it fits"));
        } else {
            self.claim("answered once", !stepped, || case("taken, though nothing asked for it"));
        }
        if let Outcome::Stepped(step) = outcome {
            self.check_stepped(before, letter, step);
        }
    }

    fn check_stepped(&mut self, before: &State, letter: &Letter, step: &Step) {
        let (from, to) = (before.phase.name(), step.state.phase.name());
        let case = |what: String| format!("{} from {from} to {to}: {what}", letter.name);
        if let Some(effect) = letter.event.effect() {
            let again = self.machine.admit(self.compiled, &step.state, &letter.event).is_err();
            self.claim("answered once", again, || case(format!("{effect} may be answered again")));
        }
        if to.is_terminal() {
            let asks = || case(format!("asks for {:?}", step.effects));
            self.claim("terminal", step.effects.is_empty(), asks);
        }
        let (waited, waits) = (outstanding(self.compiled, before), outstanding(self.compiled, &step.state));
        let asked = step.effects.iter().all(|effect| waits.contains(effect));
        self.claim("total", asked, || case("asks for what it does not wait for".into()));
        let silent = waits.iter().find(|effect| !waited.contains(effect) && !step.effects.contains(effect));
        self.claim("total", silent.is_none(), || case(format!("waits for {silent:?} unasked")));
        for taken in &step.moves {
            self.check_move(before, taken, &step.state);
        }
        let entered = step.moves.last().map_or(from, |taken| taken.to);
        self.claim("total", entered == to, || case(format!("the moves say {entered}")));
    }

    fn check_move(&mut self, before: &State, taken: &Move, after: &State) {
        let limits = &self.compiled.spec().limits;
        let left = match limits.max_iterations {
            Some(most) => before.task.draft < most,
            None => before.task.counters.replans < limits.max_replans,
        };
        let policy = self.compiled.policy();
        let judges = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
        let goes_on = taken.exit == Exit::Executed && policy.horizon == Horizon::Next && !judges;
        let sends_back = goes_on || matches!(taken.exit, Exit::Rejected | Exit::StepFailed | Exit::Declined);
        if taken.to == PhaseName::Plan {
            self.claim("replans", sends_back && left, || format!("back to PLAN by {taken:?}"));
        } else if sends_back {
            let code = after.error().map(|error| error.code);
            let ended = match (policy.on_exhausted, taken.exit) {
                (_, Exit::Declined) => code == Some(ErrorCode::Rejected),
                (OnExhausted::Write, Exit::Rejected) if policy.validate_at == ValidateAt::Answer => {
                    taken.to == PhaseName::Done
                }
                (OnExhausted::Write, _) => taken.to == PhaseName::Write,
                (_, Exit::Rejected) => code == Some(ErrorCode::ValidationFailedMaxReplans),
                (_, Exit::StepFailed) => code == Some(ErrorCode::StepFailedMaxReplans),
                _ => code == Some(ErrorCode::MaxIterationsExceeded),
            };
            self.claim("replans", !left && ended, || format!("replans used up, {taken:?} with {code:?}"));
        }
        if taken.to == PhaseName::Write {
            let exhausted = policy.on_exhausted == OnExhausted::Write && !left;
            let holds = match taken.exit {
                Exit::Accepted => taken.from == PhaseName::Validate && judges,
                Exit::Executed if goes_on => exhausted,
                Exit::Executed => taken.from == PhaseName::Execute && !judges,
                Exit::NothingToDo => taken.from == PhaseName::Plan && policy.can_skip_plan(),
                Exit::Rejected | Exit::StepFailed => exhausted,
                _ => false,
            };
            self.claim("gated", holds, || format!("WRITE entered by {taken:?}"));
        }
    }

    /// With a budget used up, nothing more is asked on it. (A plan's tool calls are set aside when
    /// EXECUTE is entered, so there they count as spent already.)
    pub fn check_budget(&mut self, spent: Spent, letter: &Letter, step: &Step) {
        let begins_plan = step.moves.iter().any(|taken| taken.to == PhaseName::Execute);
        let over = step.effects.iter().any(|effect| match spent {
            Spent::Nothing => false,
            Spent::ModelCalls => matches!(effect, Effect::AskModel { .. }),
            Spent::ToolCalls => begins_plan && matches!(effect, Effect::CallTool { .. }),
            Spent::Transitions => true,
        });
        let asks = || format!("{} with {spent:?} used up: asks for {:?}", letter.name, step.effects);
        self.claim("bounded", !over, asks);
    }

    /// The state, written and read; written again it must be the same, byte for byte.
    pub fn read_back(&mut self, state: &State) -> Option<State> {
        let text = serde_json::to_string(state).ok()?;
        let read: Option<State> = serde_json::from_str(&text).ok();
        let again = read.as_ref().and_then(|read| serde_json::to_string(read).ok());
        let same = again.as_deref() == Some(text.as_str()) && read.as_ref() == Some(state);
        self.claim("faithful", same, || format!("a state of {} reads back otherwise", state.phase.name()));
        read
    }

    /// The step from a state and the step from the same state, written and read.
    pub fn check_faithful(&mut self, letter: &Letter, outcome: &Outcome, from_read: &Outcome) {
        let otherwise = || format!("{} steps otherwise after reading back", letter.name);
        self.claim("faithful", outcome == from_read, otherwise);
    }

    pub fn check_same_behaviour(&mut self, number: usize, first: &BTreeSet<Edge>, other: &BTreeSet<Edge>) {
        self.claim("abstraction", first == other, || {
            let differs = first.iter().zip(other).find(|(left, right)| left != right);
            format!("state {number}: {differs:?} ({} and {} edges)", first.len(), other.len())
        });
    }

    pub fn merged_different_states(&self) -> bool {
        self.checks.iter().any(|check| check.is_about_the_walk() && !check.violations.is_empty())
    }

    /// What only the whole graph can tell.
    pub fn check_graph(
        &mut self,
        keys: &BTreeMap<Key, usize>,
        edges: &[BTreeSet<Edge>],
        taken: &BTreeSet<Taken>,
        longest: Option<Bounds>,
    ) {
        self.claim("bounded", longest.is_some(), || "the graph has a cycle".into());
        let (bounds, limits) = (self.compiled.bounds(), &self.compiled.spec().limits);
        // A limit that the spec sets below what its graph allows ends runs earlier than the graph: then
        // the budget is the bound, and `check_budget` is the proof.
        let budgeted = limits.max_model_calls.or(limits.max_tool_calls).or(limits.max_transitions).is_some();
        if let Some(longest) = longest {
            let within = longest.model_calls <= bounds.model_calls.max(1)
                && longest.tool_calls <= bounds.tool_calls
                && longest.transitions <= bounds.transitions;
            self.claim("bounded", within || budgeted, || format!("longest {longest:?}, bounds {bounds:?}"));
        }
        let is_to = |edge: &Taken, phase| matches!(edge, Taken::Move(Move { to, .. }) if *to == phase);
        for phase in [PhaseName::Execute, PhaseName::Write, PhaseName::Done] {
            // A budget may be too small to get there; then not getting there is what was asked for.
            let may_not = budgeted
                || (phase == PhaseName::Execute && bounds.tool_calls == 0)
                || (phase == PhaseName::Write && self.compiled.policy().write == Write::Planner);
            let reached = may_not || taken.iter().any(|edge| is_to(edge, phase));
            self.claim("total", reached, || format!("{phase} is never reached by what was tried"));
        }
        for (key, number) in keys {
            let stuck = || format!("a state is stuck: {key:?}");
            self.claim("bounded", edges[*number].is_empty() == key.phase.is_terminal(), stuck);
        }
    }
}
