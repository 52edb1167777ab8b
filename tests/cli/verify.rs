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

/// The inputs of an MCP server's tools are objects: two calls of one tool may be the same write.
#[test]
fn agents_with_a_read_and_a_write_of_objects_are_decided() {
    let home = Home::new();
    let tool = |name: &str, effect: &str| {
        format!(
            "[[tools]]\nname = \"{name}\"\ndescription = \"d\"\neffect = \"{effect}\"\ntimeout_ms = 1000\n\
             input = {{type = \"object\", properties = {{q = {{type = \"string\"}}}}, required = [\"q\"]}}\n"
        )
    };
    for agent in ["react", "conversational", "intent-first"] {
        let mut spec = agents::source(agent).unwrap().to_owned();
        let (from, to) = (spec.find("\ntools = [").unwrap(), spec.find("\n[policy]").unwrap());
        spec.replace_range(from..to, "\n");
        let spec = spec + &tool("look", "read") + &tool("put", "write");
        home.write("mine.toml", &spec);
        let said = home.check(&["verify", "--agent", "./mine.toml"], 0);
        assert!(!said.stdout.contains("not known"), "{}", said.stdout);
    }
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
