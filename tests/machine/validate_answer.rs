//! `validate_at = "answer"`: the written answer is judged, and a rejection of it counts as a replan.

use planwright::machine::PhaseName;
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{Say, Told, asks, found, plan, small_talk, spec, text, verdict};

fn judged(more: &str) -> Spec {
    spec(&format!("validate = 'verdict'\nvalidate_at = 'answer'\n{more}"))
}

fn round(answer: &str) -> [Say; 3] {
    [plan("calc 1"), found("1"), text(answer)]
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
    assert_eq!((told.said(), told.phase()), ("초안", PhaseName::Done));
}

#[test]
fn a_rejection_counts_as_a_replan_and_shows_the_answer_to_the_replanner() {
    let mut told = Told::run(judged("[roles.replanner]\nprompt = 'Plan anew.'"), round("초안"));
    told.tell([no("짧음", "더 길게")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    assert_eq!(told.said(), "", "what was rejected is no answer");
    let payload = told.payload();
    assert_eq!(payload["rejected_answer"], json!("초안"));
    assert_eq!((&payload["rejected_because"], &payload["fix_hint"]), (&json!("짧음"), &json!("더 길게")));
    assert_eq!(told.spent().replans, 1);
    told.tell(round("둘째")).ends([yes()], "둘째");
    assert_eq!(told.asked[4], "replanner");
    let phases = "PLAN EXECUTE WRITE VALIDATE REPLAN_TRIGGER PLAN EXECUTE WRITE VALIDATE";
    assert_eq!(told.phases().join(" "), phases);
}

/// Two answers, both rejected, where one replan is allowed.
fn rejected_twice(policy: &str) -> Told {
    let mut told = Told::run(judged(&format!("{policy}\n[limits]\nmax_replans = 1")), round("하나"));
    told.tell([no("a", "")]).tell(round("둘")).tell([no("b", "")]);
    told
}

#[test]
fn the_last_rejection_ends_the_run_without_an_answer_or_keeps_the_last_one() {
    let told = rejected_twice("");
    assert_eq!((told.said(), told.error().as_str()), ("", "VALIDATION_FAILED_MAX_REPLANS: b"));
    assert_eq!(told.spent().replans, 1);
    let told = rejected_twice("on_exhausted = 'write'");
    assert_eq!((told.said(), told.error().as_str()), ("둘", ""));
    assert_eq!(told.asked.iter().filter(|name| *name == "writer").count(), 2, "nobody writes again");
    assert_eq!(told.phase(), PhaseName::Done);
}

#[test]
fn other_answers_are_judged_too() {
    let last = Told::run(judged("write = 'last_result'"), [plan("calc 1"), found("42")]);
    assert_eq!(last.payload()["answer"], json!("42"));

    let words = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\nplan = { min_steps = 0 }\n\
        [limits]\nmax_iterations = 3";
    let mut told = Told::run(judged(words), [text("바로"), no("근거 없음", "찾아봐")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    told.ends([asks(&[("find", "a")]), found("A"), text("근거 있음"), yes()], "근거 있음");
    assert_eq!(told.phases(), ["PLAN", "VALIDATE", "PLAN", "EXECUTE", "PLAN", "VALIDATE"]);
}

#[test]
fn an_answer_without_a_plan_is_judged_and_may_lead_to_one() {
    let policy = "intake = ['intent']\n[roles.conversation]\nprompt = 'Talk.'";
    let mut told = Told::run(judged(policy), [small_talk(), text("안녕"), no("찾아야 함", "찾아")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    told.tell(round("찾았음")).ends([yes()], "찾았음");
    assert_eq!(told.spent().replans, 1);
}

#[test]
fn a_broken_verdict_is_repaired_and_then_ends_the_run_without_an_answer() {
    let answers = round("초안").into_iter().chain([text("?"), text("?")]);
    let told = Told::fails(judged(""), answers, "VALIDATE_ERROR: contract: $");
    assert_eq!((told.said(), told.spent().model_calls), ("", 4), "what nobody accepted is no answer");
}
