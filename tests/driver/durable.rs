//! Durable threads: what was answered stays answered, one writer has a thread, a person's word is good
//! for what they were asked and for nothing else, and a fork leaves what it came from alone.

use crate::stage;

use std::sync::Arc;

use planwright::driver::{Agent, Resolution, Stopped, Threads, token};
use planwright::journal::{
    Claim, MemoryStore, Query, Record, ResolvedAs, RunStatus, StoreError, ThreadId, Unknown, fold,
};
use planwright::machine::{ErrorCode, Event, HumanAnswer};
use planwright::ports::ScriptedModel;
use planwright::spec::{Approval, Memory, Spec};
use serde_json::json;

use crate::human::{SEND_IT, plan_with_a_question};
use stage::{Calls, answer, echoing, model, plan, spec};

fn threads() -> Threads {
    Threads::new(Arc::new(MemoryStore::new()))
}

fn id(name: &str) -> ThreadId {
    name.parse().unwrap()
}

/// `plan-then-execute` that may ask people and remembers its thread.
fn asking() -> Spec {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = Approval::STEPS;
    spec.policy.memory = Memory::Thread;
    spec
}

fn agent(spec: Spec, replies: &[String]) -> (Agent, Arc<ScriptedModel>, Calls) {
    let (script, calls) = (model(replies.to_vec()), Calls::default());
    (echoing(spec, &script, &calls).build().unwrap(), script, calls)
}

fn question(threads: &Threads, thread: &ThreadId) -> String {
    token(&threads.folded(thread, None).unwrap()).expect("a person is asked")
}

fn events(threads: &Threads, thread: &ThreadId) -> usize {
    let records = threads.store().records(thread, 0).unwrap();
    records.iter().filter(|record| matches!(record, Record::Answered { .. })).count()
}

#[test]
fn waiting_thread_takes_an_answer_and_no_new_question() {
    let (agent, _, calls) = agent(asking(), &[plan_with_a_question(), answer("끝")]);
    let (threads, thread) = (threads(), id("보고서"));
    assert!(threads.at(&thread).ask(&agent, "q").unwrap().is_waiting());
    let stopped = threads.at(&thread).ask(&agent, "다른 질문").unwrap_err();
    assert!(matches!(&stopped, Stopped::Waiting { question } if question == SEND_IT), "{stopped:?}");
    let token = question(&threads, &thread);
    let run = threads.at(&thread).token(token).answer(&agent, HumanAnswer::respond("네")).unwrap();
    assert_eq!((run.answer(), calls.count()), (Some("끝"), 2));
}

#[test]
fn one_answer_given_a_hundred_times_is_one_transition_and_one_effect() {
    let (agent, _, calls) = agent(asking(), &[plan_with_a_question(), answer("끝")]);
    let (threads, thread) = (threads(), id("한 번"));
    threads.at(&thread).ask(&agent, "q").unwrap();
    let token = question(&threads, &thread);
    threads.at(&thread).token(&token).answer(&agent, HumanAnswer::respond("네")).unwrap();
    let (before, called) = (threads.store().records(&thread, 0).unwrap(), calls.count());
    for at in 0..100 {
        let again = match at % 3 {
            0 => HumanAnswer::respond("네"),
            1 => HumanAnswer::respond(format!("다른 답 {at}")),
            _ => HumanAnswer::reject("아니요"),
        };
        let stopped = threads.at(&thread).token(&token).answer(&agent, again).unwrap_err();
        assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "{stopped:?}");
    }
    assert_eq!((threads.store().records(&thread, 0).unwrap(), calls.count()), (before, called));
}

#[test]
fn answer_is_void_for_every_other_question() {
    let asks_twice = json!({"goal": "g", "steps": [
        {"tool": "hitl", "hitl_question": "맞나요?"},
        {"tool": "hitl", "hitl_question": "맞나요?"},
        {"tool": "final_answer", "input": "a"},
    ]})
    .to_string();
    let (agent, _, _) = agent(asking(), &[asks_twice.clone(), asks_twice, answer("끝")]);
    let (threads, one, other) = (threads(), id("하나"), id("둘"));
    threads.at(&one).ask(&agent, "q").unwrap();
    threads.at(&other).ask(&agent, "q").unwrap();
    let (first, foreign) = (question(&threads, &one), question(&threads, &other));
    assert_ne!(first, foreign, "the same question of another thread is another question");

    let stopped = threads.at(&one).token(&foreign).answer(&agent, HumanAnswer::respond("네")).unwrap_err();
    assert!(matches!(stopped, Stopped::WrongToken), "{stopped:?}");
    assert!(threads.at(&one).token(&first).answer(&agent, HumanAnswer::respond("네")).unwrap().is_waiting());
    let answered = events(&threads, &one);
    let stopped = threads.at(&one).token(&first).answer(&agent, HumanAnswer::respond("네")).unwrap_err();
    assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "a late answer is none to the next question");
    assert_eq!(events(&threads, &one), answered);
}

