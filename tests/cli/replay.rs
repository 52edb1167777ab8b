//! `replay` and `trace`: what they find out about recorded runs, and how they say it.

use crate::cli_support::{Home, check, ended_journal, interrupted_journal, replanned};
use planwright::journal::Fixture;
use unicode_width::UnicodeWidthStr;

/// A fixture whose planner had other instructions.
fn bent() -> Fixture {
    let text = replanned().to_json().replace("You are the planner of an agent.", "You are a planner.");
    let digest = replanned().exchanges[0].key().unwrap().1.to_string();
    Fixture::parse(&text.replace(&digest, "00000000000000000000000000000001")).unwrap()
}

#[test]
fn changed_prompt_is_drift_and_shown_as_a_diff() {
    let home = Home::new();
    bent().save(home.path("bent.json")).unwrap();
    home.check(&["replay", "bent.json"], 1).prints(&[
        "drift       bent.json\n",
        "request drift: plan.1.1 asks planner",
        "--- planner, recorded\n",
        "    -You are a planner.",
        "    +You are the planner of an agent.",
        "1 fixture: 0 ok, 1 drift\n",
    ]);
    assert_eq!(home.check(&["replay", "--as-recorded", "bent.json"], 1).stderr, "");
}

#[test]
fn other_rules_than_the_recorded_ones_drift_unless_replayed_as_recorded() {
    let home = Home::new();
    let mut fixture = crate::cli_support::exhausted();
    fixture.spec.limits.max_replans = 3;
    fixture.save(home.path("run.json")).unwrap();
    assert!(home.check(&["replay", "run.json"], 0).stdout.contains("1 ok"));
    home.check(&["replay", "--as-recorded", "run.json"], 1).prints(&["transition drift"]);

    let mut fixture = replanned();
    fixture.spec.limits.max_replans = 0;
    fixture.save(home.path("run.json")).unwrap();
    assert_eq!(home.check(&["replay", "run.json"], 0).stdout.lines().count(), 2);
    home.check(&["replay", "--as-recorded", "run.json"], 1);

    let home = Home::new();
    home.fixture("run.json");
    let spec = home.check(&["agents", "show", "validated"], 0).stdout;
    home.write("mine.toml", &spec.replace("max_replans = 2", "max_replans = 0"));
    home.check(&["replay", "--agent", "mine.toml", "run.json"], 1).prints(&["drift"]);
}

#[test]
fn what_cannot_be_read_outweighs_drift() {
    let home = Home::new();
    home.fixture("all/a/good.json");
    bent().save(home.path("all/bent.json")).unwrap();
    home.write("all/z/garbage.json", "{\"format\": \"planwright-fixture/1\", \"inp");
    home.write("all/readme.txt", "no fixture");
    let said = home.check(&["replay", "all"], 2);
    let ends: Vec<&str> = said.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(ends[0].starts_with("ok ") && ends[0].ends_with("good.json"), "{}", said.stdout);
    assert!(ends[1].starts_with("drift ") && ends[1].ends_with("bent.json"), "{}", said.stdout);
    assert!(ends[2].starts_with("unreadable ") && ends[2].contains("garbage.json: is not JSON"), "{ends:?}");
    assert_eq!(ends[3], "3 fixtures: 1 ok, 1 drift, 1 unreadable");

    let object = home.check(&["replay", "--json", "all"], 2).json();
    assert_eq!((&object["ok"], &object["drift"], &object["unreadable"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(object["files"][1]["drift"][0]["kind"], "request");
    assert_eq!(object["files"][2]["status"], "unreadable");
}

#[test]
fn fixture_that_replays_the_same_is_ok_and_what_is_no_fixture_unreadable() {
    let home = Home::new();
    home.fixture("good.json");
    let said = home.check(&["replay", "good.json"], 0);
    assert_eq!(said.stdout, "ok          good.json\n1 fixture: 1 ok\n");
    let home = Home::new();
    home.check(&["replay", "nowhere.json"], 2).prints(&["nowhere.json: cannot be read"]);
    std::fs::create_dir(home.path("empty")).unwrap();
    home.check(&["replay", "empty"], 2).complains(&["empty: expected fixtures (*.json), found none"]);
}

#[test]
fn trace_is_a_table_whose_columns_line_up_in_korean_and_fit_the_terminal_and_whole_as_json() {
    let home = Home::new();
    home.fixture("run.json");
    let said = home.check(&["trace", "run.json"], 0);
    let lines: Vec<&str> = said.stdout.lines().collect();
    let details = lines[0].find("details").unwrap();
    assert_eq!(lines[0], "n  phase           result    details");
    let plan = "1  PLAN            ok        wiki \"상태기계\", clock \"지금\", final_answer \"설명을 쓴다\"";
    assert_eq!(lines[1], plan);
    assert_eq!(lines[3], "3  VALIDATE        rejected  예시가 없다 (hint: 예시를 찾아라)");
    assert_eq!(lines[4], "4  REPLAN_TRIGGER  replan 1  예시가 없다 (hint: 예시를 찾아라)");
    assert_eq!(lines.len(), 10);
    for line in &lines {
        let (before, _) = line.split_at(details);
        assert!(before.ends_with("  "), "the columns of {line:?} do not line up");
    }

    for columns in [40, 41, 42, 43, 60] {
        let mut program = home.program();
        let said = check(program.env("COLUMNS", columns.to_string()).args(["trace", "run.json"]), "", 0);
        let widths: Vec<usize> = said.stdout.lines().map(UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|&width| width <= columns), "{columns}: {widths:?}\n{}", said.stdout);
        // A cut line is full, but for half of a character of two columns.
        let cut = said.stdout.lines().filter(|line| line.ends_with('…')).map(UnicodeWidthStr::width);
        let cut: Vec<usize> = cut.collect();
        assert!(!cut.is_empty() && cut.iter().all(|&width| width + 1 >= columns), "{columns}: {cut:?}");
    }
    let said = home.check(&["trace", "--json", "run.json"], 0);
    let lines: Vec<planwright::machine::TraceLine> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, replanned().trace);
}

#[test]
fn trace_reads_journals_whole_and_torn() {
    let home = Home::new();
    ended_journal(&home.path("ended.jsonl"));
    let said = home.check(&["trace", "ended.jsonl"], 0);
    assert!(said.stdout.lines().last().unwrap().contains("DONE"), "{}", said.stdout);

    interrupted_journal(&home.path("torn.jsonl"));
    let whole = std::fs::read_to_string(home.path("torn.jsonl")).unwrap();
    home.write("torn.jsonl", &format!("{whole}{} {{\"answered\":{{\"mod", "0f".repeat(16)));
    home.check(&["trace", "torn.jsonl"], 0).prints(&["VALIDATE  unfinished"]);

    home.write("none.json", "hello");
    home.check(&["trace", "none.json"], 2).complains(&["none.json: is not JSON", "hint: expected a fixture"]);
}
