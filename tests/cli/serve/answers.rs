//! What a person answers is taken once, and for what it names.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::cli_support::store::is_in_doubt;

#[test]
fn approval_names_what_it_approves_and_an_answer_is_taken_once() {
    let home = Home::new();
    crate::cli_support::store::wants_approval(&home, "송금");
    let service = Service::start(&home, &["--offline"]);
    let approve = json!({"thread_id": "송금", "approve": true});
    service.refuses(("POST", "/hitl/resume", &approve), 422, "wrong-input", "$.token: expected the token");
    let shown = service.get("/threads/%EC%86%A1%EA%B8%88", 200);
    let token = &shown["turns"][0]["open"]["token"];
    let wrong = json!({"thread_id": "송금", "approve": true, "token": "0123"});
    service.refuses(("POST", "/hitl/resume", &wrong), 409, "answer-does-not-fit", "token");
    for (body, says) in [
        (
            json!({"thread_id": "송금"}),
            "expected one of response, approve, approve_calls, reject, edit and edit_input, found none",
        ),
        (json!({"thread_id": "송금", "approve": true, "reject": "x"}), "found more than one"),
        (
            json!({"thread_id": "송금", "edit": {"a": 1}, "token": token}),
            "$.edit: expected a list of plan steps",
        ),
        (
            json!({"thread_id": "송금", "edit": [{"tool": "calc", "status": "done"}], "token": token}),
            "step 1: unknown field `status`",
        ),
    ] {
        service.refuses(("POST", "/hitl/resume", &body), 422, "wrong-input", says);
    }
    let approve = json!({"thread_id": "송금", "approve": true, "token": token});
    let done = service.post("/hitl/resume", &approve, 200);
    assert_eq!(done["status"], "completed", "{done}");
    service.refuses(("POST", "/hitl/resume", &approve), 409, "answer-does-not-fit", "answered before");
}

#[test]
fn several_calls_are_shown_with_their_inputs_and_allowed_by_position() {
    let home = Home::new();
    crate::cli_support::store::wants_calls(&home, "t");
    let service = Service::start(&home, &["--offline"]);
    let open = service.get("/threads/t", 200)["turns"][0]["open"].clone();
    let calls = json!([{"tool": "calc", "input": "12/4+9"}, {"tool": "calc", "input": "7*5"}]);
    assert_eq!(open["calls"], calls, "{open}");
    let asked = service.get("/plan/t", 200)["plan"].clone();
    let statuses: Vec<&Value> = (0..2).map(|at| &asked[at]["status"]).collect();
    assert_eq!(statuses, ["waiting_human"; 2], "{asked}");
    let said = |calls: Value| json!({"thread_id": "t", "approve_calls": calls, "token": open["token"]});
    let expected = "$.approve_calls: expected positions of calls, from 1, or objects";
    service.refuses(("POST", "/hitl/resume", &said(json!(["a"]))), 422, "wrong-input", expected);
    let none = said(json!([3]));
    service.refuses(("POST", "/hitl/resume", &none), 422, "wrong-input", "positions from 1 to 2");
    let done = service.post("/hitl/resume", &said(json!([1.0, {"position": 2.0, "input": "6*7"}])), 200);
    assert_eq!(done["status"], "completed", "{done}");
    let results = service.get("/plan/t", 200)["plan"].to_string();
    assert!(results.contains("12") && results.contains("42"), "{results}");
}

/// Also where the call that it set going is in doubt.
#[cfg(target_os = "linux")]
#[test]
fn approval_that_comes_again_is_answered_before_though_its_call_is_in_doubt() {
    use crate::mcp_ends::{PROGRAM, WRITE, world};
    let (home, _model) = world(PROGRAM, WRITE);
    let agent = std::fs::read_to_string(home.path("notes.toml")).unwrap();
    home.write("notes.toml", &agent.replace("[policy]", "[policy]\napproval = \"risky\""));
    home.write("dies", "");
    let service = Service::start(&home, &["--agent", "./notes.toml"]);
    let asked = service.post("/chat", &json!({"message": "q", "thread_id": "t"}), 200);
    let approve = json!({"thread_id": "t", "approve": true, "token": asked["token"]});
    service.refuses(("POST", "/hitl/resume", &approve), 409, "write-in-doubt", "notes.write");
    service.refuses(("POST", "/hitl/resume", &approve), 409, "answer-does-not-fit", "answered before");
}

#[test]
fn write_in_doubt_is_resolved_by_its_token_alone() {
    let home = Home::new();
    is_in_doubt(&home, "t");
    let service = Service::start(&home, &["--offline"]);
    let ask = json!({"message": "7*6?", "thread_id": "t"});
    service.refuses(("POST", "/chat", &ask), 409, "write-in-doubt", "/threads/t/resolve");
    let cancel = json!({"reason": "no longer needed"});
    service.refuses(("POST", "/threads/t/cancel", &cancel), 409, "write-in-doubt", "in doubt");
    let token = service.get("/threads/t", 200)["turns"][0]["open"]["token"].clone();
    let both = json!({"token": token, "did_not_happen": true, "happened": "42"});
    service.refuses(("POST", "/threads/t/resolve", &both), 422, "wrong-input", "expected one of happened");
    let resolve = json!({"token": token, "happened": "42"});
    let resolved = service.post("/threads/t/resolve", &resolve, 200);
    assert!(resolved["status"] != "in_doubt" && resolved["open"].is_null(), "{resolved}");
    service.refuses(("POST", "/threads/t/resolve", &resolve), 409, "answer-does-not-fit", "");
}
