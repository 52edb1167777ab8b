//! People on the command line: a run that waits says so, and `resume` answers it.

use crate::cli_support::{
    ASKED, Home, Said, approving_journal, calls_journal, in_doubt_journal, waiting_journal,
};
use planwright::spec::Approval;
use serde_json::Value;

/// A home with a journal that waits for a person.
fn waiting() -> Home {
    let home = Home::new();
    waiting_journal(&home.path("run.jsonl"));
    home
}

/// Answers what the journal waits with now, by its token.
#[track_caller]
fn answers(home: &Home, answer: &[&str], code: i32) -> Said {
    let token = token(home);
    let mut args = vec!["resume", "--offline", "--token", &token];
    args.extend(answer);
    args.push("run.jsonl");
    home.check(&args, code)
}

/// The token of what the journal waits with.
#[track_caller]
fn token(home: &Home) -> String {
    let object = home.check(&["resume", "--offline", "--json", "run.jsonl"], 5).json();
    object["waiting"]["token"].as_str().unwrap().to_owned()
}

#[test]
fn run_that_waits_ends_with_5_says_how_to_go_on_and_goes_on() {
    let home = waiting();
    let said = home.check(&["resume", "--offline", "run.jsonl"], 5);
    said.prints_nothing().complains(&[&*format!("the run waits for a person: {ASKED}")]);
    let object = home.check(&["resume", "--offline", "--json", "run.jsonl"], 5).json();
    assert_eq!((&object["waiting"]["question"], &object["waiting"]["step"]), (&ASKED.into(), &2.into()));
    assert_eq!((&object["phase"], &object["answer"]), (&"EXECUTE".into(), &Value::Null));
    let token = object["waiting"]["token"].as_str().unwrap();
    let command = format!("planwright resume run.jsonl --offline --token {token} --respond TEXT  answers");
    assert!(said.stderr.lines().last().unwrap().contains(&command), "{command:?} in:\n{}", said.stderr);

    home.check(&["resume", "--offline", "--token", "0123", "--respond", "네", "run.jsonl"], 6);
    answers(&home, &["--respond", "네, 보내세요"], 0).prints(&["12"]);
    // It has ended now: there is nothing left to answer.
    let problem = "the run does not wait for a person";
    home.refuses(&["resume", "--respond", "네", "run.jsonl"], &[problem]);
    answers(&waiting(), &["--reject", "너무 이릅니다"], 1).complains(&["너무 이릅니다"]);
}

