//! Two processes answer the same waiting threads at the same moment, each on 32 threads of execution and
//! all with the right token: every question has one who answered it, every other is told by name that
//! somebody was first, and what was asked about is done once. Runs that were interrupted and that all of
//! them go on with end once.
//!
//! The child is this test binary itself, started with the name of one test.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Stopped, Threads};
use planwright::journal::{Claim, Query, RunStatus, Store, StoreError, ThreadId};
use planwright::machine::{HumanAnswer, ModelReply};
use planwright::ports::{Cause, FnTool, Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, RoleName};
use serde_json::json;

use crate::place::raced;
use crate::support::{self, done, is_sound};

const FOLDER: &str = "PLANWRIGHT_TEST_FOLDER";
const NAME: &str = "PLANWRIGHT_TEST_NAME";
/// What is wanted of every thread: to be answered, or to be gone on with.
const WANTED: &str = "PLANWRIGHT_TEST_WANTED";
const ANSWER: &str = "answer";
const RESUME: &str = "resume";

const PROCESSES: usize = 2;
/// Of each process; every one of them wants every thread.
const WORKERS: usize = 32;

fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(support::open(&folder.join("threads.db")))
}

/// Plans to send, whatever the question; where somebody is to answer, after having asked them.
struct Planning {
    asks: bool,
    /// Whether it is there at all.
    answers: bool,
}

impl Model for Planning {
    fn name(&self) -> &str {
        "planning"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        if !self.answers {
            return Err(ModelError::unanswered(Cause::Connection, "the server is not there"));
        }
        let mut steps = vec![
            json!({"tool": "hitl", "hitl_question": "보낼까요?"}),
            json!({"tool": "send", "input": "보고서"}),
            json!({"tool": "final_answer", "input": "x"}),
        ];
        if !self.asks {
            steps.remove(0);
        }
        let reply = match request.frame.role {
            RoleName::Planner => json!({"goal": "g", "steps": steps}),
            _ => json!({"final": "보냈습니다."}),
        };
        Ok(ModelReply::text(reply.to_string()))
    }
}

/// An agent whose write adds a line to a file, in one call that no other line can break into.
fn agent(wanted: &str, answers: bool, log: &Path) -> Agent {
    let mut spec = agents::shipped("plan-then-execute").expect("a shipped agent");
    spec.policy.approval = Approval::STEPS;
    spec.tools = vec![ToolContract::text("send", "Sends.", ToolEffect::Write)];
    let (contract, log) = (spec.tools[0].clone(), log.to_owned());
    let send = FnTool::new(contract, move |call| {
        let mut file = OpenOptions::new().create(true).append(true).open(&log).expect("a log");
        let line = format!("{} {}\n", call.idempotency_key, std::process::id());
        file.write_all(line.as_bytes()).expect("a line");
        Ok("보냄".to_owned())
    });
    let model = Planning { asks: wanted == ANSWER, answers };
    Agent::builder(spec).model(model).tool(send).build().expect("the spec checks")
}

/// How one who answers, or goes on, fares.
fn outcome(result: Result<planwright::driver::Run, Stopped>) -> &'static str {
    match result {
        Ok(run) => {
            assert_eq!(run.answer(), Some("보냈습니다."));
            "told"
        }
        Err(Stopped::Store(StoreError::AlreadyRunning { .. })) => "running",
        Err(Stopped::AlreadyAnswered { .. }) => "answered",
        Err(other) => panic!("expected to be told who was first, found {other:?}"),
    }
}

/// All threads, in an order of a worker's own: from another place on, forwards or back. So each meets
/// some who go with it, and all who come towards it.
fn order(worker: usize, count: usize) -> impl Iterator<Item = usize> {
    let from = worker / 2 % 8 * count / 8;
    (0..count).map(
        move |at| if worker.is_multiple_of(2) { (from + at) % count } else { (from + count - at) % count },
    )
}

/// The child: wants every thread, beside its rivals. Does nothing where it is run as a test.
#[test]
fn child_wants_every_thread() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let name = std::env::var(NAME).expect("the child has a name");
    let wanted = std::env::var(WANTED).expect("something is wanted");
    let tokens: Vec<(ThreadId, String)> =
        serde_json::from_str(&std::fs::read_to_string(folder.join("tokens")).unwrap()).unwrap();
    let agent = agent(&wanted, true, &folder.join("sent"));
    // Two handles, so that not every worker is told apart by one of them.
    let handles = [(); 2].map(|()| Threads::new(open(folder)));
    let ready = Barrier::new(WORKERS + 1);
    let work = |worker: usize| {
        let threads = &handles[worker / 16 % handles.len()];
        warm_up(threads, &name, worker);
        ready.wait();
        ready.wait();
        let wants = |at: usize| {
            let (thread, token) = &tokens[at];
            let result = match &*wanted {
                ANSWER => {
                    let answer = HumanAnswer::respond(format!("네, {worker}"));
                    threads.at(thread).token(token).answer(&agent, answer)
                }
                _ => threads.at(thread).resume(&agent),
            };
            (thread.clone(), outcome(result))
        };
        order(worker, tokens.len()).map(wants).collect::<Vec<_>>()
    };
    let fared: Vec<(ThreadId, &str)> = std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        ready.wait();
        std::fs::write(folder.join(format!("ready-{name}")), "").unwrap();
        while !folder.join("go").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        ready.wait();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker fares well")).collect()
    });
    std::fs::write(folder.join(format!("fared-{name}")), serde_json::to_string(&fared).unwrap()).unwrap();
}

