//! Tools of your own: a function, and the methods of a value that they share.
//! `cargo run -p planwright-typed --example own_tools`

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use planwright::prelude::*;
use planwright_typed::{DidNotHappen, Failure, method, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Books seats at the desk. Nothing is booked if too few are left.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    /// How many seats.
    seats: u32,
}

#[derive(Serialize, JsonSchema)]
struct Booked {
    left: u32,
}

struct Desk(AtomicU32);

impl Desk {
    fn book(&self, booking: Booking) -> Result<Booked, Failure> {
        let take = |left: u32| left.checked_sub(booking.seats);
        let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        let left =
            left.map_err(|left| Failure::new(format!("only {left} seats are left"))).did_not_happen()?;
        Ok(Booked { left: left - booking.seats })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let desk = Arc::new(Desk(AtomicU32::new(10)));
    let shout = tool("shout", ToolEffect::Pure, |text: String| Ok::<_, Failure>(text.to_uppercase()));
    let tools = [
        shout.description("Says a text louder."),
        method(&desk, "book_seats", ToolEffect::Write, Desk::book),
    ];
    // A model's part, so that this runs without one: planwright_http::OpenAi asks a server instead.
    let model = ScriptedModel::replies([
        r#"{"goal": "book", "steps": [{"tool": "book_seats", "input": {"seats": 3}},
            {"tool": "shout", "input": "booked"}, {"tool": "final_answer", "input": "say so"}]}"#,
        r#"{"final": "Three seats are booked."}"#,
    ]);
    let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    let agent = Agent::builder(spec).model(model).tools(tools).build()?;

    let run = agent.run("Book three seats.")?;
    for step in run.state().current_steps() {
        println!("{}: {}", step.step.tool, step.output.unwrap_or("-"));
    }
    println!("{}", run.answer().unwrap_or("no answer"));
    Ok(())
}