#[test]
fn edit_is_read_from_a_file_and_refused_where_no_plan_may_say_it() {
    let home = waiting();
    token(&home);
    let before = std::fs::read(home.path("run.jsonl")).unwrap();
    home.write("steps.json", r#"[{"tool": "hammer", "input": "x"}]"#);
    answers(&home, &["--edit", "steps.json"], 5).complains(&["the answer is refused", "hammer"]);
    assert_eq!(std::fs::read(home.path("run.jsonl")).unwrap(), before);

    home.write("steps.json", "{}");
    home.write("typo.json", r#"[{"tool": "calc", "inptu": "6*7"}]"#);
    for (file, problem) in [
        ("steps.json", "--edit: steps.json: expected a JSON list of plan steps"),
        ("typo.json", "step 1: unknown field `inptu`, a step has id, tool, agent, with, input"),
        ("none.json", "cannot be read"),
    ] {
        home.check(&["resume", "--edit", file, "run.jsonl"], 2).complains(&[problem]);
    }
    let steps = r#"[{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "답"}]"#;
    home.write("steps.json", steps);
    answers(&home, &["--edit", "steps.json"], 0).prints(&["42"]);
}

#[test]
fn several_calls_are_asked_about_together_and_some_of_them_allowed() {
    let home = Home::new();
    calls_journal(&home.path("run.jsonl"));
    home.check(&["resume", "--offline", "run.jsonl"], 5).complains(&[
        "1. calc",
        "12/4+9",
        "2. calc",
        "7*5",
        "--approve-calls 1,2",
    ]);
    answers(&home, &["--approve-calls", "3"], 5).complains(&["expected positions from 1 to 2"]);
    answers(&home, &["--respond", "yes: 1"], 5)
        .complains(&["`approve_calls` or `reject`, for several calls"]);
    home.check(&["resume", "--offline", "--approve-calls", "one", "run.jsonl"], 2)
        .complains(&["--approve-calls: expected positions such as 1,3"]);
    let edited = answers(&home, &["--approve-calls", r#"[{"position": 2, "input": "6*7"}]"#], 0);
    edited.prints(&["42"]);
    assert!(!edited.stdout.contains("12"), "{}", edited.stdout);
}

#[test]
fn edited_input_is_read_from_a_file_and_called_with() {
    let home = Home::new();
    approving_journal(&home.path("run.jsonl"), Approval::RISKY);
    home.write("input.json", "7");
    answers(&home, &["--edit-input", "input.json"], 5)
        .complains(&["the edited input does not fit: $: expected string"]);
    home.write("input.json", "not JSON");
    home.check(&["resume", "--offline", "--edit-input", "input.json", "run.jsonl"], 2)
        .complains(&["--edit-input: input.json: expected a JSON value"]);
    home.write("input.json", r#""6*7""#);
    answers(&home, &["--edit-input", "input.json"], 0).prints(&["42"]);
    home.check(&["resume", "--approve", "--edit-input", "input.json", "run.jsonl"], 2)
        .complains(&["cannot be used with"]);
}

#[test]
fn approval_is_of_what_was_shown_and_approves_nothing_twice() {
    let home = Home::new();
    approving_journal(&home.path("run.jsonl"), Approval::ALL);
    let plan = token(&home);
    let before = std::fs::read(home.path("run.jsonl")).unwrap();
    let said = home.check(&["resume", "--offline", "--approve", "run.jsonl"], 2);
    let command = format!("planwright resume run.jsonl --offline --token {plan} --approve");
    said.complains(&["expected the token", "1. calc: 12/4+9", &command]);
    assert_eq!(std::fs::read(home.path("run.jsonl")).unwrap(), before);

    let approve = ["resume", "--offline", "--token", &plan, "--approve", "run.jsonl"];
    answers(&home, &["--respond", "네"], 5)
        .complains(&["approve.1 is answered by `approve`, `reject` or `edit`"]);
    home.check(&approve, 5).complains(&["calc\n", ": 12/4+9", " --approve  answers"]);
    // The call in the plan is another question, and its answer another word.
    let before = std::fs::read(home.path("run.jsonl")).unwrap();
    home.check(&approve, 6);
    home.check(&["resume", "--offline", "--approve", "run.jsonl"], 2);
    assert_eq!(std::fs::read(home.path("run.jsonl")).unwrap(), before);
    answers(&home, &["--approve"], 0).prints(&["12"]);
}

#[test]
fn doubt_is_settled_by_its_token_only() {
    let home = Home::new();
    in_doubt_journal(&home.path("run.jsonl"));
    let before = std::fs::read(home.path("run.jsonl")).unwrap();
    home.check(&["resume", "--offline", "--stop", "은행에 물어봤다", "run.jsonl"], 2)
        .complains(&["expected the token", "in doubt: calc"]);
    assert_eq!(std::fs::read(home.path("run.jsonl")).unwrap(), before);
    let object = home.check(&["resume", "--offline", "--json", "run.jsonl"], 4).json();
    assert_eq!(
        (&object["in_doubt"]["effect"], &object["in_doubt"]["tool"]),
        (&"step.1.1.1".into(), &"calc".into())
    );
    assert_eq!(std::fs::read(home.path("run.jsonl")).unwrap(), before, "it is not repeated");
    let token = object["in_doubt"]["token"].as_str().unwrap();
    home.check(&["resume", "--offline", "--token", token, "--stop", "은행에 물어봤다", "run.jsonl"], 130);
}
