//! Tools under the driver: their time, their size, their failures, and what a failed write leaves open. A run
//! goes by its spec's contracts; so a tool that asks for more care than its contract promises is refused before
//! anything is asked.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Changed, Stopped};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::ports::{ScriptedModel, ToolError};
use planwright::spec::Spec;
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
            let wanted = "interrupted at step.1.1.1 (EXECUTE): in doubt: send: no answer within 20 ms; the write may have happened";
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

fn replies() -> [String; 2] {
    [plan(&[("store", "하나")]), answer("답입니다.")]
}

/// An agent under this spec that has `tool` registered in the place of the tool of that name.
fn agent_with(spec: Spec, tool: ToolContract, script: &Arc<ScriptedModel>, calls: &Calls) -> Agent {
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).model(script.clone());
    let tools = contracts.into_iter().map(|own| if own.name == tool.name { tool.clone() } else { own });
    tools.fold(builder, |builder, contract| builder.tool(calls.echo(contract))).build().unwrap()
}

fn contract(name: &str) -> ToolContract {
    spec(PTE).tools.into_iter().find(|tool| tool.name == name).unwrap()
}

/// A run of which `store`, a write that may be repeated, was requested and not answered.
fn killed() -> Vec<Record> {
    let agent = echoing(spec(PTE), &model(replies()), &Calls::default()).build().unwrap();
    let mut records = agent.job(asked("질문?")).run().unwrap().records().to_vec();
    let requested =
        |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.step().is_some());
    let at = records.iter().position(requested).unwrap();
    records.truncate(at + 1);
    records
}

fn journal(records: &[Record]) -> MemoryJournal {
    MemoryJournal::from(records.to_vec())
}

#[test]
fn write_that_may_no_longer_be_repeated_is_not_repeated_under_the_old_contract() {
    let now = ToolContract { idempotent: None, ..contract("store") };
    let killed = killed();
    for changed in [Changed::Refuse, Changed::Keep] {
        let (script, calls, mut journal) = (model([answer("답")]), Calls::default(), journal(&killed));
        let agent = agent_with(spec(PTE), now.clone(), &script, &calls);
        let stopped = agent.resume(&mut journal).changed(changed).run().unwrap_err();
        assert!(matches!(stopped, Stopped::Incomplete(_)), "{stopped:?}");
        let said = stopped.to_string();
        assert!(said.contains("store.idempotent: expected false, found true"), "{said}");
        assert_eq!((calls.count(), script.asked()), (0, 0));
        assert!(journal.records().unwrap() == killed);
    }
    let (calls, mut journal) = (Calls::default(), journal(&killed));
    let agent = agent_with(spec(PTE), contract("store"), &model([answer("답")]), &calls);
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("답"), "the same tools go on");
    assert_eq!(calls.names(), ["store:하나"]);
}

/// What a run says where the tool at hand is this one; nothing, where it runs.
#[track_caller]
fn check(tool: ToolContract, expect: Option<&str>) {
    let (script, calls) = (model(replies()), Calls::default());
    let ended = agent_with(spec(PTE), tool, &script, &calls).run("질문?");
    match (ended, expect) {
        (Ok(_), None) => assert_eq!(calls.count(), 1),
        (Err(stopped), Some(expect)) => {
            assert!(stopped.to_string().contains(expect), "{stopped}");
            assert_eq!((script.asked(), calls.count()), (0, 0));
        }
        (ended, expect) => panic!("expected {expect:?}, found {ended:?}"),
    }
}

#[test]
fn contract_may_ask_for_more_care_than_its_tool_and_for_no_less() {
    let of = |name, effect| ToolContract { effect, timeout_ms: Some(1_000), ..contract(name) };
    check(of("calc", ToolEffect::Read), Some("calc.effect: expected read, found pure"));
    check(of("calc", ToolEffect::Write), Some("calc.effect: expected write, found pure"));
    check(of("find", ToolEffect::Write), Some("find.effect: expected write, found read"));
    check(ToolContract { effect: ToolEffect::Pure, ..contract("find") }, None);
    check(ToolContract { effect: ToolEffect::Read, idempotent: None, ..contract("store") }, None);
    check(ToolContract { idempotent: Some(true), ..contract("send") }, None);
    check(ToolContract { description: "Finds.".to_owned(), max_output_bytes: 9, ..contract("find") }, None);
}

#[test]
fn tool_that_takes_no_input_of_its_contract_is_refused_by_name() {
    let of = |input| ToolContract { input, ..contract("find") };
    let object = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    check(of(object.clone()), Some("find.input: expected object, found string"));
    check(of(json!({"type": "string", "maxLength": 100})), None);
    let said = ToolContract {
        input: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
        ..contract("find")
    };
    let problem = said.find_mismatch(&of(object.clone())).unwrap();
    assert_eq!(problem, r#"input: expected the field "to", found none of that name"#);
    assert_eq!(of(object.clone()).find_mismatch(&of(object)), None);
}

#[test]
fn replay_calls_no_tool_and_minds_none() {
    let agent = echoing(spec(PTE), &model(replies()), &Calls::default()).build().unwrap();
    let fixture = agent.run("질문?").unwrap().fixture().unwrap();
    let now = ToolContract { idempotent: None, ..contract("store") };
    let agent = agent_with(spec(PTE), now, &model([""; 0]), &Calls::default());
    assert_eq!(agent.replay(&fixture).unwrap().answer(), Some("답입니다."));
}
