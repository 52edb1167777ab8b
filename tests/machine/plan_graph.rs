//! Plans as graphs: which references are legal, when a step starts, and that nothing depends on the
//! order in which answers come.

use crate::promise;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::driver::Agent;
use planwright::machine::{Input, PhaseName};
use planwright::ports::FnTool;
use planwright::ports::ScriptedModel;
use planwright::ports::{ToolCall, ToolError};
use planwright::spec::{Member, Spec};
use promise::{Told, broken, found, plan, role_agent, spec, team, text, with_agents};
use serde_json::{Value, json};

fn parallel(width: u32) -> Spec {
    spec(&format!("execution = {{ mode = 'parallel', width = {width} }}"))
}

fn calc(fields: Value) -> Value {
    let mut step = json!({"tool": "calc"});
    for (key, value) in fields.as_object().expect("fields") {
        step[key.as_str()] = value.clone();
    }
    step
}

/// A plan that the whole-plan check refuses, with this path and these words; nothing of it runs.
#[track_caller]
fn refused(policy: &str, steps: Value, path: &str, problem: &str) {
    let told = Told::run(spec(&format!("on_bad_reply = 'fail'\n{policy}")), [plan(steps)]);
    assert_eq!(told.error(), format!("PLAN_ERROR: contract: {path}: {problem}"));
    assert_eq!(told.state.task.counters.tool_calls, 0);
}

#[test]
fn references_to_no_step_are_refused() {
    let steps = json!([calc(json!({"input": "1"})), calc(json!({"input": "2", "depends_on": ["step_7"]}))]);
    refused("", steps, "$.steps[1].depends_on[0]", "no step has the id \"step_7\"");
    refused(
        "",
        json!([calc(json!({"input_from": "위"}))]),
        "$.steps[0].input_from",
        "no step has the id \"위\"",
    );
}

#[test]
fn references_forward_to_itself_and_in_a_circle_are_refused() {
    let forward = json!([calc(json!({"input_from": "step_2"})), calc(json!({"input": "1"}))]);
    let later = "\"step_2\" is a later step; expected an earlier one";
    refused("", forward, "$.steps[0].input_from", later);
    let itself = json!([calc(json!({"input": "1", "depends_on": [1]}))]);
    refused("", itself, "$.steps[0].depends_on[0]", "a step cannot wait for itself");
    let circle = json!([
        calc(json!({"input": "1", "depends_on": [2]})),
        calc(json!({"input": "1", "depends_on": [1]})),
    ]);
    refused("", circle, "$.steps[0].depends_on[0]", later);
}

#[test]
fn names_are_taken_once() {
    let twice = json!([calc(json!({"id": "a", "input": "1"})), calc(json!({"id": "a", "input": "2"}))]);
    refused("", twice, "$.steps[1].id", "the id \"a\" is taken by step 1");
    let of_position = json!([calc(json!({"id": "step_2", "input": "1"})), calc(json!({"input": "2"}))]);
    refused("", of_position, "$.steps[1].id", "the id \"step_2\" is taken by step 1");
}

#[test]
fn chains_longer_than_the_policy_allows_are_refused_and_wide_plans_are_not() {
    let chain = json!([
        calc(json!({"input": "1"})),
        calc(json!({"input_from": "step_1"})),
        calc(json!({"input_from": "step_2"})),
    ]);
    let policy = "[plan]\nmax_depth = 2";
    let problem = "3 steps wait for one another in a row; expected at most 2";
    refused(policy, chain, "$.steps[2].depends_on", problem);
    let wide = json!([
        calc(json!({"input": "1"})),
        calc(json!({"input_from": "step_1"})),
        calc(json!({"input_from": "step_1"})),
    ]);
    assert_eq!(Told::run(spec(policy), [plan(wide)]).waits(), ["step.1.1.1"]);
}

