//! `plan-then-execute`, `validated` and `intent-first`: one plan, carried out whole before the answer.

use std::sync::Arc;

use planwright::contract::Trust;
use planwright::driver::Run;
use planwright::journal::Outcome;
use planwright::ports::ScriptedModel;
use planwright::spec::{OnExhausted, RoleName};

use crate::agents::{CANCELLED, Done, Error, PTE, replays};
use crate::stage::{Calls, echoing, plan, rejected, spec};

#[test]
fn recorded_runs_of_plan_then_execute_end_as_they_should_with_their_calls() {
    replays(PTE, "answered", 2, 1, Done("345 × 872 = 300,840"));
    replays(PTE, "notebook", 2, 3, Done("The Plan-Then-Execute pattern and the ReAct pattern are"));
    let said =
        "PLAN_ERROR: contract: $.steps[0].tool: expected \"final_answer\" as the last step, found \"wiki\"";
    replays(PTE, "malformed_plan", 1, 0, Error(said));
    replays(PTE, "failing_tool", 2, 2, Done("- 유한 상태 기계는"));
    replays(PTE, "failing_writer", 2, 1, Error("WRITE_ERROR: contract: $: missing field `final`"));
    replays(PTE, "cut_answer", 2, 1, Error("WRITE_ERROR: length: the reply was cut at the token limit"));
    replays(PTE, "cancelled", 1, 1, Error(CANCELLED));
}

const VALIDATED: &str = "validated";

#[test]
fn recorded_runs_of_validated_end_as_they_should_with_their_calls() {
    replays(VALIDATED, "accepted_at_once", 3, 1, Done("1. 자판기"));
    replays(VALIDATED, "notebook", 5, 3, Done("1) **정의**: Plan-Then-Execute 모델은"));
    replays(VALIDATED, "replanned_without_a_hint", 5, 2, Done("1. 자판기"));
    replays(VALIDATED, "replanned_twice", 7, 4, Done("물체를 옮기는 로봇"));
    replays(VALIDATED, "replans_used_up", 7, 4, Done("찾은 글은 물체를 집어 옮기는 로봇만"));
    replays(VALIDATED, "malformed_plan", 4, 1, Done("1. 자판기"));
    let said = "PLAN_ERROR: contract: $: expected a whole JSON object, found one that is cut off: \
                \"{\\\"goal\\\": \\\"일상 속 예를 찾는다.\\\", \\\"steps\\\": [{\\\"tool\\\": \\\"wiki\\\", \
                \\\"input\\\":…\"";
    replays(VALIDATED, "malformed_plan_twice", 2, 0, Error(said));
    replays(VALIDATED, "fenced_plan", 3, 1, Done("1. 자판기"));
    replays(VALIDATED, "malformed_verdict", 4, 1, Done("1. 자판기"));
    replays(VALIDATED, "failing_tool", 3, 2, Done("1. 자판기"));
    let said = "WRITE_ERROR: contract: $: expected an answer, found nothing";
    replays(VALIDATED, "failing_writer", 4, 1, Error(said));
    let said = "WRITE_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다.";
    replays(VALIDATED, "refusing_writer", 3, 1, Error(said));
    replays(VALIDATED, "cancelled", 1, 1, Error(CANCELLED));
    replays(VALIDATED, "in_english", 5, 2, Done("A token bucket lets a request through"));
    let said = "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"Yes, the results are \
                enough.\"";
    replays(VALIDATED, "broken_verdict", 3, 1, Error(said));
}

/// Runs `validated` with a validator that never accepts. Returns the calls and how it ended.
fn never_accepted(max_replans: u32, on_exhausted: OnExhausted, trust: Trust) -> (u32, usize, Run) {
    let mut spec = spec(VALIDATED);
    spec.tools.iter_mut().for_each(|tool| tool.trust = trust);
    spec.limits.max_replans = max_replans;
    spec.policy.on_exhausted = on_exhausted;
    let mut script = ScriptedModel::new().reply_as(RoleName::Writer, "with what there is");
    for _ in 0..=max_replans {
        script = script.reply(plan(&[("find", "x")])).reply(rejected("자료가 없습니다", "다시"));
    }
    let (script, calls) = (Arc::new(script), Calls::default());
    let run = echoing(spec, &script, &calls).build().unwrap().run("q").unwrap();
    assert_eq!(script.asked(), run.counters().model_calls as usize);
    (run.counters().model_calls, calls.count(), run)
}

