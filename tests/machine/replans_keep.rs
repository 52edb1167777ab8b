//! What a new plan keeps: under `on_replan = "keep"` finished steps stay as they are and the new plan
//! goes on after them; under `restart` they go to the audit trail.

use planwright::machine::admit;
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{BROKEN, Say, Told, broken, edit, found, id, plan, spec, text, verdict};

fn keeping(more: &str) -> Spec {
    spec(&format!("on_replan = 'keep'\non_step_failure = 'replan'\n{more}"))
}

fn three() -> Say {
    plan("find a; find b; find c")
}

/// A run whose first step was done and whose second failed, so that it asks for another plan.
fn replanning(spec: Spec) -> Told {
    let told = Told::run(spec, [three(), found("A"), broken()]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    told
}

/// `draft/position: output` of everything that was done.
fn trail(told: &Told) -> Vec<String> {
    let steps = told.state.steps();
    steps.filter_map(|step| Some(format!("{}/{}: {}", step.draft, step.step_index, step.output?))).collect()
}

#[test]
fn finished_steps_stay_what_had_not_begun_is_dropped_and_ids_go_on() {
    let mut told = replanning(keeping(""));
    let failed = format!("step_2: failed: {BROKEN}");
    assert_eq!(told.results(), ["step_1: completed: A", &failed]);
    assert_eq!(told.tell([plan("find b2; calc < step_1")]).waits(), ["step.2.3.1"]);
    assert_eq!(told.tell([found("B")]).input("step.2.4.1"), json!("A"));
    told.ends([found("2"), text("답")], "답");
    let results = ["step_1: completed: A", &failed, "step_3: completed: B", "step_4: completed: 2"];
    assert_eq!(told.results(), results);
    assert_eq!(told.asked, ["planner", "find", "find", "planner", "find", "calc", "writer"]);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "REPLAN_TRIGGER", "PLAN", "EXECUTE", "WRITE"]);
    let line = json!({"phase": "EXECUTE", "ok": true, "num_results": 2});
    assert_eq!(told.trace()[4], line, "each line counts its own");
}

