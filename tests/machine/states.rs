//! States: no text is one, and none that a file may hold makes the machine panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use planwright::machine::{Effect, Event, ModelReply, State, ToolOutcome, outstanding, transition};
use planwright::prompt::Request;
use planwright::spec::CompiledSpec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::promise::{Told, found, plan, spec};
use crate::properties::{moves, play, specs};
use crate::repertoire::PLANS;

#[test]
fn a_tool_may_return_the_words_that_something_else_is_shown_as() {
    let words = [
        "(the remaining steps were edited)",
        "(final step - no tool execution)",
        "approved",
        "ERROR: timeout: late",
    ];
    for words in words {
        let steps = plan(json!([{"tool": "calc", "input": "1"}]));
        let told = Told::run(spec("write = 'last_result'"), [steps, found(words)]);
        assert_eq!(told.said(), words);
    }
}

/// The places in a value.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(nth, value)| places(value, format!("{at}/{nth}"), found));
        }
        Value::Object(fields) => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            fields.iter().for_each(|(key, value)| places(value, format!("{at}/{}", escaped(key)), found));
        }
        _ => {}
    }
    found.push(at);
}

/// Bends one place of a written state.
fn bend(state: &mut Value, place: Index, how: u8) {
    let mut all = Vec::new();
    places(state, String::new(), &mut all);
    let Some(value) = state.pointer_mut(&all[place.index(all.len())]) else { return };
    *value = match (value.take(), how % 4) {
        (Value::Number(_), 0) => json!(0),
        (Value::Number(_), 1) => json!(u32::MAX),
        (Value::Number(number), _) => json!(number.as_u64().unwrap_or_default() + 1),
        (Value::Array(list), 0) => Value::Array(list.into_iter().skip(1).collect()),
        (Value::Array(list), 1) => Value::Array(list.iter().chain(list.last()).cloned().collect()),
        (Value::Array(_), 2) => json!([]),
        (Value::Bool(flag), _) => json!(!flag),
        (Value::Object(fields), how) => {
            let left_out = how as usize % fields.len().max(1);
            let fields = fields.into_iter().enumerate().filter(|(nth, _)| *nth != left_out);
            Value::Object(fields.map(|(_, field)| field).collect())
        }
        (Value::String(_), 0) => json!("pending"),
        (_, _) => Value::Null,
    };
}

/// Asks everything of a state, and feeds it an answer to all that it waits for.
fn use_state(compiled: &CompiledSpec, state: &State) {
    let _ = state.plan();
    let waiting = outstanding(compiled, state);
    for effect in waiting {
        let _ = Request::of(compiled, state, effect);
        let id = effect.id();
        let replies = PLANS.iter().chain(&["{\"ok\": false}", "{\"final\": \"x\"}", "?"]);
        let mut events: Vec<Event> =
            replies.map(|text| Event::ModelReplied { effect: id, reply: ModelReply::text(*text) }).collect();
        if !matches!(effect, Effect::AskModel { .. }) {
            events = vec![
                Event::ToolReturned { effect: id, outcome: ToolOutcome::returned("x") },
                Event::TimePassed { effect: id },
                Event::Expired { effect: id },
            ];
        }
        for event in events {
            let _ = transition(compiled, state.clone(), event);
        }
    }
    let _ = transition(compiled, state.clone(), Event::DeadlinePassed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_state_that_reads_can_make_the_machine_panic(
        spec in specs(), moves in moves(), bends in proptest::collection::vec((any::<Index>(), any::<Index>(), any::<u8>()), 20),
    ) {
        let compiled = spec.clone().check().expect("a choice that does not check is left out");
        let states = play(&compiled, &spec, &moves, &PLANS).states;
        for (which, place, how) in bends {
            let mut written = serde_json::to_value(&states[which.index(states.len())]).expect("serialises");
            bend(&mut written, place, how);
            let Ok(read) = serde_json::from_value::<State>(written.clone()) else { continue };
            let used = catch_unwind(AssertUnwindSafe(|| use_state(&compiled, &read)));
            prop_assert!(used.is_ok(), "{written}");
        }
    }
}
