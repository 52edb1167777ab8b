//! Random runs: whatever comes, in whatever order, no invariant breaks.

use std::collections::BTreeSet;

use planwright::agents;
use planwright::journal::{Header, JOURNAL_FORMAT, Record, fold};
use planwright::machine::explore::{self, Key};
use planwright::machine::{
    Effect, EffectId, EffectKind, Event, Input, ModelReply, State, Step, ToolOutcome, Turn, admit,
    outstanding, start, transition,
};
use planwright::spec::{
    Approval, CompiledSpec, Digest, Execution, Memory, OnExhausted, OnExpiry, OnFailure, OnRejection,
    OnStepFailure, Orchestrate, Spec,
};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::repertoire::{Answer, PLANS, VERDICTS, event};

/// Shipped agents that differ in every policy that all of them may have otherwise. A choice that an
/// agent's own contradict is left out.
pub fn specs() -> impl Strategy<Value = Spec> {
    proptest::sample::select(agents::names().collect::<Vec<_>>()).prop_flat_map(choices)
}

/// One agent, that differs so.
pub fn choices(name: &str) -> impl Strategy<Value = Spec> + use<> {
    use proptest::sample::select;
    let shipped = agents::shipped(name).expect("a shipped agent");
    let approvals = vec![Approval::NEVER, Approval::PLAN, Approval::RISKY, Approval::ALL];
    (
        select(vec![OnStepFailure::Record, OnStepFailure::Replan, OnStepFailure::Abort]),
        select(vec![Execution::Sequential, Execution::Parallel { width: 3 }]),
        select(vec![OnFailure::Fail, OnFailure::Repair]),
        select(vec![OnExhausted::Fail, OnExhausted::Write]),
        (0u32..3, proptest::option::of(1u32..8)),
        select(approvals),
        select(vec![OnRejection::Stop, OnRejection::Replan]),
        select(vec![OnExpiry::Reject, OnExpiry::Stop]),
    )
        .prop_map(move |parts| {
            let (on_step_failure, execution, on_bad_reply, on_exhausted, limits, ..) = parts;
            let (.., approval, on_rejection, on_expiry) = parts;
            let mut spec = shipped.clone();
            let choices: [&dyn Fn(&mut Spec); 10] = [
                &|spec| spec.policy.on_step_failure = on_step_failure,
                &|spec| spec.policy.execution = execution,
                &|spec| spec.policy.on_bad_reply = on_bad_reply.clone(),
                &|spec| spec.policy.on_exhausted = on_exhausted,
                &|spec| spec.limits.max_replans = limits.0,
                &|spec| spec.limits.max_model_calls = limits.1,
                &|spec| spec.policy.approval = approval,
                &|spec| spec.policy.on_rejection = on_rejection,
                &|spec| spec.policy.on_expiry = on_expiry,
                &|spec| spec.tools.iter_mut().take(2).for_each(|tool| tool.needs_approval = true),
            ];
            for choose in choices {
                let mut changed = spec.clone();
                choose(&mut changed);
                if changed.clone().check().is_ok() {
                    spec = changed;
                }
            }
            spec
        })
}

/// What comes next: which outstanding effect is answered and how, or something that does not fit.
#[derive(Clone, Debug)]
pub enum Move {
    Answer(Index, Answer),
    Again(Index),
    Foreign(u32, u32),
    WrongKind(Index),
    Cancel,
    Deadline,
}

pub fn moves() -> impl Strategy<Value = Vec<Move>> {
    let answer = prop_oneof![
        8 => any::<u8>().prop_map(Answer::Good),
        1 => ".{0,60}".prop_map(Answer::Bad),
        1 => any::<u8>().prop_map(Answer::Failed),
    ];
    let one = prop_oneof![
        20 => (any::<Index>(), answer).prop_map(|(which, answer)| Move::Answer(which, answer)),
        2 => any::<Index>().prop_map(Move::Again),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(draft, ask)| Move::Foreign(draft, ask)),
        2 => any::<Index>().prop_map(Move::WrongKind),
        1 => Just(Move::Cancel),
        1 => Just(Move::Deadline),
    ];
    proptest::collection::vec(one, 0..60)
}

