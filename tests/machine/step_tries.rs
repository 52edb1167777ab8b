//! A step is tried as often as the policy says, with waits that double, and never again where it may
//! not happen twice.

use crate::promise;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::driver::{Agent, Sleeper};
use planwright::machine::{Effect, FailureClass, Input, Refusal};
use planwright::ports::FnTool;
use planwright::ports::ScriptedModel;
use planwright::ports::ToolError;
use planwright::spec::Spec;
use promise::{Say, Told, broken, found, id, plan, role_agent, spec, team, team_with, text, with_agents};
use serde_json::json;

const THRICE: &str = "step_tries = { tries = 3 }";

fn one(tool: &str) -> Say {
    plan(json!([{"tool": tool, "input": "a"}]))
}

/// The tries of one step, each failing but the last; these ids are asked, in this order.
#[track_caller]
fn check(spec: Spec, tool: &str, answers: Vec<Say>, ids: &[&str], tool_calls: u32, result: &str) {
    let mut told = Told::run(spec, [one(tool)]);
    let mut asked = Vec::new();
    for answer in answers {
        asked.push(told.waits()[0].clone());
        told.tell([answer]);
    }
    assert_eq!(asked, ids);
    assert_eq!(told.waits(), ["write.1.1"]);
    assert_eq!(told.results(), [result]);
    assert_eq!(told.state.task.counters.tool_calls, tool_calls);
    assert_eq!(told.state, told.folded());
}

#[test]
fn a_failed_try_is_followed_by_a_wait_and_another_until_the_tries_are_used_up() {
    check(
        spec(THRICE),
        "find",
        vec![broken(), Say::Passed, broken(), Say::Passed, broken()],
        &["step.1.1.1", "wait.1.1.2", "step.1.1.2", "wait.1.1.3", "step.1.1.3"],
        3,
        "step_1: failed: ERROR: http: status 500",
    );
}

#[test]
fn a_try_that_succeeds_is_the_last() {
    check(
        spec(THRICE),
        "find",
        vec![broken(), Say::Passed, found("A")],
        &["step.1.1.1", "wait.1.1.2", "step.1.1.2"],
        2,
        "step_1: completed: A",
    );
    check(spec(THRICE), "find", vec![found("A")], &["step.1.1.1"], 1, "step_1: completed: A");
}

#[test]
fn a_step_is_tried_once_unless_the_policy_says_more() {
    check(spec(""), "find", vec![broken()], &["step.1.1.1"], 1, "step_1: failed: ERROR: http: status 500");
}

#[test]
fn a_write_that_may_not_happen_twice_is_never_tried_again() {
    let failed = "step_1: failed: ERROR: http: status 500";
    check(spec(THRICE), "send", vec![broken()], &["step.1.1.1"], 1, failed);
    let twice = vec![broken(), Say::Passed, found("A")];
    let ids = ["step.1.1.1", "wait.1.1.2", "step.1.1.2"];
    check(spec(THRICE), "store", twice, &ids, 2, "step_1: completed: A");
}

#[test]
fn an_agent_that_may_send_is_not_tried_again_and_one_that_may_not_is() {
    let run = |spec: Spec| {
        let mut told = Told::run(spec, [plan(json!([{"agent": "team", "task": "t"}]))]);
        told.tell([promise::asks(&[("nothing", "x")]), promise::asks(&[("nothing", "x")])]);
        told.waits()
    };
    let sends = team_with("team", |_| true);
    assert_eq!(run(with_agents(spec(THRICE), [sends])), ["write.1.1"]);
    assert_eq!(run(with_agents(spec(THRICE), [team("team")])), ["wait.1.1.2"]);
}

