//! The rules, one claim each: what a run does on every kind of answer. The machine is fed by hand.

use planwright::agents;
use planwright::contract::FinalStep;
use planwright::machine::{
    Effect, EffectKind, Event, FailureClass, Input, ModelFailure, ModelReply, PhaseName, Refusal, State,
    ToolOutcome, Usage, admit, outstanding, start, transition,
};
use planwright::spec::{CompiledSpec, Execution, OnBadReply, OnExhausted, OnStepFailure, RoleName, Spec};
use serde_json::{Value, json};

const PLAN: &str = r#"{"goal":"g","steps":[{"tool":"wiki","input":"a"},{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
const ONLY_FINAL: &str = r#"{"goal":"g","steps":[{"tool":"final_answer","input":"x"}]}"#;
const OK: &str = r#"{"ok":true,"reason":"충분","fix_hint":""}"#;
const REJECTED: &str = r#"{"ok":false,"reason":"주제가 다름","fix_hint":"다시 검색"}"#;
const NO_HINT: &str = r#"{"ok":false,"reason":"thin","fix_hint":" "}"#;

/// An answer of the world, in the order in which it is asked.
enum Say {
    Text(&'static str),
    Class(FailureClass),
    Found,
    Broken,
}
use Say::{Broken, Class, Found, Text};

struct Told {
    state: State,
    roles: Vec<RoleName>,
    tool_calls: usize,
}

impl Told {
    fn trace(&self) -> Vec<Value> {
        self.state.task.trace.iter().map(|line| serde_json::to_value(line).expect("serialises")).collect()
    }

    fn phases(&self) -> Vec<String> {
        self.trace().iter().map(|line| line["phase"].as_str().expect("a phase").to_owned()).collect()
    }