#[test]
fn fork_goes_on_with_another_answer_and_leaves_the_original_alone() {
    let (agent, _, _) = agent(asking(), &[plan_with_a_question(), answer("끝")]);
    let (threads, thread, fork) = (threads(), id("원본"), id("갈래"));
    threads.at(&thread).ask(&agent, "q").unwrap();
    let open = question(&threads, &thread);
    threads.at(&thread).token(&open).answer(&agent, HumanAnswer::respond("네")).unwrap();
    let before = threads.store().records(&thread, 0).unwrap();
    let asked = |it: &Record| matches!(it, Record::Answered { event: Event::HumanAnswered { .. }, .. });
    let cut = before.iter().position(asked).unwrap() as u64;

    threads.fork(&thread, None, Some(cut), &fork).unwrap();
    assert!(matches!(threads.fork(&thread, None, None, &fork), Err(StoreError::Exists { .. })));
    let other = question(&threads, &fork);
    assert_ne!(other, open, "what was approved in the original is not approved in the fork");
    let run = threads.at(&fork).token(other).answer(&agent, HumanAnswer::reject("보내지 마세요")).unwrap();
    assert_eq!(run.error().unwrap().code, ErrorCode::Rejected);
    assert_eq!(threads.store().records(&thread, 0).unwrap(), before);
    let Record::Header(header) = &threads.store().records(&fork, 0).unwrap()[0] else { panic!("a header") };
    let origin = header.origin.as_ref().unwrap();
    assert_eq!((origin.thread.as_str(), origin.turn, origin.records), ("원본", 0, cut));
}

#[test]
fn changed_rules_are_refused_in_a_thread_too() {
    let (first, _, _) = agent(asking(), &[plan_with_a_question()]);
    let (threads, thread) = (threads(), id("규칙"));
    threads.at(&thread).ask(&first, "q").unwrap();
    let mut other = asking();
    other.limits.max_tool_calls = Some(9);
    let (changed, _, _) = agent(other, &[answer("끝")]);
    let token = question(&threads, &thread);
    let stopped = threads.at(&thread).token(token).answer(&changed, HumanAnswer::respond("네")).unwrap_err();
    assert!(matches!(stopped, Stopped::Changed { .. }), "{stopped:?}");
}

/// A thread whose process was killed when a write had been asked for.
fn in_doubt(threads: &Threads, thread: &ThreadId) -> Vec<Record> {
    let (agent, _, _) =
        agent(spec("plan-then-execute"), &[plan(&[("find", "x"), ("send", "y")]), answer("끝")]);
    let mut whole = agent.run("q").unwrap().records().to_vec();
    let Record::Header(header) = &mut whole[0] else { panic!("a header") };
    header.thread = thread.to_string();
    let requested = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.1.2.1");
    let cut = whole.iter().position(requested).unwrap() + 1;
    let lease = threads.store().claim(thread, Claim::New).unwrap();
    threads.store().append(&lease, 0, 0, whole[..cut].to_vec(), None).unwrap();
    threads.store().release(lease).unwrap();
    whole[..cut].to_vec()
}

fn doubtful() -> (Threads, ThreadId) {
    let (threads, thread) = (threads(), id("의심"));
    in_doubt(&threads, &thread);
    (threads, thread)
}

#[test]
fn write_in_doubt_waits_for_a_persons_word() {
    let (threads, thread) = (threads(), id("의심"));
    let records = in_doubt(&threads, &thread);
    let (agent, _, calls) = agent(spec("plan-then-execute"), &[answer("끝")]);
    let stopped = threads.at(&thread).resume(&agent).unwrap_err();
    assert!(matches!(&stopped, Stopped::InDoubt { tool, .. } if tool == "send"), "{stopped:?}");
    let stopped = threads.at(&thread).ask(&agent, "다음?").unwrap_err();
    assert!(matches!(stopped, Stopped::InDoubt { .. }), "{stopped:?}");
    assert_eq!((threads.store().records(&thread, 0).unwrap(), calls.count()), (records, 0));
    let listed = threads.list(&Query { statuses: vec!["in_doubt".to_owned()], ..Query::default() }).unwrap();
    assert_eq!(listed.len(), 1, "a list finds what a killed process left behind");
    let fork = id("갈래");
    threads.fork(&thread, None, None, &fork).unwrap();
    let stopped = threads.at(&fork).resume(&agent).unwrap_err();
    assert!(matches!(&stopped, Stopped::InDoubt { tool, .. } if tool == "send"), "{stopped:?}");
    assert_eq!(calls.count(), 0, "a fork does not do again either what may have happened");
    assert_ne!(question(&threads, &fork), question(&threads, &thread));
}