#[test]
fn waits_double() {
    let delays = |policy: &str| {
        let mut told = Told::run(spec(policy), [one("find")]);
        let mut delays = Vec::new();
        while let Some(effect) = told.outstanding().first().copied() {
            match effect {
                Effect::Wait { delay_ms, .. } => {
                    delays.push(delay_ms);
                    told.tell([Say::Passed]);
                }
                Effect::CallTool { .. } => {
                    told.tell([broken()]);
                }
                _ => break,
            }
        }
        delays
    };
    assert_eq!(delays(THRICE), [1_000, 2_000]);
    assert_eq!(delays("step_tries = { tries = 5, wait_ms = 10 }"), [10, 20, 40, 80]);
    assert_eq!(delays("step_tries = { tries = 3, wait_ms = 0 }"), [0, 0]);
}

#[test]
fn the_driver_lets_exactly_that_time_pass_and_each_try_has_a_key_of_its_own() {
    #[derive(Clone, Default)]
    struct Diary(Arc<Mutex<Vec<Duration>>>);
    impl Sleeper for Diary {
        fn sleep(&self, delay: Duration, _: &dyn Fn() -> bool) {
            self.0.lock().unwrap().push(delay);
        }
    }
    let (diary, keys) = (Diary::default(), Arc::new(Mutex::new(Vec::new())));
    let kept = keys.clone();
    let mut spec = spec(THRICE);
    spec.tools.retain(|tool| tool.name == "find");
    let contract = spec.tools[0].clone();
    let Say::Reply(planned) = one("find") else { unreachable!("a plan is a reply") };
    let agent = Agent::builder(spec)
        .model(ScriptedModel::replies([planned.text, "답".into()]))
        .sleeper(diary.clone())
        .tool(FnTool::new(contract, move |call| {
            kept.lock().unwrap().push(call.idempotency_key.to_owned());
            Err(ToolError::new("http", "status 500"))
        }))
        .build()
        .expect("builds");
    let run = agent.job(Input::question("q")).run().expect("ends");
    assert_eq!(run.answer(), Some("답"));
    assert_eq!(*diary.0.lock().unwrap(), [Duration::from_secs(1), Duration::from_secs(2)]);
    let keys = keys.lock().unwrap();
    let ends: Vec<&str> = keys.iter().filter_map(|key| key.rsplit('/').next()).collect();
    assert_eq!(ends, ["step.1.1.1", "step.1.1.2", "step.1.1.3"]);
}

#[test]
fn a_role_that_gives_nothing_usable_is_asked_again_after_a_wait() {
    let with = || with_agents(spec(THRICE), [role_agent("critic")]);
    let step = || plan(json!([{"agent": "critic", "task": "t"}]));
    let answers =
        [step(), Say::Class(FailureClass::Length), Say::Passed, text(" "), Say::Passed, text("좋음")];
    let told = Told::run(with(), answers);
    assert_eq!(told.results(), ["step_1: completed: 좋음"]);
    assert_eq!(told.asked[1..], ["agent:critic", "wait", "agent:critic", "wait", "agent:critic"]);
    assert_eq!(told.state.task.counters.model_calls, 5, "the plan, three tries, and the writer");
}

#[test]
fn further_tries_are_part_of_what_a_plan_may_need() {
    let limited = |most: u32| spec(&format!("{THRICE}\n[limits]\nmax_tool_calls = {most}"));
    let told = Told::run(limited(2), [one("find")]);
    assert_eq!(told.error(), "MAX_TOOL_CALLS_EXCEEDED: the plan needs 3 tool calls in all, 2 are allowed");
    assert_eq!(told.state.task.counters.tool_calls, 0, "nothing ran");
    assert_eq!(
        Told::run(limited(2), [one("send"), found("A")]).waits(),
        ["write.1.1"],
        "one try is one call"
    );
    assert_eq!(Told::run(limited(3), [one("find"), found("A")]).waits(), ["write.1.1"]);
    let bounds = spec(THRICE).check().expect("checks").bounds();
    assert_eq!(bounds.tool_calls, 36, "three tries of twelve steps");
}

