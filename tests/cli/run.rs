//! `run` and `resume`: the answer alone on stdout, everything else on stderr, and how they end.

use crate::cli_support;

use cli_support::{ANSWER, Home, QUESTION, check, ended_journal, exhausted, interrupted_journal};
use serde_json::Value;

#[test]
fn stdout_holds_the_answer_alone() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--replay", "run.json"], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
}

#[test]
fn without_a_terminal_progress_is_plain_lines() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--replay", "run.json"], 0);
    let lines: Vec<&str> = said.stderr.lines().collect();
    let story = [
        "planwright: every answer comes from run.json",
        "PLAN",
        "  1 wiki          \"상태기계\"",
        "  2 clock         \"지금\"",
        "  3 final_answer  \"설명을 쓴다\"",
        "EXECUTE",
        "  1 wiki ok  상태기계(state machine)는 유한한 상태를 갖는다. \\u{1b}[31m빨강",
        "  2 clock failed  ERROR: broken: the clock stands still",
        "  1 of 3 failed",
        "VALIDATE",
        "  rejected  예시가 없다",
        "  hint  예시를 찾아라",
        "REPLAN 1",
        "PLAN",
    ];
    assert_eq!(lines[..story.len()], story, "{}", said.stderr);
    assert_eq!(lines[lines.len() - 4..], ["VALIDATE", "  accepted  충분하다", "WRITE", "DONE"]);
}

#[test]
fn nothing_has_escape_bytes_without_a_terminal_and_color_always_has() {
    let home = Home::new();
    home.fixture("run.json");
    for args in [
        &["run", "--replay", "run.json", "--trace"][..],
        &["replay", "run.json"],
        &["trace", "run.json"],
        &["agents"],
        &["run", "--color", "never", "--replay", "run.json"],
    ] {
        let said = home.check(args, 0);
        assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'), "{args:?}");
    }
    let said = home.check(&["run", "--color", "always", "--replay", "run.json"], 0);
    said.complains(&["\u{1b}[1mPLAN\u{1b}[0m"]);
    assert!(!said.stderr.contains("\u{1b}[31m빨강"), "the tool's own colour came through");
    assert!(!said.stdout.contains('\u{1b}'));
}

#[test]
fn quiet_says_nothing_beside_the_answer() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--quiet", "--replay", "run.json"], 0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (&*format!("{ANSWER}\n"), ""));
}

#[test]
fn json_is_one_object_with_trace_counters_and_the_steps_of_every_plan() {
    let home = Home::new();
    home.fixture("run.json");
    let object = home.check(&["run", "--json", "--replay", "run.json"], 0).json();
    assert_eq!(object["answer"], ANSWER);
    assert_eq!(object["error"], Value::Null);
    assert_eq!(object["phase"], "DONE");
    assert_eq!(object["agent"], "validated");
    assert_eq!(object["question"], QUESTION);
    assert_eq!(object["counters"]["model_calls"], 5);
    assert_eq!(object["counters"]["replans"], 1);
    assert_eq!(object["trace"].as_array().unwrap().len(), 8);
    let steps = object["steps"].as_array().unwrap();
    let step = |at: usize| (&steps[at]["draft"], &steps[at]["tool"], &steps[at]["status"]);
    assert_eq!(steps.len(), 6);
    assert_eq!(step(1), (&1.into(), &"clock".into(), &"failed".into()));
    assert_eq!(step(3), (&2.into(), &"wiki".into(), &"completed".into()));
}

#[test]
fn events_are_json_lines_and_the_last_is_the_answer() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--events", "--replay", "run.json"], 0);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "step", "content"]);
    }
    let of = |at: usize| (events[at]["type"].as_str().unwrap(), events[at]["step"].as_str().unwrap());
    assert_eq!((of(0), of(1)), (("phase", "PLAN"), ("thinking", "planning")));
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["content"]), (&"answer".into(), &ANSWER.into()));
    assert!(said.stderr.contains("PLAN"), "the screen is as ever");

    exhausted().save(home.path("run.json")).unwrap();
    let said = home.check(&["run", "--events", "--replay", "run.json"], 1);
    let last: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "error");
    assert_eq!(last["content"]["code"], "VALIDATION_FAILED_MAX_REPLANS");
}

