//! The walk: breadth first over abstract states, each with concrete states that stand for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::abstraction::{Key, key, line_key};
use super::alphabet::{Letter, letters};
use super::check::Checks;
use super::coverage::{Taken, taken};
use super::feed::{Done, Spent};
use super::machine::Machine;
use super::report::{Edge, Report};
use crate::machine::{
    Effect, Effects, Event, Input, Move, PhaseName, Refused, Speaker, State, Step, TraceLine, Turn,
};
use crate::spec::{Bounds, CompiledSpec, Memory};

/// How many concrete states stand for one abstract state. More than one, so that an abstraction
/// that drops an input of a branch is caught: what they do next must be the same.
const REPRESENTATIVES: usize = 2;

/// How thorough a walk is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Everything is checked.
    Full,
    /// The edges alone are looked for.
    Edges,
}

/// A walk: how thorough, and over how many states at most.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub care: Care,
    pub most_states: usize,
}

pub(super) fn walk(
    machine: &dyn Machine,
    rules: &CompiledSpec,
    bounds: Bounds,
    explored_as: Vec<String>,
    Extent { care, most_states }: Extent,
) -> Report {
    let mut walk = Walk {
        care,
        whole: true,
        machine,
        rules,
        numbers: BTreeMap::new(),
        stand_ins: Vec::new(),
        edges: BTreeSet::new(),
        moves: BTreeSet::new(),
        repairs: BTreeSet::new(),
        taken: BTreeSet::new(),
        checks: Checks::new(),
        queue: VecDeque::new(),
    };
    let begun = machine.start(rules, asked(rules));
    let first = count(&begun.effects);
    walk.checks.start(rules, &begun);
    walk.arrive(begun.state);
    while let Some((number, state)) = walk.queue.pop_front() {
        if walk.numbers.len() > most_states {
            walk.whole = false;
            break;
        }
        walk.leave(number, state);
    }
    walk.report(bounds, explored_as, first)
}

/// What runs are walked from: with an earlier turn, where the policy remembers turns, so that what is
/// asked only then is asked.
fn asked(rules: &CompiledSpec) -> Input {
    let mut input = Input::question("…");
    if rules.policy().memory == Memory::Thread {
        input.history = vec![Turn { role: Speaker::User, content: "…".into() }];
    }
    input
}

struct Panicked;

struct Walk<'a> {
    care: Care,
    whole: bool,
    machine: &'a dyn Machine,
    rules: &'a CompiledSpec,
    numbers: BTreeMap<Key, usize>,
    /// For each abstract state: its concrete states so far, and what the first does on each letter.
    stand_ins: Vec<(Vec<State>, Option<Vec<String>>)>,
    edges: BTreeSet<Edge>,
    moves: BTreeSet<Move>,
    repairs: BTreeSet<PhaseName>,
    taken: BTreeSet<Taken>,
    checks: Checks,
    queue: VecDeque<(usize, State)>,
}

