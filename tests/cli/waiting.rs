//! Runs that wait for people, in threads: what they are told, and that a word is taken once, for what it
//! was meant for.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::Arc;

use crate::cli_support::store::{is_in_doubt, keep, keep_with, open, token, waits, wants_approval};
use crate::cli_support::{ASKED, Home, Said, approving_journal, check, waiting_journal};
use planwright::journal::Record;
use planwright::spec::Approval;
use serde_json::json;

const THREAD: &str = "보고서";

/// A home with a thread that waits for a person.
fn waiting() -> Home {
    let home = Home::new();
    waits(&home, THREAD);
    home
}

/// A word of `planwright threads` on the thread.
#[track_caller]
fn threads(home: &Home, args: &[&str], code: i32) -> Said {
    check(home.program().arg("threads").args(args).args(["--offline", THREAD]), "", code)
}

#[track_caller]
fn stays_as_it_was(home: &Home, act: impl FnOnce()) {
    let records = || home.check(&["threads", "show", "--records", "--json", THREAD], 0).stdout;
    let before = records();
    act();
    assert_eq!(records(), before);
}

#[test]
fn run_that_waits_or_is_answered_without_a_token_names_the_command_and_takes_no_new_question() {
    let home = waiting();
    let token = token(&home, THREAD);
    let command = format!("planwright threads answer {THREAD} --offline --token {token} --respond TEXT");
    let waits = format!("the run waits for a person: {ASKED}");
    threads(&home, &["resume"], 5).prints_nothing().complains(&[&waits, &command]);
    home.check(&["run", "--offline", "--thread", THREAD, "7*6?"], 5).complains(&[ASKED, &token]);
    stays_as_it_was(&home, || {
        for args in [&["answer"][..], &["answer", "--respond", "네"]] {
            let said = threads(&home, args, 2);
            said.complains(&[ASKED, "expected the token", &command]);
        }
    });
}

