//! `plan-then-execute`: two calls, and nothing is asked again.

use crate::agents::{CANCELLED, Done, Error, PTE, replays};
use crate::stage::{Calls, answer, echoing, model, plan, spec};

#[test]
fn answers_with_two_calls() {
    replays(PTE, "answered", 2, 1, Done("345 × 872 = 300,840"));
}

#[test]
fn repeats_the_notebook() {
    replays(PTE, "notebook", 2, 3, Done("The Plan-Then-Execute pattern and the ReAct pattern are"));
}

#[test]
fn runs_nothing_of_a_malformed_plan() {
    let said =
        "PLAN_ERROR: contract: $.steps[0].tool: expected \"final_answer\" as the last step, found \"wiki\"";
    replays(PTE, "malformed_plan", 1, 0, Error(said));
}

#[test]
fn hands_a_failed_result_to_the_writer() {
    replays(PTE, "failing_tool", 2, 2, Done("- 유한 상태 기계는"));
}

#[test]
fn ends_where_the_answer_has_another_form() {
    replays(PTE, "failing_writer", 2, 1, Error("WRITE_ERROR: contract: $: missing field `final`"));
}

#[test]
fn ends_where_the_answer_is_cut() {
    replays(PTE, "cut_answer", 2, 1, Error("WRITE_ERROR: length: the reply was cut at the token limit"));
}

#[test]
fn plan_of_a_last_step_alone_is_answered_without_a_tool() {
    let (script, calls) = (model([plan(&[]), answer("안녕하세요")]), Calls::default());
    let run = echoing(spec(PTE), &script, &calls).build().unwrap().run("안녕?").unwrap();
    assert_eq!((run.answer(), calls.count(), script.asked()), (Some("안녕하세요"), 0, 2));
}

#[test]
fn ends_where_a_person_stops_it() {
    replays(PTE, "cancelled", 1, 1, Error(CANCELLED));
}
