//! Workers in processes of their own, which can be killed, over one store and one folder in which their tools write.

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;

use planwright::driver::Threads;
use planwright::journal::{Fixture, Record, RunStatus, Store};
use planwright::machine::{HumanAnswer, TraceLine};
use planwright_sqlite::SqliteStore;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cast::{Times, agent};
use crate::server::{Restate, await_some, free_port};

/// The folder of the workers.
pub struct Stage {
    folder: TempDir,
    times: Times,
    store: SqliteStore,
}

/// A worker, until it is killed.
pub struct Actor {
    pub address: SocketAddr,
    process: Child,
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Actor {
    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Stage {
    pub fn new(times: Times) -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path().join("threads.db"), Default::default()).unwrap();
        Stage { folder, times, store }
    }

    /// A worker, at an address if it is to take the place of another.
    pub fn enter(&self, address: Option<SocketAddr>) -> Actor {
        let address = address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], free_port())));
        let tests = std::env::current_exe().unwrap();
        let program: PathBuf = tests.parent().unwrap().parent().unwrap().join("examples/stage");
        let mut command = Command::new(program);
        command.arg(self.folder.path()).arg(address.to_string());
        command.arg(self.times.answer.to_string()).arg(self.times.deadline.to_string());
        let process = command.spawn().expect("the worker starts");
        await_some("a worker", || TcpStream::connect(address).ok());
        Actor { address, process }
    }

    /// Has the driver tell a thread in this process, with the same agent and in the same store. What it asks a person
    /// is answered with `yes`.
    pub fn drive(&self, thread: &str, question: &str) {
        let agent = agent(self.folder.path(), self.times);
        let store = SqliteStore::open(self.folder.path().join("threads.db"), Default::default()).unwrap();
        let (threads, thread) = (Threads::new(Arc::new(store)), thread.parse().unwrap());
        if threads.at(&thread).ask(&agent, question).unwrap().waiting().is_some() {
            threads.at(&thread).answer(&agent, HumanAnswer::respond("yes")).unwrap();
        }
    }

    /// A file in the folder of the workers.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Holds calls with this input until they are let go.
    pub fn hold(&self, input: &str) {
        std::fs::write(self.folder.path().join(format!("hold-{input}")), "").unwrap();
    }

    pub fn let_go(&self, input: &str) {
        std::fs::remove_file(self.folder.path().join(format!("hold-{input}"))).unwrap();
    }

    /// The calls of tools for a run, `tool input`, in their order, each with the process that made it.
    pub fn calls(&self, run: &str) -> Vec<(String, u32)> {
        let calls = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        let words = calls.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let of_run = words.filter(|words| words[2].starts_with(run));
        of_run.map(|words| (format!("{} {}", words[0], words[1]), words[3].parse().unwrap())).collect()
    }

    /// What was written under the keys of a run: by key, so each write is there once.
    pub fn written(&self, run: &str) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path().join("written")).unwrap().map(|file| file.unwrap());
        let of_run = files.filter(|file| file.file_name().to_string_lossy().starts_with(run));
        let mut written: Vec<String> =
            of_run.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect();
        written.sort();
        written
    }

    /// Waits until a call with this input has been made so often.
    pub fn await_calls(&self, call: &str, count: usize) {
        await_some(call, || {
            let calls = self.calls("");
            (calls.iter().filter(|(made, _)| made == call).count() >= count).then_some(())
        });
    }

    pub fn records(&self, thread: &str) -> Vec<Record> {
        self.store.records(&thread.parse().unwrap(), 0).unwrap()
    }

    /// The run's id and status, once it is of one of these names.
    pub fn await_status(&self, thread: &str, name: &str) -> (String, RunStatus) {
        let thread = thread.parse().unwrap();
        await_some(name, || {
            let listed = self.store.find(&thread).unwrap()?;
            let header = self.store.header(&thread, 0).unwrap();
            (listed.status.name() == name && !listed.running).then_some((header.run, listed.status))
        })
    }

    /// The trace of a thread's run, replayed from the store.
    pub fn trace(&self, thread: &str) -> Vec<TraceLine> {
        let made = Fixture::of_records(&self.records(thread), None).unwrap();
        let spec = match &self.records(thread)[0] {
            Record::Header(header) => planwright::spec::Spec::clone(&header.spec),
            _ => unreachable!("a journal begins with its header"),
        };
        let agent = planwright::driver::Agent::builder(spec).build().unwrap();
        agent.replay(&made).unwrap().trace().to_vec()
    }

    /// Has the same done undisturbed, in a thread of its own, and compares: the trace, and what was written.
    pub fn check_as_undisturbed(&self, restate: &Restate, thread: &str, question: &str) {
        let plain = format!("{thread}-plain");
        let mut report = restate.ask(&plain, question);
        if let (RunStatus::Waiting { .. }, Some(token)) = (&report.status, &report.token) {
            report = restate.answer(&plain, token, &HumanAnswer::respond("yes"));
        }
        assert_eq!(report.status.name(), "done", "{report:?}");
        let (run, status) = self.await_status(thread, "done");
        assert_eq!(status, report.status);
        assert_eq!(self.trace(thread), self.trace(&plain));
        assert_eq!(self.written(&run), self.written(&report.run));
        assert!(!self.written(&run).is_empty());
    }
}

/// A question that is its own plan: these steps and a last one.
pub fn plan(steps: &[Value]) -> String {
    let last = json!({"tool": "final_answer", "input": "the answer"});
    let steps: Vec<&Value> = steps.iter().chain([&last]).collect();
    serde_json::to_string(&steps).unwrap()
}

/// A step that waits for the one before it.
pub fn step(tool: &str, input: &str, id: &str, after: &[&str]) -> Value {
    json!({"id": id, "tool": tool, "input": input, "depends_on": after})
}
