//! The rules, one claim each: what a run does on every kind of answer.

use planwright::agents;
use planwright::contract::{FinalStep, Trust};
use planwright::machine::{EffectKind, FailureClass, ModelReply, PhaseName, Refusal, Usage};
use planwright::spec::{Containment, Execution, OnExhausted, OnFailure, OnStepFailure, Spec};
use serde_json::json;

use crate::promise::{BROKEN, Say, Told, broken, found, id, refuses_to_say, text};

const PLAN: &str = r#"{"goal":"g","steps":[{"tool":"wiki","input":"a"},{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
const ONLY_FINAL: &str = r#"{"goal":"g","steps":[{"tool":"final_answer","input":"x"}]}"#;
const ONLY_CALC: &str =
    r#"{"goal":"g","steps":[{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
const OK: &str = r#"{"ok":true,"reason":"충분","fix_hint":""}"#;
const REJECTED: &str = r#"{"ok":false,"reason":"주제가 다름","fix_hint":"다시 검색"}"#;
const NO_HINT: &str = r#"{"ok":false,"reason":"thin","fix_hint":" "}"#;

/// A shipped agent with something changed.
fn agent(name: &str, change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = agents::shipped(name).expect("shipped");
    change(&mut spec);
    spec
}

fn validated(change: impl FnOnce(&mut Spec)) -> Spec {
    agent("validated", change)
}

/// Every tool says what can be trusted, so a no is the validator's own.
fn trusting(spec: &mut Spec) {
    spec.tools.iter_mut().for_each(|tool| tool.trust = Trust::Trusted);
}

fn replanning(spec: &mut Spec) {
    spec.policy.on_step_failure = OnStepFailure::Replan;
}

/// The answers of a story: `!` is a tool that fails, `=` one that finds something; all else is said by a
/// model.
fn answers(story: &[&str]) -> Vec<Say> {
    let answer = |said: &&str| match *said {
        "!" => broken(),
        "=" => found("결과"),
        said => text(said),
    };
    story.iter().map(answer).collect()
}

/// Tells a run its whole story.
#[track_caller]
fn tell(spec: Spec, story: &[&str]) -> Told {
    let told = Told::run(spec, answers(story));
    assert_eq!(told.waits(), Vec::<String>::new(), "the story ends");
    told
}

#[track_caller]
fn fails(spec: Spec, story: &[&str], error: &str) -> Told {
    let told = tell(spec, story);
    told.failed(error);
    told
}

#[test]
fn an_accepted_plan_is_written_up_after_three_model_calls() {
    let told = tell(validated(|_| {}), &[PLAN, "=", "=", OK, " 답 "]);
    assert_eq!(told.asked, ["planner", "wiki", "calc", "validator", "writer"]);
    let steps = json!([
        {"tool": "wiki", "input": "a"}, {"tool": "calc", "input": "1"}, {"tool": "final_answer", "input": "x"},
    ]);
    let trace = [
        json!({"phase": "PLAN", "ok": true, "used_replan_planner": false, "steps": steps}),
        json!({"phase": "EXECUTE", "ok": true, "num_results": 3}),
        json!({"phase": "VALIDATE", "ok": true, "verdict": {"ok": true, "reason": "충분", "fix_hint": ""}}),
        json!({"phase": "WRITE", "ok": true, "final_chars": 1}),
    ];
    assert_eq!((told.trace(), told.said()), (trace.to_vec(), "답"));
}

