//! `react`, `conversational`, `self-ask`, `docstore` and `evaluate-loop`: rounds of tool calls.

use std::sync::Arc;

use planwright::agents;
use planwright::driver::{Agent, Threads, history};
use planwright::journal::MemoryStore;
use planwright::machine::Event;
use planwright::ports::ScriptedModel;
use planwright_docs::Calc;
use serde_json::Value;

use crate::agents::{CANCELLED, Done, Error, fixture, payloads, replays};

#[test]
fn recorded_runs_of_the_react_family_end_as_they_should_with_their_calls() {
    replays("react", "one_round", 2, 1, Done("There are 31,622,400 seconds"));
    replays("react", "two_rounds", 3, 3, Done("백두산(2,744 m)이 한라산(1,947 m)보다 797 m"));
    replays("react", "no_tool", 1, 0, Done("Bonjour!"));
    let said = "MAX_ITERATIONS_EXCEEDED: the planner was asked 8 times and gave no answer";
    replays("react", "iterations_used_up", 8, 8, Error(said));
    replays("react", "refused", 1, 0, Error("PLAN_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."));
    replays("react", "cancelled", 1, 4, Error(CANCELLED));
    replays(TALK, "told", 1, 0, Done("네, 1994년에 태어나셨다고"));
    replays(TALK, "tool_asked_for", 2, 1, Done("287.50 euros each."));
    replays(SELF_ASK, "two_follow_ups", 3, 2, Done("Follow-up 1: AI 에이전트란 무엇인가?"));
    replays(SELF_ASK, "side_by_side", 2, 2, Done("Follow-up 1: How many people live in Korea?"));
    let said = "PLAN_ERROR: contract: $: \"search\" must be called once before the answer; so far it was called 0 times";
    replays(SELF_ASK, "never_searched", 2, 0, Error(said));
    replays(DOCSTORE, "read_and_answered", 3, 2, Done("맘밀라리아는 선인장과에서"));
    let said = "PLAN_ERROR: contract: $: \"lookup\" must be called once before the answer; so far it was called 0 times";
    replays(DOCSTORE, "never_read", 3, 1, Error(said));
    replays("react", "failing_tool", 3, 2, Done("위키백과에 따르면 최신 안정 버전은 3.14입니다."));
    replays("react", "unknown_tool", 3, 1, Done("15% of 240 is 36."));
    replays(TALK, "age", 2, 1, Done("2026 − 1994 = 32"));
    replays(TALK, "zodiac", 1, 0, Done("올해 2026년은 병오년(丙午年), 말의 해입니다. 1994년은 갑술년이므로"));
    replays(TALK, "age_elsewhere", 1, 0, Done("태어난 해를 알려 주시면"));
    replays(TALK, "zodiac_elsewhere", 1, 0, Done("올해 2026년은 병오년(丙午年), 말의 해입니다. 띠를"));
    replays(SELF_ASK, "unsearched", 4, 2, Done("Follow-up 1: AI 에이전트란 무엇인가?"));
    replays(DOCSTORE, "answered_too_early", 4, 2, Done("Mammillaria is one of the largest genera of cacti"));
}

const TALK: &str = "conversational";

#[test]
fn conversational_thread_carries_what_was_said_from_question_to_question() {
    let stories = ["told", "age", "zodiac"];
    let exchanges = stories.iter().flat_map(|story| fixture(TALK, story).exchanges);
    let replies = exchanges.filter_map(|exchange| match exchange.event() {
        Event::ModelReplied { reply, .. } => Some(reply),
        _ => None,
    });
    let script = Arc::new(ScriptedModel::says(replies));
    let spec = agents::shipped(TALK).unwrap().with_tools(|tool| tool.name == "calc");
    let agent = Agent::builder(spec).model(script.clone()).tool(Calc::new()).build().unwrap();
    let (threads, thread) = (Threads::new(Arc::new(MemoryStore::new())), "대화".parse().unwrap());
    for story in stories {
        let told = fixture(TALK, story);
        let run = threads.at(&thread).ask(&agent, told.input.question).unwrap();
        assert_eq!(run.outcome(), told.outcome);
    }
    assert_eq!((history(threads.store(), &thread).unwrap().len(), script.asked()), (3, 4));
    let last: Value = serde_json::from_str(&script.seen()[3].payload).unwrap();
    assert_eq!(last["history"], payloads(TALK, "zodiac", "planner")[0]["history"]);
}

const SELF_ASK: &str = "self-ask";

const DOCSTORE: &str = "docstore";

const EVALUATE_LOOP: &str = "evaluate-loop";

#[test]
fn recorded_runs_of_evaluate_loop_end_as_they_should_with_their_calls() {
    replays(EVALUATE_LOOP, "out_of_scope", 1, 0, Done("죄송하지만 저는 계약에 관한 질문만"));
    replays(EVALUATE_LOOP, "no_tools_wanted", 3, 0, Done("보통 «갑»은 일을 맡기는 쪽"));
    replays(EVALUATE_LOOP, "article_five", 4, 1, Done("제5조(비밀유지)는 두 가지를 정합니다"));
    replays(EVALUATE_LOOP, "two_rounds", 6, 3, Done("Yes. Under the user's contract"));
    replays(EVALUATE_LOOP, "nothing_more", 5, 1, Done("검수가 끝난 후 지급한다고만"));
    replays(EVALUATE_LOOP, "mended", 7, 1, Done("It runs for two years"));
    let said = "PLAN_ERROR: contract: $.tool_calls[0].name: expected one of hybrid_search, get_article_by_index, \
                get_article_by_title, lookup_standard_contract, found \"find_article\"";
    replays(EVALUATE_LOOP, "no_call", 3, 0, Error(said));
    let said =
        "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"네, 충분합니다.\"";
    replays(EVALUATE_LOOP, "broken_verdict", 4, 1, Error(said));
    replays(EVALUATE_LOOP, "refusing_writer", 4, 1, Error("WRITE_ERROR: refusal: I cannot help with that."));
    replays(EVALUATE_LOOP, "cancelled", 2, 4, Error(CANCELLED));
    replays(EVALUATE_LOOP, "four_rounds", 10, 4, Done("사용자 계약서에는 지체상금의 요율이 없습니다."));
    replays(EVALUATE_LOOP, "with_history", 5, 1, Done("네. 1년의 기간이 끝나기 30일 전까지"));
    replays(EVALUATE_LOOP, "history_not_needed", 5, 1, Done("제5조(비밀유지)는 두 가지를 정합니다"));
    replays(EVALUATE_LOOP, "all_skipped", 6, 1, Done("해지할 수 있는 경우는 두 가지입니다."));
}

#[test]
fn writer_is_told_where_each_passage_is_from() {
    let sources = &payloads(EVALUATE_LOOP, "two_rounds", "writer")[0]["sources"];
    let documents: Vec<_> = sources.as_array().unwrap().iter().map(|source| &source["document"]).collect();
    assert_eq!(documents, ["service.md", "service.md", "standard.md"]);
}
