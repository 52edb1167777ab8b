//! Crash anywhere: a journal cut at any record goes on. What was answered is not asked again; what may not
//! be done twice is not.

use crate::stage;

use planwright::driver::{Agent, CancelToken, Changed, Stopped};
use planwright::journal::{Fixture, Journal, JournalError, MemoryJournal, Record, fold};
use planwright::machine::{Event, HumanAnswer};
use planwright::ports::ScriptedModel;
use planwright::spec::{Approval, Execution, RoleName, Spec};
use std::sync::Arc;

use stage::{Calls, accepted, answer, asked, echoing, model, parallel, plan, rejected, spec};

/// The replies of a run of `validated` with one replan.
fn replies() -> Vec<String> {
    let first = plan(&[("find", "하나"), ("calc", "둘"), ("store", "셋")]);
    vec![first, rejected("아직", "넷"), plan(&[("find", "넷")]), accepted(), "답입니다.".to_owned()]
}

fn agent(spec: Spec, script: &Arc<ScriptedModel>, calls: &Calls) -> Agent {
    echoing(spec, script, calls).build().unwrap()
}

/// All records of a whole run.
pub fn recorded(spec: Spec) -> Vec<Record> {
    let agent = agent(spec, &model(replies()), &Calls::default());
    agent.job(asked("질문?")).run().unwrap().records().to_vec()
}

fn journal_of(records: &[Record]) -> MemoryJournal {
    MemoryJournal::from(records.to_vec())
}

fn answers(records: &[Record]) -> (usize, usize) {
    let of = |tools: bool| {
        let kind = |record: &&Record| match record {
            Record::Answered { event, .. } => matches!(event, Event::ToolReturned { .. }) == tools,
            _ => false,
        };
        records.iter().filter(kind).count()
    };
    (of(false), of(true))
}

/// Cuts a run after every record and goes on: nothing that was answered is asked again, and the end
/// is the same.
#[track_caller]
fn goes_on_from_every_record(spec: &Spec) {
    let whole = recorded(spec.clone());
    let end = fold(whole.clone()).unwrap().state;
    let straight = Fixture::of_records(&whole, None).unwrap().to_json();
    let Record::Header(header) = &whole[0] else { panic!("a journal begins with a header") };
    for len in 1..=whole.len() {
        let (models_before, tools_before) = answers(&whole[..len]);
        let rest: Vec<String> = replies().into_iter().skip(models_before).collect();
        let (script, calls, mut journal) = (model(rest), Calls::default(), journal_of(&whole[..len]));
        let run = agent(spec.clone(), &script, &calls).resume(&mut journal).run().unwrap();
        assert_eq!(*run.state(), end, "cut after {len} records");
        assert_eq!((script.asked(), calls.count()), (5 - models_before, 4 - tools_before), "cut after {len}");
        let key = format!("{}/step.", header.run);
        assert!(calls.all().iter().all(|called| called.key.starts_with(&key)), "the key of the run");
        // The journal is whole again: it folds to the same state, and no effect is answered twice.
        let records = journal.records().unwrap();
        assert_eq!(answers(&records), (5, 4));
        if spec.policy.execution == Execution::Sequential {
            assert_eq!(Fixture::of_records(&records, None).unwrap().to_json(), straight);
        }
        assert_eq!(fold(records).unwrap().state, end);
    }
}

#[test]
fn run_cut_after_any_record_goes_on_and_asks_nothing_twice() {
    goes_on_from_every_record(&spec("validated"));
}

#[test]
fn run_cut_between_steps_side_by_side_goes_on_and_asks_nothing_twice() {
    for width in [2, 3] {
        goes_on_from_every_record(&parallel("validated", width));
    }
}

/// A spec whose rules differ from those of [`recorded`] in one limit.
fn stricter() -> Spec {
    let mut other = spec("validated");
    other.limits.max_replans = 0;
    other
}

#[test]
fn run_does_not_go_on_under_changed_rules_unasked() {
    let whole = recorded(spec("validated"));
    let (script, mut journal) = (model(replies()), journal_of(&whole[..2]));
    let stopped = agent(stricter(), &script, &Calls::default()).resume(&mut journal).run().unwrap_err();
    assert!(matches!(stopped, Stopped::Changed { .. }), "{stopped:?}");
    assert!(stopped.to_string().contains("$.limits.max_replans"), "{stopped}");
    assert_eq!((journal.records().unwrap(), script.asked()), (whole[..2].to_vec(), 0));
}