fn written(state: &State) -> String {
    serde_json::to_string(state).expect("a state serialises")
}

/// Refuses an event and gets the state back, byte for byte.
fn refused(compiled: &CompiledSpec, state: State, event: Event) -> State {
    let before = written(&state);
    assert!(admit(compiled, &state, &event).is_err(), "{event:?} is admitted");
    let refused = transition(compiled, state, event.clone()).expect_err("not admitted");
    assert_eq!(written(&refused.state), before);
    assert_eq!(refused.event, event);
    refused.state
}

pub struct Played {
    records: Vec<Record>,
    pub states: Vec<State>,
    answered: Vec<Event>,
}

/// Plays random moves and checks at every step what must hold at every step.
pub fn play(compiled: &CompiledSpec, spec: &Spec, moves: &[Move], plans: &[&str]) -> Played {
    let mut input = Input::question("질문?");
    if compiled.policy().memory == Memory::Thread {
        input.history = vec![Turn::user("앞선 질문")];
    }
    let header = Header {
        format: JOURNAL_FORMAT,
        thread: String::new(),
        turn: 0,
        origin: None,
        run: "r".into(),
        spec: spec.clone().into(),
        input: input.clone(),
        model: String::new(),
        servers: Vec::new(),
        trace: None,
    };
    let begun = start(compiled, input);
    let mut played =
        Played { records: vec![Record::Header(Box::new(header))], states: Vec::new(), answered: Vec::new() };
    let mut state = begun.state;
    played.records.extend(requested(&begun.effects));
    for one in moves {
        let waiting = outstanding(compiled, &state);
        let pick = |which: &Index| waiting[which.index(waiting.len())];
        let (fits, event) = match one {
            Move::Answer(which, answer) if !waiting.is_empty() => {
                (true, event(compiled, &state, pick(which), answer, plans))
            }
            Move::Cancel => (true, Event::Cancelled { reason: "stop".into() }),
            Move::Deadline => (true, Event::DeadlinePassed),
            Move::Again(which) if !played.answered.is_empty() => {
                (false, played.answered[which.index(played.answered.len())].clone())
            }
            Move::Foreign(draft, ask) => {
                let effect: EffectId = EffectKind::Validate { draft: *draft, ask: *ask }.into();
                let foreign = !waiting.iter().any(|known| known.id() == effect);
                let event = Event::ModelReplied { effect, reply: ModelReply::text(VERDICTS[0]) };
                if foreign { (false, event) } else { continue }
            }
            Move::WrongKind(which) if !waiting.is_empty() => {
                let (effect, is_call) = (pick(which).id(), matches!(pick(which), Effect::CallTool { .. }));
                (
                    false,
                    match is_call {
                        true => Event::ModelReplied { effect, reply: ModelReply::text("{}") },
                        false => Event::ToolReturned { effect, outcome: ToolOutcome::returned("x") },
                    },
                )
            }
            _ => continue,
        };
        state = match fits && !state.phase().is_terminal() {
            true => step(compiled, state, event, &mut played),
            false => refused(compiled, state, event),
        };
    }
    played.states.push(state);
    played
}

fn requested(effects: &[Effect]) -> Vec<Record> {
    let digest = Digest::of([]);
    effects.iter().map(|effect| Record::Requested { effect: effect.id(), digest, at: None }).collect()
}

fn step(compiled: &CompiledSpec, state: State, event: Event, played: &mut Played) -> State {
    let read: State = serde_json::from_str(&written(&state)).expect("a state reads back");
    let from_read = transition(compiled, read, event.clone()).expect("fits");
    played.states.push(state.clone());
    played.records.push(Record::of_event(event.clone(), None));
    let tainted = state.is_tainted();
    let Step { state, effects, .. } = transition(compiled, state, event.clone()).expect("fits");
    assert_eq!(written(&from_read.state), written(&state), "a state that was read steps otherwise");
    assert_eq!(from_read.effects, effects);
    assert!(!tainted || state.is_tainted(), "taint went away");
    let (bounds, counters) = (compiled.bounds(), state.counters());
    assert!(counters.replans <= compiled.spec().limits.max_replans);
    assert!(counters.model_calls <= bounds.model_calls && counters.tool_calls <= bounds.tool_calls);
    assert!(counters.transitions <= bounds.transitions);
    assert!(effects.is_empty() || !state.phase().is_terminal());
    if event.effect().is_some() {
        played.answered.push(event);
    }
    played.records.extend(requested(&effects));
    state
}

