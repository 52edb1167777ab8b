//! A whole agent as a step: its run is nested in the step's slot, under its own rules, and what it
//! asks, spends, reads and leaves behind belongs to the run around it.

use crate::promise;

use std::sync::Arc;

use planwright::driver::{Agent, Stopped};
use planwright::journal::{MemoryJournal, fold};
use planwright::machine::{Event, Input, ModelReply, PhaseName, Refusal, State, Usage};
use planwright::ports::FnTool;
use planwright::ports::ScriptedModel;
use planwright::ports::{Cause, ModelError};
use planwright::spec::{Member, Spec};
use promise::{Say, Told, asks, broken, found, id, plan, spec, team, text, whole_agent, with_agents};
use serde_json::{Value, json};

fn outer(policy: &str, agents: impl IntoIterator<Item = Member>) -> Spec {
    with_agents(spec(policy), agents)
}

/// A plan whose second step is the team's.
fn second() -> Say {
    plan(json!([{"tool": "calc", "input": "1"}, {"agent": "team", "task": "찾아"}]))
}

#[test]
fn what_a_nested_run_asks_is_named_after_its_step() {
    let mut told = Told::run(outer("", [team("team")]), [second(), found("1")]);
    assert_eq!(told.waits(), ["step.1.2.1/plan.1.1"]);
    told.tell([asks(&[("find", "a")])]);
    assert_eq!(told.waits(), ["step.1.2.1/step.1.1.1"]);
    assert_eq!(told.input("step.1.2.1/step.1.1.1"), json!("a"));
    told.tell([found("A"), text("답")]);
    assert_eq!(told.asked, ["planner", "calc", "team/planner", "team/find", "writer"]);
    assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: A"]);
    assert_eq!(told.state, told.folded());
}

#[test]
fn its_trace_hangs_under_the_step_and_not_in_the_outer_one() {
    let told = Told::run(
        outer("", [team("team")]),
        [second(), found("1"), asks(&[("find", "a")]), found("A"), text("답")],
    );
    assert_eq!(told.phases(), ["PLAN", "EXECUTE", "WRITE"]);
    let nested = &told.line("EXECUTE")["nested"];
    assert_eq!(nested.as_array().map(Vec::len), Some(1));
    assert_eq!((&nested[0]["step"], &nested[0]["agent"]), (&json!("step_2"), &json!("team")));
    let phases: Vec<&Value> =
        nested[0]["trace"].as_array().expect("lines").iter().map(|line| &line["phase"]).collect();
    assert_eq!(phases, ["PLAN", "EXECUTE", "WRITE"]);
}

#[test]
fn usage_and_counts_add_up() {
    let spends = |say: Say, nth: u64| match say {
        Say::Reply(mut reply) => {
            reply.usage = Usage { input_tokens: nth, output_tokens: 2 * nth, cached_tokens: 0 };
            Say::Reply(reply)
        }
        other => other,
    };
    let mut told = Told::begin(outer("", [team("team")]));
    told.tell([spends(second(), 1), found("1"), spends(text(" "), 10), spends(asks(&[("find", "a")]), 100)]);
    let so_far = told.state.task.counters;
    assert_eq!((so_far.model_calls, so_far.tool_calls, so_far.transitions), (3, 2, 4), "while it goes on");
    told.tell([found("A"), spends(text("답"), 1_000)]);
    let spent = told.state.task.counters;
    assert_eq!((spent.model_calls, spent.tool_calls, spent.transitions), (4, 2, 6));
    assert_eq!(spent.usage, Usage { input_tokens: 1_111, output_tokens: 2_222, cached_tokens: 0 });
    let by_name: Vec<(String, u64)> =
        told.state.task.usage_by_name().map(|(name, usage)| (name, usage.input_tokens)).collect();
    let expected = [("planner", 1), ("writer", 1_000), ("agent:team", 110)];
    assert_eq!(by_name, expected.map(|(name, tokens)| (name.to_owned(), tokens)));
}

