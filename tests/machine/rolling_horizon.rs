//! Rounds: under `horizon = "next"` the planner is asked again after its steps, and every call that it
//! asked for has its result in what it is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::driver::{Agent, Stopped};
use planwright::journal::{MemoryJournal, fold};
use planwright::machine::{Input, ModelReply, PhaseName};
use planwright::ports::{Cause, FnTool, ModelError, ScriptedModel};
use planwright::prompt::Message;
use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{Say, Told, asks, broken, calls, enough, found, plan, spec, text, verdict};

const REACT: &str = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n\
    execution = { mode = 'parallel', width = 3 }\nplan = { min_steps = 0, max_steps = 8 }\n\
    [limits]\nmax_iterations = 4";

/// The agent with one part of its policy put otherwise.
fn react_with(part: &str, otherwise: &str) -> Spec {
    assert!(REACT.contains(part), "{part}");
    spec(&REACT.replace(part, otherwise))
}

fn react() -> Spec {
    spec(REACT)
}

/// The results in a conversation: id of the call, status, output. Every call is answered exactly once, by
/// the message that follows it, in order; ids are never used twice.
#[track_caller]
fn results(conversation: &[Message]) -> Vec<[String; 3]> {
    let (mut seen, mut results) = (BTreeSet::new(), Vec::new());
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
                let part = |key: &str| content[key].as_str().expect("a text").to_owned();
                results.push([id.clone(), part("status"), part("output")]);
            }
            Message::User { .. } => assert!(open.is_empty(), "calls without a result: {open:?}"),
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
    results
}

fn statuses(conversation: &[Message]) -> Vec<String> {
    results(conversation).into_iter().map(|[_, status, _]| status).collect()
}

#[test]
fn rounds_go_on_until_the_planner_answers_in_words() {
    let mut told = Told::run(react(), [asks(&[("find", "서울")]), found("수도")]);
    told.ends([asks(&[("calc", "1+1")]), found("2"), text(" 답은 2 ")], "답은 2");
    assert_eq!(told.asked, ["planner", "find", "planner", "calc", "planner"]);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "PLAN", "EXECUTE", "PLAN"]);
    let spent = told.spent();
    assert_eq!((spent.model_calls, spent.tool_calls, spent.replans), (3, 2, 0));

    let mut told = Told::begin(react());
    told.ends([text("안녕하세요")], "안녕하세요");
    assert_eq!((told.phases(), told.spent().tool_calls), (vec!["PLAN".to_owned()], 0), "words at once");
}

