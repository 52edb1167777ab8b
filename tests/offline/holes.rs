//! The offline model writes the values that a plan leaves open, out of what it is shown and of nothing else.

use planwright::ports::Model;
use planwright::prompt::ModelRequest;
use planwright::spec::{RoleName, Spec};
use planwright_offline::Offline;
use serde_json::{Value, json};

const SPEC: &str = r#"
name = "filling"
tools = ["docs", "calc"]
[policy]
validate = "off"
plan = { fields = ["id", "refs", "holes"] }
[roles.planner]
prompt = "Plan."
[roles.executor]
prompt = "Fill in."
[roles.writer]
prompt = "Write."
"#;

const LETTER: &str =
    "Dear Bob, the review is on 2026-05-17 at 14:30 in room 12. Write to ann@x.org. The budget is green.";

/// What is filled in for what is wanted, after reading a letter.
fn fill(wanted: &str, schema: Value) -> Option<Value> {
    let compiled = Spec::from_toml(SPEC).unwrap().check().unwrap();
    let payload = json!({
        "user_question": "Ask Ann, eve@y.org, on 1999-01-01.", "step": {"tool": "docs", "input": "x"},
        "wanted": wanted, "type": schema, "view": [{"from": "s1", "value": LETTER}],
    });
    let frame = compiled.frame(RoleName::Executor).unwrap().clone();
    let request = ModelRequest { frame, payload: payload.to_string(), conversation: Vec::new(), trace: None };
    let reply = Offline::new().ask(&request, None);
    assert_eq!(reply, Offline::new().ask(&request, None));
    let reply: Value = serde_json::from_str(&reply.ok()?.text).unwrap();
    Some(reply["value"].clone())
}

#[test]
fn a_value_is_found_in_what_is_shown_or_there_is_none() {
    let string = |format: &str| json!({"type": "string", "format": format});
    assert_eq!(fill("the day", string("date")), Some(json!("2026-05-17")));
    assert_eq!(fill("whom to write to", string("email")), Some(json!("ann@x.org")));
    assert_eq!(fill("the room", json!({"type": "integer"})), Some(json!(12)));
    assert_eq!(fill("how it stands", json!({"enum": ["red", "green"]})), Some(json!("green")));
    assert_eq!(fill("the colour", json!({"enum": ["blue"]})), None);
    assert_eq!(fill("both", json!({"type": "object"})), None);
    let said = fill("when the review is", json!({"type": "string"})).unwrap();
    let said = said.as_str().unwrap();
    assert!(said.contains("the review is on 2026-05-17") && !said.contains("1999"), "{said}");
}
