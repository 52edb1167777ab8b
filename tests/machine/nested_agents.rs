//! A whole agent as a step: its run is nested in the step's slot, under its own rules, and what it
//! asks, spends, reads and leaves behind belongs to the run around it.

use std::sync::Arc;

use planwright::driver::{Agent, Stopped};
use planwright::journal::{MemoryJournal, fold};
use planwright::machine::{Event, Input, Refusal, Usage};
use planwright::ports::{Cause, FnTool, ModelError, ScriptedModel};
use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{
    Say, Told, asks, broken, decision, found, go_on, id, plan, respond, spec, team, team_that, text, verdict,
    whole_agent, with_agents,
};

/// A spec of which the team does steps.
fn outer(policy: &str) -> Spec {
    with_agents(spec(policy), [team("team")])
}

/// A plan whose second step is the team's.
fn second() -> Say {
    plan("calc 1; @team 찾아")
}

/// A run in which the team has called this tool and heard of it.
fn called(policy: &str, tool: &str) -> Told {
    Told::run(outer(policy), [second(), found("1"), asks(&[(tool, "a")]), found("A")])
}

#[test]
fn what_a_nested_run_asks_is_named_after_its_step() {
    let mut told = Told::run(outer(""), [second(), found("1")]);
    assert_eq!(told.waits(), ["step.1.2.1/plan.1.1"]);
    told.tell([asks(&[("find", "a")])]);
    assert_eq!(told.waits(), ["step.1.2.1/step.1.1.1"]);
    assert_eq!(told.input("step.1.2.1/step.1.1.1"), json!("a"));
    told.ends([found("A"), text("답")], "답");
    assert_eq!(told.asked, ["planner", "calc", "team/planner", "team/find", "writer"]);
    assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: A"]);
}

#[test]
fn its_trace_hangs_under_the_step_and_not_in_the_outer_one() {
    let mut told = called("", "find");
    told.ends([text("답")], "답");
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
    let spends = |say: Say, nth: u64| {
        let usage = Usage { input_tokens: nth, output_tokens: 2 * nth, cached_tokens: 0, ..Usage::default() };
        Say::Reply(planwright::machine::ModelReply { usage, ..say.reply() })
    };
    let mut told = Told::begin(outer(""));
    told.tell([spends(second(), 1), found("1"), spends(text(" "), 10), spends(asks(&[("find", "a")]), 100)]);
    let so_far = told.spent();
    assert_eq!((so_far.model_calls, so_far.tool_calls, so_far.transitions), (3, 2, 4), "while it goes on");
    told.tell([found("A"), spends(text("답"), 1_000)]);
    let spent = told.spent();
    assert_eq!((spent.model_calls, spent.tool_calls, spent.transitions), (4, 2, 6));
    assert_eq!(
        spent.usage,
        Usage { input_tokens: 1_111, output_tokens: 2_222, cached_tokens: 0, ..Usage::default() }
    );
    let by_name: Vec<(String, u64)> =
        told.state.usage_by_name().map(|(name, usage)| (name, usage.input_tokens)).collect();
    let expected = [("planner", 1), ("writer", 1_000), ("agent:team", 110)];
    assert_eq!(by_name, expected.map(|(name, tokens)| (name.to_owned(), tokens)));
}

#[test]
fn a_nested_run_that_fails_is_a_failed_step() {
    let answers = || [second(), found("1"), text(" "), text(" ")];
    let mut told = Told::run(outer(""), answers());
    let result = &told.results()[1];
    assert!(result.starts_with("step_2: failed: ERROR: agent: PLAN_ERROR: contract: $"), "{result}");
    let line = told.line("EXECUTE");
    assert_eq!((&line["num_failed"], &line["nested"][0]["trace"][1]["ok"]), (&json!(1), &json!(false)));
    told.ends([text("답")], "답");

    let error = "EXECUTE_ERROR: step_2 (team) failed: ERROR: agent: ";
    Told::fails(outer("on_step_failure = 'abort'"), answers(), error);
    assert_eq!(Told::run(outer("on_step_failure = 'replan'"), answers()).waits(), ["plan.2.1"]);

    let told = Told::run(outer(""), [second(), found("1"), asks(&[("find", "a")]), broken()]);
    let result = &told.results()[1];
    assert!(result.starts_with("step_2: failed: ERROR: agent: WRITE_ERROR"), "nothing to hand on: {result}");
}

#[test]
fn a_nested_run_is_told_its_task_on_whose_behalf_and_on_what() {
    let now = "2026-11-20T09:30:00+09:00[Asia/Seoul]";
    let mut told = Told::begin_with(outer(""), Input { now: now.into(), ..Input::question("왜?") });
    told.tell([plan("find a; @team 요약 < step_1"), found("A")]);
    let shown = json!({"user_question": "요약", "on_behalf_of": "왜?", "material": "A", "now": now});
    assert_eq!(told.payload(), shown);
}

