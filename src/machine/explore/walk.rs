//! The walk: breadth first over abstract states, each with concrete states that stand for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use super::channel::Channel;
use super::check::{Checks, Edge, Machine, Outcome};
use super::key::{Key, key, line_key};
use super::letters::{Letter, letters, strays};
use super::report::{Report, Taken, taken};
use super::sample::EARLIER_ANSWER;
use super::spent::Spent;
use crate::machine::{Counters, Effect, Event, Input, Refused, State, Step, TraceLine, Turn};
use crate::spec::{Bounds, CompiledSpec, Memory};

/// How many concrete states stand for one abstract state, and must do the same.
const REPRESENTATIVES: usize = 2;

/// Walks the spec as it is, and gives up after so many states. Unless it `proves`, nothing is checked.
pub(super) fn walk(
    machine: &dyn Machine,
    compiled: &CompiledSpec,
    most_states: usize,
    proves: bool,
) -> Report {
    let mut walk = Walk {
        proves,
        machine,
        compiled,
        numbers: HashMap::new(),
        reached: Vec::new(),
        taken: BTreeSet::new(),
        checks: Checks::new(machine, compiled),
        queue: VecDeque::new(),
    };
    let mut input = Input::question("…");
    // With an earlier turn, so that what is asked only then is asked.
    if compiled.policy().memory == Memory::Thread {
        input.history = vec![Turn::user("…")];
        // One whose planner is shown the answer begins tainted, and would be walked in no other way.
        let answer = (!compiled.policy().plans_from_answers()).then(|| Turn::assistant(EARLIER_ANSWER));
        input.history.extend(answer);
    }
    let begun = crate::machine::start(compiled, input);
    let first = count_calls(&begun);
    walk.checks.check_start(&begun);
    walk.arrive(begun.state, 0);
    let mut whole = true;
    while let Some((number, state)) = walk.queue.pop_front().filter(|_| whole) {
        whole = walk.numbers.len() <= most_states && walk.checks.check_depth(walk.reached[number].depth);
        if whole {
            walk.leave(number, &state);
        }
    }
    walk.report(first, whole)
}

/// Stands for the trace before a step, which the step may only add to.
const EARLIER: TraceLine = TraceLine::Scope { in_scope: true };

/// Drops what only grows and no branch reads: calls, tokens and the trace. What they spend is fed as a letter
/// of its own.
fn forget(state: &mut State) {
    let task = &mut *state.task;
    let Counters { replans, added_steps, questions, .. } = task.counters;
    task.counters = Counters { replans, added_steps, questions, ..Counters::default() };
    task.usage_by_role.clear();
    task.usage_by_agent.clear();
    task.trace.clear();
    task.trace.push(EARLIER);
    task.nested.values_mut().for_each(forget);
}

/// An abstract state that was reached: the concrete states that stand for it, and what the first does.
#[derive(Default)]
struct Reached {
    /// The fewest steps from the start.
    depth: u32,
    states: Vec<Rc<State>>,
    edges: Option<BTreeSet<Edge>>,
}

struct Walk<'a> {
    proves: bool,
    machine: &'a dyn Machine,
    compiled: &'a CompiledSpec,
    numbers: HashMap<Key, usize>,
    reached: Vec<Reached>,
    taken: BTreeSet<Taken>,
    checks: Checks<'a>,
    queue: VecDeque<(usize, Rc<State>)>,
}