/// The rules of a shipped agent with small numbers, and every abstract state that they reach.
fn walked(name: &str, change: impl FnOnce(&mut Spec)) -> (CompiledSpec, BTreeSet<Key>) {
    let mut spec = agents::shipped(name).expect("shipped");
    spec.policy.plan.max_steps = spec.policy.plan.max_steps.min(5);
    if spec.policy.can_replan() {
        spec.limits.max_replans = spec.limits.max_replans.min(1);
    }
    // Two rounds of calls and one more for the answer.
    spec.limits.max_iterations = spec.limits.max_iterations.map(|_| 3);
    if spec.policy.orchestrate == Orchestrate::EachStep {
        spec.limits.max_added_steps = 1;
    }
    change(&mut spec);
    // What is walked is what is run: a whole agent that does steps is one call here.
    let compiled = explore::reduced(spec, &mut Vec::new()).check().expect("checks");
    let keys = explore::explore(&compiled).keys;
    (compiled, keys)
}

/// Every state that random runs of an agent visit lies in the explored set.
fn visits_only_what_was_explored(name: &str, (compiled, keys): &(CompiledSpec, BTreeSet<Key>)) {
    let mut runner = TestRunner::new(ProptestConfig { cases: 200, ..config() });
    let visited = runner.run(&moves(), |moves| {
        for state in &play(compiled, compiled.spec(), &moves, &[]).states {
            let key = explore::key(compiled, state);
            prop_assert!(keys.contains(&key), "not explored: {:?}", key);
        }
        Ok(())
    });
    visited.unwrap_or_else(|error| panic!("{name}: {error}"));
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, ..ProptestConfig::default() }
}

fn visits_only_explored_states(name: &str) {
    visits_only_what_was_explored(name, &walked(name, |_| {}));
}

for_every_agent!(every_state_a_random_run_visits_was_explored_for, super::visits_only_explored_states);

#[test]
fn every_state_a_random_run_visits_was_explored_where_people_are_asked() {
    for name in ["validated", "evaluate-loop", "react", "research-team"] {
        let explored = walked(name, |spec| {
            spec.policy.plan.max_steps = spec.policy.plan.max_steps.min(3);
            (spec.policy.approval, spec.policy.on_rejection) = (Approval::ALL, OnRejection::Replan);
            spec.tools[0].needs_approval = true;
        });
        visits_only_what_was_explored(name, &explored);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_events_never_panic_and_break_no_invariant(spec in specs(), moves in moves()) {
        let compiled = spec.clone().check().expect("a choice that does not check is left out");
        play(&compiled, &spec, &moves, &PLANS);
    }

    #[test]
    fn the_fold_of_the_journal_is_the_live_state_byte_for_byte(spec in specs(), moves in moves()) {
        let compiled = spec.clone().check().expect("a choice that does not check is left out");
        let played = play(&compiled, &spec, &moves, &PLANS);
        // Through text, as a journal in a file goes.
        let lines: Vec<String> =
            played.records.iter().map(|record| serde_json::to_string(record).expect("serialises")).collect();
        let read = lines.iter().map(|line| serde_json::from_str::<Record>(line).expect("reads back"));
        let folded = fold(read).expect("folds");
        let live = played.states.last().expect("the last state");
        prop_assert_eq!(written(&folded.state), written(live));
        prop_assert_eq!(folded.next_index(), played.records.len() as u64);
        if !live.phase().is_terminal() {
            let waiting: BTreeSet<EffectId> = outstanding(&compiled, live).iter().map(Effect::id).collect();
            let unanswered: BTreeSet<EffectId> = folded.unanswered().collect();
            prop_assert_eq!(unanswered, waiting);
        }
    }
}
