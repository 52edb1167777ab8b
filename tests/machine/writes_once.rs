//! A write that has succeeded is not made again in the same run: not by the next plan, not by an agent, not
//! by a person's edit. Its result stands, the trace says so, and whoever is asked is told.

use planwright::machine::explore;
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{
    PARALLEL, Say, Told, approve, asks, broken, edit_input, found, plan, spec, text, verdict, whole_agent,
    with_agents, with_risky,
};

const JUDGED: &str = "validate = 'verdict'\non_replan = 'restart'\n[limits]\nmax_replans = 2\n\
    [roles.replanner]\nprompt = 'Plan anew.'";

fn rejected() -> Say {
    verdict(false, "모자람", "더")
}

fn risky(policy: &str) -> Spec {
    with_risky(spec(&format!("approval = 'risky'\n{policy}")), "send")
}

#[test]
fn a_new_plan_does_not_repeat_a_write() {
    for tool in ["send", "store"] {
        let pay = || plan(json!([{"tool": tool, "input": "10만 원"}, {"tool": "calc", "input": "1"}]));
        let mut told = Told::run(spec(JUDGED), [pay(), found("보냄"), found("1"), rejected()]);
        assert_eq!(told.tell([pay()]).waits(), ["step.2.2.1"], "{tool}: only the other step runs");
        told.tell([found("1"), rejected(), pay()])
            .ends([found("1"), verdict(true, "", ""), text("답")], "답");
        assert_eq!(told.asked.iter().filter(|asked| *asked == tool).count(), 1);
        assert_eq!(told.results(), ["step_1: completed: 보냄", "step_2: completed: 1"]);
        let skip = json!({"phase": "SKIP", "step": "step_1", "tool": tool, "same_as": "step_1 of plan 1"});
        assert_eq!(told.lines("SKIP"), [skip.clone(), skip]);
    }
}

#[test]
fn another_input_another_tool_and_a_write_that_failed_are_other_calls() {
    let mut told = Told::run(spec(JUDGED), [plan("send a; send b"), found("A"), broken()]);
    told.tell([rejected(), plan("send b; send c; store a; send a")]);
    for (waits, said) in [("step.2.1.1", "B"), ("step.2.2.1", "C"), ("step.2.3.1", "S")] {
        assert_eq!(told.waits(), [waits]);
        told.tell([found(said)]);
    }
    assert_eq!(told.results()[3], "step_4: completed: A");
    let mut told = Told::run(spec(JUDGED), [plan("find a"), found("A"), rejected(), plan("find a")]);
    assert_eq!(told.tell([]).waits(), ["step.2.1.1"], "what only reads is asked anew");
}

#[test]
fn an_output_that_becomes_the_input_counts_as_that_input() {
    let steps = || plan("a = find x; send < a");
    let mut told = Told::run(spec(JUDGED), [steps(), found("편지"), found("보냄"), rejected(), steps()]);
    told.tell([found("편지"), rejected(), steps()]);
    assert_eq!(told.results()[1], "step_2: pending: -");
    assert_eq!(told.tell([found("다른 편지")]).waits(), ["step.3.2.1"], "it says something else now");
}

#[test]
fn a_person_is_not_asked_for_a_call_again_and_sees_what_has_run() {
    let mut told = Told::run(risky(JUDGED), [plan("send a"), approve(), found("A"), rejected()]);
    told.tell([plan("send a; send b")]);
    assert_eq!(told.waits(), ["permit.2.2"]);
    let listed = "이미 실행되어 다시 실행되지 않는 호출:\n- send \"a\"";
    assert_eq!(told.question(), format!("이 호출을 승인해주세요: send\n입력: b\n- *: 계획에 있음\n{listed}"));
    let mut edited = told;
    edited.tell([edit_input(json!("a"))]);
    assert_eq!(edited.results(), ["step_1: completed: A", "step_2: completed: A"], "nor by an edit");

    let mut told = Told::run(spec(&format!("approval = 'plan'\n{JUDGED}")), [plan("send a"), approve()]);
    told.tell([found("A"), rejected(), plan("calc 1")]);
    assert_eq!(told.question(), format!("이 계획을 승인해주세요:\n1. calc: 1\n{listed}"));
}

#[test]
fn the_next_calls_of_a_model_do_not_repeat_a_write() {
    let next = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(spec(next), [asks(&[("send", "a")]), found("A")]);
    told.tell([asks(&[("send", "a"), ("calc", "1")])]);
    assert_eq!(told.waits(), ["step.2.3.1"]);
    told.ends([found("1"), text("답")], "답");
}

#[test]
fn an_agent_repeats_no_write_of_the_run_around_it_nor_the_run_one_of_the_agents() {
    let team = || whole_agent("team", spec("write = 'last_result'"));
    let mut told = Told::run(with_agents(spec(JUDGED), [team()]), [plan("send a; @team t"), found("A")]);
    told.tell([plan("send a; send b")]);
    assert_eq!(told.waits(), ["step.1.2.1/step.1.2.1"]);
    told.tell([found("B"), rejected(), plan("send b; send c")]);
    assert_eq!(told.waits(), ["step.2.2.1"]);
    assert_eq!(told.lines("SKIP"), Vec::<serde_json::Value>::new(), "told when EXECUTE is left");
    assert_eq!(told.results()[0], "step_1: completed: B");
}

#[test]
fn which_write_stands_does_not_depend_on_the_order_of_answers() {
    let parallel = format!("{PARALLEL}\n{JUDGED}");
    let mut told = Told::run(spec(&parallel), [plan("store k; find a; store k")]);
    assert_eq!(told.waits(), ["step.1.1.1"], "what may write runs alone");
    assert_eq!(told.tell([found("K")]).waits(), ["step.1.2.1"]);
    told.tell([found("F")]);
    assert_eq!(told.results()[2], "step_3: completed: K");
    assert_eq!(told.spent().tool_calls, 2);
}

#[test]
fn states_that_differ_in_what_was_written_are_told_apart_by_the_proof() {
    let policy =
        "plan = { max_steps = 2 }\nvalidate = 'verdict'\non_bad_reply = 'fail'\n[limits]\nmax_replans = 1";
    let mut spec = spec(policy);
    spec.tools.retain(|tool| ["send", "calc"].contains(&tool.name.as_str()));
    let report = explore::explore(&spec.check().expect("a spec"));
    assert!(report.holds(), "{:?}", report.checks);
}
