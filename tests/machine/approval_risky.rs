//! Calls that a person must allow: the tool is called with exactly what they saw, or with what they wrote
//! in its place, or not at all.

use planwright::machine::{Input, PhaseName, explore};
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{
    PARALLEL, Say, Told, approve, asks, broken, edit, edit_input, found, plan, reject, respond, role_agent,
    spec, text, whole_agent, with_agents, with_risky,
};

/// A spec in which a person must allow every `send` and every `book`.
fn risky(policy: &str) -> Spec {
    with_risky(with_risky(spec(&format!("approval = 'risky'\n{policy}")), "send"), "book")
}

/// A call, one that needs a person's word, another call.
fn around() -> Say {
    plan("calc 1; send 편지; calc 2")
}

/// One call that needs it.
fn booking() -> Say {
    plan(r#"book {"day": "월", "people": 2}"#)
}

#[test]
fn the_tool_is_called_when_a_person_has_allowed_it_and_nothing_moves_before() {
    for policy in ["", PARALLEL] {
        let mut told = Told::run(risky(policy), [around()]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{policy}: what stands before is finished first");
        told.tell([found("1")]);
        assert_eq!(told.waits(), ["permit.1.2"], "{policy}: and what stands behind does not start beside it");
        assert!(told.state.waits_for_person());
        let view = told.state.plan();
        let statuses = (view.status, view.steps[1].status, view.current_step);
        assert_eq!(statuses, ("waiting_human", "waiting_human", 1));
        assert_eq!(told.spent().tool_calls, 1, "{policy}: not called");
        told.tell([approve()]);
        assert_eq!(told.waits(), ["step.1.2.1"], "{policy}: a write that may not happen twice runs alone");
        assert_eq!(told.input("step.1.2.1"), json!("편지"));
        told.ends([found("보냄"), found("2"), text("답")], "답");
        let results = ["step_1: completed: 1", "step_2: completed: 보냄", "step_3: completed: 2"];
        assert_eq!(told.results(), results);
        let line = json!({"phase": "HUMAN", "step": "step_2", "about": "call", "answer": "approve"});
        assert_eq!(told.line("HUMAN"), line);
        assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE", "WRITE"]);
    }
}

#[test]
fn what_is_allowed_may_run_beside_others_from_then_on() {
    let mut told = Told::run(risky(PARALLEL), [plan(r#"book {"day": "월", "people": 2}; calc 1; calc 2"#)]);
    assert_eq!(told.waits(), ["permit.1.1"]);
    assert_eq!(told.tell([approve()]).waits(), ["step.1.1.1", "step.1.2.1", "step.1.3.1"]);
}

#[test]
fn nobody_is_asked_about_other_tools_or_under_another_policy() {
    assert_eq!(Told::run(risky(""), [plan("calc 1")]).waits(), ["step.1.1.1"]);
    assert_eq!(Told::run(with_risky(spec(""), "send"), [plan("send a")]).waits(), ["step.1.1.1"]);
    let for_steps = with_risky(spec("approval = ['plan', 'steps']"), "send");
    assert_eq!(Told::run(for_steps, [plan("send a"), approve()]).waits(), ["step.1.1.1"]);
    let compiled = spec("approval = 'risky'").check().expect("tools may be added later");
    assert!(!compiled.needs_approval("send"));
}

#[test]
fn the_question_names_the_tool_and_shows_the_input_that_will_be_sent() {
    let told = Told::run(risky(""), [plan("calc 1+1; send < step_1"), found("둘\n2")]);
    let asked = "이 호출을 승인해주세요: send\n입력: 둘\n2\n- *: step_1 (신뢰함)";
    assert_eq!(told.question(), asked, "the reference is resolved");
    let mut told = Told::begin_with(risky(""), Input::question("Why?"));
    told.tell([plan(r#"book {"people": 2, "day": "Mon"}"#)]);
    let asked = "Please approve this call: book\ninput: {\"day\":\"Mon\",\"people\":2}\n- /day: in the plan\n- /people: in the plan";
    assert_eq!(told.question(), asked, "canonical JSON");
}

#[test]
fn the_tool_is_called_with_the_input_that_a_person_wrote() {
    let steps = plan("calc 1; mail = send < step_1");
    let mut told = Told::run(risky(""), [steps, found("1"), edit_input(json!("고친 편지"))]);
    assert_eq!((told.waits(), told.input("step.1.2.1")), (vec!["step.1.2.1".into()], json!("고친 편지")));
    told.tell([found("보냄")]);
    let shown = told.payload()["tool_results"][1].clone();
    assert_eq!((&shown["input"], &shown["output"]), (&json!("고친 편지"), &json!("보냄")));
    assert_eq!(told.line("HUMAN")["answer"], json!({"edit_input": {"input": "고친 편지"}}));
    assert_eq!(told.line("PLAN")["steps"][1]["input_from"], json!("step_1"), "what was planned stays told");
}

#[test]
fn an_input_that_the_tool_does_not_take_is_refused() {
    let told = Told::run(risky("[limits]\nmax_input_bytes = 40"), [booking()]);
    for (input, said) in [
        (json!({"day": "월"}), "$: expected a field \"people\", found none"),
        (json!({"day": "월", "people": "둘"}), "$.people: expected integer, found \"둘\""),
        (json!("월"), "$: expected object, found \"월\""),
        (json!({"day": "월".repeat(20), "people": 2}), "$: expected at most 40 bytes, found 81"),
    ] {
        assert_eq!(told.refuses(edit_input(input)), format!("the edited input does not fit: {said}"));
    }
}

#[test]
fn an_answer_that_is_no_word_on_the_call_or_the_question_is_refused() {
    let told = Told::run(risky(""), [plan("send a")]);
    let said = "permit.1.1 is answered by `approve`, `reject`, `edit_input` or `respond`, not by `edit`";
    assert_eq!(told.refuses(edit("")), said);
    assert_eq!(told.refuses(found("3")), "this kind of event does not answer permit.1.1");
    let mut told = Told::run(spec("approval = 'steps'"), [plan("? 보낼까요?")]);
    let said = "human.1.1 is answered by `respond`, `approve`, `reject` or `edit`, not by `edit_input`";
    assert_eq!(told.refuses(edit_input(json!("x"))), said);
    told.ends([approve(), text("답")], "답");
    assert_eq!(told.results(), ["step_1: completed: approved"]);
}

#[test]
fn an_answer_in_its_place_completes_the_step_and_nothing_is_called() {
    let mut told = Told::run(risky(""), [around(), found("1"), respond("제가 보냈어요")]);
    assert_eq!(told.waits(), ["step.1.3.1"]);
    told.ends([found("2"), text("답")], "답");
    assert_eq!(told.results()[1], "step_2: completed: 제가 보냈어요");
    assert_eq!(told.spent().tool_calls, 2);
}

#[test]
fn a_no_stops_the_run_or_sends_it_back_with_the_reason() {
    let told = Told::run(risky("on_rejection = 'stop'"), [around(), found("1"), reject("하지 마세요")]);
    assert_eq!(told.error(), "REJECTED: step_2: 하지 마세요");
    assert_eq!(told.results()[1..], ["step_2: failed: ERROR: rejected: 하지 마세요", "step_3: pending: -"]);
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE"]);

    let policy = "on_rejection = 'replan'\n[limits]\nmax_replans = 1";
    let mut told = Told::run(risky(policy), [around(), found("1"), reject("찾기만 하세요")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    assert_eq!(told.payload()["fix_hint"], json!("찾기만 하세요"));
    assert_eq!(told.payload()["rejected_because"], json!("a person rejected step_2: 찾기만 하세요"));
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE", "REPLAN_TRIGGER"]);
    assert_eq!(told.tell([plan("send b")]).waits(), ["permit.2.1"]);
    told.tell([reject("안 돼요")]);
    assert_eq!(told.error(), "REJECTED: a person rejected step_1: 안 돼요");
}

#[test]
fn another_try_of_the_same_call_needs_no_second_permit() {
    let policy = "step_tries = { tries = 3, wait_ms = 10 }";
    let mut told = Told::run(risky(policy), [booking(), approve(), broken()]);
    assert_eq!(told.waits(), ["wait.1.1.2"]);
    assert_eq!(told.tell([Say::Passed]).waits(), ["step.1.1.2"]);
    told.ends([broken(), Say::Passed, found("예약"), text("답")], "답");
    assert_eq!(told.results(), ["step_1: completed: 예약"]);
    assert_eq!(told.asked.iter().filter(|asked| *asked == "human").count(), 1);
}

#[test]
fn a_step_that_is_not_called_is_not_asked_about() {
    let storing = || with_risky(spec("approval = 'risky'\nduplicates = 'skip'"), "store");
    let steps = || plan("store x; store x");
    let mut told = Told::run(storing(), [steps()]);
    told.ends([approve(), found("S"), text("답")], "답");
    assert_eq!(told.results(), ["step_1: completed: S", "step_2: skipped: -"]);
    // With another input it is no repetition any more.
    let mut told = Told::run(storing(), [steps(), edit_input(json!("y")), found("Y")]);
    assert_eq!(told.waits(), ["permit.1.2"]);
    assert_eq!(told.question().lines().nth(1), Some("입력: x"));
    told.ends([approve(), found("X"), text("답")], "답");
    assert_eq!(told.results(), ["step_1: completed: Y", "step_2: completed: X"]);

    let told = Told::run(risky(""), [plan("calc 1; send < step_1"), broken()]);
    assert_eq!(told.waits(), ["write.1.1"], "its input never came");
}

#[test]
fn a_plan_that_leaves_no_room_for_the_answers_does_not_begin() {
    let error = "MAX_STEPS_EXCEEDED: the run needs 5 transitions so far, 4 are allowed";
    let told = Told::fails(risky("[limits]\nmax_transitions = 4"), [around()], error);
    assert_eq!(told.phase(), PhaseName::Error);
}

#[test]
fn native_calls_and_actions_in_words_are_asked_about_too() {
    let next = "horizon = 'next'\nwrite = 'planner'\non_rejection = 'replan'\n";
    let limits = "[limits]\nmax_iterations = 4";
    let calls = format!("planner = 'tool_calls'\n{next}{limits}");
    let mut told = Told::run(risky(&calls), [asks(&[("send", "a"), ("calc", "1")])]);
    assert_eq!(told.waits(), ["permit.1.1"]);
    told.tell([edit_input(json!("b")), found("보냄"), found("1"), asks(&[("send", "c")]), reject("그만")]);
    let said = serde_json::to_value(told.conversation()).expect("JSON");
    assert_eq!(said[0]["calls"][0]["arguments"], json!({"input": "b"}), "the planner sees what was called");
    let last = said.as_array().and_then(|said| said.last()).expect("a message");
    assert_eq!(last["content"], json!(r#"{"status":"failed","output":"ERROR: rejected: 그만"}"#));
    told.ends([text("답")], "답");

    let react = format!("planner = 'react_text'\n{next}{limits}");
    let mut told = Told::run(risky(&react), [text("Thought: t\nAction: send\nAction Input: a"), approve()]);
    assert_eq!(told.input("step.1.1.1"), json!("a"));
    told.ends([found("보냄"), text("Thought: t\nFinal Answer: 답")], "답");
}

#[test]
fn a_required_call_is_made_by_a_tool_or_answered_by_a_person_and_not_by_a_no() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\non_rejection = 'replan'\n\
                  required_calls = [{ tool = 'send', least = 1 }]\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(risky(policy), [asks(&[("send", "a")]), reject("아직"), text("답")]);
    assert_eq!(told.waits(), ["plan.2.2"], "a no is no call");
    told.ends([asks(&[("send", "b")]), respond("제가 보냄"), text("답")], "답");
}

#[test]
fn a_nested_agent_asks_about_its_own_calls() {
    let inner = with_risky(spec("write = 'last_result'\napproval = 'risky'"), "send");
    let outer = with_agents(spec(""), [whole_agent("team", inner)]);
    let mut told = Told::run(outer, [plan("@team t"), plan("send 편지")]);
    assert_eq!(told.waits(), ["step.1.1.1/permit.1.1"]);
    assert!(told.state.waits_for_person());
    assert_eq!(told.question(), "이 호출을 승인해주세요: send\n입력: 편지\n- *: 계획에 있음");
    let said = told.refuses(edit(""));
    assert!(said.starts_with("step.1.1.1/permit.1.1 is answered by"), "{said}");
    told.tell([edit_input(json!("새 편지"))]);
    assert_eq!(told.input("step.1.1.1/step.1.1.1"), json!("새 편지"));
    told.ends([found("보냄"), text("답")], "답");
}

#[test]
fn a_person_is_asked_about_the_plan_the_step_and_the_call_where_all_are_wanted() {
    let all = with_risky(spec("approval = ['plan', 'risky', 'steps']"), "send");
    let mut told = Told::run(all, [plan("? 무엇을?; send < step_1"), approve()]);
    assert_eq!(told.waits(), ["human.1.1"]);
    told.tell([respond("편지")]);
    assert_eq!(told.question(), "이 호출을 승인해주세요: send\n입력: 편지\n- *: step_1 (신뢰함)");
    told.ends([approve(), found("보냄"), text("답")], "답");
    assert_eq!(told.results(), ["step_1: completed: 편지", "step_2: completed: 보냄"]);
}

#[test]
fn every_invariant_holds_beside_whatever_else_a_policy_does_between_steps() {
    for policy in [
        "duplicates = 'skip'\nstep_tries = { tries = 2 }\nplan = { max_steps = 2 }",
        "duplicates = 'skip'\nexecution = { mode = 'parallel', width = 2 }\nplan = { max_steps = 3 }",
        "on_replan = 'keep'\non_rejection = 'replan'\non_step_failure = 'replan'\nplan = { max_steps = 2 }\n\
         [limits]\nmax_replans = 1",
        "orchestrate = 'each_step'\nplan = { max_steps = 2 }\n[limits]\nmax_added_steps = 1",
        "plan = { max_steps = 2 }\n[limits]\nmax_tool_calls = 1\nmax_transitions = 4",
    ] {
        let mut asking = with_agents(risky(policy), [role_agent("writer")]);
        asking.tools.retain(|tool| ["calc", "send"].contains(&tool.name.as_str()));
        let report = explore::explore(&asking.check().unwrap_or_else(|error| panic!("{policy}: {error}")));
        let violations: Vec<&String> = report.checks.iter().flat_map(|check| &check.violations).collect();
        assert!(violations.is_empty(), "{policy}: {violations:#?}");
        assert!(report.keys.iter().any(|key| key.stage == "permit"), "{policy}");
    }
}
