//! The checks: the invariants as claims over every state and every step of a walk.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::claims;
use super::key::Key;
use super::letters::Letter;
use super::report::{Check, Taken};
use super::seen::Seen;
use super::spent::Spent;
use crate::machine::{
    Effect, ErrorCode, Event, Exit, Move, Phase, PhaseName, Refusal, Refused, State, Step, WriteReason,
    admit, outstanding, transition,
};
use crate::spec::{
    Bounds, CompiledSpec, Containment, Horizon, OnExhausted, Policy, RoleName, Validate, ValidateAt, Write,
};

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
    ("terminal", "DONE has an answer and ERROR an error; both ask for nothing and take nothing"),
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
    Refused,
    Stepped(Step),
    Broken,
}

/// Whether a rejection takes no answer away, because the validator read what is untrusted.
fn stands(policy: &Policy, state: &State) -> bool {
    state.task.tainted && policy.containment != Containment::Off
}

/// One step from an abstract state to another, without words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub on: (Rc<str>, Spent),
    pub to: usize,
    pub model_calls: u32,
    pub tool_calls: u32,
    pub lines: Vec<String>,
}

pub(super) struct Checks<'a> {
    machine: &'a dyn Machine,
    compiled: &'a CompiledSpec,
    /// What a run could do if the spec set no budget: the walk goes on beyond budgets.
    unbudgeted: Bounds,
    checks: Vec<Check>,
}

