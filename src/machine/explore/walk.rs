//! The walk: breadth first over abstract states, each with concrete states that stand for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::abstraction::{Key, key, line_key};
use super::check::Checks;
use super::coverage::{Taken, taken};
use super::letters::{Letter, letters};
use super::machine::{Machine, Outcome, Spent};
use super::report::{Edge, Report};
use crate::machine::{Effect, Event, Input, Move, PhaseName, Refused, Speaker, State, Step, TraceLine, Turn};
use crate::spec::{Bounds, CompiledSpec, Memory};

/// How many concrete states stand for one abstract state. More than one, so that an abstraction
/// that drops an input of a branch is caught: what they do next must be the same.
const REPRESENTATIVES: usize = 2;

/// How far a walk goes.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Looks for edges alone and checks nothing.
    pub edges_only: bool,
    /// Gives up after as many states.
    pub most_states: usize,
}

/// Walks `rules`, which may be smaller than the spec of which these are the bounds.
pub(super) fn walk(
    machine: &dyn Machine,
    rules: &CompiledSpec,
    bounds: Bounds,
    explored_as: Vec<String>,
    extent: Extent,
) -> Report {
    let mut walk = Walk {
        extent,
        machine,
        rules,
        numbers: BTreeMap::new(),
        stand_ins: Vec::new(),
        edges: BTreeSet::new(),
        moves: BTreeSet::new(),
        repairs: BTreeSet::new(),
        taken: BTreeSet::new(),
        checks: Checks::new(machine, rules),
        queue: VecDeque::new(),
    };
    let mut input = Input::question("…");
    // With an earlier turn, so that what is asked only then is asked.
    if rules.policy().memory == Memory::Thread {
        input.history = vec![Turn { role: Speaker::User, content: "…".into() }];
    }
    let begun = machine.start(rules, input);
    let first = count_calls(&begun);
    walk.checks.check_start(&begun);
    walk.arrive(begun.state);
    let mut whole = true;
    while let Some((number, state)) = walk.queue.pop_front() {
        if walk.numbers.len() > extent.most_states {
            whole = false;
            break;
        }
        walk.leave(number, &state);
    }
    walk.report(bounds, explored_as, first, whole)
}

struct Panicked;

