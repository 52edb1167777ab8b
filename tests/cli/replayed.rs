//! A recording beside its drifting replay: both up to where the replay stops, and the first point where they part.

use planwright::journal::Fixture;
use serde_json::{Value, json};

use crate::cli_support::Home;

/// A recorded run of three calls, changed, as a file of the home.
pub fn changed(home: &Home, name: &str, change: impl Fn(&mut Value)) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    let text = std::fs::read_to_string(format!("{root}/plan-then-execute/notebook.json")).unwrap();
    let mut fixture: Value = serde_json::from_str(&text).unwrap();
    change(&mut fixture["exchanges"]);
    let path = home.write(name, &fixture.to_string());
    Fixture::load(&path).unwrap();
    path.display().to_string()
}

/// The second call was recorded with another input than the run asks for now.
pub fn asks_what_was_not_recorded(exchanges: &mut Value) {
    exchanges[2]["tool"]["input"] = json!("what was asked then");
    exchanges[2]["tool"]["digest"] = json!("0".repeat(32));
}

/// The agent of the recording, without one of its tools.
pub fn without_search(home: &Home) -> String {
    let spec = planwright::agents::source("plan-then-execute").unwrap();
    let less = spec.replacen("\"search\", ", "", 1);
    assert_ne!(spec, less);
    home.write("less.toml", &less).display().to_string()
}

#[test]
fn request_that_was_not_recorded_is_shown_beside_the_one_that_was() {
    let home = Home::new();
    let fixture = changed(&home, "asks.json", asks_what_was_not_recorded);
    let said = home.check(&["compare", &fixture], 1);
    said.prints(&["request drift: step.1.2.1 asks wiki something that was not recorded", "replayed: "]);
    said.prints(&["the replay stopped: ", "~ wiki step.1.2.1\n    input\n"]);
    said.prints(&["-what was asked then", "+ReAct pattern", "2 recorded effects behind it: not reached"]);
    for consequence in ["\nstatus", "\nanswer", "only in A", "reply"] {
        assert!(!said.stdout.contains(consequence), "it only follows from the stop: {}", said.stdout);
    }
    let shown = home.check(&["compare", &fixture, "--json"], 1).json();
    let (parting, replay) = (&shown["parting"], &shown["replay"]);
    assert_eq!((&parting["row"], &parting["what"]), (&replay["stopped_at"], &json!("input")));
    assert_eq!((&replay["drift"][0]["kind"], &replay["misfit"]), (&json!("request"), &Value::Null));
    assert_eq!(shown["b"]["status"], "unfinished");
}

#[test]
fn transition_that_differs_is_shown_with_what_follows_from_it() {
    let home = Home::new();
    let (fixture, agent) = (changed(&home, "same.json", |_| {}), without_search(&home));
    let said = home.check(&["compare", &fixture, "--agent", &agent], 1);
    said.prints(&["tool search removed", "instructions of planner", "-done", "+failed"]);
    said.prints(&["found \"search\"", "- search step.1.3.1 (only in A)"]);
    let shown = home.check(&["compare", &fixture, "--agent", &agent, "--json"], 1).json();
    assert_eq!((&shown["replay"]["stopped"], &shown["parting"]["row"]), (&Value::Null, &json!(0)));
    // Under the agent that it names nothing differs.
    let same = home.check(&["compare", &fixture, "--json"], 0).json();
    assert_eq!(same["replay"], json!({"drift": [], "stopped": null, "stopped_at": null, "misfit": null}));
}

#[test]
fn request_of_another_version_is_shown_as_it_was_sent() {
    let home = Home::new();
    let fixture = changed(&home, "older.json", |exchanges| {
        exchanges[4]["model"]["request"]["user_question"] = json!("as an older version said it");
        exchanges[4]["model"]["digest"] = json!("0".repeat(32));
    });
    let said = home.check(&["compare", &fixture], 1);
    said.prints(&["effects: 1 of 5 differ", "~ writer write.1.1\n    request\n"]);
    said.prints(&["-  \"user_question\": \"as an older version said it\""]);
    home.check(&["view", &fixture, "--output", &home.path("run.html").display().to_string()], 0);
    let page = std::fs::read_to_string(home.path("run.html")).unwrap();
    assert!(page.contains("as an older version said it"));
}

#[test]
fn recording_whose_reply_is_read_otherwise_is_shown_as_far_as_it_fits() {
    let home = Home::new();
    let fixture = changed(&home, "unread.json", |exchanges| {
        exchanges[0]["model"]["answer"]["reply"]["text"] = json!("no plan at all");
    });
    let said = home.check(&["compare", &fixture], 1);
    said.prints(&["contract drift: a recorded reply is read differently now", "A is shown up to exchange 2"]);
}