#[test]
fn an_input_from_a_step_is_refused_where_the_tool_takes_no_text_or_has_an_input() {
    let both = json!([calc(json!({"input": "1"})), calc(json!({"input": "1", "input_from": "step_1"}))]);
    refused("", both, "$.steps[1].input_from", "expected `input` or `input_from`, found both");
    let object = json!([calc(json!({"input": "1"})), {"tool": "book", "input_from": "step_1"}]);
    let problem = "\"book\" does not take a text, so no step's output either";
    refused("", object, "$.steps[1].input_from", problem);
}

/// Ten thousand steps, each reading from the one before.
fn long(count: usize) -> Value {
    let step = |at: usize| match at {
        0 => calc(json!({"input": "1"})),
        at => calc(json!({"input_from": format!("step_{at}")})),
    };
    (0..count).map(step).collect()
}

#[test]
fn a_plan_of_ten_thousand_steps_is_refused_unless_the_policy_allows_it() {
    refused(
        "[limits]\nmax_reply_bytes = 10000000",
        long(10_000),
        "$.steps",
        "expected 1 to 12 steps, found 10000",
    );
    let told = Told::run(spec("on_bad_reply = 'fail'"), [plan(long(10_000))]);
    assert!(told.error().contains("$: expected at most 262144 bytes"), "{}", told.error());
}

#[test]
fn a_plan_of_ten_thousand_steps_runs_in_as_many_transitions_where_it_is_allowed() {
    use planwright::machine::{Event, ToolOutcome, start, transition};
    for mode in ["execution = { mode = 'sequential' }", "execution = { mode = 'parallel', width = 4 }"] {
        let policy = format!(
            "{mode}\nduplicates = 'skip'\nplan = {{ max_steps = 10000 }}\n[limits]\nmax_reply_bytes = 10000000"
        );
        let rules = spec(&policy).check().expect("checks");
        let mut step = start(&rules, Input::question("q"));
        let mut transitions = 0;
        while let Some(effect) = step.effects.first().copied() {
            assert_eq!(step.effects.len(), 1, "a chain runs one by one");
            let event = match effect.id().to_string() {
                id if id.starts_with("plan") => plan(long(10_000)).event(effect.id()),
                id if id.starts_with("step") => {
                    // Each output is its own, so that no step repeats another.
                    let outcome = ToolOutcome::returned(format!("{transitions}"));
                    Event::ToolReturned { effect: effect.id(), outcome }
                }
                _ => text("답").event(effect.id()),
            };
            step = transition(&rules, step.state, event).expect("fits");
            transitions += 1;
        }
        assert_eq!(step.state.phase.name(), PhaseName::Done);
        assert_eq!(transitions, 10_002);
        assert_eq!(step.state.task.counters.tool_calls, 10_000);
    }
}

#[test]
fn an_agent_is_told_its_task_and_shown_the_output_it_works_on() {
    let critic = with_agents(parallel(2), [role_agent("critic"), team("team")]);
    let steps = json!([
        {"tool": "find", "input": "a"}, {"tool": "find", "input": "b"},
        {"agent": "critic", "task": "따져 봐", "input_from": "step_1"},
        {"agent": "team", "task": "더 찾아", "input_from": "step_2"},
    ]);
    let mut told = Told::run(critic, [plan(steps), found("A"), found("B")]);
    assert_eq!(told.waits(), ["step.1.3.1", "step.1.4.1/plan.1.1"]);
    let critic: Value = serde_json::from_str(&told.request("step.1.3.1").payload).expect("JSON");
    assert_eq!((&critic["task"], &critic["input"]), (&json!("따져 봐"), &json!("A")));
    let known: Vec<&Value> =
        critic["tool_results"].as_array().expect("results").iter().map(|one| &one["output"]).collect();
    assert_eq!(known, ["A"], "what it does not wait for is chance, and is not shown");
    let team: Value = serde_json::from_str(&told.request("step.1.4.1/plan.1.1").payload).expect("JSON");
    assert_eq!(team, json!({"user_question": "더 찾아", "on_behalf_of": "왜?", "material": "B"}));
    told.answer("step.1.4.1/plan.1.1", text("없음")).answer("step.1.3.1", text("괜찮음")).tell([text("답")]);
    assert_eq!(told.said(), "답");
}