struct Walk<'a> {
    extent: Extent,
    machine: &'a dyn Machine,
    rules: &'a CompiledSpec,
    numbers: BTreeMap<Key, usize>,
    /// For each abstract state: its concrete states so far, and what the first does on each letter.
    stand_ins: Vec<(Vec<State>, Option<BTreeSet<String>>)>,
    edges: BTreeSet<Edge>,
    moves: BTreeSet<Move>,
    repairs: BTreeSet<PhaseName>,
    taken: BTreeSet<Taken>,
    checks: Checks<'a>,
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
        let most = if self.extent.edges_only { 1 } else { REPRESENTATIVES };
        if known.len() < most && !known.contains(&state) {
            known.push(state.clone());
            self.queue.push_back((number, state));
        }
        number
    }

    /// Feeds every letter to a state. All checks are made on the first that stands for it; of the
    /// others it is enough that they do the same.
    fn leave(&mut self, number: usize, state: &State) {
        let mut letters = letters(self.rules, state);
        let first = self.stand_ins[number].1.is_none() && !self.extent.edges_only;
        if first {
            self.checks.check_state(state, &letters);
            self.feed_strays(state, &letters);
        }
        let read = if first { self.checks.read_back(state) } else { None };
        letters.retain(|letter| letter.fits);
        let mut behaviour = BTreeSet::new();
        for letter in &letters {
            for spent in Spent::ALL {
                if spent != Spent::Nothing && (letter.needs_room || self.extent.edges_only) {
                    continue;
                }
                let Some(before) = spent.apply(self.rules, state) else { continue };
                let outcome = self.step(&before, &letter.event);
                if first {
                    self.checks.check_step(&before, letter, &outcome);
                }
                if let Some(read) = read.as_ref().filter(|_| spent == Spent::Nothing) {
                    self.checks.check_faithful(letter, &outcome, &self.step(read, &letter.event));
                }
                behaviour.insert(self.follow(number, letter, spent, outcome));
            }
        }
        match &self.stand_ins[number].1 {
            Some(first) if !self.extent.edges_only => {
                self.checks.check_same_behaviour(number, first, &behaviour);
            }
            _ => self.stand_ins[number].1 = Some(behaviour),
        }
    }

    /// Feeds what must be refused. A refusal hands the state back, so one copy serves for all.
    fn feed_strays(&mut self, state: &State, letters: &[Letter]) {
        let mut copy = Some(state.clone());
        for letter in letters.iter().filter(|letter| !letter.fits) {
            let given = copy.take().unwrap_or_else(|| state.clone());
            let outcome = match self.guard(given, letter.event.clone()) {
                Ok(Err(refused)) if refused.state == *state && refused.event == letter.event => {
                    copy = Some(refused.state);
                    Outcome::Refused
                }
                Ok(Ok(step)) => Outcome::Stepped { step, lines_before: 0 },
                Ok(Err(_)) | Err(Panicked) => Outcome::Panicked,
            };
            self.checks.check_step(state, letter, &outcome);
        }
    }

    /// Notes what a step does, goes on to where it leads, and says it in words.
    fn follow(&mut self, number: usize, letter: &Letter, spent: Spent, outcome: Outcome) -> String {
        let Outcome::Stepped { step, lines_before } = outcome else {
            return format!("{} → refused", letter.name);
        };
        self.checks.check_budget(spent, letter, &step);
        let added = || step.state.task.trace.iter().skip(lines_before);
        let lines: Vec<String> = added().map(line_key).collect();
        self.repairs.extend(added().filter_map(|line| match line {
            TraceLine::Repair { of, .. } => Some(*of),
            _ => None,
        }));
        self.taken.extend(taken(&step, lines_before));
        self.moves.extend(step.moves.iter().copied());
        let (model_calls, tool_calls) = count_calls(&step);
        let on = format!("{}{}", letter.name, spent.suffix());
        let to = self.arrive(step.state);
        let said = format!("{on} → {to} asking {model_calls}+{tool_calls} leaving {lines:?}");
        self.edges.insert(Edge { from: number, on, to, model_calls, tool_calls, lines });
        said
    }

    fn step(&self, before: &State, event: &Event) -> Outcome {
        let lines_before = before.task.trace.len();
        match self.guard(before.clone(), event.clone()) {
            Ok(Ok(step)) => Outcome::Stepped { step, lines_before },
            Ok(Err(refused)) if refused.state == *before => Outcome::Refused,
            Ok(Err(_)) | Err(Panicked) => Outcome::Panicked,
        }
    }

    /// One transition, with a panic caught: that is a violation to report, not an end to the walk.
    fn guard(&self, state: State, event: Event) -> Result<Result<Step, Box<Refused>>, Panicked> {
        let transition = || self.machine.transition(self.rules, state, event);
        catch_unwind(AssertUnwindSafe(transition)).map_err(|_| Panicked)
    }

    fn report(mut self, bounds: Bounds, explored_as: Vec<String>, first: (u32, u32), whole: bool) -> Report {
        let edges: Vec<Edge> = self.edges.into_iter().collect();
        let mut keys: Vec<(usize, Key)> =
            self.numbers.into_iter().map(|(key, number)| (number, key)).collect();
        keys.sort_by_key(|(number, _)| *number);
        let keys: Vec<Key> = keys.into_iter().map(|(_, key)| key).collect();
        let longest = longest(keys.len(), &edges, first);
        // From a graph that was not walked to its end, or that merged states that differ, nothing
        // follows for the whole.
        if whole && !self.checks.merged_different_states() {
            self.checks.check_graph(&keys, &edges, &self.moves, longest);
        }
        let unbounded = Bounds { model_calls: u32::MAX, tool_calls: u32::MAX, transitions: u32::MAX };
        Report {
            states: keys.len(),
            edges,
            bounds,
            longest: longest.unwrap_or(unbounded),
            checks: self.checks.finish(),
            whole,
            explored_as,
            keys: keys.into_iter().collect(),
            moves: self.moves,
            repairs: self.repairs,
            taken: self.taken,
        }
    }
}

/// The model calls and the tool calls that a step asks for.
fn count_calls(step: &Step) -> (u32, u32) {
    let count = |is: fn(&Effect) -> bool| step.effects.iter().filter(|effect| is(effect)).count() as u32;
    (
        count(|effect| matches!(effect, Effect::AskModel { .. })),
        count(|effect| matches!(effect, Effect::CallTool { .. })),
    )
}

/// The longest paths from state 0, by dynamic programming over the graph turned around; `None` if it has
/// a cycle.
fn longest(states: usize, edges: &[Edge], first: (u32, u32)) -> Option<Bounds> {
    let mut out: Vec<BTreeSet<(usize, u32, u32)>> = vec![BTreeSet::new(); states];
    for edge in edges {
        out[edge.from].insert((edge.to, edge.model_calls, edge.tool_calls));
    }
    let mut best = vec![Bounds { model_calls: 0, tool_calls: 0, transitions: 0 }; states];
    for from in topological_order(&out)?.into_iter().rev() {
        for &(to, model_calls, tool_calls) in &out[from] {
            let (after, here) = (best[to], &mut best[from]);
            here.model_calls = here.model_calls.max(after.model_calls + model_calls);
            here.tool_calls = here.tool_calls.max(after.tool_calls + tool_calls);
            here.transitions = here.transitions.max(after.transitions + 1);
        }
    }
    let Bounds { model_calls, tool_calls, transitions } = *best.first()?;
    Some(Bounds { model_calls: model_calls + first.0, tool_calls: tool_calls + first.1, transitions })
}

fn topological_order(out: &[BTreeSet<(usize, u32, u32)>]) -> Option<Vec<usize>> {
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
