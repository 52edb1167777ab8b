//! The values of all configured keys, whether a run uses them or not, are in nothing that it leaves.

use std::path::Path;

use crate::cli_support::store::waits;
use crate::cli_support::{Home, Said, check};

const KEY: &str = "tvly-1234567890abcdef";

#[track_caller]
fn with_key(home: &Home, args: &[&str], code: i32) -> Said {
    check(home.program().env("TAVILY_API_KEY", KEY).args(args), "", code)
}

/// Whether any file of a folder, or its name, holds the key.
fn is_in(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().map(Result::unwrap).any(|entry| {
        let path = entry.path();
        path.to_string_lossy().contains(KEY)
            || if path.is_dir() {
                is_in(&path)
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(KEY)
            }
    })
}

#[test]
fn key_in_what_is_asked_and_said_is_in_nothing_that_is_kept() {
    let home = Home::new();
    let (asked, session) = (format!("{KEY} 와 1+1?"), format!("my key is {KEY}"));
    let to = ["--journal", "run.jsonl", "--record", "run.json"];
    let run = [&["run", "--offline", "--tools", "calc", "--session", &session][..], &to, &[&asked]].concat();
    with_key(&home, &run, 0);
    with_key(&home, &["run", "--offline", "--tools", "calc", "--thread", "합계", &asked], 0);
    waits(&home, "보고서");
    with_key(&home, &["threads", "cancel", "보고서", "--reason", &session], 0);
    assert!(!is_in(&home.path("")));
    let said = home.check(&["threads", "show", "--records", "합계"], 0).stdout;
    assert!(said.contains("[redacted] 와 1+1?"), "{said}");
}

#[test]
fn key_in_the_place_of_another_value_is_not_said_back() {
    let home = Home::new();
    home.write("config.toml", &format!("{KEY} = 1\n"));
    home.write("mine.toml", &format!("{KEY} = 1\n"));
    for (args, code) in [
        (&["run", "--max-cost", KEY, "1+1?"][..], 2),
        (&["threads", "show", KEY], 2),
        (&["run", "--docs", KEY, "1+1?"], 2),
        (&["run", "--config", "config.toml", "1+1?"], 2),
        (&["verify", "--agent", "mine.toml"], 2),
        (&["run", "--base-url", "http://127.0.0.1:9", "--model", KEY, "--journal", "run.jsonl", "1+1?"], 3),
    ] {
        let said = with_key(&home, args, code);
        assert!(!said.stderr.contains(KEY) && !said.stdout.contains(KEY), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains("[redacted]"), "{args:?}: {}", said.stderr);
    }
    assert!(!String::from_utf8_lossy(&std::fs::read(home.path("run.jsonl")).unwrap()).contains(KEY));
}

#[test]
fn what_cannot_be_said_without_the_key_is_refused() {
    let home = Home::new();
    waits(&home, "보고서");
    let spec = home.check(&["agents", "show", "plan-then-execute"], 0).stdout;
    let spec = spec.replace("description = \"Plans once", &format!("description = \"{KEY}: plans once"));
    for (args, place) in [
        (&["run", "--offline", "--thread", KEY, "1+1?"][..], "the thread's name"),
        (&["threads", "fork", "보고서", "--to", KEY], "--to: the name"),
        (
            &["run", "--offline", "--tools", "calc", "--agent", "mine.toml", "--thread", "합계", "1+1?"],
            "$.description",
        ),
    ] {
        let mine = home.write("mine.toml", &spec);
        let said = with_key(&home, args, 2).stderr;
        let names = said.contains(place) && said.contains("holds the value of a key");
        assert!(names && !said.contains(KEY), "{said}");
        std::fs::remove_file(mine).unwrap();
        assert!(!is_in(&home.path("")), "{args:?}");
    }
}
