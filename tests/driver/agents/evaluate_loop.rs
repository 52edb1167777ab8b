//! `evaluate-loop`: two calls a round, and at most four rounds.

use serde_json::{Value, json};

use crate::agents::{CANCELLED, Done, Error, payloads, replays, requests};

const AGENT: &str = "evaluate-loop";

#[test]
fn question_out_of_scope_takes_one_call() {
    replays(AGENT, "out_of_scope", 1, 0, Done("죄송하지만 저는 계약에 관한 질문만"));
}

#[test]
fn question_that_needs_no_tool_takes_three_calls() {
    replays(AGENT, "no_tools_wanted", 3, 0, Done("보통 «갑»은 일을 맡기는 쪽"));
}

#[test]
fn one_round_takes_four_calls() {
    replays(AGENT, "article_five", 4, 1, Done("제5조(비밀유지)는 두 가지를 정합니다"));
}

#[test]
fn two_rounds_take_six_calls() {
    replays(AGENT, "two_rounds", 6, 3, Done("Yes. Under the user's contract"));
}

#[test]
fn four_rounds_take_ten_calls_and_the_answer_is_written_regardless() {
    replays(AGENT, "four_rounds", 10, 4, Done("사용자 계약서에는 지체상금의 요율이 없습니다."));
    let judged = payloads(AGENT, "four_rounds", "validator");
    let rounds: Vec<_> = judged.iter().map(|asked| (&asked["round"], &asked["rounds_left"])).collect();
    let wanted = [(json!(1), json!(3)), (json!(2), json!(2)), (json!(3), json!(1)), (json!(4), json!(0))];
    assert_eq!(rounds, wanted.iter().map(|(round, left)| (round, left)).collect::<Vec<_>>());
}

#[test]
fn earlier_turns_take_one_call_more_and_reach_the_writer_where_they_matter() {
    replays(AGENT, "with_history", 5, 1, Done("네. 1년의 기간이 끝나기 30일 전까지"));
    let written = &payloads(AGENT, "with_history", "writer")[0];
    assert_eq!(written["history"][1]["content"], "계약 기간은 1년입니다.");
}

#[test]
fn earlier_turns_that_do_not_matter_take_the_call_and_stay_away_from_the_writer() {
    replays(AGENT, "history_not_needed", 5, 1, Done("제5조(비밀유지)는 두 가지를 정합니다"));
    assert_eq!(payloads(AGENT, "history_not_needed", "writer")[0].get("history"), None);
}

#[test]
fn round_of_duplicates_is_skipped_whole_and_judged() {
    replays(AGENT, "all_skipped", 6, 1, Done("해지할 수 있는 경우는 두 가지입니다."));
    let judged = payloads(AGENT, "all_skipped", "validator");
    assert_eq!(judged[1]["tool_results"][1]["status"], "skipped");
}

#[test]
fn planner_that_knows_of_nothing_more_ends_the_rounds() {
    replays(AGENT, "nothing_more", 5, 1, Done("검수가 끝난 후 지급한다고만"));
}

#[test]
fn wording_suggests_a_call_in_the_first_round_only() {
    let asked = &payloads(AGENT, "article_five", "planner")[0];
    assert_eq!(asked["suggested_calls"], json!([{"tool": "get_article_by_index", "input": "제5조"}]));
    assert_eq!(asked["outline"][4], "제5조 (비밀유지)");
    let later = payloads(AGENT, "two_rounds", "planner");
    assert!(later.iter().all(|asked| asked.get("suggested_calls").is_none()));
}

#[test]
fn what_is_missing_goes_to_the_next_round_with_what_has_been_read() {
    let (_, said) = &requests(AGENT, "two_rounds", "planner")[1];
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
    let sources = &payloads(AGENT, "two_rounds", "writer")[0]["sources"];
    let documents: Vec<_> = sources.as_array().unwrap().iter().map(|source| &source["document"]).collect();
    assert_eq!(documents, ["service.md", "service.md", "standard.md"]);
}

#[test]
fn planner_evaluator_and_writer_may_each_mend_one_reply_with_one_call_more() {
    replays(AGENT, "mended", 7, 1, Done("It runs for two years"));
}

#[test]
fn call_of_a_tool_that_there_is_not_ends_the_run_where_it_is_not_mended() {
    let said = "PLAN_ERROR: contract: $.tool_calls[0].name: expected one of hybrid_search, get_article_by_index, \
                get_article_by_title, lookup_standard_contract, found \"find_article\"";
    replays(AGENT, "no_call", 3, 0, Error(said));
}

#[test]
fn evaluator_that_answers_in_words_twice_ends_the_run() {
    let said =
        "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"네, 충분합니다.\"";
    replays(AGENT, "broken_verdict", 4, 1, Error(said));
}

#[test]
fn refusal_of_the_writer_ends_the_run_after_four_calls() {
    replays(AGENT, "refusing_writer", 4, 1, Error("WRITE_ERROR: refusal: I cannot help with that."));
}

#[test]
fn stopped_round_takes_up_what_is_at_work_and_is_not_judged() {
    replays(AGENT, "cancelled", 2, 4, Error(CANCELLED));
}
