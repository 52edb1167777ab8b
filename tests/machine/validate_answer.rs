//! `validate_at = "answer"`: the written answer is judged, and a rejection of it counts as a replan.

use crate::promise;

use planwright::machine::PhaseName;
use planwright::spec::Spec;
use promise::{Say, Told, asks, found, plan, spec, text, verdict};
use serde_json::json;

fn judged(more: &str) -> Spec {
    spec(&format!("validate = 'verdict'\nvalidate_at = 'answer'\n{more}"))
}

fn round(answer: &str) -> [Say; 3] {
    [plan(json!([{"tool": "calc", "input": "1"}])), found("1"), text(answer)]
}

fn yes() -> Say {
    verdict(true, "좋음", "")
}

fn no(reason: &str, hint: &str) -> Say {
    verdict(false, reason, hint)
}

#[test]
fn the_answer_is_judged_after_it_is_written() {
    let mut told = Told::run(judged(""), round("초안"));
    assert_eq!(told.waits(), ["validate.1.1"]);
    assert_eq!(told.payload()["answer"], json!("초안"));
    told.tell([yes()]);
    assert_eq!(told.asked, ["planner", "calc", "writer", "validator"]);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "WRITE", "VALIDATE"]);
    assert_eq!((told.said(), told.state.phase.name()), ("초안", PhaseName::Done));
    assert_eq!(told.state, told.folded());
}

#[test]
fn a_rejection_counts_as_a_replan_and_shows_the_answer_to_the_replanner() {
    let mut told = Told::run(
        judged("[roles.replanner]\nprompt = 'Plan anew.'"),
        round("초안").into_iter().chain([no("짧음", "더 길게")]),
    );
    assert_eq!(told.waits(), ["plan.2.1"]);
    assert_eq!(told.said(), "", "what was rejected is no answer");
    let payload = told.payload();
    assert_eq!(payload["rejected_answer"], json!("초안"));
    assert_eq!((&payload["rejected_because"], &payload["fix_hint"]), (&json!("짧음"), &json!("더 길게")));
    assert_eq!(told.state.task.counters.replans, 1);
    told.tell(round("둘째").into_iter().chain([yes()]));
    assert_eq!(told.asked[4], "replanner");
    assert_eq!(told.said(), "둘째");
    assert_eq!(
        told.phases(),
        ["PLAN", "EXECUTE", "WRITE", "VALIDATE", "REPLAN_TRIGGER", "PLAN", "EXECUTE", "WRITE", "VALIDATE"]
    );
}

#[test]
fn the_last_rejection_ends_the_run_without_an_answer() {
    let told = Told::run(
        judged("[limits]\nmax_replans = 1"),
        round("하나").into_iter().chain([no("a", "")]).chain(round("둘")).chain([no("b", "")]),
    );
    assert_eq!(told.error(), "VALIDATION_FAILED_MAX_REPLANS: b");
    assert_eq!(told.said(), "");
    assert_eq!(told.state.task.counters.replans, 1);
}

#[test]
fn on_exhausted_write_keeps_the_last_answer_as_it_is() {
    let told = Told::run(
        judged("on_exhausted = 'write'\n[limits]\nmax_replans = 1"),
        round("하나").into_iter().chain([no("a", "")]).chain(round("둘")).chain([no("b", "")]),
    );
    assert_eq!((told.said(), told.error().as_str()), ("둘", ""));
    assert_eq!(told.asked.iter().filter(|name| *name == "writer").count(), 2, "nobody writes again");
    assert_eq!(told.state.phase.name(), PhaseName::Done);
}

#[test]
fn other_answers_are_judged_too() {
    let last = Told::run(
        judged("write = 'last_result'"),
        [plan(json!([{"tool": "calc", "input": "1"}])), found("42")],
    );
    assert_eq!(last.payload()["answer"], json!("42"));

    let words = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\nplan = { min_steps = 0 }\n\
        [limits]\nmax_iterations = 3";
    let mut told = Told::run(judged(words), [text("바로"), no("근거 없음", "찾아봐")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    told.tell([asks(&[("find", "a")]), found("A"), text("근거 있음"), yes()]);
    assert_eq!(told.said(), "근거 있음");
    assert_eq!(told.phases(), ["PLAN", "VALIDATE", "PLAN", "EXECUTE", "PLAN", "VALIDATE"]);
}

#[test]
fn an_answer_without_a_plan_is_judged_and_may_lead_to_one() {
    let policy = "intake = ['intent']\n[roles.conversation]\nprompt = 'Talk.'";
    let small =
        || text(json!({"intent": "chitchat", "rewritten_query": "q", "needs_tool": false}).to_string());
    let mut told = Told::run(judged(policy), [small(), text("안녕"), no("찾아야 함", "찾아")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    told.tell(round("찾았음").into_iter().chain([yes()]));
    assert_eq!(told.said(), "찾았음");
    assert_eq!(told.state.task.counters.replans, 1);
}

#[test]
fn a_broken_verdict_is_repaired_and_then_ends_the_run() {
    let told = Told::run(judged(""), round("초안").into_iter().chain([text("?"), text("?")]));
    assert!(told.error().starts_with("VALIDATE_ERROR: contract: $"), "{}", told.error());
    assert_eq!(told.state.task.counters.model_calls, 4);
}

#[test]
fn a_run_that_ends_in_an_error_has_no_answer() {
    let told = Told::run(judged(""), round("초안").into_iter().chain([text("?"), text("?")]));
    assert_eq!(told.said(), "", "what nobody accepted is no answer");
}
