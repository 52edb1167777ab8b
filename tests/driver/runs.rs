//! The driver: what it performs, when, how often, and what it does when the world does not answer.

use crate::stage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use planwright::contract::ToolContract;
use planwright::driver::{Agent, AgentBuilder, CancelToken, Run, Stopped};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::machine::PhaseName;
use planwright::ports::{Cause, ModelError, ScriptedModel, ToolError};
use planwright::spec::{RoleName, Spec};

use stage::{Calls, Conductor, accepted, answer, asked, echoing, model, output, parallel, plan, spec};

const PTE: &str = "plan-then-execute";

/// The results of the last plan, step by step.
pub fn outputs(run: &Run) -> Vec<&str> {
    run.state().current_steps().map(|step| step.output.expect("every step has a result")).collect()
}

/// The run's id, out of its first record.
pub fn run_id(records: &[Record]) -> &str {
    match records.first() {
        Some(Record::Header(header)) => &header.run,
        other => panic!("expected a header, found {other:?}"),
    }
}

/// Runs `plan-then-execute` with this plan over tools that echo, `calc` replaced by `tool`.
pub fn with_calc(
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

pub fn calc() -> ToolContract {
    stage::contracts().remove(0)
}

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
        assert_eq!((interrupted.cause.cause, interrupted.state.phase()), (cause, PhaseName::Write));

        let run = agent.resume(&mut journal).run().unwrap();
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
        assert!(matches!(agent.resume(&mut journal).run(), Err(Stopped::Interrupted(_))));
    }
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("예"));
    assert_eq!(agent.resume(&mut journal).run().unwrap().answer(), Some("예"), "an ended run is read again");
    assert_eq!(script.asked(), 5);
}

#[track_caller]
fn is_incomplete(builder: AgentBuilder, wanted: &str) {
    let (agent, mut journal) = (builder.build().unwrap(), MemoryJournal::new());
    let stopped = agent.job(asked("q")).journal(&mut journal).run().unwrap_err();
    assert!(matches!(stopped, Stopped::Incomplete(_)), "{stopped:?}");
    assert!(stopped.to_string().starts_with(wanted), "{stopped}");
    assert_eq!(journal.records().unwrap(), [], "nothing was begun");
}

#[test]
fn tools_and_models_that_are_missing_are_said_before_anything_runs() {
    let script = model([plan(&[])]);
    let calls = Calls::default();
    let builder = Agent::builder(spec(PTE)).model(script.clone()).tool(calls.echo(calc()));
    is_incomplete(builder, "the spec names tools that are not registered: find, send, store (register them,");
    assert_eq!((script.asked(), calls.count()), (0, 0));
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
            Record::Answered { event, .. } => {
                let answered = event.effect().map(|id| id.to_string());
                open.retain(|id| Some(id) != answered.as_ref());
            }
            Record::Header(_)
            | Record::Happened { .. }
            | Record::Resolved { .. }
            | Record::Interrupted { .. }
            | Record::Asked(_)
            | Record::SpecChanged(_) => {}
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
fn what_may_write_runs_alone() {
    assert_eq!(beside_a_write("send", 1), [""; 0]);
    assert_eq!(beside_a_write("store", 1), [""; 0]);
    assert_eq!(beside_a_write("find", 4), ["step.1.1.1", "step.1.3.1", "step.1.4.1"]);
}

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
    assert_eq!(output(&run, 0), Some("일을 마쳤습니다"));
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());

    // A token that was used before stops the run before anybody is asked.
    let (script, token) = (model([plan(&[])]), CancelToken::new());
    token.cancel();
    let agent = echoing(spec(PTE), &script, &Calls::default()).build().unwrap();
    let run = agent.job(asked("q")).cancel(token).run().unwrap();
    assert_eq!(run.error().unwrap().to_string(), "CANCELLED: stopped by the user");
    assert_eq!(script.asked(), 0);
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
    assert_eq!((output(&run, 0), output(&run, 1)), (Some("하나"), Some("둘")));
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
    assert_eq!(output(&run, 0), Some("늦었습니다"), "what came late is kept");
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());
}
