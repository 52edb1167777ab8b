//! Plans as graphs: which references are legal, when a step starts, and that nothing depends on the
//! order in which answers come.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use planwright::driver::Agent;
use planwright::machine::{Event, Input, PhaseName, ToolOutcome, start, transition};
use planwright::ports::{FnTool, ScriptedModel, ToolCall, ToolError};
use planwright::spec::{Spec, SubAgent};
use serde_json::{Value, json};

use crate::promise::{
    self, Say, Told, asks, broken, found, plan, role_agent, spec, team, text, whole_agent, with_agents,
};

fn parallel(width: u32) -> Spec {
    spec(&format!("execution = {{ mode = 'parallel', width = {width} }}"))
}

/// A plan that the whole-plan check refuses, with this path and these words; nothing of it runs.
#[track_caller]
fn refused(policy: &str, steps: impl Into<promise::Steps>, said: &str) {
    let told = Told::run(spec(&format!("on_bad_reply = 'fail'\n{policy}")), [plan(steps)]);
    assert_eq!(told.error(), format!("PLAN_ERROR: contract: {said}"));
    assert_eq!(told.spent().tool_calls, 0);
}

#[test]
fn plans_with_wrong_references_and_names_are_refused() {
    let later = "\"step_2\" is a later step; expected an earlier one";
    let both =
        json!([{"tool": "calc", "input": "1"}, {"tool": "calc", "input": "1", "input_from": "step_1"}]);
    for (steps, said) in [
        ("calc 1; calc 2 after step_7", "$.steps[1].depends_on[0]: no step has the id \"step_7\""),
        ("calc < 위", "$.steps[0].input_from: no step has the id \"위\""),
        ("calc < step_2; calc 1", &format!("$.steps[0].input_from: {later}")),
        ("calc 1 after step_1", "$.steps[0].depends_on[0]: a step cannot wait for itself"),
        ("calc 1 after step_2; calc 1 after step_1", &format!("$.steps[0].depends_on[0]: {later}")),
        ("a = calc 1; a = calc 2", "$.steps[1].id: the id \"a\" is taken by step 1"),
        ("step_2 = calc 1; calc 2", "$.steps[1].id: the id \"step_2\" is taken by step 1"),
        (
            "calc 1; book < step_1",
            "$.steps[1].input_from: \"book\" does not take a text, so no step's output either",
        ),
    ] {
        refused("", steps, said);
    }
    refused("", both, "$.steps[1].input_from: expected `input` or `input_from`, found both");
}

#[test]
fn a_step_is_waited_for_by_its_number_too() {
    let steps = json!([{"tool": "calc", "input": "1"}, {"tool": "calc", "input": "2", "depends_on": [1]}]);
    assert_eq!(Told::run(parallel(2), [plan(steps)]).waits(), ["step.1.1.1"]);
}

#[test]
fn chains_longer_than_the_policy_allows_are_refused_and_wide_plans_are_not() {
    let policy = "[plan]\nmax_depth = 2";
    let problem = "$.steps[2].depends_on: 3 steps wait for one another in a row; expected at most 2";
    refused(policy, "calc 1; calc < step_1; calc < step_2", problem);
    let wide = plan("calc 1; calc < step_1; calc < step_1");
    assert_eq!(Told::run(spec(policy), [wide]).waits(), ["step.1.1.1"]);
}

/// Ten thousand steps, each reading from the one before.
fn long() -> Value {
    let step = |at: usize| match at {
        0 => json!({"tool": "calc", "input": "1"}),
        at => json!({"tool": "calc", "input_from": format!("step_{at}")}),
    };
    (0..10_000).map(step).collect()
}

#[test]
fn a_plan_of_ten_thousand_steps_is_refused_unless_the_policy_allows_it() {
    let long_replies = "[limits]\nmax_reply_bytes = 10000000";
    refused(long_replies, long(), "$.steps: expected 1 to 12 steps, found 10000");
    let error = "PLAN_ERROR: contract: $: expected at most 262144 bytes";
    Told::fails(spec("on_bad_reply = 'fail'"), [plan(long())], error);
}

