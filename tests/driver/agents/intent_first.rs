//! `intent-first`: what is wanted is found out first, and anything that does not fit ends the run.

use serde_json::json;

use crate::agents::{CANCELLED, Done, Error, payloads, replays};

const AGENT: &str = "intent-first";

#[test]
fn one_tool_takes_three_calls() {
    replays(AGENT, "weather", 3, 1, Done("지금 서울은 맑고 15°C입니다."));
}

#[test]
fn thanks_take_two_calls_and_no_plan() {
    replays(AGENT, "thanks", 2, 0, Done("별말씀을요!"));
}

#[test]
fn body_of_text_takes_two_calls_and_reaches_the_conversation_word_for_word() {
    replays(AGENT, "article_body", 2, 0, Done("뉴스 기사로 보입니다."));
    let asked = payloads(AGENT, "article_body", "conversation");
    let question = asked[0]["user_question"].as_str().unwrap();
    assert!(question.starts_with("오늘 서울시는 미세먼지 저감 대책의 일환으로"), "{question}");
}

#[test]
fn follow_up_keeps_the_constraints_of_earlier_turns() {
    replays(AGENT, "follow_up", 3, 1, Done("네, 영등포의 C국수도 있습니다."));
    for role in ["planner", "writer"] {
        let asked = &payloads(AGENT, "follow_up", role)[0];
        assert_eq!(asked["rewritten_query"], "영등포 견과류 알레르기 안전한 다른 맛집 추천", "{role}");
        assert_eq!(asked["constraints"], "위치(영등포), 제약사항(견과류 알레르기)", "{role}");
        assert_eq!(asked["user_question"], "더 있어?", "{role}");
    }
    assert!(payloads(AGENT, "follow_up", "intent")[0]["history"].is_array());
}

#[test]
fn chained_steps_take_three_calls() {
    replays(AGENT, "chained", 3, 2, Done("LangGraph는 상태를 가진 에이전트를"));
}

#[test]
fn three_tools_take_three_calls_still() {
    replays(AGENT, "three_tools", 3, 3, Done("A marathon is a foot race over 42.195 km."));
}

#[test]
fn failed_step_takes_one_call_more_and_what_was_done_stays() {
    replays(AGENT, "rate_limited", 4, 4, Done("저장된 예보에 따르면"));
    let asked = &payloads(AGENT, "rate_limited", "replanner")[0];
    assert_eq!(asked["past_steps"][0]["status"], "completed");
    assert_eq!(asked["failed_steps"][0]["output"], "ERROR: rate_limit: API rate limit exceeded");
    assert_eq!(asked["failed_steps"].as_array().unwrap().len(), 1);
    let written = &payloads(AGENT, "rate_limited", "writer")[0]["tool_results"];
    let statuses: Vec<_> = written.as_array().unwrap().iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses, [&json!("completed"), &json!("failed"), &json!("completed"), &json!("completed")]);
}

#[test]
fn empty_plan_is_answered_in_conversation() {
    replays(AGENT, "empty_plan", 3, 0, Done("회의의 목적과 끝나는 시각을 먼저 말하고"));
    assert_eq!(payloads(AGENT, "empty_plan", "conversation").len(), 1);
}

#[test]
fn broken_plan_ends_the_run_after_two_calls() {
    let said = "PLAN_ERROR: contract: $: expected a whole JSON object, found one that is cut off: \
                \"{\\\"steps\\\": [{\\\"id\\\": \\\"step_1\\\", \\\"tool\\\": \\\"search\\\", \\\"input\\\": \
                \\\"3년 매…\"";
    replays(AGENT, "broken_plan", 2, 0, Error(said));
}

#[test]
fn broken_intent_ends_the_run_after_one_call() {
    let said = "PLAN_ERROR: contract: $: expected a JSON object, found text that begins \"의도: 새 질문입니다. \
                날씨 도구가 필요합니다.\"";
    replays(AGENT, "broken_intent", 1, 0, Error(said));
}

#[test]
fn tool_that_is_not_allowed_ends_the_run_before_any_tool() {
    let said = "PLAN_ERROR: contract: $.steps[1].tool: expected one of search, wiki, lookup, docs, calc, found \
                \"get_weather\"";
    replays(AGENT, "forbidden_tool", 2, 0, Error(said));
}

#[test]
fn reference_to_no_step_ends_the_run_before_any_tool() {
    replays(
        AGENT,
        "input_from_nowhere",
        2,
        0,
        Error("PLAN_ERROR: contract: $.steps[1].input_from: no step has the id \"step_9\""),
    );
}

#[test]
fn used_up_replans_end_the_run_after_four_model_and_three_tool_calls() {
    let said = "STEP_FAILED_MAX_REPLANS: step_3 (docs) failed: ERROR: not_found: no document has these words";
    replays(AGENT, "replans_used_up", 4, 3, Error(said));
}

#[test]
fn refusal_of_the_writer_ends_the_run_after_three_calls() {
    let said = "WRITE_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다.";
    replays(AGENT, "refusing_writer", 3, 1, Error(said));
}

#[test]
fn step_that_takes_the_output_of_another_does_not_begin_in_a_stopped_run() {
    replays(AGENT, "cancelled", 2, 1, Error(CANCELLED));
}