#[test]
fn write_that_happened_is_not_done_again() {
    let (threads, thread) = doubtful();
    let (agent, _, calls) = agent(spec("plan-then-execute"), &[answer("끝")]);
    let token = question(&threads, &thread);
    let happened = || Resolution::Happened { output: "보냈음".to_owned() };
    let run = threads.at(&thread).token(&token).resolve(&agent, happened()).unwrap();
    assert_eq!((run.answer(), calls.count()), (Some("끝"), 0));
    assert_eq!(run.state().current_steps().nth(1).unwrap().output, Some("보냈음"));
    let stopped = threads.at(&thread).token(&token).resolve(&agent, happened()).unwrap_err();
    assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "{stopped:?}");
}

#[test]
fn write_that_did_not_happen_is_done_once() {
    let (threads, thread) = doubtful();
    let (agent, _, calls) = agent(spec("plan-then-execute"), &[answer("끝")]);
    let token = question(&threads, &thread);
    let run = threads.at(&thread).token(&token).resolve(&agent, Resolution::DidNotHappen).unwrap();
    assert_eq!((run.answer(), calls.names()), (Some("끝"), vec!["send:y".to_owned()]));
    let records = threads.store().records(&thread, 0).unwrap();
    let resolved = |it: &Record| matches!(it, Record::Resolved { resolution: ResolvedAs::DidNotHappen, .. });
    assert!(records.iter().any(resolved));
    assert_eq!(fold(records).unwrap().state, *run.state());
    let stopped = threads.at(&thread).token(&token).resolve(&agent, Resolution::DidNotHappen).unwrap_err();
    assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "{stopped:?}");
    assert_eq!(calls.count(), 1);
}

/// What a person allowed in the original, or what it has done since, is not done by a fork.
#[test]
fn fork_that_would_write_next_is_in_doubt_wherever_it_is_cut() {
    for approval in [Approval::NEVER, Approval::RISKY] {
        let (threads, thread) = (threads(), id("보냄"));
        let mut spec = spec("plan-then-execute");
        spec.policy.approval = approval;
        let sends = spec.tools.iter_mut().find(|tool| tool.name == "send").expect("stage has it");
        sends.needs_approval = approval == Approval::RISKY;
        let replies = [plan(&[("find", "서울"), ("send", "편지")]), answer("끝")];
        let (agent, _, calls) = agent(spec.clone(), &replies);
        let mut run = threads.at(&thread).ask(&agent, "?").unwrap();
        if run.is_waiting() {
            let token = run.waiting().unwrap().token.clone();
            run = threads.at(&thread).token(&token).answer(&agent, HumanAnswer::Approve).unwrap();
        }
        assert_eq!((run.answer(), calls.count()), (Some("끝"), 2));
        let records = threads.store().records(&thread, 0).unwrap();
        let is_send = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.step() == Some(1) && effect.to_string().starts_with("step."));
        let asked = records.iter().position(is_send).expect("it was asked for");
        for cut in [asked, asked + 1] {
            let fork = id(&format!("갈래 {cut}"));
            threads.fork(&thread, None, Some(cut as u64), &fork).unwrap();
            let (agent, _, calls) = self::agent(spec.clone(), &[answer("다른 끝")]);
            let stopped = threads.at(&fork).resume(&agent).unwrap_err();
            assert!(matches!(&stopped, Stopped::InDoubt { tool, .. } if tool == "send"), "{stopped:?}");
            assert_eq!(calls.count(), 0, "{approval:?} {cut}");
            let token = question(&threads, &fork);
            let run = threads.at(&fork).token(&token).resolve(&agent, Resolution::DidNotHappen).unwrap();
            assert_eq!((run.answer(), calls.names()), (Some("다른 끝"), vec!["send:편지".to_owned()]));
        }
    }
}