#[test]
fn a_plan_of_ten_thousand_steps_runs_in_as_many_transitions_where_it_is_allowed() {
    for mode in ["execution = { mode = 'sequential' }", "execution = { mode = 'parallel', width = 4 }"] {
        let limits =
            "duplicates = 'skip'\nplan = { max_steps = 10000 }\n[limits]\nmax_reply_bytes = 10000000";
        let compiled = spec(&format!("{mode}\n{limits}")).check().expect("checks");
        let mut step = start(&compiled, Input::question("q"));
        let mut transitions = 0;
        while let Some(effect) = step.effects.first().copied() {
            assert_eq!(step.effects.len(), 1, "a chain runs one by one");
            let event = match effect.id().to_string() {
                id if id.starts_with("plan") => plan(long()).event(effect.id()),
                id if id.starts_with("step") => {
                    // Each output is its own, so that no step repeats another.
                    let outcome = ToolOutcome::returned(format!("{transitions}"));
                    Event::ToolReturned { effect: effect.id(), outcome }
                }
                _ => text("답").event(effect.id()),
            };
            step = transition(&compiled, step.state, event).expect("fits");
            transitions += 1;
        }
        assert_eq!((step.state.phase(), transitions), (PhaseName::Done, 10_002));
        assert_eq!(step.state.counters().tool_calls, 10_000);
    }
}

fn agents() -> [SubAgent; 2] {
    [role_agent("critic"), team("team")]
}

#[test]
fn an_agent_is_told_its_task_and_shown_the_output_it_works_on() {
    let steps = "find a; find b; @critic 따져 봐 < step_1; @team 더 찾아 < step_2";
    let mut told = Told::run(with_agents(parallel(2), agents()), [plan(steps), found("A"), found("B")]);
    assert_eq!(told.waits(), ["step.1.3.1", "step.1.4.1/plan.1.1"]);
    let critic = told.payload();
    assert_eq!((&critic["task"], &critic["input"]), (&json!("따져 봐"), &json!("A")));
    assert_eq!(critic["tool_results"].as_array().map(Vec::len), Some(1));
    let known = &critic["tool_results"][0]["output"];
    assert_eq!(known, "A", "what it does not wait for is chance, and is not shown");
    let team = told.payload_of("step.1.4.1/plan.1.1");
    assert_eq!(team, json!({"user_question": "더 찾아", "on_behalf_of": "왜?", "material": "B"}));
    told.answer("step.1.4.1/plan.1.1", text("없음")).ends([text("괜찮음"), text("답")], "답");

    let steps = json!([{"agent": "critic", "task": "따져 봐", "input": "이 글"}, {"agent": "team", "task": "찾아", "input": "저 글"}]);
    let mut told = Told::run(with_agents(spec(""), agents()), [plan(steps)]);
    let critic = told.payload();
    assert_eq!(
        (&critic["task"], &critic["input"]),
        (&json!("따져 봐"), &json!("이 글")),
        "an input of its own"
    );
    let team = told.tell([text("괜찮음")]).payload();
    assert_eq!((&team["user_question"], &team["material"]), (&json!("찾아"), &json!("저 글")));
}

#[test]
fn every_ready_step_starts_at_once_up_to_the_width() {
    let ten: String = (0..10).map(|nth| format!("calc {nth};")).collect();
    let ten = || plan(ten.as_str());
    assert_eq!(Told::run(parallel(10), [ten()]).waits().len(), 10);
    let mut told = Told::run(parallel(3), [ten()]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1", "step.1.3.1"]);
    told.answer("step.1.2.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.3.1", "step.1.4.1"]);
    assert_eq!(Told::run(spec(""), [ten()]).waits(), ["step.1.1.1"]);
}

