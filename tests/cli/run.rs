//! `run` and `resume`: the answer alone on stdout, everything else on stderr, and how they end.

use crate::cli_support::{ANSWER, Home, QUESTION, Said, check, ended_journal, exhausted, failed};
use crate::support::{Answer, Server, completion};
use crate::world::{PLAN, SUM};
use serde_json::{Value, json};

/// A home with a fixture of a run that is sent back once.
fn recorded() -> Home {
    let home = Home::new();
    home.fixture("run.json");
    home
}

/// Replays the fixture of a home.
#[track_caller]
fn replays(home: &Home, args: &[&str], code: i32) -> Said {
    home.check(&[&["run", "--replay", "run.json"], args].concat(), code)
}

/// What newcomers see first. The offline model quotes the guide, so a word there can turn the answer round.
#[test]
fn first_question_of_the_readme_is_answered_from_its_beginning() {
    let said = Home::new().check(&["run", "What happens when a plan is rejected?"], 0);
    let begins = "When the validator rejects the results of a plan, the run goes back to PLAN.";
    assert!(said.stdout.starts_with(begins), "{}", said.stdout);
}

#[test]
fn stdout_holds_the_answer_alone_and_stderr_plain_lines_unless_it_is_quiet() {
    let said = replays(&recorded(), &[], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
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

    let said = replays(&recorded(), &["--quiet"], 0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), (&*format!("{ANSWER}\n"), ""));
    let said = replays(&recorded(), &["--quiet", "--trace"], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    assert_eq!(said.stderr.lines().count(), 9, "{}", said.stderr);
    assert!(said.stderr.starts_with("n  phase           result    details\n1  PLAN"), "{}", said.stderr);
}

#[test]
fn nothing_has_escape_bytes_without_a_terminal_and_color_always_has() {
    let home = recorded();
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
    let said = replays(&home, &["--color", "always"], 0);
    said.complains(&["\u{1b}[1mPLAN\u{1b}[0m"]);
    assert!(!said.stderr.contains("\u{1b}[31m빨강"), "the tool's own colour came through");
    assert!(!said.stdout.contains('\u{1b}'));
}

#[test]
fn json_is_one_object_with_trace_counters_and_the_steps_of_every_plan() {
    let object = replays(&recorded(), &["--json"], 0).json();
    for (field, value) in [
        ("/answer", ANSWER.into()),
        ("/error", Value::Null),
        ("/phase", "DONE".into()),
        ("/agent", "validated".into()),
        ("/question", QUESTION.into()),
        ("/counters/model_calls", 5.into()),
        ("/counters/replans", 1.into()),
        ("/steps/1/draft", 1.into()),
        ("/steps/1/tool", "clock".into()),
        ("/steps/1/status", "failed".into()),
        ("/steps/3/draft", 2.into()),
        ("/steps/3/tool", "wiki".into()),
        ("/steps/3/status", "completed".into()),
    ] {
        assert_eq!(object.pointer(field), Some(&value), "{field}");
    }
    let count = |field: &str| object[field].as_array().map(Vec::len);
    assert_eq!((count("trace"), count("steps")), (Some(8), Some(6)));
}

#[test]
fn events_are_json_lines_and_the_last_is_the_answer() {
    let home = recorded();
    let said = replays(&home, &["--events"], 0);
    let events: Vec<Value> = said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let keys: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "step", "content", "time", "agent"]);
    }
    let of = |at: usize| (events[at]["type"].as_str().unwrap(), events[at]["step"].as_str().unwrap());
    assert_eq!((of(0), of(1)), (("phase", "PLAN"), ("thinking", "planning")));
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["content"]), (&"answer".into(), &ANSWER.into()));
    said.complains(&["PLAN"]);

    failed().save(home.path("run.json")).unwrap();
    let said = replays(&home, &["--events"], 1);
    let last: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "error");
    assert_eq!(last["content"]["code"], "VALIDATION_FAILED_MAX_REPLANS");
}

#[test]
fn run_that_ends_in_error_ends_the_program_with_1() {
    let home = Home::new();
    failed().save(home.path("run.json")).unwrap();
    let error = "planwright: error: the run ended without an answer: ";
    replays(&home, &[], 1).prints_nothing().complains(&[error, "hint: --max-replans N"]);
    let object = replays(&home, &["--json"], 1).json();
    assert_eq!((&object["answer"], &object["phase"]), (&Value::Null, &"ERROR".into()));
    assert_eq!(object["error"]["code"], "VALIDATION_FAILED_MAX_REPLANS");
}