#[test]
fn run_goes_on_under_its_own_rules_or_the_changed_ones_where_it_is_asked_to() {
    let whole = recorded(spec("validated"));
    let (mut kept, mut journal) = (journal_of(&whole[..2]), journal_of(&whole[..2]));
    let changed = agent(stricter(), &model(replies()), &Calls::default());
    let run = changed.resume(&mut kept).changed(Changed::Keep).run().unwrap();
    assert_eq!(run.answer(), Some("답입니다."));
    let changed = agent(stricter(), &model(replies()), &Calls::default());
    let run = changed.resume(&mut journal).changed(Changed::Adopt).run().unwrap();
    assert_eq!(run.state().objection(), Some("아직"));
    let folded = fold(journal.records().unwrap()).unwrap();
    assert_eq!((folded.compiled.spec(), folded.state), (&stricter(), run.state().clone()));
}

#[test]
fn rules_that_drop_an_open_question_are_not_adopted() {
    let mut asks = spec("validated");
    asks.policy.approval = Approval { plan: true, ..Approval::default() };
    let waits = agent(asks, &model(replies()), &Calls::default()).run("q").unwrap();
    assert!(waits.is_waiting());
    for other in ["validated", "react"] {
        let mut journal = journal_of(waits.records());
        let (script, calls) = (model([""; 0]), Calls::default());
        let mut rules = spec(other);
        rules.policy.grant = false;
        rules.roles.remove(&RoleName::Grant);
        let changed = agent(rules, &script, &calls);
        let stopped = changed.resume(&mut journal).changed(Changed::Adopt).run().unwrap_err();
        assert!(matches!(stopped, Stopped::Unfit { .. }), "{other}: {stopped:?}");
        assert!(stopped.to_string().contains("approve.1 waits for a person"), "{stopped}");
        assert_eq!(journal.records().unwrap(), waits.records());
    }
}

#[test]
fn rules_under_which_a_yes_is_to_another_call_are_not_adopted() {
    let asking = |risky: &[&str]| {
        let mut spec = spec("plan-then-execute");
        spec.policy.approval = Approval::RISKY;
        spec.tools.iter_mut().for_each(|tool| tool.needs_approval = risky.contains(&&*tool.name));
        spec
    };
    let script = model([plan(&[("store", "a"), ("find", "x"), ("store", "b")]), answer("끝")]);
    let asks = agent(asking(&["store"]), &script, &Calls::default());
    let allowed = asks.run("q").unwrap().respond(&asks, HumanAnswer::Approve).unwrap();
    let is_called = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.1.1.1");
    let cut = allowed.records().iter().position(is_called).expect("a call");
    let mut journal = journal_of(&allowed.records()[..cut]);
    let other = agent(asking(&["store", "find"]), &model([""; 0]), &Calls::default());
    let stopped = other.resume(&mut journal).changed(Changed::Adopt).run().unwrap_err();
    assert!(stopped.to_string().contains("is another call under them"), "{stopped}");
}

/// The records of a run that was cut when `tool` had been asked for.
pub fn cut_at_call(tool: &str) -> Vec<Record> {
    let script = model([plan(&[("find", "x"), (tool, "y")]), answer("끝")]);
    let run = agent(spec("plan-then-execute"), &script, &Calls::default()).run("q").unwrap();
    let requested = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.1.2.1");
    let at = run.records().iter().position(requested).unwrap();
    run.records()[..=at].to_vec()
}

#[test]
fn write_in_doubt_is_not_done_again() {
    let records = cut_at_call("send");
    let (script, calls, mut journal) = (model([answer("끝")]), Calls::default(), journal_of(&records));
    let agent = agent(spec("plan-then-execute"), &script, &calls);
    for _ in 0..2 {
        let stopped = agent.resume(&mut journal).run().unwrap_err();
        let Stopped::InDoubt { effect, tool } = &stopped else { panic!("{stopped:?}") };
        assert_eq!((effect.to_string().as_str(), tool.as_str()), ("step.1.2.1", "send"));
        assert!(
            stopped.to_string().starts_with("step.1.2.1 is in doubt: send was asked to change something")
        );
    }
    assert_eq!((script.asked(), calls.count()), (0, 0));
    assert_eq!(journal.records().unwrap(), records, "the journal is as it was");
}

#[test]
fn write_that_was_not_yet_asked_for_is_done() {
    let mut records = cut_at_call("send");
    records.pop();
    let (calls, mut journal) = (Calls::default(), journal_of(&records));
    let agent = agent(spec("plan-then-execute"), &model([answer("끝")]), &calls);
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("끝"));
    assert_eq!(calls.names(), ["send:y"]);
}

#[test]
fn call_that_may_be_repeated_is_made_again_with_the_same_key() {
    for tool in ["calc", "find", "store"] {
        let records = cut_at_call(tool);
        let Record::Header(header) = &records[0] else { panic!("a journal begins with a header") };
        let (calls, mut journal) = (Calls::default(), journal_of(&records));
        let agent = agent(spec("plan-then-execute"), &model([answer("끝")]), &calls);
        assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("끝"));
        let keys: Vec<String> = calls.all().into_iter().map(|called| called.key).collect();
        assert_eq!(keys, [format!("{}/step.1.2.1", header.run)]);
    }
}

