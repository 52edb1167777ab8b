//! Calls that a person is asked about together: one question shows every call that would be asked about and whose input is
//! there, its token is over all of them in their order, and each yes is good for one call.

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::open_question;
use planwright::machine::{AllowedCall, Refusal, explore};
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{
    PARALLEL, Told, allow, allow_calls, approve, broken, edit_input, found, go_on, plan, reject, respond,
    role_agent, spec, text, with_agents, with_risky,
};

fn risky(policy: &str) -> Spec {
    with_risky(with_risky(spec(&format!("approval = 'risky'\n{policy}")), "send"), "book")
}

/// The question about these calls.
fn asked(policy: &str, steps: &str) -> Told {
    let told = Told::run(risky(policy), [plan(steps)]);
    assert_eq!(told.waits(), ["permit.1.1"]);
    told
}

fn edited(position: u32, input: &str) -> AllowedCall {
    AllowedCall::Edited { position, input: json!(input) }
}

#[test]
fn one_yes_allows_all_calls_that_could_be_shown_and_they_are_made_in_their_order() {
    for policy in ["", PARALLEL] {
        let mut told = asked(policy, "send a; calc 1; send b; calc 2; send < step_4");
        let shown = "이 호출들을 승인해주세요:\n1. send\n입력: a\n- *: 계획에 있음\n2. send\n입력: b\n- *: 계획에 있음";
        assert_eq!(told.question(), shown, "what a step before gives is not known yet");
        assert_eq!(told.tell([allow(&[1, 2])]).waits(), ["step.1.1.1"]);
        told.tell([found("A"), found("1")]);
        assert_eq!(told.waits()[0], "step.1.3.1", "{policy}: nothing more is asked about it");
        told.tell([found("B"), found("2")]);
        assert_eq!(told.waits(), ["permit.1.5"]);
        assert_eq!(told.spent().questions, 2);
        told.ends([approve(), found("C"), text("답")], "답");
    }
}

#[test]
fn some_are_allowed_by_position_and_the_others_are_left_out() {
    for (positions, called) in [([1, 3], ["a", "c"]), ([2, 3], ["b", "c"]), ([1, 2], ["a", "b"])] {
        let mut told = asked("", "send a; send b; send c");
        told.tell([allow(&positions)]);
        for input in called {
            assert_eq!(told.input(&told.first()), json!(input));
            told.tell([found("됨")]);
        }
        let left_out =
            told.results().into_iter().filter(|result| result.contains("rejected: not allowed: call "));
        assert_eq!((told.waits(), left_out.count()), (vec!["write.1.1".to_owned()], 1));
    }
    let mut none = asked("", "send a; send b");
    none.ends([reject("no"), text("답")], "답");
    assert_eq!(none.spent().tool_calls, 0);
    let stops = risky("on_rejection = 'stop'");
    Told::fails(stops, [plan("send a; send b"), allow(&[1])], "REJECTED: step_1: not allowed: call 2");
}

#[test]
fn an_edited_input_is_sent_and_the_others_are_sent_as_shown() {
    let mut told = asked("", "send a; send b; send c");
    told.tell([allow_calls([edited(1, "고침"), AllowedCall::AsShown(2), edited(3, "고침")])]);
    assert_eq!(told.input("step.1.1.1"), json!("고침"));
    told.tell([found("A")]);
    assert_eq!(told.input("step.1.2.1"), json!("b"));
    told.ends([found("B"), text("답")], "답");
    assert_eq!(told.results()[2], "step_3: completed: A", "what was made stands for the same call");
    let line = json!({"approve_calls": {"calls": [
        {"position": 1, "input": "고침"}, 2, {"position": 3, "input": "고침"},
    ]}});
    assert_eq!(told.line("HUMAN")["answer"], line);
}

#[test]
fn a_position_is_a_whole_number_however_it_is_written() {
    let read = |calls| serde_json::from_value::<Vec<AllowedCall>>(calls);
    let calls = read(json!([1.0, {"position": 4294967295.0, "input": 1}])).expect("whole numbers");
    assert_eq!(calls[0], AllowedCall::AsShown(1));
    assert_eq!(calls[1].position(), u32::MAX);
    for wrong in [json!([1.5]), json!([-1]), json!([4294967296u64]), json!([1e300]), json!(["1"])] {
        let error = read(wrong).expect_err("no position").to_string();
        assert!(error.starts_with("expected positions of calls"), "{error}");
    }
}

