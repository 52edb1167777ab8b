//! Ctrl-C: the first stops a run so that it can be gone on with, the second the program.

use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::cli_support::{Home, check};
use crate::support::{Answer, Server};
use crate::world::*;

fn start(home: &Home, server: &Server, more: &[&str]) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut program = home.program();
    program.args(["run", "--base-url", &server.url(), "--model", "m", SUM]).args(more);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    (child, lines)
}

fn press(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn until(lines: &mut Lines<BufReader<ChildStderr>>, text: &str) {
    let found = lines.by_ref().map(Result::unwrap).find(|line| line.contains(text));
    assert!(found.is_some(), "the program never said {text:?}");
}

/// Presses once while the model is asked, which never answers. Waits until the program has said this and ended.
fn press_once(home: &Home, more: &[&str], texts: &[&str]) {
    let (server, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let (mut child, mut lines) = start(home, &server, more);
    was_asked.recv().unwrap();
    press(&child);
    until(&mut lines, "planwright: stopping; press Ctrl-C again");
    let flags = format!("--model m --base-url {}", server.url());
    texts.iter().for_each(|text| until(&mut lines, &text.replace("FLAGS", &flags)));
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!((child.wait().unwrap().code(), stdout.as_str()), (Some(130), ""));
    assert_eq!(server.count(), 1);
}

#[test]
fn first_leaves_a_run_that_nobody_asked_to_keep_to_be_gone_on_with() {
    let home = Home::new();
    press_once(&home, &[], &["stopped: by the user", ".jsonl FLAGS  goes on"]);
    let kept = std::fs::read_dir(home.path("state/planwright/runs")).unwrap().next().unwrap().unwrap().path();
    let resume = ["resume", "--offline", kept.to_str().unwrap()];
    assert!(home.check(&resume, 0).stdout.contains("300840"));
}

#[test]
fn first_leaves_a_run_with_records_to_be_gone_on_with_and_says_how() {
    let home = Home::new();
    let stopped = "stopped: by the user";
    press_once(&home, &["--journal", "run.jsonl"], &[stopped, "planwright resume run.jsonl FLAGS  goes on"]);
    assert!(home.check(&["resume", "--offline", "run.jsonl"], 0).stdout.contains("300840"));
    press_once(&home, &["--thread", "t"], &[stopped, "planwright threads resume t FLAGS  goes on"]);
    assert!(home.check(&["threads", "resume", "--offline", "t"], 0).stdout.contains("300840"));
    press_once(
        &home,
        &["--record", "a.json"],
        &[stopped, "`planwright run --record a.json FLAGS` with the same"],
    );
    let again = ["run", "--offline", "--record", "a.json", "--record-mode", "new_episodes", SUM];
    assert!(home.check(&again, 0).stdout.contains("300840"));
}

#[test]
fn wait_for_another_try_is_seen_and_cut_and_none_follows() {
    let home = Home::new();
    let server = Server::answering([Answer::error(429, "busy").header("retry-after", "15")]);
    let (mut child, mut lines) = start(&home, &server, &["--journal", "run.jsonl"]);
    until(&mut lines, "try 2 of 6 in 15 s  rate limit: ");
    let pressed = std::time::Instant::now();
    press(&child);
    until(&mut lines, "planwright resume run.jsonl --model m");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(pressed.elapsed().as_secs() < 12, "{:?}", pressed.elapsed());
    assert_eq!(server.count(), 1);
}

#[test]
fn second_leaves_a_journal_that_goes_on() {
    let home = Home::new();
    let (server, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let (mut child, mut lines) = start(&home, &server, &["--journal", "run.jsonl"]);
    was_asked.recv().unwrap();
    press(&child);
    press(&child);
    until(&mut lines, "planwright resume run.jsonl");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(home.check(&["resume", "--offline", "run.jsonl"], 0).stdout.contains("300840"));
}

#[test]
fn longest_wait_is_a_setting_of_the_environment() {
    let home = Home::new();
    let server = Server::answering([Answer::error(429, "busy").header("retry-after", "15")]);
    let run = |seconds: &str, code| {
        let mut program = home.program();
        program.env("PLANWRIGHT_MAX_WAIT_SECONDS", seconds);
        program.args(["run", "--base-url", &server.url(), "--model", "m", SUM]);
        check(&mut program, "", code)
    };
    run("5", 3).complains(&["rate limit"]);
    assert_eq!(server.count(), 1);
    run("soon", 2)
        .complains(&["PLANWRIGHT_MAX_WAIT_SECONDS: expected a whole number of seconds, found \"soon\""]);
}
