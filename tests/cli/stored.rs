//! Stored runs as fixtures, and every one of them through the present machine.

use crate::cli_support::store::waits;
use crate::cli_support::{Home, check};
use planwright::journal::{Fixture, Outcome};

const THREAD: &str = "보고서";

/// A home with a thread of two turns.
fn sums() -> Home {
    let home = Home::new();
    for question in ["12/4+9?", "7*6?"] {
        home.check(&["run", "--offline", "--tools", "calc", "--thread", THREAD, question], 0);
    }
    home
}

#[test]
fn fixture_of_nothing_is_explained_and_one_that_is_there_is_not_replaced_unasked() {
    let home = sums();
    let args = ["fixture", "from", THREAD, "--output", "one.json"];
    home.check(&args, 0);
    home.write("one.json", "보던 것");
    for args in [args, ["threads", "export", THREAD, "--output", "one.json"]] {
        let said = home.check(&args, 2);
        let why = "one.json: there is a file already";
        said.complains(&[why, "--force"]);
        assert_eq!(std::fs::read_to_string(home.path("one.json")).unwrap(), "보던 것");
    }
    home.check(&[&args[..], &["--force"]].concat(), 0);
    assert_eq!(Fixture::load(home.path("one.json")).unwrap().input.question, "7*6?");

    home.check(&["fixture", "from", THREAD, "--turn", "3"], 2)
        .complains(&["has 2 turns, and none of the number 3"]);
    home.check(&["fixture", "from", "없는 것"], 2).complains(&["there is no thread 없는 것"]);
    home.check(&["fixture", "from", THREAD, "--turn", "0"], 2).complains(&["--turn"]);
}

#[test]
fn every_turn_is_traced_and_becomes_a_fixture_that_replays_and_so_does_one_that_waits() {
    let home = sums();
    home.check(&["fixture", "from", THREAD, "--turn", "1", "--output", "fixtures/one.json"], 0)
        .complains(&["written to fixtures/one.json"]);
    home.check(&["fixture", "from", THREAD, "--output", "fixtures/two.json"], 0);
    home.check(&["replay", "fixtures"], 0);
    let question = |name: &str| Fixture::load(home.path(name)).unwrap().input.question;
    assert_eq!([question("fixtures/one.json"), question("fixtures/two.json")], ["12/4+9?", "7*6?"]);
    let said = home.check(&["fixture", "from", THREAD], 0);
    assert_eq!(said.stdout, std::fs::read_to_string(home.path("fixtures/two.json")).unwrap());
    let said = home.check(&["trace", "--thread", THREAD, "--turn", "1"], 0);
    assert!(said.stdout.starts_with("n  phase") && said.stdout.contains("DONE"), "{}", said.stdout);
    home.check(&["trace", "--thread", "없는 것"], 2).complains(&["there is no thread 없는 것"]);

    let home = Home::new();
    waits(&home, THREAD);
    let fixture = Fixture::parse(&home.check(&["fixture", "from", THREAD], 0).stdout).unwrap();
    assert!(matches!(fixture.outcome, Outcome::Waiting { .. }), "{:?}", fixture.outcome);
}

#[test]
fn a_turn_is_exported_as_a_journal_that_everything_reads_that_reads_journals() {
    let home = sums();
    home.check(&["threads", "export", THREAD, "--turn", "1", "--output", "one.jsonl"], 0)
        .complains(&["written to one.jsonl"]);
    let lines = std::fs::read_to_string(home.path("one.jsonl")).unwrap();
    assert_eq!(home.check(&["threads", "export", THREAD, "--turn", "1"], 0).stdout, lines);
    let records: Vec<_> = lines.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert!(records.iter().all(|record| serde_json::from_str::<serde_json::Value>(record).is_ok()));
    let shown = home.check(&["trace", "--thread", THREAD, "--turn", "1"], 0).stdout;
    assert_eq!(home.check(&["trace", "one.jsonl"], 0).stdout, shown);
    home.check(&["compare", "one.jsonl", THREAD], 1);

    let home = Home::new();
    waits(&home, THREAD);
    home.check(&["threads", "export", THREAD, "--output", "open.jsonl"], 0);
    home.check(&["resume", "open.jsonl", "--offline"], 5).complains(&["open.jsonl"]);
}

/// The key was no secret when the run was kept.
#[test]
fn key_that_is_configured_later_is_in_no_fixture() {
    const KEY: &str = "tvly-1234567890abcdef";
    let home = Home::new();
    home.write("notes/a.md", &format!("# 보일러\n보일러 점검 번호는 {KEY} 이다.\n"));
    let args =
        ["run", "--offline", "--docs", "notes", "--tools", "docs", "--thread", THREAD, "보일러 점검 번호는?"];
    assert!(home.check(&args, 0).stdout.contains(KEY));
    let export = |name: &str, value: &str| {
        let mut program = home.program();
        check(program.env(name, value).args(["fixture", "from", THREAD]), "", 0).stdout
    };
    assert!(export("NOTHING", KEY).contains(KEY));
    home.write("config/planwright/config.toml", "api_key_env = 'MY_KEY'\n");
    for name in ["OPENAI_API_KEY", "TAVILY_API_KEY", "MY_KEY"] {
        let text = export(name, KEY);
        assert!(!text.contains("1234567890") && text.contains("[redacted]"), "{name}: {text}");
        home.write("clean.json", &text);
        home.check(&["replay", "--as-recorded", "clean.json"], 0);
    }
}

#[test]
fn stored_run_that_would_take_another_path_is_named_with_its_first_record_and_no_other() {
    let home = sums();
    let spec = home.check(&["agents", "show", "validated"], 0).stdout;
    let (head, rest) = spec.split_once("[roles.validator]").expect("a validator");
    let prompt = rest.find("prompt = \"\"\"").expect("its prompt") + "prompt = \"\"\"".len();
    home.write(
        "mine.toml",
        &format!("{head}[roles.validator]{}\nBe strict.{}", &rest[..prompt], &rest[prompt..]),
    );
    let said = home.check(&["replay", "--all-stored", "--spec", "mine.toml"], 1);
    for text in
        ["보고서, turn 1: record ", "보고서, turn 2: record ", "validate.1.1 asks validator something else"]
    {
        assert!(said.stdout.contains(text), "expected {text:?} in:\n{}", said.stdout);
    }
    assert!(said.stdout.ends_with("2 stored turns: 0 the same, 2 on another path\n"), "{}", said.stdout);

    let object = home.check(&["replay", "--all-stored", "--agent", "mine.toml", "--json"], 1).json();
    assert_eq!((&object["ok"], &object["diverge"]), (&0.into(), &2.into()));
    assert_eq!(object["turns"][0]["thread"], THREAD);
    assert!(object["turns"][0]["record"].as_u64().unwrap() > 1);

    let own = r#"{ name = "sum", description = "Sums.", effect = "pure" }"#;
    home.write("mine.toml", &spec.replace("\"calc\"]", &format!("{own}]")));
    let said = home.check(&["replay", "--all-stored", "--spec", "mine.toml"], 1);
    said.prints(&["plan.1.1 asks planner something else than it did: tool calc removed, tool sum added\n"]);

    waits(&home, "기다림");
    let said = home.check(&["replay", "--all-stored"], 0);
    assert_eq!(said.stdout, "3 stored turns: 3 the same, 0 on another path\n");
    home.check(&["replay", "--all-stored", "fixtures"], 2).complains(&["cannot be used with"]);
}