#[test]
fn an_answer_that_names_no_call_of_the_question_is_refused() {
    let told = asked("", "send a; send b");
    for calls in [&[][..], &[0], &[3], &[2, 1], &[1, 1]] {
        assert_eq!(told.refusal("permit.1.1", allow(calls)), Refusal::BadPositions { most: 2 });
    }
    let wrong = AllowedCall::Edited { position: 2, input: json!({"no": "text"}) };
    assert!(matches!(told.refusal("permit.1.1", allow_calls([wrong])), Refusal::BadInput(_)));
    let mut step = Told::run(spec("approval = 'steps'"), [plan("? go on")]);
    assert!(step.refuses(allow(&[1])).contains("not by `approve_calls`"));
    step.tell([approve()]);
}

#[test]
fn an_answer_to_one_call_is_for_the_first_and_the_others_are_asked_about_again() {
    for (answer, made) in [(approve(), true), (edit_input(json!("x")), true), (respond("됨"), false)] {
        let mut told = asked("", "send a; send b");
        told.tell([answer]);
        if made {
            told.tell([found("A")]);
        }
        assert_eq!(told.waits(), ["permit.1.2"]);
        assert!(told.question().starts_with(&asked("", "send b").question()));
    }
}

#[test]
fn a_token_is_over_every_call_in_its_order() {
    let token = |steps: &str| {
        let told = asked("", steps);
        open_question("run", &told.compiled, &told.state).expect("a question").token
    };
    let all = ["send a; send b", "send b; send a", "send a; send c", "send a; send b; send c", "send a"];
    let tokens: std::collections::BTreeSet<String> = all.into_iter().map(token).collect();
    assert_eq!(tokens.len(), all.len());
}

#[test]
fn a_yes_is_good_for_the_call_of_this_plan_alone() {
    let policy = "on_step_failure = 'replan'\n[limits]\nmax_replans = 1";
    for keeps in ["", "on_replan = 'keep'\n"] {
        let mut told = asked(&format!("{keeps}{policy}"), "send a; send b");
        told.tell([allow(&[1, 2]), broken(), plan("send b")]);
        assert!(
            told.first().starts_with("permit.2."),
            "the plan that it stood in is gone, and so is the yes"
        );
    }
    let told = Told::run(risky(""), [plan("send a; send a")]);
    assert_eq!(told.question(), asked("", "send a").question(), "the same call is asked about once");
}

#[test]
fn a_person_who_is_to_be_asked_in_between_and_a_decision_come_first() {
    let one = asked("", "send a").question();
    let asks = with_risky(spec("approval = ['risky', 'steps']"), "send");
    assert_eq!(Told::run(asks, [plan("send a; ? go on; send b")]).question(), one);
    let decides = risky("orchestrate = 'each_step'\n[limits]\nmax_added_steps = 1");
    let told = Told::run(with_agents(decides, [role_agent("writer")]), [plan("send a; send b"), go_on()]);
    assert_eq!(told.question(), one);
}

#[test]
fn every_invariant_holds_where_calls_are_asked_about_together() {
    for policy in
        ["plan = { max_steps = 3 }", "execution = { mode = 'parallel', width = 2 }\nplan = { max_steps = 2 }"]
    {
        let mut asking = risky(policy);
        asking.tools.retain(|tool| ["calc", "send"].contains(&tool.name.as_str()));
        let report = explore::explore(&asking.check().expect(policy));
        let violations: Vec<&String> = report.checks.iter().flat_map(|check| &check.violations).collect();
        assert!(violations.is_empty(), "{policy}: {violations:#?}");
    }
}

/// What a person says in the place of a call leaves no line of who allowed it, in this round and in the next.
#[test]
fn every_invariant_holds_where_a_person_is_asked_round_by_round_about_reads_that_leave() {
    let toml = "
        name = 'asks'
        [policy]
        on_bad_reply = 'repair'
        planner = 'tool_calls'
        horizon = 'next'
        write = 'planner'
        validate = 'off'
        containment = 'standard'
        on_unauthorised = 'ask'
        plan = { min_steps = 0, max_steps = 40, final_step = 'none' }
        [limits]
        max_replans = 0
        max_iterations = 8
        [roles.planner]
        prompt = 'Plan. JSON.'";
    let mut asking = Spec::from_toml(toml).expect("a spec");
    let page = json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]});
    asking.tools = vec![
        ToolContract::text("read", "Reads.", ToolEffect::Read),
        ToolContract::json("get", "Gets a page.", ToolEffect::Read).input(page.clone()).egress("/url"),
        ToolContract::json("send", "Sends.", ToolEffect::Write).input(page),
    ];
    let report = explore::explore(&asking.check().expect("a spec"));
    let violations: Vec<&String> = report.checks.iter().flat_map(|check| &check.violations).collect();
    assert!(violations.is_empty() && report.states > 50, "{}: {violations:#?}", report.states);
}
