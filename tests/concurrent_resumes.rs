//! Two processes answer the same waiting threads at the same moment, each on 32 threads of execution and
//! all with the right token: every question has one who answered it, every other is told by name that
//! somebody was first, and what was asked about is done once.
//!
//! The child is this test binary itself, started with the name of one test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Model, ModelError, Stopped, Threads, TokenSink};
use planwright::journal::{Durability, LinesStore, Query, Standing, Store, StoreError, ThreadId};
use planwright::machine::{HumanAnswer, ModelReply};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, RoleName};
use planwright::tool::FnTool;
use serde_json::json;

const STORE: &str = "PLANWRIGHT_TEST_STORE";
const FOLDER: &str = "PLANWRIGHT_TEST_FOLDER";
const NAME: &str = "PLANWRIGHT_TEST_NAME";

const PROCESSES: usize = 2;
const WORKERS: usize = 32;
/// How many workers of a process want each thread.
const RIVALS: usize = 2;

fn open(kind: &str, folder: &Path) -> Arc<dyn Store> {
    match kind {
        #[cfg(feature = "sqlite")]
        "sqlite" => {
            let path = folder.join("threads.db");
            Arc::new(planwright::journal::SqliteStore::open(path, Durability::Normal).unwrap())
        }
        _ => Arc::new(LinesStore::open(folder.join("threads"), Durability::Normal).unwrap()),
    }
}

/// Plans to ask a person and to send, whatever the question.
struct Planning;

impl Model for Planning {
    fn name(&self) -> &str {
        "planning"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let steps = json!([
            {"tool": "hitl", "hitl_question": "보낼까요?"},
            {"tool": "send", "input": "보고서"},
            {"tool": "final_answer", "input": "x"},
        ]);
        let reply = match request.frame.role {
            RoleName::Planner => json!({"goal": "g", "steps": steps}),
            _ => json!({"final": "보냈습니다."}),
        };
        Ok(ModelReply::text(reply.to_string()))
    }
}

/// An agent whose write adds a line to a file, in one call that no other line can break into.
fn agent(log: &Path) -> Agent {
    let mut spec = agents::shipped("plan-then-execute").expect("a shipped agent");
    spec.policy.approval = Approval::STEPS;
    spec.tools = vec![ToolContract::text("send", "Sends.", ToolEffect::Write)];
    let (contract, log) = (spec.tools[0].clone(), log.to_owned());
    let send = FnTool::new(contract, move |call| {
        let mut file = OpenOptions::new().create(true).append(true).open(&log).expect("a log");
        file.write_all(format!("{}\n", call.idempotency_key).as_bytes()).expect("a line");
        Ok("보냄".to_owned())
    });
    Agent::builder(spec).model(Planning).tool(send).build().expect("the spec checks")
}

/// How one who answers fares.
fn outcome(result: Result<planwright::driver::Run, Stopped>) -> &'static str {
    match result {
        Ok(run) => {
            assert_eq!(run.answer(), Some("보냈습니다."));
            "won"
        }
        Err(Stopped::Store(StoreError::AlreadyRunning { .. })) => "running",
        Err(Stopped::AlreadyAnswered { .. }) => "answered",
        Err(other) => panic!("expected to be told who was first, found {other:?}"),
    }
}

/// The child: answers every thread, beside its rivals. Does nothing where it is run as a test.
#[test]
fn child_answers_what_waits() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let (folder, kind) = (Path::new(&folder), std::env::var(STORE).expect("a store is named"));
    let name = std::env::var(NAME).expect("the child has a name");
    let tokens: Vec<(ThreadId, String)> =
        serde_json::from_str(&std::fs::read_to_string(folder.join("tokens")).unwrap()).unwrap();
    let agent = agent(&folder.join("sent"));
    // Two handles, so that not every worker is told apart by one of them.
    let handles = [(); 2].map(|()| Threads::new(open(&kind, folder)));
    let ready = Barrier::new(WORKERS + 1);
    let work = |worker: usize| {
        ready.wait();
        let threads = &handles[worker / RIVALS % handles.len()];
        let own = tokens.iter().skip(worker / RIVALS).step_by(WORKERS / RIVALS);
        own.map(|(thread, token)| {
            let answer = HumanAnswer::respond(format!("네, {worker}"));
            (thread.clone(), outcome(threads.at(thread).token(token).answer(&agent, answer)))
        })
        .collect::<Vec<_>>()
    };
    let fared: Vec<(ThreadId, &str)> = std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        std::fs::write(folder.join(format!("ready-{name}")), "").unwrap();
        while !folder.join("go").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        ready.wait();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker fares well")).collect()
    });
    std::fs::write(folder.join(format!("fared-{name}")), serde_json::to_string(&fared).unwrap()).unwrap();
}

