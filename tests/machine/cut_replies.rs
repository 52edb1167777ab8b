//! A reply that was cut at its token limit: the run ends, asks for a shorter one, or takes what came of it.

use planwright::contract::AnswerForm;
use planwright::machine::{PhaseName, explore};
use planwright::spec::{OnFailure, RoleName, Spec};
use serde_json::json;

use crate::promise::{Say, Told, asks, checked, found, plan, role_agent, spec, text, with_agents};

const REACT: &str = "planner = 'tool_calls' | horizon = 'next' | write = 'planner' | plan = { min_steps = 0 } \
    | [limits] | max_iterations = 2";

/// A spec under this policy of cut replies.
fn cutting(on_cut: &str, more: &str) -> Spec {
    spec(&format!("on_cut = '{on_cut}'\n{}", more.replace(" | ", "\n")))
}

/// What leads to the writer.
fn to_write() -> [Say; 2] {
    [plan("calc 1"), found("1")]
}

#[test]
fn cut_reply_ends_the_run_unless_the_policy_says_otherwise_and_its_text_is_told() {
    for policy in [spec(""), cutting("fail", "")] {
        let mut told = Told::run(policy, to_write());
        told.tell([Say::Cut("답은 사")]).failed("WRITE_ERROR: length: cut");
        assert_eq!(told.state.cut_reply(), Some("답은 사"));
        assert_eq!(told.folded().cut_reply(), Some("답은 사"));
    }
    let mut fallback = spec("");
    fallback.roles.get_mut(&RoleName::Writer).unwrap().on_failure = Some(OnFailure::Fallback("모름".into()));
    Told::run(fallback, to_write()).ends([Say::Cut("답은 사")], "모름");
}

#[test]
fn cut_reply_is_asked_for_again_in_fewer_words_as_often_as_a_bad_one() {
    let mut told = Told::run(cutting("repair", ""), to_write());
    told.tell([Say::Cut("답은 사")]);
    assert_eq!(told.waits(), ["write.1.2"]);
    let repair = &told.payload()["repair"];
    assert_eq!(repair["your_reply"], "답은 사");
    assert!(repair["error"].as_str().unwrap().contains("say it in fewer words"), "{repair}");
    told.ends([text("사")], "사");
    let mut told = Told::run(cutting("repair", ""), to_write());
    told.tell([Say::Cut("답은 사"), Say::Cut("더")]).failed("WRITE_ERROR: length: cut");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "REPAIR", "WRITE"]);

    // Cut ones are repaired where bad ones are not, and the other way round.
    let policy = "on_bad_reply = 'fail' | validate = 'verdict' | [limits] | max_repairs = 2";
    let judged =
        |answers: [Say; 2]| Told::run(cutting("repair", policy), to_write().into_iter().chain(answers));
    assert_eq!(judged([Say::Cut("{\"ok\": tr"), Say::Cut("{")]).waits(), ["validate.1.3"]);
    judged([Say::Cut("{"), text("?")]).failed("VALIDATE_ERROR: contract: ");
    let rounds = cutting("repair", "validate = 'verdict'").check().unwrap().bounds();
    assert_eq!(
        rounds,
        cutting("fail", "validate = 'verdict'").check().unwrap().bounds(),
        "a repair is a repair"
    );
}

#[test]
fn words_that_were_cut_are_taken_with_a_line_of_the_trace() {
    let mut told = Told::run(cutting("accept", ""), to_write());
    told.ends([Say::Cut("답은 사")], "답은 사");
    assert_eq!(told.line("FALLBACK"), json!({"phase": "FALLBACK", "of": "writer", "error": "length: cut"}));
    assert_eq!(told.state.cut_reply(), None);
    Told::begin(cutting("accept", REACT)).ends([Say::Cut("답은 사")], "답은 사");

    let team = with_agents(cutting("accept", "write = 'last_result'"), [role_agent("team")]);
    Told::run(team, [plan("@team 일")]).ends([Say::Cut("한 것")], "한 것");
}

#[test]
fn cut_json_and_nothing_at_all_are_never_taken() {
    for nothing in ["", "<think>so"] {
        Told::run(cutting("accept", ""), to_write()).tell([Say::Cut(nothing)]).failed("WRITE_ERROR: length");
    }
    let whole = r#"{"ok": true, "reason": "", "fix_hint": ""}"#;
    let told =
        Told::run(cutting("accept", "validate = 'verdict'"), to_write().into_iter().chain([Say::Cut(whole)]));
    told.failed("VALIDATE_ERROR: length: cut");
    let mut form = cutting("fail", "");
    form.roles.get_mut(&RoleName::Writer).unwrap().form = Some(AnswerForm::Final);
    Told::run(form, to_write()).tell([Say::Cut("{\"final\": \"답\"}")]).failed("WRITE_ERROR: length: cut");
    // Words beside which there should have been a call are no answer.
    let writes = REACT.replace("'planner' | plan", "'model' | plan");
    Told::begin(cutting("accept", &writes)).tell([Say::Cut("찾아")]).failed("PLAN_ERROR: length: cut");
    assert!(checked("on_cut = 'repair'\non_bad_reply = 'fail'\n[limits]\nmax_repairs = 3").is_ok());
}

#[test]
fn every_invariant_holds_whatever_follows_from_a_cut_reply() {
    for on_cut in ["repair", "accept"] {
        let whole = "validate = 'verdict' | on_bad_reply = 'fail' | plan = { max_steps = 1 } | [limits] | max_replans = 1";
        for policy in [whole, &REACT.replace("min_steps = 0", "min_steps = 0, max_steps = 1")] {
            let report = explore::explore(&cutting(on_cut, policy).check().unwrap());
            let broken: Vec<_> = report.checks.iter().filter(|check| !check.violations.is_empty()).collect();
            assert!(broken.is_empty(), "{on_cut} {policy}: {broken:?}");
        }
    }
    assert_eq!(
        Told::begin(cutting("accept", REACT)).tell([asks(&[("calc", "1")])]).phase(),
        PhaseName::Execute
    );
}