impl Walk<'_> {
    /// Numbers a state, and lines it up unless enough others stand for it.
    fn arrive(&mut self, mut state: State) -> usize {
        // The counters only grow; what they spend is fed as a letter of its own.
        let counters = &mut state.task.counters;
        (counters.model_calls, counters.tool_calls, counters.transitions) = (0, 0, 0);
        state.task.trace.clear();
        let key = key(self.rules, &state);
        let next = self.numbers.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == self.stand_ins.len() {
            self.stand_ins.push((Vec::new(), None));
        }
        let known = &mut self.stand_ins[number].0;
        let most = if self.care == Care::Full { REPRESENTATIVES } else { 1 };
        if known.len() < most && !known.contains(&state) {
            known.push(state.clone());
            self.queue.push_back((number, state));
        }
        number
    }

    /// Feeds every letter to a state. All checks are made on the first that stands for it; of the
    /// others it is enough that they do the same.
    fn leave(&mut self, number: usize, state: State) {
        let mut letters = letters(self.rules, &state);
        if self.care == Care::Edges {
            for letter in letters.iter().filter(|letter| letter.fits) {
                self.feed(number, &state, letter, Spent::Nothing, false, None);
            }
            return;
        }
        let first = self.stand_ins[number].1.is_none();
        if first {
            self.checks.state(self.rules, &state, &letters);
            self.feed_strays(&state, &letters);
        }
        let read = if first { self.checks.read_back(&state) } else { None };
        letters.retain(|letter| letter.fits);
        let mut behaviour = Vec::new();
        for letter in &letters {
            for spent in [Spent::Nothing, Spent::ModelCalls, Spent::ToolCalls, Spent::Transitions] {
                if letter.needs_room && spent != Spent::Nothing {
                    continue;
                }
                let Some(before) = spent.of(self.rules, &state) else { continue };
                let read = read.as_ref().filter(|_| spent == Spent::Nothing);
                behaviour.push(self.feed(number, &before, letter, spent, first, read));
            }
        }
        behaviour.sort();
        behaviour.dedup();
        match &self.stand_ins[number].1 {
            None => self.stand_ins[number].1 = Some(behaviour),
            Some(first) => self.checks.same_behaviour(number, first, &behaviour),
        }
    }

    /// Feeds what must be refused. A refusal hands the state back, so one copy serves for all.
    fn feed_strays(&mut self, state: &State, letters: &[Letter]) {
        let mut copy = Some(state.clone());
        for letter in letters.iter().filter(|letter| !letter.fits) {
            let given = copy.take().unwrap_or_else(|| state.clone());
            let done = match self.guarded(given, letter.event.clone()) {
                Ok(Err(refused)) if refused.state == *state && refused.event == letter.event => {
                    copy = Some(refused.state);
                    Done::Refused
                }
                Ok(Ok(step)) => Done::Stepped { step, lines_before: 0 },
                Ok(Err(_)) | Err(Panicked) => Done::Panicked,
            };
            self.checks.step(self.machine, self.rules, state, letter, &done);
        }
    }

    fn feed(
        &mut self,
        number: usize,
        before: &State,
        letter: &Letter,
        spent: Spent,
        checked: bool,
        read: Option<&State>,
    ) -> String {
        let done = self.step(before, &letter.event);
        if checked {
            self.checks.step(self.machine, self.rules, before, letter, &done);
        }
        if let Some(read) = read {
            self.checks.faithful(letter, &done, &self.step(read, &letter.event));
        }
        let Done::Stepped { step, lines_before } = done else {
            return format!("{} → refused", letter.name);
        };
        self.checks.within_budget(spent, letter, &step);
        let lines: Vec<String> = step.state.task.trace.iter().skip(lines_before).map(line_key).collect();
        let repaired = step.state.task.trace.iter().skip(lines_before).filter_map(|line| match line {
            TraceLine::Repair { of, .. } => Some(*of),
            _ => None,
        });
        self.repairs.extend(repaired);
        self.taken.extend(taken(&step, lines_before));
        self.moves.extend(step.moves.iter().copied());
        let (model_calls, tool_calls) = count(&step.effects);
        let on = format!("{}{}", letter.name, spent.said());
        let to = self.arrive(step.state);
        let said = format!("{on} → {to} asking {model_calls}+{tool_calls} leaving {lines:?}");
        self.edges.insert(Edge { from: number, on, to, model_calls, tool_calls, lines });
        said
    }

    fn step(&self, before: &State, event: &Event) -> Done {
        let lines_before = before.task.trace.len();
        match self.guarded(before.clone(), event.clone()) {
            Ok(Ok(step)) => Done::Stepped { step, lines_before },
            Ok(Err(refused)) if refused.state == *before => Done::Refused,
            Ok(Err(_)) | Err(Panicked) => Done::Panicked,
        }
    }

    /// One transition, with a panic caught: that is a violation to report, not an end to the walk.
    fn guarded(&self, state: State, event: Event) -> Result<Result<Step, Box<Refused>>, Panicked> {
        let machine = || self.machine.transition(self.rules, state, event);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(machine)).map_err(|_| Panicked)
    }

    fn report(mut self, bounds: Bounds, explored_as: Vec<String>, first: (u32, u32)) -> Report {
        let edges: Vec<Edge> = self.edges.into_iter().collect();
        let keys: Vec<Key> = by_number(&self.numbers);
        let longest = longest(keys.len(), &edges, first);
        // Of a graph that was not walked to its end, or that took states for the same that are not,
        // nothing follows for the whole.
        if self.whole && !self.checks.took_different_states_for_the_same() {
            self.checks.graph(self.rules, &keys, &edges, &self.moves, longest);
        }
        Report {
            states: keys.len(),
            edges,
            bounds,
            longest: longest.unwrap_or(Bounds {
                model_calls: u32::MAX,
                tool_calls: u32::MAX,
                transitions: u32::MAX,
            }),
            checks: self.checks.finish(),
            whole: self.whole,
            explored_as,
            keys: keys.into_iter().collect(),
            moves: self.moves,
            repairs: self.repairs,
            taken: self.taken,
        }
    }
}

fn by_number(numbers: &BTreeMap<Key, usize>) -> Vec<Key> {
    let mut keys: Vec<(usize, Key)> = numbers.iter().map(|(key, number)| (*number, key.clone())).collect();
    keys.sort_by_key(|(number, _)| *number);
    keys.into_iter().map(|(_, key)| key).collect()
}

fn count(effects: &Effects) -> (u32, u32) {
    let models = effects.iter().filter(|effect| matches!(effect, Effect::AskModel { .. })).count() as u32;
    let tools = effects.iter().filter(|effect| matches!(effect, Effect::CallTool { .. })).count() as u32;
    (models, tools)
}

/// The longest paths from state 0, by dynamic programming over the graph turned around; `None`
/// where it has a cycle.
fn longest(states: usize, edges: &[Edge], first: (u32, u32)) -> Option<Bounds> {
    let mut out: Vec<BTreeSet<(usize, u32, u32)>> = vec![BTreeSet::new(); states];
    for edge in edges {
        out[edge.from].insert((edge.to, edge.model_calls, edge.tool_calls));
    }
    let order = topological(&out)?;
    let mut best = vec![(0u32, 0u32, 0u32); states];
    for &from in order.iter().rev() {
        for &(to, model_calls, tool_calls) in &out[from] {
            let (models, tools, transitions) = best[to];
            let here = &mut best[from];
            here.0 = here.0.max(models + model_calls);
            here.1 = here.1.max(tools + tool_calls);
            here.2 = here.2.max(transitions + 1);
        }
    }
    let (models, tools, transitions) = *best.first()?;
    Some(Bounds { model_calls: models + first.0, tool_calls: tools + first.1, transitions })
}

fn topological(out: &[BTreeSet<(usize, u32, u32)>]) -> Option<Vec<usize>> {
    let mut incoming = vec![0usize; out.len()];
    for (to, ..) in out.iter().flatten() {
        incoming[*to] += 1;
    }
    let mut free: Vec<usize> = (0..out.len()).filter(|&state| incoming[state] == 0).collect();
    let mut order = Vec::with_capacity(out.len());
    while let Some(state) = free.pop() {
        order.push(state);
        for (to, ..) in &out[state] {
            incoming[*to] -= 1;
            if incoming[*to] == 0 {
                free.push(*to);
            }
        }
    }
    (order.len() == out.len()).then_some(order)
}
