//! The service as AG-UI's front ends see it: whatever is begun is ended, and the state is the plan.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::{ANSWER, Home, NOT_YET};
use crate::support::{Answer, Server, event, finish};
use crate::world::{GOOD, PLAN, SUM};

fn input(thread: &str, question: &str) -> Value {
    json!({
        "threadId": thread, "runId": "run-1", "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": "m-1", "role": "user", "content": question}],
    })
}

/// The events of a run, in an order that the protocol allows.
fn run(service: &Service, path: &str, body: &Value) -> Vec<Value> {
    let mut response = ureq::post(format!("{}{path}", service.address)).send(body.to_string()).unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    response.body_mut().as_reader().read_to_string(&mut text).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["type"], "RUN_STARTED", "{text}");
    assert!(events[0]["threadId"] == body["threadId"] && events[0]["runId"] == body["runId"]);
    let mut open = BTreeSet::new();
    for event in &events {
        let kind = event["type"].as_str().unwrap();
        let of = ["messageId", "toolCallId", "stepName"].map(|id| event[id].to_string()).concat();
        if let Some(kind) = kind.strip_suffix("_STARTED").or(kind.strip_suffix("_START")) {
            assert!(open.insert((kind, of)), "{event} is begun twice: {text}");
        } else if let Some(kind) = kind.strip_suffix("_FINISHED").or(kind.strip_suffix("_END")) {
            assert!(open.remove(&(kind, of)) || kind == "RUN", "{event} was not begun: {text}");
        }
    }
    open.retain(|(kind, _)| *kind != "RUN");
    assert!(open.is_empty(), "{open:?} are not ended: {text}");
    let last = events.last().unwrap()["type"].as_str().unwrap();
    assert!(["RUN_FINISHED", "RUN_ERROR"].contains(&last), "{text}");
    events
}

fn of<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn said(events: &[Value]) -> String {
    of(events, "TEXT_MESSAGE_CONTENT").iter().map(|event| event["delta"].as_str().unwrap()).collect()
}

/// The state as a client has it in the end.
fn state(events: &[Value]) -> Value {
    let mut state = of(events, "STATE_SNAPSHOT")[0]["snapshot"].clone();
    for delta in of(events, "STATE_DELTA") {
        for change in delta["delta"].as_array().unwrap() {
            assert_eq!(change["op"], "replace");
            *state.pointer_mut(change["path"].as_str().unwrap()).unwrap() = change["value"].clone();
        }
    }
    state
}

/// Words that come slower than they are told come one by one.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

#[test]
fn run_is_told_in_steps_words_calls_and_the_plan() {
    let home = Home::new();
    let words = ["It is ", "300840."].map(event).into_iter().chain([finish("stop")]);
    let model =
        Server::answering([Answer::reply(PLAN), Answer::reply(GOOD), Answer::chunks(words).trickling(PAUSE)]);
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let events = run(&service, "/agui", &input("합", SUM));
    let steps: Vec<&Value> = of(&events, "STEP_STARTED").iter().map(|event| &event["stepName"]).collect();
    assert_eq!(steps, ["PLAN", "EXECUTE", "VALIDATE", "WRITE"]);
    assert_eq!(
        (said(&events).as_str(), of(&events, "TEXT_MESSAGE_CONTENT").len() > 1),
        ("It is 300840.", true)
    );
    let (call, result) = (of(&events, "TOOL_CALL_START"), of(&events, "TOOL_CALL_RESULT"));
    assert_eq!((call.len(), result.len(), &call[0]["toolCallName"]), (1, 1, &json!("calc")));
    assert_eq!(of(&events, "TOOL_CALL_ARGS")[0]["delta"], "\"345*872\"");
    assert_eq!((&result[0]["toolCallId"], &result[0]["content"]), (&call[0]["toolCallId"], &json!("300840")));
    assert_eq!(state(&events), service.get("/plan/%ED%95%A9", 200));
    let last = events.last().unwrap();
    assert_eq!(last["outcome"], json!({"type": "success"}));
    assert!(last["usage"][0]["inputTokens"].as_u64() > Some(0), "{last}");
}

#[test]
fn words_that_are_taken_back_are_put_right_by_the_whole_conversation() {
    let home = Home::new();
    let model = Server::answering([
        Answer::reply(PLAN),
        Answer::reply(GOOD),
        Answer::broken_chunks(["The sum ", "is"].map(event)),
        Answer::chunks([event("It is 300840."), finish("stop")]),
    ]);
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let events = run(&service, "/agui", &input("t", SUM));
    let messages = of(&events, "MESSAGES_SNAPSHOT")[0]["messages"].as_array().unwrap();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{messages:?}");
    assert_eq!((&messages[0]["id"], &messages[3]["content"]), (&json!("m-1"), &json!("It is 300840.")));
    assert_eq!(messages[3]["id"], of(&events, "TEXT_MESSAGE_START")[0]["messageId"]);
}