#[test]
fn several_calls_of_one_reply_start_at_once_and_are_shown_in_the_order_asked() {
    let mut told = Told::run(react(), [asks(&[("find", "a"), ("calc", "b"), ("find", "c"), ("find", "d")])]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1", "step.1.3.1"]);
    told.answer("step.1.3.1", found("C")).answer("step.1.1.1", found("A"));
    assert_eq!(told.waits(), ["step.1.2.1", "step.1.4.1"]);
    told.answer("step.1.4.1", found("D")).answer("step.1.2.1", found("B"));
    let shown: Vec<String> =
        results(&told.conversation()).iter().map(|[id, _, output]| format!("{id}:{output}")).collect();
    assert_eq!(shown, ["call_1:A", "call_2:B", "call_3:C", "call_4:D"]);
}

#[test]
fn ids_and_call_ids_go_on_over_the_rounds_and_the_conversation_follows_from_the_state_alone() {
    let mut told = Told::run(react(), [asks(&[("find", "a"), ("calc", "b")]), found("A"), broken()]);
    assert_eq!(told.tell([asks(&[("find", "c")])]).waits(), ["step.2.3.1"]);
    assert_eq!(told.tell([found("C")]).waits(), ["plan.3.1"]);
    let ids: Vec<String> = results(&told.conversation()).into_iter().map(|[id, ..]| id).collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3"]);
    let live = told.request("plan.3.1");
    let written = serde_json::to_string(&told.state).expect("written");
    told.state = serde_json::from_str(&written).expect("read");
    assert_eq!(told.request("plan.3.1"), live);
    told.state = told.folded();
    assert_eq!(told.request("plan.3.1"), live);
}

#[test]
fn the_conversation_is_balanced_whatever_became_of_the_calls() {
    let judged = "duplicates = 'skip'\nvalidate = 'sufficiency'\non_exhausted = 'fail'";
    let mut told = Told::run(
        react_with("write = 'planner'", judged),
        [asks(&[("find", "a"), ("calc", "b"), ("find", "a")]), found("A"), broken(), enough(false)],
    );
    let said = told.conversation();
    assert_eq!(statuses(&said), ["completed", "failed", "skipped"]);
    assert!(matches!(said.last(), Some(Message::User { .. })), "the evaluator's note comes last");

    // Broken arguments are repaired: the repair is a note of its own, and no call hangs open.
    told.tell([calls(&[("find", json!({}))])]);
    assert_eq!(told.waits(), ["plan.2.2"]);
    let said = told.conversation();
    assert_eq!(statuses(&said).len(), 3);
    let Some(Message::User { content }) = said.last() else { panic!("{said:?}") };
    assert!(content.contains("repair") && content.contains("$.tool_calls[0].arguments"), "{content}");

    told.tell([asks(&[("calc", "b"), ("find", "a")]), found("2"), enough(false)]);
    let said = told.conversation();
    assert_eq!(statuses(&said), ["completed", "failed", "skipped", "completed", "skipped"]);
    let repairs =
        |message: &Message| matches!(message, Message::User { content } if content.contains("repair"));
    assert!(!said.iter().any(repairs));
}

#[test]
fn an_interrupted_round_is_resumed_with_the_same_conversation() {
    let script = |gap: bool| {
        let gone = Err(ModelError::unanswered(Cause::Connection, "gone"));
        let model = ScriptedModel::new().answer(Ok(asks(&[("find", "a"), ("calc", "b")]).reply()));
        let model = if gap { model.answer(gone) } else { model };
        Arc::new(model.answer(Ok(asks(&[("find", "c")]).reply())).reply("답"))
    };
    let agent = |model: &Arc<ScriptedModel>| {
        let builder = Agent::builder(react()).model(model.clone());
        let tool = |contract| FnTool::new(contract, |call| Ok(format!("of {}", call.input)));
        let tools = react().tools.into_iter();
        tools.fold(builder, |builder, contract| builder.tool(tool(contract))).build().expect("builds")
    };
    let whole = script(false);
    let run = agent(&whole).job(Input::question("q")).run().expect("ends");
    assert_eq!(run.answer(), Some("답"));

    let torn = script(true);
    let mut journal = MemoryJournal::new();
    let stopped = agent(&torn).job(Input::question("q")).journal(&mut journal).run();
    assert!(matches!(stopped, Err(Stopped::Interrupted(_))));
    let resumed = agent(&torn).resume(&mut journal).run().expect("ends");
    assert_eq!(resumed.answer(), Some("답"));
    assert_eq!(resumed.state(), &fold(journal.into_records()).expect("folds").state);
    let last = |model: &ScriptedModel| model.seen().last().expect("asked").clone();
    assert_eq!(results(&last(&torn).conversation).len(), 3);
    assert_eq!(last(&torn), last(&whole));
    assert_eq!(torn.asked(), whole.asked() + 1);
}

#[test]
fn a_reply_with_neither_calls_nor_words_is_repaired() {
    let mut told = Told::begin(react());
    told.ends([text("  "), text("답")], "답");
    assert_eq!(told.phases(), ["REPAIR", "PLAN"]);
}

#[test]
fn words_beside_calls_are_kept_and_are_not_the_answer() {
    let reply = ModelReply { text: "찾아볼게요".into(), ..asks(&[("find", "a")]).reply() };
    let told = Told::run(react(), [Say::Reply(reply), found("A")]);
    assert_eq!(told.phase(), PhaseName::Plan);
    let Message::Assistant { text, calls, .. } = &told.conversation()[0] else {
        panic!("a reply comes first")
    };
    assert_eq!((text.as_str(), calls.len()), ("찾아볼게요", 1));
}

#[test]
fn bad_call_among_several_is_answered_with_its_error_and_the_loop_goes_on() {
    let book = json!({"day": "월", "people": "둘"});
    let said = [("find", json!({"input": "a"})), ("rm -rf", json!({"dir": "/"})), ("book", book.clone())];
    let mut told = Told::run(react(), [calls(&said), found("A")]);
    assert_eq!((told.waits(), told.spent().tool_calls), (vec!["plan.2.1".to_owned()], 1), "no repair");
    let shown = results(&told.conversation());
    assert_eq!(shown[0], ["call_1", "completed", "A"]);
    let error = |nth: usize, text: &str| {
        let [_, status, output] = &shown[nth];
        assert_eq!(status, "failed");
        assert!(output.starts_with(&format!("ERROR: call: $.tool_calls[{nth}].{text}")), "{output}");
    };
    error(1, "name: expected one of ");
    error(2, "arguments.people: expected integer, found \"둘\"");
    let Message::Assistant { calls: asked, .. } = &told.conversation()[0] else {
        panic!("a reply comes first")
    };
    let asked: Vec<_> = asked.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
    assert_eq!(
        asked[1..],
        [("rm_-rf", json!({"dir": "/"})), ("book", book)],
        "as it was said, as servers take it"
    );
    assert_eq!(told.line("PLAN")["ignored"].as_array().map(Vec::len), Some(2));
    told.state = told.folded();
    told.ends([text("답")], "답");
}

#[test]
fn calls_of_tools_that_there_are_not_run_nothing() {
    let unknown = calls(&[("rm", json!({"dir": "/"})), ("find", json!("{"))]);
    let wrong = calls(&[("book", json!({"day": "월", "people": "둘"}))]);
    let error = "PLAN_ERROR: contract: $.tool_calls[0].arguments";
    assert_eq!(Told::fails(react(), [unknown, wrong], error).spent().tool_calls, 0);
}

#[test]
fn bad_call_fails_the_whole_reply_where_the_calls_are_one_plan_or_looked_at_as_one() {
    let reply = || asks(&[("find", "a"), ("rm", "b")]);
    let abort = "write = 'planner'\non_step_failure = 'abort'";
    let approved = "write = 'planner'\napproval = 'plan'";
    for spec in [react_with("write = 'planner'", abort), react_with("write = 'planner'", approved)] {
        assert_eq!(Told::run(spec, [reply()]).waits(), ["plan.1.2"]);
    }
    let whole = spec("planner = 'tool_calls'\nplan = { min_steps = 0, max_steps = 8 }");
    assert_eq!(Told::run(whole, [reply()]).waits(), ["plan.1.2"]);
}

#[test]
fn bad_calls_are_bounded_by_the_rounds_and_the_steps() {
    let rounds = (0..4).flat_map(|_| [asks(&[("rm", "x"), ("calc", "1")]), found("1")]);
    let error = "MAX_ITERATIONS_EXCEEDED: the planner was asked 4 times and gave no answer";
    assert_eq!(Told::fails(react(), rounds, error).spent().model_calls, 4);
    let many: Vec<(&str, &str)> = std::iter::once(("rm", "x")).chain([("calc", "1"); 8]).collect();
    assert_eq!(Told::run(react(), [asks(&many)]).waits(), ["plan.1.2"]);
}

#[test]
fn thought_and_action_over_the_largest_reply_are_a_bad_reply() {
    let limited = REACT.replace("'tool_calls'", "'react_text'") + "\nmax_reply_bytes = 60";
    for (thought, waits) in [("x", "step.1.1.1"), (&*"가".repeat(20), "plan.1.2")] {
        let reply = format!("Thought: {thought}\nAction: find\nAction Input: 서울");
        assert_eq!(Told::run(spec(&limited), [text(reply)]).waits(), [waits]);
    }
    let answer = format!("Final Answer: {}", "가".repeat(20));
    assert_eq!(Told::run(spec(&limited), [text(answer)]).waits(), ["plan.1.2"]);
}

#[test]
fn after_the_last_round_the_run_ends_as_the_policy_says() {
    let rounds = |count: usize| (0..count).flat_map(|_| [asks(&[("calc", "1")]), found("1")]);
    let error = "MAX_ITERATIONS_EXCEEDED: the planner was asked 4 times and gave no answer";
    assert_eq!(Told::fails(react(), rounds(4), error).spent().model_calls, 4);

    let mut told = Told::run(react_with("write = 'planner'", "on_exhausted = 'write'"), rounds(4));
    told.ends([text("있는 대로")], "있는 대로");
    assert_eq!(told.asked.last().map(String::as_str), Some("writer"));
    // The last round may still answer in words.
    Told::begin(react_with("max_iterations = 4", "max_iterations = 1")).ends([text("답")], "답");
}

#[test]
fn a_thought_and_an_action_as_text_are_a_step_and_what_was_observed_follows() {
    let thought = text("Thought: 찾아보자\nAction: find\nAction Input: \"서울\"\nObservation: 지어낸 것");
    let mut told = Told::run(react_with("'tool_calls'", "'react_text'"), [thought, found("수도")]);
    assert_eq!(told.results(), ["step_1: completed: 수도"]);
    let said = told.conversation();
    assert!(matches!(&said[0], Message::Assistant { calls, .. } if calls.is_empty()));
    let Message::User { content } = &said[1] else { panic!("{said:?}") };
    let observed = json!({"observation": {"status": "completed", "output": "수도"}});
    assert_eq!(serde_json::from_str::<Value>(content).expect("JSON"), observed);
    told.tell([text("Action: book\nAction Input: {\"day\": \"월\", \"people\": 2}")]);
    assert_eq!(told.input("step.2.2.1"), json!({"day": "월", "people": 2}));
    let last = [found("됨"), text("음…"), text("Thought: 이제 안다\nFinal Answer: 수도는\n서울")];
    told.ends(last, "수도는\n서울");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "PLAN", "EXECUTE", "REPAIR", "PLAN"]);
}

