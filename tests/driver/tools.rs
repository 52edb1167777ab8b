//! Tools under the driver: their time, their size, their failures, and what a failed write leaves open.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use planwright::contract::ToolContract;
use planwright::driver::{Agent, Stopped};
use planwright::journal::MemoryJournal;
use planwright::ports::ToolError;
use serde_json::json;

use crate::runs::{calc, outputs, run_id, with_calc};
use crate::stage::{Calls, answer, asked, echoing, model, parallel, plan, spec};

/// What a model is shown of the step that only ends a plan.
const FINAL_STEP_OUTPUT: &str = "(final step - no tool execution)";

const PTE: &str = "plan-then-execute";

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
            let again = agent.resume(&mut journal).run().unwrap_err();
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
fn failed_write_that_may_happen_once_is_in_doubt_unless_the_tool_says_that_it_did_not_happen() {
    for kind in ["timeout", "connection", "panic", "unknown", "io", "network", "Timeout", "http", "input"] {
        for (tool, says_no) in [("send", false), ("send", true), ("store", false)] {
            let (calls, mut spec) = (Calls::default(), spec(PTE));
            spec.tools.retain(|contract| contract.name == tool);
            let failing = calls.tool(spec.tools[0].clone(), move |_| {
                let error = ToolError::new(kind, "broke off");
                Err(if says_no { error.did_not_happen() } else { error })
            });
            let script = model([plan(&[(tool, "x")]), answer("끝")]);
            let agent = Agent::builder(spec).model(script).tool(failing).build().unwrap();
            let mut journal = MemoryJournal::new();
            let ended = agent.job(asked("q")).journal(&mut journal).run();
            if tool == "send" && !says_no {
                assert!(matches!(ended, Err(Stopped::Interrupted(_))), "{kind}");
                let again = agent.resume(&mut journal).run().unwrap_err();
                assert!(matches!(again, Stopped::InDoubt { .. }), "{kind}: {again:?}");
            } else {
                assert_eq!(outputs(&ended.unwrap())[0], format!("ERROR: {kind}: broke off"));
            }
        }
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
fn tool_call_carries_run_and_effect_as_an_idempotency_key_of_its_own() {
    let replies = [plan(&[("calc", "a"), ("send", "b")]), answer("끝")];
    let (script, calls) = (model(replies), Calls::default());
    let run = echoing(spec(PTE), &script, &calls).build().unwrap().run("q").unwrap();
    let id = run_id(run.records());
    let keys: Vec<String> = calls.all().into_iter().map(|called| called.key).collect();
    assert_eq!(keys, [format!("{id}/step.1.1.1"), format!("{id}/step.1.2.1")]);
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