/// Makes the connections of a worker before the race begins: on a busy computer, a process that still makes its own
/// finds that the other has answered everything.
fn warm_up(threads: &Threads, name: &str, worker: usize) {
    let own = format!("준비 {name} {worker}").parse().unwrap();
    // What fails here fails in the race as well, which says so; the others are not kept waiting.
    let _ = threads.store().claim(&own, Claim::New).and_then(|lease| threads.store().release(lease));
}

fn child(wanted: &str, folder: &Path, name: usize) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    child.args(["--exact", "concurrent_resumes::child_wants_every_thread", "--nocapture"]);
    child.env(FOLDER, folder).env(NAME, name.to_string()).env(WANTED, wanted);
    child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the child starts")
}

/// Has so many threads wait for a person, or for their model; gives their names, and the tokens of their
/// questions.
fn wait(threads: &Threads, wanted: &str, never: &Path, count: usize) -> Vec<(ThreadId, String)> {
    let agent = agent(wanted, wanted == ANSWER, never);
    let begin = |at: usize| {
        let thread: ThreadId = format!("편지 {at}").parse().unwrap();
        let token = match threads.at(&thread).ask(&agent, "보낼까?") {
            Ok(run) => run.waiting().expect("it waits").token.clone(),
            Err(Stopped::Interrupted(_)) => String::new(),
            Err(other) => panic!("{other}"),
        };
        (thread, token)
    };
    (0..count).map(begin).collect()
}

/// Has two processes want so many threads. Gives how each of their workers fared with each thread.
fn race(wanted: &str, count: usize) -> Vec<(ThreadId, String)> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let threads = Threads::new(open(folder));
    let tokens = wait(&threads, wanted, &folder.join("never"), count);
    std::fs::write(folder.join("tokens"), serde_json::to_string(&tokens).unwrap()).unwrap();

    let children: Vec<Child> = (0..PROCESSES).map(|name| child(wanted, folder, name)).collect();
    let are_ready = || (0..PROCESSES).all(|name| folder.join(format!("ready-{name}")).exists());
    for _ in 0..60_000 {
        if are_ready() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    std::fs::write(folder.join("go"), "").unwrap();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
    }
    let mut all: Vec<(ThreadId, String)> = Vec::new();
    for name in 0..PROCESSES {
        let text = std::fs::read_to_string(folder.join(format!("fared-{name}"))).unwrap();
        all.extend(serde_json::from_str::<Vec<(ThreadId, String)>>(&text).unwrap());
    }
    assert_eq!(all.len(), PROCESSES * WORKERS * count, "all wanted all");
    let told: BTreeSet<&ThreadId> = told(&all).collect();
    assert_eq!(told.len(), count, "every thread is told to its end");
    assert_each_was_sent_once(folder, &threads, &tokens);
    all
}

fn told(fared: &[(ThreadId, String)]) -> impl Iterator<Item = &ThreadId> {
    fared.iter().filter(|(_, outcome)| outcome == "told").map(|(thread, _)| thread)
}

#[track_caller]
fn assert_each_was_sent_once(folder: &Path, threads: &Threads, tokens: &[(ThreadId, String)]) {
    assert!(!folder.join("never").exists(), "nothing is sent before somebody goes on");
    let sent = std::fs::read_to_string(folder.join("sent")).unwrap();
    let sent: Vec<&str> = sent.lines().collect();
    let mut expected = BTreeSet::new();
    for (thread, _) in tokens {
        let folded = threads.folded(thread, None).unwrap();
        assert_eq!(RunStatus::of(&folded), done("보냈습니다."));
        expected.insert(folded.run);
    }
    let runs: BTreeSet<String> =
        sent.iter().filter_map(|key| Some(key.split_once('/')?.0.to_owned())).collect();
    assert_eq!((sent.len(), runs), (tokens.len(), expected), "each write happened, and once");
    let senders: BTreeSet<&str> = sent.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(senders.len(), PROCESSES, "one process alone was no rival");

    let ended = Query { statuses: vec!["done".to_owned()], limit: usize::MAX, ..Query::default() };
    let listed = threads.list(&ended).unwrap();
    assert_eq!(listed.len(), tokens.len());
    assert!(listed.iter().all(|listed| !listed.running));
    is_sound(threads.store());
}

#[test]
fn many_waiting_threads_in_a_database_are_each_answered_once() {
    assert_eq!(told(&race(ANSWER, raced())).count(), raced());
}

/// A worker that continues a run that has ended is told how it ended.
#[test]
fn interrupted_threads_in_a_database_each_go_on_once() {
    assert!(race(RESUME, raced().min(150)).iter().all(|(_, outcome)| outcome != "answered"));
}