#[test]
fn n_replans_allow_n_and_one_plans_and_the_next_rejection_ends_the_run() {
    for replans in 0..=3 {
        let (asked, called, run) = never_accepted(replans, OnExhausted::Fail, Trust::Trusted);
        assert_eq!((asked, called), (2 * (replans + 1), replans as usize + 1));
        assert_eq!(run.error().unwrap().to_string(), "VALIDATION_FAILED_MAX_REPLANS: 자료가 없습니다");
    }
}

#[test]
fn no_of_a_validator_that_read_untrusted_text_stands_beside_the_answer_and_takes_none_away() {
    for replans in 0..=3 {
        let (asked, called, run) = never_accepted(replans, OnExhausted::Fail, Trust::Untrusted);
        assert_eq!((asked, called), (2 * (replans + 1) + 1, replans as usize + 1));
        assert_eq!(
            (run.answer(), run.state().objection()),
            (Some("with what there is"), Some("자료가 없습니다"))
        );
    }
}

#[test]
fn policy_may_say_to_write_with_what_there_is_when_replans_are_used_up() {
    let (asked, called, run) = never_accepted(2, OnExhausted::Write, Trust::Trusted);
    assert_eq!((asked, called), (7, 3));
    assert_eq!(run.outcome(), Outcome::Answer("with what there is".to_owned()));
}

const INTENT_FIRST: &str = "intent-first";

#[test]
fn recorded_runs_of_intent_first_end_as_they_should_with_their_calls() {
    replays(INTENT_FIRST, "weather", 3, 1, Done("지금 서울은 맑고 15°C입니다."));
    replays(INTENT_FIRST, "thanks", 2, 0, Done("별말씀을요!"));
    replays(INTENT_FIRST, "chained", 3, 2, Done("LangGraph는 상태를 가진 에이전트를"));
    replays(INTENT_FIRST, "three_tools", 3, 3, Done("A marathon is a foot race over 42.195 km."));
    let said = "PLAN_ERROR: contract: $: expected a whole JSON object, found one that is cut off: \
                \"{\\\"steps\\\": [{\\\"id\\\": \\\"step_1\\\", \\\"tool\\\": \\\"search\\\", \\\"input\\\": \
                \\\"3년 매…\"";
    replays(INTENT_FIRST, "broken_plan", 2, 0, Error(said));
    let said = "PLAN_ERROR: contract: $: expected a JSON object, found text that begins \"의도: 새 질문입니다. \
                날씨 도구가 필요합니다.\"";
    replays(INTENT_FIRST, "broken_intent", 1, 0, Error(said));
    let said = "PLAN_ERROR: contract: $.steps[1].tool: expected one of search, wiki, lookup, docs, calc, found \
                \"get_weather\"";
    replays(INTENT_FIRST, "forbidden_tool", 2, 0, Error(said));
    let said = "PLAN_ERROR: contract: $.steps[1].input_from: no step has the id \"step_9\"";
    replays(INTENT_FIRST, "input_from_nowhere", 2, 0, Error(said));
    let said = "STEP_FAILED_MAX_REPLANS: step_3 (docs) failed: ERROR: not_found: no document has these words";
    replays(INTENT_FIRST, "replans_used_up", 4, 3, Error(said));
    let said = "WRITE_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다.";
    replays(INTENT_FIRST, "refusing_writer", 3, 1, Error(said));
    replays(INTENT_FIRST, "cancelled", 2, 1, Error(CANCELLED));
    replays(INTENT_FIRST, "article_body", 2, 0, Done("뉴스 기사로 보입니다."));
    replays(INTENT_FIRST, "follow_up", 3, 1, Done("네, 영등포의 C국수도 있습니다."));
    replays(INTENT_FIRST, "rate_limited", 4, 4, Done("저장된 예보에 따르면"));
    replays(INTENT_FIRST, "empty_plan", 3, 0, Done("회의의 목적과 끝나는 시각을 먼저 말하고"));
}
