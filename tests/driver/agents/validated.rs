//! `validated`: three calls where the first plan will do, two more for every replan.

use std::sync::Arc;

use planwright::journal::Outcome;
use planwright::ports::ScriptedModel;
use planwright::spec::{OnExhausted, RoleName};

use crate::agents::{CANCELLED, Done, Error, replays};
use crate::stage::{Calls, echoing, plan, rejected, spec};

const VALIDATED: &str = "validated";

#[test]
fn answers_with_three_calls_where_the_first_plan_will_do() {
    replays(VALIDATED, "accepted_at_once", 3, 1, Done("1. 자판기"));
}

#[test]
fn repeats_the_notebook_with_five_calls() {
    replays(VALIDATED, "notebook", 5, 3, Done("1) **정의**: Plan-Then-Execute 모델은"));
}

#[test]
fn asks_the_planner_again_where_there_is_no_hint() {
    replays(VALIDATED, "replanned_without_a_hint", 5, 2, Done("1. 자판기"));
}

#[test]
fn replans_twice_with_seven_calls() {
    replays(VALIDATED, "replanned_twice", 7, 4, Done("물체를 옮기는 로봇"));
}

#[test]
fn gives_up_with_six_calls_when_the_replans_are_used_up() {
    let said = "VALIDATION_FAILED_MAX_REPLANS: 두 방식을 비교한 자료가 여전히 없습니다.";
    replays(VALIDATED, "replans_used_up", 6, 4, Error(said));
}

#[test]
fn has_a_malformed_plan_mended_with_one_call_more() {
    replays(VALIDATED, "malformed_plan", 4, 1, Done("1. 자판기"));
}

#[test]
fn ends_where_the_mended_plan_is_malformed_too() {
    let said = "PLAN_ERROR: contract: $: expected a whole JSON object, found one that is cut off: \
                \"{\\\"goal\\\": \\\"일상 속 예를 찾는다.\\\", \\\"steps\\\": [{\\\"tool\\\": \\\"wiki\\\", \
                \\\"input\\\":…\"";
    replays(VALIDATED, "malformed_plan_twice", 2, 0, Error(said));
}

#[test]
fn reads_a_plan_out_of_prose_and_fences() {
    replays(VALIDATED, "fenced_plan", 3, 1, Done("1. 자판기"));
}

#[test]
fn has_a_malformed_verdict_mended_with_one_call_more() {
    replays(VALIDATED, "malformed_verdict", 4, 1, Done("1. 자판기"));
}

#[test]
fn lets_the_validator_judge_a_failed_result() {
    replays(VALIDATED, "failing_tool", 3, 2, Done("1. 자판기"));
}

#[test]
fn ends_where_the_writer_says_nothing_twice() {
    replays(
        VALIDATED,
        "failing_writer",
        4,
        1,
        Error("WRITE_ERROR: contract: $: expected an answer, found nothing"),
    );
}

#[test]
fn does_not_ask_again_after_a_refusal() {
    replays(
        VALIDATED,
        "refusing_writer",
        3,
        1,
        Error("WRITE_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."),
    );
}

#[test]
fn ends_where_a_person_stops_it() {
    replays(VALIDATED, "cancelled", 1, 1, Error(CANCELLED));
}

#[test]
fn answers_in_english_after_a_replan_with_five_calls() {
    replays(VALIDATED, "in_english", 5, 2, Done("A token bucket lets a request through"));
}

/// Runs `validated` with a validator that never accepts. Returns the calls and how it ended.
fn never_accepted(max_replans: u32, on_exhausted: OnExhausted) -> (u32, usize, Outcome) {
    let mut spec = spec(VALIDATED);
    spec.limits.max_replans = max_replans;
    spec.policy.on_exhausted = on_exhausted;
    let mut script = ScriptedModel::new().reply_as(RoleName::Writer, "with what there is");
    for _ in 0..=max_replans {
        script = script.reply(plan(&[("find", "x")])).reply(rejected("자료가 없습니다", "다시"));
    }
    let (script, calls) = (Arc::new(script), Calls::default());
    let run = echoing(spec, &script, &calls).build().unwrap().run("q").unwrap();
    assert_eq!(script.asked(), run.counters().model_calls as usize);
    (run.counters().model_calls, calls.count(), run.outcome())
}

#[test]
fn n_replans_allow_n_and_one_plans_and_the_next_rejection_ends_the_run() {
    for replans in 0..=3 {
        let (asked, called, outcome) = never_accepted(replans, OnExhausted::Fail);
        assert_eq!((asked, called), (2 * (replans + 1), replans as usize + 1));
        let Outcome::Error(error) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.to_string(), "VALIDATION_FAILED_MAX_REPLANS: 자료가 없습니다");
    }
}

#[test]
fn policy_may_say_to_write_with_what_there_is_when_replans_are_used_up() {
    let (asked, called, outcome) = never_accepted(2, OnExhausted::Write);
    assert_eq!((asked, called), (7, 3));
    assert_eq!(outcome, Outcome::Answer("with what there is".to_owned()));
}

#[test]
fn ends_where_the_mended_verdict_is_malformed_too() {
    let said = "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"Yes, the results are \
                enough.\"";
    replays(VALIDATED, "broken_verdict", 3, 1, Error(said));
}