    fn error(&self) -> String {
        self.state.task.error().map(ToString::to_string).unwrap_or_default()
    }
}

/// Tells a run its answers one by one; it must ask for exactly these.
#[track_caller]
fn tell(spec: Spec, answers: &[Say]) -> Told {
    let rules: CompiledSpec = spec.check().expect("checks");
    let mut state = start(&rules, Input::question("왜?")).state;
    let (mut roles, mut tool_calls) = (Vec::new(), 0);
    for answer in answers {
        let waiting = outstanding(&rules, &state);
        let effect = *waiting.first().expect("the run waits for something");
        let id = effect.id();
        match effect {
            Effect::AskModel { role, .. } => roles.push(role),
            Effect::CallTool { .. } => tool_calls += 1,
            other => panic!("the run asks for {other:?}"),
        }
        let event = match answer {
            Text(text) => Event::ModelReplied { effect: id, reply: ModelReply::text(*text) },
            Class(class) => {
                let failure = ModelFailure::new(*class, "said so");
                Event::ModelFailed { effect: id, failure }
            }
            Found => Event::ToolReturned { effect: id, outcome: ToolOutcome::returned("결과") },
            Broken => {
                let outcome = ToolOutcome::Failed { kind: "http".into(), message: "status 500".into() };
                Event::ToolReturned { effect: id, outcome }
            }
        };
        state = transition(&rules, state, event).expect("fits").state;
    }
    assert!(
        outstanding(&rules, &state).is_empty(),
        "the run waits for more: {:?}",
        outstanding(&rules, &state)
    );
    Told { state, roles, tool_calls }
}

fn agent(name: &str) -> Spec {
    agents::shipped(name).expect("shipped")
}

use RoleName::{Planner, Replanner, Validator, Writer};

#[test]
fn an_accepted_plan_is_written_up_after_three_model_calls() {
    let told = tell(agent("validated"), &[Text(PLAN), Found, Found, Text(OK), Text(" 답 ")]);
    assert_eq!(told.roles, [Planner, Validator, Writer]);
    assert_eq!(told.tool_calls, 2);
    assert_eq!(
        told.trace(),
        [
            json!({"phase": "PLAN", "ok": true, "used_replan_planner": false, "steps": [
                {"tool": "wiki", "input": "a"}, {"tool": "calc", "input": "1"}, {"tool": "final_answer", "input": "x"}]}),
            json!({"phase": "EXECUTE", "ok": true, "num_results": 3}),
            json!({"phase": "VALIDATE", "ok": true, "verdict": {"ok": true, "reason": "충분", "fix_hint": ""}}),
            json!({"phase": "WRITE", "ok": true, "final_chars": 1}),
        ]
    );
    assert_eq!(told.state.task.artifacts.final_answer.as_deref(), Some("답"));
}

#[test]
fn rejected_plan_returns_to_plan_until_replans_run_out() {
    let round = [Text(PLAN), Found, Found, Text(REJECTED)];
    let thrice: Vec<Say> = round
        .into_iter()
        .chain([Text(PLAN), Found, Found, Text(REJECTED)])
        .chain([Text(PLAN), Found, Found, Text(REJECTED)])
        .collect();
    let told = tell(agent("validated"), &thrice);
    assert_eq!(told.roles, [Planner, Validator, Replanner, Validator, Replanner, Validator]);
    assert_eq!(told.error(), "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    let round = ["PLAN", "EXECUTE", "VALIDATE", "REPLAN_TRIGGER"];
    let expected: Vec<&str> = round.iter().chain(&round).chain(&round[..3]).copied().collect();
    assert_eq!(told.phases(), expected);
    assert_eq!(
        told.trace()[3],
        json!({
        "phase": "REPLAN_TRIGGER", "replan_count": 1, "reason": "주제가 다름", "fix_hint": "다시 검색"})
    );
    assert_eq!(told.state.task.artifacts.past.len(), 2, "both earlier plans are in the audit trail");
}

#[test]
fn zero_replans_make_the_first_plan_final() {
    let mut spec = agent("validated");
    spec.limits.max_replans = 0;
    let told = tell(spec, &[Text(PLAN), Found, Found, Text(REJECTED)]);
    assert_eq!(told.error(), "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "VALIDATE"]);
}

#[test]
fn used_up_replans_may_answer_with_what_there_is() {
    let mut spec = agent("validated");
    spec.limits.max_replans = 0;
    spec.policy.on_exhausted = OnExhausted::Write;
    let told = tell(spec, &[Text(PLAN), Found, Found, Text(REJECTED), Text("at best")]);
    assert_eq!(told.state.phase.name(), PhaseName::Done);
    assert_eq!(told.roles, [Planner, Validator, Writer]);
}

#[test]
fn the_re_planner_is_asked_only_where_there_is_a_hint() {
    let told =
        tell(agent("validated"), &[Text(ONLY_FINAL), Text(NO_HINT), Text(ONLY_FINAL), Text(OK), Text("a")]);
    assert_eq!(told.roles, [Planner, Validator, Planner, Validator, Writer]);
    assert_eq!(told.trace()[4]["used_replan_planner"], json!(false));
    let told =
        tell(agent("validated"), &[Text(ONLY_FINAL), Text(REJECTED), Text(ONLY_FINAL), Text(OK), Text("a")]);
    assert_eq!(told.roles[2], Replanner);
    assert_eq!(told.trace()[4]["used_replan_planner"], json!(true));
}

#[test]
fn a_plan_of_only_the_final_step_passes_execute_without_a_call() {
    let told = tell(agent("plan-then-execute"), &[Text(ONLY_FINAL), Text(r#"{"final": "답"}"#)]);
    assert_eq!(told.tool_calls, 0);
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "WRITE"]);
    assert_eq!(told.trace()[1]["num_results"], json!(1));
}

#[test]
fn a_bad_reply_is_repaired_once_or_fails_at_once() {
    let told = tell(agent("validated"), &[Text("no plan"), Text(ONLY_FINAL), Text(OK), Text("a")]);
    assert_eq!(told.phases(), ["REPAIR", "PLAN", "EXECUTE", "VALIDATE", "WRITE"]);
    assert_eq!(told.trace()[0]["of"], json!("PLAN"));

    let told = tell(agent("validated"), &[Text("no plan"), Text("nor this")]);
    assert!(told.error().starts_with("PLAN_ERROR: contract: $: expected a JSON object"), "{}", told.error());
    assert_eq!(told.phases(), ["REPAIR", "PLAN"]);

    let mut strict = agent("validated");
    strict.policy.on_bad_reply = OnBadReply::Fail;
    assert_eq!(tell(strict.clone(), &[Text("no plan")]).phases(), ["PLAN"]);
    let told = tell(strict.clone(), &[Text(ONLY_FINAL), Text("{}")]);
    assert!(told.error().starts_with("VALIDATE_ERROR: contract: $: missing field `ok`"), "{}", told.error());
    let told = tell(strict, &[Text(ONLY_FINAL), Text(OK), Text("  ")]);
    assert_eq!(told.error(), "WRITE_ERROR: contract: $: expected an answer, found nothing");

    let mut lenient = agent("plan-then-execute");
    lenient.policy.on_bad_reply = OnBadReply::Repair;
    let told = tell(lenient, &[Text("?"), Text(ONLY_FINAL), Text("plain"), Text(r#"{"final": "a"}"#)]);
    assert_eq!(told.phases(), ["REPAIR", "PLAN", "EXECUTE", "REPAIR", "WRITE"]);
}

#[test]
fn repairs_are_counted_for_each_reply_and_not_for_the_run() {
    let told = tell(
        agent("validated"),
        &[
            Text("?"),
            Text(ONLY_FINAL),
            Text("?"),
            Text(REJECTED),
            Text("?"),
            Text(ONLY_FINAL),
            Text("?"),
            Text(OK),
            Text(""),
            Text("a"),
        ],
    );
    assert_eq!(told.state.phase.name(), PhaseName::Done);
    assert_eq!(told.state.task.counters.model_calls, 10);
}

#[test]
fn an_answer_that_is_no_reply_ends_the_phase_that_asked() {
    let told = tell(agent("validated"), &[Class(FailureClass::Refusal)]);
    assert_eq!(told.error(), "PLAN_ERROR: refusal: said so");
    assert_eq!(
        told.trace(),
        [json!({
        "phase": "PLAN", "ok": false, "used_replan_planner": false, "error": "PLAN_ERROR: refusal: said so"})]
    );
    let told = tell(agent("validated"), &[Text(ONLY_FINAL), Class(FailureClass::ContextLength)]);
    assert_eq!(told.error(), "VALIDATE_ERROR: context_length: said so");
    let told = tell(agent("plan-then-execute"), &[Text(ONLY_FINAL), Class(FailureClass::Length)]);
    assert_eq!(told.error(), "WRITE_ERROR: length: said so");
}

#[test]
fn a_failed_step_is_a_result_a_new_plan_or_the_end() {
    let told = tell(agent("validated"), &[Text(PLAN), Broken, Found, Text(OK), Text("a")]);
    assert_eq!(told.trace()[1], json!({"phase": "EXECUTE", "ok": true, "num_results": 3, "num_failed": 1}));
    let progress = told.state.task.progress.as_ref().expect("a plan");
    assert_eq!(progress.steps[0].output(), Some("ERROR: http: status 500"));

    let mut spec = agent("validated");
    spec.policy.on_step_failure = OnStepFailure::Abort;
    let told = tell(spec, &[Text(PLAN), Broken]);
    assert_eq!(told.error(), "EXECUTE_ERROR: step_1 (wiki) failed: ERROR: http: status 500");

    let mut spec = agent("validated");
    spec.policy.on_step_failure = OnStepFailure::Replan;
    spec.limits.max_replans = 1;
    let told = tell(spec, &[Text(PLAN), Broken, Text(PLAN), Found, Broken]);
    assert_eq!(told.roles, [Planner, Replanner]);
    assert_eq!(told.error(), "STEP_FAILED_MAX_REPLANS: step_2 (calc) failed: ERROR: http: status 500");
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "REPLAN_TRIGGER", "PLAN", "EXECUTE"]);
}

#[test]
fn step_failures_and_rejections_share_one_count_of_replans() {
    let mut spec = agent("validated");
    spec.policy.on_step_failure = OnStepFailure::Replan;
    let told = tell(
        spec,
        &[Text(PLAN), Broken, Text(ONLY_FINAL), Text(REJECTED), Text(PLAN), Found, Found, Text(REJECTED)],
    );
    assert_eq!(told.error(), "VALIDATION_FAILED_MAX_REPLANS: 주제가 다름");
    assert_eq!(told.state.task.counters.replans, 2);
}

#[test]
fn what_waits_for_a_failed_step_is_not_run() {
    let chained = r#"{"goal":"g","steps":[{"tool":"wiki","input":"a"},{"tool":"docs","input_from":"step_1"},{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
    let told = tell(agent("plan-then-execute"), &[Text(chained), Broken, Found, Text(r#"{"final": "a"}"#)]);
    assert_eq!(told.tool_calls, 2);
    let progress = told.state.task.progress.as_ref().expect("a plan");
    assert_eq!(
        progress.steps[1].output(),
        Some("ERROR: dependency: step_1 failed, so this step was not run")
    );
    assert_eq!(told.trace()[1], json!({"phase": "EXECUTE", "ok": true, "num_results": 4, "num_failed": 2}));
}

#[test]
fn a_plan_beyond_the_budget_ends_the_run_before_its_first_step() {
    let mut spec = agent("validated");
    spec.limits.max_tool_calls = Some(1);
    let told = tell(spec, &[Text(PLAN)]);
    assert_eq!(told.error(), "MAX_TOOL_CALLS_EXCEEDED: the plan needs 2 tool calls in all, 1 are allowed");
    assert_eq!(told.tool_calls, 0);

    let mut spec = agent("validated");
    spec.limits.max_model_calls = Some(1);
    let told = tell(spec, &[Text(ONLY_FINAL)]);
    assert!(told.error().starts_with("MAX_MODEL_CALLS_EXCEEDED"), "{}", told.error());

    let mut spec = agent("validated");
    spec.limits.max_transitions = Some(2);
    let told = tell(spec, &[Text(PLAN)]);
    assert!(told.error().starts_with("MAX_STEPS_EXCEEDED"), "{}", told.error());
}

#[test]
fn a_repair_that_the_budget_does_not_allow_leaves_no_line() {
    let mut spec = agent("validated");
    spec.limits.max_model_calls = Some(1);
    let told = tell(spec, &[Text("no plan")]);
    assert_eq!(told.phases(), ["PLAN"]);
    assert!(told.error().starts_with("MAX_MODEL_CALLS_EXCEEDED: plan.1.2"), "{}", told.error());
}

#[test]
fn steps_side_by_side_start_as_soon_as_what_they_wait_for_is_done() {
    let mut spec = agent("plan-then-execute");
    spec.policy.execution = Execution::Parallel { width: 2 };
    let rules = spec.check().expect("checks");
    let diamond = r#"{"goal":"g","steps":[{"tool":"wiki","input":"a"},{"tool":"docs","input":"b","depends_on":["step_1"]},{"tool":"docs","input":"c","depends_on":[1]},{"tool":"calc","input":"1","depends_on":["step_2","step_3"]},{"tool":"final_answer","input":"x"}]}"#;
    let begun = start(&rules, Input::question("q"));
    let id = begun.effects[0].id();
    let step =
        transition(&rules, begun.state, Event::ModelReplied { effect: id, reply: ModelReply::text(diamond) })
            .expect("fits");
    let ids = |effects: &[Effect]| -> Vec<String> {
        effects.iter().map(|effect| effect.id().to_string()).collect()
    };
    assert_eq!(ids(&step.effects), ["step.1.1.1"]);
    let answer = |state: State, id: &str| {
        let outcome = ToolOutcome::returned("o");
        transition(&rules, state, Event::ToolReturned { effect: id.parse().expect("an id"), outcome })
            .expect("fits")
    };
    let step = answer(step.state, "step.1.1.1");
    assert_eq!(ids(&step.effects), ["step.1.2.1", "step.1.3.1"]);
    let step = answer(step.state, "step.1.3.1");
    assert!(step.effects.is_empty(), "the last step waits for both arms");
    let step = answer(step.state, "step.1.2.1");
    assert_eq!(ids(&step.effects), ["step.1.4.1"]);
    let step = answer(step.state, "step.1.4.1");
    assert_eq!(ids(&step.effects), ["write.1.1"]);
}

/// What each of these ids is told where nothing waits for it.
#[track_caller]
fn check_refusals(rules: &CompiledSpec, state: &State, expected: &[(&str, &str)]) {
    for (id, said) in expected {
        let effect = id.parse().expect("an id");
        let outcome = ToolOutcome::returned("late");
        let event = match id.starts_with("step") {
            true => Event::ToolReturned { effect, outcome },
            false => Event::ModelReplied { effect, reply: ModelReply::text(OK) },
        };
        let refusal = planwright::machine::admit(rules, state, &event).expect_err(id);
        let refusal = format!("{refusal:?}");
        assert_eq!(refusal.split('(').next(), Some(*said), "{id}");
    }
}

#[test]
fn a_refusal_says_whether_it_was_answered_or_never_asked() {
    let rules = agent("validated").check().expect("checks");
    let mut state = start(&rules, Input::question("q")).state;
    let tell = |state: State, text: &str| {
        let effect = outstanding(&rules, &state)[0].id();
        let event = match effect.to_string().starts_with("step") {
            true => Event::ToolReturned { effect, outcome: ToolOutcome::returned(text) },
            false => Event::ModelReplied { effect, reply: ModelReply::text(text) },
        };
        transition(&rules, state, event).expect("fits").state
    };
    let chained = r#"{"goal":"g","steps":[{"tool":"wiki","input":"a"},{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
    for text in ["no plan", chained, "found"] {
        state = tell(state, text);
    }
    const ASKED: &str = "AlreadyAnswered";
    const NEVER: &str = "NeverAsked";
    check_refusals(
        &rules,
        &state,
        &[
            ("plan.1.1", ASKED),
            ("plan.1.2", ASKED),
            ("plan.1.3", NEVER),
            ("plan.2.1", NEVER),
            ("step.1.1.1", ASKED),
            ("step.1.1.2", NEVER),
            ("step.1.3.1", NEVER),
            ("step.1.4.1", NEVER),
            ("step.2.1.1", NEVER),
            ("validate.1.1", NEVER),
            ("write.1.1", NEVER),
        ],
    );
    for text in ["2", "no verdict", REJECTED] {
        state = tell(state, text);
    }
    check_refusals(
        &rules,
        &state,
        &[
            ("plan.1.2", ASKED),
            ("plan.1.3", NEVER),
            ("plan.2.2", NEVER),
            ("step.1.2.1", ASKED),
            ("step.1.3.1", NEVER),
            ("validate.1.1", ASKED),
            ("validate.1.2", ASKED),
            ("validate.1.3", NEVER),
            ("validate.2.1", NEVER),
        ],
    );
    for text in [ONLY_FINAL, OK, " "] {
        state = tell(state, text);
    }
    check_refusals(
        &rules,
        &state,
        &[
            ("write.2.1", ASKED),
            ("write.1.1", NEVER),
            ("write.2.3", NEVER),
            ("validate.2.1", ASKED),
            ("validate.2.2", NEVER),
            ("plan.2.1", ASKED),
            ("plan.3.1", NEVER),
            ("step.2.1.1", NEVER),
        ],
    );
    let ended = tell(state, "an answer");
    check_refusals(&rules, &ended, &[("write.2.2", "Ended"), ("plan.9.9", "Ended")]);
}

#[test]
fn an_input_comes_from_the_step_that_the_check_resolved() {
    let mut spec = agent("plan-then-execute");
    spec.policy.execution = Execution::Parallel { width: 4 };
    let rules = spec.check().expect("checks");
    let plan = r#"{"goal":"g","steps":[{"id":"step_03","tool":"wiki","input":"a"},{"tool":"docs","input":"b"},{"tool":"docs","input":"c"},{"tool":"docs","input_from":"step_03"},{"tool":"final_answer","input":"x"}]}"#;
    let begun = start(&rules, Input::question("q"));
    let event = Event::ModelReplied { effect: begun.effects[0].id(), reply: ModelReply::text(plan) };
    let state = transition(&rules, begun.state, event).expect("fits").state;
    let outcome = ToolOutcome::returned("from the first");
    let first = "step.1.1.1".parse().expect("an id");
    let state =
        transition(&rules, state, Event::ToolReturned { effect: first, outcome }).expect("fits").state;
    let (tool, input) = planwright::prompt::tool_call(&state, 3).expect("its input is there");
    assert_eq!((tool, input.as_str()), ("docs", Some("from the first")));
}

#[test]
fn reading_untrusted_output_taints_the_run_and_every_plan_after_it() {
    let calc = r#"{"goal":"g","steps":[{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#;
    let told = tell(agent("validated"), &[Text(calc), Found, Text(OK), Text("a")]);
    assert!(!told.state.task.tainted, "calc is trusted");
    let told = tell(
        agent("validated"),
        &[Text(PLAN), Broken, Found, Text(REJECTED), Text(calc), Found, Text(OK), Text("a")],
    );
    assert!(told.state.task.tainted, "a failure's text is output too");
    assert!(!told.state.task.drafts[0].tainted && told.state.task.drafts[1].tainted);
}

#[test]
fn a_budget_that_is_just_enough_is_enough() {
    let mut spec = agent("validated");
    (spec.limits.max_tool_calls, spec.limits.max_model_calls) = (Some(2), Some(3));
    spec.limits.max_transitions = Some(5);
    let told = tell(spec, &[Text(PLAN), Found, Found, Text(OK), Text("a")]);
    assert_eq!(told.state.phase.name(), PhaseName::Done);
}

#[test]
fn of_several_failed_steps_the_first_in_the_plan_is_named() {
    let mut spec = agent("validated");
    spec.policy.execution = Execution::Parallel { width: 2 };
    spec.policy.on_step_failure = OnStepFailure::Abort;
    let told = tell(spec, &[Text(PLAN), Broken, Broken]);
    assert_eq!(told.error(), "EXECUTE_ERROR: step_1 (wiki) failed: ERROR: http: status 500");
}

#[test]
fn what_a_tool_said_is_no_reason_for_a_new_plan_and_no_hint() {
    let mut spec = agent("validated");
    spec.policy.on_step_failure = OnStepFailure::Replan;
    let told = tell(spec, &[Text(PLAN), Broken, Text(ONLY_FINAL), Text(OK), Text("a")]);
    let trigger = json!({
        "phase": "REPLAN_TRIGGER", "replan_count": 1, "reason": "step_1 (wiki) failed",
        "fix_hint": "Plan another way to what the failed step was for."});
    assert_eq!(told.trace()[2], trigger);
    assert_eq!(told.state.task.feedback, None, "it is forgotten when another plan is accepted");
}

#[test]
fn a_repaired_reply_stays_among_the_failures() {
    let told = tell(agent("validated"), &[Text("?"), Text(ONLY_FINAL), Text("?"), Text(OK), Text("a")]);
    let failures: Vec<_> = told.state.task.failures.iter().map(|it| (it.phase, it.draft)).collect();
    assert_eq!(failures, [(PhaseName::Plan, 1), (PhaseName::Validate, 1)]);
    assert!(told.state.task.failures[0].message.starts_with("$: expected a JSON object"));
}

#[test]
fn every_reply_is_counted_in_what_the_run_cost() {
    let rules = agent("validated").check().expect("checks");
    let mut state = start(&rules, Input::question("q")).state;
    for (text, nth) in [("?", 1), (ONLY_FINAL, 10), ("?", 100), (OK, 1_000), ("", 10_000), ("a", 100_000)] {
        let usage = Usage { input_tokens: nth, output_tokens: 2 * nth, cached_tokens: 3 * nth };
        let reply = ModelReply { usage, ..ModelReply::text(text) };
        let effect = outstanding(&rules, &state)[0].id();
        state = transition(&rules, state, Event::ModelReplied { effect, reply }).expect("fits").state;
    }
    assert_eq!(state.phase.name(), PhaseName::Done);
    let all = Usage { input_tokens: 111_111, output_tokens: 222_222, cached_tokens: 333_333 };
    assert_eq!(state.task.counters.usage, all);
}

#[test]
fn an_answer_of_the_wrong_kind_is_refused_and_so_is_an_asking_zero() {
    let rules = agent("validated").check().expect("checks");
    let begun = start(&rules, Input::question("q")).state;
    let returned = |effect| Event::ToolReturned { effect, outcome: ToolOutcome::returned(PLAN) };
    let replied = |effect, text: &str| Event::ModelReplied { effect, reply: ModelReply::text(text) };
    let (plan, step) = ("plan.1.1".parse().expect("an id"), "step.1.1.1".parse().expect("an id"));
    assert_eq!(admit(&rules, &begun, &returned(plan)), Err(Refusal::WrongKind(plan)));
    let zero = EffectKind::Plan { draft: 1, ask: 0 }.into();
    assert_eq!(admit(&rules, &begun, &replied(zero, PLAN)), Err(Refusal::NeverAsked(zero)));
    let running = transition(&rules, begun, replied(plan, PLAN)).expect("fits").state;
    assert_eq!(admit(&rules, &running, &replied(step, "found")), Err(Refusal::WrongKind(step)));
    let failure = ModelFailure::new(FailureClass::Refusal, "no");
    let failed = Event::ModelFailed { effect: step, failure };
    assert_eq!(admit(&rules, &running, &failed), Err(Refusal::WrongKind(step)));
}

#[test]
fn the_bounds_of_a_spec_count_plans_verdicts_repairs_and_steps() {
    let of = |spec: Spec| {
        let bounds = spec.check().expect("checks").bounds();
        (bounds.model_calls, bounds.tool_calls, bounds.transitions)
    };
    let mut spec = agent("validated");
    spec.policy.plan.max_steps = 4;
    // Three plans and three verdicts and an answer, each asked for twice; three steps beside the last.
    assert_eq!(of(spec.clone()), (14, 9, 23));
    spec.policy.on_bad_reply = OnBadReply::Fail;
    assert_eq!(of(spec.clone()), (7, 9, 16));
    spec.limits.max_replans = 0;
    assert_eq!(of(spec.clone()), (3, 3, 6));
    spec.policy.plan.final_step = FinalStep::None;
    assert_eq!(of(spec), (3, 4, 7));
}