#[test]
fn a_plan_in_json_without_steps_ends_the_rounds() {
    let json = "horizon = 'next'\nplan = { min_steps = 0, max_steps = 4 }\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(spec(json), [plan("find a; calc 1"), found("A"), broken()]);
    assert_eq!(told.payload()["past_steps"].as_array().map(Vec::len), Some(2));
    assert!(told.conversation().is_empty(), "a plan in JSON is no conversation");
    assert_eq!(told.tell([plan("store < step_1")]).input("step.2.3.1"), json!("A"));
    told.ends([found("S"), plan(""), text("답")], "답");
    assert_eq!(told.asked, ["planner", "find", "calc", "planner", "store", "planner", "writer"]);
}

#[test]
fn an_evaluator_that_is_not_satisfied_sends_back_without_counting_a_replan() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nvalidate = 'verdict'\non_exhausted = 'write'\n\
        plan = { min_steps = 0 }\n[limits]\nmax_iterations = 2\nmax_replans = 0";
    let round = |input: &str| [asks(&[("calc", input)]), found(input), verdict(false, "모자람", "더")];
    let mut told = Told::run(spec(policy), round("1"));
    told.tell(round("2")).ends([text("있는 대로")], "있는 대로");
    assert_eq!(told.spent().replans, 0);
    assert!(!told.phases().contains(&"REPLAN_TRIGGER".to_owned()));
}