/// A call that may be made again and was under way is asked about anew; one that was allowed with its plan is refused.
#[test]
fn fork_has_no_approvals() {
    for approval in [Approval::RISKY, Approval::PLAN] {
        let (threads, thread) = (threads(), id("보관"));
        let mut spec = spec("plan-then-execute");
        spec.policy.approval = approval;
        let stores = spec.tools.iter_mut().find(|tool| tool.name == "store").expect("stage has it");
        stores.needs_approval = true;
        let replies = [plan(&[("find", "서울"), ("store", "편지")]), answer("끝")];
        let (agent, _, calls) = agent(spec.clone(), &replies);
        let run = threads.at(&thread).ask(&agent, "?").unwrap();
        let token = run.waiting().expect("a person is asked").token.clone();
        let run = threads.at(&thread).token(&token).answer(&agent, HumanAnswer::Approve).unwrap();
        assert_eq!((run.answer(), calls.count()), (Some("끝"), 2));
        let records = threads.store().records(&thread, 0).unwrap();
        let asked = |step: &str| {
            let is_it = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == step);
            records.iter().position(is_it).expect("it was asked for") as u64
        };
        let forked = |cut: u64| {
            let fork = id(&format!("갈래 {cut}"));
            threads.fork(&thread, None, Some(cut), &fork).unwrap();
            let (agent, _, calls) = self::agent(spec.clone(), &[answer("다른 끝")]);
            let run = threads.at(&fork).resume(&agent).unwrap();
            (run.is_waiting(), calls.names())
        };
        for cut in [asked("step.1.2.1"), asked("step.1.2.1") + 1] {
            assert_eq!(forked(cut), (true, vec![]), "{approval:?}: the call is asked about anew");
        }
        if approval == Approval::PLAN {
            assert_eq!(
                forked(asked("step.1.1.1")),
                (false, vec!["find:서울".to_owned()]),
                "nothing is stored"
            );
        }
    }
}

#[test]
fn calls_that_were_allowed_together_are_made_once_wherever_the_journal_ends() {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = Approval::RISKY;
    spec.tools.iter_mut().find(|tool| tool.name == "store").expect("stage has it").needs_approval = true;
    let replies = [plan(&[("store", "하나"), ("find", "서울"), ("store", "둘")]), answer("끝")];
    let (first, _, calls) = agent(spec.clone(), &replies);
    let (threads, thread) = (threads(), id("묶음"));
    let token = threads.at(&thread).ask(&first, "?").unwrap().waiting().expect("a question").token.clone();
    let run = threads.at(&thread).token(&token).answer(&first, HumanAnswer::Approve).unwrap();
    assert_eq!(run.answer(), Some("끝"));
    assert_eq!(calls.names(), ["store:하나", "find:서울", "store:둘"], "one question");
    let whole = threads.store().records(&thread, 0).unwrap();
    let asked = |it: &Record| matches!(it, Record::Answered { event: Event::HumanAnswered { .. }, .. });
    let (asked, made) = (whole.iter().position(asked).unwrap(), |records: &[Record]| {
        let made = |it: &&Record| matches!(it, Record::Answered { event: Event::ToolReturned { .. }, .. });
        records.iter().filter(made).count()
    });
    for end in asked..whole.len() {
        let (threads, (agent, _, calls)) = (self::threads(), agent(spec.clone(), &[answer("끝")]));
        let lease = threads.store().claim(&thread, Claim::New).unwrap();
        threads.store().append(&lease, 0, 0, whole[..end].to_vec(), None).unwrap();
        threads.store().release(lease).unwrap();
        let run = match end == asked {
            true => threads.at(&thread).token(&token).answer(&agent, HumanAnswer::Approve),
            false => threads.at(&thread).resume(&agent),
        };
        assert_eq!(run.unwrap().answer(), Some("끝"), "{end}");
        assert_eq!(calls.count() + made(&whole[..end]), 3, "{end}");
    }
    let fork = id("갈래");
    let cut = (asked..whole.len()).find(|end| made(&whole[..*end]) == 1).unwrap() as u64;
    threads.fork(&thread, None, Some(cut), &fork).unwrap();
    let (agent, _, calls) = agent(spec, &[answer("끝")]);
    let run = threads.at(&fork).resume(&agent).unwrap();
    assert_eq!((run.is_waiting(), calls.names()), (true, vec!["find:서울".to_owned()]), "a fork has no yes");
}

