//! A file that may grow no larger (`ulimit -f`) is an error like a full disk: said by name, with the exit
//! code of other errors, and what was kept before is as it was.
#![cfg(unix)]

use crate::cli_support::Home;

/// Goes from where nothing fits to where all does: each ends with an answer, or with an error that says what
/// cannot be written; then `look` looks at what was kept, and whether there is an answer.
#[track_caller]
fn every_limit(args: &[&str], begin: impl Fn(&Home), look: impl Fn(&Home, bool)) {
    let (mut failed, mut answered) = (0, 0);
    for blocks in [0, 1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 1024] {
        let home = Home::new();
        begin(&home);
        let output = home.program_after(&format!("ulimit -f {blocks}"), args).output().unwrap();
        let (code, said) = (output.status.code(), String::from_utf8(output.stderr).unwrap());
        match code {
            Some(0) => answered += 1,
            Some(2) => {
                failed += 1;
                let clean = said.contains("planwright: error: ") && !said.contains("panicked");
                assert!(clean && said.contains("cannot be "), "{blocks} blocks: {said}");
            }
            code => panic!("{blocks} blocks: {code:?}: {said}"),
        }
        look(&home, code == Some(0));
    }
    assert!(failed > 0 && answered > 0, "{failed} failed, {answered} answered");
}

/// A turn in a store that holds a thread already.
#[test]
fn store_says_what_cannot_be_written_and_stays_sound() {
    let store = "threads.db";
    let ask = ["run", "--offline", "--quiet", "--store", store, "--thread"];
    let shown =
        |home: &Home| home.check(&["threads", "show", "--store", store, "--records", "먼저"], 0).stdout;
    every_limit(
        &[&ask[..], &["합계", "12/4+9?"]].concat(),
        |home| drop(home.check(&[&ask[..], &["먼저", "1+1?"]].concat(), 0)),
        |home, _| {
            home.check(&["threads", "check", "--store", store], 0);
            assert!(shown(home).contains("1+1"), "{}", shown(home));
            home.check(&[&ask[..], &["나중", "2+2?"]].concat(), 0);
        },
    );
}

#[test]
fn journal_says_what_cannot_be_written_and_goes_on_later() {
    let args = ["run", "--offline", "--quiet", "--journal", "run.jsonl", "12/4+9?"];
    every_limit(
        &args,
        |_| {},
        |home, answered| {
            let begun = std::fs::read_to_string(home.path("run.jsonl")).is_ok_and(|text| text.contains('\n'));
            match begun {
                true => home.check(&["resume", "--offline", "run.jsonl"], 0),
                false => home.check(&args, 0),
            };
            assert!(begun || !answered);
        },
    );
}