#[test]
fn run_that_ends_in_error_ends_the_program_with_1() {
    let home = Home::new();
    exhausted().save(home.path("run.json")).unwrap();
    let said = home.check(&["run", "--replay", "run.json"], 1);
    assert_eq!(said.stdout, "");
    assert!(
        said.stderr
            .contains("planwright: error: the run ended without an answer: VALIDATION_FAILED_MAX_REPLANS")
    );
    said.complains(&["hint: --max-replans N"]);

    let object = home.check(&["run", "--json", "--replay", "run.json"], 1).json();
    assert_eq!(object["answer"], Value::Null);
    assert_eq!(object["error"]["code"], "VALIDATION_FAILED_MAX_REPLANS");
    assert_eq!(object["phase"], "ERROR");
}

#[test]
fn question_is_read_from_stdin() {
    let home = Home::new();
    home.fixture("run.json");
    let stdin = format!("  {QUESTION}\n");
    let said = check(home.program().args(["run", "--replay", "run.json", "-"]), &stdin, 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
}

#[test]
fn another_question_than_the_fixtures_is_refused() {
    let home = Home::new();
    let path = home.fixture("run.json");
    let before = std::fs::read(&path).unwrap();
    for args in [
        &["run", "--replay", "run.json", "12/4+9?"][..],
        &["run", "--record", "run.json", "12/4+9?"],
        &["run", "--record", "run.json", "--record-mode", "new_episodes", "12/4+9?"],
    ] {
        let said = home.check(args, 2);
        said.complains(&["answers another question"]);
        assert!(said.stderr.contains(QUESTION) && said.stderr.contains("12/4+9?"));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn recording_over_an_existing_fixture_replays_it_and_says_so() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--record", "run.json", QUESTION], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    said.complains(&["every answer comes from run.json (--record-mode all records anew)"]);
}

#[test]
fn other_limits_than_the_recordings_drift() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--json", "--max-replans", "0", "--replay", "run.json"], 1);
    let object = said.json();
    assert_eq!(object["drift"][0]["kind"], "transition");
    said.complains(&["the replay differs from its recording"]);
}

#[test]
fn trace_is_printed_at_the_end_on_stderr() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["run", "--quiet", "--trace", "--replay", "run.json"], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    assert_eq!(said.stderr.lines().count(), 9, "{}", said.stderr);
    assert!(said.stderr.starts_with("n  phase           result    details\n1  PLAN"), "{}", said.stderr);
}

#[test]
fn ended_journal_is_told_again_without_a_model() {
    let home = Home::new();
    ended_journal(&home.path("run.jsonl"));
    let said = home.check(&["resume", "run.jsonl"], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    said.complains(&["the run has ended"]);
}

#[test]
fn journal_that_does_not_read_is_named_with_its_line() {
    let home = Home::new();
    interrupted_journal(&home.path("run.jsonl"));
    let mut text = std::fs::read_to_string(home.path("run.jsonl")).unwrap();
    text = text.replacen("{\"requested\"", "{\"demanded\"", 1);
    home.write("run.jsonl", &text);
    home.check(&["resume", "run.jsonl"], 2).complains(&["run.jsonl: line 2"]);
    home.check(&["resume", "nowhere.jsonl"], 2).complains(&["nowhere.jsonl: cannot be opened"]);
}

#[test]
fn reader_that_goes_away_is_no_panic() {
    use std::process::Stdio;
    let home = Home::new();
    home.fixture("run.json");
    for args in [&["run", "--replay", "run.json"][..], &["trace", "run.json"], &["agents"], &["--help"]] {
        // The reading end of the pipe is closed before the program writes to it.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = home.program().args(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(program.stderr).unwrap();
        assert_eq!(program.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    }
}
