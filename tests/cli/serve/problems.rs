//! What cannot be done is a problem that says where and why.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Server};
use crate::world::SUM;

#[test]
fn more_runs_than_it_bears_are_told_to_try_later() {
    let home = Home::new();
    let (model, was_asked, answer) = Server::pausing(Answer::reply("no plan"));
    let url = model.url();
    let service =
        Service::start(&home, &["--max-runs", "1", "--max-waiting", "0", "--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM}).to_string());
    let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(ask).map(drop));
    was_asked.recv().unwrap();
    service.refuses(("POST", "/chat", &json!({"message": SUM})), 429, "too-busy", "\"retry_after\":1");
    // What only reads waits for nobody.
    service.get("/threads", 200);
    drop(answer);
    client.join().unwrap().unwrap();
}

#[test]
fn what_cannot_be_used_is_a_problem_that_says_where() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--max-body-bytes", "1000"]);
    let long = json!({"message": "가".repeat(1000)});
    for (request, status, kind, says) in [
        (("POST", "/chat", &json!({"mesage": "x"})), 422, "wrong-input", "$.mesage: unknown field"),
        (("POST", "/chat", &json!({"message": 5})), 422, "wrong-input", "$.message: invalid type"),
        (
            ("POST", "/chat", &json!(["2+2?", "odd15", null])),
            422,
            "wrong-input",
            "$: expected an object, found [",
        ),
        (("POST", "/agui", &json!("가")), 422, "wrong-input", "$: expected an object, found "),
        (("POST", "/chat", &json!({"message": "  "})), 422, "wrong-input", "$.message: expected a question"),
        (
            ("POST", "/chat", &json!({"message": "x", "thread_id": "a/b\n"})),
            422,
            "wrong-input",
            "$.thread_id: ",
        ),
        (("POST", "/chat", &json!({"message": "x", "agent": "./x.toml"})), 404, "no-such-agent", "there are"),
        (("POST", "/chat", &long), 413, "too-large", "too-large"),
        (("POST", "/chat", &Value::Null), 422, "wrong-input", "EOF"),
        (("POST", "/hitl/resume", &json!({"thread_id": "x", "response": "y"})), 404, "no-such-thread", "x"),
        (("GET", "/plan/none", &Value::Null), 404, "no-such-thread", "none"),
        (("GET", "/threads/none", &Value::Null), 404, "no-such-thread", "none"),
        (("DELETE", "/threads/none", &Value::Null), 404, "no-such-thread", "none"),
        (("GET", "/threads?status=odd", &Value::Null), 422, "wrong-input", "status: expected one of"),
        (("GET", "/threads?limit=0", &Value::Null), 422, "wrong-input", "limit: expected 1 to 1000"),
        (("GET", "/threads?after=odd", &Value::Null), 422, "wrong-input", "after: expected a cursor"),
        (("GET", "/agents/none", &Value::Null), 404, "no-such-agent", "there are"),
        (("GET", "/none", &Value::Null), 404, "no-such-path", "/openapi.json"),
        (("PUT", "/chat", &Value::Null), 405, "no-such-method", "/openapi.json"),
    ] {
        service.refuses(request, status, kind, says);
    }
    let (status, _) = service.send("POST", "/chat", "{\"message\": \"x\"} more", &[]);
    assert_eq!(status, 422);
}
