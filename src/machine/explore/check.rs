//! The checks: the invariants as claims over every state and every step of a walk.

use std::collections::BTreeSet;

use super::abstraction::Key;
use super::letters::Letter;
use super::machine::{Machine, Outcome, Spent};
use super::report::{self, Check, Edge};
use crate::machine::{
    Effect, ErrorCode, Exit, Move, Phase, PhaseName, State, Step, WriteReason, outstanding,
};
use crate::spec::{Bounds, CompiledSpec, Horizon, OnExhausted, Validate, ValidateAt, Write};

/// Violations kept of one invariant; more would only repeat them.
const MAX_VIOLATIONS: usize = 10;

const TOTAL: usize = 0;
const BOUNDED: usize = 1;
const REPLANS: usize = 2;
const GATED: usize = 3;
const ANSWERED_ONCE: usize = 4;
const TERMINAL: usize = 5;
const FAITHFUL: usize = 6;
const ABSTRACTION: usize = 7;

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
    (report::ABSTRACTION, "states that are told to be the same do the same"),
];

/// The checks of one walk.
pub(super) struct Checks<'a> {
    machine: &'a dyn Machine,
    rules: &'a CompiledSpec,
    checks: Vec<Check>,
}

impl<'a> Checks<'a> {
    pub fn new(machine: &'a dyn Machine, rules: &'a CompiledSpec) -> Self {
        let check = |(invariant, claim)| Check { invariant, claim, cases: 0, violations: Vec::new() };
        Checks { machine, rules, checks: CLAIMS.into_iter().map(check).collect() }
    }

    pub fn finish(self) -> Vec<Check> {
        self.checks
    }

    fn claim(&mut self, invariant: usize, holds: bool, violation: impl FnOnce() -> String) {
        let check = &mut self.checks[invariant];
        check.cases += 1;
        if !holds && check.violations.len() < MAX_VIOLATIONS {
            check.violations.push(violation());
        }
    }

    pub fn check_start(&mut self, begun: &Step) {
        let same = begun.effects.to_vec() == outstanding(self.rules, &begun.state);
        self.claim(TOTAL, same, || "a run begins waiting for something it did not ask".into());
    }

    pub fn check_state(&mut self, state: &State, letters: &[Letter]) {
        let phase = state.phase.name();
        let waiting = outstanding(self.rules, state);
        let waits = || format!("{phase} waits for {waiting:?}");
        self.claim(TOTAL, phase.is_terminal() == waiting.is_empty(), waits);
        let answers = letters.iter().any(|letter| letter.fits && letter.event.effect().is_some());
        self.claim(TOTAL, answers != phase.is_terminal(), waits);
        let limits = &self.rules.spec().limits;
        let (replans, draft) = (state.task.counters.replans, state.task.draft);
        let counted = match limits.max_iterations {
            Some(most) => replans == 0 && draft <= most,
            None => replans <= limits.max_replans && replans + 1 == draft,
        };
        self.claim(REPLANS, counted, || format!("draft {draft}, {replans} replans in {phase} of {limits:?}"));
        if let Phase::Write(writing) = &state.phase {
            let policy = self.rules.policy();
            let holds = match writing.gate {
                WriteReason::Accepted => policy.validate != Validate::Off,
                WriteReason::ValidationOff => policy.validate == Validate::Off,
                WriteReason::JudgedAfterwards => policy.validate_at == ValidateAt::Answer,
                WriteReason::NoToolNeeded => policy.can_skip_plan(),
                WriteReason::Exhausted => policy.on_exhausted == OnExhausted::Write,
            };
            self.claim(GATED, holds, || format!("WRITE with the gate {:?}", writing.gate));
        }
    }

    pub fn check_step(&mut self, before: &State, letter: &Letter, outcome: &Outcome) {
        let phase = before.phase.name();
        let case = || format!("{} in {phase} ({:?})", letter.name, letter.event.effect());
        self.claim(TOTAL, !matches!(outcome, Outcome::Panicked), || {
            format!("{}: a panic or a changed state", case())
        });
        let admitted = self.machine.admit(self.rules, before, &letter.event).is_ok();
        let stepped = matches!(outcome, Outcome::Stepped { .. });
        self.claim(TOTAL, admitted == stepped, || {
            format!("{}: admitted {admitted}, stepped {stepped}", case())
        });
        if phase.is_terminal() {
            self.claim(TERMINAL, !stepped, || format!("{}: taken", case()));
        } else if letter.fits {
            self.claim(TOTAL, stepped, || format!("{}: refused, though it fits", case()));
        } else {
            self.claim(ANSWERED_ONCE, !stepped, || format!("{}: taken, though nothing asked for it", case()));
        }
        if let Outcome::Stepped { step, .. } = outcome {
            self.check_stepped(before, letter, step);
        }
    }