#[test]
fn a_nested_run_that_fails_is_a_failed_step() {
    let answers = || [second(), found("1"), text(" "), text(" ")];
    let mut told = Told::run(outer("", [team("team")]), answers());
    let result = &told.results()[1];
    assert!(result.starts_with("step_2: failed: ERROR: agent: PLAN_ERROR: contract: $"), "{result}");
    let line = told.line("EXECUTE");
    assert_eq!((&line["num_failed"], &line["nested"][0]["trace"][1]["ok"]), (&json!(1), &json!(false)));
    told.tell([text("답")]);
    assert_eq!(told.said(), "답");

    let told = Told::run(outer("on_step_failure = 'abort'", [team("team")]), answers());
    assert!(
        told.error().starts_with("EXECUTE_ERROR: step_2 (team) failed: ERROR: agent: "),
        "{}",
        told.error()
    );
    let told = Told::run(outer("on_step_failure = 'replan'", [team("team")]), answers());
    assert_eq!(told.waits(), ["plan.2.1"]);
}

#[test]
fn a_failed_call_inside_is_a_result_of_the_nested_run() {
    let told = Told::run(outer("", [team("team")]), [second(), found("1"), asks(&[("find", "a")]), broken()]);
    let result = &told.results()[1];
    assert!(result.starts_with("step_2: failed: ERROR: agent: WRITE_ERROR"), "nothing to hand on: {result}");
}

#[test]
fn a_nested_run_is_told_its_task_on_whose_behalf_and_on_what() {
    let with_history =
        Input { now: "2026-11-20T09:30:00+09:00[Asia/Seoul]".into(), ..Input::question("왜?") };
    let mut told = Told::begin_with(outer("", [team("team")]), with_history);
    told.tell([plan(json!([{"tool": "find", "input": "a"}, {"agent": "team", "task": "요약", "input_from": "step_1"}])), found("A")]);
    assert_eq!(
        told.payload(),
        json!({"user_question": "요약", "on_behalf_of": "왜?", "material": "A", "now": "2026-11-20T09:30:00+09:00[Asia/Seoul]"})
    );
}

#[test]
fn its_limits_are_its_own_and_the_outer_ones_hold_over_all() {
    let mut small = team("team");
    small.spec.as_mut().expect("whole").limits.max_model_calls = Some(1);
    let told = Told::run(outer("", [small]), [second(), found("1"), text(" ")]);
    let result = &told.results()[1];
    assert!(result.contains("ERROR: agent: MAX_MODEL_CALLS_EXCEEDED: plan.1.2"), "{result}");

    // Two for its planner with a repair; one for the outer plan.
    let limited = |most: u32| outer(&format!("[limits]\nmax_model_calls = {most}"), [team("team")]);
    let told = Told::run(limited(2), [second()]);
    assert_eq!(told.error(), "MAX_MODEL_CALLS_EXCEEDED: the plan needs 3 model calls in all, 2 are allowed");
    assert_eq!(told.state.task.counters.tool_calls, 0);
    assert_eq!(Told::run(limited(3), [second()]).waits(), ["step.1.1.1"]);

    let limited = |most: u32| outer(&format!("[limits]\nmax_tool_calls = {most}"), [team("team")]);
    let told = Told::run(limited(1), [second()]);
    assert_eq!(told.error(), "MAX_TOOL_CALLS_EXCEEDED: the plan needs 2 tool calls in all, 1 are allowed");
}

#[test]
fn the_bounds_of_a_spec_include_those_of_its_agents() {
    let of = |spec: Spec| spec.check().expect("checks").bounds();
    let alone = of(spec("plan = { max_steps = 2 }"));
    let with = of(outer("plan = { max_steps = 2 }", [team("team")]));
    assert_eq!((alone.model_calls, with.model_calls), (4, 8), "two steps of at most two calls each");
}

#[test]
fn reading_untrusted_output_inside_taints_the_run_around_it() {
    let told =
        Told::run(outer("", [team("team")]), [second(), found("1"), asks(&[("find", "a")]), found("A")]);
    assert!(told.state.task.tainted);
    let told =
        Told::run(outer("", [team("team")]), [second(), found("1"), asks(&[("calc", "a")]), found("A")]);
    assert!(!told.state.task.tainted, "all that was read is trusted");
}

