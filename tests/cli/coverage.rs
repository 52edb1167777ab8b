//! `coverage`: every edge of a machine is taken by a fixture, or it is said why not.

use crate::cli_support::{Home, Said};
use planwright::agents;
use serde_json::json;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
/// An edge that a run that is sent back once does not take.
const EDGE: &str = "VALIDATE --rejected--> ERROR";
/// One that it takes.
const TAKEN: &str = "VALIDATE --rejected--> PLAN";

#[test]
fn shipped_fixtures_take_every_edge_or_say_why() {
    let said = Home::new().check(&["coverage", "--all", SHIPPED], 0);
    for agent in agents::names() {
        assert!(said.stdout.lines().any(|line| line.starts_with(&format!("{agent}: "))), "{agent}");
    }
    for missing in ["not taken", "stale", " by 0 fixtures"] {
        assert!(!said.stdout.contains(missing), "{missing:?} in:\n{}", said.stdout);
    }
    // The fixtures that a stated reason points to exist.
    let words = said.stdout.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';', ':']));
    let named: Vec<&str> = words.filter(|word| word.contains('/')).collect();
    for word in &named {
        assert!(std::path::Path::new(SHIPPED).join(word).with_extension("json").exists(), "{word}");
    }
    assert!(!named.is_empty(), "{}", said.stdout);
}

/// What a folder with one fixture is missing.
fn missing(home: &Home) -> Vec<String> {
    let report = home.check(&["coverage", "--json", "runs"], 1).json();
    let missing = report["agents"][0]["missing"].as_array().unwrap().iter();
    missing.map(|missing| missing["edge"].as_str().unwrap().to_owned()).collect()
}

/// A folder with one fixture of `validated` and nothing beside it.
fn runs() -> Home {
    let home = Home::new();
    std::fs::create_dir(home.path("runs")).unwrap();
    home.fixture("runs/replanned.json");
    home
}

fn reason(agent: &str, edge: &str, reason: &str) -> String {
    format!("[[missing]]\nagent = {agent:?}\nedge = {edge:?}\nreason = {reason:?}\n")
}

/// Says why for all of these.
fn explain(home: &Home, agent: &str, edges: &[String]) {
    let said: Vec<String> = edges.iter().map(|edge| reason(agent, edge, "아직 없다")).collect();
    home.write("runs/coverage.toml", &said.join("\n"));
}

fn lines_with<'a>(said: &'a Said, text: &str) -> Vec<&'a str> {
    said.stdout.lines().filter(|line| line.contains(text)).collect()
}

#[test]
fn edge_that_is_neither_taken_nor_explained_is_named_and_the_code_is_1() {
    let home = runs();
    let said = home.check(&["coverage", "runs"], 1);
    assert!(said.stdout.starts_with("validated: ") && !said.stdout.contains(TAKEN), "{}", said.stdout);
    said.prints(&[&*format!("  {EDGE} not taken\n"), " by 1 fixture\n"]);
    let said = home.check(&["coverage", "--all", "runs"], 1);
    assert_eq!(lines_with(&said, " by 0 fixtures").len(), agents::names().count() - 1);
    assert_eq!(lines_with(&home.check(&["coverage", "runs"], 1), " by 0 fixtures"), Vec::<&str>::new());
    // One without a reason among many with one is enough.
    let mut others = missing(&home);
    others.retain(|edge| edge != EDGE);
    explain(&home, "validated", &others);
    let said = home.check(&["coverage", "runs"], 1);
    assert_eq!(lines_with(&said, "not taken"), [format!("  {EDGE} not taken")]);
    assert_eq!(lines_with(&said, "(아직 없다)").len(), others.len());
    others.push(EDGE.to_owned());
    for agent in ["validated", "*"] {
        explain(&home, agent, &others);
        let said = home.check(&["coverage", "runs"], 0);
        said.prints(&[&*format!("  {EDGE} (아직 없다)\n")]);
        assert_eq!(lines_with(&said, "not taken"), Vec::<&str>::new());
    }
}

#[test]
fn reason_for_an_edge_that_is_taken_or_cannot_be_is_stale_and_the_code_is_1() {
    let home = runs();
    let edges = missing(&home);
    let stale = [("validated", TAKEN), ("validated", "WRITE --written--> PLAN"), ("validatde", EDGE)];
    for (agent, edge) in stale {
        explain(&home, "validated", &edges);
        let file = home.path("runs/coverage.toml");
        let text = std::fs::read_to_string(&file).unwrap() + "\n" + &reason(agent, edge, "long ago");
        std::fs::write(&file, text).unwrap();
        let said = home.check(&["coverage", "runs"], 1);
        let line = format!("coverage.toml: stale: {agent} {edge:?} is taken, or cannot be");
        assert_eq!(lines_with(&said, "stale"), [line]);
        let report = home.check(&["coverage", "--json", "runs"], 1).json();
        assert_eq!(report["stale_reasons"], json!([{"agent": agent, "edge": edge}]));
        let agent = &report["agents"][0];
        assert_eq!((&agent["agent"], &agent["fixtures"]), (&json!("validated"), &json!(1)));
        assert!(agent["reachable"].as_u64().unwrap() > edges.len() as u64, "{agent}");
        assert!(agent["missing"].as_array().unwrap().contains(&json!({"edge": EDGE, "reason": "아직 없다"})));
    }
}

#[test]
fn what_cannot_be_read_is_code_2_and_named() {
    let home = runs();
    home.write("broken/run.json", "{\"format\": ");
    std::fs::create_dir(home.path("empty")).unwrap();
    home.refuses(&["coverage", "broken"], &["run.json"]);
    home.refuses(&["coverage", "nowhere"], &["nowhere: cannot be read"]);
    home.refuses(&["coverage", "empty"], &["empty: expected fixtures (*.json), found none"]);
    for (file, text) in [
        ("[[missing]]\nagent = ".to_owned(), "coverage.toml: "),
        (reason("validated", EDGE, "x") + "since = 2026", "unknown field `since`"),
        (reason("validated", EDGE, " "), "expected a reason, found none"),
    ] {
        home.write("runs/coverage.toml", &file);
        home.refuses(&["coverage", "runs"], &[text]);
    }
}
