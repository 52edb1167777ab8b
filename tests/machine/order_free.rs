//! Order-free: what is open side by side may be answered in any order. The end state, the trace and the answer
//! are the same, with failures and tries, people, nested runs, replans and budgets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use planwright::agents;
use planwright::machine::{Effect, Input, State, Turn, outstanding, start, transition};
use planwright::spec::{Approval, CompiledSpec, Execution, Spec, SubAgent};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::promise::team;
use crate::properties::choices;
use crate::repertoire::{Answer, PLANS, event};

/// Steps that wait for one another, more of them than there is room for.
const GRAPHS: [&str; 2] = [
    r#"{"goal":"g","steps":[{"tool":"calc","input":"0"},{"tool":"calc","input":"1"},{"tool":"wiki","input":"2"},{"tool":"calc","input":"3"},{"tool":"docs","input":"4"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"calc","input":"0"},{"tool":"calc","input":"1"},{"tool":"wiki","input_from":"step_1"},{"tool":"docs","input_from":"step_2"},{"tool":"docs","input":"4","depends_on":["step_3","step_4"]},{"tool":"final_answer","input":"x"}]}"#,
];

/// What was met while something else was open too: an order among things of which there is one shows nothing.
#[derive(Default)]
struct Met(RefCell<BTreeMap<&'static str, usize>>);

impl Met {
    fn count(&self, what: &'static str, met: bool) {
        *self.0.borrow_mut().entry(what).or_default() += usize::from(met);
    }

    fn missing(&self) -> Option<&'static str> {
        let met = self.0.borrow();
        let wanted = ["side by side", "a nested run", "a person", "a later try"];
        wanted.into_iter().find(|what| met.get(what).is_none_or(|times| *times == 0))
    }
}

/// What an effect is answered with: the same to the same, whenever it is answered.
fn says(seed: u64, effect: Effect) -> Answer {
    let mut hasher = DefaultHasher::new();
    (seed, effect.id().to_string()).hash(&mut hasher);
    let drawn = hasher.finish();
    match (drawn % 10, (drawn >> 8) as u8) {
        (0, n) => Answer::Failed(n),
        (1, _) => Answer::Bad("무엇?".to_owned()),
        (_, n) => Answer::Good(n),
    }
}

/// Runs to the end. `pick` says which of so many open effects is answered next.
fn run(compiled: &CompiledSpec, seed: u64, met: &Met, mut pick: impl FnMut(usize) -> usize) -> State {
    let mut input = Input::question("질문?");
    input.history = vec![Turn::user("앞선 질문")];
    let mut state = start(compiled, input).state;
    let plans: Vec<&str> = GRAPHS.into_iter().chain(PLANS).collect();
    loop {
        let open = outstanding(compiled, &state);
        if open.is_empty() {
            return state;
        }
        let effect = open[pick(open.len())];
        if open.len() > 1 {
            met.count("side by side", true);
            met.count("a nested run", open.iter().any(|effect| effect.id().to_string().contains('/')));
            met.count("a person", open.iter().any(|effect| matches!(effect, Effect::AskHuman { .. })));
            met.count("a later try", open.iter().any(|effect| effect.id().to_string().ends_with(".2")));
            met.count("a later plan", effect.id().to_string().starts_with("step.2"));
        }
        let event = event(compiled, &state, effect, &says(seed, effect), &plans);
        state = transition(compiled, state, event).expect("it answers what is open").state;
    }
}

fn written(state: &State) -> String {
    serde_json::to_string(state).expect("a state serialises")
}

/// A team that asks a person before its call.
fn asking_team() -> SubAgent {
    let mut team = team("team");
    let inner = team.spec.as_mut().expect("a team is a whole agent");
    inner.policy.approval = Approval::RISKY;
    inner.tools[0].needs_approval = true;
    team
}

/// An agent whose steps run side by side if they can, where a step may be tried again and a whole agent may
/// do one.
fn beside(mut spec: Spec, width: u32) -> Spec {
    let choices: [&dyn Fn(&mut Spec); 3] = [
        &|spec| spec.policy.execution = Execution::Parallel { width },
        &|spec| spec.policy.step_tries.tries = 2,
        &|spec| spec.agents.extend([asking_team()]),
    ];
    for choose in choices {
        let mut changed = spec.clone();
        choose(&mut changed);
        if changed.clone().check().is_ok() {
            spec = changed;
        }
    }
    spec
}

fn ends_the_same_in_any_order(name: &str) {
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let met = Met::default();
    let order = proptest::collection::vec(any::<Index>(), 1..40);
    let cases = (choices(name), 2u32..5, any::<u64>(), order);
    let shipped = agents::shipped(name).expect("shipped");
    let side_by_side = beside(shipped, 2).policy.execution != Execution::Sequential;
    // What has not been met by then is looked for in further cases: some of it is rare for some agents.
    for _ in 0..400 {
        // A runner counts its cases once and for all.
        let ran = TestRunner::new(config.clone()).run(&cases, |(spec, width, seed, order)| {
            let compiled = beside(spec, width).check().expect("a choice that does not check is left out");
            let in_order = run(&compiled, seed, &met, |_| 0);
            let mut shuffled = order.iter().cycle();
            let any_order =
                run(&compiled, seed, &met, |open| shuffled.next().map_or(0, |one| one.index(open)));
            prop_assert_eq!(written(&any_order), written(&in_order));
            let last_first = run(&compiled, seed, &met, |open| open - 1);
            prop_assert_eq!(written(&last_first), written(&in_order));
            Ok(())
        });
        ran.unwrap_or_else(|error| panic!("{name}: {error}"));
        if !side_by_side || met.missing().is_none() {
            return;
        }
    }
    panic!("{name}: {:?} was never met: {:?}", met.missing(), met.0.into_inner());
}

for_every_agent!(answers_in_any_order_give_the_same_end_in, super::ends_the_same_in_any_order);
