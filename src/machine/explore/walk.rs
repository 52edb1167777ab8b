//! The walk: breadth first over abstract states, each with concrete states that stand for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::check::{Checks, Edge, Machine, Outcome, Spent};
use super::key::{Key, key, line_key};
use super::letters::{Letter, letters};
use super::report::{Report, Taken, taken};
use crate::machine::{Effect, Event, Input, Speaker, State, Step, Turn};
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
        numbers: BTreeMap::new(),
        reached: Vec::new(),
        taken: BTreeSet::new(),
        checks: Checks::new(machine, compiled),
        queue: VecDeque::new(),
    };
    let mut input = Input::question("…");
    // With an earlier turn, so that what is asked only then is asked.
    if compiled.policy().memory == Memory::Thread {
        input.history = vec![Turn { role: Speaker::User, content: "…".into() }];
    }
    let begun = crate::machine::start(compiled, input);
    let first = count_calls(&begun);
    walk.checks.check_start(&begun);
    walk.arrive(begun.state);
    let mut whole = true;
    while let Some((number, state)) = walk.queue.pop_front().filter(|_| whole) {
        whole = walk.numbers.len() <= most_states;
        if whole {
            walk.leave(number, &state);
        }
    }
    walk.report(first, whole)
}

/// An abstract state that was reached: the concrete states that stand for it, and what the first does.
#[derive(Default)]
struct Reached {
    states: Vec<State>,
    edges: Option<BTreeSet<Edge>>,
}

struct Walk<'a> {
    proves: bool,
    machine: &'a dyn Machine,
    compiled: &'a CompiledSpec,
    numbers: BTreeMap<Key, usize>,
    reached: Vec<Reached>,
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
        let next = self.numbers.len();
        let number = *self.numbers.entry(key(self.compiled, &state)).or_insert(next);
        if number == next {
            self.reached.push(Reached::default());
        }
        let known = &mut self.reached[number].states;
        if known.len() < REPRESENTATIVES && !known.contains(&state) {
            known.push(state.clone());
            self.queue.push_back((number, state));
        }
        number
    }

    /// Feeds every letter to a state. All checks are made on the first that stands for it.
    fn leave(&mut self, number: usize, state: &State) {
        let letters = letters(self.compiled, state);
        let first = self.proves && self.reached[number].edges.is_none();
        let mut read = None;
        if first {
            self.checks.check_state(state, &letters);
            self.feed_strays(state, &letters);
            read = self.checks.read_back(state);
        }
        let mut edges = BTreeSet::new();
        for letter in letters.iter().filter(|letter| letter.fits) {
            for spent in Spent::ALL {
                if spent != Spent::Nothing && (letter.needs_room() || !self.proves) {
                    continue;
                }
                let before = spent.apply(self.compiled, state);
                let outcome = self.step(&before, before.clone(), &letter.event);
                if first {
                    self.checks.check_step(&before, letter, &outcome);
                }
                if let Some(read) = read.as_ref().filter(|_| spent == Spent::Nothing) {
                    let again = self.step(read, read.clone(), &letter.event);
                    self.checks.check_faithful(letter, &outcome, &again);
                }
                if let Outcome::Stepped(step) = outcome {
                    edges.insert(self.follow(letter, spent, step));
                }
            }
        }
        match &self.reached[number].edges {
            Some(first) => self.checks.check_same_behaviour(number, first, &edges),
            None => self.reached[number].edges = Some(edges),
        }
    }

    /// Feeds what must be refused. A refusal hands the state back, so one copy serves for all.
    fn feed_strays(&mut self, state: &State, letters: &[Letter]) {
        let mut copy = Some(state.clone());
        for letter in letters.iter().filter(|letter| !letter.fits) {
            let given = copy.take().unwrap_or_else(|| state.clone());
            let outcome = self.step(state, given, &letter.event);
            self.checks.check_step(state, letter, &outcome);
            if let Outcome::Refused(back) = outcome {
                copy = Some(back);
            }
        }
    }

    /// Notes what a step does and goes on to where it leads.
    fn follow(&mut self, letter: &Letter, spent: Spent, step: Step) -> Edge {
        self.checks.check_budget(spent, letter, &step);
        if spent == Spent::Nothing {
            self.taken.extend(taken(&step, 0));
        }
        let lines = step.state.task.trace.iter().map(line_key).collect();
        let (model_calls, tool_calls) = count_calls(&step);
        let on = format!("{} {spent:?}", letter.name);
        Edge { on, to: self.arrive(step.state), model_calls, tool_calls, lines }
    }

    /// One transition, of a copy of a state. A panic is a violation to report, not an end to the walk.
    fn step(&self, before: &State, copy: State, event: &Event) -> Outcome {
        let transition = || self.machine.transition(self.compiled, copy, event.clone());
        match catch_unwind(AssertUnwindSafe(transition)) {
            Ok(Ok(step)) => Outcome::Stepped(step),
            Ok(Err(refused)) if refused.state == *before && refused.event == *event => {
                Outcome::Refused(refused.state)
            }
            Ok(Err(_)) | Err(_) => Outcome::Broken,
        }
    }

    fn report(mut self, first: (u32, u32), whole: bool) -> Report {
        let edges: Vec<BTreeSet<Edge>> =
            self.reached.into_iter().map(|reached| reached.edges.unwrap_or_default()).collect();
        let longest = longest(&edges, 0, &mut vec![None; edges.len()]).map(|rest| Bounds {
            model_calls: rest.model_calls + first.0,
            tool_calls: rest.tool_calls + first.1,
            ..rest
        });
        // From a graph that was not walked to its end, or that merged states that differ, nothing
        // follows for the whole.
        if whole && !self.checks.merged_different_states() {
            self.checks.check_graph(&self.numbers, &edges, &self.taken, longest);
        }
        let unbounded = Bounds { model_calls: u32::MAX, tool_calls: u32::MAX, transitions: u32::MAX };
        Report {
            states: edges.len(),
            edges: edges.iter().map(BTreeSet::len).sum(),
            bounds: self.compiled.bounds(),
            longest: longest.unwrap_or(unbounded),
            checks: self.checks.finish(),
            whole,
            explored_as: Vec::new(),
            keys: self.numbers.into_keys().collect(),
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

/// The longest path on from a state; `None` if there is a cycle. What is `known` of a state that is on the
/// path that leads here is that: none.
fn longest(edges: &[BTreeSet<Edge>], from: usize, known: &mut [Option<Option<Bounds>>]) -> Option<Bounds> {
    if let Some(known) = known[from] {
        return known;
    }
    known[from] = Some(None);
    let mut best = Bounds { model_calls: 0, tool_calls: 0, transitions: 0 };
    for edge in &edges[from] {
        let after = longest(edges, edge.to, known)?;
        best.model_calls = best.model_calls.max(after.model_calls + edge.model_calls);
        best.tool_calls = best.tool_calls.max(after.tool_calls + edge.tool_calls);
        best.transitions = best.transitions.max(after.transitions + 1);
    }
    known[from] = Some(Some(best));
    Some(best)
}