#[test]
fn run_in_doubt_can_be_stopped() {
    let (threads, thread) = doubtful();
    let (agent, _, calls) = agent(spec("plan-then-execute"), &[]);
    let stop = Resolution::Stop { reason: "모르겠음".to_owned() };
    let token = question(&threads, &thread);
    let run = threads.at(&thread).token(&token).resolve(&agent, stop.clone()).unwrap();
    assert_eq!((run.error().unwrap().code, calls.count()), (ErrorCode::Cancelled, 0));
    says_unknown(&threads, &thread);
    let stopped = threads.at(&thread).token(&token).resolve(&agent, stop).unwrap_err();
    assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "{stopped:?}");

    let (threads, thread) = doubtful();
    threads.at(&thread).cancel("그만", &[]).unwrap();
    says_unknown(&threads, &thread);
}

/// An ended thread says that nobody knows whether `send` happened: in its records, in a list, in a fork.
fn says_unknown(threads: &Threads, thread: &ThreadId) {
    let send = |unknown: &[Unknown]| unknown.len() == 1 && unknown[0].tool == "send";
    let folded = threads.folded(thread, None).unwrap();
    assert!(send(folded.unknown()), "{:?}", folded.unknown());
    let standing = RunStatus::of(&folded);
    assert!(matches!(&standing, RunStatus::Failed { unknown, .. } if send(unknown)), "{standing:?}");
    assert_eq!(threads.store().find(thread).unwrap().unwrap().status, standing, "the note says it too");
    let fork = id("갈래");
    threads.fork(thread, None, None, &fork).unwrap();
    assert_eq!(RunStatus::of(&threads.folded(&fork, None).unwrap()), standing);
}

#[test]
fn word_that_was_cut_off_before_the_end_of_the_run_leaves_the_doubt() {
    let ((threads, thread), fork) = (doubtful(), id("갈래"));
    threads.at(&thread).cancel("그만", &[]).unwrap();
    let records = threads.store().records(&thread, 0).unwrap().len() as u64;
    threads.fork(&thread, None, Some(records - 1), &fork).unwrap();
    let (agent, _, calls) = agent(spec("plan-then-execute"), &[answer("끝")]);
    assert!(matches!(threads.at(&fork).resume(&agent), Err(Stopped::InDoubt { .. })));
    let token = question(&threads, &fork);
    let run = threads.at(&fork).token(token).resolve(&agent, Resolution::DidNotHappen).unwrap();
    assert_eq!((run.answer(), calls.names()), (Some("끝"), vec!["send:y".to_owned()]));
    assert!(threads.folded(&fork, None).unwrap().unknown().is_empty(), "now it is known");
}

#[test]
fn thread_that_somebody_has_is_refused_to_others() {
    let (agent, _, _) = agent(asking(), &[plan_with_a_question(), answer("끝")]);
    let (threads, thread) = (threads(), id("하나뿐"));
    threads.at(&thread).ask(&agent, "q").unwrap();
    let lease = threads.store().claim(&thread, Claim::Known).unwrap();
    let token = question(&threads, &thread);
    let stopped = threads.at(&thread).token(&token).answer(&agent, HumanAnswer::respond("네")).unwrap_err();
    assert!(matches!(stopped, Stopped::Store(StoreError::AlreadyRunning { .. })), "{stopped:?}");
    let run =
        threads.at(&thread).take_over().token(&token).answer(&agent, HumanAnswer::respond("네")).unwrap();
    assert_eq!(run.answer(), Some("끝"));
    let records = threads.store().records(&thread, 0).unwrap();
    let late =
        threads.store().append(&lease, 0, records.len() as u64, vec![records[1].clone()], None).unwrap_err();
    assert!(late.to_string().contains("taken it over"), "{late}");
    assert_eq!(threads.store().records(&thread, 0).unwrap(), records);
}

#[test]
fn cancelled_thread_has_ended() {
    let (agent, _, _) = agent(asking(), &[plan_with_a_question()]);
    let (threads, thread) = (threads(), id("취소"));
    threads.at(&thread).ask(&agent, "q").unwrap();
    let token = question(&threads, &thread);
    threads.at(&thread).cancel("그만", &[]).unwrap();
    assert!(matches!(threads.at(&thread).cancel("또", &[]), Err(Stopped::Ended)));
    let stopped = threads.at(&thread).token(token).answer(&agent, HumanAnswer::respond("네")).unwrap_err();
    assert!(matches!(stopped, Stopped::WrongToken | Stopped::NotWaiting), "{stopped:?}");
    assert_eq!(threads.list(&Query::default()).unwrap()[0].status.name(), "failed");
    threads.delete(&thread).unwrap();
    assert!(matches!(threads.delete(&thread), Err(StoreError::NoThread { .. })));
}