#[test]
fn a_plan_made_after_a_tainted_nested_run_is_tainted() {
    let policy = "validate = 'verdict'";
    let mut told =
        Told::run(outer(policy, [team("team")]), [second(), found("1"), asks(&[("find", "a")]), found("A")]);
    told.tell([promise::verdict(false, "다름", "다시"), second()]);
    let tainted: Vec<bool> = told.state.task.drafts.iter().map(|draft| draft.tainted).collect();
    assert_eq!(tainted, [false, true]);
    told.tell([found("1")]);
    assert_eq!(told.waits(), ["step.2.2.1/plan.1.1"]);
}

#[test]
fn cancelling_and_the_deadline_end_everything() {
    for (event, code) in [
        (Event::Cancelled { reason: "그만".into() }, "CANCELLED: 그만"),
        (Event::DeadlinePassed, "DEADLINE_EXCEEDED"),
    ] {
        let both = "execution = { mode = 'parallel', width = 2 }";
        let mut told = Told::run(outer(both, [team("team")]), [second(), found("1"), asks(&[("find", "a")])]);
        assert_eq!(told.waits(), ["step.1.2.1/step.1.1.1"]);
        told.take(event);
        assert!(told.error().starts_with(code), "{}", told.error());
        assert_eq!(told.waits(), Vec::<String>::new());
        assert_eq!(told.refusal("step.1.2.1/step.1.1.1", found("late")), Refusal::Ended);
    }
}

#[test]
fn answers_to_nobody_and_late_ones_are_refused_inside_as_outside() {
    let mut told = Told::run(outer("", [team("team")]), [second()]);
    let never = |told: &Told, to: &str, answer: Say| {
        assert_eq!(told.refusal(to, answer), Refusal::NeverAsked(id(to)))
    };
    never(&told, "step.1.2.1/plan.1.1", text("early"));
    told.tell([found("1"), text(" ")]);
    assert_eq!(told.waits(), ["step.1.2.1/plan.1.2"]);
    let inner = "step.1.2.1/plan.1.1";
    assert_eq!(told.refusal(inner, text("late")), Refusal::AlreadyAnswered(id(inner)));
    for to in [
        "step.1.2.2/plan.1.2",
        "step.2.2.1/plan.1.2",
        "step.1.1.1/plan.1.2",
        "step.1.2.1/plan.2.1",
        "step.1.3.1/plan.1.1",
        "plan.1.3",
    ] {
        never(&told, to, text("nobody"));
    }
    // The step itself is answered through its run alone.
    assert!(matches!(told.refusal("step.1.2.1", found("x")), Refusal::NeverAsked(_) | Refusal::WrongKind(_)));
    told.tell([asks(&[("find", "a")])]);
    let tool = "step.1.2.1/step.1.1.1";
    assert_eq!(told.refusal(tool, text("x")), Refusal::WrongKind(id(tool)));
    told.tell([found("A")]);
    assert_eq!(told.refusal(tool, found("late")), Refusal::AlreadyAnswered(id(tool)));
}

fn deep(levels: usize) -> Spec {
    let mut inner = team("team");
    for _ in 1..levels {
        inner = whole_agent("team", with_agents(spec("write = 'last_result'"), [inner]));
    }
    outer("", [inner])
}

#[test]
fn agents_may_nest_two_deep_and_three_deep_is_refused_at_load() {
    let step = || plan(json!([{"agent": "team", "task": "t"}]));
    let mut told = Told::run(deep(2), [step(), step()]);
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1/plan.1.1"]);
    told.tell([asks(&[("calc", "1")])]);
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1/step.1.1.1"]);
    told.tell([found("1"), text("답")]);
    assert_eq!(told.asked, ["planner", "team/planner", "team/team/planner", "team/team/calc", "writer"]);
    assert_eq!(told.results(), ["step_1: completed: 1"]);
    let line = told.line("EXECUTE");
    assert_eq!(line["nested"][0]["trace"][1]["nested"][0]["trace"][0]["phase"], json!("PLAN"));
    assert_eq!((told.state.task.counters.model_calls, told.state.task.counters.tool_calls), (4, 1));

    let refused = deep(3).check().expect_err("three deep");
    assert_eq!(
        refused.to_string(),
        "agents[0].spec.agents[0].spec.agents[0].spec: agents may nest 2 deep, and this is deeper"
    );
}

