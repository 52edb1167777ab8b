//! What a new plan keeps: under `on_replan = "keep"` finished steps stay as they are and the new plan
//! goes on after them; under `restart` they go to the audit trail.

use crate::promise;

use planwright::machine::past_steps;
use planwright::spec::Spec;
use promise::{Say, Told, broken, found, plan, spec, text, verdict};
use serde_json::{Value, json};

fn keeping(more: &str) -> Spec {
    spec(&format!("on_replan = 'keep'\non_step_failure = 'replan'\n{more}"))
}

fn find(input: &str) -> Value {
    json!({"tool": "find", "input": input})
}

fn three() -> Say {
    plan(json!([find("a"), find("b"), find("c")]))
}

/// `draft/position: output` of everything that was done.
fn trail(told: &Told) -> Vec<String> {
    past_steps(&told.state.task)
        .iter()
        .map(|past| format!("{}/{}: {}", past.draft, past.step_index, past.output))
        .collect()
}

#[test]
fn finished_steps_stay_what_had_not_begun_is_dropped_and_ids_go_on() {
    let mut told = Told::run(keeping(""), [three(), found("A"), broken()]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    assert_eq!(told.results(), ["step_1: completed: A", "step_2: failed: ERROR: http: status 500"]);
    told.tell([plan(json!([find("b2"), {"tool": "calc", "input_from": "step_1"}]))]);
    assert_eq!(told.waits(), ["step.2.3.1"]);
    told.tell([found("B")]);
    assert_eq!(told.input("step.2.4.1"), json!("A"));
    told.tell([found("2"), text("답")]);
    assert_eq!(
        told.results(),
        [
            "step_1: completed: A",
            "step_2: failed: ERROR: http: status 500",
            "step_3: completed: B",
            "step_4: completed: 2",
        ]
    );
    assert_eq!(told.asked, ["planner", "find", "find", "planner", "find", "calc", "writer"]);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "REPLAN_TRIGGER", "PLAN", "EXECUTE", "WRITE"]);
    assert_eq!(
        told.trace()[4],
        json!({"phase": "EXECUTE", "ok": true, "num_results": 2}),
        "each line counts its own"
    );
    assert_eq!(told.state, told.folded());
}