fn child(kind: &str, folder: &Path, name: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "child_answers_what_waits", "--nocapture"]);
    child.env(FOLDER, folder).env(STORE, kind).env(NAME, name.to_string());
    child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the child starts")
}

/// Has so many threads wait; gives their names and the tokens of their questions.
fn wait(threads: &Threads, agent: &Agent, count: usize) -> Vec<(ThreadId, String)> {
    let begin = |at: usize| {
        let thread: ThreadId = format!("편지 {at}").parse().unwrap();
        let run = threads.at(&thread).ask(agent, "보낼까?").unwrap();
        let token = run.waiting().expect("it waits").token.clone();
        (thread, token)
    };
    (0..count).map(begin).collect()
}

#[track_caller]
fn check_that_each_is_answered_once(kind: &str, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let threads = Threads::new(open(kind, folder));
    let tokens = wait(&threads, &agent(&folder.join("never")), count);
    std::fs::write(folder.join("tokens"), serde_json::to_string(&tokens).unwrap()).unwrap();

    let children: Vec<Child> = (0..PROCESSES).map(|name| child(kind, folder, name)).collect();
    let are_ready = || (0..PROCESSES).all(|name| folder.join(format!("ready-{name}")).exists());
    for _ in 0..10_000 {
        if are_ready() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::write(folder.join("go"), "").unwrap();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    }

    let mut won = BTreeMap::<ThreadId, usize>::new();
    let (mut attempts, mut winners) = (0, BTreeSet::new());
    for name in 0..PROCESSES {
        let text = std::fs::read_to_string(folder.join(format!("fared-{name}"))).unwrap();
        let fared: Vec<(ThreadId, String)> = serde_json::from_str(&text).unwrap();
        attempts += fared.len();
        for (thread, _) in fared.into_iter().filter(|(_, fared)| fared == "won") {
            *won.entry(thread).or_default() += 1;
            winners.insert(name);
        }
    }
    assert_eq!(attempts, PROCESSES * RIVALS * count);
    assert_eq!(won.len(), count, "every question is answered");
    assert!(won.values().all(|winners| *winners == 1), "{won:?}");
    assert_eq!(winners.len(), PROCESSES, "one process alone was no rival");
    assert_each_was_sent_once(folder, &threads, &tokens);
}

#[track_caller]
fn assert_each_was_sent_once(folder: &Path, threads: &Threads, tokens: &[(ThreadId, String)]) {
    assert!(!folder.join("never").exists(), "nothing is sent before somebody said so");
    let sent = std::fs::read_to_string(folder.join("sent")).unwrap();
    let sent: Vec<&str> = sent.lines().collect();
    let mut expected = BTreeSet::new();
    for (thread, _) in tokens {
        let folded = threads.folded(thread, None).unwrap();
        assert_eq!(Standing::of(&folded), Standing::Done { answer: "보냈습니다.".to_owned() });
        expected.insert(folded.run);
    }
    let runs: BTreeSet<String> =
        sent.iter().filter_map(|key| Some(key.split_once('/')?.0.to_owned())).collect();
    assert_eq!((sent.len(), runs), (tokens.len(), expected), "each write happened, and once");

    let done = Query { statuses: vec!["done".to_owned()], limit: usize::MAX, ..Query::default() };
    let listed = threads.list(&done).unwrap();
    assert_eq!(listed.len(), tokens.len());
    assert!(listed.iter().all(|listed| !listed.running));
    assert_eq!(threads.store().check().unwrap(), Vec::<String>::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn thousand_waiting_threads_in_a_database_are_each_answered_once() {
    check_that_each_is_answered_once("sqlite", 1_000);
}

#[test]
fn waiting_threads_in_json_lines_are_each_answered_once() {
    check_that_each_is_answered_once("lines", 160);
}
