//! The service as clients of OpenAI's protocol see it: agents are models, turns are completions.

use std::io::Read;

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Server, event, finish};
use crate::world::{GOOD, PLAN, SUM, talkative};

const PATH: &str = "/v1/chat/completions";

fn ask(message: &str) -> Value {
    json!({"model": "validated", "messages": [{"role": "user", "content": message}]})
}

/// The chunks of a stream; the last line is what the protocol ends with.
fn stream(service: &Service, body: &Value) -> Vec<Value> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let mut response = ureq::post(format!("{}{PATH}", service.address)).send(body.to_string()).unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut text = String::new();
    response.body_mut().as_reader().read_to_string(&mut text).unwrap();
    let mut lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    if lines.last() == Some(&"[DONE]") {
        lines.pop();
    } else {
        assert!(text.contains(r#""error""#), "{text}");
    }
    lines.into_iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The pieces of content.
fn pieces(chunks: &[Value]) -> Vec<&str> {
    let content = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    content.filter(|piece| !piece.is_empty()).collect()
}

/// An answer that comes in pieces.
fn in_pieces(pieces: &[&str]) -> Answer {
    // Words that come slower than they are told come one by one.
    let pause = std::time::Duration::from_millis(200);
    Answer::chunks(pieces.iter().map(|piece| event(piece)).chain([finish("stop")])).trickling(pause)
}

#[test]
fn agents_are_models_and_a_completion_tells_the_answer_the_thread_and_what_was_spent() {
    let home = Home::new();
    let model = talkative();
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let models = service.get("/v1/models", 200);
    let names: Vec<&str> =
        models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!((names[0], names.contains(&"supervised")), ("validated", true));
    assert_eq!(service.get("/v1/models/supervised", 200)["object"], "model");
    let reply = service.post(PATH, &ask(SUM), 200);
    let choice = &reply["choices"][0];
    assert_eq!((&reply["object"], &reply["model"]), (&json!("chat.completion"), &json!("validated")));
    assert_eq!(choice["message"], json!({"role": "assistant", "content": "It is 300840."}));
    assert_eq!((&choice["finish_reason"], &choice["message"]["tool_calls"]), (&json!("stop"), &Value::Null));
    // Three model calls, of 11 tokens read and 5 written each.
    let usage = &reply["usage"];
    assert_eq!(
        (&usage["prompt_tokens"], &usage["completion_tokens"], &usage["total_tokens"]),
        (&json!(33), &json!(15), &json!(48))
    );
    let thread = reply["metadata"]["thread_id"].as_str().unwrap();
    assert_eq!(service.get(&format!("/threads/{thread}"), 200)["turns"][0]["answer"], "It is 300840.");
}

#[test]
fn earlier_messages_are_the_history_of_a_thread_that_begins_with_them() {
    let home = Home::new();
    let model = Server::answering(std::iter::repeat_n(Answer::reply("아무 말"), 40));
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let before = |question: &str| {
        json!([
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": [{"type": "text", "text": "내 이름은 지우야."}]},
            {"role": "assistant", "content": "반가워요."},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "user", "content": question},
        ])
    };
    let body = json!({"model": "conversational", "messages": before("내 이름은?"), "temperature": 0.2});
    service.post(PATH, &body, 200);
    let shown = |nth: usize| model.seen()[nth].json()["messages"].to_string();
    let first = shown(0);
    assert!(first.contains("내 이름은 지우야.") && first.contains("반가워요."), "{first}");
    assert!(!first.contains("pirate"), "the agent has instructions of its own: {first}");
    let asked = model.count();
    let mut named = json!({
        "model": "conversational", "messages": [{"role": "user", "content": "하나"}],
        "metadata": {"thread_id": "대화"},
    });
    service.post(PATH, &named, 200);
    named["messages"] = before("둘");
    let reply = service.post(PATH, &named, 200);
    assert_eq!(reply["id"], "chatcmpl-대화-2");
    let last = shown(model.count() - 1);
    assert!(asked < model.count() && last.contains("하나") && !last.contains("지우"), "{last}");
    // What came before the first turn is remembered with it.
    named["metadata"] = json!({"thread_id": "옛 대화"});
    service.post(PATH, &named, 200);
    named["messages"] = json!([{"role": "user", "content": "셋"}]);
    service.post(PATH, &named, 200);
    let last = shown(model.count() - 1);
    assert!(last.contains("지우") && last.find("지우") < last.find("둘"), "{last}");
}

#[test]
fn pieces_of_a_stream_are_the_answer_also_where_its_words_begin_anew() {
    let home = Home::new();
    let broken = |pieces: &[&str]| Answer::broken_chunks(pieces.iter().map(|piece| event(piece)));
    let model = Server::answering([
        Answer::reply(PLAN),
        Answer::reply(GOOD),
        broken(&["It ", "is 3"]),
        in_pieces(&["It is ", "300", "840.\n"]),
        Answer::reply(PLAN),
        Answer::reply(GOOD),
        broken(&["The sum ", "is"]),
        in_pieces(&["It is ", "300840."]),
    ]);
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let mut body = ask(SUM);
    body["stream_options"] = json!({"include_usage": true});
    let chunks = stream(&service, &body);
    let whole = service.get("/threads?limit=1", 200)["threads"][0]["answer"].clone();
    let heard = pieces(&chunks);
    assert_eq!((heard.concat(), heard.len() > 1), (whole.as_str().unwrap().to_owned(), true), "{heard:?}");
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let [.., stop, usage] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(stop["choices"][0]["finish_reason"], "stop");
    assert_eq!((&usage["choices"], usage["usage"]["total_tokens"].as_u64() > Some(0)), (&json!([]), true));
    assert!(
        chunks.iter().all(|chunk| chunk["id"] == stop["id"] && chunk["object"] == "chat.completion.chunk")
    );
    // Words that were sent and then taken back are told apart from an answer.
    let chunks = stream(&service, &ask(SUM));
    let error = &chunks.last().unwrap()["error"];
    assert!(pieces(&chunks).concat().starts_with("The sum"), "{chunks:?}");
    assert!(error["message"].as_str().unwrap().contains("became another"), "{chunks:?}");
}

#[test]
fn run_that_waits_or_fails_says_so_in_the_message() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let question = "Compare both offers, and ask me before you conclude.";
    let body = |thread: &str, model: &str| {
        let mut body = ask(question);
        (body["metadata"], body["model"]) = (json!({"thread_id": thread}), json!(model));
        body
    };
    let waiting = service.post(PATH, &body("보고", "supervised"), 200);
    let token = service.get("/threads/%EB%B3%B4%EA%B3%A0", 200)["turns"][0]["open"]["token"].clone();
    let message = waiting["choices"][0]["message"]["content"].as_str().unwrap();
    let answer = json!({"thread_id": "보고", "token": token, "response": "…"}).to_string();
    assert!(
        waiting["metadata"]["thread_id"] == "보고" && message.contains("POST /hitl/resume\n"),
        "{message}"
    );
    assert!(message.ends_with(&answer), "{message}");
    assert_eq!(waiting["choices"][0]["finish_reason"], "stop");
    assert_eq!(pieces(&stream(&service, &body("보고", "supervised"))).concat(), message);
    // What the message says goes on with it.
    service.post("/hitl/resume", &serde_json::from_str(&answer).unwrap(), 200);
    assert_eq!(service.get("/threads/%EB%B3%B4%EA%B3%A0", 200)["turns"][0]["status"], "done");
    drop(service);
    let model = Server::answering(std::iter::repeat_n(Answer::reply("no plan"), 9));
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let failed = service.post(PATH, &ask("보고해 줘"), 200);
    let message = failed["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(message.starts_with("실행이 중단되었습니다"), "{failed}");
}

#[test]
fn what_is_wrong_is_said_in_the_shape_that_these_clients_read() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--max-body-bytes", "5000"]);
    let refuses = |body: Value, status: u16, code: &str, param: &Value, says: &str| {
        let reply = service.post(PATH, &body, status);
        let error = &reply["error"];
        assert_eq!((&error["code"], &error["param"]), (&json!(code), param), "{reply}");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().contains(says), "{reply}");
    };
    let mut unknown = ask("hi");
    unknown["model"] = json!("../secrets");
    refuses(unknown, 404, "model_not_found", &Value::Null, "validated");
    let with = |field: &str, value: Value| {
        let mut body = ask("hi");
        body[field] = value;
        body
    };
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    refuses(with("tools", tools), 400, "wrong-input", &json!("tools"), "tools of its own");
    refuses(with("n", json!(2)), 400, "wrong-input", &json!("n"), "one answer");
    refuses(
        with("response_format", json!({"type": "json_object"})),
        400,
        "wrong-input",
        &json!("response_format"),
        "expected text",
    );
    refuses(with("messages", json!([])), 400, "wrong-input", &json!("messages"), "found none");
    let picture = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]);
    refuses(with("messages", picture), 400, "wrong-input", &json!("messages[0].content"), "no pictures");
    refuses(
        with("metadata", json!({"thread_id": "a\nb"})),
        400,
        "wrong-input",
        &json!("metadata.thread_id"),
        "thread",
    );
    refuses(ask(&"x".repeat(6_000)), 413, "too-large", &Value::Null, "");
    assert_eq!(service.get("/v1/models/none", 404)["error"]["code"], "model_not_found");
    assert_eq!(service.get("/v1/nothing", 404)["error"]["code"], "no-such-path");
    let (status, reply) = service.send("GET", "/v1/models", "", &[("host", "evil.example")]);
    assert_eq!((status, &reply["error"]["type"]), (403, &json!("permission_error")));
}
