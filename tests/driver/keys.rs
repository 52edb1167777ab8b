//! No key is written down: what can be said without it is, and what cannot is refused, naming the place and
//! not the key.

use crate::stage;

use std::sync::Arc;

use planwright::driver::{Agent, Changed, Resolution, Stopped, Threads, token};
use planwright::journal::{Journal, MemoryJournal, MemoryStore, Query, Record, ThreadId};
use planwright::ports::ScriptedModel;
use planwright::ports::Secret;
use planwright::spec::{Approval, RoleName, Spec};
use serde_json::json;

use stage::{Calls, answer, asked, echoing, model, plan, spec};

const KEY: &str = "sk-live-\"0123456789";

fn with_key(spec: Spec, script: &Arc<ScriptedModel>, calls: &Calls) -> Agent {
    echoing(spec, script, calls).secret(Secret::new(KEY)).build().unwrap()
}

/// Specs that hold the key, with where.
fn leaking() -> Vec<(Spec, &'static str)> {
    let with = |change: fn(&mut Spec)| {
        let mut spec = spec("plan-then-execute");
        change(&mut spec);
        spec
    };
    vec![
        (
            with(|spec| spec.roles.get_mut(&RoleName::Planner).unwrap().prompt.push_str(KEY)),
            "$.roles.planner.prompt",
        ),
        (with(|spec| spec.description = format!("with {KEY}")), "$.description"),
        (with(|spec| spec.tools[1].description = KEY.to_owned()), "$.tools[1].description"),
        (
            with(|spec| {
                spec.tools[0].input = json!({"type": "object", "properties": {KEY: {"type": "string"}}})
            }),
            "$.tools[0].input",
        ),
    ]
}

#[track_caller]
fn names_the_place(stopped: &Stopped, place: &str) {
    assert!(matches!(stopped, Stopped::Secret { .. }), "{stopped:?}");
    let said = format!("{stopped} {stopped:?}");
    assert!(said.contains(place) && !said.contains("0123456789"), "{said}");
}

#[test]
fn spec_that_holds_a_key_is_refused_before_anything_is_asked_or_written() {
    for (spec, place) in leaking() {
        let (script, threads) = (model([answer("답")]), Threads::new(Arc::new(MemoryStore::new())));
        let agent = with_key(spec, &script, &Calls::default());
        let mut journal = MemoryJournal::new();
        names_the_place(&agent.job(asked("질문?")).journal(&mut journal).run().unwrap_err(), place);
        names_the_place(&threads.at(&"합계".parse().unwrap()).ask(&agent, "질문?").unwrap_err(), place);
        assert_eq!((script.asked(), journal.records().unwrap().len()), (0, 0));
        assert_eq!(threads.list(&Query::default()).unwrap(), []);
    }
}

#[test]
fn spec_that_holds_a_key_is_not_adopted() {
    let script = model([plan(&[("find", "하나")]), answer("답")]);
    let run = with_key(spec("plan-then-execute"), &script, &Calls::default()).run("질문?").unwrap();
    let begun = run.records()[..2].to_vec();
    for (spec, place) in leaking() {
        for changed in [Changed::Refuse, Changed::Adopt] {
            let mut journal = MemoryJournal::from(begun.clone());
            let agent = with_key(spec.clone(), &model([""; 0]), &Calls::default());
            names_the_place(&agent.resume(&mut journal).changed(changed).run().unwrap_err(), place);
            assert!(journal.records().unwrap() == begun);
        }
    }
    // Under the rules that it began with nothing of the other spec is written down.
    let mut journal = MemoryJournal::from(begun);
    let script = model([plan(&[("find", "하나")]), answer("답")]);
    let agent = with_key(leaking().remove(0).0, &script, &Calls::default());
    let kept = agent.resume(&mut journal).changed(Changed::Keep).run().unwrap();
    assert_eq!(kept.answer(), Some("답"));
}

#[test]
fn thread_is_not_named_by_a_key() {
    let threads = Threads::new(Arc::new(MemoryStore::new()));
    let thread: ThreadId = format!("for {KEY}").parse().unwrap();
    let script = model([plan(&[]), answer("답")]);
    let agent = with_key(spec("plan-then-execute"), &script, &Calls::default());
    names_the_place(&threads.at(&thread).ask(&agent, "질문?").unwrap_err(), "the thread's name");
    assert_eq!((script.asked(), threads.list(&Query::default()).unwrap()), (0, vec![]));
}

#[test]
fn why_a_thread_was_ended_is_said_without_the_key() {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = Approval { plan: true, ..Approval::default() };
    let (threads, thread) = (Threads::new(Arc::new(MemoryStore::new())), "취소".parse().unwrap());
    let agent = with_key(spec, &model([plan(&[("find", "하나")])]), &Calls::default());
    threads.at(&thread).ask(&agent, "질문?").unwrap();
    threads.at(&thread).cancel(format!("{KEY} 를 잘못 줬다"), &[Secret::new(KEY)]).unwrap();
    let records = threads.store().records(&thread, 0).unwrap();
    let said = serde_json::to_string(&records).unwrap();
    assert!(said.contains("[redacted] 를 잘못 줬다") && !said.contains("0123456789"), "{said}");
}

#[test]
fn what_a_person_says_of_a_write_is_without_the_key_and_no_longer_than_the_tool_may_say() {
    let mut spec = spec("plan-then-execute");
    spec.tools[2].max_output_bytes = 20;
    let script = model([plan(&[("send", "하나")]), answer("답")]);
    let mut records =
        with_key(spec.clone(), &script, &Calls::default()).run("질문?").unwrap().records().to_vec();
    let requested =
        |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.step().is_some());
    records.truncate(records.iter().position(requested).unwrap() + 1);
    let mut journal = MemoryJournal::from(records.clone());
    let agent = with_key(spec, &model([answer("답")]), &Calls::default());
    let token = token(&planwright::journal::fold(records).unwrap()).unwrap();
    let output = format!("{KEY} {}", "가".repeat(100));
    let run = agent.resume(&mut journal).token(token).resolve(Resolution::Happened { output }).run().unwrap();
    assert_eq!(stage::output(&run, 0), Some("[redacted] 가가가… [cut: 20 of 311 bytes]"));
}
