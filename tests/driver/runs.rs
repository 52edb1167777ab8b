//! The driver: what it performs, when, how often, and what it does when the world does not answer.

use crate::stage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::driver::{Agent, AgentBuilder, CancelToken, Run, Sleeper, Stopped};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::machine::{FINAL_STEP_OUTPUT, Input, PhaseName, StepRun};
use planwright::ports::ScriptedModel;
use planwright::ports::{Cause, ModelError, Observer, Signal, ToolError};
use planwright::spec::{RoleName, Spec, StepTries};
use serde_json::json;

use stage::{Calls, Conductor, accepted, answer, asked, echoing, model, parallel, plan, spec};

const PTE: &str = "plan-then-execute";

/// The results of the last plan, step by step.
fn outputs(run: &Run) -> Vec<&str> {
    let progress = run.state().task.progress.as_ref().expect("a plan was accepted");
    progress.steps.iter().map(|step| step.output().expect("every step has a result")).collect()
}

/// The run's id, out of its first record.
fn run_id(records: &[Record]) -> &str {
    match records.first() {
        Some(Record::Header(header)) => &header.run,
        other => panic!("expected a header, found {other:?}"),
    }
}

/// Runs `plan-then-execute` with this plan over tools that echo, `calc` replaced by `tool`.
fn with_calc(
    contract: ToolContract,
    steps: &[(&str, &str)],
    tool: impl Fn(&planwright::ports::ToolCall<'_>) -> Result<String, ToolError> + Send + Sync + 'static,
) -> Run {
    let mut spec = spec(PTE);
    spec.tools[0] = contract.clone();
    let (script, calls) = (model([plan(steps), answer("끝")]), Calls::default());
    let agent = echoing(spec, &script, &calls).tool(calls.tool(contract, tool)).build().unwrap();
    agent.run("q").unwrap()
}

fn calc() -> ToolContract {
    stage::contracts().remove(0)
}

// The world does not answer.

#[test]
fn transport_failure_interrupts_the_run_and_it_can_be_resumed() {
    for cause in [Cause::RateLimit, Cause::Timeout, Cause::Connection, Cause::Authentication, Cause::Server] {
        let first = ScriptedModel::replies([plan(&[("find", "x")])])
            .answer(Err(ModelError::unanswered(cause, "가 버렸습니다")))
            .reply(answer("드디어"));
        let (script, calls, mut journal) = (Arc::new(first), Calls::default(), MemoryJournal::new());
        let agent = echoing(spec(PTE), &script, &calls).build().unwrap();

        let stopped = agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
        assert_eq!(stopped.to_string(), format!("interrupted at write.1.1 (WRITE): {cause}: 가 버렸습니다"));
        let Stopped::Interrupted(interrupted) = stopped else { panic!("{stopped:?}") };
        assert_eq!((interrupted.cause.cause, interrupted.state.phase.name()), (cause, PhaseName::Write));

        let run = agent.resume(&mut journal, None).unwrap();
        assert_eq!(run.answer(), Some("드디어"));
        assert_eq!((script.asked(), calls.count()), (3, 1), "plan and tool were not asked again");
    }
}

#[test]
fn run_may_be_interrupted_again_and_again() {
    let gone = || Err(ModelError::unanswered(Cause::Server, "503"));
    let script = ScriptedModel::new().answer(gone()).answer(gone()).reply(plan(&[])).answer(gone());
    let (script, mut journal) = (Arc::new(script.reply(answer("예"))), MemoryJournal::new());
    let agent = echoing(spec(PTE), &script, &Calls::default()).build().unwrap();
    assert!(matches!(agent.job(asked("q")).journal(&mut journal).run(), Err(Stopped::Interrupted(_))));
    for _ in 0..2 {
        assert!(matches!(agent.resume(&mut journal, None), Err(Stopped::Interrupted(_))));
    }
    assert_eq!(agent.resume(&mut journal, None).unwrap().answer(), Some("예"));
    assert_eq!(agent.resume(&mut journal, None).unwrap().answer(), Some("예"), "an ended run is read again");
    assert_eq!(script.asked(), 5);
}

// What is missing.

#[track_caller]
fn is_incomplete(builder: AgentBuilder, wanted: &str) {
    let (agent, mut journal) = (builder.build().unwrap(), MemoryJournal::new());
    let stopped = agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
    assert!(matches!(stopped, Stopped::Incomplete(_)), "{stopped:?}");
    assert!(stopped.to_string().starts_with(wanted), "{stopped}");
    assert_eq!(journal.records().unwrap(), [], "nothing was begun");
}

#[test]
fn tool_that_nobody_registered_is_said_before_anything_runs() {
    let script = model([plan(&[])]);
    let calls = Calls::default();
    let builder = Agent::builder(spec(PTE)).shared_model(script.clone()).tool(calls.echo(calc()));
    is_incomplete(builder, "the spec names tools that are not registered: find, send, store (register them,");
    assert_eq!((script.asked(), calls.count()), (0, 0));
}

#[test]
fn role_that_has_no_model_is_said_before_anything_runs() {
    let bare = || {
        let contracts = stage::contracts();
        let builder = Agent::builder(spec("validated"));
        contracts.into_iter().fold(builder, |builder, contract| builder.tool(Calls::default().echo(contract)))
    };
    is_incomplete(bare(), "no model is configured for the roles planner, replanner, validator, writer");
    let judge = ScriptedModel::replies([accepted()]);
    let builder =
        bare().model_for(RoleName::Planner, ScriptedModel::new()).model_for(RoleName::Validator, judge);
    is_incomplete(builder, "no model is configured for the roles replanner, writer");
}

#[test]
fn each_role_may_have_a_model_of_its_own() {
    let (shared, calls) = (model([plan(&[("find", "x")]), "답".to_owned()]), Calls::default());
    let judge = ScriptedModel::replies([accepted()]);
    let agent = echoing(spec("validated"), &shared, &calls).model_for(RoleName::Validator, judge);
    let run = agent.build().unwrap().run("q").unwrap();
    assert_eq!(run.answer(), Some("답"));
    let roles: Vec<RoleName> = shared.seen().iter().map(|request| request.frame.role).collect();
    assert_eq!(roles, [RoleName::Planner, RoleName::Writer], "the validator asked elsewhere");
}

// Tools.

/// A tool call that comes back only when the sender is gone.
fn blocked(receiver: Receiver<()>) -> impl Fn() + Send + Sync {
    let receiver = Mutex::new(receiver);
    move || {
        let _ = receiver.lock().unwrap().recv();
    }
}

#[test]
fn tool_that_does_not_come_back_is_a_recorded_failure_and_the_run_goes_on() {
    let (sender, receiver) = channel();
    let block = blocked(receiver);
    let contract = ToolContract { timeout_ms: Some(20), ..calc() };
    let run = with_calc(contract, &[("calc", "x"), ("find", "y")], move |_| {
        block();
        Ok("too late".to_owned())
    });
    let wanted = ["ERROR: timeout: no answer within 20 ms", "find of y", FINAL_STEP_OUTPUT];
    assert_eq!(outputs(&run), wanted);
    assert_eq!(run.answer(), Some("끝"));
    drop(sender);
}

#[test]
fn write_that_does_not_come_back_interrupts_the_run_and_stays_in_doubt() {
    for (tool, doubted) in [("send", true), ("store", false)] {
        let (sender, receiver) = channel();
        let block = blocked(receiver);
        let mut spec = spec(PTE);
        let contract = spec.tools.iter_mut().find(|contract| contract.name == tool).unwrap();
        contract.timeout_ms = Some(20);
        let contract = contract.clone();
        let script = model([plan(&[(tool, "x"), ("find", "y")]), answer("끝")]);
        let (calls, mut journal) = (Calls::default(), MemoryJournal::new());
        let late = calls.tool(contract, move |_| {
            block();
            Ok("too late".to_owned())
        });
        let agent = echoing(spec, &script, &calls).tool(late).build().unwrap();
        let ended = agent.job(asked("q")).journal(&mut journal).run();
        if doubted {
            let said = ended.unwrap_err().to_string();
            let wanted = "interrupted at step.1.1.1 (EXECUTE): timeout: send: no answer within 20 ms; the write may have happened";
            assert_eq!(said, wanted);
            let again = agent.resume(&mut journal, None).unwrap_err();
            assert!(matches!(again, Stopped::InDoubt { .. }), "{again:?}");
            assert_eq!(calls.names(), ["send:x"], "nothing ran after it, and it was not done again");
        } else {
            let wanted = ["ERROR: timeout: no answer within 20 ms", "find of y", FINAL_STEP_OUTPUT];
            assert_eq!(outputs(&ended.unwrap()), wanted, "a write that may be repeated is a failed step");
        }
        drop(sender);
    }
}

#[test]
fn tool_is_told_its_time_and_its_size() {
    let contract = ToolContract { timeout_ms: Some(30_000), max_output_bytes: 77, ..calc() };
    let run = with_calc(contract, &[("calc", "x")], |call| {
        Ok(format!("{} ms, {} bytes", call.timeout.unwrap().as_millis(), call.max_output_bytes))
    });
    assert_eq!(outputs(&run)[0], "30000 ms, 77 bytes");
}

#[test]
fn tool_that_panics_is_a_recorded_failure_with_what_it_said() {
    for timeout_ms in [None, Some(30_000)] {
        let contract = ToolContract { timeout_ms, ..calc() };
        let steps = [("calc", "text"), ("calc", "서식"), ("calc", "value"), ("find", "y")];
        let run = with_calc(contract, &steps, |call| match call.text()? {
            "text" => panic!("no"),
            "value" => std::panic::panic_any(7_u8),
            other => panic!("그럴 수 없습니다: {other}"),
        });
        let wanted = [
            "ERROR: panic: no",
            "ERROR: panic: 그럴 수 없습니다: 서식",
            "ERROR: panic: the tool panicked",
            "find of y",
            FINAL_STEP_OUTPUT,
        ];
        assert_eq!(outputs(&run), wanted);
    }
}

#[test]
fn output_is_cut_between_characters_and_says_so() {
    let most = |max_output_bytes| ToolContract { max_output_bytes, ..calc() };
    let six = |contract| with_calc(contract, &[("calc", "x")], |_| Ok("가나".to_owned()));
    assert_eq!(outputs(&six(most(6)))[0], "가나");
    assert_eq!(outputs(&six(most(5)))[0], "가… [cut: 3 of 6 bytes]");
    assert_eq!(outputs(&six(most(3)))[0], "가… [cut: 3 of 6 bytes]");
    assert_eq!(outputs(&six(most(2)))[0], "… [cut: 0 of 6 bytes]");
    let failed = with_calc(most(4), &[("calc", "x")], |_| Err(ToolError::new("http", "가나")));
    assert_eq!(outputs(&failed)[0], "ERROR: http: 가… [cut: 3 of 6 bytes]");
}

#[test]
fn tool_call_carries_run_and_effect_as_its_idempotency_key() {
    let replies = [plan(&[("calc", "a"), ("send", "b")]), answer("끝")];
    let (script, calls) = (model(replies), Calls::default());
    let run = echoing(spec(PTE), &script, &calls).build().unwrap().run("q").unwrap();
    let id = run_id(run.records());
    let keys: Vec<String> = calls.all().into_iter().map(|called| called.key).collect();
    assert_eq!(keys, [format!("{id}/step.1.1.1"), format!("{id}/step.1.2.1")]);
}

#[test]
fn no_two_runs_share_an_idempotency_key() {
    let calls = Calls::default();
    for _ in 0..20 {
        let script = model([plan(&[("send", "b")]), answer("끝")]);
        echoing(spec(PTE), &script, &calls).build().unwrap().run("q").unwrap();
    }
    let mut keys: Vec<String> = calls.all().into_iter().map(|called| called.key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 20);
}

/// A plan with references, as a planner writes it.
fn linked(steps: serde_json::Value) -> String {
    json!({"goal": "a goal", "steps": steps}).to_string()
}

#[test]
fn step_may_take_the_output_of_an_earlier_one_as_its_input() {
    let steps = json!([
        {"id": "first", "tool": "find", "input": "서울"},
        {"tool": "calc", "input_from": "first"},
        {"tool": "calc", "input_from": "step_2"},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    for spec in [spec(PTE), parallel(PTE, 3)] {
        let (script, calls) = (model([linked(steps.clone()), answer("끝")]), Calls::default());
        let run = echoing(spec, &script, &calls).build().unwrap().run("q").unwrap();
        assert_eq!(calls.names(), ["find:서울", "calc:find of 서울", "calc:calc of find of 서울"]);
        assert_eq!(outputs(&run)[2], "calc of calc of find of 서울");
    }
}

#[test]
fn step_that_depends_on_a_failed_one_is_recorded_as_failed_and_never_called() {
    let steps = json!([
        {"tool": "calc", "input": "x"},
        {"tool": "find", "input_from": "step_1"},
        {"tool": "store", "input": "y", "depends_on": ["step_2"]},
        {"tool": "find", "input": "z"},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    for spec in [spec(PTE), parallel(PTE, 3)] {
        let (script, calls) = (model([linked(steps.clone()), answer("끝")]), Calls::default());
        let failing = calls.tool(calc(), |_| Err(ToolError::new("http", "503")));
        let run = echoing(spec, &script, &calls).tool(failing).build().unwrap().run("q").unwrap();
        let wanted = [
            "ERROR: http: 503",
            "ERROR: dependency: step_1 failed, so this step was not run",
            "ERROR: dependency: step_2 failed, so this step was not run",
            "find of z",
            FINAL_STEP_OUTPUT,
        ];
        assert_eq!(outputs(&run), wanted);
        let mut called = calls.names();
        called.sort();
        assert_eq!(called, ["calc:x", "find:z"]);
    }
}

// Side by side.

/// Lets visitors wait for company, and counts who is inside.
#[derive(Default)]
struct Room {
    /// How many ever came, and how many are inside.
    visitors: Mutex<(usize, usize)>,
    changed: Condvar,
    most: AtomicUsize,
}

impl Room {
    /// Comes in, stays until a group of `company` is complete (ten seconds at most), and goes.
    fn visit(&self, company: usize) {
        let mut visitors = self.visitors.lock().unwrap();
        *visitors = (visitors.0 + 1, visitors.1 + 1);
        self.most.fetch_max(visitors.1, Ordering::SeqCst);
        self.changed.notify_all();
        let (patience, group) = (Duration::from_secs(10), visitors.0.div_ceil(company) * company);
        let waits = |visitors: &mut (usize, usize)| visitors.0 < group;
        self.changed.wait_timeout_while(visitors, patience, waits).unwrap().0.1 -= 1;
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// The effects that were outstanding together, at each record of a journal.
fn outstanding(records: &[Record]) -> Vec<Vec<String>> {
    let mut open: Vec<String> = Vec::new();
    let mut at_each = Vec::new();
    for record in records {
        match record {
            Record::Requested { effect, .. } => open.push(effect.to_string()),
            Record::Answered(event) => {
                let answered = event.effect().map(|id| id.to_string());
                open.retain(|id| Some(id) != answered.as_ref());
            }
            Record::Header(_) | Record::Happened(_) | Record::Settled { .. } | Record::SpecChanged(_) => {}
        }
        at_each.push(open.clone());
    }
    at_each
}

/// Runs four independent steps that stay until `width` are at work. Returns the most at once, by
/// the tools and by the journal.
fn most_at_once(spec: Spec, width: usize) -> (usize, usize) {
    let steps = [("calc", "a"), ("calc", "b"), ("calc", "c"), ("calc", "d")];
    let (script, calls, room) =
        (model([plan(&steps), answer("끝")]), Calls::default(), Arc::new(Room::default()));
    let inside = room.clone();
    let tool = calls.tool(calc(), move |_| {
        inside.visit(width);
        Ok("done".to_owned())
    });
    let run = echoing(spec, &script, &calls).tool(tool).build().unwrap().run("q").unwrap();
    assert_eq!((run.answer(), calls.count()), (Some("끝"), 4));
    (room.most(), outstanding(run.records()).iter().map(Vec::len).max().unwrap())
}

#[test]
fn as_many_steps_run_at_once_as_the_width_allows_and_no_more() {
    assert_eq!(most_at_once(spec(PTE), 1), (1, 1));
    for width in [1, 2, 4] {
        assert_eq!(most_at_once(parallel(PTE, width), width as usize), (width as usize, width as usize));
    }
}

/// Runs a write between three reads, four steps side by side at most. Returns what was outstanding
/// together with the write.
fn beside_a_write(tool: &str, company: usize) -> Vec<String> {
    let steps = [("find", "a"), (tool, "b"), ("find", "c"), ("find", "d")];
    let (script, calls, room) =
        (model([plan(&steps), answer("끝")]), Calls::default(), Arc::new(Room::default()));
    let mut builder = echoing(parallel(PTE, 4), &script, &calls);
    for contract in stage::contracts() {
        let room = room.clone();
        builder = builder.tool(calls.tool(contract, move |_| {
            room.visit(company);
            Ok("done".to_owned())
        }));
    }
    let run = builder.build().unwrap().run("q").unwrap();
    let write = "step.1.2.1".to_owned();
    let mut beside: Vec<String> =
        outstanding(run.records()).into_iter().filter(|open| open.contains(&write)).flatten().collect();
    beside.retain(|id| *id != write);
    beside.sort();
    beside.dedup();
    beside
}

#[test]
fn write_that_may_not_be_repeated_runs_alone() {
    assert_eq!(beside_a_write("send", 1), [""; 0]);
    assert_eq!(beside_a_write("store", 4), ["step.1.1.1", "step.1.3.1", "step.1.4.1"]);
}

// Stopping.

#[test]
fn token_stops_the_run_at_its_next_answer() {
    let (script, calls, token) =
        (model([plan(&[("calc", "a"), ("find", "b")])]), Calls::default(), CancelToken::new());
    let stop = token.clone();
    let tool = calls.tool(calc(), move |_| {
        stop.cancel();
        Ok("일을 마쳤습니다".to_owned())
    });
    let agent = echoing(spec(PTE), &script, &calls).tool(tool).build().unwrap();
    let run = agent.job(asked("q")).cancel(token).run().unwrap();
    assert_eq!(run.error().unwrap().to_string(), "CANCELLED: stopped by the user");
    assert_eq!(calls.names(), ["calc:a"], "the second tool is not called");
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert_eq!(steps[0], StepRun::completed("일을 마쳤습니다"));
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());
}

#[test]
fn token_that_stops_steps_side_by_side_loses_no_answer() {
    let (calls, token) = (Calls::default(), CancelToken::new());
    let script = model([plan(&[("calc", "a"), ("find", "b"), ("calc", "c")])]);
    // `b` answers only when the answer of `a` was taken up and the run is stopped.
    let conductor = Conductor::new(&["a", "b"]);
    let (stop, turns) = (token.clone(), conductor.clone());
    let [calc, find] = [0, 1].map(|at| stage::contracts().swap_remove(at));
    let agent = echoing(parallel(PTE, 2), &script, &calls)
        .tool(calls.tool(calc, move |_| {
            stop.cancel();
            Ok("하나".to_owned())
        }))
        .tool(calls.tool(find, move |_| {
            turns.wait("b");
            Ok("둘".to_owned())
        }))
        .build()
        .unwrap();
    let run = agent.job(asked("q")).cancel(token).observer(&*conductor).run().unwrap();
    assert_eq!(run.error().unwrap().to_string(), "CANCELLED: stopped by the user");
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert_eq!((steps[0].output(), steps[1].output()), (Some("하나"), Some("둘")));
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());
}

#[test]
fn run_that_takes_longer_than_its_deadline_ends_at_its_next_answer() {
    let mut spec = spec(PTE);
    spec.limits.deadline_seconds = 1;
    let (script, calls) = (model([plan(&[("calc", "a"), ("find", "b")])]), Calls::default());
    let slow = calls.tool(calc(), |_| {
        std::thread::sleep(Duration::from_millis(1_010));
        Ok("늦었습니다".to_owned())
    });
    let run = echoing(spec, &script, &calls).tool(slow).build().unwrap().run("q").unwrap();
    assert_eq!(run.error().unwrap().to_string(), "DEADLINE_EXCEEDED: the run took more than 1 s");
    assert_eq!(calls.names(), ["calc:a"], "the second tool is not called");
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert_eq!(steps[0].output(), Some("늦었습니다"), "what came late is kept");
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());
}

#[test]
fn token_that_was_used_before_stops_the_run_before_anybody_is_asked() {
    let (script, token) = (model([plan(&[])]), CancelToken::new());
    token.cancel();
    let agent = echoing(spec(PTE), &script, &Calls::default()).build().unwrap();
    let run = agent.job(asked("q")).cancel(token).run().unwrap();
    assert_eq!(
        (run.error().unwrap().to_string().as_str(), script.asked()),
        ("CANCELLED: stopped by the user", 0)
    );
}

// Waiting before another try.

/// Writes down how long it was to sleep; does what it is told meanwhile.
struct Diary<F> {
    slept: Arc<Mutex<Vec<u64>>>,
    meanwhile: F,
}

impl<F: Fn(&dyn Fn() -> bool) + Send + Sync> Sleeper for Diary<F> {
    fn sleep(&self, delay: Duration, stop: &dyn Fn() -> bool) {
        self.slept.lock().unwrap().push(u64::try_from(delay.as_millis()).unwrap());
        (self.meanwhile)(stop);
    }
}

fn persistent(mut spec: Spec) -> Spec {
    spec.policy.step_tries = StepTries { tries: 3, wait_ms: 1_000 };
    spec
}

/// An agent whose `calc` fails so often, with a diary of its waits.
fn failing(
    spec: Spec,
    failures: usize,
    steps: &[(&str, &str)],
    calls: &Calls,
    meanwhile: impl Fn(&dyn Fn() -> bool) + Send + Sync + 'static,
) -> (Agent, Arc<Mutex<Vec<u64>>>) {
    let (slept, count) = (Arc::new(Mutex::default()), AtomicUsize::new(0));
    let calc = calls.tool(calc(), move |_| match count.fetch_add(1, Ordering::SeqCst) < failures {
        true => Err(ToolError::new("http", "503")),
        false => Ok("드디어".to_owned()),
    });
    let diary = Diary { slept: Arc::clone(&slept), meanwhile };
    let script = model([plan(steps), answer("끝")]);
    let agent = echoing(persistent(spec), &script, calls).tool(calc).sleeper(diary).build().unwrap();
    (agent, slept)
}

#[test]
fn failed_step_is_tried_again_after_waits_that_double() {
    for spec in [spec(PTE), parallel(PTE, 3)] {
        let calls = Calls::default();
        let (agent, slept) = failing(spec, 2, &[("calc", "x")], &calls, |_| {});
        let run = agent.run("q").unwrap();
        assert_eq!((outputs(&run)[0], calls.count()), ("드디어", 3));
        assert_eq!(*slept.lock().unwrap(), [1_000, 2_000]);
        let keys: Vec<String> = calls.all().into_iter().map(|called| called.key).collect();
        assert_eq!(keys.iter().filter(|key| key.ends_with("step.1.1.3")).count(), 1, "{keys:?}");
    }
}

#[test]
fn step_whose_tries_are_used_up_has_failed() {
    let calls = Calls::default();
    let (agent, slept) = failing(spec(PTE), 9, &[("calc", "x"), ("find", "y")], &calls, |_| {});
    let run = agent.run("q").unwrap();
    assert_eq!(outputs(&run)[..2], ["ERROR: http: 503", "find of y"]);
    assert_eq!((calls.count(), slept.lock().unwrap().len()), (4, 2));
}

#[test]
fn in_a_replay_no_time_passes() {
    let calls = Calls::default();
    let (agent, slept) = failing(spec(PTE), 2, &[("calc", "x")], &calls, |_| {});
    let run = agent.run("q").unwrap();
    let again = agent.replay(&run.fixture().unwrap()).unwrap();
    assert_eq!(again.state(), run.state());
    assert_eq!((calls.count(), slept.lock().unwrap().len()), (3, 2));
}

#[test]
fn waiting_step_holds_up_no_other() {
    let calls = Calls::default();
    // The wait is over only when the other steps were called, one after the other.
    let seen = calls.clone();
    let patient = move |stop: &dyn Fn() -> bool| {
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while seen.count() < 3 && !stop() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let steps = [("calc", "x"), ("find", "a"), ("find", "b")];
    let (agent, slept) = failing(parallel(PTE, 2), 1, &steps, &calls, patient);
    let run = agent.run("q").unwrap();
    assert_eq!(outputs(&run)[..3], ["드디어", "find of a", "find of b"]);
    assert_eq!(slept.lock().unwrap().len(), 1);
    assert_eq!(calls.names().last().map(String::as_str), Some("calc:x"), "{:?}", calls.names());
}

#[test]
fn wait_is_cut_short_by_whoever_stops_the_run() {
    for spec in [spec(PTE), parallel(PTE, 2)] {
        let (calls, token) = (Calls::default(), CancelToken::new());
        let stop = token.clone();
        let (agent, slept) = failing(spec, 9, &[("calc", "x")], &calls, move |stopped| {
            stop.cancel();
            assert!(stopped(), "a sleeper is told at once");
        });
        let run = agent.job(asked("q")).cancel(token).run().unwrap();
        assert_eq!(run.error().unwrap().to_string(), "CANCELLED: stopped by the user");
        assert_eq!((calls.count(), slept.lock().unwrap().len()), (1, 1), "not tried again");
    }
}

#[test]
fn wait_that_an_interruption_cuts_short_is_waited_again_on_resume() {
    let gone = || Err(ModelError::unanswered(Cause::Server, "503"));
    let script =
        Arc::new(ScriptedModel::replies([plan(&[("calc", "x")])]).answer(gone()).reply(answer("끝")));
    let (calls, count, slept) = (Calls::default(), AtomicUsize::new(0), Arc::new(Mutex::new(Vec::new())));
    let calc = calls.tool(calc(), move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Err(ToolError::new("http", "503")),
        _ => Ok("드디어".to_owned()),
    });
    let diary = Diary { slept: slept.clone(), meanwhile: |_: &dyn Fn() -> bool| {} };
    let agent = echoing(persistent(spec(PTE)), &script, &calls).tool(calc).sleeper(diary).build().unwrap();
    let mut journal = MemoryJournal::new();
    agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
    // The journal as it was when the wait had been asked for and not come to its end.
    let records = journal.records().unwrap();
    let waits = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string().starts_with("wait."));
    let cut = records.iter().position(waits).expect("the run waited");
    let mut journal = MemoryJournal::from(records[..=cut].to_vec());
    assert_eq!(agent.resume(&mut journal, None).unwrap().answer(), Some("끝"));
    assert_eq!(*slept.lock().unwrap(), [1_000, 1_000]);
}

// Watching.

/// Writes down what it sees.
struct Watcher {
    seen: Mutex<Vec<String>>,
    tokens: bool,
}

impl Observer for Watcher {
    fn notice(&self, signal: Signal<'_>) {
        let line = match signal {
            Signal::Entered(phase) => format!("entered {phase}"),
            Signal::Asking { effect, role } => format!("asking {role} {effect}"),
            Signal::Calling { effect, tool, input, .. } => format!("calling {tool} {input} {effect}"),
            Signal::Finished { tool, failed, output, .. } => format!("finished {tool} {failed} {output}"),
            Signal::Traced(line) => {
                format!("traced {}", serde_json::to_value(line).unwrap()["phase"].as_str().unwrap())
            }
            Signal::Token(text) => format!("token {text:?}"),
            _ => "something new".to_owned(),
        };
        self.seen.lock().unwrap().push(line);
    }
    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}

fn watched(name: &str, replies: &[String], tokens: bool) -> Vec<String> {
    let watcher = Watcher { seen: Mutex::default(), tokens };
    let agent = echoing(spec(name), &model(replies.to_vec()), &Calls::default()).build().unwrap();
    agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    watcher.seen.into_inner().unwrap()
}

#[test]
fn observer_sees_the_run_go_by() {
    let replies = [plan(&[("find", "서울")]), accepted(), "두 낱말".to_owned()];
    let seen = watched("validated", &replies, true);
    let wanted = [
        "entered PLAN",
        "asking planner plan.1.1",
        "traced PLAN",
        "entered EXECUTE",
        "calling find \"서울\" step.1.1.1",
        "finished find false find of 서울",
        "traced EXECUTE",
        "entered VALIDATE",
        "asking validator validate.1.1",
        "traced VALIDATE",
        "entered WRITE",
        "asking writer write.1.1",
        "token \"두 \"",
        "token \"낱말\"",
        "traced WRITE",
        "entered DONE",
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn answer_streams_only_as_text_and_only_to_who_wants_it() {
    let token = |line: &String| line.starts_with("token");
    let replies = [plan(&[]), accepted(), "두 낱말".to_owned()];
    assert!(!watched("validated", &replies, false).iter().any(token));
    assert!(
        !watched(PTE, &[plan(&[]), answer("두 낱말")], true).iter().any(token),
        "JSON is no answer to show"
    );
}

#[test]
fn key_that_streams_in_pieces_is_shown_in_none() {
    let watcher = Watcher { seen: Mutex::default(), tokens: true };
    // The scripted model streams word by word, so a key of words comes in pieces.
    let key = "열쇠 하나 둘 셋";
    let replies = [plan(&[]), accepted(), format!("답은 열쇠 하나 {key} 입니다 열쇠 하나")];
    let agent = echoing(spec("validated"), &model(replies), &Calls::default());
    let agent = agent.secret(planwright::ports::Secret::new(key)).build().unwrap();
    agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    let seen = watcher.seen.into_inner().unwrap();
    let tokens: Vec<&str> = seen.iter().filter_map(|line| line.strip_prefix("token ")).collect();
    let shown: String = tokens.iter().map(|token| serde_json::from_str::<String>(token).unwrap()).collect();
    assert_eq!(shown, "답은 열쇠 하나 [redacted] 입니다 열쇠 하나", "what only began like a key is shown");
}