#[test]
fn rejected_plan_returns_to_plan_until_replans_run_out() {
    let round = [PLAN, "=", "=", REJECTED];
    let told = fails(validated(trusting), &round.repeat(3), "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    let round = |planner| [planner, "wiki", "calc", "validator"];
    assert_eq!(told.asked, [round("planner"), round("replanner"), round("replanner")].concat());
    let phases = ["PLAN", "EXECUTE", "VALIDATE", "REPLAN_TRIGGER"].repeat(3);
    assert_eq!(told.phases(), phases[..11]);
    let trigger = json!({
        "phase": "REPLAN_TRIGGER", "replan_count": 1, "reason": "주제가 다름", "fix_hint": "다시 검색"});
    assert_eq!(told.line("REPLAN_TRIGGER"), trigger);
    assert_eq!(told.step(0).plan, 2, "both earlier plans are in the audit trail");
}

#[test]
fn zero_replans_make_the_first_plan_final_or_answer_with_what_there_is() {
    let story = [PLAN, "=", "=", REJECTED, "at best"];
    let last = |on_exhausted| {
        validated(|spec| {
            trusting(spec);
            (spec.limits.max_replans, spec.policy.on_exhausted) = (0, on_exhausted);
        })
    };
    let told = fails(last(OnExhausted::Fail), &story[..4], "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "VALIDATE"]);
    let told = tell(last(OnExhausted::Write), &story);
    assert_eq!((told.phase(), told.said()), (PhaseName::Done, "at best"));
}

#[test]
fn a_no_after_untrusted_text_was_read_takes_no_answer_away() {
    let last = || validated(|spec| spec.limits.max_replans = 0);
    for found in ["=", "!"] {
        let told = tell(last(), &[PLAN, "=", found, REJECTED, "at best"]);
        let ended = (told.phase(), told.said(), told.state.objection());
        assert_eq!(ended, (PhaseName::Done, "at best", Some("주제가 다름")));
    }
    let off = validated(|spec| (spec.limits.max_replans, spec.policy.containment) = (0, Containment::Off));
    fails(off, &[PLAN, "=", "=", REJECTED], "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
}

#[test]
fn the_re_planner_is_asked_only_where_there_is_a_hint() {
    for (verdict, asked) in [(NO_HINT, "planner"), (REJECTED, "replanner")] {
        let told = tell(validated(|_| {}), &[ONLY_FINAL, verdict, ONLY_FINAL, OK, "a"]);
        assert_eq!(told.asked, ["planner", "validator", asked, "validator", "writer"]);
        assert_eq!(told.trace()[4]["used_replan_planner"], json!(asked == "replanner"));
    }
}

#[test]
fn a_plan_of_only_the_final_step_passes_execute_without_a_call() {
    let told = tell(agent("plan-then-execute", |_| {}), &[ONLY_FINAL, r#"{"final": "답"}"#]);
    assert_eq!((told.phases().join(" "), told.asked.len()), ("PLAN EXECUTE WRITE".into(), 2));
    assert_eq!(told.trace()[1]["num_results"], json!(1));
}

#[test]
fn a_bad_reply_is_repaired_once_or_fails_at_once() {
    let told = tell(validated(|_| {}), &["no plan", ONLY_FINAL, OK, "a"]);
    assert_eq!(told.phases(), ["REPAIR", "PLAN", "EXECUTE", "VALIDATE", "WRITE"]);
    assert_eq!(told.trace()[0]["of"], json!("PLAN"));
    let story = ["?", ONLY_FINAL, "?", REJECTED, "?", ONLY_FINAL, "?", OK, "", "a"];
    let told = tell(validated(|_| {}), &story);
    assert_eq!(told.spent().model_calls, 10, "repairs are counted for each reply and not for the run");
    let no_plan = "PLAN_ERROR: contract: $: expected a JSON object";
    assert_eq!(fails(validated(|_| {}), &["no plan", "nor this"], no_plan).phases(), ["REPAIR", "PLAN"]);

    let strict = || validated(|spec| spec.policy.on_bad_reply = OnFailure::Fail);
    assert_eq!(fails(strict(), &["no plan"], no_plan).phases(), ["PLAN"]);
    fails(strict(), &[ONLY_FINAL, "{}"], "VALIDATE_ERROR: contract: $: missing field `ok`");
    fails(strict(), &[ONLY_FINAL, OK, "  "], "WRITE_ERROR: contract: $: expected an answer, found nothing");

    let lenient = agent("plan-then-execute", |spec| spec.policy.on_bad_reply = OnFailure::Repair);
    let told = tell(lenient, &["?", ONLY_FINAL, "plain", r#"{"final": "a"}"#]);
    assert_eq!(told.phases(), ["REPAIR", "PLAN", "EXECUTE", "REPAIR", "WRITE"]);
}

#[test]
fn an_answer_that_is_no_reply_ends_the_phase_that_asked() {
    let error = "PLAN_ERROR: refusal: said so";
    let told = Told::fails(validated(|_| {}), [refuses_to_say()], error);
    let line = json!({"phase": "PLAN", "ok": false, "used_replan_planner": false, "error": error});
    assert_eq!(told.trace(), [line]);
    for (name, class, error) in [
        ("validated", FailureClass::ContextLength, "VALIDATE_ERROR: context_length: said so"),
        ("plan-then-execute", FailureClass::Length, "WRITE_ERROR: length: said so"),
    ] {
        Told::fails(agent(name, |_| {}), [text(ONLY_FINAL), Say::Class(class)], error);
    }
}

#[test]
fn a_failed_step_is_a_result_a_new_plan_or_the_end() {
    let told = tell(validated(|_| {}), &[PLAN, "!", "=", OK, "a"]);
    assert_eq!(told.trace()[1], json!({"phase": "EXECUTE", "ok": true, "num_results": 3, "num_failed": 1}));
    assert_eq!(told.step(0).output, Some(BROKEN));

    let abort = validated(|spec| spec.policy.on_step_failure = OnStepFailure::Abort);
    fails(abort, &[PLAN, "!"], "EXECUTE_ERROR: step_1 (wiki) failed: ERROR: http: status 500");

    let replan = validated(|spec| {
        replanning(spec);
        spec.limits.max_replans = 1;
    });
    let error = "STEP_FAILED_MAX_REPLANS: step_2 (calc) failed: ERROR: http: status 500";
    let told = fails(replan, &[PLAN, "!", PLAN, "=", "!"], error);
    assert_eq!(told.asked, ["planner", "wiki", "replanner", "wiki", "calc"]);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "REPLAN_TRIGGER", "PLAN", "EXECUTE"]);
}

#[test]
fn step_failures_and_rejections_share_one_count_of_replans() {
    let story = [PLAN, "=", "!", ONLY_FINAL, REJECTED, PLAN, "=", "=", REJECTED];
    let both = validated(|spec| {
        trusting(spec);
        replanning(spec);
    });
    let told = fails(both, &story, "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    assert_eq!(told.spent().replans, 2);
}

#[test]
fn a_plan_beyond_the_budget_ends_the_run_before_its_first_step() {
    let told = fails(
        validated(|spec| spec.limits.max_tool_calls = Some(1)),
        &[PLAN],
        "MAX_TOOL_CALLS_EXCEEDED: the plan needs 2 tool calls in all, 1 are allowed",
    );
    assert_eq!(told.spent().tool_calls, 0);
    let one_call = || validated(|spec| spec.limits.max_model_calls = Some(1));
    fails(one_call(), &[ONLY_FINAL], "MAX_MODEL_CALLS_EXCEEDED");
    let told = fails(one_call(), &["no plan"], "MAX_MODEL_CALLS_EXCEEDED: plan.1.2");
    assert_eq!(told.phases(), ["PLAN"], "a repair that is not allowed leaves no line");
    fails(validated(|spec| spec.limits.max_transitions = Some(2)), &[PLAN], "MAX_STEPS_EXCEEDED");
}

#[test]
fn a_budget_that_is_just_enough_is_enough() {
    let spec = validated(|spec| {
        (spec.limits.max_tool_calls, spec.limits.max_model_calls) = (Some(2), Some(3));
        spec.limits.max_transitions = Some(5);
    });
    assert_eq!(tell(spec, &[PLAN, "=", "=", OK, "a"]).phase(), PhaseName::Done);
}

#[test]
fn an_answer_of_the_wrong_kind_or_to_what_is_not_asked_is_refused() {
    let mut told = Told::begin(validated(|_| {}));
    let zero = EffectKind::Plan { draft: 1, ask: 0 }.into();
    assert_eq!(told.refusal("plan.1.1", found(PLAN)), Refusal::WrongKind(id("plan.1.1")));
    let asked_zero = planwright::machine::admit(&told.compiled, &told.state, &text(PLAN).event(zero));
    assert_eq!(asked_zero, Err(Refusal::NotAwaited(zero)));
    told.tell([text(PLAN)]);
    for answer in [text("found"), refuses_to_say()] {
        assert_eq!(told.refusal("step.1.1.1", answer), Refusal::WrongKind(id("step.1.1.1")));
    }
    for never in ["plan.1.2", "plan.2.1", "step.1.1.2", "step.1.2.1", "validate.1.1", "write.1.1"] {
        assert_eq!(told.refusal(never, text("x")), Refusal::NotAwaited(id(never)));
    }
    told.tell(answers(&["=", "=", OK])).ends([text("an answer")], "an answer");
    for late in ["write.1.1", "plan.9.9"] {
        assert_eq!(told.refusal(late, text("late")), Refusal::Ended);
    }
}

#[test]
fn reading_untrusted_output_taints_the_run_and_every_plan_after_it() {
    let told = tell(validated(|_| {}), &[ONLY_CALC, "=", OK, "a"]);
    assert!(!told.tainted(), "calc is trusted");
    let told = tell(validated(|_| {}), &[PLAN, "!", "=", REJECTED, ONLY_CALC, "=", OK, "a"]);
    assert!(told.tainted(), "a failure's text is output too");
    assert_eq!(
        [0, 1].map(|draft| told.memory(&format!("/drafts/{draft}/tainted"))),
        [json!(false), json!(true)]
    );
}

#[test]
fn of_several_failed_steps_the_first_in_the_plan_is_named() {
    let spec = validated(|spec| {
        spec.policy.execution = Execution::Parallel { width: 2 };
        spec.policy.on_step_failure = OnStepFailure::Abort;
    });
    fails(spec, &[PLAN, "!", "!"], "EXECUTE_ERROR: step_1 (wiki) failed: ERROR: http: status 500");
}

#[test]
fn what_a_tool_said_is_no_reason_for_a_new_plan_and_no_hint() {
    let told = tell(validated(replanning), &[PLAN, "!", ONLY_FINAL, OK, "a"]);
    let trigger = json!({
        "phase": "REPLAN_TRIGGER", "replan_count": 1, "reason": "step_1 (wiki) failed",
        "fix_hint": "Plan another way to what the failed step was for."});
    assert_eq!(told.trace()[2], trigger);
    assert_eq!(told.memory("/feedback"), json!(null), "it is forgotten when another plan is accepted");
}

#[test]
fn a_repaired_reply_stays_among_the_failures() {
    let told = tell(validated(|_| {}), &["?", ONLY_FINAL, "?", OK, "a"]);
    let phases = [0, 1, 2].map(|nth| told.memory(&format!("/failures/{nth}/phase")));
    assert_eq!(phases, [json!("PLAN"), json!("VALIDATE"), json!(null)]);
    let first = told.memory("/failures/0/message");
    assert!(first.as_str().is_some_and(|first| first.starts_with("$: expected a JSON object")));
}

#[test]
fn every_reply_is_counted_in_what_the_run_cost() {
    let costly = |(said, nth): (&str, u64)| {
        let usage =
            Usage { input_tokens: nth, output_tokens: 2 * nth, cached_tokens: 3 * nth, ..Usage::default() };
        Say::Reply(ModelReply { usage, ..ModelReply::text(said) })
    };
    let replies = [("?", 1), (ONLY_FINAL, 10), ("?", 100), (OK, 1_000), ("", 10_000), ("a", 100_000)];
    let told = Told::run(validated(|_| {}), replies.map(costly));
    let all =
        Usage { input_tokens: 111_111, output_tokens: 222_222, cached_tokens: 333_333, ..Usage::default() };
    assert_eq!((told.phase(), told.spent().usage), (PhaseName::Done, all));
}

#[test]
fn the_bounds_of_a_spec_count_plans_verdicts_repairs_and_steps() {
    let of = |spec: &Spec| {
        let bounds = spec.clone().check().expect("checks").bounds();
        (bounds.model_calls, bounds.tool_calls, bounds.transitions)
    };
    let mut spec = validated(|spec| spec.policy.plan.max_steps = 4);
    // Three plans and three verdicts and an answer, each asked for twice; three steps beside the last.
    assert_eq!(of(&spec), (14, 9, 23));
    spec.policy.on_bad_reply = OnFailure::Fail;
    assert_eq!(of(&spec), (7, 9, 16));
    spec.limits.max_replans = 0;
    assert_eq!(of(&spec), (3, 3, 6));
    spec.policy.plan.final_step = FinalStep::None;
    assert_eq!(of(&spec), (3, 4, 7));
}