#[test]
fn its_limits_are_its_own_and_the_outer_ones_hold_over_all() {
    let small = team_that(|inner| inner.limits.max_model_calls = Some(1));
    let told = Told::run(with_agents(spec(""), [small]), [second(), found("1"), text(" ")]);
    let result = &told.results()[1];
    assert!(result.contains("ERROR: agent: MAX_MODEL_CALLS_EXCEEDED: plan.1.2"), "{result}");

    // Two for its planner with a repair; one for the outer plan.
    let limited = |limit: &str| outer(&format!("[limits]\n{limit}"));
    let error = "MAX_MODEL_CALLS_EXCEEDED: the plan needs 3 model calls in all, 2 are allowed";
    assert_eq!(Told::fails(limited("max_model_calls = 2"), [second()], error).spent().tool_calls, 0);
    assert_eq!(Told::run(limited("max_model_calls = 3"), [second()]).waits(), ["step.1.1.1"]);
    let error = "MAX_TOOL_CALLS_EXCEEDED: the plan needs 2 tool calls in all, 1 are allowed";
    Told::fails(limited("max_tool_calls = 1"), [second()], error);
}

#[test]
fn the_bounds_of_a_spec_include_those_of_its_agents() {
    let of = |spec: Spec| spec.check().expect("checks").bounds();
    let alone = of(spec("plan = { max_steps = 2 }"));
    let with = of(outer("plan = { max_steps = 2 }"));
    assert_eq!((alone.model_calls, with.model_calls), (4, 8), "two steps of at most two calls each");
}

#[test]
fn reading_untrusted_output_inside_taints_the_run_around_it_and_its_next_plan() {
    assert!(!called("", "calc").tainted(), "all that was read is trusted");
    let steps = plan("calc 1; @team t < step_1");
    let told = Told::run(outer(""), [steps, found("1"), asks(&[("calc", "2")]), found("2")]);
    assert!(!told.tainted(), "and so is what it was given");

    let mut told = called("validate = 'verdict'", "find");
    assert!(told.tainted());
    told.tell([verdict(false, "다름", "다시"), second()]);
    let tainted = [0, 1].map(|draft| told.memory(&format!("/drafts/{draft}/tainted")) == json!(true));
    assert_eq!(tainted, [false, true]);
    assert_eq!(told.tell([found("1")]).waits(), ["step.2.2.1/plan.1.1"]);
}

#[test]
fn cancelling_and_the_deadline_end_everything() {
    let cancelled = Event::Cancelled { reason: "그만".into() };
    for (event, code) in [(cancelled, "CANCELLED: 그만"), (Event::DeadlinePassed, "DEADLINE_EXCEEDED")] {
        let both = "execution = { mode = 'parallel', width = 2 }";
        let mut told = Told::run(outer(both), [second(), found("1"), asks(&[("find", "a")])]);
        assert_eq!(told.waits(), ["step.1.2.1/step.1.1.1"]);
        told.take(event).failed(code);
        assert_eq!(told.waits(), Vec::<String>::new());
        assert_eq!(told.refusal("step.1.2.1/step.1.1.1", found("late")), Refusal::Ended);
    }
}

#[test]
fn answers_to_nobody_and_late_ones_are_refused_inside_as_outside() {
    let mut told = Told::run(outer(""), [second()]);
    told.tell([found("1"), text(" ")]);
    assert_eq!(told.waits(), ["step.1.2.1/plan.1.2"]);
    let never = "step.1.2.2/plan.1.2 step.2.2.1/plan.1.2 step.1.1.1/plan.1.2 step.1.3.1/plan.1.1 plan.1.3";
    for never in never.split(' ') {
        assert_eq!(told.refusal(never, text("x")), Refusal::NotAwaited(id(never)));
    }
    // The step itself is answered through its run alone.
    assert!(matches!(told.refusal("step.1.2.1", found("x")), Refusal::NotAwaited(_) | Refusal::WrongKind(_)));
    told.tell([asks(&[("find", "a")])]);
    let tool = "step.1.2.1/step.1.1.1";
    assert_eq!(told.refusal(tool, text("x")), Refusal::WrongKind(id(tool)));
}

fn deep(levels: usize) -> Spec {
    let mut inner = team("team");
    for _ in 1..levels {
        inner = whole_agent("team", with_agents(spec("write = 'last_result'"), [inner]));
    }
    with_agents(spec(""), [inner])
}

#[test]
fn agents_may_nest_two_deep_and_three_deep_is_refused_at_load() {
    let step = || plan("@team t");
    let mut told = Told::run(deep(2), [step(), step()]);
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1/plan.1.1"]);
    told.tell([asks(&[("calc", "1")])]);
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1/step.1.1.1"]);
    told.tell([found("1"), text("답")]);
    assert_eq!(told.asked, ["planner", "team/planner", "team/team/planner", "team/team/calc", "writer"]);
    assert_eq!(told.results(), ["step_1: completed: 1"]);
    let line = told.line("EXECUTE");
    assert_eq!(line["nested"][0]["trace"][1]["nested"][0]["trace"][0]["phase"], json!("PLAN"));
    assert_eq!((told.spent().model_calls, told.spent().tool_calls), (4, 1));

    let refused = deep(3).check().expect_err("three deep").to_string();
    let place = "agents[0].spec.agents[0].spec.agents[0].spec";
    assert_eq!(refused, format!("{place}: agents may nest 2 deep, and this is deeper"));
}