    fn check_stepped(&mut self, before: &State, letter: &Letter, step: &Step) {
        let (from, to) = (before.phase.name(), step.state.phase.name());
        let case = || format!("{} from {from} to {to}", letter.name);
        if let Some(effect) = letter.event.effect() {
            let again = self.machine.admit(self.rules, &step.state, &letter.event).is_err();
            self.claim(ANSWERED_ONCE, again, || format!("{}: {effect} may be answered again", case()));
        }
        if to.is_terminal() {
            let asks = || format!("{}: asks for {:?}", case(), step.effects);
            self.claim(TERMINAL, step.effects.is_empty(), asks);
        }
        let (waited, waits) = (outstanding(self.rules, before), outstanding(self.rules, &step.state));
        let asked = step.effects.iter().all(|effect| waits.contains(effect));
        self.claim(TOTAL, asked, || format!("{}: asks for what it does not wait for", case()));
        let silent = waits.iter().find(|effect| !waited.contains(effect) && !step.effects.contains(effect));
        self.claim(TOTAL, silent.is_none(), || format!("{}: waits for {silent:?} unasked", case()));
        for taken in &step.moves {
            self.check_move(before, taken, &step.state);
        }
        let entered = step.moves.last().map(|taken| taken.to);
        let changed = entered.map_or(from == to, |entered| entered == to);
        self.claim(TOTAL, changed, || format!("{}: the moves say {entered:?}", case()));
    }

    fn check_move(&mut self, before: &State, taken: &Move, after: &State) {
        let limits = &self.rules.spec().limits;
        let left = match limits.max_iterations {
            Some(most) => before.task.draft < most,
            None => before.task.counters.replans < limits.max_replans,
        };
        let policy = self.rules.policy();
        let goes_on = taken.exit == Exit::Executed
            && policy.horizon == Horizon::Next
            && (policy.validate == Validate::Off || policy.validate_at == ValidateAt::Answer);
        let sends_back = goes_on || matches!(taken.exit, Exit::Rejected | Exit::StepFailed | Exit::Declined);
        if taken.to == PhaseName::Plan {
            self.claim(REPLANS, sends_back && left, || format!("back to PLAN by {taken:?}"));
        } else if sends_back {
            let code = after.error().map(|error| error.code);
            let ended = match policy.on_exhausted {
                _ if taken.exit == Exit::Declined => code == Some(ErrorCode::Rejected),
                OnExhausted::Write
                    if policy.validate_at == ValidateAt::Answer && taken.exit == Exit::Rejected =>
                {
                    taken.to == PhaseName::Done
                }
                OnExhausted::Write => taken.to == PhaseName::Write,
                OnExhausted::Fail => matches!(
                    (taken.exit, code),
                    (Exit::Rejected, Some(ErrorCode::ValidationFailedMaxReplans))
                        | (Exit::StepFailed, Some(ErrorCode::StepFailedMaxReplans))
                        | (Exit::Executed, Some(ErrorCode::MaxIterationsExceeded))
                ),
            };
            self.claim(REPLANS, !left && ended, || format!("replans used up, {taken:?} with {code:?}"));
        }
        if taken.to == PhaseName::Write {
            let judged_before = policy.validate != Validate::Off && policy.validate_at == ValidateAt::Results;
            let holds = match taken.exit {
                Exit::Accepted => taken.from == PhaseName::Validate && judged_before,
                Exit::Executed if goes_on => policy.on_exhausted == OnExhausted::Write && !left,
                Exit::Executed => taken.from == PhaseName::Execute && !judged_before,
                Exit::NothingToDo => taken.from == PhaseName::Plan && policy.can_skip_plan(),
                Exit::Rejected | Exit::StepFailed => policy.on_exhausted == OnExhausted::Write && !left,
                _ => false,
            };
            self.claim(GATED, holds, || format!("WRITE entered by {taken:?}"));
        }
    }