#[test]
fn the_writer_is_shown_all_that_was_kept() {
    let mut told =
        Told::run(keeping(""), [three(), found("A"), broken(), plan(json!([find("d")])), found("D")]);
    let outputs: Vec<Value> = told.payload()["tool_results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| one["output"].clone())
        .collect();
    assert_eq!(outputs, ["A", "ERROR: http: status 500", "D"]);
    told.tell([text("답")]);
}

#[test]
fn the_planner_is_shown_what_was_done_and_what_failed() {
    let told = Told::run(keeping(""), [three(), found("A"), broken()]);
    let payload = told.payload();
    assert_eq!(payload["past_steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(payload["failed_steps"].as_array().map(Vec::len), Some(1));
    assert_eq!(payload["failed_steps"][0]["step_index"], json!(1));
    assert_eq!(payload["rejected_because"], json!("step_2 (find) failed"));
}

/// A new plan that is refused, with this path and these words.
#[track_caller]
fn refused(steps: Value, said: &str) {
    let told = Told::run(keeping("on_bad_reply = 'fail'"), [three(), found("A"), broken(), plan(steps)]);
    assert_eq!(told.error(), format!("PLAN_ERROR: contract: {said}"));
    assert_eq!(told.state.task.counters.tool_calls, 2, "nothing of it ran");
}

#[test]
fn references_to_failed_dropped_and_later_steps_are_refused() {
    let from = |name: &str| json!([{"tool": "calc", "input_from": name}]);
    refused(from("step_2"), "$.steps[0].input_from: no step has the id \"step_2\"");
    refused(from("step_9"), "$.steps[0].input_from: no step has the id \"step_9\"");
    // The third step was dropped: its name is the new plan's first.
    refused(from("step_3"), "$.steps[0].input_from: a step cannot wait for itself");
    refused(
        json!([{"id": "step_1", "tool": "calc", "input": "1"}]),
        "$.steps[0].id: the id \"step_1\" is taken by step 1",
    );
}

#[test]
fn a_step_may_wait_for_one_that_is_done_and_starts_at_once() {
    let parallel = "execution = { mode = 'parallel', width = 3 }\nvalidate = 'verdict'";
    let mut told = Told::run(keeping(parallel), [three()]);
    told.answer("step.1.3.1", found("C")).answer("step.1.1.1", found("A")).answer("step.1.2.1", found("B"));
    told.tell([verdict(false, "다름", "더")]);
    let steps = json!([
        {"tool": "calc", "input_from": "step_3"}, {"tool": "calc", "input": "1", "depends_on": ["step_1", "step_2"]},
        {"tool": "calc", "input_from": "step_4"},
    ]);
    told.tell([plan(steps)]);
    assert_eq!(told.waits(), ["step.2.4.1", "step.2.5.1"]);
    assert_eq!(told.input("step.2.4.1"), json!("C"));
    told.answer("step.2.4.1", found("4"));
    assert_eq!(told.waits(), ["step.2.5.1", "step.2.6.1"]);
    assert_eq!(told.input("step.2.6.1"), json!("4"));
}

#[test]
fn an_empty_new_plan_is_a_contract_error() {
    for min in [0, 1] {
        let policy = format!("plan = {{ min_steps = {min} }}");
        let told = Told::run(
            keeping(&policy),
            [three(), found("A"), broken(), plan(json!([])), plan(json!([find("d")]))],
        );
        assert_eq!(told.waits(), ["step.2.3.1"], "it is repaired");
        let repair = told.line("REPAIR");
        assert!(repair["error"].as_str().expect("a text").starts_with("$.steps: expected"), "{repair}");
    }
    let empty = || plan(json!([]));
    let told =
        Told::run(keeping("plan = { min_steps = 0 }"), [three(), found("A"), broken(), empty(), empty()]);
    assert_eq!(
        told.error(),
        "PLAN_ERROR: contract: $.steps: expected at least 1 step in a new plan, found none"
    );
    let told = Told::run(keeping("plan = { min_steps = 0 }"), [empty(), text("답")]);
    assert_eq!(told.said(), "답", "the first plan may be empty");
}

#[test]
fn the_limit_is_looked_at_before_anybody_is_asked_again() {
    let told = Told::run(
        keeping("[limits]\nmax_replans = 2"),
        [three(), broken(), three(), broken(), three(), found("A"), broken()],
    );
    assert_eq!(told.error(), "STEP_FAILED_MAX_REPLANS: step_4 (find) failed: ERROR: http: status 500");
    let spent = told.state.task.counters;
    assert_eq!((spent.model_calls, spent.tool_calls, spent.replans), (3, 4, 2));
    assert_eq!(told.waits(), Vec::<String>::new());
}

#[test]
fn used_up_replans_are_written_up_where_the_policy_says_so() {
    let told = Told::run(
        keeping("on_exhausted = 'write'\n[limits]\nmax_replans = 0"),
        [three(), found("A"), broken(), text("있는 대로")],
    );
    assert_eq!(told.said(), "있는 대로");
}

#[test]
fn an_earlier_failure_is_not_judged_again() {
    let told = Told::run(
        keeping("[limits]\nmax_replans = 1"),
        [three(), broken(), plan(json!([find("b")])), found("B"), text("답")],
    );
    assert_eq!(told.said(), "답");
}

#[test]
fn everything_that_was_done_is_in_the_audit_trail_kept_or_not() {
    let kept = Told::run(keeping(""), [three(), found("A"), broken(), plan(json!([find("d")])), found("D")]);
    let outputs: Vec<String> =
        trail(&kept).iter().map(|line| line.split(": ").skip(1).collect::<Vec<_>>().join(": ")).collect();
    assert_eq!(outputs, ["A", "ERROR: http: status 500", "D"]);

    let anew = spec("on_step_failure = 'replan'");
    let anew = Told::run(anew, [three(), found("A"), broken(), plan(json!([find("d")])), found("D")]);
    assert_eq!(trail(&anew), ["1/0: A", "1/1: ERROR: http: status 500", "2/0: D"]);
    assert_eq!(anew.results(), ["step_1: completed: D"], "only the new plan's results count");
}

#[test]
fn under_restart_the_new_plan_stands_alone() {
    let anew = spec("on_step_failure = 'replan'\non_bad_reply = 'fail'");
    let mut told = Told::run(anew, [three(), found("A"), broken()]);
    assert_eq!(told.payload()["rejected_plan"]["steps"].as_array().map(Vec::len), Some(3));
    told.tell([plan(json!([{"tool": "calc", "input": "1", "depends_on": ["step_2"]}]))]);
    assert_eq!(told.error(), "PLAN_ERROR: contract: $.steps[0].depends_on[0]: no step has the id \"step_2\"");
}

#[test]
fn answers_to_steps_of_an_earlier_draft_are_refused() {
    let mut told = Told::run(keeping(""), [three(), found("A"), broken(), plan(json!([find("d")]))]);
    for (to, said) in [
        ("step.1.1.1", "AlreadyAnswered"),
        ("step.1.2.1", "AlreadyAnswered"),
        ("step.1.3.1", "NeverAsked"),
        ("step.2.1.1", "NeverAsked"),
        ("step.2.4.1", "NeverAsked"),
        ("plan.1.1", "AlreadyAnswered"),
    ] {
        let answer = if to.starts_with("plan") { three() } else { found("late") };
        let refusal = format!("{:?}", told.refusal(to, answer));
        assert!(refusal.starts_with(said), "{to}: {refusal}");
    }
    told.tell([found("D"), text("답")]);
}

#[test]
fn an_edit_in_a_later_draft_may_have_as_many_steps_as_a_plan() {
    let policy = "approval = 'steps'\nvalidate = 'verdict'\nplan = { max_steps = 3 }";
    let mut told = Told::run(
        keeping(policy),
        [three(), found("A"), found("B"), found("C"), verdict(false, "다름", "더")],
    );
    told.tell([plan(json!([{"tool": "hitl"}, find("d")]))]);
    assert_eq!(told.waits(), ["human.2.4"]);
    let edited = promise::edit(json!([find("e"), find("f")]));
    let fits = planwright::machine::admit(&told.rules, &told.state, &edited.event(promise::id("human.2.4")));
    assert_eq!(fits, Ok(()));
}