#[test]
fn answer_with_another_token_or_one_that_does_not_fit_changes_nothing() {
    let home = waiting();
    let mine = token(&home, THREAD);
    waits(&home, "다른 보고서");
    let other = token(&home, "다른 보고서");
    assert_ne!(mine, other);
    home.write("steps.json", r#"[{"tool": "hammer", "input": "x"}]"#);
    stays_as_it_was(&home, || {
        threads(&home, &["answer", "--token", &mine, "--edit", "steps.json"], 5)
            .complains(&["the answer is refused"]);
        for wrong in ["0123", &other] {
            threads(&home, &["answer", "--token", wrong, "--respond", "네"], 6).complains(&[
                "the token is of another question",
                &*format!("planwright threads show {THREAD}"),
            ]);
        }
    });
}

#[test]
fn answer_with_its_token_goes_on_and_is_taken_once() {
    let home = waiting();
    let token = token(&home, THREAD);
    threads(&home, &["answer", "--token", &token, "--respond", "네"], 0).prints(&["12"]);
    home.check(&["threads", "show", THREAD], 0).prints(&["turn 1  done"]);
    stays_as_it_was(&home, || {
        threads(&home, &["answer", "--token", &token, "--respond", "아니요"], 6)
            .complains(&["human.1.2 was answered before"]);
    });
    threads(&home, &["answer", "--respond", "네"], 2).complains(&["waits for nobody"]);
}

/// An answer that comes through a pipe could be played again, and would then allow the next call as well.
#[test]
fn chat_allows_nothing_that_comes_from_a_pipe() {
    let home = Home::new();
    wants_approval(&home, THREAD);
    let before = home.check(&["threads", "show", THREAD, "--json"], 0).stdout;
    for line in ["yes\n", "네\n", "approve\n"] {
        let mut program = home.program();
        check(program.args(["chat", "--offline", "--quiet", "--thread", THREAD]), line, 5)
            .complains(&[&token(&home, THREAD)]);
        assert_eq!(home.check(&["threads", "show", THREAD, "--json"], 0).stdout, before);
    }
}

#[test]
fn waiting_lists_who_has_waited_longest_first() {
    let home = waiting();
    home.check(&["run", "--offline", "--thread", "sums", "12/4+9?"], 0);
    is_in_doubt(&home, "송금");
    waits(&home, "나중 보고서");
    let said = home.check(&["waiting"], 0);
    let places: Vec<usize> = [THREAD, "송금", "나중 보고서"]
        .iter()
        .map(|thread| said.stdout.find(&format!("{thread}  turn 1, for ")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{}", said.stdout);
    assert!(!said.stdout.contains("sums"), "{}", said.stdout);
    let command =
        format!("planwright threads resolve 송금 --token {} --happened OUTPUT", token(&home, "송금"));
    said.prints(&[ASKED, "in doubt: calc ", &command, "threads answer '나중 보고서' --token "]);

    let object = home.check(&["waiting", "--json", "--limit", "1"], 0).json();
    assert_eq!((&object["more"], object["waiting"].as_array().unwrap().len()), (&true.into(), 1));
    let first = &object["waiting"][0];
    assert_eq!((&first["thread"], &first["question"]), (&THREAD.into(), &ASKED.into()));
    assert_eq!(first["token"], token(&home, THREAD).as_str());
    let next = object["next"].as_str().unwrap();
    let rest = home.check(&["waiting", "--json", "--limit", "2", "--after", next], 0).json();
    let rest: Vec<_> = rest["waiting"].as_array().unwrap().iter().map(|one| one["thread"].clone()).collect();
    assert_eq!(rest, ["송금", "나중 보고서"]);
    home.check(&["waiting", "--limit", "1"], 0).complains(&["planwright waiting --limit 1 --after "]);
    home.check(&["waiting", "--after", "soon"], 2);
}

#[test]
fn one_that_does_not_read_hides_no_other_that_waits() {
    let home = Home::new();
    let path = home.path("waits.jsonl");
    waiting_journal(&path);
    keep(&home, "상한 보고서", &path);
    let database = rusqlite::Connection::open(home.path("data/planwright/threads.db")).unwrap();
    database.execute_batch("UPDATE record SET body = replace(body, '12/4+9', '13/4+9')").unwrap();
    drop(database);
    keep(&home, THREAD, &path);
    let said = home.check(&["waiting"], 0);
    assert!(said.stdout.starts_with(THREAD), "{}", said.stdout);
    said.complains(&["상한 보고서 does not read: "]);
}

/// Gives a person so many seconds, and has them asked so much earlier.
fn given(seconds: u64, earlier: u64) -> impl FnOnce(&mut [Record]) {
    move |records| {
        for record in records {
            match record {
                Record::Header(header) => {
                    Arc::make_mut(&mut header.spec).limits.answer_seconds = Some(seconds);
                }
                Record::Requested { at: Some(at), .. } => *at -= earlier * 1_000,
                _ => {}
            }
        }
    }
}

#[test]
fn question_whose_time_is_over_is_shown_as_expired() {
    let home = Home::new();
    let path = home.path("late.jsonl");
    waiting_journal(&path);
    keep_with(&home, THREAD, &path, given(3600, 0));
    let in_time = open(&home, THREAD);
    let since = in_time["since"].as_u64().unwrap();
    assert_eq!((&in_time["expires"], &in_time["expired"]), (&(since + 3_600_000).into(), &false.into()));

    keep_with(&home, "늦은 보고서", &path, given(3600, 7200));
    let shown = open(&home, "늦은 보고서");
    assert_eq!(shown["expired"], true);
    assert_eq!(shown["commands"], serde_json::json!(["planwright threads resume '늦은 보고서'"]));
    home.check(&["waiting"], 0).prints(&[", expired\n"]);
    let said = home.check(&["threads", "show", "늦은 보고서"], 0);
    assert!(said.stdout.contains("  expired   ") && !said.stdout.contains("--token"), "{}", said.stdout);
    home.check(&["threads", "answer", "--respond", "네", "늦은 보고서"], 6)
        .complains(&["threads resume '늦은 보고서'"]);
}

#[test]
fn chat_puts_the_question_that_somebody_elses_answer_has_led_to() {
    let home = Home::new();
    let path = home.path("all.jsonl");
    approving_journal(&path, Approval::ALL);
    keep(&home, THREAD, &path);
    let mut program = home.program();
    program.args(["chat", "--offline", "--quiet", "--thread", THREAD]);
    let child = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let (mut stdin, stderr) = (child.stdin.take().unwrap(), child.stderr.take().unwrap());
    let mut lines = BufReader::new(stderr).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("1. calc: 12/4+9")), "the plan is put");
    threads(&home, &["answer", "--token", &token(&home, THREAD), "--approve"], 5);
    let call = open(&home, THREAD)["question"].as_str().unwrap().to_owned();
    stdin.write_all("네\n".as_bytes()).unwrap();
    drop(stdin);
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("expected the token of what is answered")), "{rest:?}");
    assert!(rest.join("\n").contains(call.trim()), "expected {call:?} in: {rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    assert_eq!(open(&home, THREAD)["question"], call, "nobody has answered it");
}