impl Walk<'_> {
    /// Numbers a state, and lines it up unless enough others stand for it.
    fn arrive(&mut self, mut state: State, depth: u32) -> usize {
        forget(&mut state);
        let next = self.numbers.len();
        let number = *self.numbers.entry(key(self.compiled, &state)).or_insert(next);
        if number == next {
            self.reached.push(Reached { depth, ..Reached::default() });
        }
        let known = &mut self.reached[number].states;
        if known.len() < REPRESENTATIVES && !known.iter().any(|known| **known == state) {
            let state = Rc::new(state);
            known.push(Rc::clone(&state));
            self.queue.push_back((number, state));
        }
        number
    }

    /// Feeds every letter to a state. All checks are made on the first that stands for it.
    fn leave(&mut self, number: usize, state: &State) {
        let letters = letters(self.compiled, state);
        let first = self.proves && self.reached[number].edges.is_none();
        let depth = self.reached[number].depth;
        let mut read = None;
        if first {
            self.checks.check_state(state, &letters);
            self.feed_strays(state, &letters);
            read = self.checks.read_back(state);
        }
        let met_with = Spent::all(self.compiled).filter(|spent| self.proves || *spent == Spent::Nothing);
        let met_with: Vec<_> = met_with.map(|spent| (spent, spent.apply(self.compiled, state))).collect();
        let mut edges = BTreeSet::new();
        for letter in letters.iter().filter(|letter| letter.fits) {
            for (spent, before) in &met_with {
                let spent = *spent;
                if spent != Spent::Nothing && letter.needs_room() {
                    continue;
                }
                let outcome = self.step(before, &letter.event);
                if first {
                    self.checks.check_step(before, letter, &outcome);
                } else if self.proves && spent == Spent::Nothing {
                    self.checks.check_claims_again(before, letter, &outcome);
                }
                if let Some(read) = read.as_ref().filter(|_| spent == Spent::Nothing) {
                    let again = self.step(read, &letter.event);
                    self.checks.check_faithful(letter, &outcome, &again);
                }
                if let Outcome::Stepped(step) = outcome {
                    edges.insert(self.follow(letter, spent, step, depth + 1));
                }
            }
        }
        match &self.reached[number].edges {
            Some(first) => self.checks.check_same_behaviour(number, first, &edges),
            None => self.reached[number].edges = Some(edges),
        }
    }

    /// Feeds what must be refused. A refusal hands the state back, so one copy serves for all and is compared
    /// once; only where it does not come back as it was is each letter fed to a copy of its own.
    fn feed_strays(&mut self, state: &State, letters: &[Letter]) {
        let strays = strays(self.compiled, state);
        let refused = || letters.iter().filter(|letter| !letter.fits).chain(&strays);
        let back = refused().try_fold(state.clone(), |copy, letter| self.refuse(copy, &letter.event));
        let unchanged = back.as_ref() == Some(state);
        for letter in refused() {
            let outcome = if unchanged { Outcome::Refused } else { self.step(state, &letter.event) };
            self.checks.check_step(state, letter, &outcome);
        }
    }

    /// The state as a refusal hands it back; `None` where the event is taken.
    fn refuse(&self, copy: State, event: &Event) -> Option<State> {
        let refused = self.transition(copy, event)?.err()?;
        (refused.event == *event).then_some(refused.state)
    }

    /// Notes what a step does and goes on to where it leads.
    fn follow(&mut self, letter: &Letter, spent: Spent, step: Step, depth: u32) -> Edge {
        self.checks.check_budget(spent, letter, &step);
        if spent == Spent::Nothing {
            self.taken.extend(taken(&step, 1));
        }
        let lines = step.state.task.trace.iter().skip(1).map(line_key).collect();
        let (model_calls, tool_calls) = count_calls(&step);
        let on = (Rc::clone(&letter.name), spent);
        Edge { on, to: self.arrive(step.state, depth), model_calls, tool_calls, lines }
    }

    /// One transition, of a copy of a state.
    fn step(&self, before: &State, event: &Event) -> Outcome {
        match self.transition(before.clone(), event) {
            Some(Ok(step)) => Outcome::Stepped(step),
            Some(Err(refused)) if refused.state == *before && refused.event == *event => Outcome::Refused,
            Some(Err(_)) | None => Outcome::Broken,
        }
    }

    /// What the machine does. A panic is a violation to report, not an end to the walk: then it is `None`.
    fn transition(&self, state: State, event: &Event) -> Option<Result<Step, Box<Refused>>> {
        let transition = || self.machine.transition(self.compiled, state, event.clone());
        catch_unwind(AssertUnwindSafe(transition)).ok()
    }

    fn report(mut self, first: (u32, u32), whole: bool) -> Report {
        let edges: Vec<BTreeSet<Edge>> =
            self.reached.into_iter().map(|reached| reached.edges.unwrap_or_default()).collect();
        let longest = longest(&edges).map(|rest| Bounds {
            model_calls: rest.model_calls + first.0,
            tool_calls: rest.tool_calls + first.1,
            ..rest
        });
        let numbers: BTreeMap<Key, usize> = self.numbers.into_iter().collect();
        // From a graph that was not walked to its end, or that merged states that differ, nothing
        // follows for the whole.
        if whole && !self.checks.merged_different_states() {
            self.checks.check_graph(&numbers, &edges, &self.taken, longest);
        }
        Report {
            states: edges.len(),
            edges: edges.iter().map(BTreeSet::len).sum(),
            bounds: self.compiled.bounds(),
            channel: Channel::of(self.compiled),
            longest,
            checks: self.checks.finish(),
            whole,
            explored_as: Vec::new(),
            keys: numbers.into_keys().collect(),
            taken: self.taken,
        }
    }
}

fn count_calls(step: &Step) -> (u32, u32) {
    let count = |is: fn(&Effect) -> bool| step.effects.iter().filter(|effect| is(effect)).count() as u32;
    (
        count(|effect| matches!(effect, Effect::AskModel { .. })),
        count(|effect| matches!(effect, Effect::CallTool { .. })),
    )
}

/// The longest path from the start, from which all states are reached; `None` if there is a cycle.
fn longest(edges: &[BTreeSet<Edge>]) -> Option<Bounds> {
    let mut incoming = vec![0_usize; edges.len()];
    edges.iter().flatten().for_each(|edge| incoming[edge.to] += 1);
    let none = Bounds { model_calls: 0, tool_calls: 0, transitions: 0 };
    let (mut most, mut left) = (vec![none; edges.len()], edges.len());
    let mut ready: Vec<usize> = (0..1).filter(|start| incoming[*start] == 0).collect();
    while let Some(from) = ready.pop() {
        left -= 1;
        let here = most[from];
        for edge in &edges[from] {
            let there = &mut most[edge.to];
            there.model_calls = there.model_calls.max(here.model_calls + edge.model_calls);
            there.tool_calls = there.tool_calls.max(here.tool_calls + edge.tool_calls);
            there.transitions = there.transitions.max(here.transitions + 1);
            incoming[edge.to] -= 1;
            if incoming[edge.to] == 0 {
                ready.push(edge.to);
            }
        }
    }
    let longest = most.into_iter().reduce(|one, other| Bounds {
        model_calls: one.model_calls.max(other.model_calls),
        tool_calls: one.tool_calls.max(other.tool_calls),
        transitions: one.transitions.max(other.transitions),
    });
    longest.filter(|_| left == 0)
}