#[test]
fn what_may_write_runs_beside_nothing() {
    let mut told = Told::run(parallel(4), [plan("calc 1; send m; store s; calc 2")]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    assert_eq!(told.tell([found("1")]).waits(), ["step.1.2.1"]);
    assert_eq!(told.tell([found("sent")]).waits(), ["step.1.3.1"]);
    assert_eq!(told.tell([found("stored")]).waits(), ["step.1.4.1"]);
}

#[test]
fn what_waits_for_a_failed_step_is_recorded_as_failed_without_running() {
    for policy in ["", promise::PARALLEL] {
        let steps = plan("첫째 = calc 1; calc < 첫째; calc x after step_2; calc y");
        let mut told = Told::run(spec(policy), [steps]);
        told.answer("step.1.1.1", broken()).answer("step.1.4.1", found("Y"));
        assert_eq!(told.waits(), ["write.1.1"]);
        let results = [
            "step_2: failed: ERROR: dependency: 첫째 failed, so this step was not run",
            "step_3: failed: ERROR: dependency: step_2 failed, so this step was not run",
            "step_4: completed: Y",
        ];
        assert_eq!(told.results()[1..], results);
        assert_eq!(told.spent().tool_calls, 2);
        let line = json!({"phase": "EXECUTE", "ok": true, "num_results": 4, "num_failed": 3});
        assert_eq!(told.line("EXECUTE"), line);
    }
}

#[test]
fn an_input_comes_from_the_step_of_that_name_and_not_of_that_number() {
    let steps = plan("step_03 = find a; find b; find c; calc < step_03");
    let mut told = Told::run(parallel(4), [steps]);
    told.answer("step.1.1.1", found("from the first"));
    assert_eq!(told.input("step.1.4.1"), json!("from the first"));
}

#[test]
fn state_and_trace_are_independent_of_the_order_in_which_answers_come() {
    let steps = "find a; find b; @critic t < step_1; @team u after step_2; @team v; store < step_3; \
        send s after step_4, step_6; calc 9";
    let policy = "execution = { mode = 'parallel', width = 4 }\nstep_tries = { tries = 2 }\n\
        [plan]\nmax_steps = 12\nfinal_step = 'none'";
    let mut ends = BTreeSet::new();
    for seed in 0..60 {
        let mut random: u64 = seed;
        let mut told = Told::run(with_agents(spec(policy), agents()), [plan(steps)]);
        while told.phase() == PhaseName::Execute {
            let waits = told.waits();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let id = waits[(random >> 33) as usize % waits.len()].clone();
            let answer = match id.as_str() {
                id if id.contains("wait.") => Say::Passed,
                "step.1.2.1" | "step.1.8.1" => broken(),
                "step.1.4.1/plan.1.1" | "step.1.5.1/plan.1.1" => asks(&[("find", &id)]),
                id if id.starts_with("step.1.3.") => text(format!("말 {id}")),
                id => found(&format!("출력 {id}")),
            };
            told.answer(&id, answer);
        }
        assert_eq!(told.waits(), ["write.1.1"]);
        ends.insert((serde_json::to_string(&told.state).expect("written"), format!("{:?}", told.trace())));
    }
    assert_eq!(ends.len(), 1, "one state and one trace");
}

/// How long a tool waits for another before it gives up: the test fails then.
const PATIENCE: Duration = Duration::from_secs(20);

fn count(notes: &[String], what: &str) -> usize {
    notes.iter().filter(|note| note.starts_with(what)).count()
}

/// What tools do, in the order in which they did it.
#[derive(Clone, Default)]
struct Diary(Arc<(Mutex<Vec<String>>, Condvar)>);

impl Diary {
    /// Writes down and says how many notes of this kind there are now.
    fn note(&self, what: &str, input: &str) -> usize {
        let mut notes = self.0.0.lock().unwrap();
        notes.push(format!("{what} {input}"));
        self.0.1.notify_all();
        count(&notes, what)
    }

    fn notes(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }

    /// Waits until the notes are as wanted.
    fn wait(&self, wanted: impl Fn(&[String]) -> bool) -> Result<(), ToolError> {
        let notes = self.0.0.lock().unwrap();
        let (_notes, late) = self.0.1.wait_timeout_while(notes, PATIENCE, |notes| !wanted(notes)).unwrap();
        if late.timed_out() { Err(ToolError::new("stuck", "nobody else came")) } else { Ok(()) }
    }

    #[track_caller]
    fn check_order(&self, first: &str, second: &str) {
        let notes = self.notes();
        let at = |note: &str| {
            notes.iter().position(|known| known == note).unwrap_or_else(|| panic!("{note}: {notes:?}"))
        };
        assert!(at(first) < at(second), "{first} comes before {second}: {notes:?}");
    }
}

/// Runs an agent whose `calc` writes down when it starts and ends, and waits in between, knowing which
/// call it is, from 1. No step fails.
fn run_with_diary(
    mut spec: Spec,
    plans: impl IntoIterator<Item = Say>,
    between: impl Fn(&Diary, &ToolCall<'_>, usize) -> Result<(), ToolError> + Send + Sync + 'static,
) -> Diary {
    spec.tools.retain(|tool| tool.name == "calc");
    let (diary, contract) = (Diary::default(), spec.tools[0].clone());
    let notes = diary.clone();
    let calc = FnTool::new(contract, move |call| {
        let nth = notes.note("start", call.text()?);
        between(&notes, call, nth)?;
        notes.note("end", call.text()?);
        Ok("1".into())
    });
    let replies = plans.into_iter().chain([text("답")]).map(Say::reply);
    let agent = Agent::builder(spec).model(ScriptedModel::says(replies)).tool(calc).build().expect("builds");
    let run = agent.job(Input::question("q")).run().expect("ends");
    assert_eq!(run.answer(), Some("답"));
    let traced = serde_json::to_string(run.trace()).expect("written");
    assert!(!traced.contains("num_failed"), "each met the others: {traced}");
    diary
}

#[test]
fn ten_independent_calls_overlap_as_far_as_the_width_allows() {
    for width in [2, 5, 10] {
        let ten: String = (0..10).map(|nth| format!("calc {nth};")).collect();
        // Nobody leaves before `width` are there: fewer at a time would wait for ever.
        let diary = run_with_diary(parallel(width), [plan(ten.as_str())], move |diary, _, nth| {
            let width = width as usize;
            let goal = nth.div_ceil(width) * width;
            diary.wait(|notes| count(notes, "start") >= goal.min(10))
        });
        let notes = diary.notes();
        let running = |till: usize| count(&notes[..till], "start") - count(&notes[..till], "end");
        assert_eq!((0..=notes.len()).map(running).max(), Some(width as usize));
    }
}

#[test]
fn a_slow_arm_of_a_diamond_does_not_hold_up_what_follows_the_other() {
    let steps = "calc top; calc slow after step_1; calc quick after step_1; calc next after step_3; \
        calc bottom after step_2, step_4";
    // The slow arm ends only when the other arm's successor has.
    let diary = run_with_diary(parallel(2), [plan(steps)], |diary, call, _| match call.text()? {
        "slow" => diary.wait(|notes| notes.iter().any(|note| note == "end next")),
        _ => Ok(()),
    });
    diary.check_order("end top", "start slow");
    diary.check_order("end quick", "start next");
    diary.check_order("end slow", "start bottom");
}

#[test]
fn one_by_one_nothing_overlaps() {
    let diary = run_with_diary(spec(""), [plan("calc a; calc b")], |_, _, _| Ok(()));
    assert_eq!(diary.notes(), ["start a", "end a", "start b", "end b"]);
}

#[test]
fn steps_side_by_side_inside_an_agent_overlap_under_an_outer_run_that_goes_one_by_one() {
    let inner = spec("execution = { mode = 'parallel', width = 2 }\nwrite = 'last_result'");
    let inner = whole_agent("team", inner.with_tools(|tool| tool.name == "calc"));
    // Two calls that wait for each other.
    run_with_diary(
        with_agents(spec(""), [inner]),
        [plan("@team t"), plan("calc a; calc b")],
        |diary, _, _| diary.wait(|notes| notes.len() >= 2),
    );
}

#[test]
fn tool_is_not_called_with_an_earlier_output_that_its_schema_does_not_take() {
    for policy in ["", "execution = { mode = 'parallel', width = 3 }"] {
        let mut told = Told::run(spec(policy), [plan("a = find x; b = calc < a; c = calc < b"), found("")]);
        assert_eq!(told.spent().tool_calls, 1, "neither is called");
        assert_eq!(
            told.results(),
            [
                "a: completed: ".to_owned(),
                "b: failed: ERROR: input: what a returned does not fit calc: $: expected at least 1 characters, found 0".into(),
                "c: failed: ERROR: dependency: b failed, so this step was not run".into(),
            ]
        );
        told.ends([text("끝")], "끝");
    }
    Told::run(spec(""), [plan("a = find x; b = calc < a"), found("1")])
        .tell([found("1")])
        .ends([text("끝")], "끝");
}