/// A home with a thread of which a write is in doubt.
fn in_doubt() -> Home {
    let home = Home::new();
    is_in_doubt(&home, THREAD);
    home
}

#[test]
fn write_in_doubt_stops_its_thread_until_somebody_says_what_became_of_it() {
    let home = in_doubt();
    let token = token(&home, THREAD);
    let command = format!("planwright threads resolve {THREAD} --offline --token {token} --did-not-happen");
    stays_as_it_was(&home, || {
        let resumed = threads(&home, &["resume"], 4);
        let asked = home.check(&["run", "--offline", "--thread", THREAD, "7*6?"], 4);
        let answered = threads(&home, &["answer", "--respond", "네"], 4);
        for said in [resumed, asked, answered] {
            said.complains(&["in doubt", &command]);
        }
        threads(&home, &["resolve", "--did-not-happen"], 2).complains(&["expected the token", &command]);
        threads(&home, &["resolve", "--token", "0123", "--did-not-happen"], 6)
            .complains(&["the token is of another question"]);
        threads(&home, &["resolve", "--token", &token], 2);
        home.check(&["threads", "cancel", THREAD], 4)
            .complains(&["in doubt: calc", &command.replace(" --offline", "")]);
        let mut chat = home.program();
        check(chat.args(["chat", "--offline", "--thread", THREAD]), "/cancel\n", 0)
            .complains(&["is in doubt"]);
    });
}

#[test]
fn settlement_is_written_down_and_taken_once() {
    let home = in_doubt();
    let token = token(&home, THREAD);
    threads(&home, &["resolve", "--token", &token, "--stop", "은행에 물어봤다"], 130);
    let said = home.check(&["threads", "show", "--records", THREAD], 0);
    said.prints(&["은행에 물어봤다"]);
    let unknown =
        "unknown   calc (step.1.1.1) was asked to change something, and nobody knows whether it did";
    said.prints(&[unknown]);
    let shown = home.check(&["threads", "show", "--json", THREAD], 0).json();
    assert_eq!(shown["turns"][0]["unknown"], json!([{"effect": "step.1.1.1", "tool": "calc"}]));
    home.check(&["threads", "list"], 0).prints(&["failed, in doubt"]);
    threads(&home, &["resolve", "--token", &token, "--happened", "x"], 6).complains(&["was answered before"]);

    // What happened is not done again, what did not is done now.
    for (word, said_of_it) in
        [(&["--happened", "13"][..], "it happened"), (&["--did-not-happen"], "it did not happen")]
    {
        let home = in_doubt();
        let token = crate::cli_support::store::token(&home, THREAD);
        let args: Vec<&str> = ["resolve", "--token", &token].iter().chain(word).copied().collect();
        // The plan's other step is nonsense, which failed, so the answer stands with an objection; but it goes on.
        threads(&home, &args, 1);
        let shown = home.check(&["threads", "show", "--records", THREAD], 0);
        shown.prints(&[said_of_it, "turn 1  done", "objection"]);
        let settle: Vec<&str> =
            args.iter().map(|arg| if *arg == "resolve" { "settle" } else { arg }).collect();
        threads(&home, &settle, 6).complains(&["was answered before"]);
    }
}

#[test]
fn thread_that_waits_can_be_ended() {
    let home = waiting();
    let token = token(&home, THREAD);
    home.check(&["threads", "cancel", "--reason", "기한이 지났다", THREAD], 0);
    home.check(&["threads", "show", THREAD], 0).prints(&["turn 1  failed", "기한이 지났다"]);
    home.check(&["threads", "cancel", THREAD], 2).complains(&["the run has ended"]);
    threads(&home, &["answer", "--token", &token, "--respond", "네"], 6);
}
