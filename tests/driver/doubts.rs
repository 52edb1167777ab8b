//! Writes in doubt: each waits for a word of its own, whatever was said of another, under whichever rules the
//! run goes on and however often its process dies in between.

use planwright::driver::{Agent, Changed, Resolution, Stopped, token};
use planwright::journal::{Journal, MemoryJournal, Record, ResolvedAs, fold};
use planwright::ports::{ToolError, ToolErrorKind};
use planwright::spec::{Spec, SubAgent};

use crate::resume::cut_at_call;
use crate::stage::{self, Calls, answer, asked, echoing, model, parallel, plan, spec};

/// Two agents for steps side by side, each of which sends; those that are named may send again.
fn senders(repeatable: &[&str]) -> Spec {
    let mut outer = parallel("plan-then-execute", 2);
    for name in ["left", "right"] {
        let mut inner = spec("plan-then-execute").with_tools(|tool| tool.name == "send");
        inner.tools[0].idempotent = repeatable.contains(&name).then_some(true);
        let (name, description, spec) = (name.to_owned(), "Sends.".to_owned(), Some(Box::new(inner)));
        outer.agents.push(SubAgent { name, description, role: None, spec });
    }
    outer
}

/// An agent under these rules with two senders. The first call of each may have happened or not.
fn unreliable(rules: Spec) -> (Agent, Calls) {
    let (calls, [one, other]) = (Calls::default(), ["y", "z"].map(|input| plan(&[("send", input)])));
    let work = plan(&[("left", "보내라"), ("right", "보내라")]);
    let script = model([work, one, answer("1"), other, answer("2"), answer("끝")]);
    let made = calls.clone();
    let contract = stage::contracts().swap_remove(2);
    let tool = calls.tool(contract, move |call| {
        let same = made.all().into_iter().filter(|made| made.key == call.idempotency_key).count();
        if same == 1 { Err(ToolError::new(ToolErrorKind::Timeout, "…")) } else { Ok("갔음".to_owned()) }
    });
    (echoing(rules, &script, &calls).tool(tool).build().unwrap(), calls)
}

/// An agent with the replies that are left, and what it calls.
fn agent(spec: Spec) -> (Agent, Calls) {
    let calls = Calls::default();
    (echoing(spec, &model([answer("끝")]), &calls).build().unwrap(), calls)
}

fn journal(records: &[Record]) -> MemoryJournal {
    MemoryJournal::from(records.to_vec())
}

/// The token of what is in doubt.
fn open(journal: &MemoryJournal) -> String {
    token(&fold(journal.records().unwrap()).unwrap()).expect("something is in doubt")
}

#[track_caller]
fn in_doubt(stopped: &Stopped) -> String {
    let Stopped::InDoubt { effect, tool } = stopped else { panic!("{stopped:?}") };
    assert_eq!(tool, "send");
    effect.to_string()
}

fn happened() -> Resolution {
    Resolution::Happened { output: "갔음".to_owned() }
}

/// Agents that write run one after the other also where steps run side by side, so that one write is in doubt
/// at a time.
#[test]
fn second_write_in_doubt_waits_for_its_own_word_when_the_first_is_resolved() {
    for (first, second, again) in [
        (happened(), happened(), 0),
        (happened(), Resolution::DidNotHappen, 1),
        (Resolution::DidNotHappen, happened(), 1),
        (Resolution::DidNotHappen, Resolution::DidNotHappen, 2),
    ] {
        let ((agent, calls), mut journal) = (unreliable(senders(&[])), MemoryJournal::new());
        let stopped = agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
        assert!(matches!(stopped, Stopped::Interrupted(_)), "{stopped:?}");
        let mut spent = Vec::new();
        for (step, word) in [("step.1.1.1", first), ("step.1.2.1", second)] {
            let doubt = in_doubt(&agent.resume(&mut journal).run().unwrap_err());
            assert_eq!(doubt, format!("{step}/step.1.1.1"));
            for old in &spent {
                let stopped = agent.resume(&mut journal).token(old).resolve(happened()).run().unwrap_err();
                assert!(matches!(stopped, Stopped::AlreadyAnswered { .. }), "{stopped:?}");
            }
            let token = open(&journal);
            let went_on = agent.resume(&mut journal).token(&token).resolve(word).run();
            assert_eq!(went_on.is_ok(), step == "step.1.2.1");
            spent.push(token);
        }
        let folded = fold(journal.records().unwrap()).unwrap();
        assert_eq!((folded.state.answer(), calls.count()), (Some("끝"), 2 + again));
    }
}

