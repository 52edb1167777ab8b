//! The checks: the invariants as claims over every state and every step of a walk.

use std::collections::BTreeSet;

use super::abstraction::Key;
use super::alphabet::Letter;
use super::feed::{Done, Spent};
use super::machine::Machine;
use super::report::{self, Check, Edge};
use crate::machine::{
    Effect, ErrorCode, Exit, Move, Phase, PhaseName, State, Step, WriteReason, outstanding,
};
use crate::spec::{Bounds, CompiledSpec, Horizon, OnExhausted, Validate, ValidateAt, Write};

/// Violations kept of one invariant; more would only repeat them.
const KEPT: usize = 10;

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

pub(super) struct Checks(Vec<Check>);

impl Checks {
    pub fn new() -> Self {
        let check = |(invariant, claim)| Check { invariant, claim, cases: 0, violations: Vec::new() };
        Checks(CLAIMS.into_iter().map(check).collect())
    }

    pub fn finish(self) -> Vec<Check> {
        self.0
    }

    fn claim(&mut self, invariant: usize, holds: bool, violation: impl FnOnce() -> String) {
        let check = &mut self.0[invariant];
        check.cases += 1;
        if !holds && check.violations.len() < KEPT {
            check.violations.push(violation());
        }
    }

    pub fn start(&mut self, rules: &CompiledSpec, begun: &Step) {
        let asked = begun.effects.to_vec();
        let waiting = outstanding(rules, &begun.state);
        self.claim(TOTAL, asked == waiting, || "a run begins waiting for something it did not ask".into());
    }

    pub fn state(&mut self, rules: &CompiledSpec, state: &State, letters: &[Letter]) {
        let phase = state.phase.name();
        let waiting = outstanding(rules, state);
        let said = || format!("{phase} waits for {waiting:?}");
        self.claim(TOTAL, phase.is_terminal() == waiting.is_empty(), said);
        let answers = letters.iter().any(|letter| letter.fits && letter.event.effect().is_some());
        self.claim(TOTAL, answers != phase.is_terminal(), said);
        let limits = &rules.spec().limits;
        let (replans, draft) = (state.task.counters.replans, state.task.draft);
        match limits.max_iterations {
            Some(most) => self.claim(REPLANS, replans == 0 && draft <= most, || {
                format!("iteration {draft} of {most}, {replans} replans in {phase}")
            }),
            None => {
                let holds = replans <= limits.max_replans && replans + 1 == draft;
                self.claim(REPLANS, holds, || {
                    format!("draft {draft}, {replans} replans of {} in {phase}", limits.max_replans)
                });
            }
        }
        if let Phase::Write(writing) = &state.phase {
            let holds = gate_holds(rules, writing.gate);
            self.claim(GATED, holds, || format!("WRITE with the gate {:?}", writing.gate));
        }
    }

    pub fn step(
        &mut self,
        machine: &dyn Machine,
        rules: &CompiledSpec,
        before: &State,
        letter: &Letter,
        done: &Done,
    ) {
        let phase = before.phase.name();
        let case = || format!("{} in {phase} ({:?})", letter.name, letter.event.effect());
        self.claim(TOTAL, !matches!(done, Done::Panicked), || {
            format!("{}: a panic or a changed state", case())
        });
        let admitted = machine.admit(rules, before, &letter.event).is_ok();
        let stepped = matches!(done, Done::Stepped { .. });
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
        if let Done::Stepped { step, .. } = done {
            self.stepped(machine, rules, before, letter, step);
        }
    }

    fn stepped(
        &mut self,
        machine: &dyn Machine,
        rules: &CompiledSpec,
        before: &State,
        letter: &Letter,
        step: &Step,
    ) {
        let (from, to) = (before.phase.name(), step.state.phase.name());
        let case = || format!("{} from {from} to {to}", letter.name);
        if let Some(effect) = letter.event.effect() {
            let again = machine.admit(rules, &step.state, &letter.event).is_err();
            self.claim(ANSWERED_ONCE, again, || format!("{}: {effect} may be answered again", case()));
        }
        if to.is_terminal() {
            let said = || format!("{}: asks for {:?}", case(), step.effects);
            self.claim(TERMINAL, step.effects.is_empty(), said);
        }
        let (waited, waits) = (outstanding(rules, before), outstanding(rules, &step.state));
        let asked = step.effects.iter().all(|effect| waits.contains(effect));
        self.claim(TOTAL, asked, || format!("{}: asks for what it does not wait for", case()));
        let silent = waits.iter().find(|effect| !waited.contains(effect) && !step.effects.contains(effect));
        self.claim(TOTAL, silent.is_none(), || format!("{}: waits for {silent:?} unasked", case()));
        for taken in &step.moves {
            self.moved(rules, before, taken, &step.state);
        }
        let entered = step.moves.last().map(|taken| taken.to);
        let changed = entered.map_or(from == to, |entered| entered == to);
        self.claim(TOTAL, changed, || format!("{}: the moves say {entered:?}", case()));
    }