#[test]
fn the_planner_is_shown_what_was_done_and_what_failed_and_the_writer_all_that_was_kept() {
    let mut told = replanning(keeping(""));
    let payload = told.payload();
    assert_eq!(payload["past_steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(payload["failed_steps"].as_array().map(Vec::len), Some(1));
    assert_eq!(payload["failed_steps"][0]["step_index"], json!(1));
    assert_eq!(payload["rejected_because"], json!("step_2 (find) failed"));
    let payload = told.tell([plan("find d"), found("D")]).payload();
    let results = payload["tool_results"].as_array().expect("results").iter();
    assert_eq!(results.map(|one| &one["output"]).collect::<Vec<_>>(), ["A", BROKEN, "D"]);
}

#[test]
fn references_to_failed_dropped_and_later_steps_are_refused() {
    for (steps, said) in [
        ("calc < step_2", "$.steps[0].input_from: no step has the id \"step_2\""),
        ("calc < step_9", "$.steps[0].input_from: no step has the id \"step_9\""),
        // The third step was dropped: its name is the new plan's first.
        ("calc < step_3", "$.steps[0].input_from: a step cannot wait for itself"),
        ("step_1 = calc 1", "$.steps[0].id: the id \"step_1\" is taken by step 1"),
    ] {
        let mut told = replanning(keeping("on_bad_reply = 'fail'"));
        told.tell([plan(steps)]).failed(&format!("PLAN_ERROR: contract: {said}"));
        assert_eq!(told.spent().tool_calls, 2, "nothing of it ran");
    }
}

#[test]
fn a_step_may_wait_for_one_that_is_done_and_starts_at_once() {
    let parallel = "execution = { mode = 'parallel', width = 3 }\nvalidate = 'verdict'";
    let mut told = Told::run(keeping(parallel), [three()]);
    told.answer("step.1.3.1", found("C")).answer("step.1.1.1", found("A")).answer("step.1.2.1", found("B"));
    let steps = plan("calc < step_3; calc 1 after step_1, step_2; calc < step_4");
    told.tell([verdict(false, "다름", "더"), steps]);
    assert_eq!(told.waits(), ["step.2.4.1", "step.2.5.1"]);
    assert_eq!(told.input("step.2.4.1"), json!("C"));
    told.answer("step.2.4.1", found("4"));
    assert_eq!(told.waits(), ["step.2.5.1", "step.2.6.1"]);
    assert_eq!(told.input("step.2.6.1"), json!("4"));
}

#[test]
fn an_empty_new_plan_is_a_contract_error() {
    for min in [0, 1] {
        let mut told = replanning(keeping(&format!("plan = {{ min_steps = {min} }}")));
        assert_eq!(told.tell([plan(""), plan("find d")]).waits(), ["step.2.3.1"], "it is repaired");
        let error = told.line("REPAIR")["error"].clone();
        assert!(error.as_str().expect("a text").starts_with("$.steps: expected"), "{error}");
    }
    let may_be_empty = || keeping("plan = { min_steps = 0 }");
    let mut told = replanning(may_be_empty());
    told.tell([plan(""), plan("")]);
    told.failed("PLAN_ERROR: contract: $.steps: expected at least 1 step in a new plan, found none");
    Told::begin(may_be_empty()).ends([plan(""), text("답")], "답");
}

#[test]
fn the_limit_is_looked_at_before_anybody_is_asked_again() {
    let limited = keeping("[limits]\nmax_replans = 2");
    let answers = [three(), broken(), three(), broken(), three(), found("A"), broken()];
    let error = "STEP_FAILED_MAX_REPLANS: step_4 (find) failed: ERROR: http: status 500";
    let spent = Told::fails(limited, answers, error).spent();
    assert_eq!((spent.model_calls, spent.tool_calls, spent.replans), (3, 4, 2));
}

#[test]
fn used_up_replans_are_written_up_where_the_policy_says_so() {
    let spec = keeping("on_exhausted = 'write'\n[limits]\nmax_replans = 0");
    Told::begin(spec).ends([three(), found("A"), broken(), text("있는 대로")], "있는 대로");
}

#[test]
fn an_earlier_failure_is_not_judged_again() {
    let mut told = replanning(keeping("[limits]\nmax_replans = 1"));
    told.ends([plan("find b"), found("B"), text("답")], "답");
}

#[test]
fn everything_that_was_done_is_in_the_audit_trail_kept_or_not() {
    let mut kept = replanning(keeping(""));
    kept.tell([plan("find d"), found("D")]);
    let trailed = ["1/0: A".to_owned(), format!("1/1: {BROKEN}"), "2/2: D".to_owned()];
    assert_eq!(trail(&kept), trailed, "a step that is kept stays that of its own draft");

    let mut anew = replanning(spec("on_step_failure = 'replan'"));
    assert_eq!(anew.payload()["rejected_plan"]["steps"].as_array().map(Vec::len), Some(3));
    anew.tell([plan("find d"), found("D")]);
    assert_eq!(trail(&anew), ["1/0: A", "1/1: ERROR: http: status 500", "2/0: D"]);
    assert_eq!(anew.results(), ["step_1: completed: D"], "only the new plan's results count");
}

#[test]
fn under_restart_the_new_plan_stands_alone() {
    let mut told = replanning(spec("on_step_failure = 'replan'\non_bad_reply = 'fail'"));
    told.tell([plan("calc 1 after step_2")]);
    told.failed("PLAN_ERROR: contract: $.steps[0].depends_on[0]: no step has the id \"step_2\"");
}

#[test]
fn an_edit_in_a_later_draft_may_have_as_many_steps_as_a_plan() {
    let policy = "approval = 'steps'\nvalidate = 'verdict'\nplan = { max_steps = 3 }";
    let done = [three(), found("A"), found("B"), found("C"), verdict(false, "다름", "더")];
    let told = Told::run(keeping(policy), done.into_iter().chain([plan("?; find d")]));
    assert_eq!(told.waits(), ["human.2.4"]);
    let edited = edit("find e; find f").event(id("human.2.4"));
    assert_eq!(admit(&told.compiled, &told.state, &edited), Ok(()));
}