#[test]
fn two_agents_side_by_side_ask_at_once_and_end_in_any_order() {
    let both = "execution = { mode = 'parallel', width = 2 }";
    let mut told = Told::run(outer(both), [plan("@team a; @team b")]);
    assert_eq!(told.waits(), ["step.1.1.1/plan.1.1", "step.1.2.1/plan.1.1"]);
    told.answer("step.1.2.1/plan.1.1", asks(&[("calc", "2")]))
        .answer("step.1.1.1/plan.1.1", asks(&[("calc", "1")]));
    told.answer("step.1.2.1/step.1.1.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1/step.1.1.1"]);
    told.answer("step.1.1.1/step.1.1.1", found("1")).tell([text("답")]);
    assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: 2"]);
    let nested = &told.line("EXECUTE")["nested"];
    assert_eq!(
        (&nested[0]["step"], &nested[1]["step"]),
        (&json!("step_1"), &json!("step_2")),
        "in plan order"
    );
}

fn agent(model: &Arc<ScriptedModel>) -> Agent {
    let spec = outer("");
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).model(model.clone());
    let builder = contracts.into_iter().fold(builder, |builder, contract| {
        builder.tool(FnTool::new(contract, |call| Ok(format!("of {}", call.input))))
    });
    builder.build().expect("builds")
}

#[test]
fn a_run_interrupted_in_the_middle_of_a_nested_one_is_resumed_there() {
    let gone = || Err(ModelError::unanswered(Cause::Connection, "gone"));
    let inner = || asks(&[("find", "a")]).reply();
    let model = Arc::new(ScriptedModel::says([second().reply(), inner(), text("답").reply()]));
    let mut journal = MemoryJournal::new();
    let straight = agent(&model).job(Input::question("q")).journal(&mut journal).run().expect("ends");
    assert_eq!(straight.answer(), Some("답"));
    let folded = fold(journal.into_records()).expect("folds").state;
    assert_eq!(&folded, straight.state(), "folded and live are equal");

    let torn = [Ok(second().reply()), gone(), Ok(inner()), gone(), Ok(text("답").reply())];
    let model = Arc::new(torn.into_iter().fold(ScriptedModel::new(), ScriptedModel::answer));
    let mut journal = MemoryJournal::new();
    let interrupted = |stopped: Result<_, Stopped>| match stopped {
        Err(Stopped::Interrupted(interrupted)) => interrupted.effect.to_string(),
        other => panic!("{other:?}"),
    };
    let stopped = agent(&model).job(Input::question("q")).journal(&mut journal).run();
    assert_eq!(interrupted(stopped), "step.1.2.1/plan.1.1");
    assert_eq!(interrupted(agent(&model).resume(&mut journal).run()), "write.1.1");
    let resumed = agent(&model).resume(&mut journal).run().expect("ends");
    assert_eq!(resumed.state(), straight.state());
    assert_eq!(model.asked(), 5, "what was answered is not asked again");
}

#[test]
fn a_nested_agent_may_ask_a_person_and_the_run_around_it_waits() {
    let asking = whole_agent("team", spec("write = 'last_result'\napproval = 'steps'"));
    let outer = with_agents(spec(""), [asking]);
    let mut told = Told::run(outer, [second(), found("1"), plan("? 괜찮아요?")]);
    assert_eq!(told.waits(), ["step.1.2.1/human.1.1"]);
    assert!(told.state.waits_for_person());
    told.ends([respond("네"), text("답")], "답");
    assert_eq!(told.results()[1], "step_2: completed: 네");
}

/// A plan, a decision, two answers of the team, a decision make five transitions: the second team is one
/// too many.
#[test]
fn an_added_agent_stays_within_the_calls_and_the_transitions_of_the_run() {
    for limit in ["max_tool_calls = 1", "max_transitions = 6"] {
        let policy = format!("orchestrate = 'each_step'\n[limits]\n{limit}");
        let add = decision(json!({"action": "add_agent", "next_agent": "team", "task": "더"}));
        let answers = [plan("@team t"), go_on(), asks(&[("calc", "1")]), found("1"), add];
        let mut told = Told::run(outer(&policy), answers);
        while !told.phase().is_terminal() {
            let answer = match told.first() {
                id if id.ends_with("step.1.1.1") => found("2"),
                id if id.contains('/') => asks(&[("calc", "2")]),
                id if id.starts_with("orchestrate") => go_on(),
                _ => text("답"),
            };
            told.tell([answer]);
        }
        let (spent, most) = (told.spent(), told.compiled.bounds());
        assert!(spent.tool_calls <= most.tool_calls && spent.transitions <= most.transitions, "{spent:?}");
    }
}
