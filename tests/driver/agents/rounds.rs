//! `react`, `conversational`, `self-ask`, `docstore` and `evaluate-loop`: rounds of tool calls.

use std::sync::Arc;

use planwright::agents;
use planwright::driver::{Agent, Thread};
use planwright::machine::Event;
use planwright::ports::ScriptedModel;
use planwright_docs::Calc;
use serde_json::{Value, json};

use crate::agents::{CANCELLED, Done, Error, fixture, payloads, replays, requests};

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
}

#[test]
fn react_goes_round_a_tool_that_fails() {
    replays("react", "failing_tool", 3, 2, Done("위키백과에 따르면 최신 안정 버전은 3.14입니다."));
    let (_, said) = &requests("react", "failing_tool", "planner")[1];
    let result: Value = serde_json::from_str(said[1]["content"].as_str().unwrap()).unwrap();
    assert_eq!(result, json!({"status": "failed", "output": "ERROR: timeout: no answer within 30000 ms"}));
}

#[test]
fn react_is_told_that_a_tool_does_not_exist_and_calls_another() {
    replays("react", "unknown_tool", 3, 1, Done("15% of 240 is 36."));
    let said = "$.tool_calls[0].name: expected one of wiki, search, lookup, calc, docs, found \"browser\"";
    assert_eq!(repair("react", "unknown_tool"), said);
}

const TALK: &str = "conversational";

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
    let mut thread = Thread::new(&agent);
    for story in stories {
        let told = fixture(TALK, story);
        assert_eq!(thread.ask(told.input.question).unwrap().outcome(), told.outcome);
    }
    assert_eq!((thread.history().len(), script.asked()), (3, 4));
    let last: Value = serde_json::from_str(&script.seen()[3].payload).unwrap();
    assert_eq!(last["history"], payloads(TALK, "zodiac", "planner")[0]["history"]);
}

const SELF_ASK: &str = "self-ask";

#[test]
fn self_ask_sends_back_a_follow_up_that_was_not_searched_for() {
    replays(SELF_ASK, "unsearched", 4, 2, Done("Follow-up 1: AI 에이전트란 무엇인가?"));
    assert!(repair(SELF_ASK, "unsearched").contains("\"search\" must be called 2 times before the answer"));
}

const DOCSTORE: &str = "docstore";

#[test]
fn docstore_that_answers_too_early_is_told_which_call_is_missing() {
    replays(DOCSTORE, "answered_too_early", 4, 2, Done("Mammillaria is one of the largest genera of cacti"));
    assert!(repair(DOCSTORE, "answered_too_early").contains("\"lookup\" must be called"));
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
}

#[test]
fn four_rounds_take_ten_calls_and_the_answer_is_written_regardless() {
    replays(EVALUATE_LOOP, "four_rounds", 10, 4, Done("사용자 계약서에는 지체상금의 요율이 없습니다."));
    let judged = payloads(EVALUATE_LOOP, "four_rounds", "validator");
    let rounds: Vec<_> = judged.iter().map(|asked| (&asked["round"], &asked["rounds_left"])).collect();
    let wanted = [(json!(1), json!(3)), (json!(2), json!(2)), (json!(3), json!(1)), (json!(4), json!(0))];
    assert_eq!(rounds, wanted.iter().map(|(round, left)| (round, left)).collect::<Vec<_>>());
}

#[test]
fn earlier_turns_take_one_call_more_and_reach_the_writer_where_they_matter() {
    replays(EVALUATE_LOOP, "with_history", 5, 1, Done("네. 1년의 기간이 끝나기 30일 전까지"));
    let written = &payloads(EVALUATE_LOOP, "with_history", "writer")[0];
    assert_eq!(written["history"][1]["content"], "계약 기간은 1년입니다.");
}

#[test]
fn earlier_turns_that_do_not_matter_take_the_call_and_stay_away_from_the_writer() {
    replays(EVALUATE_LOOP, "history_not_needed", 5, 1, Done("제5조(비밀유지)는 두 가지를 정합니다"));
    assert_eq!(payloads(EVALUATE_LOOP, "history_not_needed", "writer")[0].get("history"), None);
}

#[test]
fn round_of_duplicates_is_skipped_whole_and_judged() {
    replays(EVALUATE_LOOP, "all_skipped", 6, 1, Done("해지할 수 있는 경우는 두 가지입니다."));
    let judged = payloads(EVALUATE_LOOP, "all_skipped", "validator");
    assert_eq!(judged[1]["tool_results"][1]["status"], "skipped");
}

#[test]
fn wording_suggests_a_call_in_the_first_round_only() {
    let asked = &payloads(EVALUATE_LOOP, "article_five", "planner")[0];
    assert_eq!(asked["suggested_calls"], json!([{"tool": "get_article_by_index", "input": "제5조"}]));
    assert_eq!(asked["outline"][4], "제5조 (비밀유지)");
    let later = payloads(EVALUATE_LOOP, "two_rounds", "planner");
    assert!(later.iter().all(|asked| asked.get("suggested_calls").is_none()));
}

#[test]
fn what_is_missing_goes_to_the_next_round_with_what_has_been_read() {
    let (_, said) = &requests(EVALUATE_LOOP, "two_rounds", "planner")[1];
    let said = said.as_array().unwrap();
    assert_eq!(said[0]["calls"].as_array().unwrap().len(), 2);
    let note: Value = serde_json::from_str(said.last().unwrap()["content"].as_str().unwrap()).unwrap();
    assert_eq!(note["missing_info"], "what the standard contract says on early termination");
    assert_eq!(note["explored"], json!(["Article 4 (Termination)", "Article 5 (Liability)"]));
    let unread = ["Article 1 (Services)", "Article 2 (Fees)", "Article 3 (Term)"];
    assert_eq!(note["unexplored"], json!(unread));
}

#[test]
fn writer_is_told_where_each_passage_is_from() {
    let sources = &payloads(EVALUATE_LOOP, "two_rounds", "writer")[0]["sources"];
    let documents: Vec<_> = sources.as_array().unwrap().iter().map(|source| &source["document"]).collect();
    assert_eq!(documents, ["service.md", "service.md", "standard.md"]);
}