/// The process dies after each record that follows the word.
#[test]
fn write_that_did_not_happen_is_made_once_wherever_the_process_dies_after_the_word() {
    let agent = || agent(spec("plan-then-execute"));
    let mut told = journal(&cut_at_call("send"));
    agent().0.resume(&mut told).resolve(Resolution::DidNotHappen).run().unwrap();
    let whole = told.records().unwrap();
    let word =
        |record: &Record| matches!(record, Record::Resolved { resolution: ResolvedAs::DidNotHappen, .. });
    let resolved = whole.iter().position(word).expect("it is written down");
    let requested = |records: &[Record]| {
        let is = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.1.2.1");
        records.iter().any(is)
    };
    let answered = |records: &[Record]| {
        let is = |record: &&Record| matches!(record, Record::Answered { event, .. } if event.effect().is_some_and(|id| id.to_string() == "step.1.2.1"));
        records.iter().filter(is).count()
    };
    let mut doubted = 0;
    for len in resolved + 1..=whole.len() {
        let ((agent, calls), mut journal) = (agent(), journal(&whole[..len]));
        let done = answered(&whole[..len]);
        let mut ended = agent.resume(&mut journal).run();
        if requested(&whole[resolved..len]) && done == 0 {
            assert_eq!(in_doubt(&ended.unwrap_err()), "step.1.2.1", "cut after {len} records");
            assert_eq!(calls.count(), 0, "it was asked for again, and may have happened now");
            doubted += 1;
            ended = agent.resume(&mut journal).resolve(Resolution::DidNotHappen).run();
        }
        assert!(ended.unwrap().answer().is_some(), "cut after {len} records");
        assert_eq!(done + calls.count(), 1, "cut after {len} records");
    }
    assert!(doubted > 0, "it was asked for again");
}

#[test]
fn new_rules_do_not_decide_what_is_in_doubt() {
    let mut repeatable = spec("plan-then-execute");
    repeatable.tools.iter_mut().for_each(|tool| tool.idempotent = Some(true));
    let mut nested = MemoryJournal::new();
    unreliable(senders(&[])).0.job(asked("q")).journal(&mut nested).run().unwrap_err();
    let (alone, nested) = (cut_at_call("send"), nested.records().unwrap());
    for (records, rules) in [(&alone, repeatable), (&nested, senders(&["left"]))] {
        for word in [None, Some(Resolution::DidNotHappen), Some(happened())] {
            let ((agent, calls), mut journal) = (agent(rules.clone()), journal(records));
            let resume = agent.resume(&mut journal).changed(Changed::Adopt);
            let resume = match word {
                Some(word) => resume.resolve(word),
                None => resume,
            };
            in_doubt(&resume.run().unwrap_err());
            assert_eq!((journal.records().unwrap(), calls.count()), (records.clone(), 0));
        }
    }
}

#[test]
fn new_rules_are_adopted_with_a_word_on_what_is_in_doubt_under_them_too() {
    let mut stricter = spec("plan-then-execute");
    stricter.limits.max_tool_calls = Some(9);
    let ((agent, calls), mut journal) = (agent(stricter.clone()), journal(&cut_at_call("send")));
    in_doubt(&agent.resume(&mut journal).changed(Changed::Adopt).run().unwrap_err());
    let resume = agent.resume(&mut journal).changed(Changed::Adopt);
    let run = resume.resolve(Resolution::DidNotHappen).run().unwrap();
    assert!(run.answer().is_some(), "{:?}", run.error());
    assert_eq!(calls.names(), ["send:y"]);
    assert_eq!(*fold(journal.records().unwrap()).unwrap().compiled.spec(), stricter);
}
