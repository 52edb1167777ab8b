//! Rounds: under `horizon = "next"` the planner is asked again after its steps, and every call that it
//! asked for has its result in what it is shown.

use crate::promise;

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::driver::{Agent, Stopped};
use planwright::journal::{MemoryJournal, fold};
use planwright::machine::{Input, ModelReply, PhaseName};
use planwright::ports::FnTool;
use planwright::ports::ScriptedModel;
use planwright::ports::{Cause, ModelError};
use planwright::prompt::Message;
use planwright::spec::Spec;
use promise::{Told, asks, broken, calls, found, plan, spec, text, verdict};
use serde_json::{Value, json};

const REACT: &str = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n\
    execution = { mode = 'parallel', width = 3 }\nplan = { min_steps = 0, max_steps = 8 }\n\
    [limits]\nmax_iterations = 4";

fn react() -> Spec {
    spec(REACT)
}

/// Every call is answered exactly once, by the message that follows it, in order; ids are never used
/// twice.
#[track_caller]
fn check_balanced(conversation: &[Message]) {
    let mut seen = BTreeSet::new();
    let mut open: Vec<(String, String)> = Vec::new();
    for message in conversation {
        match message {
            Message::Assistant { calls, .. } => {
                assert!(open.is_empty(), "calls without a result: {open:?}");
                for call in calls {
                    assert!(seen.insert(call.id.clone()), "{} twice", call.id);
                    assert!(call.arguments.is_object(), "{:?}", call.arguments);
                    open.push((call.id.clone(), call.name.clone()));
                }
            }
            Message::Tool { id, name, content } => {
                assert!(!open.is_empty(), "a result that nobody asked for");
                assert_eq!(open.remove(0), (id.clone(), name.clone()));
                let content: Value = serde_json::from_str(content).expect("JSON");
                assert!(content["status"].is_string() && content["output"].is_string(), "{content}");
            }
            Message::User { .. } => assert!(open.is_empty(), "calls without a result: {open:?}"),
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

fn statuses(conversation: &[Message]) -> Vec<String> {
    let status = |content: &str| {
        let content: Value = serde_json::from_str(content).expect("JSON");
        content["status"].as_str().expect("a status").to_owned()
    };
    conversation
        .iter()
        .filter_map(|message| match message {
            Message::Tool { content, .. } => Some(status(content)),
            _ => None,
        })
        .collect()
}

#[test]
fn rounds_go_on_until_the_planner_answers_in_words() {
    let told = Told::run(
        react(),
        [asks(&[("find", "서울")]), found("수도"), asks(&[("calc", "1+1")]), found("2"), text(" 답은 2 ")],
    );
    assert_eq!(told.asked, ["planner", "find", "planner", "calc", "planner"]);
    assert_eq!(told.said(), "답은 2");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "PLAN", "EXECUTE", "PLAN"]);
    let spent = told.state.task.counters;
    assert_eq!((spent.model_calls, spent.tool_calls, spent.replans), (3, 2, 0));
    assert_eq!(told.state, told.folded());
}

#[test]
fn words_at_once_are_the_answer_and_nothing_is_called() {
    let told = Told::run(react(), [text("안녕하세요")]);
    assert_eq!((told.said(), told.state.task.counters.tool_calls), ("안녕하세요", 0));
    assert_eq!(told.phases(), ["PLAN"]);
}

#[test]
fn several_calls_of_one_reply_start_at_once_and_are_shown_in_the_order_asked() {
    let mut told = Told::run(react(), [asks(&[("find", "a"), ("calc", "b"), ("store", "c"), ("find", "d")])]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1", "step.1.3.1"]);
    told.answer("step.1.3.1", found("C")).answer("step.1.1.1", found("A"));
    assert_eq!(told.waits(), ["step.1.2.1", "step.1.4.1"]);
    told.answer("step.1.4.1", found("D")).answer("step.1.2.1", found("B"));
    let said = told.conversation();
    check_balanced(&said);
    let outputs: Vec<String> = said
        .iter()
        .filter_map(|message| match message {
            Message::Tool { id, content, .. } => {
                let content: Value = serde_json::from_str(content).expect("JSON");
                Some(format!("{id}:{}", content["output"].as_str().expect("a text")))
            }
            _ => None,
        })
        .collect();
    assert_eq!(outputs, ["call_1:A", "call_2:B", "call_3:C", "call_4:D"]);
}

#[test]
fn ids_and_call_ids_go_on_over_the_rounds() {
    let mut told = Told::run(react(), [asks(&[("find", "a"), ("calc", "b")]), found("A"), found("B")]);
    told.tell([asks(&[("find", "c")])]);
    assert_eq!(told.waits(), ["step.2.3.1"]);
    told.tell([found("C")]);
    assert_eq!(told.waits(), ["plan.3.1"]);
    let said = told.conversation();
    check_balanced(&said);
    let ids: Vec<&str> = said
        .iter()
        .filter_map(|message| match message {
            Message::Tool { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3"]);
}

#[test]
fn the_conversation_is_balanced_whatever_became_of_the_calls() {
    let spec = spec(
        &REACT
            .replace("plan =", "duplicates = 'skip'\nvalidate = 'sufficiency'\non_exhausted = 'fail'\nplan =")
            .replace("write = 'planner'\n", ""),
    );
    let enough =
        |ok: bool| text(json!({"sufficient": ok, "missing_info": "해지", "reason": "r"}).to_string());
    let mut told = Told::run(spec, [asks(&[("find", "a"), ("calc", "b"), ("find", "a")])]);
    told.answer("step.1.1.1", found("A")).answer("step.1.2.1", broken());
    told.tell([enough(false)]);
    let said = told.conversation();
    check_balanced(&said);
    assert_eq!(statuses(&said), ["completed", "failed", "skipped"]);
    assert!(matches!(said.last(), Some(Message::User { .. })), "the evaluator's note comes last");

    // Broken arguments are repaired: the repair is a note of its own, and no call hangs open.
    told.tell([calls(&[("find", json!({}))])]);
    assert_eq!(told.waits(), ["plan.2.2"]);
    let said = told.conversation();
    check_balanced(&said);
    let Some(Message::User { content }) = said.last() else { panic!("{said:?}") };
    assert!(content.contains("repair") && content.contains("$.tool_calls[0].arguments"), "{content}");

    told.tell([asks(&[("calc", "b"), ("find", "a")]), found("2"), enough(false)]);
    let said = told.conversation();
    check_balanced(&said);
    assert_eq!(statuses(&said), ["completed", "failed", "skipped", "completed", "skipped"]);
    assert!(
        !said
            .iter()
            .any(|message| matches!(message, Message::User { content } if content.contains("repair")))
    );
    assert_eq!(told.state, told.folded());
}

#[test]
fn the_conversation_follows_from_the_state_alone() {
    let mut told = Told::run(react(), [asks(&[("find", "a"), ("calc", "b")]), found("A"), broken()]);
    told.tell([asks(&[("find", "c")]), found("C")]);
    let live = told.request("plan.3.1");
    let written = serde_json::to_string(&told.state).expect("written");
    told.state = serde_json::from_str(&written).expect("read");
    assert_eq!(told.request("plan.3.1"), live);
    told.state = told.folded();
    assert_eq!(told.request("plan.3.1"), live);
}

#[test]
fn an_interrupted_round_is_resumed_with_the_same_conversation() {
    let script = |gap: bool| {
        let gone = Err(ModelError::unanswered(Cause::Connection, "gone"));
        let round = ModelReply::calls([("find", json!({"input": "a"})), ("calc", json!({"input": "b"}))]);
        let model = ScriptedModel::new().answer(Ok(round));
        let model = if gap { model.answer(gone) } else { model };
        Arc::new(model.answer(Ok(ModelReply::calls([("find", json!({"input": "c"}))]))).reply("답"))
    };
    let agent = |model: &Arc<ScriptedModel>| {
        let builder = Agent::builder(react()).shared_model(model.clone());
        let tool = |contract| FnTool::new(contract, |call| Ok(format!("of {}", call.text()?)));
        let mut spec = react();
        spec.tools.retain(|tool| tool.takes_text());
        let builder = spec.tools.into_iter().fold(builder, |builder, contract| builder.tool(tool(contract)));
        builder
            .tool(FnTool::new(promise::tools().pop().expect("book"), |_| Ok("booked".into())))
            .build()
            .expect("builds")
    };
    let whole = script(false);
    let run = agent(&whole).job(Input::question("q")).run().expect("ends");
    assert_eq!(run.answer(), Some("답"));

    let torn = script(true);
    let mut journal = MemoryJournal::new();
    let stopped = agent(&torn).job(Input::question("q")).journal(&mut journal).run();
    assert!(matches!(stopped, Err(Stopped::Interrupted(_))));
    let resumed = agent(&torn).resume(&mut journal, None).expect("ends");
    assert_eq!(resumed.answer(), Some("답"));
    assert_eq!(resumed.state(), &fold(journal.into_records()).expect("folds").state);
    let of = |model: &ScriptedModel| model.seen().last().expect("asked").clone();
    check_balanced(&of(&torn).conversation);
    assert_eq!(of(&torn), of(&whole));
    assert_eq!(torn.asked(), whole.asked() + 1);
}

#[test]
fn a_reply_with_neither_calls_nor_words_is_repaired() {
    let told = Told::run(react(), [text("  "), text("답")]);
    assert_eq!((told.said(), told.phases()), ("답", vec!["REPAIR".to_owned(), "PLAN".into()]));
}

#[test]
fn words_beside_calls_are_kept_and_are_not_the_answer() {
    let mut reply = planwright::machine::ModelReply::calls([("find", json!({"input": "a"}))]);
    reply.text = "찾아볼게요".into();
    let told = Told::run(react(), [promise::Say::Reply(reply), found("A")]);
    assert_eq!(told.state.phase.name(), PhaseName::Plan);
    let said = told.conversation();
    assert!(
        matches!(&said[0], Message::Assistant { text, calls } if text == "찾아볼게요" && calls.len() == 1)
    );
}

#[test]
fn calls_of_tools_that_there_are_not_run_nothing() {
    let told = Told::run(
        react(),
        [asks(&[("find", "a"), ("rm", "-rf /")]), calls(&[("book", json!({"day": "월", "people": "둘"}))])],
    );
    assert!(told.error().starts_with("PLAN_ERROR: contract: $.tool_calls[0].arguments"), "{}", told.error());
    assert_eq!(told.state.task.counters.tool_calls, 0);
}

#[test]
fn after_the_last_round_the_run_ends_as_the_policy_says() {
    let round = || [asks(&[("calc", "1")]), found("1")];
    let told = Told::run(react(), round().into_iter().chain(round()).chain(round()).chain(round()));
    assert_eq!(told.error(), "MAX_ITERATIONS_EXCEEDED: the planner was asked 4 times and gave no answer");
    assert_eq!(told.state.task.counters.model_calls, 4);

    let write = REACT
        .replace("write = 'planner'", "on_exhausted = 'write'")
        .replace("max_iterations = 4", "max_iterations = 2");
    let told = Told::run(spec(&write), round().into_iter().chain(round()).chain([text("있는 대로")]));
    assert_eq!(told.said(), "있는 대로");
    assert_eq!(told.asked.last().map(String::as_str), Some("writer"));
}

#[test]
fn the_last_round_may_still_answer_in_words() {
    let one = REACT.replace("max_iterations = 4", "max_iterations = 1");
    assert_eq!(Told::run(spec(&one), [text("답")]).said(), "답");
}

#[test]
fn a_thought_and_an_action_as_text_are_a_step_and_what_was_observed_follows() {
    let react = REACT.replace("'tool_calls'", "'react_text'");
    let mut told = Told::run(
        spec(&react),
        [
            text("Thought: 찾아보자\nAction: find\nAction Input: \"서울\"\nObservation: 지어낸 것"),
            found("수도"),
        ],
    );
    assert_eq!(told.results(), ["step_1: completed: 수도"]);
    let said = told.conversation();
    check_balanced(&said);
    assert!(matches!(&said[0], Message::Assistant { calls, .. } if calls.is_empty()));
    let Message::User { content } = &said[1] else { panic!("{said:?}") };
    assert_eq!(
        serde_json::from_str::<Value>(content).expect("JSON"),
        json!({"observation": {"status": "completed", "output": "수도"}})
    );
    told.tell([text("Action: book\nAction Input: {\"day\": \"월\", \"people\": 2}")]);
    assert_eq!(told.input("step.2.2.1"), json!({"day": "월", "people": 2}));
    told.tell([found("됨"), text("음…"), text("Thought: 이제 안다\nFinal Answer: 수도는\n서울")]);
    assert_eq!(told.said(), "수도는\n서울");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "PLAN", "EXECUTE", "REPAIR", "PLAN"]);
}

#[test]
fn a_plan_in_json_without_steps_ends_the_rounds() {
    let json = "horizon = 'next'\nplan = { min_steps = 0, max_steps = 4 }\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(
        spec(json),
        [plan(json!([{"tool": "find", "input": "a"}, {"tool": "calc", "input": "1"}])), found("A"), broken()],
    );
    let payload = told.payload();
    assert_eq!(payload["past_steps"].as_array().map(Vec::len), Some(2));
    assert!(told.conversation().is_empty(), "a plan in JSON is no conversation");
    told.tell([plan(json!([{"tool": "store", "input_from": "step_1"}]))]);
    assert_eq!(told.input("step.2.3.1"), json!("A"));
    told.tell([found("S"), plan(json!([])), text("답")]);
    assert_eq!(told.asked, ["planner", "find", "calc", "planner", "store", "planner", "writer"]);
    assert_eq!(told.said(), "답");
}

#[test]
fn an_evaluator_that_is_not_satisfied_sends_back_without_counting_a_replan() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nvalidate = 'verdict'\non_exhausted = 'write'\n\
        plan = { min_steps = 0 }\n[limits]\nmax_iterations = 2\nmax_replans = 0";
    let told = Told::run(
        spec(policy),
        [
            asks(&[("calc", "1")]),
            found("1"),
            verdict(false, "모자람", "더"),
            asks(&[("calc", "2")]),
            found("2"),
            verdict(false, "아직", "더"),
            text("있는 대로"),
        ],
    );
    assert_eq!(told.said(), "있는 대로");
    assert_eq!(told.state.task.counters.replans, 0);
    assert!(!told.phases().contains(&"REPLAN_TRIGGER".to_owned()));
}
