//! An answer that is a value: the schema goes to the model, and a reply that does not fit is sent back with the place.
//! `cargo run -p planwright-typed --example typed_answer`

use planwright::prelude::*;
use planwright::spec::{OnFailure, RoleName};
use planwright_typed::{Answering, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// What is owed.
#[derive(Debug, Deserialize, JsonSchema)]
struct Invoice {
    /// Three letters of ISO 4217.
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    currency: String,
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Line {
    item: String,
    cents: u32,
    note: Option<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prices = tool("prices", ToolEffect::Read, |item: String| {
        if item == "chair" { Ok("4900 cents".to_owned()) } else { Err(std::io::Error::other("not sold")) }
    });
    let plan = r#"{"goal": "g", "steps": [{"tool": "prices", "input": "chair"}, {"tool": "final_answer", "input": "-"}]}"#;
    // The first reply names no currency, so it is asked for again.
    let model = ScriptedModel::new()
        .reply_as(RoleName::Planner, plan)
        .reply_as(RoleName::Writer, r#"{"currency": "euro", "lines": []}"#)
        .reply_as(
            RoleName::Writer,
            r#"{"currency": "EUR", "lines": [{"item": "chair", "cents": 4900, "note": null}]}"#,
        );
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.on_bad_reply = OnFailure::Repair;
    let prices = prices.description("The price of an article.");
    let agent = Agent::builder(spec).model(model).tool(prices).build()?;

    let invoice: Invoice = agent.run_as("What does a chair cost?")?;
    for Line { item, cents, note } in &invoice.lines {
        println!("{item}: {cents} cents ({}) {}", invoice.currency, note.as_deref().unwrap_or_default());
    }
    Ok(())
}