#[test]
fn a_state_written_in_the_middle_of_a_nested_run_goes_on_the_same() {
    let mut told = Told::run(outer("", [team("team")]), [second(), found("1"), asks(&[("find", "a")])]);
    let written = serde_json::to_string(&told.state).expect("written");
    let read: State = serde_json::from_str(&written).expect("read");
    assert_eq!(read, told.state);
    assert_eq!(serde_json::to_string(&read).expect("written"), written, "byte for byte");
    told.state = read;
    told.tell([found("A"), text("답")]);
    assert_eq!(told.state, told.folded());
}

#[test]
fn two_agents_side_by_side_ask_at_once_and_end_in_any_order() {
    let both = "execution = { mode = 'parallel', width = 2 }";
    let steps = plan(json!([{"agent": "team", "task": "a"}, {"agent": "team", "task": "b"}]));
    let mut told = Told::run(outer(both, [team("team")]), [steps]);
    assert_eq!(told.waits(), ["step.1.1.1/plan.1.1", "step.1.2.1/plan.1.1"]);
    told.answer("step.1.2.1/plan.1.1", asks(&[("calc", "2")]))
        .answer("step.1.1.1/plan.1.1", asks(&[("calc", "1")]));
    told.answer("step.1.2.1/step.1.1.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1"]);
    told.answer("step.1.1.1/step.1.1.1", found("1")).tell([text("답")]);
    assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: 2"]);
    let order: Vec<Value> = told.line("EXECUTE")["nested"]
        .as_array()
        .expect("two")
        .iter()
        .map(|one| one["step"].clone())
        .collect();
    assert_eq!(order, ["step_1", "step_2"], "in plan order");
}

fn agent(model: &Arc<ScriptedModel>) -> Agent {
    let spec = outer("", [team("team")]);
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).shared_model(model.clone());
    let builder = contracts.into_iter().fold(builder, |builder, contract| {
        builder.tool(FnTool::new(contract, |call| Ok(format!("of {}", call.input))))
    });
    builder.build().expect("builds")
}

