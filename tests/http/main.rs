//! What speaks HTTP, against a real server on loopback.

#[path = "../common/support.rs"]
mod support;

mod anthropic;
mod asker;
mod client;
mod embeddings;
mod fallback;
mod openai;
mod recorded;
mod responses;
mod wiki;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::ports::ToolCall;
use planwright_http::Retry;
use serde_json::Value;

/// The waits that a client would have made.
type Waits = Arc<Mutex<Vec<Duration>>>;

/// A retry policy that notes its waits instead of waiting.
fn noting() -> (Retry, Waits) {
    let waits = Waits::default();
    let noted = waits.clone();
    let sleep = Arc::new(move |wait, _: &dyn Fn() -> bool| noted.lock().unwrap().push(wait));
    (Retry { sleep, ..Retry::default() }, waits)
}

/// A call of a tool with a minute's time.
fn call(input: &Value) -> ToolCall<'_> {
    let timeout = Some(Duration::from_secs(60));
    ToolCall { timeout, ..ToolCall::new(input, "run/1") }
}