#[test]
fn deadline_in_a_journal_ends_the_run_and_its_fixture_replays() {
    let mut records = recorded(spec("validated"))[..3].to_vec();
    records.push(Record::Happened { event: Event::DeadlinePassed, at: None });
    let folded = fold(records.clone()).unwrap();
    let said = folded.state.error().unwrap().to_string();
    assert_eq!(said, "DEADLINE_EXCEEDED: the run took more than 3600 s");

    let fixture = Fixture::of_records(&records, None).unwrap();
    let run = Fixture::parse(&fixture.to_json()).unwrap().replay_as_recorded().unwrap();
    assert_eq!(*run.state(), folded.state);

    let (script, mut journal) = (model(replies()), journal_of(&records));
    let run = agent(spec("validated"), &script, &Calls::default()).resume(&mut journal).run().unwrap();
    assert_eq!((run.error().unwrap().to_string(), script.asked()), (said, 0), "an ended run asks nobody");
}

#[test]
fn run_does_not_begin_in_a_journal_that_is_in_use() {
    let whole = recorded(spec("validated"));
    let (script, mut journal) = (model(replies()), journal_of(&whole[..3]));
    let agent = agent(spec("validated"), &script, &Calls::default());
    let stopped = agent.job(asked("다른 질문?")).journal(&mut journal).run().unwrap_err();
    assert!(matches!(stopped, Stopped::Journal(_)), "{stopped:?}");
    assert_eq!((journal.records().unwrap(), script.asked()), (whole[..3].to_vec(), 0));
}

#[test]
fn write_that_would_be_another_now_is_not_made_under_the_key_of_the_first() {
    let mut records = cut_at_call("store");
    let Some(Record::Requested { digest, .. }) = records.last_mut() else { panic!("it was asked for") };
    *digest = planwright::spec::Digest::of([b"another call".as_slice()]);
    let (script, calls, mut journal) = (model([answer("끝")]), Calls::default(), journal_of(&records));
    let agent = agent(spec("plan-then-execute"), &script, &calls);
    let stopped = agent.resume(&mut journal).run().unwrap_err();
    assert!(matches!(stopped, Stopped::Changed { .. }), "{stopped:?}");
    assert_eq!((calls.count(), journal.records().unwrap()), (0, records));
    let run = agent.resume(&mut journal).changed(Changed::Keep).run().unwrap();
    assert_eq!((run.answer(), calls.names()), (Some("끝"), vec!["store:y".to_owned()]));
}

#[test]
fn token_stops_a_run_that_is_gone_on_with() {
    let whole = recorded(spec("validated"));
    let (script, calls, token) = (model(replies()), Calls::default(), CancelToken::new());
    token.cancel();
    let mut journal = journal_of(&whole[..3]);
    let run = agent(spec("validated"), &script, &calls).resume(&mut journal).cancel(token).run().unwrap();
    assert_eq!(run.error().unwrap().to_string(), "CANCELLED: stopped by the user");
    assert_eq!((script.asked(), calls.count()), (0, 0));
}

/// A journal that takes so many records and no more.
struct Full(MemoryJournal, u64);

impl Journal for Full {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if index + records.len() as u64 > self.1 {
            return Err(JournalError::at(index, "no space left"));
        }
        self.0.append(index, records)
    }
    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.0.records()
    }
}

#[test]
fn nothing_is_performed_that_could_not_be_written_down_before() {
    let whole = recorded(spec("validated"));
    for room in 0..whole.len() as u64 {
        let (script, calls) = (model(replies()), Calls::default());
        let mut journal = Full(MemoryJournal::new(), room);
        let agent = agent(spec("validated"), &script, &calls);
        let stopped = agent.job(asked("질문?")).journal(&mut journal).run().unwrap_err();
        assert!(stopped.to_string().ends_with(": no space left"), "{stopped}");
        let requested = |record: &&Record| matches!(record, Record::Requested { .. });
        let asked = journal.records().unwrap().iter().filter(requested).count();
        assert_eq!(script.asked() + calls.count(), asked, "with room for {room}");
    }
}

#[test]
fn journal_of_another_format_is_refused() {
    let mut records = recorded(spec("validated"));
    let Record::Header(header) = &mut records[0] else { panic!("a journal begins with a header") };
    header.format += 1;
    let said = fold(records).unwrap_err().to_string();
    assert_eq!(said, "journal record 0: expected journal format 6, found 7");
}