#[test]
fn question_is_an_interrupt_that_the_next_run_answers() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let path = "/agui?agent=supervised";
    let asks = input("t", "Compare both offers, and ask me before you conclude.");
    let events = run(&service, path, &asks);
    let outcome = events.last().unwrap()["outcome"].clone();
    let interrupt = &outcome["interrupts"][0];
    let open = service.get("/threads/t", 200)["turns"][0]["open"].clone();
    assert_eq!((&outcome["type"], &interrupt["reason"]), (&json!("interrupt"), &json!("question")));
    assert_eq!((&interrupt["id"], interrupt["message"].is_string()), (&open["token"], true), "{interrupt}");
    // Asked again, it says what it waits for.
    assert_eq!(run(&service, path, &asks).last().unwrap()["outcome"], outcome);
    let answers = |payload: Value| {
        let mut body = asks.clone();
        body["resume"] = json!([{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]);
        body
    };
    let wrong = answers(json!(7));
    service.refuses(("POST", "/agui", &wrong), 422, "wrong-input", "$.resume[0].payload: expected a text");
    service.refuses(("POST", "/agui", &answers(json!({}))), 422, "wrong-input", "expected one of response");
    let other = answers(json!({"token": "other", "response": "go on"}));
    service.refuses(("POST", "/agui", &other), 422, "wrong-input", "no field `token`: `interruptId` says it");
    let events = run(&service, path, &answers(json!({"response": "go on"})));
    assert_eq!(events.last().unwrap()["outcome"]["type"], "success");
    assert_eq!(said(&events), service.get("/threads/t", 200)["turns"][0]["answer"]);
    assert_eq!(state(&events), service.get("/plan/t", 200));
    service.refuses(("POST", "/agui", &answers(json!("go on"))), 409, "answer-does-not-fit", "answered");
}

#[test]
fn run_goes_on_where_the_time_for_an_answer_is_over() {
    let home = Home::new();
    let spec = planwright::agents::source("supervised").unwrap();
    let spec = spec.replace("[limits]", "[limits]\nanswer_seconds = 1");
    let spec = home.write("hasty.toml", &spec).display().to_string();
    let service = Service::start(&home, &["--offline", "--agent", &spec]);
    let asks = input("t", "Compare both offers, and ask me before you conclude.");
    let events = run(&service, "/agui", &asks);
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    assert!(interrupt["expiresAt"].as_str().unwrap().ends_with('Z'), "{interrupt}");
    while service.get("/threads/t", 200)["turns"][0]["open"]["expired"] != json!(true) {
        std::thread::yield_now();
    }
    let told = service.post("/chat", &json!({"message": SUM, "thread_id": "t"}), 200);
    assert!(told["error"].as_str().unwrap().contains("the time for an answer is over"), "{told}");
    let last = run(&service, "/agui", &asks).pop().unwrap();
    assert_ne!(last["outcome"]["type"], "interrupt", "{last}");
    assert_ne!(service.get("/threads/t", 200)["turns"][0]["status"], "waiting");
}

#[test]
fn what_fails_ends_in_an_error_and_what_cannot_begin_is_a_problem() {
    let home = Home::new();
    let model = Server::answering(std::iter::repeat_n(Answer::reply("no plan"), 9));
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let events = run(&service, "/agui", &input("t", SUM));
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["code"]), (&json!("RUN_ERROR"), &json!("PLAN_ERROR")), "{last}");
    let mut empty = input("t", SUM);
    empty["messages"] = json!([]);
    service.refuses(("POST", "/agui", &empty), 422, "wrong-input", "$.messages: expected a question");
    service.refuses(("POST", "/agui?agent=none", &input("u", SUM)), 404, "no-such-agent", "none");
    service.refuses(("POST", "/agui", &input("a\nb", SUM)), 422, "wrong-input", "$.threadId");
}

#[test]
fn what_was_said_against_an_answer_is_told_beside_it() {
    let home = Home::new();
    home.write("notes/보일러.md", "# 보일러\n\n점검 번호는 17이다.\n");
    let plan = r#"{"goal": "g", "steps": [{"tool": "docs", "input": "보일러"}, {"tool": "final_answer", "input": "x"}]}"#;
    let replies = [plan, NOT_YET, plan, NOT_YET, plan, NOT_YET, ANSWER];
    let model = Server::answering(replies.map(Answer::reply));
    let service = Service::start(
        &home,
        &["--base-url", &model.url(), "--model", "m", "--docs", "notes", "--tools", "docs"],
    );
    let events = run(&service, "/agui", &input("합", SUM));
    let last = events.last().unwrap();
    assert_eq!((said(&events).as_str(), &last["outcome"]["type"]), (ANSWER, &json!("success")));
    assert!(last["result"]["objection"].as_str().is_some_and(|why| !why.is_empty()), "{last}");
}