    fn moved(&mut self, rules: &CompiledSpec, before: &State, taken: &Move, after: &State) {
        let limits = &rules.spec().limits;
        let left = match limits.max_iterations {
            Some(most) => before.task.draft < most,
            None => before.task.counters.replans < limits.max_replans,
        };
        let policy = rules.policy();
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
    pub fn within_budget(&mut self, spent: Spent, letter: &Letter, step: &Step) {
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
            format!("{}{}: asks for {:?}", letter.name, spent.said(), step.effects)
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
    pub fn faithful(&mut self, letter: &Letter, done: &Done, from_read: &Done) {
        let same = match (done, from_read) {
            (Done::Stepped { step: left, .. }, Done::Stepped { step: right, .. }) => {
                left.state == right.state && left.effects == right.effects && left.moves == right.moves
            }
            (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
        };
        self.claim(FAITHFUL, same, || format!("{} steps otherwise after reading back", letter.name));
    }

    pub fn same_behaviour(&mut self, number: usize, first: &[String], other: &[String]) {
        self.claim(ABSTRACTION, first == other, || {
            let differs = first.iter().zip(other).find(|(left, right)| left != right);
            format!("state {number}: {differs:?} ({} and {} outcomes)", first.len(), other.len())
        });
    }

    pub fn took_different_states_for_the_same(&self) -> bool {
        !self.0[ABSTRACTION].violations.is_empty()
    }

    /// What only the whole graph can tell.
    pub fn graph(
        &mut self,
        rules: &CompiledSpec,
        keys: &[Key],
        edges: &[Edge],
        moves: &BTreeSet<Move>,
        longest: Option<Bounds>,
    ) {
        self.claim(BOUNDED, longest.is_some(), || "the graph has a cycle".into());
        let bounds = rules.bounds();
        if let Some(longest) = longest {
            let within = longest.model_calls <= bounds.model_calls.max(1)
                && longest.tool_calls <= bounds.tool_calls
                && longest.transitions <= bounds.transitions;
            // A limit that the spec sets below what its graph allows ends runs earlier than the
            // graph: then the budget is the bound, and `within_budget` is the proof.
            let limits = &rules.spec().limits;
            let budgeted = limits.max_model_calls.is_some()
                || limits.max_tool_calls.is_some()
                || limits.max_transitions.is_some();
            self.claim(BOUNDED, within || budgeted, || format!("longest {longest:?}, bounds {bounds:?}"));
        }
        let phases: BTreeSet<PhaseName> = moves.iter().map(|taken| taken.to).collect();
        let writes = !(rules.policy().write == Write::Planner);
        for phase in [PhaseName::Execute, PhaseName::Write, PhaseName::Done] {
            if phase == PhaseName::Write && !writes {
                continue;
            }
            // A budget may be too small to get there; then not getting there is what was asked for.
            let limits = &rules.spec().limits;
            let may_end_early = limits.max_model_calls.or(limits.max_tool_calls).or(limits.max_transitions);
            let passes = phase == PhaseName::Execute && rules.bounds().tool_calls == 0;
            let reached = phases.contains(&phase) || passes || may_end_early.is_some();
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

fn gate_holds(rules: &CompiledSpec, gate: WriteReason) -> bool {
    match gate {
        WriteReason::Accepted => rules.policy().validate != Validate::Off,
        WriteReason::ValidationOff => rules.policy().validate == Validate::Off,
        WriteReason::JudgedAfterwards => rules.policy().validate_at == ValidateAt::Answer,
        WriteReason::NoToolNeeded => rules.policy().can_skip_plan(),
        WriteReason::Exhausted => rules.policy().on_exhausted == OnExhausted::Write,
    }
}
