//! Random runs: whatever comes, in whatever order, no invariant breaks.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use planwright::agents;
use planwright::journal::{Header, JOURNAL_FORMAT, Record, fold};
use planwright::machine::explore::{self, Key};
use planwright::machine::{
    Effect, EffectId, Event, FailureClass, Input, ModelFailure, ModelReply, PhaseName, State, Step,
    ToolOutcome, admit, outstanding, start, transition,
};
use planwright::spec::{Digest, Execution, OnBadReply, OnExhausted, OnStepFailure, RoleName, Rules, Spec};
use proptest::prelude::*;
use proptest::sample::Index;

/// Specs that differ in every policy there is.
fn specs() -> impl Strategy<Value = Spec> {
    let names: Vec<&str> = agents::names().collect();
    (
        proptest::sample::select(names),
        proptest::sample::select(vec![OnStepFailure::Record, OnStepFailure::Replan, OnStepFailure::Abort]),
        proptest::sample::select(vec![Execution::Sequential, Execution::Parallel { width: 3 }]),
        proptest::sample::select(vec![OnBadReply::Fail, OnBadReply::Repair]),
        proptest::sample::select(vec![OnExhausted::Fail, OnExhausted::Write]),
        0u32..3,
        proptest::option::of(1u32..8),
    )
        .prop_filter_map("a spec that contradicts itself", |parts| {
            let (name, on_step_failure, execution, on_bad_reply, on_exhausted, max_replans, calls) = parts;
            let mut spec = agents::shipped(name)?;
            spec.policy.on_step_failure = on_step_failure;
            spec.policy.execution = execution;
            spec.policy.on_bad_reply = on_bad_reply;
            spec.policy.on_exhausted = on_exhausted;
            spec.limits.max_replans = max_replans;
            spec.limits.max_model_calls = calls;
            spec.clone().check().is_ok().then_some(spec)
        })
}

/// What comes next: which outstanding effect is answered and how, or something that does not fit.
#[derive(Clone, Debug)]
enum Move {
    Answer(Index, Answer),
    Again(Index),
    Foreign(u32, u32),
    WrongKind(Index),
    Cancel,
    Deadline,
}

