//! What durable runs take up grows with their steps and with nothing else, and a list reads no journal:
//! counted, not timed.

use crate::hooked::{Hooked, When};
use crate::stage;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Threads, token};
use planwright::journal::{Claim, Order, Query, Record, RunStatus, Store, fold};
use planwright::machine::HumanAnswer;
use planwright::ports::{FnTool, ScriptedModel};
use planwright::spec::{Approval, Spec};
use serde_json::json;

use crate::support::{id, open};
use stage::{answer, plan, spec};

/// A store, and how often it was appended to and read.
struct Counted {
    store: Arc<dyn Store>,
    counts: Arc<[AtomicUsize; 2]>,
}

impl Counted {
    fn new(store: impl Store + 'static) -> Self {
        let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let counting = counts.clone();
        let hook = move |method: &str, when| {
            let at = match method {
                "begin" | "conclude" | "append" => 0,
                "records" => 1,
                _ => return,
            };
            counting[at].fetch_add(usize::from(when == When::Before), Ordering::SeqCst);
        };
        Counted { store: Arc::new(Hooked(Arc::new(store), Box::new(hook))), counts }
    }

    fn appends(&self) -> usize {
        self.counts[0].load(Ordering::SeqCst)
    }

    fn reads(&self) -> usize {
        self.counts[1].load(Ordering::SeqCst)
    }
}

/// An agent whose next run has so many small steps.
fn stepping(steps: usize) -> Agent {
    let mut spec: Spec = spec("plan-then-execute");
    spec.tools = vec![ToolContract::text("docs", "Answers from a list.", ToolEffect::Pure)];
    spec.policy.plan.max_steps = 100_000;
    spec.limits.max_reply_bytes = u32::MAX;
    let inputs: Vec<String> = (0..steps).map(|at| format!("thing {at:06}")).collect();
    let planned = plan(&inputs.iter().map(|input| ("docs", &**input)).collect::<Vec<_>>());
    let docs = FnTool::new(spec.tools[0].clone(), |_| Ok("what was found about this thing".to_owned()));
    let model = ScriptedModel::replies([planned, answer("all of them")]);
    Agent::builder(spec).model(model).tool(docs).build().unwrap()
}

fn counted(folder: &Path) -> Counted {
    Counted::new(open(&folder.join("threads.db")))
}

/// Bytes of all files in a folder, to its depths.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            of if of.is_dir() => size(&entry.path()),
            of => of.len(),
        })
        .sum()
}

/// Runs so many steps in a new store; gives the bytes that are left when it is closed.
fn bytes_of(steps: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let threads = Threads::new(counted(folder.path()).store);
    let run = threads.at(&id("many")).ask(&stepping(steps), "Which?").unwrap();
    assert_eq!(run.answer(), Some("all of them"));
    drop(threads);
    size(folder.path())
}

#[test]
fn thousand_small_steps_are_at_most_a_mebibyte() {
    let bytes = bytes_of(1_000);
    assert!((100_000..=1 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn step_late_in_a_run_takes_as_many_bytes_as_an_early_one() {
    let [few, more, many, most] = [10, 210, 1_000, 1_200].map(bytes_of);
    let (early, late) = (more - few, most - many);
    assert!(early > 10_000 && late * 2 <= early * 3, "{early} bytes, then {late}");
}

#[test]
fn every_transition_is_one_append() {
    for steps in [1, 10, 1_000] {
        let folder = tempfile::tempdir().unwrap();
        let store = counted(folder.path());
        let threads = Threads::new(store.store.clone());
        threads.at(&id("many")).ask(&stepping(steps), "Which?").unwrap();
        let records = store.store.records(&id("many"), 0).unwrap();
        let events = records.iter().filter(|record| matches!(record, Record::Answered { .. })).count();
        assert_eq!(events, steps + 2, "the plan, its steps and the answer");
        assert_eq!(store.appends(), events + 1, "and the header with the first request");
        assert_eq!(store.reads(), 1, "a new thread has nothing to be read");
    }
}

/// `plan-then-execute` that asks a person before it sends.
fn asking() -> Agent {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = Approval::STEPS;
    let steps = json!([
        {"tool": "hitl", "hitl_question": "보낼까요?"},
        {"tool": "send", "input": "편지"},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    let replies = [json!({"goal": "a goal", "steps": steps}).to_string(), answer("끝")];
    stage::echoing(spec, &Arc::new(ScriptedModel::replies(replies)), &stage::Calls::default())
        .build()
        .unwrap()
}

/// So many threads that wait, each with the records of one and the same run under its own name.
fn waiting(store: &dyn Store, agent: &Agent, count: u64) {
    let mut records = agent.run("보낼까?").unwrap().records().to_vec();
    let stands = RunStatus::of(&fold(records.iter().cloned()).unwrap());
    let RunStatus::Waiting { effect, question, .. } = stands else { panic!("it waits") };
    for nth in 0..count {
        let thread = id(&format!("편지 {nth:05}"));
        let Record::Header(header) = &mut records[0] else { panic!("a header") };
        (header.thread, header.run) = (thread.to_string(), format!("run-{nth}"));
        let lease = store.claim(&thread, Claim::New).unwrap();
        // The later its name, the longer it has waited.
        let since = 1_000_000 - nth;
        let status = RunStatus::Waiting { effect, question: question.clone(), since };
        store.append(&lease, 0, 0, records.clone(), Some(&status)).unwrap();
        store.release(lease).unwrap();
    }
}

#[test]
fn ten_thousand_threads_that_wait_are_small_and_listed_without_their_journals() {
    const COUNT: u64 = 10_000;
    let (folder, agent) = (tempfile::tempdir().unwrap(), asking());
    let store = counted(folder.path());
    waiting(&*store.store, &agent, COUNT);
    store.store.vacuum().unwrap();
    let bytes = size(folder.path());
    assert!(bytes <= COUNT * 3_072, "{} bytes a thread", bytes / COUNT);

    let threads = Threads::new(store.store.clone());
    let statuses = vec!["waiting".to_owned()];
    let query = Query { statuses, order: Order::LongestWaiting, ..Query::default() };
    let page = threads.list(&query).unwrap();
    let names: Vec<&str> = page.iter().map(|listed| listed.thread.as_str()).collect();
    assert_eq!((names.len(), names[0], names[49]), (50, "편지 09999", "편지 09950"));
    let next = Query { after: page.last().map(|last| last.cursor(query.order)), ..query };
    assert_eq!(threads.list(&next).unwrap()[0].thread.as_str(), "편지 09949");
    assert_eq!(store.reads(), 0, "a list reads no journal");

    let one = &page[7].thread;
    let token = token(&threads.folded(one, None).unwrap()).unwrap();
    let run = threads.at(one).token(token).answer(&agent, HumanAnswer::respond("네")).unwrap();
    assert_eq!((run.answer(), store.reads()), (Some("끝"), 2), "to ask for the token, and to go on");
}
