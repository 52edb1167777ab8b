//! A thread has one writer: who comes second is told, and who was fenced off writes nothing more.

use std::process::Stdio;

use crate::cli_support::store::{keep, store};
use crate::cli_support::{Home, waiting_journal};
use crate::support::{Answer, Server};
use crate::world::MUL as PLAN;
use planwright::journal::{Claim, FileJournal, Store};

const THREAD: &str = "보고서";
#[test]
fn thread_is_run_by_one_process_at_a_time() {
    let home = Home::new();
    home.check(&["run", "--offline", "--quiet", "--thread", THREAD, "12/4+9?"], 0);
    let (server, was_asked, _answer) = Server::pausing(Answer::silence());
    let mut program = home.program();
    let args = ["run", "--quiet", "--base-url", &server.url(), "--model", "m", "--thread", THREAD, "7*6?"];
    let mut running = program.args(args).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    was_asked.recv().unwrap();
    home.check(&["run", "--offline", "--thread", THREAD, "1+1?"], 6)
        .complains(&["the thread 보고서 is being run already, by process"]);
    home.check(&["threads", "list"], 0).prints(&["보고서  running"]);
    for args in [&["threads", "delete", "--yes", THREAD][..], &["threads", "cancel", THREAD]] {
        home.check(args, 6);
    }
    running.kill().unwrap();
    running.wait().unwrap();

    // Its process has ended: the question can be gone on with, and a new one has to wait for it.
    home.check(&["run", "--offline", "--thread", THREAD, "1+1?"], 3).complains(&[
        "has not ended",
        "planwright threads resume 보고서",
        "planwright threads cancel 보고서",
    ]);
    home.check(&["threads", "list"], 0).prints(&["보고서  unfinished"]);
    home.check(&["threads", "resume", "--offline", THREAD], 0).prints(&["42"]);
}

#[test]
fn process_whose_thread_was_taken_over_writes_nothing_more() {
    let home = Home::new();
    let (server, was_asked, answer) = Server::pausing(Answer::reply(PLAN));
    let mut program = home.program();
    let args = ["run", "--base-url", &server.url(), "--model", "m", "--thread", THREAD, "7*6?"];
    let running = program.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = running.spawn().unwrap();
    was_asked.recv().unwrap();
    home.check(&["threads", "resume", "--offline", THREAD], 6);
    home.check(&["threads", "resume", "--offline", "--take-over", THREAD], 0).prints(&["42"]);
    let records = || home.check(&["threads", "show", "--records", THREAD], 0).stdout;
    let before = records();
    answer.send(()).unwrap();
    let ended = running.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("has taken it over") && stderr.contains("hint: somebody else"), "{stderr}");
    assert_eq!(records(), before);
}

#[test]
fn what_another_process_has_says_what_helps() {
    let home = Home::new();
    waiting_journal(&home.path("run.jsonl"));
    keep(&home, THREAD, &home.path("run.jsonl"));
    let store = store(&home);
    let _lease = store.claim(&THREAD.parse().unwrap(), Claim::Known).unwrap();
    let said = home.check(&["threads", "resume", "--offline", THREAD], 6).stderr;
    assert!(said.contains("`--take-over` of `threads resume` fences it off"), "{said}");
    let said = home.check(&["threads", "show", THREAD], 0).stdout;
    assert!(said.contains("turn 1  running") && !said.contains("--token"), "{said}");
    let _journal = FileJournal::open(home.path("run.jsonl")).unwrap();
    let said = home.check(&["resume", "--offline", "run.jsonl"], 6).stderr;
    assert!(said.contains("another process is writing to it") && said.contains("end that process"), "{said}");
}
