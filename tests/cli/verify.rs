//! `verify` and `diagram`: what exploring an agent tells a person and a machine.

use crate::cli_support::Home;
use planwright::agents;

#[test]
fn verified_agent_shows_its_bounds_every_invariant_and_what_was_made_smaller() {
    let home = Home::new();
    let said = home.check(&["verify", "--agent", "plan-then-execute"], 0);
    assert!(said.stdout.starts_with("plan-then-execute: "), "{}", said.stdout);
    said.prints(&["transitions  7            7", "total          holds"]);
    assert_eq!(said.stderr, "");

    let object = home.check(&["verify", "--agent", "plan-then-execute", "--json"], 0).json();
    let compiled = agents::shipped("plan-then-execute").unwrap().check().unwrap();
    assert_eq!(object["bounds"], serde_json::to_value(compiled.bounds()).unwrap());
    assert!(object["checks"].as_array().unwrap().iter().all(|check| check["holds"] == true));

    let spec = home.check(&["agents", "show", "plan-then-execute"], 0).stdout;
    home.write("mine.toml", &spec.replace("max_steps = 6", "max_steps = 12"));
    home.check(&["verify", "--agent", "mine.toml"], 0)
        .prints(&["max_steps 12 explored as 6", "tool calls   11           5"]);
}

#[test]
fn diagram_shows_the_phases_that_the_agent_has() {
    let home = Home::new();
    let said = home.check(&["diagram", "--agent", "plan-then-execute"], 0);
    assert!(said.stdout.starts_with("stateDiagram-v2\n"), "{}", said.stdout);
    assert!(said.stdout.contains("EXECUTE --> WRITE: executed") && !said.stdout.contains("VALIDATE"));
    let said = home.check(&["diagram", "--agent", "plan-then-execute", "--format", "dot"], 0);
    assert!(said.stdout.starts_with("digraph ") && said.stdout.ends_with("}\n"), "{}", said.stdout);
}

#[test]
fn walk_that_is_given_up_says_that_nothing_is_decided() {
    let home = Home::new();
    let args = ["verify", "--agent", "plan-then-execute", "--max-states", "20"];
    let said = home.check(&args, 7);
    said.prints(&["undecided: the walk was given up after "]);
    assert!(!said.stdout.contains(" holds") && !said.stdout.contains("VIOLATED"), "{}", said.stdout);
    let object = home.check(&[&args[..], &["--json"]].concat(), 7).json();
    assert_eq!(object["whole"], false);
    assert!(object["undecided"].is_string(), "{object}");
    assert!(object["checks"].as_array().unwrap().iter().all(|check| check["holds"] == false));
}
