//! An answer is a value: the schema goes out, the reply is read strictly, and what is on record gives the value again.

use planwright::contract::schema::is_strict;
use planwright::driver::Changed;
use planwright::journal::MemoryJournal;
use planwright::ports::ScriptedModel;
use planwright::prelude::*;
use planwright::spec::{OnFailure, RoleName};
use planwright_offline::Offline;
use planwright_typed::{Answering, NoValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// What is owed.
#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Invoice {
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    currency: String,
    /// A note, if there is one.
    note: Option<String>,
    by: Payment,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Payment {
    Cash,
    Card { digits: u16 },
}

const PLAN: &str =
    r#"{"goal": "g", "steps": [{"tool": "look", "input": "x"}, {"tool": "final_answer", "input": "-"}]}"#;
const BAD: &str = r#"{"currency": "EUR", "note": null, "by": {"kind": "card", "digits": "12"}}"#;
const GOOD: &str = r#"Here: {"currency": "EUR", "note": null, "by": {"kind": "card", "digits": 12}}"#;

fn invoice() -> Invoice {
    Invoice { currency: "EUR".into(), note: None, by: Payment::Card { digits: 12 } }
}

fn agent(model: impl Model + 'static) -> Agent {
    let look = ToolContract::text("look", "Looks.", ToolEffect::Pure);
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.on_bad_reply = OnFailure::Repair;
    Agent::builder(spec).model(model).tool(FnTool::new(look, |_| Ok("seen".into()))).build().unwrap()
}

#[test]
fn the_schema_goes_to_the_model_and_a_misfit_is_sent_back_with_its_place() {
    let model = Arc::new(ScriptedModel::replies([PLAN, BAD, GOOD]));
    let value: Invoice = agent(Arc::clone(&model)).run_as("q").unwrap();
    assert_eq!(value, invoice());
    let asked = model.seen();
    let frame = &asked[1].frame;
    let schema = frame.schema.as_ref().unwrap();
    assert!(frame.role == RoleName::Writer && is_strict(schema), "{schema}");
    assert_eq!(schema["required"], json!(["currency", "note", "by"]));
    assert_eq!(schema["description"], "What is owed.");
    assert!(asked[2].payload.contains("$.by.digits"), "{}", asked[2].payload);
}

#[test]
fn a_run_that_is_replayed_or_gone_on_with_gives_the_value_again() {
    let typed = agent(ScriptedModel::replies([PLAN, GOOD])).answering::<Invoice>().unwrap();
    let mut journal = MemoryJournal::new();
    let run = typed.job("q").journal(&mut journal).run().unwrap();
    assert_eq!(run.answer(), Some(r#"{"currency":"EUR","note":null,"by":{"kind":"card","digits":12}}"#));
    let records = journal.into_records();
    let fixture = planwright::journal::Fixture::of_records(&records, None).unwrap();
    assert_eq!(typed.replay(&fixture).unwrap().answer_as::<Invoice>().unwrap(), invoice());
    // Stopped before the writer answered, and gone on with by an agent of no such answer.
    let asked = records.len() - 1;
    let mut torn = MemoryJournal::from(records[..asked].to_vec());
    let plain = agent(ScriptedModel::replies([GOOD]));
    let resumed = plain.resume(&mut torn).changed(Changed::Keep).run().unwrap();
    assert_eq!(resumed.answer_as::<Invoice>().unwrap(), invoice());
    assert_eq!(resumed.answer_as::<Vec<u8>>().unwrap_err().path(), "$");
}

#[test]
fn what_gives_no_value_says_why_and_keeps_the_run() {
    let repairs = [PLAN, BAD, BAD, BAD, BAD, BAD, BAD];
    let none = agent(ScriptedModel::replies(repairs)).run_as::<Invoice>("q").unwrap_err();
    let NoValue::NoAnswer { error, run } = none else { panic!("{none}") };
    assert!(run.error().is_some() && error.problem().contains("found none: the run ended with"), "{error}");
    let quoted = agent(Offline::new()).run_as::<Invoice>("What is it?").unwrap_err();
    assert!(quoted.to_string().contains("ask a language model"), "{quoted}");
    let list = agent(Offline::new()).run_as::<Vec<u8>>("q").unwrap_err();
    assert!(list.to_string().starts_with("roles.writer.form.schema.type: expected \"object\""), "{list}");
    let no_writer = planwright::agents::shipped("react").unwrap().with_tools(|tool| tool.name == "calc");
    let no_writer = Agent::builder(no_writer).build().unwrap().answering::<Invoice>().err().unwrap();
    assert_eq!(no_writer.field(), "roles.writer");
}

#[test]
fn every_state_of_an_agent_with_a_typed_answer_is_walked() {
    let typed = agent(Offline::new()).answering::<Invoice>().unwrap();
    let report = planwright::machine::explore::explore(typed.compiled());
    assert!(report.holds() && report.longest.unwrap().model_calls >= 2);
    assert_eq!(report.explored_as.last().map(String::as_str), Some("the answer explored as any object"));
}
