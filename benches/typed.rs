//! What a typed tool costs over an untyped one: the same call, with the same output as data.

use std::hint::black_box;

use divan::Bencher;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
use planwright_typed::{Failure, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Books a room.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    room: String,
    hours: u8,
}

#[derive(Serialize, JsonSchema)]
struct Booked {
    id: u32,
    room: String,
}

struct Untyped;

impl Tool for Untyped {
    fn contract(&self) -> ToolContract {
        ToolContract::json("book", "Books a room.", ToolEffect::Pure)
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let room = call.input["room"].as_str().ok_or_else(|| ToolError::input("expected a room"))?;
        let hours = call.input["hours"].as_u64().ok_or_else(|| ToolError::input("expected hours"))?;
        Ok(ToolOutput::from_data(json!({"id": 6 + hours, "room": room})))
    }
}

fn measure(bencher: Bencher<'_, '_>, tool: &dyn Tool) {
    let input: Value = json!({"room": "A 12", "hours": 2});
    let call = ToolCall::new(&input, "run/1");
    bencher.bench_local(|| black_box(tool.call(black_box(&call))).expect("booked"));
}

#[divan::bench]
fn untyped(bencher: Bencher<'_, '_>) {
    measure(bencher, &Untyped);
}

#[divan::bench]
fn typed(bencher: Bencher<'_, '_>) {
    let book = tool("book", ToolEffect::Pure, |Booking { room, hours }: Booking| {
        Ok::<_, Failure>(Booked { id: 6 + u32::from(hours), room })
    });
    measure(bencher, &book);
}