#[derive(Clone, Debug)]
enum Answer {
    Good(u8),
    Bad(String),
    Failed(u8),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
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

const PLANS: [&str; 6] = [
    r#"{"goal":"g","steps":[{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"wiki","input":"서울"},{"tool":"calc","input":"1"},{"tool":"docs","input":"b"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"id":"a","tool":"wiki","input":"a"},{"tool":"docs","input_from":"a"},{"tool":"calc","input":"2","depends_on":["a"]},{"tool":"docs","input":"z","depends_on":["step_2",3]},{"tool":"final_answer","input":"x"}]}"#,
    "```json\n{\"goal\":\"g\",\"steps\":[{\"tool\":\"search\",\"input\":\"q\"},{\"tool\":\"final_answer\",\"input\":\"x\"}]}\n```",
    r#"{"goal":"g","steps":[{"tool":"no such tool","input":"x"}]}"#,
];
/// Plans of the shapes that the walk tells apart: every size of every kind of tool, mixed, chained.
const WALKED: [&str; 8] = [
    r#"{"goal":"g","steps":[{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"docs","input":"1"},{"tool":"docs","input":"2"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"wiki","input":"1"},{"tool":"wiki","input":"2"},{"tool":"wiki","input":"3"},{"tool":"wiki","input":"4"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"docs","input":"1"},{"tool":"wiki","input":"2"},{"tool":"calc","input":"3"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"docs","input":"1"},{"tool":"docs","input":"2","depends_on":[1]},{"tool":"docs","input":"3","depends_on":["step_2"]},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"no such tool","input":"x"}]}"#,
    "no plan",
];
const VERDICTS: [&str; 4] = [
    r#"{"ok":true,"reason":"r","fix_hint":""}"#,
    r#"{"ok":false,"reason":"주제가 다름","fix_hint":"다시 검색"}"#,
    r#"{"ok":false,"reason":"r","fix_hint":""}"#,
    r#"{"ok":"maybe"}"#,
];
const ANSWERS: [&str; 3] = [r#"{"final":"답"}"#, "plain", ""];

fn event(effect: Effect, answer: &Answer, plans: &[&str]) -> Event {
    let id = effect.id();
    match effect {
        Effect::CallTool { .. } => {
            let outcome = match answer {
                Answer::Good(n) if n % 4 != 0 => ToolOutcome::Returned { output: format!("결과 {n}") },
                Answer::Bad(text) => ToolOutcome::Returned { output: text.clone() },
                _ => ToolOutcome::Failed { kind: "timeout".into(), message: "no answer".into() },
            };
            Event::ToolReturned { effect: id, outcome }
        }
        Effect::AskModel { role, .. } => match answer {
            Answer::Good(n) => {
                let texts: &[&str] = match role {
                    RoleName::Planner | RoleName::Replanner => plans,
                    RoleName::Validator => &VERDICTS,
                    RoleName::Writer => &ANSWERS,
                };
                Event::ModelReplied { effect: id, reply: ModelReply::text(texts[*n as usize % texts.len()]) }
            }
            Answer::Bad(text) => Event::ModelReplied { effect: id, reply: ModelReply::text(text.clone()) },
            Answer::Failed(n) => {
                let class = FailureClass::ALL[*n as usize % FailureClass::ALL.len()];
                Event::ModelFailed { effect: id, failure: ModelFailure { class, message: "m".into() } }
            }
        },
    }
}

fn json(state: &State) -> String {
    serde_json::to_string(state).expect("a state serialises")
}

/// Refuses an event and gets the state back, byte for byte.
fn refused(rules: &Rules, state: State, event: Event) -> State {
    let before = json(&state);
    assert!(admit(&state, &event).is_err(), "{event:?} is admitted");
    let refused = transition(rules, state, event.clone()).expect_err("not admitted");
    assert_eq!(json(&refused.state), before);
    assert_eq!(refused.event, event);
    refused.state
}

struct Played {
    records: Vec<Record>,
    states: Vec<State>,
    answered: Vec<Event>,
}

/// Plays random moves and checks at every step what must hold at every step.
fn play(rules: &Rules, spec: &Spec, moves: &[Move], plans: &[&str]) -> Played {
    let input = Input::question("질문?");
    let header = Header {
        format: JOURNAL_FORMAT,
        run: "r".into(),
        spec: spec.clone().into(),
        input: input.clone(),
        model: String::new(),
    };
    let begun = start(rules, input);
    let mut played =
        Played { records: vec![Record::Header(Box::new(header))], states: Vec::new(), answered: Vec::new() };
    let mut state = begun.state;
    let requested = |effects: &[Effect]| -> Vec<Record> {
        let digest = Digest::of([]);
        effects.iter().map(|effect| Record::Requested { effect: effect.id(), digest }).collect()
    };
    played.records.extend(requested(&begun.effects));
    for one in moves {
        let waiting = outstanding(rules, &state);
        let event = match one {
            Move::Answer(which, answer) if !waiting.is_empty() => {
                event(waiting[which.index(waiting.len())], answer, plans)
            }
            Move::Cancel => Event::Cancelled { reason: "stop".into() },
            Move::Deadline => Event::DeadlinePassed,
            Move::Again(which) if !played.answered.is_empty() => {
                let again = played.answered[which.index(played.answered.len())].clone();
                state = refused(rules, state, again);
                continue;
            }
            Move::Foreign(draft, ask) => {
                let id = EffectId::Validate { draft: *draft, ask: *ask };
                if !waiting.iter().any(|effect| effect.id() == id) {
                    let reply = ModelReply::text(VERDICTS[0]);
                    state = refused(rules, state, Event::ModelReplied { effect: id, reply });
                }
                continue;
            }
            Move::WrongKind(which) if !waiting.is_empty() => {
                let effect = waiting[which.index(waiting.len())];
                let event = match effect {
                    Effect::AskModel { id, .. } => Event::ToolReturned {
                        effect: id,
                        outcome: ToolOutcome::Returned { output: "x".into() },
                    },
                    Effect::CallTool { id, .. } => {
                        Event::ModelReplied { effect: id, reply: ModelReply::text("{}") }
                    }
                };
                state = refused(rules, state, event);
                continue;
            }
            _ => continue,
        };
        if state.phase.name().is_terminal() {
            state = refused(rules, state, event);
            continue;
        }
        state = one_step(rules, state, event, &mut played, requested);
    }
    played.states.push(state);
    played
}

fn one_step(
    rules: &Rules,
    state: State,
    event: Event,
    played: &mut Played,
    requested: impl Fn(&[Effect]) -> Vec<Record>,
) -> State {
    let read: State = serde_json::from_str(&json(&state)).expect("a state reads back");
    let from_read = transition(rules, read, event.clone()).expect("fits");
    played.states.push(state.clone());
    played.records.push(match event.effect() {
        Some(_) => Record::Answered(event.clone()),
        None => Record::Happened(event.clone()),
    });
    let tainted = state.task.tainted;
    let Step { state, effects, .. } = transition(rules, state, event.clone()).expect("fits");
    assert_eq!(json(&from_read.state), json(&state), "a state that was written and read steps otherwise");
    assert_eq!(from_read.effects, effects);
    assert!(state.task.counters.replans <= rules.spec().limits.max_replans);
    assert!(!tainted || state.task.tainted, "taint went away");
    let bounds = rules.bounds();
    let counters = &state.task.counters;
    assert!(counters.model_calls <= bounds.model_calls && counters.tool_calls <= bounds.tool_calls);
    assert!(counters.transitions <= bounds.transitions);
    if state.phase.name().is_terminal() {
        assert!(effects.is_empty());
    }
    if let Event::ModelReplied { .. } | Event::ModelFailed { .. } | Event::ToolReturned { .. } = event {
        played.answered.push(event);
    }
    played.records.extend(requested(&effects));
    state
}

fn validated() -> &'static (Rules, BTreeSet<Key>) {
    static EXPLORED: OnceLock<(Rules, BTreeSet<Key>)> = OnceLock::new();
    EXPLORED.get_or_init(|| {
        let mut spec = agents::shipped("validated").expect("shipped");
        spec.policy.plan.max_steps = 5;
        spec.limits.max_replans = 1;
        spec.limits.max_reply_bytes = explore::MOST_REPLY_BYTES;
        let rules = spec.check().expect("checks");
        let keys = explore::explore(&rules).keys;
        (rules, keys)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_events_never_panic_and_break_no_invariant(spec in specs(), moves in moves()) {
        let rules = spec.clone().check().expect("filtered");
        play(&rules, &spec, &moves, &PLANS);
    }

    #[test]
    fn the_fold_of_the_journal_is_the_live_state_byte_for_byte(spec in specs(), moves in moves()) {
        let rules = spec.clone().check().expect("filtered");
        let played = play(&rules, &spec, &moves, &PLANS);
        // Through text, as a journal in a file goes.
        let lines: Vec<String> =
            played.records.iter().map(|record| serde_json::to_string(record).expect("serialises")).collect();
        let read = lines.iter().map(|line| serde_json::from_str::<Record>(line).expect("reads back"));
        let folded = fold(read).expect("folds");
        let live = played.states.last().expect("the last state");
        prop_assert_eq!(json(&folded.state), json(live));
        prop_assert_eq!(folded.len, played.records.len() as u64);
        let mut waiting: Vec<EffectId> = outstanding(&rules, live).iter().map(Effect::id).collect();
        if live.phase.name().is_terminal() { waiting.clear(); }
        if !live.phase.name().is_terminal() {
            let mut unanswered = folded.unanswered;
            unanswered.sort();
            waiting.sort();
            prop_assert_eq!(unanswered, waiting);
        }
    }

    #[test]
    fn every_state_a_random_run_visits_was_explored(moves in moves()) {
        let (rules, keys) = validated();
        let played = play(rules, rules.spec(), &moves, &WALKED);
        for state in &played.states {
            let key = explore::key(rules, state);
            prop_assert!(keys.contains(&key), "not explored: {:?}", key);
        }
    }

    #[test]
    fn answers_in_any_order_give_the_same_state_and_trace(
        order in proptest::collection::vec(any::<Index>(), 40),
        failing in proptest::collection::vec(any::<bool>(), 6),
        width in 1u32..6,
        plan in 0usize..2,
    ) {
        let plans = [
            r#"{"goal":"g","steps":[{"tool":"calc","input":"0"},{"tool":"calc","input":"1"},{"tool":"wiki","input":"2"},{"tool":"calc","input":"3"},{"tool":"docs","input":"4"},{"tool":"final_answer","input":"x"}]}"#,
            r#"{"goal":"g","steps":[{"tool":"calc","input":"0"},{"tool":"calc","input":"1"},{"tool":"wiki","input_from":"step_1"},{"tool":"docs","input_from":"step_2"},{"tool":"docs","input":"4","depends_on":["step_3","step_4"]},{"tool":"final_answer","input":"x"}]}"#,
        ];
        for on_step_failure in [OnStepFailure::Record, OnStepFailure::Replan, OnStepFailure::Abort] {
            let mut spec = agents::shipped("validated").expect("shipped");
            spec.policy.execution = Execution::Parallel { width };
            spec.policy.on_step_failure = on_step_failure;
            let rules = spec.check().expect("checks");
            let run = |order: &mut dyn FnMut(usize) -> usize| {
                let begun = start(&rules, Input::question("q"));
                let plan = ModelReply::text(plans[plan]);
                let id = begun.effects[0].id();
                let mut step = transition(&rules, begun.state, Event::ModelReplied { effect: id, reply: plan })
                    .expect("fits");
                while step.state.phase.name() == PhaseName::Execute {
                    let waiting = outstanding(&rules, &step.state);
                    let effect = waiting[order(waiting.len())];
                    let EffectId::Step { step: at, .. } = effect.id() else { unreachable!("EXECUTE calls tools") };
                    let outcome = match failing[at as usize] {
                        true => ToolOutcome::Failed { kind: "http".into(), message: format!("{at}") },
                        false => ToolOutcome::Returned { output: format!("결과 {at}") },
                    };
                    step = transition(&rules, step.state, Event::ToolReturned { effect: effect.id(), outcome })
                        .expect("fits");
                }
                step.state
            };
            let mut shuffled = order.iter();
            let any_order = run(&mut |waiting| shuffled.next().map_or(0, |index| index.index(waiting)));
            let in_order = run(&mut |_| 0);
            prop_assert_eq!(json(&any_order), json(&in_order));
        }
    }
}
