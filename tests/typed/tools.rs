//! A tool's contract follows from its types, and its errors keep what they know.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright::contract::ToolEffect;
use planwright::ports::{Tool, ToolCall, ToolError};
use planwright::prelude::*;
use planwright_typed::{Failure, TypedTool, method, tool, tool_with_call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Books a table.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    /// How many people come.
    people: u8,
    /// Where they sit.
    place: Option<Place>,
    #[serde(default)]
    wishes: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Place {
    Inside,
    Terrace { row: u32 },
}

#[derive(Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
struct Booked {
    table: u32,
}

/// A tree, which no schema without references can say.
#[derive(Deserialize, JsonSchema)]
struct Tree {
    name: String,
    parts: Vec<Tree>,
}

fn call(tool: &TypedTool, input: Value) -> Result<(String, Option<Value>), ToolError> {
    tool.call(&ToolCall::new(&input, "run/1")).map(|output| (output.text, output.data))
}

fn book() -> TypedTool {
    tool("book", ToolEffect::Write, |Booking { people, place, wishes }: Booking| {
        let row = if let Some(Place::Terrace { row }) = place { row } else { 0 };
        Ok::<_, Failure>(Booked { table: u32::from(people) + 10 * row + wishes.len() as u32 })
    })
}

#[test]
fn the_contract_says_what_types_and_doc_comments_say() {
    let contract = book().contract();
    assert_eq!((contract.description.as_str(), contract.effect), ("Books a table.", ToolEffect::Write));
    let fields = &contract.input["properties"];
    assert_eq!(
        fields["people"],
        json!({"description": "How many people come.", "type": "integer", "minimum": 0, "maximum": 255})
    );
    assert_eq!(contract.input["required"], json!(["people"]));
    assert_eq!(contract.input["additionalProperties"], json!(false));
    assert_eq!(contract.output.as_ref().unwrap()["properties"]["table"]["type"], "integer");
    contract.check().unwrap();
    let known = book().description("Tables.").with_contract(|contract| contract.idempotent()).contract();
    assert_eq!((known.description.as_str(), known.happens_once()), ("Tables.", false));
    let text =
        tool("count", ToolEffect::Pure, |text: String| Ok::<_, Failure>(text.len())).description("Counts.");
    assert!(text.contract().takes_text());
    assert_eq!(call(&text, json!("가")).unwrap(), ("3".to_owned(), Some(json!(3))));
    let nothing = tool("ping", ToolEffect::Read, |_: String| Ok::<_, Failure>(())).description("Pings.");
    assert_eq!(
        (call(&nothing, json!("x")).unwrap(), nothing.contract().output),
        (("done".to_owned(), None), None)
    );
    let tree = tool("plant", ToolEffect::Pure, |tree: Tree| {
        Ok::<_, Failure>(tree.name + &tree.parts.len().to_string())
    });
    tree.contract().check().unwrap();
    assert_eq!(call(&tree, json!({"name": "a", "parts": [{"name": "b", "parts": []}]})).unwrap().0, "a1");
}

#[test]
fn a_run_checks_the_input_and_keeps_the_data_for_later_steps_and_callers() {
    let plan = |people: Value| {
        json!({"goal": "g", "steps": [
            {"tool": "book", "input": {"people": people, "place": {"kind": "terrace", "row": 2}}},
            {"tool": "final_answer", "input": "-"},
        ]})
    };
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.on_bad_reply = planwright::spec::OnFailure::Repair;
    let replies =
        [plan(json!("four")).to_string(), plan(json!(4)).to_string(), r#"{"final": "ok"}"#.to_owned()];
    let agent = Agent::builder(spec).model(ScriptedModel::replies(replies)).tools([book()]).build().unwrap();
    let run = agent.run("q").unwrap();
    assert_eq!(run.output_as::<Booked>("step_1").unwrap(), Booked { table: 24 });
    assert_eq!(run.output_as::<String>("step_1").unwrap_err().path(), "$");
    assert!(run.output_as::<Booked>("step_2").unwrap_err().problem().contains("found none"));
    let trace = serde_json::to_string(run.trace()).unwrap();
    assert!(trace.contains("$.steps[0].input.people: expected integer, found \\\"four\\\""), "{trace}");
    let replayed = agent.replay(&run.fixture().unwrap()).unwrap();
    assert_eq!(replayed.output_as::<Booked>("step_1").unwrap(), Booked { table: 24 });
}

#[derive(Debug, thiserror::Error)]
#[error("the desk is closed")]
struct Closed<E: std::error::Error + 'static>(#[source] E);

#[test]
fn errors_keep_their_sources_and_a_write_is_in_doubt_unless_it_says_otherwise() {
    let closed = || Closed(std::io::Error::other("no light"));
    let fails = |fail: fn() -> Failure| {
        let tool = tool("t", ToolEffect::Write, move |_: String| Err::<(), _>(fail()));
        call(&tool, json!("x")).unwrap_err()
    };
    let plain = tool("t", ToolEffect::Write, move |_: String| Err::<(), _>(closed()));
    let error = call(&plain, json!("x")).unwrap_err();
    assert_eq!(error.to_string(), "internal: the desk is closed: no light");
    assert!(error.may_have_happened());
    let error = fails(|| Failure::new("full").kind("mailbox_full").did_not_happen());
    assert_eq!((error.to_string().as_str(), error.may_have_happened()), ("mailbox_full: full", false));
    // What the engine's own error knows is not lost on the way.
    let error = fails(|| Closed(ToolError::input("no address")).into());
    assert_eq!(
        (error.to_string().as_str(), error.may_have_happened()),
        ("input: the desk is closed: no address", false)
    );
    // The schema admits what the type does not.
    let error = call(&tool("t", ToolEffect::Write, |_: std::net::IpAddr| Ok::<_, Failure>(())), json!("x"))
        .unwrap_err();
    assert_eq!((error.kind.to_string().as_str(), error.may_have_happened()), ("input", false));
}

#[test]
fn methods_share_a_value_and_a_function_may_see_its_call() {
    struct Desk(u32);
    let desk = Arc::new(Desk(7));
    let table = method(&desk, "table", ToolEffect::Pure, |desk: &Desk, _: String| Ok::<_, Failure>(desk.0));
    assert_eq!(call(&table, json!("x")).unwrap().0, "7");
    let key = tool_with_call("key", ToolEffect::Write, |_: String, call: &ToolCall<'_>| {
        Ok::<_, Failure>(call.idempotency_key.to_owned())
    });
    assert_eq!(call(&key, json!("x")).unwrap(), ("run/1".to_owned(), None));
}