#[test]
fn answer_that_was_not_accepted_is_printed_and_ends_the_program_with_1() {
    let home = Home::new();
    exhausted().save(home.path("run.json")).unwrap();
    let said = replays(&home, &[], 1);
    assert_eq!(said.stdout, format!("{ANSWER}\n"), "the answer alone");
    said.complains(&[
        "planwright: error: the answer was not accepted when it was checked: 예시가 없다\n",
        "hint: --max-replans N",
    ]);
    let object = replays(&home, &["--json"], 1).json();
    assert_eq!((&object["answer"], &object["objection"]), (&ANSWER.into(), &"예시가 없다".into()));
    assert_eq!((&object["phase"], &object["error"]), (&"DONE".into(), &Value::Null));
    assert!(object["result"].as_str().unwrap().ends_with("예시가 없다)"), "{object}");
    let said = replays(&home, &["--events"], 1);
    let last: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["content"], &last["objection"]), (&ANSWER.into(), &"예시가 없다".into()), "{last}");
}

#[test]
fn question_that_is_too_long_is_said_to_be_that_where_it_is_cut_amid_a_letter() {
    let home = Home::new();
    let said = check(home.program().args(["run", "--offline", "-"]), "가".repeat(400_000), 2);
    said.complains(&["is longer than 1048576 bytes"]);
}

#[test]
fn question_may_come_from_stdin_and_another_than_the_fixtures_is_refused() {
    let home = recorded();
    let said = check(home.program().args(["run", "--replay", "run.json", "-"]), format!("  {QUESTION}\n"), 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    let home = recorded();
    let before = std::fs::read(home.path("run.json")).unwrap();
    for args in [
        &["run", "--replay", "run.json", "12/4+9?"][..],
        &["run", "--record", "run.json", "12/4+9?"],
        &["run", "--record", "run.json", "--record-mode", "new_episodes", "12/4+9?"],
    ] {
        home.refuses(args, &["answers another question", QUESTION, "12/4+9?"]);
    }
    assert_eq!(std::fs::read(home.path("run.json")).unwrap(), before);
}

#[test]
fn existing_fixture_is_replayed_and_other_limits_than_its_own_drift() {
    let said = recorded().check(&["run", "--record", "run.json", QUESTION], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    said.complains(&["every answer comes from run.json (--record-mode all records anew)"]);
    let said = replays(&recorded(), &["--json", "--max-replans", "0"], 1);
    assert_eq!(said.json()["drift"][0]["kind"], "transition");
    said.complains(&["the replay differs from its recording"]);
}

#[test]
fn ended_journal_is_told_again_without_a_model() {
    let home = Home::new();
    ended_journal(&home.path("run.jsonl"));
    let said = home.check(&["resume", "run.jsonl"], 0);
    assert_eq!(said.stdout, format!("{ANSWER}\n"));
    said.complains(&["the run has ended"]);
    home.refuses(&["resume", "nowhere.jsonl"], &["nowhere.jsonl: cannot be opened"]);
}

#[test]
fn reader_that_goes_away_is_no_panic() {
    let home = recorded();
    for args in [&["run", "--replay", "run.json"][..], &["trace", "run.json"], &["agents"], &["--help"]] {
        // The reading end of the pipe is closed before the program writes to it.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut program = home.program();
        program.args(args).stdout(writer).stderr(std::process::Stdio::piped());
        let program = program.output().unwrap();
        let stderr = String::from_utf8(program.stderr).unwrap();
        assert_eq!(program.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{args:?}: {stderr}");
    }
}

#[test]
fn reply_that_was_cut_is_in_the_json_and_the_policy_may_take_it() {
    let mut cut = completion("답은 30084");
    cut["choices"][0]["finish_reason"] = json!("length");
    let home = Home::new();
    let spec = home.check(&["agents", "show", "plan-then-execute"], 0).stdout;
    home.write(
        "taking.toml",
        &spec.replace("[policy]\n", "[policy]\non_cut = \"accept\"\n").replace("\"final\"", "\"text\""),
    );
    for (agent, answer, left, code) in [
        ("plan-then-execute", json!(null), json!("답은 30084"), 1),
        ("./taking.toml", json!("답은 30084"), json!(null), 0),
    ] {
        let server = Server::answering([Answer::reply(PLAN), Answer::json(200, &cut)]);
        let args = ["run", "--json", "--agent", agent, "--base-url", &server.url(), "--model", "m", SUM];
        let said: Value = serde_json::from_str(&home.check(&args, code).stdout).unwrap();
        assert_eq!((&said["answer"], &said["cut_reply"]), (&answer, &left), "{said}");
    }
}
