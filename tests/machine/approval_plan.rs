//! Plans that a person approves: nothing of a plan runs before somebody has said yes to it, and what they
//! write in its place passes the checks of a plan.

use planwright::machine::{EffectId, ErrorCode, Event, Input, PhaseName};
use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{
    PARALLEL, Say, Told, approve, asks, checked, edit, edit_input, found, id, plan, reject, respond, spec,
    text, verdict, whole_agent, with_agents,
};

fn approving(policy: &str) -> Spec {
    spec(&format!("approval = 'plan'\n{policy}"))
}

fn two() -> Say {
    plan("calc 1; calc 2")
}

#[test]
fn nothing_of_a_plan_runs_before_a_person_has_approved_it() {
    for policy in ["", PARALLEL] {
        let mut told = Told::run(approving(policy), [two()]);
        assert_eq!(told.waits(), ["approve.1"], "{policy}");
        assert_eq!(told.phase(), PhaseName::Plan);
        assert!(told.state.waits_for_person());
        let view = told.state.plan();
        assert_eq!((view.status, view.current_step, view.steps.len()), ("waiting_human", 0, 2));
        assert_eq!(told.spent().tool_calls, 0);
        told.ends([approve(), found("1"), found("2"), text("답")], "답");
        assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE", "WRITE"]);
        let line = json!({"phase": "HUMAN", "step": "plan", "about": "plan", "answer": "approve"});
        assert_eq!(told.line("HUMAN"), line);
    }
}

#[test]
fn the_question_shows_the_plan_in_the_language_of_the_user() {
    let steps = || plan(r#"calc 1+1; send_it = send < step_1; book {"people": 2, "day": "월\n요일"}"#);
    let told = Told::run(approving(""), [steps()]);
    let listed = "1. calc: 1+1\n2. send (send_it): ← step_1\n3. book: {\"day\":\"월\\n요일\",\"people\":2}";
    assert_eq!(told.question(), format!("이 계획을 승인해주세요:\n{listed}"));
    let mut told = Told::begin_with(approving(""), Input::question("Why?"));
    told.tell([steps()]);
    assert_eq!(told.question(), format!("Please approve this plan:\n{listed}"));
}

#[test]
fn a_long_input_is_cut_in_the_question_and_says_how_long_it_is() {
    let told = Told::run(approving(""), [plan(json!([{"tool": "calc", "input": "가 나\n".repeat(200)}]))]);
    let question = told.question();
    let line = question.lines().nth(1).expect("a step");
    assert!(line.starts_with("1. calc: 가 나 가 나") && line.ends_with("… (799)"), "{line}");
    assert!(line.chars().count() < 230 && question.lines().count() == 2, "{question}");
}

#[test]
fn a_plan_of_which_nothing_runs_needs_no_approval() {
    let told = Told::run(approving("plan = { final_step = 'required' }"), [plan("final_answer x")]);
    assert_eq!(told.waits(), ["write.1.1"]);
    let told = Told::run(approving("plan = { min_steps = 0 }"), [plan("")]);
    assert_eq!(told.waits(), ["write.1.1"]);
}

#[test]
fn an_edit_takes_the_place_of_the_plan() {
    let mut told = Told::run(approving(""), [two(), edit("a = find 서울; store < a")]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    assert_eq!(told.input("step.1.1.1"), json!("서울"));
    assert_eq!(told.tell([found("F")]).input("step.1.2.1"), json!("F"));
    told.ends([found("S"), text("답")], "답");
    assert_eq!(told.results(), ["a: completed: F", "step_2: completed: S"]);
    let traced = told.line("HUMAN")["answer"]["edit"]["steps"].as_array().map(Vec::len);
    assert_eq!(traced, Some(2), "the edit is traced");
    assert_eq!(told.line("PLAN")["steps"][0]["tool"], json!("calc"), "and so is what was planned");
}

#[test]
fn an_edit_passes_the_checks_of_a_plan_or_is_refused() {
    let policy = "plan = { min_steps = 1, max_steps = 3 }\n[[required_calls]]\ntool = 'calc'\nleast = 1";
    let told = Told::run(approving(policy), [two()]);
    let tools = "expected one of calc, find, send, store, book, found";
    for (edited, said) in [
        ("", "$.steps: expected at least 1 step, found none"),
        ("rm", &*format!("$.steps[0].tool: {tools} \"rm\"")),
        ("?", &*format!("$.steps[0].tool: {tools} \"hitl\"")),
        ("calc < step_9", "$.steps[0].input_from: no step has the id \"step_9\""),
        ("calc 1; calc 2; calc 3; calc 4", "$.steps: expected 1 to 3 steps, found 4"),
        ("find x", "$: \"calc\" must be called once before the answer; so far it was called 0 times"),
    ] {
        assert_eq!(told.refuses(edit(edited)), format!("the edited steps do not fit: {said}"));
    }
}

#[test]
fn an_edit_beyond_the_budget_is_refused_and_a_plan_beyond_it_is_put_to_nobody() {
    let told = Told::run(approving("[limits]\nmax_tool_calls = 2"), [two()]);
    let said = told.refuses(edit("calc 1; calc 2; calc 3"));
    assert!(said.ends_with("the steps may need 3 tool calls in all, 2 are allowed"), "{said}");
    let error = "MAX_TOOL_CALLS_EXCEEDED: the plan needs 2 tool calls in all, 1 are allowed";
    let told = Told::fails(approving("[limits]\nmax_tool_calls = 1"), [two()], error);
    assert_eq!(told.asked, ["planner"]);
}

#[test]
fn an_answer_that_is_no_word_on_the_plan_is_refused() {
    let told = Told::run(approving(""), [two()]);
    let expected = "approve.1 is answered by `approve`, `reject` or `edit`, not by";
    assert_eq!(told.refuses(respond("네")), format!("{expected} `respond`"));
    assert_eq!(told.refuses(edit_input(json!("3"))), format!("{expected} `edit_input`"));
    assert_eq!(told.refuses(found("3")), "this kind of event does not answer approve.1");
}

#[test]
fn an_id_is_written_in_one_way() {
    for text in ["approve.1", "permit.1.2", "step.1.2.1/approve.3", "step.1.2.1/permit.1.1"] {
        assert_eq!(id(text).to_string(), text);
    }
    assert_eq!(id("step.1.4.1/permit.1.2").step(), Some(3));
    for wrong in ["approve", "approve.0", "approve.1.1", "approve.01"] {
        assert!(wrong.parse::<EffectId>().is_err(), "{wrong}");
    }
}

#[test]
fn a_rejected_plan_ends_the_run() {
    let told = Told::run(approving(""), [two(), reject("너무 비쌉니다")]);
    assert_eq!(told.error(), "REJECTED: plan: 너무 비쌉니다");
    assert_eq!(told.spent().tool_calls, 0);
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "PLAN"]);
    let last = told.trace().last().cloned().expect("a line");
    assert_eq!((&last["ok"], &last["error"]), (&json!(false), &json!("REJECTED: plan: 너무 비쌉니다")));
}