    /// With a budget used up, nothing more is asked on it. (A plan's tool calls are set aside when
    /// EXECUTE is entered, so there they count as spent already.)
    pub fn check_budget(&mut self, spent: Spent, letter: &Letter, step: &Step) {
        let asks_model = step.effects.iter().any(|effect| matches!(effect, Effect::AskModel { .. }));
        let begins_plan = step.moves.iter().any(|taken| taken.to == PhaseName::Execute);
        let calls_tool = step.effects.iter().any(|effect| matches!(effect, Effect::CallTool { .. }));
        let over = match spent {
            Spent::Nothing => false,
            Spent::ModelCalls => asks_model,
            Spent::ToolCalls => begins_plan && calls_tool,
            Spent::Transitions => !step.effects.is_empty(),
        };
        self.claim(BOUNDED, !over, || {
            format!("{}{}: asks for {:?}", letter.name, spent.suffix(), step.effects)
        });
    }

    /// The state, written and read; written again it must be the same, byte for byte.
    pub fn read_back(&mut self, state: &State) -> Option<State> {
        let text = serde_json::to_string(state).ok()?;
        let read: Option<State> = serde_json::from_str(&text).ok();
        let again = read.as_ref().and_then(|read| serde_json::to_string(read).ok());
        let same = again.as_deref() == Some(text.as_str()) && read.as_ref() == Some(state);
        self.claim(FAITHFUL, same, || format!("a state of {} reads back otherwise", state.phase.name()));
        read
    }

    /// The step from a state and the step from the same state, written and read.
    pub fn check_faithful(&mut self, letter: &Letter, outcome: &Outcome, from_read: &Outcome) {
        let same = match (outcome, from_read) {
            (Outcome::Stepped { step: left, .. }, Outcome::Stepped { step: right, .. }) => {
                left.state == right.state && left.effects == right.effects && left.moves == right.moves
            }
            (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
        };
        self.claim(FAITHFUL, same, || format!("{} steps otherwise after reading back", letter.name));
    }

    pub fn check_same_behaviour(
        &mut self,
        number: usize,
        first: &BTreeSet<String>,
        other: &BTreeSet<String>,
    ) {
        self.claim(ABSTRACTION, first == other, || {
            let differs = first.iter().zip(other).find(|(left, right)| left != right);
            format!("state {number}: {differs:?} ({} and {} outcomes)", first.len(), other.len())
        });
    }

    pub fn merged_different_states(&self) -> bool {
        !self.checks[ABSTRACTION].violations.is_empty()
    }

    /// What only the whole graph can tell.
    pub fn check_graph(
        &mut self,
        keys: &[Key],
        edges: &[Edge],
        moves: &BTreeSet<Move>,
        longest: Option<Bounds>,
    ) {
        self.claim(BOUNDED, longest.is_some(), || "the graph has a cycle".into());
        let (bounds, limits) = (self.rules.bounds(), &self.rules.spec().limits);
        // A limit that the spec sets below what its graph allows ends runs earlier than the graph: then
        // the budget is the bound, and `check_budget` is the proof.
        let budgeted = limits.max_model_calls.or(limits.max_tool_calls).or(limits.max_transitions).is_some();
        if let Some(longest) = longest {
            let within = longest.model_calls <= bounds.model_calls.max(1)
                && longest.tool_calls <= bounds.tool_calls
                && longest.transitions <= bounds.transitions;
            self.claim(BOUNDED, within || budgeted, || format!("longest {longest:?}, bounds {bounds:?}"));
        }
        let phases: BTreeSet<PhaseName> = moves.iter().map(|taken| taken.to).collect();
        for phase in [PhaseName::Execute, PhaseName::Write, PhaseName::Done] {
            if phase == PhaseName::Write && self.rules.policy().write == Write::Planner {
                continue;
            }
            let passes = phase == PhaseName::Execute && bounds.tool_calls == 0;
            // A budget may be too small to get there; then not getting there is what was asked for.
            let reached = phases.contains(&phase) || passes || budgeted;
            self.claim(TOTAL, reached, || {
                format!("{phase} is never reached: no reply that was tried leads there")
            });
        }
        let leaving: BTreeSet<usize> = edges.iter().map(|edge| edge.from).collect();
        for (number, key) in keys.iter().enumerate() {
            let goes_on = leaving.contains(&number);
            self.claim(BOUNDED, goes_on != key.phase.is_terminal(), || {
                format!("state {number} is stuck: {key:?}")
            });
        }
    }
}