#[test]
fn every_ready_step_starts_at_once_up_to_the_width() {
    let ten: Value = (0..10).map(|nth| calc(json!({"input": format!("{nth}")}))).collect();
    let told = Told::run(parallel(10), [plan(ten.clone())]);
    assert_eq!(told.waits().len(), 10);
    let mut told = Told::run(parallel(3), [plan(ten.clone())]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1", "step.1.3.1"]);
    told.answer("step.1.2.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.3.1", "step.1.4.1"]);
    let told = Told::run(spec(""), [plan(ten)]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
}

#[test]
fn a_write_that_may_not_happen_twice_runs_beside_nothing() {
    let steps = json!([
        calc(json!({"input": "1"})), {"tool": "send", "input": "m"}, {"tool": "store", "input": "s"}, calc(json!({"input": "2"})),
    ]);
    let mut told = Told::run(parallel(4), [plan(steps)]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    told.tell([found("1")]);
    assert_eq!(told.waits(), ["step.1.2.1"]);
    told.tell([found("sent")]);
    assert_eq!(told.waits(), ["step.1.3.1", "step.1.4.1"]);
}

#[test]
fn what_waits_for_a_failed_step_is_recorded_as_failed_without_running() {
    let steps = json!([
        calc(json!({"id": "첫째", "input": "1"})),
        calc(json!({"input_from": "첫째"})),
        calc(json!({"input": "x", "depends_on": ["step_2"]})),
        calc(json!({"input": "y"})),
    ]);
    for policy in ["", "execution = { mode = 'parallel', width = 2 }"] {
        let mut told = Told::run(spec(policy), [plan(steps.clone())]);
        told.answer("step.1.1.1", broken()).answer("step.1.4.1", found("Y"));
        assert_eq!(told.waits(), ["write.1.1"]);
        assert_eq!(
            told.results()[1..],
            [
                "step_2: failed: ERROR: dependency: 첫째 failed, so this step was not run",
                "step_3: failed: ERROR: dependency: step_2 failed, so this step was not run",
                "step_4: completed: Y",
            ]
        );
        assert_eq!(told.state.task.counters.tool_calls, 2);
        assert_eq!(
            told.line("EXECUTE"),
            json!({"phase": "EXECUTE", "ok": true, "num_results": 4, "num_failed": 3})
        );
    }
}

/// A small generator of orders: the same for the same seed.
struct Orders(u64);

impl Orders {
    fn pick(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}

fn agents() -> [Member; 2] {
    [role_agent("critic"), team("team")]
}

#[test]
fn state_and_trace_are_independent_of_the_order_in_which_answers_come() {
    let steps = json!([
        {"tool": "find", "input": "a"}, {"tool": "find", "input": "b"},
        {"agent": "critic", "task": "t", "input_from": "step_1"},
        {"agent": "team", "task": "u", "depends_on": ["step_2"]},
        {"agent": "team", "task": "v"}, {"tool": "store", "input_from": "step_3"},
        {"tool": "send", "input": "s", "depends_on": ["step_4", "step_6"]}, {"tool": "calc", "input": "9"},
    ]);
    let policy = "execution = { mode = 'parallel', width = 4 }\nstep_tries = { tries = 2 }\n\
        [plan]\nmax_steps = 12\nfinal_step = 'none'";
    let mut ends = std::collections::BTreeSet::new();
    for seed in 0..60 {
        let mut orders = Orders(seed);
        let mut told = Told::run(with_agents(spec(policy), agents()), [plan(steps.clone())]);
        while told.state.phase.name() == PhaseName::Execute {
            let waits = told.waits();
            let id = waits[orders.pick(waits.len())].clone();
            let answer = match id.as_str() {
                id if id.contains("wait.") => promise::Say::Passed,
                "step.1.2.1" | "step.1.8.1" => broken(),
                "step.1.4.1/plan.1.1" | "step.1.5.1/plan.1.1" => promise::asks(&[("find", &id)]),
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

/// What tools do, in the order in which they did it.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, what: &str, input: &str) {
        self.0.lock().unwrap().push(format!("{what} {input}"));
    }

    #[track_caller]
    fn before(&self, first: &str, second: &str) {
        let notes = self.0.lock().unwrap();
        let at = |note: &str| {
            notes.iter().position(|known| known == note).unwrap_or_else(|| panic!("{note}: {notes:?}"))
        };
        assert!(at(first) < at(second), "{first} comes before {second}: {notes:?}");
    }
}

fn agent(
    spec: Spec,
    replies: Vec<String>,
    call: impl Fn(&ToolCall<'_>) -> Result<String, ToolError> + Send + Sync + 'static,
) -> Agent {
    let mut spec = spec;
    spec.tools.retain(|tool: &ToolContract| tool.name == "calc");
    let contract = spec.tools[0].clone();
    Agent::builder(spec)
        .model(ScriptedModel::replies(replies))
        .tool(FnTool::new(contract, call))
        .build()
        .expect("builds")
}

/// How long a tool waits for another before it gives up: the test fails then.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn ten_independent_calls_overlap_as_far_as_the_width_allows() {
    for width in [2_u32, 5, 10] {
        let ten: Vec<Value> = (0..10).map(|nth| calc(json!({"input": format!("{nth}")}))).collect();
        let diary = Diary::default();
        let notes = diary.clone();
        let (running, most) = (Arc::new(Mutex::new(0_u32)), Arc::new(Mutex::new(0_u32)));
        let peak = most.clone();
        // Nobody leaves before `width` are there: fewer at a time would wait for ever.
        let together = Arc::new((Mutex::new(0_u32), std::sync::Condvar::new()));
        let agent =
            agent(parallel(width), vec![json!({"steps": ten}).to_string(), "답".into()], move |call| {
                let input = call.text()?;
                notes.note("start", input);
                {
                    let mut running = running.lock().unwrap();
                    *running += 1;
                    let mut peak = peak.lock().unwrap();
                    *peak = (*peak).max(*running);
                }
                let (arrived, moved) = &*together;
                let mut count = arrived.lock().unwrap();
                *count += 1;
                let goal = (*count).div_ceil(width) * width;
                moved.notify_all();
                let (_count, late) =
                    moved.wait_timeout_while(count, PATIENCE, |count| *count < goal.min(10)).unwrap();
                *running.lock().unwrap() -= 1;
                notes.note("end", input);
                if late.timed_out() {
                    Err(ToolError::new("alone", "nobody else came"))
                } else {
                    Ok("1".into())
                }
            });
        let run = agent.job(Input::question("q")).run().expect("ends");
        assert_eq!(run.answer(), Some("답"));
        let progress = run.state().task.progress.as_ref().expect("a plan");
        assert_eq!(progress.schedule.failed, 0, "width {width}: each met the others");
        assert_eq!(*most.lock().unwrap(), width);
        for (first, second) in [("start 0", "end 1"), ("start 1", "end 0")] {
            diary.before(first, second);
        }
    }
}

#[test]
fn a_slow_arm_of_a_diamond_does_not_hold_up_what_follows_the_other() {
    let steps = json!([
        calc(json!({"input": "top"})),
        calc(json!({"input": "slow", "depends_on": [1]})),
        calc(json!({"input": "quick", "depends_on": [1]})),
        calc(json!({"input": "after quick", "depends_on": [3]})),
        calc(json!({"input": "bottom", "depends_on": [2, 4]})),
    ]);
    let diary = Diary::default();
    let notes = diary.clone();
    let (done, wait): (Sender<()>, Receiver<()>) = channel();
    let (done, wait) = (Mutex::new(done), Mutex::new(wait));
    let agent = agent(parallel(2), vec![json!({"steps": steps}).to_string(), "답".into()], move |call| {
        let input = call.text()?;
        notes.note("start", input);
        // The slow arm ends only when the other arm's successor has.
        if input == "slow" && wait.lock().unwrap().recv_timeout(PATIENCE).is_err() {
            return Err(ToolError::new("stuck", "nothing followed the quick arm"));
        }
        notes.note("end", input);
        if input == "after quick" {
            done.lock().unwrap().send(()).ok();
        }
        Ok("1".into())
    });
    let run = agent.job(Input::question("q")).run().expect("ends");
    assert_eq!(run.state().task.progress.as_ref().expect("a plan").schedule.failed, 0);
    diary.before("end top", "start slow");
    diary.before("end quick", "start after quick");
    diary.before("end after quick", "end slow");
    diary.before("end slow", "start bottom");
}

#[test]
fn one_by_one_nothing_overlaps() {
    let steps = json!([calc(json!({"input": "a"})), calc(json!({"input": "b"}))]);
    let diary = Diary::default();
    let notes = diary.clone();
    let agent = agent(spec(""), vec![json!({"steps": steps}).to_string(), "답".into()], move |call| {
        notes.note("start", call.text()?);
        notes.note("end", call.text()?);
        Ok("1".into())
    });
    agent.job(Input::question("q")).run().expect("ends");
    assert_eq!(*diary.0.lock().unwrap(), ["start a", "end a", "start b", "end b"]);
}

#[test]
fn an_input_of_an_agents_own_reaches_it_beside_its_task() {
    let spec = with_agents(spec(""), agents());
    let steps = json!([{"agent": "critic", "task": "따져 봐", "input": "이 글"}, {"agent": "team", "task": "찾아", "input": "저 글"}]);
    let mut told = Told::run(spec, [plan(steps)]);
    let critic = told.payload();
    assert_eq!((&critic["task"], &critic["input"]), (&json!("따져 봐"), &json!("이 글")));
    told.tell([text("괜찮음")]);
    let team = told.payload();
    assert_eq!((&team["user_question"], &team["material"]), (&json!("찾아"), &json!("저 글")));
}

#[test]
fn steps_side_by_side_inside_an_agent_overlap_under_an_outer_run_that_goes_one_by_one() {
    let inner = spec("execution = { mode = 'parallel', width = 2 }\nwrite = 'last_result'");
    let mut inner = promise::whole_agent("team", inner);
    inner.spec.as_mut().expect("whole").tools.retain(|tool| tool.name == "calc");
    let outer = with_agents(spec(""), [inner]);
    let steps = json!([calc(json!({"input": "a"})), calc(json!({"input": "b"}))]);
    let replies = vec![
        json!({"steps": [{"agent": "team", "task": "t"}]}).to_string(),
        json!({"steps": steps}).to_string(),
        "답".into(),
    ];
    // Two calls that wait for each other.
    let met = Arc::new((Mutex::new(0), std::sync::Condvar::new()));
    let agent = agent(outer, replies, move |_| {
        let (count, moved) = &*met;
        let mut count = count.lock().unwrap();
        *count += 1;
        moved.notify_all();
        let (_count, late) =
            moved.wait_timeout_while(count, Duration::from_secs(3), |count| *count < 2).unwrap();
        if late.timed_out() { Err(ToolError::new("alone", "nobody else came")) } else { Ok("1".into()) }
    });
    let run = agent.job(Input::question("q")).run().expect("ends");
    let line = serde_json::to_value(&run.trace()[1]).expect("serialises");
    assert_eq!(line["nested"][0]["trace"][1], json!({"phase": "EXECUTE", "ok": true, "num_results": 2}));
}
