//! `orchestrated`: a decision before the first step and after every one, and one call for every team.

use serde_json::json;

use crate::agents::{CANCELLED, Done, Error, payloads, replays};

const AGENT: &str = "orchestrated";

#[test]
fn enough_after_the_search_takes_six_calls() {
    replays(AGENT, "enough_at_once", 6, 1, Done("네, 다만 한도가 있습니다."));
}

#[test]
fn too_few_results_are_added_to_with_eight_calls() {
    replays(AGENT, "searched_again", 8, 2, Done("강남구의 전용 84㎡는 대체로"));
    let decided = payloads(AGENT, "searched_again", "orchestrator");
    let results = |nth: usize, team: usize| &decided[nth]["situation_summary"][team]["results"];
    assert_eq!((results(1, 0), results(2, 0), results(2, 1)), (&json!(2), &json!(2), &json!(5)));
}

#[test]
fn analysis_reads_what_the_search_found_with_eight_calls() {
    replays(AGENT, "collaborating", 8, 1, Done("응하실 의무가 없습니다."));
    let asked = &payloads(AGENT, "collaborating", "analysis_team/planner")[0];
    let material = asked["material"].as_str().unwrap();
    assert!(material.contains("20분의 1을 넘지 못한다"), "{material}");
    assert_eq!(asked["user_question"], "찾은 조문으로 10% 인상 요구가 정당한지 따진다.");
}

#[test]
fn supporting_team_runs_first_where_it_has_found_nothing_yet() {
    replays(AGENT, "collaborating_first", 8, 1, Done("You can lose it to a mortgage"));
    let asked = &payloads(AGENT, "collaborating_first", "analysis_team/planner")[0];
    assert!(asked["material"].as_str().unwrap().contains("A registered lease ranks before later mortgages."));
}

#[test]
fn unclear_request_takes_two_calls() {
    replays(AGENT, "unclear", 2, 0, Done("무엇을 도와드릴까요?"));
}

#[test]
fn plan_without_steps_is_answered_with_three_calls() {
    replays(AGENT, "no_steps", 3, 0, Done("I can look things up"));
}

#[test]
fn nonsense_of_the_orchestrator_lets_the_plan_go_on() {
    replays(AGENT, "nonsense", 6, 1, Done("Tell your landlord at least two months"));
}

#[test]
fn failed_team_is_a_result_like_any_other() {
    replays(AGENT, "document", 8, 1, Done("갱신 요구서입니다."));
    let decided = &payloads(AGENT, "document", "orchestrator")[1];
    assert_eq!(decided["situation_summary"][0]["status"], "failed");
    assert_eq!(
        (&decided["completed_teams"], &decided["situation_summary"][0]["results"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn orchestrator_sees_what_is_done_what_remains_and_what_it_decided() {
    let decided = payloads(AGENT, "enough_at_once", "orchestrator");
    assert_eq!(decided[0]["completed_teams"], json!([]));
    assert_eq!(decided[0]["remaining_steps"].as_array().unwrap().len(), 3);
    assert_eq!(decided[0]["intent_confidence"], "92%");
    assert_eq!(decided[1]["completed_teams"], json!(["search_team"]));
    let remaining: Vec<_> =
        decided[1]["remaining_steps"].as_array().unwrap().iter().map(|step| &step["agent"]).collect();
    assert_eq!(remaining, ["analysis_team", "document_team"]);
    assert_eq!(decided[1]["decisions"][0]["action"], "continue");
}

#[test]
fn planner_and_writer_may_each_mend_one_reply_with_one_call_more() {
    replays(AGENT, "mended", 8, 1, Done("The landlord bears ordinary wear"));
}

#[test]
fn plan_in_words_ends_the_run_after_three_calls_and_no_team_is_sent_for() {
    let said = "PLAN_ERROR: contract: $: expected a JSON object, found text that begins \"먼저 검색팀이 찾고, 그다음 \
                분석팀이 따져 보면 됩니다.\"";
    replays(AGENT, "no_plan", 3, 0, Error(said));
}

#[test]
fn refusal_of_the_writer_ends_the_run_after_six_calls() {
    replays(AGENT, "refusing_writer", 6, 1, Error("WRITE_ERROR: refusal: I cannot help with that."));
}

#[test]
fn stopped_run_takes_up_what_a_teams_tool_finds_and_decides_nothing_more() {
    replays(AGENT, "cancelled", 4, 1, Error(CANCELLED));
}
