//! A person allows what may not be undone. The run waits as long as they take, in no process at all if need be.
//! `cargo run -p planwright-typed --example approval`

use planwright::prelude::*;
use planwright::spec::Approval;
use planwright_typed::{Failure, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Sends a letter.
#[derive(Deserialize, JsonSchema)]
struct Letter {
    to: String,
    text: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let send = tool("send", ToolEffect::Write, |letter: Letter| {
        Ok::<_, Failure>(format!("sent to {}: {}", letter.to, letter.text))
    });
    let model = ScriptedModel::replies([
        r#"{"goal": "g", "steps": [{"tool": "send", "input": {"to": "Kim", "text": "No."}},
            {"tool": "final_answer", "input": "-"}]}"#,
        r#"{"final": "The letter is out."}"#,
    ]);
    let mut spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    spec.policy.approval = Approval::RISKY;
    let send = send.with_contract(ToolContract::needs_approval);
    let agent = Agent::builder(spec).model(model).tool(send).build()?;

    let run = agent.run("Write to Kim.")?;
    let waiting = run.waiting().expect("nothing is sent without a word");
    println!("{}", waiting.question);

    // Not like that. What is allowed is exactly what is sent.
    let input = serde_json::json!({"to": "Kim", "text": "Not this week."});
    let run = run.respond(&agent, HumanAnswer::EditInput { input })?;
    for step in run.state().current_steps() {
        println!("{}: {}", step.step.tool, step.output.unwrap_or("-"));
    }
    println!("{}", run.answer().unwrap_or("no answer"));
    Ok(())
}
