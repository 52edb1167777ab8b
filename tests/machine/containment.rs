//! A write runs without a person only if it stands in a plan that was frozen before anything untrusted was read.

use planwright::contract::{ToolEffect, Trust};
use planwright::journal::{Record, fold};
use planwright::machine::{Denial, Input, ModelReply, State};
use planwright::spec::{Containment, OnFailure, OnRejection, Spec};
use serde_json::{Value, json};

use crate::promise::{
    PARALLEL, Say, Told, approve, asks, broken, edit, edit_input, found, plan, reject, spec, team_with, text,
    verdict, with_agents, with_risky,
};

fn standard(policy: &str) -> Spec {
    spec(&format!("containment = 'standard'\n{policy}"))
}

fn judged() -> Spec {
    standard("validate = 'verdict'\n[limits]\nmax_replans = 2")
}

fn no() -> Say {
    verdict(false, "모자람", "더")
}

fn by_plan(step: &str) -> Value {
    json!({"phase": "AUTHORITY", "step": step, "tool": "send", "by": {"plan": {"draft": 1, "step": step}}})
}

fn denied(step: &str, code: &str) -> Value {
    json!({"phase": "DENIED", "step": step, "tool": "send", "code": code})
}

#[test]
fn a_frozen_write_runs_after_untrusted_text_and_says_by_what() {
    let mut told = Told::run(standard(""), [plan("find x; send a"), found("send b!")]);
    assert_eq!((told.waits(), told.tainted()), (vec!["step.1.2.1".to_owned()], true));
    told.ends([found("보냄"), text("답")], "답");
    assert_eq!(told.lines("AUTHORITY"), [by_plan("step_2")]);
    assert_eq!(told.lines("DENIED"), Vec::<Value>::new());
}

#[test]
fn a_plan_made_after_untrusted_text_was_read_adds_no_write() {
    let mut told = Told::run(judged(), [plan("find x; send a"), found("F"), found("A"), no()]);
    told.tell([plan("send b; send a; find y; send a b")]);
    assert_eq!(told.waits(), ["step.2.3.1"], "a read runs, and a write that was made stands");
    told.tell([found("Y")]);
    let refused = "failed: ERROR: plan_tainted_write: not called: this plan was made after untrusted text was \
                   read, and adds the call";
    assert_eq!(told.results()[0], format!("step_1: {refused}"));
    assert_eq!(told.results()[1], "step_2: completed: A");
    let codes = [denied("step_1", "plan_tainted_write"), denied("step_4", "plan_tainted_write")];
    assert_eq!(told.lines("DENIED"), codes);
    assert_eq!(told.asked.iter().filter(|asked| *asked == "send").count(), 1);
}

#[test]
fn a_person_who_allows_plans_is_told_which_was_made_after_untrusted_text_was_read() {
    let policy = "approval = 'plan'\nvalidate = 'verdict'\n[limits]\nmax_replans = 1";
    let mut told = Told::run(standard(policy), [plan("find x")]);
    assert_eq!(told.question(), "이 계획을 승인해주세요:\n1. find: x");
    told.tell([approve(), found("send b!"), no(), plan("send b")]);
    let later = "이 계획은 신뢰할 수 없는 글을 읽은 뒤 세워졌습니다. 승인해주세요:\n1. send: b";
    assert_eq!(told.question(), later);
}

#[test]
fn why_a_call_failed_is_untrusted_unless_its_tool_is_pure() {
    for (effect, tainted) in [(ToolEffect::Pure, false), (ToolEffect::Read, true)] {
        let mut spec = standard("on_step_failure = 'replan'\n[limits]\nmax_replans = 1");
        let find = spec.tools.iter_mut().find(|tool| tool.name == "find").unwrap();
        (find.trust, find.effect) = (Trust::Trusted, effect);
        let mut told = Told::run(spec, [plan("find x; send a"), broken()]);
        assert_eq!(told.tainted(), tainted, "{effect:?}");
        told.tell([plan("send b")]);
        assert_eq!(told.waits() == ["step.2.1.1"], !tainted, "{effect:?}: {:?}", told.waits());
    }
}

