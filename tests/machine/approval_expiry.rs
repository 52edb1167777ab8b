//! Questions that nobody answers in time: that counts as a no, or ends the run, as the policy says.

use planwright::machine::{ErrorCode, Event};
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{
    Say, Told, approve, asks, checked, found, id, plan, reject, respond, spec, text, whole_agent,
    with_agents, with_risky,
};

fn asking(policy: &str) -> Spec {
    with_risky(spec(policy), "send")
}

/// A spec and a plan of which somebody is asked at once, for each kind of question, with its effect and
/// what it is called.
fn questions(policy: &str) -> [(Told, &'static str, &'static str, &'static str); 3] {
    let of = |approval: &str, steps: &str| {
        Told::run(asking(&format!("approval = '{approval}'\n{policy}")), [plan(steps)])
    };
    [
        (of("plan", "send 편지"), "approve.1", "plan", "the plan"),
        (of("risky", "send 편지"), "permit.1.1", "step_1", "step_1"),
        (of("steps", "? 보낼까요?"), "human.1.1", "step_1", "step_1"),
    ]
}

#[test]
fn silence_counts_as_a_no() {
    for (mut told, effect, name, _) in questions("on_rejection = 'stop'") {
        assert_eq!(told.waits(), [effect]);
        told.tell([Say::Expired]);
        assert_eq!(told.error(), format!("REJECTED: {name}: nobody answered in time"));
        assert_eq!(told.line("EXPIRED")["step"], json!(name));
        assert_eq!(told.spent().tool_calls, 0);
    }
}

#[test]
fn silence_sends_back_to_plan_where_a_no_does() {
    for (mut told, effect, _, what) in questions("on_rejection = 'replan'") {
        told.tell([Say::Expired]);
        assert_eq!(told.waits(), ["plan.2.1"], "{effect}");
        assert_eq!(told.payload()["fix_hint"], json!("nobody answered in time"));
        assert_eq!(told.payload()["rejected_because"], json!(format!("{what}: nobody answered in time")));
        assert_eq!(told.spent().replans, 1);
    }
}

#[test]
fn silence_ends_the_run_where_the_policy_says_so_whatever_follows_from_a_no() {
    for policy in ["on_expiry = 'stop'", "on_expiry = 'stop'\non_rejection = 'replan'"] {
        for (mut told, _, name, _) in questions(policy) {
            told.tell([Say::Expired]);
            assert_eq!(told.error(), format!("EXPIRED: {name}: nobody answered in time"));
            assert_eq!(told.state.error().map(|error| error.code), Some(ErrorCode::Expired));
        }
    }
}

#[test]
fn a_no_in_words_is_no_silence() {
    for (mut told, ..) in questions("on_expiry = 'stop'\non_rejection = 'stop'") {
        told.tell([reject("아니요")]);
        assert_eq!(told.state.error().map(|error| error.code), Some(ErrorCode::Rejected));
    }
}

#[test]
fn only_questions_to_people_expire_and_only_while_they_are_asked() {
    for (mut told, effect, ..) in questions("") {
        assert_eq!(told.refusal("plan.1.1", Say::Expired).to_string(), "the run does not wait for plan.1.1");
        let answer = if effect == "human.1.1" { respond("네") } else { approve() };
        told.tell([answer]);
        let said = told.refusal(effect, Say::Expired).to_string();
        assert_eq!(said, format!("the run does not wait for {effect}"), "a late one changes nothing");
        let first = told.waits()[0].clone();
        assert_eq!(told.refuses(Say::Expired), format!("this kind of event does not answer {first}"));
    }
    let told = Told::begin(spec(""));
    assert_eq!(told.refuses(Say::Expired), "this kind of event does not answer plan.1.1");
}

#[test]
fn silence_before_a_call_is_the_result_of_the_call() {
    let policy = "approval = 'risky'\nplanner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n\
                  on_rejection = 'replan'\n[limits]\nmax_iterations = 2";
    let mut told = Told::run(asking(policy), [asks(&[("send", "a")]), Say::Expired]);
    let said = serde_json::to_value(told.conversation()).expect("JSON");
    let result = r#"{"status":"failed","output":"ERROR: rejected: nobody answered in time"}"#;
    assert_eq!(said[1]["content"], json!(result));
    told.ends([text("답")], "답");
}

#[test]
fn a_question_of_a_nested_agent_expires_by_its_own_policy() {
    let inner = asking("write = 'last_result'\napproval = 'risky'\non_expiry = 'stop'");
    let outer = with_agents(spec(""), [whole_agent("team", inner)]);
    let mut told = Told::run(outer, [plan("@team t"), plan("send x"), Say::Expired]);
    assert_eq!(told.results(), ["step_1: failed: ERROR: agent: EXPIRED: step_1: nobody answered in time"]);
    told.ends([text("답")], "답");
}

#[test]
fn the_event_is_written_by_its_name() {
    let event = Event::Expired { effect: id("permit.1.2") };
    assert_eq!(serde_json::to_string(&event).expect("written"), r#"{"expired":{"effect":"permit.1.2"}}"#);
    assert_eq!((event.kind(), event.effect()), ("expired", Some(id("permit.1.2"))));
}

#[test]
fn what_is_about_answers_of_people_is_refused_where_nobody_is_asked() {
    for (policy, field) in [
        ("on_expiry = 'stop'", "policy.on_expiry"),
        ("on_rejection = 'replan'", "policy.on_rejection"),
        ("[limits]\nanswer_seconds = 60", "limits.answer_seconds"),
    ] {
        let error = checked(policy).expect_err("refused").to_string();
        assert_eq!(error, format!("{field}: never read: nobody is asked under `approval = \"never\"`"));
        for approval in ["plan", "risky", "steps"] {
            assert!(checked(&format!("approval = '{approval}'\n{policy}")).is_ok(), "{approval} {policy}");
        }
    }
    let zero = checked("approval = 'plan'\n[limits]\nanswer_seconds = 0").expect_err("refused");
    assert_eq!(zero.to_string(), "limits.answer_seconds: expected at least 1, found 0");
}

#[test]
fn limits_without_a_time_for_answers_are_written_as_before() {
    let written = serde_json::to_value(&spec("").limits).expect("written");
    assert_eq!(written.get("answer_seconds"), None);
    let limited = asking("approval = 'plan'\n[limits]\nanswer_seconds = 60");
    let mut told = Told::run(limited, [plan("calc 1")]);
    assert_eq!(told.compiled.spec().limits.answer_seconds, Some(60));
    told.ends([approve(), found("1"), text("답")], "답");
}
