//! Promises of the tool box and of the contracts that the shipped tools declare.

use std::sync::Arc;

use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::{FnTool, ToolBox};
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolOutput};
use serde_json::json;

fn saying(name: &str, what: &'static str) -> impl Tool + use<> {
    FnTool::new(ToolContract::text(name, "Says something.", ToolEffect::Pure), move |_| Ok(what.to_owned()))
}

fn said(tools: &ToolBox, name: &str) -> Option<String> {
    let input = json!("x");
    let call = ToolCall {
        input: &input,
        idempotency_key: "run/1",
        timeout: None,
        max_output_bytes: 99,
        once: false,
    };
    tools.get(name).map(|tool| tool.call(&call).unwrap().text)
}

#[track_caller]
fn check(tools: &ToolBox, names: &[&str]) {
    assert_eq!(tools.names().collect::<Vec<_>>(), names);
    assert_eq!(tools.contracts().iter().map(|contract| contract.name.as_str()).collect::<Vec<_>>(), names);
    assert_eq!((tools.len(), tools.is_empty()), (names.len(), names.is_empty()));
}

#[test]
fn tools_are_kept_in_the_order_in_which_they_came() {
    let mut tools = ToolBox::new();
    check(&tools, &[]);
    tools = tools.with(saying("zebra", "z")).with(saying("ant", "a"));
    assert!(tools.insert(Arc::new(saying("mole", "m"))).is_none());
    check(&tools, &["zebra", "ant", "mole"]);
    assert_eq!(said(&tools, "ant").as_deref(), Some("a"));
    assert_eq!(said(&tools, "cat"), None);
}

#[test]
fn a_later_tool_of_the_same_name_replaces_the_earlier_in_its_place() {
    let mut tools = ToolBox::new().with(saying("ant", "old")).with(saying("bee", "b"));
    assert!(tools.insert(Arc::new(saying("ant", "new"))).is_some());
    check(&tools, &["ant", "bee"]);
    assert_eq!(said(&tools, "ant").as_deref(), Some("new"));
}

#[test]
fn the_box_knows_the_keys_of_its_tools_and_shows_none() {
    struct Keyed;
    impl Tool for Keyed {
        fn contract(&self) -> ToolContract {
            ToolContract::text("keyed", "Has a key.", ToolEffect::Read)
        }
        fn call(&self, _: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
            Err(ToolError::new("http", "no"))
        }
        fn secrets(&self) -> Vec<Secret> {
            vec![Secret::new("hush")]
        }
    }
    let tools = ToolBox::new().with(saying("ant", "a")).with(Keyed);
    assert_eq!(tools.secrets(), [Secret::new("hush")]);
    assert_eq!(format!("{tools:?}"), r#"["ant", "keyed"]"#);
}

#[test]
fn every_shipped_tool_declares_its_contract() {
    use planwright::ports::Embedder;
    use planwright_docs::{Articles, Calc, ContractTools, Docs};
    use planwright_http::{Lookup, Search, Wiki};
    struct Silent;
    impl Embedder for Silent {
        fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
            Err(ToolError::new("http", "no"))
        }
    }
    let mut tools = ToolBox::new()
        .with(Docs::of(Vec::new()))
        .with(Calc::new())
        .with(Wiki::default())
        .with(Lookup::default())
        .with(Search::new(Secret::new("key")).unwrap());
    let embedder: Arc<dyn Embedder> = Arc::new(Silent);
    let contracts =
        ContractTools::new(Articles::example(), Articles::example_standard(), Some(embedder)).tools();
    for tool in contracts {
        tools.insert(tool);
    }
    assert_eq!(tools.contracts(), planwright::agents::tools());
    for contract in tools.contracts() {
        contract.check().unwrap();
    }
}