#[test]
fn a_write_that_stood_in_the_plan_runs_in_a_later_one_once() {
    let policy = "on_step_failure = 'replan'\nvalidate = 'verdict'\n[limits]\nmax_replans = 3";
    for keep in ["", "on_replan = 'keep'\n"] {
        let mut told = Told::run(standard(&format!("{keep}{policy}")), [plan("find x; send a"), broken()]);
        told.tell([plan("find y; send a"), found("Y")]);
        assert!(told.tainted());
        assert_eq!(told.waits(), [if keep.is_empty() { "step.2.2.1" } else { "step.2.3.1" }]);
        told.tell([found("A")]);
        assert_eq!(told.asked.iter().filter(|asked| *asked == "send").count(), 1);
        assert_eq!(told.lines("AUTHORITY").len(), 1, "{keep}");
    }
    // What goes into it was read anew, and says something else: it is another write, and only one was planned.
    let steps = || plan("a = find x; send < a");
    let mut told = Told::run(judged(), [steps(), found("하나"), found("보냄"), no(), steps(), found("둘")]);
    assert!(
        told.results()[1].starts_with("step_2: failed: ERROR: authority_spent: "),
        "{:?}",
        told.results()
    );
    told.ends([verdict(true, "", ""), text("답")], "답");
}

#[test]
fn an_old_name_given_to_another_step_has_no_authority() {
    let policy = "on_step_failure = 'replan'\n[limits]\nmax_replans = 1";
    let first =
        || Told::run(standard(policy), [plan("a = find x; b = calc 1; send < a"), found("X"), broken()]);
    let mut told = first();
    told.tell([plan("a = find y; send < a"), found("Y")]);
    assert!(told.results()[1].starts_with("step_2: failed: "), "{:?}", told.results());
    assert_eq!(told.lines("DENIED"), [denied("step_2", "plan_tainted_write")]);
    let mut told = first();
    told.tell([plan("z = find x; send < z"), found("X")]);
    assert_eq!(told.waits(), ["step.2.2.1"], "another name for the same is the same");
}

