//! Steps that a person does: the run pauses, nothing else moves, and what they say is carried out.

use planwright::machine::{PhaseName, Refusal};
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{
    PARALLEL, Say, Steps, Told, edit, found, id, plan, refuses_to_say, reject, respond, role_agent, spec,
    text, with_agents,
};

fn supervised(policy: &str) -> Spec {
    with_agents(spec(&format!("approval = 'steps'\n{policy}")), [role_agent("writer"), role_agent("critic")])
}

/// One call, a question, another call.
fn around() -> Say {
    plan("calc 1; ? 계속할까요?; calc 2")
}

/// A run that waits for the answer to the question.
fn asking(policy: &str) -> Told {
    Told::run(supervised(policy), [around(), found("1")])
}

#[test]
fn the_run_pauses_and_nothing_else_moves_until_the_answer() {
    for policy in ["", PARALLEL] {
        let mut told = Told::run(supervised(policy), [around()]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{policy}");
        told.tell([found("1")]);
        assert_eq!(told.waits(), ["human.1.2"], "the third step does not start beside it");
        let view = told.state.plan();
        assert_eq!((view.status, view.current_step), ("waiting_human", 1));
        told.tell([respond("네")]);
        assert_eq!(told.waits(), ["step.1.3.1"]);
        told.ends([found("2"), text("답")], "답");
        assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: 네", "step_3: completed: 2"]);
        assert_eq!((told.state.plan().status, told.state.plan().current_step), ("completed", 3));
    }
}

#[test]
fn in_parallel_a_person_is_asked_when_nothing_runs() {
    let mut told = Told::run(supervised(PARALLEL), [plan("calc 1; calc 2; ? 네?; calc 3")]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1"]);
    told.answer("step.1.2.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1"], "the question waits, and what comes after it too");
    assert_eq!(told.answer("step.1.1.1", found("1")).waits(), ["human.1.3"]);
}

#[test]
fn a_step_without_a_question_asks_for_approval() {
    for (step, question) in [
        (json!({"tool": "hitl"}), "승인해주세요"),
        (json!({"tool": "hitl", "hitl_question": "  "}), "승인해주세요"),
        (json!({"tool": "hitl", "description": "초안 확인"}), "초안 확인"),
        (json!({"agent": "hitl", "hitl_question": "괜찮아요?", "description": "초안 확인"}), "괜찮아요?"),
    ] {
        assert_eq!(Told::run(supervised(""), [plan(json!([step]))]).question(), question);
    }
}

#[test]
fn what_a_person_said_is_shown_to_later_steps_and_to_the_writer() {
    let mut told = Told::run(supervised(""), [plan("? 어떤 문체로?; @writer 써"), respond("정중하게")]);
    let shown = json!({
        "step_index": 0, "tool": "hitl", "question": "어떤 문체로?", "status": "completed", "output": "정중하게",
    });
    assert_eq!(told.payload()["tool_results"], json!([shown]));
    assert_eq!(told.tell([text("글")]).payload()["tool_results"][0], shown);
    let told = Told::run(supervised(""), [plan("? 무엇을 찾을까요?; find < step_1"), respond("서울")]);
    assert_eq!(told.input("step.1.2.1"), json!("서울"), "it can be the input of a later step");
}

#[test]
fn a_rejection_stops_the_run() {
    let told = Told::run(supervised(""), [around(), found("1"), reject("하지 마세요")]);
    assert_eq!(told.error(), "REJECTED: step_2: 하지 마세요");
    assert_eq!(told.results()[1..], ["step_2: failed: ERROR: rejected: 하지 마세요", "step_3: pending: -"]);
    let line = json!({"phase": "HUMAN", "step": "step_2", "answer": {"reject": {"reason": "하지 마세요"}}});
    assert_eq!(told.line("HUMAN"), line);
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE"]);
    assert_eq!(told.line("EXECUTE")["ok"], json!(false));
}

#[test]
fn a_rejection_goes_back_to_plan_with_the_reason_where_the_policy_says_so() {
    let policy =
        "on_rejection = 'replan'\n[limits]\nmax_replans = 1\n[roles.replanner]\nprompt = 'Plan anew.'";
    let mut told = asking(policy);
    assert_eq!(told.tell([reject("더 짧게")]).waits(), ["plan.2.1"]);
    assert_eq!(told.payload()["fix_hint"], json!("더 짧게"));
    assert_eq!(told.payload()["rejected_because"], json!("a person rejected step_2: 더 짧게"));
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE", "REPLAN_TRIGGER"]);
    told.tell([around(), found("1"), reject("그래도 안 돼요")]);
    assert_eq!(told.error(), "REJECTED: a person rejected step_2: 그래도 안 돼요");
    assert_eq!(told.asked, ["planner", "calc", "human", "replanner", "calc", "human"]);

    let mut told = asking("on_rejection = 'replan'\non_exhausted = 'write'\n[limits]\nmax_replans = 0");
    told.tell([reject("안 돼요")]).failed("REJECTED: a person rejected step_2: 안 돼요");
    assert_eq!(told.said(), "", "a no is never written around");
}

#[test]
fn an_edit_puts_other_steps_in_the_place_of_those_that_remain() {
    let mut told = asking("");
    told.tell([edit("find < step_1; @critic 봐 < step_3; ? 끝?")]);
    assert_eq!((told.waits(), told.input("step.1.3.1")), (vec!["step.1.3.1".into()], json!("1")));
    assert_eq!(told.tell([found("F")]).payload()["input"], json!("F"));
    told.ends([text("좋음"), respond("네"), text("답")], "답");
    let results = [
        "step_1: completed: 1",
        "step_2: completed: (the remaining steps were edited)",
        "step_3: completed: F",
        "step_4: completed: 좋음",
        "step_5: completed: 네",
    ];
    assert_eq!(told.results(), results);
    let traced = told.line("HUMAN")["answer"]["edit"]["steps"].as_array().map(Vec::len);
    assert_eq!(traced, Some(3), "it is traced");
    let mut told = asking("");
    told.ends([edit(""), text("답")], "답");
    assert_eq!(told.spent().tool_calls, 1, "it may leave nothing to do");
    for policy in ["", PARALLEL] {
        let waits = asking(policy).tell([edit("find 3 after step_2")]).waits();
        assert_eq!(waits, ["step.1.3.1"], "it may come after the step that it answers");
    }
}

/// An edit that is refused with these words, and changes nothing: the question stands.
#[track_caller]
fn bad_edit(policy: &str, edited: impl Into<Steps>, said: &str) {
    let mut told = asking(policy);
    let edited = edit(edited);
    assert!(matches!(told.refusal("human.1.2", edited.clone()), Refusal::BadEdit(_)));
    assert_eq!(told.refuses(edited), format!("the edited steps do not fit: {said}"));
    told.ends([respond("그럼 그대로"), found("2"), text("답")], "답");
}

#[test]
fn an_edit_that_breaks_the_contract_is_refused_and_changes_nothing() {
    let tools = "expected one of calc, find, send, store, book, writer, critic, hitl, found \"rm\"";
    for (policy, edited, said) in [
        ("", "rm x", &*format!("$.steps[0].tool: {tools}")),
        ("", "calc 1; calc", "$.steps[1].input: expected an input, found none"),
        ("", "calc < step_9", "$.steps[0].input_from: no step has the id \"step_9\""),
        ("", "book {\"day\": \"월\"}", "$.steps[0].input: expected a field \"people\", found none"),
        ("", "step_1 = calc 1", "$.steps[0].id: the id \"step_1\" is taken by step 1"),
        (
            "plan = { max_steps = 4 }",
            "calc 1; calc 1; calc 1",
            "$.steps: expected at most 4 steps in all, found 5",
        ),
    ] {
        bad_edit(policy, edited, said);
    }
    let mut told = asking("plan = { max_steps = 4 }");
    assert_eq!(told.tell([edit("calc 1; calc 1")]).waits(), ["step.1.3.1"]);
}

#[test]
fn a_reply_cannot_write_its_own_approval() {
    let steps = json!([
        {"tool": "calc", "input": "1", "status": "completed", "result": "42"},
        {"tool": "hitl", "hitl_response": "네", "status": "completed"}, {"tool": "calc", "input": "2", "error": null},
    ]);
    let mut told = Told::run(supervised(""), [plan(steps)]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    let ignored = ["$.steps[0].status", "$.steps[0].result", "$.steps[1].status", "$.steps[1].hitl_response"];
    assert_eq!(told.line("PLAN")["ignored"], json!(ignored));
    assert_eq!(told.tell([found("1")]).waits(), ["human.1.2"], "it is asked all the same");
    let step = &told.state.plan().steps[1];
    assert_eq!((step.status, step.output), ("waiting_human", None));
}

#[test]
fn a_plan_may_not_ask_a_person_where_the_policy_does_not() {
    let error = "PLAN_ERROR: contract: $.steps[0].tool: expected one of";
    Told::fails(spec("on_bad_reply = 'fail'"), [plan("? 네?")], error);
}

#[test]
fn only_a_persons_answer_will_do() {
    let told = Told::run(supervised(""), [around(), found("1")]);
    for answer in [text("네"), found("네")] {
        assert_eq!(told.refusal("human.1.2", answer), Refusal::WrongKind(id("human.1.2")));
    }
}

#[test]
fn a_summary_has_a_line_for_each_step_with_its_status() {
    let steps = json!([
        {"id": "1", "agent": "writer", "description": "초안"}, {"id": "2", "tool": "hitl"}, {"agent": "critic", "task": "검토"},
    ]);
    let mut told = Told::begin(supervised("write = 'summary'"));
    let lines = "Step 1: 초안 - completed\nStep 2: 승인해주세요 - completed\nStep 3: 검토 - failed";
    told.ends([plan(steps), text("글"), respond("네"), refuses_to_say()], lines);
}

/// Step 4 waits for nothing, and still does not begin before the person has answered.
fn ahead(policy: &str) -> Told {
    let policy = format!("execution = {{ mode = 'parallel', width = 2 }}\n{policy}");
    let steps = plan("calc 1; ? 네? after step_1; calc 3 after step_2; find 4");
    let mut told = Told::run(supervised(&policy), [steps]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    assert_eq!(told.tell([found("하나")]).waits(), ["human.1.2"]);
    told
}

#[test]
fn an_edit_keeps_what_is_finished_and_drops_what_has_not_begun() {
    let mut told = ahead("");
    told.tell([edit("x = calc 5; y = calc < x")]);
    while told.phase() == PhaseName::Execute {
        told.tell([found("새것")]);
    }
    let outputs = told.results();
    assert!(outputs.iter().any(|line| line.ends_with(": completed: 하나")), "{outputs:?}");
    assert_eq!(outputs.iter().filter(|line| line.ends_with(": completed: 새것")).count(), 2, "{outputs:?}");
    assert!(!outputs.iter().any(|line| line.contains("pending")), "{outputs:?}");
}

#[test]
fn a_rejection_under_keep_keeps_what_is_finished() {
    let mut told = ahead("on_rejection = 'replan'\non_replan = 'keep'");
    assert_eq!(told.tell([reject("다르게")]).waits(), ["plan.2.1"]);
    assert!(told.state.steps().any(|step| step.output == Some("하나")));
}