impl<'a> Checks<'a> {
    pub fn new(machine: &'a dyn Machine, compiled: &'a CompiledSpec) -> Self {
        let check = |(invariant, claim)| Check { invariant, claim, cases: 0, violations: Vec::new() };
        let of_steps = claims::CLAIMS.map(|claim| (claim.name, claim.says));
        let checks = CLAIMS.into_iter().chain(of_steps).map(check).collect();
        let mut spec = compiled.spec().clone();
        let limits = &mut spec.limits;
        (limits.max_model_calls, limits.max_tool_calls, limits.max_transitions) = (None, None, None);
        let unbudgeted = spec.check().map_or(compiled.bounds(), |open| open.bounds());
        Checks { machine, compiled, unbudgeted, checks }
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
                WriteReason::Exhausted => policy.on_exhausted == OnExhausted::Write || stands(policy, state),
            };
            self.claim("gated", holds, || format!("WRITE with the gate {:?}", writing.gate));
        }
    }

    pub fn check_step(&mut self, before: &State, letter: &Letter, outcome: &Outcome) {
        let phase = before.phase.name();
        let event = &letter.event;
        let case = |what: &str| {
            format!("{} ({} of {:?}) in {phase}: {what}", letter.name, event.kind(), event.effect())
        };
        self.claim("total", !matches!(outcome, Outcome::Broken), || case("a panic or a changed state"));
        let admit = || self.machine.admit(self.compiled, before, event).is_ok();
        let admitted = catch_unwind(AssertUnwindSafe(admit)).unwrap_or_default();
        let stepped = matches!(outcome, Outcome::Stepped(_));
        self.claim("total", admitted == stepped, || case(&format!("admitted {admitted}, stepped {stepped}")));
        if phase.is_terminal() {
            self.claim("terminal", !stepped, || case("taken"));
        } else if letter.fits {
            self.claim("total", stepped, || case("refused, though it fits"));
        } else {
            // What a person may not say, or is not asked.
            let is_persons = matches!(event, Event::HumanAnswered { .. });
            let claim = if is_persons { "people" } else { "answered once" };
            self.claim(claim, !stepped, || case("taken, though nothing asked for it"));
        }
        if let Outcome::Stepped(step) = outcome {
            self.check_stepped(before, letter, step);
        }
    }

    fn check_stepped(&mut self, before: &State, letter: &Letter, step: &Step) {
        let (from, to) = (before.phase.name(), step.state.phase.name());
        let case = |what: String| format!("{} from {from} to {to}: {what}", letter.name);
        if let Some(effect) = letter.event.effect() {
            let admit = || self.machine.admit(self.compiled, &step.state, &letter.event).is_err();
            let again = catch_unwind(AssertUnwindSafe(admit)).unwrap_or_default();
            self.claim("answered once", again, || case(format!("{effect} may be answered again")));
        }
        if to.is_terminal() {
            let asks = || case(format!("asks for {:?}", step.effects));
            self.claim("terminal", step.effects.is_empty(), asks);
            let (answered, failed) = (step.state.answer().is_some(), step.state.error().is_some());
            let ended = (answered, failed) == (to == PhaseName::Done, to == PhaseName::Error);
            self.claim("terminal", ended, || case(format!("an answer: {answered}, an error: {failed}")));
        }
        let (waited, waits) = (outstanding(self.compiled, before), outstanding(self.compiled, &step.state));
        let asked = step.effects.iter().all(|effect| waits.contains(effect));
        self.claim("total", asked, || case("asks for what it does not wait for".into()));
        let silent = waits.iter().find(|effect| !waited.contains(effect) && !step.effects.contains(effect));
        self.claim("total", silent.is_none(), || case(format!("waits for {silent:?} unasked")));
        for taken in &step.moves {
            self.check_move(before, taken, &step.state);
        }
        self.check_claims(before, letter, step, &waited);
    }

    /// The claims about one step. They are made of every state that stands for another: what a broken
    /// machine wrote into one, the abstraction may not show.
    fn check_claims(&mut self, before: &State, letter: &Letter, step: &Step, waited: &[Effect]) {
        let seen = Seen { compiled: self.compiled, before, event: &letter.event, step, waited };
        for claim in &claims::CLAIMS {
            let checked = (claim.check)(&seen);
            let (from, to) = (before.phase.name(), step.state.phase.name());
            let holds = checked.is_ok();
            let case =
                || format!("{} from {from} to {to}: {}", letter.name, checked.err().unwrap_or_default());
            self.claim(claim.name, holds, case);
        }
    }

    pub fn check_claims_again(&mut self, before: &State, letter: &Letter, outcome: &Outcome) {
        if let Outcome::Stepped(step) = outcome {
            self.check_claims(before, letter, step, &outstanding(self.compiled, before));
        }
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
            let at_answer = policy.validate_at == ValidateAt::Answer;
            let writes_up = policy.on_exhausted == OnExhausted::Write;
            let ended = match (policy.on_exhausted, taken.exit) {
                (_, Exit::Declined) => code == Some(ErrorCode::Rejected),
                (_, Exit::Rejected) if at_answer && (writes_up || stands(policy, before)) => {
                    taken.to == PhaseName::Done && after.objection().is_some()
                }
                (_, Exit::Rejected) if stands(policy, before) => taken.to == PhaseName::Write,
                (OnExhausted::Write, _) => taken.to == PhaseName::Write,
                (_, Exit::Rejected) => code == Some(ErrorCode::ValidationFailedMaxReplans),
                (_, Exit::StepFailed) => code == Some(ErrorCode::StepFailedMaxReplans),
                _ => code == Some(ErrorCode::MaxIterationsExceeded),
            };
            self.claim("replans", !left && ended, || format!("replans used up, {taken:?} with {code:?}"));
        }
        if taken.to == PhaseName::Write {
            let written_up = policy.on_exhausted == OnExhausted::Write || stands(policy, before);
            let exhausted = written_up && !left;
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
        let at_answer = policy.validate_at == ValidateAt::Answer;
        let holds = match (taken.to, taken.exit) {
            (PhaseName::Execute, exit) => exit == Exit::Planned,
            (PhaseName::Validate, Exit::Executed) => judges,
            (PhaseName::Validate, Exit::Answered | Exit::Written) => at_answer,
            (PhaseName::Validate, _) => false,
            (PhaseName::Done, Exit::OutOfScope) => true,
            (PhaseName::Done, Exit::Answered | Exit::Written) => !at_answer,
            (PhaseName::Done, Exit::Accepted) => at_answer,
            (PhaseName::Done, exit) => exit == Exit::Rejected && at_answer && !left,
            _ => true,
        };
        self.claim("gated", holds, || format!("{} entered by {taken:?}", taken.to));
    }

    /// With a budget used up, nothing more is asked on it. (A plan's tool calls are set aside when
    /// EXECUTE is entered, so there they count as spent already.)
    pub fn check_budget(&mut self, spent: Spent, letter: &Letter, step: &Step) {
        let begins_plan = step.moves.iter().any(|taken| taken.to == PhaseName::Execute);
        let beside = self.compiled.policy().execution.width() > 1;
        let over = step.effects.iter().any(|effect| match (spent, effect) {
            (Spent::Nothing, _) => false,
            // What a nested run may need was set aside before it began.
            _ if letter.event.effect().is_some_and(|id| !id.path.is_empty()) => false,
            // Steps side by side spend in the order of arrival, so nothing is judged between them.
            (Spent::Tokens, Effect::AskModel { role: RoleName::Agent, .. }) => begins_plan || !beside,
            (Spent::ModelCalls | Spent::Tokens, effect) => matches!(effect, Effect::AskModel { .. }),
            (Spent::ToolCalls, effect) => begins_plan && matches!(effect, Effect::CallTool { .. }),
            (Spent::Transitions, _) => true,
        });
        let asks = || format!("{} with {spent:?} used up: asks for {:?}", letter.name, step.effects);
        self.claim("bounded", !over, asks);
    }

    /// The state, written and read; written again it must be the same, byte for byte.
    pub fn read_back(&mut self, state: &State) -> Option<State> {
        let text = serde_json::to_string(state).ok()?;
        let read: Option<State> = serde_json::from_slice(text.as_bytes()).ok();
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
            let differs = first.symmetric_difference(other).next();
            let on = differs.map_or("an event", |edge| &*edge.on.0);
            format!("state {number}: what follows on {on:?} is not always the same")
        });
    }

    pub fn merged_different_states(&self) -> bool {
        self.checks.iter().any(|check| check.is_about_the_walk() && !check.violations.is_empty())
    }

    /// What only the whole graph can tell.
    /// No run is longer than the bounds. Returns whether a walk may go on so deep.
    pub fn check_depth(&mut self, depth: u32) -> bool {
        let most = self.unbudgeted.transitions;
        self.claim("bounded", depth <= most, || format!("a run of more than {most} transitions"));
        depth <= most
    }

    pub fn check_graph(
        &mut self,
        keys: &BTreeMap<Key, usize>,
        edges: &[BTreeSet<Edge>],
        taken: &BTreeSet<Taken>,
        longest: Option<Bounds>,
    ) {
        self.claim("bounded", longest.is_some(), || "the graph has a cycle".into());
        let (bounds, limits) = (self.compiled.bounds(), &self.compiled.spec().limits);
        // A limit that the spec sets below what its graph allows ends runs earlier than the graph: that
        // is proved by `check_budget`.
        let budgeted = limits.max_model_calls.or(limits.max_tool_calls).or(limits.max_transitions).is_some()
            || limits.max_tokens.is_some()
            || limits.max_cost.is_some();
        if let Some(longest) = longest {
            let most = self.unbudgeted;
            let within = longest.model_calls <= most.model_calls.max(1)
                && longest.tool_calls <= most.tool_calls
                && longest.transitions <= most.transitions;
            self.claim("bounded", within, || format!("longest {longest:?}, bounds {most:?}"));
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