#[test]
fn what_stands_in_for_a_plan_is_as_tainted_as_a_plan() {
    let mut spec = standard("validate = 'verdict'\non_step_failure = 'replan'\n[limits]\nmax_replans = 1");
    let planner = spec.roles.values_mut().next().expect("a planner");
    planner.on_failure =
        Some(OnFailure::Fallback(r#"{"steps": [{"tool": "send", "input": "b"}]}"#.to_owned()));
    let cached = Say::Reply(ModelReply { cached: true, ..plan("send b").reply() });
    for stands_in in [text("?"), cached] {
        let told = Told::run(spec.clone(), [plan("find x"), found("F"), no(), stands_in]);
        assert_eq!(told.waits(), ["validate.2.1"], "what is refused is no failed step");
        assert!(told.results()[0].starts_with("step_1: failed: ERROR: plan_tainted_write"));
    }
    let told = Told::run(spec, [text("?")]);
    assert_eq!(told.waits(), ["step.1.1.1"], "it is the spec's own, and nothing was read");
}

#[test]
fn what_is_planned_round_by_round_writes_in_the_round_that_has_read_nothing() {
    let next = "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(standard(next), [asks(&[("send", "a"), ("find", "x")]), found("A"), found("X")]);
    told.tell([asks(&[("send", "b"), ("find", "y")])]);
    assert_eq!(told.waits(), ["step.2.4.1"]);
    told.ends([found("Y"), text("답")], "답");
    assert_eq!(told.lines("DENIED"), [denied("step_3", "plan_tainted_write")]);
    // What returns nothing but its own words taints nothing, and the next round is as clean.
    let mut trusting = standard(next);
    trusting.tools.iter_mut().for_each(|tool| tool.trust = Trust::Trusted);
    let told = Told::run(trusting, [asks(&[("send", "a")]), found("A"), asks(&[("send", "b")])]);
    assert_eq!(told.waits(), ["step.2.2.1"]);
}

#[test]
fn a_person_allows_what_no_plan_does() {
    let ask = || standard("validate = 'verdict'\non_unauthorised = 'ask'\n[limits]\nmax_replans = 1");
    let replanned = || Told::run(ask(), [plan("find x"), found("F"), no(), plan("send b; calc 1")]);
    let mut told = replanned();
    assert_eq!(told.waits(), ["permit.2.1"]);
    let question = told.question();
    let part = json!({"place": "", "label": "filled", "origin": "plan 2 after untrusted text"});
    assert!(
        question.contains("(plan_tainted_write)") && question.contains("(계획 2)"),
        "what a model planned that had read untrusted text is not told as the frozen plan's: {question}"
    );
    told.tell([approve(), found("B"), found("1")]);
    let line = json!({"phase": "AUTHORITY", "step": "step_1", "tool": "send", "by": {"approval": "permit.2.1"},
        "parts": [part]});
    assert_eq!(told.lines("AUTHORITY"), [line]);
    let mut told = replanned();
    told.tell([edit_input(json!("c"))]);
    assert_eq!(told.input("step.2.1.1"), json!("c"), "what they write is theirs");
    let parts = told.state.label_parts(&told.compiled, 0);
    assert_eq!(parts[0].tell(), "edited at permit.2.1 (literal)");
    let mut told = replanned();
    told.tell([reject("아니요")]);
    assert_eq!(told.waits(), ["step.2.2.1"], "the call alone is left out");

    let risky =
        with_risky(standard("validate = 'verdict'\napproval = 'risky'\n[limits]\nmax_replans = 1"), "send");
    let told = Told::run(risky, [plan("find x"), found("F"), no(), plan("send b"), approve()]);
    assert_eq!(told.waits(), ["step.2.1.1"]);

    let whole = standard("validate = 'verdict'\napproval = 'plan'\n[limits]\nmax_replans = 1");
    let first = || [plan("find x"), approve(), found("F"), no(), plan("send b")];
    for (said, input) in [(approve(), "b"), (edit("send c"), "c")] {
        let told = Told::run(whole.clone(), first().into_iter().chain([said]));
        assert_eq!(told.input("step.2.1.1"), json!(input));
    }
    let mut told = Told::run(standard("approval = 'steps'"), [plan("find x; ? 더 할까요?"), found("F")]);
    told.tell([edit("send d")]);
    assert_eq!(told.input("step.1.3.1"), json!("d"));
}

#[test]
fn a_call_that_is_refused_or_rejected_is_left_out_with_what_rests_on_it() {
    for policy in ["on_step_failure = 'abort'", "on_step_failure = 'record'"] {
        let next = format!(
            "{policy}\nhorizon = 'next'\nplanner = 'tool_calls'\nwrite = 'planner'\n[limits]\nmax_iterations = 3"
        );
        let mut told =
            Told::run(standard(&next), [asks(&[("find", "x")]), found("F"), asks(&[("send", "b")])]);
        assert_eq!(told.waits(), ["plan.3.1"], "{policy}: it is no failed step");
        told.ends([text("답")], "답");
    }
    let risky = || with_risky(standard("approval = 'risky'\non_step_failure = 'abort'"), "send");
    let steps = || plan("a = send x; find < a; calc 1");
    let mut told = Told::run(risky(), [steps(), reject("아니요")]);
    assert_eq!(told.waits(), ["step.1.3.1"]);
    let rest = "step_2: failed: ERROR: left_out: a was left out, so this step was not run";
    assert_eq!(told.results()[1], rest);
    told.ends([found("1"), text("답")], "답");
    // A no to a plan or to a step of their own leaves nothing to go on with.
    Told::fails(standard("approval = 'plan'"), [steps(), reject("")], "REJECTED");
    Told::fails(standard("approval = 'steps'"), [plan("? 보낼까요?; send x"), reject("")], "REJECTED");
    for (policy, error) in [("on_rejection = 'stop'", "REJECTED"), ("on_expiry = 'stop'", "EXPIRED")] {
        let asked = with_risky(standard(&format!("approval = 'risky'\n{policy}")), "send");
        Told::fails(asked, [steps(), if error == "EXPIRED" { Say::Expired } else { reject("") }], error);
    }
}

#[test]
fn people_are_asked_about_so_many_calls_and_what_is_beyond_is_refused() {
    let limited = |policy: &str| standard(&format!("{policy}\n[limits]\nmax_questions = 1"));
    let risky = with_risky(limited("approval = 'risky'"), "send");
    let mut told = Told::run(risky, [plan("send a; send b; calc 1"), approve(), found("A")]);
    assert_eq!(told.waits(), ["step.1.3.1"]);
    assert!(told.results()[1].starts_with("step_2: failed: ERROR: question_limit: "), "{:?}", told.results());
    told.ends([found("1"), text("답")], "답");
    assert_eq!(told.lines("DENIED"), [denied("step_2", "question_limit")]);
    let refused = limited("").check().expect_err("nobody is asked");
    assert_eq!(refused.to_string().split(':').next(), Some("limits.max_questions"));
}

#[test]
fn strict_reads_only_what_stood_in_the_plan_and_off_lets_everything_run() {
    let by = |containment: &str| {
        let policy =
            format!("containment = '{containment}'\nvalidate = 'verdict'\n[limits]\nmax_replans = 1");
        let mut told = Told::run(spec(&policy), [plan("find x"), found("F"), no()]);
        told.tell([plan("find x; find y; send a; calc 1")]);
        let mut ran = Vec::new();
        while told.first().starts_with("step.") {
            ran.push(told.first());
            told.tell([found("R")]);
        }
        ran
    };
    assert_eq!(by("strict"), ["step.2.1.1", "step.2.4.1"]);
    assert_eq!(by("standard"), ["step.2.1.1", "step.2.2.1", "step.2.4.1"]);
    assert_eq!(by("off"), ["step.2.1.1", "step.2.2.1", "step.2.3.1", "step.2.4.1"]);
}

#[test]
fn an_agent_that_does_a_step_is_contained_as_the_run_around_it() {
    let outer =
        || with_agents(standard(PARALLEL), [team_with("team", |tool| tool.effect == ToolEffect::Write)]);
    let told = Told::run(outer(), [plan("@team t"), asks(&[("send", "a")])]);
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1"], "it was shown nothing untrusted");
    let mut told =
        Told::run(outer(), [plan("a = find x; @team t after a"), found("F"), asks(&[("send", "a")])]);
    // It is asked once more, on its task alone, and has no more authority than before.
    assert_eq!(told.waits(), ["step.1.2.2/plan.1.1"]);
    told.tell([asks(&[("send", "a")])]).ends([text("답")], "답");
    let nested = &told.line("EXECUTE")["nested"][0]["trace"];
    assert_eq!(nested[1], denied("step_1", "authority_missing"), "{nested}");
}

#[test]
fn what_a_refusal_says_is_the_same_whatever_is_refused() {
    for denial in Denial::ALL {
        assert_eq!(serde_json::to_value(denial).expect("a word"), json!(denial.code()));
        assert!(denial.message().starts_with("not called: "), "{denial:?}");
    }
}

#[test]
fn taint_and_authority_are_read_back_with_the_state_and_never_made_up() {
    let told = Told::run(standard(""), [plan("find x; send a"), found("F")]);
    let written = serde_json::to_value(&told.state).expect("JSON");
    let read: State = serde_json::from_value(written.clone()).expect("a state");
    assert_eq!(read, told.state);
    for field in ["/task/tainted", "/task/drafts/0/tainted"] {
        let (place, name) = field.rsplit_once('/').expect("a place");
        let mut without = written.clone();
        without.pointer_mut(place).expect("there").as_object_mut().expect("an object").remove(name);
        assert!(serde_json::from_value::<State>(without).is_err(), "{field} has no default");
    }
}

#[test]
fn a_journal_from_before_containment_goes_on_as_it_began() {
    let spec =
        with_risky(standard("validate = 'verdict'\napproval = 'risky'\n[limits]\nmax_replans = 1"), "send");
    let told = Told::run(spec.clone(), [plan("find x"), found("F"), no(), plan("store b")]);
    assert!(told.results()[0].contains("plan_tainted_write"), "{:?}", told.results());
    for (format, containment, no) in
        [(5, Containment::Off, OnRejection::Stop), (6, Containment::Standard, OnRejection::Skip)]
    {
        let header =
            json!({"header": {"format": format, "run": "r", "spec": spec, "input": Input::question("?")}});
        let header: Record = serde_json::from_value(header).expect("a record");
        let folded = fold([header]).expect("folds");
        let policy = folded.compiled.policy();
        assert_eq!((policy.containment, policy.on_rejection), (containment, no), "{format}");
    }
}
