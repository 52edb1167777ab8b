//! `replay` and `trace`: what they find out about recorded runs, and how they say it.

use crate::cli_support::{Home, check, ended_journal, interrupted_journal, replanned};
use planwright::journal::Fixture;
use unicode_width::UnicodeWidthStr;

/// How the instructions of the planner begin.
const PLANS: &str = "The user message is a JSON object: plan how an agent answers its `user_question`.";

/// A fixture whose planner had other instructions.
fn bent() -> Fixture {
    let text = replanned().to_json().replace(PLANS, "You are a planner.");
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
        "    +The user message is a JSON object: plan how",
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

/// Writes the spec of an agent of the user's own, in which this is changed, and a fixture of a run of it.
fn own_agent(home: &Home, name: &str, change: (&str, &str)) {
    let tools = |own: &str| {
        format!(r#"tools = ["wiki", {{ {own}, description = "Tells the time.", effect = "pure" }}]"#)
    };
    let shipped = home.check(&["agents", "show", "validated"], 0).stdout;
    let spec = shipped.replace("name = \"validated\"", &format!("name = {name:?}"));
    let line = spec.lines().find(|line| line.starts_with("tools = ")).unwrap();
    let spec = spec.replace(line, &tools(r#"name = "clock""#)).replace(change.0, change.1);
    home.write(&format!("agents/{name}.toml"), &spec);
    let mut fixture = replanned();
    fixture.spec.name = name.to_owned();
    fixture.save(home.path(&format!("all/{name}.json"))).unwrap();
}

#[test]
fn fixture_of_an_unknown_agent_is_as_recorded_and_agents_are_found_in_a_folder() {
    let home = Home::new();
    own_agent(&home, "점원", ("", ""));
    own_agent(&home, "guard", (PLANS, "You are a planner."));
    home.fixture("all/shipped.json");
    let said = home.check(&["replay", "all"], 0);
    said.prints(&[
        "as recorded all/점원.json: no agent is called \"점원\"; --agents DIR",
        "\nok          all/shipped",
    ]);
    said.prints(&["3 fixtures: 1 ok, 2 as recorded\n"]);
    home.check(&["replay", "--strict", "all/shipped.json"], 0);
    let object = home.check(&["replay", "--strict", "--json", "all"], 1).json();
    assert_eq!((&object["ok"], &object["as_recorded"]), (&1.into(), &2.into()));
    assert_eq!(object["files"][0]["status"], "as_recorded");
    home.check(&["run", "--replay", "all/점원.json"], 0)
        .complains(&["as recorded: no agent is called \"점원\""]);

    let said = home.check(&["replay", "--strict", "--agents", "agents", "all"], 1);
    said.prints(&["drift       all/guard.json\n", "+You are a planner.", "3 fixtures: 2 ok, 1 drift\n"]);
    std::fs::remove_file(home.path("agents/점원.toml")).unwrap();
    let said = home.check(&["replay", "--agents", "agents", "all/점원.json"], 0);
    said.prints(&["no agent is called \"점원\" in agents\n"]);
    home.write("agents/again.toml", &std::fs::read_to_string(home.path("agents/guard.toml")).unwrap());
    let said = home.check(&["replay", "--agents", "agents", "all"], 2);
    said.complains(&["agents/guard.toml: an agent is called \"guard\" in agents/again.toml already"]);
    home.check(&["replay", "--agents", "all", "all"], 2)
        .complains(&["all: expected specs of agents (*.toml)"]);
}

#[test]
fn change_of_a_tool_is_told_as_that() {
    let home = Home::new();
    own_agent(&home, "mine", ("\"clock\"", "\"watch\""));
    let said = home.check(&["replay", "--agents", "agents", "all"], 1);
    said.prints(&["nearest is plan.1.1, tool clock renamed watch\n"]);
    own_agent(&home, "mine", ("\"clock\"", "\"clock\", input = {type = \"string\", minLength = 5}"));
    let object = home.check(&["replay", "--json", "--agents", "agents", "all"], 1).json();
    assert_eq!(
        object["files"][0]["drift"][0]["tools"],
        serde_json::json!(["tool clock: input.minLength 1 → 5"])
    );
}

#[test]
fn update_records_anew_what_needs_no_question_and_says_why_it_leaves_the_rest() {
    let home = Home::new();
    home.fixture("all/good.json");
    let mut fixture = bent();
    fixture.notes = vec!["손으로 쓴 메모".to_owned()];
    fixture.save(home.path("all/bent.json")).unwrap();
    fixture.exchanges.pop();
    fixture.save(home.path("all/short.json")).unwrap();
    let text = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    let before = [text("all/good.json"), text("all/short.json")];

    let said = home.check(&["replay", "--update", "all"], 1);
    said.prints(&["updated     all/bent.json\n    request drift: plan.1.1", "ok          all/good.json\n"]);
    said.prints(&["not updated: ", "the run now asks writer (write.2.1), and no recorded answer fits"]);
    said.prints(&["--record-mode new_episodes", "3 fixtures: 1 ok, 1 updated, 1 drift\n"]);
    assert_eq!([text("all/good.json"), text("all/short.json")], before);
    let mut wanted = replanned();
    wanted.notes = vec!["손으로 쓴 메모".to_owned()];
    assert_eq!(text("all/bent.json"), wanted.to_json());
    let object = home.check(&["replay", "--update", "--json", "all"], 1).json();
    assert_eq!((&object["ok"], &object["updated"], &object["drift"]), (&2.into(), &0.into(), &1.into()));
    home.check(&["replay", "--update", "--as-recorded", "all"], 2).complains(&["cannot be used with"]);
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
