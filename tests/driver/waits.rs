//! Waiting before another try of a step.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use planwright::contract::FinalStep;
use planwright::driver::{Agent, CancelToken, Clock};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::machine::ModelReply;
use planwright::ports::{Cause, Model, ModelError, ScriptedModel, TokenSink, ToolError, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::{RoleName, Spec, StepTries, Write};

use crate::runs::{calc, outputs};
use crate::stage::{self, Calls, answer, asked, echoing, model, parallel, plan, spec};

const PTE: &str = "plan-then-execute";

/// Writes down how long it was to sleep; does what it is told meanwhile.
struct Diary<F> {
    slept: Arc<Mutex<Vec<u64>>>,
    meanwhile: F,
}

impl<F: Fn(&dyn Fn() -> bool) + Send + Sync> Clock for Diary<F> {
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
    let agent = echoing(persistent(spec), &script, calls).tool(calc).clock(diary).build().unwrap();
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
fn interrupted_run_is_gone_on_with_and_no_write_is_in_doubt_or_made_twice() {
    for spec in [spec(PTE), parallel(PTE, 2)] {
        let (calls, token) = (Calls::default(), CancelToken::new());
        let stop = token.clone();
        let find = calls.tool(stage::contracts().remove(1), move |_| {
            stop.interrupt();
            Ok("gefunden".to_owned())
        });
        let steps = plan(&[("find", "a"), ("send", "b")]);
        let agent = echoing(spec, &model([steps, answer("끝")]), &calls).tool(find).build().unwrap();
        let mut journal = MemoryJournal::new();
        let stopped = agent.job(asked("q")).journal(&mut journal).cancel(token).run().unwrap_err();
        assert!(stopped.to_string().ends_with("(EXECUTE): stopped: by the user"), "{stopped}");
        let run = agent.resume(&mut journal).run().unwrap();
        assert_eq!(run.answer(), Some("끝"));
        assert_eq!(calls.names(), ["find:a", "send:b"]);
    }
}

/// Two steps run side by side; both wait for each other, so both are in flight when the run is stopped.
#[test]
fn run_that_ends_with_what_still_ran_when_it_was_stopped_has_ended() {
    let (calls, token) = (Calls::default(), CancelToken::new());
    let (stop, both) = (token.clone(), Arc::new(Barrier::new(2)));
    let find = calls.tool(stage::contracts().remove(1), move |_| {
        both.wait();
        stop.interrupt();
        Ok("gefunden".to_owned())
    });
    let mut spec = parallel(PTE, 2);
    (spec.policy.write, spec.policy.plan.final_step) = (Write::LastResult, FinalStep::None);
    spec.roles.remove(&RoleName::Writer);
    let steps = r#"{"goal": "g", "steps": [{"tool": "find", "input": "a"}, {"tool": "find", "input": "b"}]}"#;
    let agent = echoing(spec, &model([steps.to_owned()]), &calls).tool(find).build().unwrap();
    let run = agent.job(asked("q")).cancel(token).run().unwrap();
    assert_eq!(run.answer(), Some("gefunden"));
}

#[test]
#[should_panic(expected = "the clock is broken")]
fn panic_of_a_port_beside_other_steps_is_passed_on() {
    let (agent, _) = failing(parallel(PTE, 3), 1, &[("calc", "x"), ("find", "y")], &Calls::default(), |_| {
        panic!("the clock is broken")
    });
    let _ = agent.run("q");
}

/// A model that is asked in vain until it is told to stop.
struct Busy(CancelToken, fn(&CancelToken));

impl Model for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn ask(&self, _: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        panic!("the driver says when to stop")
    }

    fn ask_until(
        &self,
        _: &ModelRequest,
        _: Option<TokenSink<'_>>,
        _: &dyn Fn(&Unanswered, u32, Duration),
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        assert!(!stop());
        (self.1)(&self.0);
        while !stop() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(ModelError::unanswered(Cause::RateLimit, "429"))
    }
}

#[test]
fn request_that_a_stop_or_the_deadline_cuts_short_is_no_failure_of_the_server() {
    let ended = |of: Spec, stops: fn(&CancelToken)| {
        let token = CancelToken::new();
        let agent = echoing(of, &model([""; 0]), &Calls::default()).model(Busy(token.clone(), stops));
        let ended = agent.build().unwrap().job(asked("q")).cancel(token).run();
        ended.map(|run| run.error().unwrap().code.to_string()).unwrap_or_else(|stopped| stopped.to_string())
    };
    assert_eq!(ended(spec(PTE), CancelToken::cancel), "CANCELLED");
    assert_eq!(
        ended(spec(PTE), CancelToken::interrupt),
        "interrupted at plan.1.1 (PLAN): stopped: by the user"
    );
    let mut short = spec(PTE);
    short.limits.deadline_seconds = 1;
    assert_eq!(ended(short, |_| {}), "DEADLINE_EXCEEDED");
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
    let agent = echoing(persistent(spec(PTE)), &script, &calls).tool(calc).clock(diary).build().unwrap();
    let mut journal = MemoryJournal::new();
    agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
    // The journal as it was when the wait had been asked for and not come to its end.
    let records = journal.records().unwrap();
    let waits = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string().starts_with("wait."));
    let cut = records.iter().position(waits).expect("the run waited");
    let mut journal = MemoryJournal::from(records[..=cut].to_vec());
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("끝"));
    assert_eq!(*slept.lock().unwrap(), [1_000, 1_000]);
}

/// Two tools that stop the run, each in one call of it, and say whether they were waited for.
#[test]
fn call_that_may_be_made_again_is_left_behind_and_a_write_is_waited_for() {
    for (spec, tool) in [(spec(PTE), 1), (parallel(PTE, 2), 1), (spec(PTE), 2), (parallel(PTE, 2), 2)] {
        let (calls, token, first) = (Calls::default(), CancelToken::new(), AtomicUsize::new(0));
        let (stop, contract) = (token.clone(), stage::contracts().remove(tool));
        let (name, is_write) = (contract.name.clone(), contract.happens_once());
        let hangs = calls.tool(contract, move |call| {
            if first.fetch_add(1, Ordering::SeqCst) == 0 {
                stop.interrupt();
                let until = Instant::now() + Duration::from_millis(if is_write { 200 } else { 10_000 });
                while !call.is_abandoned() && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(1));
                }
                assert_eq!(call.is_abandoned(), !is_write);
            }
            Ok("fertig".to_owned())
        });
        let script = model([plan(&[(&name, "a")]), answer("끝")]);
        let agent = echoing(spec, &script, &calls).tool(hangs).build().unwrap();
        let mut journal = MemoryJournal::new();
        agent.job(asked("q")).journal(&mut journal).cancel(token).run().unwrap_err();
        assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("끝"));
        assert_eq!(calls.count(), if is_write { 1 } else { 2 }, "{name}");
    }
}