#[test]
fn late_answers_to_earlier_tries_are_refused() {
    let mut told = Told::run(spec(THRICE), [one("find"), broken()]);
    let late = |told: &Told, to: &str, answer: Say| told.refusal(to, answer);
    assert_eq!(late(&told, "step.1.1.1", found("A")), Refusal::AlreadyAnswered(id("step.1.1.1")));
    assert_eq!(late(&told, "step.1.1.2", found("A")), Refusal::NeverAsked(id("step.1.1.2")));
    assert_eq!(late(&told, "wait.1.1.2", found("A")), Refusal::WrongKind(id("wait.1.1.2")));
    assert_eq!(late(&told, "wait.1.1.3", Say::Passed), Refusal::NeverAsked(id("wait.1.1.3")));
    told.tell([Say::Passed]);
    assert_eq!(late(&told, "step.1.1.1", found("A")), Refusal::AlreadyAnswered(id("step.1.1.1")));
    assert_eq!(late(&told, "wait.1.1.2", Say::Passed), Refusal::AlreadyAnswered(id("wait.1.1.2")));
    told.tell([found("A")]);
    for to in ["step.1.1.1", "step.1.1.2"] {
        assert_eq!(late(&told, to, found("B")), Refusal::AlreadyAnswered(id(to)));
    }
    assert_eq!(late(&told, "step.1.1.3", found("B")), Refusal::NeverAsked(id("step.1.1.3")));
    assert_eq!(told.results(), ["step_1: completed: A"]);
}

#[test]
fn a_step_that_waits_holds_up_nobody_beside_it() {
    let parallel = format!("{THRICE}\nexecution = {{ mode = 'parallel', width = 2 }}");
    let steps = json!([{"tool": "find", "input": "a"}, {"tool": "find", "input": "b"}, {"tool": "calc", "input": "1", "depends_on": ["step_2"]}]);
    let mut told = Told::run(spec(&parallel), [plan(steps), broken()]);
    assert_eq!(told.waits(), ["wait.1.1.2", "step.1.2.1"]);
    told.answer("step.1.2.1", found("B"));
    assert_eq!(told.waits(), ["wait.1.1.2", "step.1.3.1"]);
    told.answer("step.1.3.1", found("1")).answer("wait.1.1.2", Say::Passed).answer("step.1.1.2", found("A"));
    assert_eq!(told.results(), ["step_1: completed: A", "step_2: completed: B", "step_3: completed: 1"]);
}

#[test]
fn a_failure_is_judged_only_when_the_tries_are_used_up() {
    let policy = "step_tries = { tries = 2 }\non_step_failure = 'abort'";
    let told = Told::run(spec(policy), [one("find"), broken(), Say::Passed, broken()]);
    assert_eq!(told.error(), "EXECUTE_ERROR: step_1 (find) failed: ERROR: http: status 500");
    let told = Told::run(spec(policy), [one("find"), broken(), Say::Passed, found("A"), text("답")]);
    assert_eq!(told.said(), "답");
}

#[test]
fn a_late_answer_to_an_earlier_try_of_an_agent_was_answered_before() {
    let mut told =
        Told::run(with_agents(spec(THRICE), [team("team")]), [plan(json!([{"agent": "team", "task": "t"}]))]);
    told.tell([promise::asks(&[("nothing", "x")]), promise::asks(&[("nothing", "x")])]);
    let first = id("step.1.1.1/plan.1.1");
    assert_eq!(told.refusal("step.1.1.1/plan.1.1", text("late")), Refusal::AlreadyAnswered(first));
    told.tell([Say::Passed]);
    assert_eq!(told.waits(), ["step.1.1.2/plan.1.1"]);
    assert_eq!(told.refusal("step.1.1.1/plan.1.1", text("late")), Refusal::AlreadyAnswered(first));
}

#[test]
fn an_agent_whose_writes_may_all_happen_twice_is_tried_again() {
    let careful = team_with("team", ToolContract::is_idempotent);
    let mut told =
        Told::run(with_agents(spec(THRICE), [careful]), [plan(json!([{"agent": "team", "task": "t"}]))]);
    told.tell([promise::asks(&[("nothing", "x")]), promise::asks(&[("nothing", "x")])]);
    assert_eq!(told.waits(), ["wait.1.1.2"]);
}