#[test]
fn a_rejected_plan_is_planned_anew_with_the_reason_where_the_policy_says_so() {
    let policy =
        "on_rejection = 'replan'\n[limits]\nmax_replans = 1\n[roles.replanner]\nprompt = 'Plan anew.'";
    let mut told = Told::run(approving(policy), [two(), reject("더 짧게")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    let payload = told.payload();
    assert_eq!(payload["fix_hint"], json!("더 짧게"));
    assert_eq!(payload["rejected_because"], json!("a person rejected the plan: 더 짧게"));
    assert_eq!(payload["rejected_plan"]["steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "REPLAN_TRIGGER"]);
    assert_eq!(told.tell([plan("calc 3")]).waits(), ["approve.2"], "each new plan is approved");
    told.tell([reject("그래도 안 돼요")]);
    assert_eq!(told.error(), "REJECTED: a person rejected the plan: 그래도 안 돼요");
    assert_eq!(told.asked, ["planner", "human", "replanner", "human"]);
    let last = told.trace().last().cloned().expect("a line");
    assert_eq!((&last["phase"], &last["ok"]), (&json!("HUMAN"), &Value::Null));
}

#[test]
fn rejections_by_a_person_and_by_the_validator_share_one_counter() {
    let policy = "on_rejection = 'replan'\nvalidate = 'verdict'\n[limits]\nmax_replans = 1";
    let mut told = Told::run(approving(policy), [two(), reject("아니요"), two(), approve()]);
    told.tell([found("1"), found("2"), verdict(false, "모자람", "더")]);
    assert_eq!(told.state.error().map(|error| error.code), Some(ErrorCode::ValidationFailedMaxReplans));
}

#[test]
fn what_was_done_is_kept_when_the_next_plan_is_rejected() {
    let policy = "on_rejection = 'replan'\non_replan = 'keep'\nvalidate = 'verdict'";
    let mut told = Told::run(approving(policy), [plan("calc 1"), approve(), found("1")]);
    told.tell([verdict(false, "모자람", "더"), plan("calc 2")]);
    assert_eq!(told.question().lines().nth(1), Some("2. calc: 2"), "only what is new is asked about");
    told.tell([reject("아니요")]);
    assert_eq!(told.payload()["dropped_steps"][0]["input"], json!("2"));
    told.tell([plan("find < step_1"), edit("store < step_1")]);
    assert_eq!(told.waits(), ["step.3.2.1"]);
    assert_eq!(told.input("step.3.2.1"), json!("1"));
    assert_eq!(told.results()[0], "step_1: completed: 1");
}

#[test]
fn each_next_plan_is_approved_and_a_rejected_call_has_its_result() {
    let next = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\non_rejection = 'replan'\n\
                [limits]\nmax_iterations = 4";
    let mut told = Told::run(approving(next), [asks(&[("calc", "1")]), approve(), found("1")]);
    told.tell([asks(&[("find", "서울"), ("calc", "2")])]);
    assert_eq!(told.waits(), ["approve.2"]);
    told.tell([reject("찾지 마세요")]);
    assert_eq!(told.waits(), ["plan.3.1"]);
    let said = serde_json::to_value(told.conversation()).expect("JSON");
    let results: Vec<&str> =
        said.as_array().expect("a list").iter().filter_map(|message| message["content"].as_str()).collect();
    let refused = r#"{"status":"failed","output":"ERROR: rejected: 찾지 마세요"}"#;
    assert_eq!(results, [r#"{"status":"completed","output":"1"}"#, refused, refused]);
    told.tell([asks(&[("calc", "3")]), approve()]);
    assert_eq!(told.waits(), ["step.3.4.1"]);
    told.ends([found("3"), text("답")], "답");
}

#[test]
fn an_action_in_words_is_approved_too() {
    let react = "planner = 'react_text'\nhorizon = 'next'\nwrite = 'planner'\n[limits]\nmax_iterations = 2";
    let mut told = Told::run(approving(react), [text("Thought: t\nAction: calc\nAction Input: 1")]);
    assert_eq!(told.waits(), ["approve.1"]);
    assert_eq!(told.question().lines().nth(1), Some("1. calc: 1"));
    told.ends([approve(), found("1"), text("Thought: t\nFinal Answer: 답")], "답");
}

#[test]
fn a_nested_agent_asks_for_its_own_plan() {
    let inner = whole_agent("team", spec("write = 'last_result'\napproval = 'plan'"));
    let mut told = Told::run(with_agents(spec(""), [inner]), [plan("@team t"), plan("calc 1")]);
    assert_eq!(told.waits(), ["step.1.1.1/approve.1"]);
    assert!(told.state.waits_for_person());
    let question = "이 계획을 승인해주세요:\n1. calc: 1";
    assert_eq!(told.question(), question, "in the language of the whole question");
    told.ends([approve(), found("1"), text("답")], "답");
}

#[test]
fn a_cancelled_run_says_so_in_the_line_of_plan() {
    let mut told = Told::run(approving(""), [two()]);
    told.take(Event::Cancelled { reason: "그만".into() });
    assert_eq!(told.error(), "CANCELLED: 그만");
    assert_eq!(told.phases(), ["PLAN", "PLAN"]);
}

#[test]
fn approval_is_one_name_or_a_list_of_them() {
    let written =
        |text: &str| checked(&format!("approval = {text}")).map(|compiled| compiled.policy().approval);
    for (text, back) in [
        ("'never'", r#""never""#),
        ("'plan'", r#""plan""#),
        ("'risky'", r#""risky""#),
        ("['steps']", r#""steps""#),
        ("['steps', 'plan']", r#"["plan","steps"]"#),
        ("['steps', 'risky', 'plan']", r#"["plan","risky","steps"]"#),
    ] {
        let approval = written(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(serde_json::to_string(&approval).expect("written"), back);
    }
    for (text, problem) in [
        ("'always'", "expected `plan`, `risky` or `steps`, or `never` alone, found \"always\""),
        ("['never', 'plan']", "expected `plan`, `risky` or `steps`, or `never` alone, found \"never\""),
        ("['plan', 'plan']", "\"plan\" is named twice"),
        ("[]", "expected at least one name, found an empty list"),
    ] {
        let error = toml::from_str::<planwright::spec::Policy>(&format!("approval = {text}")).unwrap_err();
        assert!(error.to_string().contains(problem), "{text}: {error}");
    }
}
