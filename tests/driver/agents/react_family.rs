//! `react`, `conversational`, `self-ask`, `docstore`: one call for every round of tools and one for the
//! answer.

use std::sync::Arc;

use planwright::agents;
use planwright::driver::{Agent, Run, Thread};
use planwright::machine::Event;
use planwright::ports::ScriptedModel;
use planwright_docs::Calc;
use serde_json::{Value, json};

use crate::agents::{CANCELLED, Done, Error, fixture, payloads, replays, requests};

#[test]
fn react_answers_after_one_round_with_two_calls() {
    replays("react", "one_round", 2, 1, Done("There are 31,622,400 seconds"));
}

#[test]
fn react_answers_after_two_rounds_with_three_calls() {
    replays("react", "two_rounds", 3, 3, Done("백두산(2,744 m)이 한라산(1,947 m)보다 797 m"));
}

#[test]
fn react_goes_round_a_tool_that_fails() {
    replays("react", "failing_tool", 3, 2, Done("위키백과에 따르면 최신 안정 버전은 3.14입니다."));
    let (_, said) = &requests("react", "failing_tool", "planner")[1];
    let result: Value = serde_json::from_str(said[1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(result, json!({"status": "failed", "output": "ERROR: timeout: no answer within 30000 ms"}));
}

#[test]
fn react_needs_no_tool_and_takes_one_call() {
    replays("react", "no_tool", 1, 0, Done("Bonjour!"));
}

#[test]
fn react_ends_after_eight_rounds_without_an_answer() {
    let said = "MAX_ITERATIONS_EXCEEDED: the planner was asked 8 times and gave no answer";
    replays("react", "iterations_used_up", 8, 8, Error(said));
}

#[test]
fn react_is_told_that_a_tool_does_not_exist_and_calls_another() {
    replays("react", "unknown_tool", 3, 1, Done("15% of 240 is 36."));
    let said = "$.tool_calls[0].name: expected one of wiki, search, lookup, calc, docs, found \"browser\"";
    assert_eq!(repair("react", "unknown_tool"), said);
}

#[test]
fn react_does_not_ask_again_after_a_refusal() {
    replays("react", "refused", 1, 0, Error("PLAN_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."));
}

#[test]
fn react_that_is_stopped_takes_up_what_is_at_work_and_calls_nothing_more() {
    replays("react", "cancelled", 1, 4, Error(CANCELLED));
}

const TALK: &str = "conversational";

#[test]
fn conversational_remembers_what_it_is_told_with_one_call() {
    replays(TALK, "told", 1, 0, Done("네, 1994년에 태어나셨다고"));
}

#[test]
fn conversational_knows_the_year_of_birth_on_the_same_thread() {
    replays(TALK, "age", 2, 1, Done("2026 − 1994 = 32"));
    replays(TALK, "zodiac", 1, 0, Done("올해 2026년은 병오년(丙午年), 말의 해입니다. 1994년은 갑술년이므로"));
    let asked = &payloads(TALK, "zodiac", "planner")[0]["history"];
    let said: Vec<_> = asked.as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
    assert_eq!(said, ["user", "assistant", "user", "assistant"]);
    assert!(asked[0]["content"].as_str().unwrap().contains("1994"));
}

#[test]
fn conversational_does_not_know_it_on_another_thread() {
    replays(TALK, "age_elsewhere", 1, 0, Done("태어난 해를 알려 주시면"));
    replays(TALK, "zodiac_elsewhere", 1, 0, Done("올해 2026년은 병오년(丙午年), 말의 해입니다. 띠를"));
    for story in ["age_elsewhere", "zodiac_elsewhere"] {
        let asked = payloads(TALK, story, "planner")[0].to_string();
        assert!(!asked.contains("1994"), "{asked}");
    }
}

/// The agent, with the real `calc` and what the model says in these stories.
fn talking(stories: &[&str]) -> (Agent, Arc<ScriptedModel>) {
    let exchanges = stories.iter().flat_map(|story| fixture(TALK, story).exchanges);
    let replies = exchanges.filter_map(|exchange| match exchange.event() {
        Event::ModelReplied { reply, .. } => Some(reply),
        _ => None,
    });
    let script = Arc::new(ScriptedModel::says(replies));
    let spec = agents::shipped(TALK).unwrap().with_tools(|tool| tool.name == "calc");
    (Agent::builder(spec).model(script.clone()).tool(Calc::new()).build().unwrap(), script)
}

fn answered(run: &Run, story: &str) {
    assert_eq!(run.outcome(), fixture(TALK, story).outcome);
}

#[test]
fn conversational_thread_carries_what_was_said_from_question_to_question() {
    let (agent, script) = talking(&["told", "age", "zodiac"]);
    let mut thread = Thread::new(&agent);
    for story in ["told", "age", "zodiac"] {
        answered(&thread.ask(fixture(TALK, story).input.question).unwrap(), story);
    }
    assert_eq!((thread.history().len(), script.asked()), (3, 4));
    let last: Value = serde_json::from_str(&script.seen()[3].payload).unwrap();
    assert_eq!(last["history"], payloads(TALK, "zodiac", "planner")[0]["history"]);
}

#[test]
fn conversational_threads_know_nothing_of_one_another() {
    let stories = ["told", "age_elsewhere", "zodiac_elsewhere"];
    let (agent, script) = talking(&stories);
    for story in stories {
        answered(&Thread::new(&agent).ask(fixture(TALK, story).input.question).unwrap(), story);
    }
    for request in &script.seen()[1..] {
        assert!(
            !request.payload.contains("history") && !request.payload.contains("1994"),
            "{}",
            request.payload
        );
    }
}

#[test]
fn conversational_takes_from_earlier_turns_what_a_tool_is_called_with() {
    replays(TALK, "tool_asked_for", 2, 1, Done("287.50 euros each."));
}

const SELF_ASK: &str = "self-ask";

#[test]
fn self_ask_searches_for_each_of_two_follow_ups() {
    replays(SELF_ASK, "two_follow_ups", 3, 2, Done("Follow-up 1: AI 에이전트란 무엇인가?"));
    replays(SELF_ASK, "side_by_side", 2, 2, Done("Follow-up 1: How many people live in Korea?"));
}

#[test]
fn self_ask_sends_back_a_follow_up_that_was_not_searched_for() {
    replays(SELF_ASK, "unsearched", 4, 2, Done("Follow-up 1: AI 에이전트란 무엇인가?"));
    assert!(repair(SELF_ASK, "unsearched").contains("\"search\" must be called 2 times before the answer"));
}

#[test]
fn self_ask_that_never_searches_ends_without_an_answer() {
    let said = "PLAN_ERROR: contract: $: \"search\" must be called once before the answer; so far it was called 0 times";
    replays(SELF_ASK, "never_searched", 2, 0, Error(said));
}

const DOCSTORE: &str = "docstore";

#[test]
fn docstore_reads_an_article_before_it_answers() {
    replays(DOCSTORE, "read_and_answered", 3, 2, Done("맘밀라리아는 선인장과에서"));
}

#[test]
fn docstore_that_answers_too_early_is_told_which_call_is_missing() {
    replays(DOCSTORE, "answered_too_early", 4, 2, Done("Mammillaria is one of the largest genera of cacti"));
    assert!(repair(DOCSTORE, "answered_too_early").contains("\"lookup\" must be called"));
}

#[test]
fn docstore_that_never_reads_an_article_ends_without_an_answer() {
    let said = "PLAN_ERROR: contract: $: \"lookup\" must be called once before the answer; so far it was called 0 times";
    replays(DOCSTORE, "never_read", 3, 1, Error(said));
}

/// What the planner was told was wrong with its reply.
fn repair(agent: &str, story: &str) -> String {
    let notes = requests(agent, story, "planner").into_iter().filter_map(|(_, said)| {
        let last = said.as_array()?.last()?["content"].as_str()?.to_owned();
        let note: Value = serde_json::from_str(&last).ok()?;
        Some(note["repair"]["error"].as_str()?.to_owned())
    });
    let notes: Vec<String> = notes.collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    notes.concat()
}