#[test]
fn a_run_interrupted_in_the_middle_of_a_nested_one_is_resumed_there() {
    let reply = |say: Say| match say {
        Say::Reply(reply) => Ok(reply),
        _ => unreachable!("a reply"),
    };
    let gone = || Err(ModelError::unanswered(Cause::Connection, "gone"));
    let inner = || reply(asks(&[("find", "a")]));
    let whole = [reply(second()), inner(), Ok(ModelReply::text("답"))];
    let model = Arc::new(whole.into_iter().fold(ScriptedModel::new(), ScriptedModel::answer));
    let mut journal = MemoryJournal::new();
    let straight = agent(&model).job(Input::question("q")).journal(&mut journal).run().expect("ends");
    assert_eq!(straight.answer(), Some("답"));
    let folded = fold(journal.into_records()).expect("folds").state;
    assert_eq!(&folded, straight.state(), "folded and live are equal");

    let torn = [reply(second()), gone(), inner(), gone(), Ok(ModelReply::text("답"))];
    let model = Arc::new(torn.into_iter().fold(ScriptedModel::new(), ScriptedModel::answer));
    let mut journal = MemoryJournal::new();
    let stopped = agent(&model).job(Input::question("q")).journal(&mut journal).run();
    let Err(Stopped::Interrupted(interrupted)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(interrupted.effect.to_string(), "step.1.2.1/plan.1.1");
    let stopped = agent(&model).resume(&mut journal, None);
    let Err(Stopped::Interrupted(interrupted)) = stopped else { panic!("{stopped:?}") };
    assert_eq!(interrupted.effect.to_string(), "write.1.1");
    let resumed = agent(&model).resume(&mut journal, None).expect("ends");
    assert_eq!(resumed.state(), straight.state());
    assert_eq!(model.asked(), 5, "what was answered is not asked again");
}

#[test]
fn a_recorded_run_with_a_nested_one_replays() {
    let replies = [second(), asks(&[("find", "a")]), text("답")];
    let replies = replies.into_iter().map(|say| match say {
        Say::Reply(reply) => reply,
        _ => unreachable!("a reply"),
    });
    let model = Arc::new(ScriptedModel::says(replies));
    let agent = agent(&model);
    let run = agent.job(Input::question("q")).run().expect("ends");
    let again = run.fixture().expect("a fixture").replay(&agent).expect("replays");
    assert_eq!(again.state(), run.state());
    assert_eq!(model.asked(), 3);
}

#[test]
fn a_nested_agent_may_ask_a_person_and_the_run_around_it_waits() {
    let asking = whole_agent("team", spec("write = 'last_result'\napproval = 'steps'"));
    let mut told = Told::run(
        outer("", [asking]),
        [second(), found("1"), plan(json!([{"tool": "hitl", "hitl_question": "괜찮아요?"}]))],
    );
    assert_eq!(told.waits(), ["step.1.2.1/human.1.1"]);
    assert!(planwright::machine::waits_for_a_person(&told.state));
    told.tell([promise::respond("네"), text("답")]);
    assert_eq!(told.results()[1], "step_2: completed: 네");
    assert_eq!(told.state.phase.name(), PhaseName::Done);
}

#[test]
fn a_nested_run_that_waited_for_trusted_output_taints_nothing() {
    let steps =
        plan(json!([{"tool": "calc", "input": "1"}, {"agent": "team", "task": "t", "input_from": "step_1"}]));
    let told = Told::run(outer("", [team("team")]), [steps, found("1"), asks(&[("calc", "2")]), found("2")]);
    assert!(!told.state.task.tainted, "nothing untrusted was read");
}

#[test]
fn an_added_agent_stays_within_the_tool_calls_of_the_run() {
    let policy = "orchestrate = 'each_step'\n[limits]\nmax_tool_calls = 1";
    let add = || promise::decision(json!({"action": "add_agent", "next_agent": "team", "task": "더"}));
    let mut told = Told::run(
        outer(policy, [team("team")]),
        [plan(json!([{"agent": "team", "task": "t"}])), promise::go_on()],
    );
    told.tell([asks(&[("calc", "1")]), found("1"), add()]);
    while !told.state.phase.name().is_terminal() {
        let first = told.waits()[0].clone();
        let answer = match first.as_str() {
            id if id.ends_with("step.1.1.1") => found("2"),
            id if id.contains('/') => asks(&[("calc", "2")]),
            id if id.starts_with("orchestrate") => promise::go_on(),
            _ => text("답"),
        };
        told.tell([answer]);
    }
    let most = told.rules.bounds().tool_calls;
    assert!(told.state.task.counters.tool_calls <= most, "{} of {most}", told.state.task.counters.tool_calls);
}

#[test]
fn an_added_agent_stays_within_the_transitions_of_the_run() {
    // A plan, a decision, two answers of the team, a decision: the second team is one too many.
    let policy = "orchestrate = 'each_step'\n[limits]\nmax_transitions = 6";
    let add = || promise::decision(json!({"action": "add_agent", "next_agent": "team", "task": "더"}));
    let mut told = Told::run(
        outer(policy, [team("team")]),
        [plan(json!([{"agent": "team", "task": "t"}])), promise::go_on()],
    );
    told.tell([asks(&[("calc", "1")]), found("1"), add()]);
    while !told.state.phase.name().is_terminal() {
        let first = told.waits()[0].clone();
        let answer = match first.as_str() {
            id if id.ends_with("step.1.1.1") => found("2"),
            id if id.contains('/') => asks(&[("calc", "2")]),
            id if id.starts_with("orchestrate") => promise::go_on(),
            _ => text("답"),
        };
        told.tell([answer]);
    }
    let most = told.rules.bounds().transitions;
    assert!(
        told.state.task.counters.transitions <= most,
        "{} of {most}",
        told.state.task.counters.transitions
    );
}
