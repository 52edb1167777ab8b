//! The guide keeps up with the code: every example in it loads, every field and every agent is in it.

use planwright::agents;
use planwright::spec::{IntentPolicy, Limits, PlanPolicy, Policy, Spec};
use serde::de::DeserializeOwned;

fn guide(name: &str) -> String {
    let path = format!("{}/docs/guide/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect(&path)
}

/// The TOML blocks of a page.
fn blocks(page: &str) -> Vec<&str> {
    page.split("```toml\n").skip(1).map(|part| part.split("```").next().expect("a block ends")).collect()
}

#[test]
fn every_agent_in_the_guide_loads() {
    let page = guide("specs.md");
    let specs: Vec<&str> = blocks(&page).into_iter().filter(|block| block.starts_with("name = ")).collect();
    let names: Vec<String> = specs
        .iter()
        .map(|text| Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}:\n{text}")).name)
        .collect();
    assert_eq!(names, ["mine", "condensing", "careful", "signed-off"]);
}

/// The fields of a type, as it names them when it is given another.
fn fields<T: DeserializeOwned>() -> Vec<String> {
    let Err(error) = serde_json::from_str::<T>(r#"{"no such field": 1}"#) else {
        panic!("a field that there is not is refused")
    };
    let said = error.to_string();
    let (_, expected) = said.split_once("expected one of ").expect("the fields");
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_field_of_a_policy_and_every_limit_is_in_the_guide() {
    let page = guide("specs.md");
    let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| ")).collect();
    let all = fields::<Policy>().into_iter().filter(|field| field != "plan" && field != "intent");
    let all = all.chain(fields::<PlanPolicy>().into_iter().map(|field| format!("plan.{field}")));
    let all = all.chain(fields::<IntentPolicy>().into_iter().map(|field| format!("intent.{field}")));
    let all: Vec<String> = all.chain(fields::<Limits>()).collect();
    assert!(all.len() > 30, "{all:?}");
    for field in all {
        let field = format!("`{field}`");
        let named = rows.iter().any(|row| row.split(" | ").next().is_some_and(|cell| cell.contains(&field)));
        assert!(named, "{field} is in no table of specs.md");
    }
}

#[test]
fn every_shipped_agent_has_a_section_that_says_how_to_run_it() {
    let page = guide("agents.md");
    for name in agents::names() {
        let (_, rest) = page.split_once(&format!("\n## `{name}`\n")).unwrap_or_else(|| panic!("{name}"));
        let section = rest.split("\n## ").next().expect("a section");
        let run =
            if name == agents::DEFAULT { "planwright run ".to_owned() } else { format!("--agent {name} \"") };
        assert!(section.contains(&run), "{name}: how to run it");
        assert!(section.contains("calls") || section.contains("**Calls:**"), "{name}: what it costs");
    }
}
