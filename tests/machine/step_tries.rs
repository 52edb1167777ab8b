//! A step is tried as often as the policy says, with waits that double, and never again where it may
//! not happen twice.

use planwright::contract::ToolContract;
use planwright::machine::{Effect, FailureClass, Refusal};

use crate::promise::{
    Say, Told, asks, broken, found, id, plan, role_agent, spec, team, team_with, text, with_agents,
};

const THRICE: &str = "step_tries = { tries = 3 }";

/// The tries of one step; these ids are asked, in this order, and so many of them call the tool.
#[track_caller]
fn check(policy: &str, step: &str, answers: impl IntoIterator<Item = Say>, ids: &[&str], result: &str) {
    let mut told = Told::run(spec(policy), [plan(step)]);
    let mut asked = Vec::new();
    for answer in answers {
        asked.push(told.first());
        told.tell([answer]);
    }
    assert_eq!(asked, ids);
    assert_eq!(told.waits(), ["write.1.1"]);
    assert_eq!(told.results(), [format!("step_1: {result}")]);
    let calls = ids.iter().filter(|id| id.starts_with("step")).count();
    assert_eq!(told.spent().tool_calls as usize, calls);
}

#[test]
fn a_failed_try_is_followed_by_a_wait_and_another_until_one_succeeds_or_the_tries_are_used_up() {
    let ids = ["step.1.1.1", "wait.1.1.2", "step.1.1.2", "wait.1.1.3", "step.1.1.3"];
    let failed = "failed: ERROR: http: status 500";
    let thrice = [broken(), Say::Passed, broken(), Say::Passed, broken()];
    check(THRICE, "find a", thrice, &ids, failed);
    let twice = || [broken(), Say::Passed, found("A")];
    check(THRICE, "find a", twice(), &ids[..3], "completed: A");
    check(THRICE, "find a", [found("A")], &ids[..1], "completed: A");
    check("", "find a", [broken()], &ids[..1], failed);
    check(THRICE, "send a", [broken()], &ids[..1], failed);
    check(THRICE, "store a", twice(), &ids[..3], "completed: A");
}

#[test]
fn an_agent_is_tried_again_where_all_that_it_may_write_may_happen_twice() {
    let writes = team_with("team", |_| true);
    let repeats = team_with("team", ToolContract::is_idempotent);
    for (team, next) in [(writes, "write.1.1"), (repeats, "wait.1.1.2"), (team("team"), "wait.1.1.2")] {
        let mut told = Told::run(with_agents(spec(THRICE), [team]), [plan("@team t")]);
        told.tell([asks(&[("nothing", "x")]), asks(&[("nothing", "x")])]);
        assert_eq!(told.waits(), [next]);
        if next == "wait.1.1.2" {
            assert_eq!(told.tell([Say::Passed]).waits(), ["step.1.1.2/plan.1.1"]);
        }
    }
}

#[test]
fn waits_double() {
    let delays = |policy: &str| {
        let mut told = Told::run(spec(policy), [plan("find a")]);
        let mut delays = Vec::new();
        while let Some(effect) = told.outstanding().first().copied() {
            match effect {
                Effect::Wait { delay_ms, .. } => delays.push(delay_ms),
                Effect::CallTool { .. } => {}
                _ => break,
            }
            told.tell([if matches!(effect, Effect::Wait { .. }) { Say::Passed } else { broken() }]);
        }
        delays
    };
    assert_eq!(delays(THRICE), [1_000, 2_000]);
    assert_eq!(delays("step_tries = { tries = 5, wait_ms = 10 }"), [10, 20, 40, 80]);
    assert_eq!(delays("step_tries = { tries = 3, wait_ms = 0 }"), [0, 0]);
}

#[test]
fn a_role_that_gives_nothing_usable_is_asked_again_after_a_wait() {
    let critic = with_agents(spec(THRICE), [role_agent("critic")]);
    let cut = Say::Class(FailureClass::Length);
    let told = Told::run(critic, [plan("@critic t"), cut, Say::Passed, text(" "), Say::Passed, text("좋음")]);
    assert_eq!(told.results(), ["step_1: completed: 좋음"]);
    assert_eq!(told.asked[1..], ["agent:critic", "wait", "agent:critic", "wait", "agent:critic"]);
    assert_eq!(told.spent().model_calls, 5, "the plan, three tries, and the writer");
}

#[test]
fn further_tries_are_part_of_what_a_plan_may_need() {
    let limited = |most: u32| spec(&format!("{THRICE}\n[limits]\nmax_tool_calls = {most}"));
    let error = "MAX_TOOL_CALLS_EXCEEDED: the plan needs 3 tool calls in all, 2 are allowed";
    assert_eq!(Told::fails(limited(2), [plan("find a")], error).spent().tool_calls, 0);
    let once = Told::run(limited(2), [plan("send a"), found("A")]);
    assert_eq!(once.waits(), ["write.1.1"], "one try is one call");
    assert_eq!(Told::run(limited(3), [plan("find a"), found("A")]).waits(), ["write.1.1"]);
    let bounds = spec(THRICE).check().expect("checks").bounds();
    assert_eq!(bounds.tool_calls, 36, "three tries of twelve steps");
}

#[test]
fn a_wait_is_not_answered_by_a_result() {
    let told = Told::run(spec(THRICE), [plan("find a"), broken()]);
    assert_eq!(told.refusal("wait.1.1.2", found("A")), Refusal::WrongKind(id("wait.1.1.2")));
}

#[test]
fn a_step_that_waits_holds_up_nobody_beside_it() {
    let parallel = format!("{THRICE}\nexecution = {{ mode = 'parallel', width = 2 }}");
    let mut told = Told::run(spec(&parallel), [plan("find a; find b; calc 1 after step_2"), broken()]);
    assert_eq!(told.waits(), ["wait.1.1.2", "step.1.2.1"]);
    assert_eq!(told.answer("step.1.2.1", found("B")).waits(), ["wait.1.1.2", "step.1.3.1"]);
    told.answer("step.1.3.1", found("1")).answer("wait.1.1.2", Say::Passed).answer("step.1.1.2", found("A"));
    assert_eq!(told.results(), ["step_1: completed: A", "step_2: completed: B", "step_3: completed: 1"]);
}

#[test]
fn a_failure_is_judged_only_when_the_tries_are_used_up() {
    let policy = "step_tries = { tries = 2 }\non_step_failure = 'abort'";
    let first = || [plan("find a"), broken(), Say::Passed];
    let error = "EXECUTE_ERROR: step_1 (find) failed: ERROR: http: status 500";
    Told::fails(spec(policy), first().into_iter().chain([broken()]), error);
    Told::run(spec(policy), first()).ends([found("A"), text("답")], "답");
}
