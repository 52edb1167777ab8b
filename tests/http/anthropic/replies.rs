//! What is read: every end of a message, every event of a stream, and what fails.

use std::time::Duration;

use planwright::machine::{FailureClass, Usage};
use planwright::ports::{Cause, Model, Secret};
use serde_json::{Value, json};

use super::*;

const COST: Usage = Usage {
    input_tokens: 2_311,
    output_tokens: 5,
    cached_tokens: 2_000,
    cache_written_tokens: 300,
    estimated_tokens: 0,
};

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn every_end_of_a_message_has_its_meaning() {
    for stop in ["end_turn", "stop_sequence", "yet_to_come"] {
        let reply = ask_once(Answer::json(200, &message(text("답"), stop))).unwrap();
        assert_eq!((&*reply.text, &*reply.model, reply.usage), ("답", "m", COST), "{stop}");
    }
    let cut = [
        ("max_tokens", "token limit, after 5"),
        ("model_context_window_exceeded", "context was full"),
        ("pause_turn", "a tool of its own"),
    ];
    for (stop, says) in cut {
        let Err(ModelError::Failed(failure)) = ask_once(Answer::json(200, &message(text("반"), stop)))
        else {
            panic!("{stop} is no reply");
        };
        assert_eq!((failure.class, &*failure.text, failure.usage), (FailureClass::Length, "반", COST));
        assert!(failure.message.contains(says), "{failure}");
    }
    let mut refusal = message(json!([]), "refusal");
    assert!(failed(ask_once(Answer::json(200, &refusal)), FailureClass::Refusal).contains("did not say why"));
    refusal["stop_details"] = json!({"type": "refusal", "category": "cyber", "explanation": "그건 안 된다."});
    assert_eq!(failed(ask_once(Answer::json(200, &refusal)), FailureClass::Refusal), "그건 안 된다.");
}

#[test]
fn calls_come_in_order_with_the_thoughts_that_go_back_with_them() {
    let thought = json!({"type": "thinking", "thinking": "둘 다.", "signature": "c2ln"});
    let sealed = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let calls = [call("a", "wiki", json!({"input": "서울"})), call("b", "clock", json!({}))];
    let content = json!([thought, sealed, {"type": "text", "text": "본다."}, calls[0], calls[1]]);
    let reply = ask_once(Answer::json(200, &message(content, "tool_use"))).unwrap();
    assert_eq!((&*reply.text, &*reply.thoughts), ("본다.", "둘 다."));
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
    assert_eq!(calls, [("wiki", r#"{"input":"서울"}"#), ("clock", "{}")]);
    assert_eq!(reply.reasoning, [thought.clone(), sealed]);
    // Beside words alone nothing goes back.
    let content = json!([thought, {"type": "text", "text": "답"}]);
    assert_eq!(
        ask_once(Answer::json(200, &message(content, "end_turn"))).unwrap().reasoning,
        Vec::<Value>::new()
    );
}

fn start() -> Value {
    let mut message = message(json!([]), "");
    message["stop_reason"] = Value::Null;
    json!({"type": "message_start", "message": message})
}

fn begin(index: u32, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u32, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(stop: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    [
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn stream_is_read_event_by_event() {
    let stream = [
        start(),
        json!({"type": "ping"}),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "더하"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "자"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        json!({"type": "content_block_stop", "index": 0}),
        begin(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "하나 "})),
        json!({"type": "ping"}),
        json!({"type": "an_event_yet_to_come", "index": 1}),
        delta(1, json!({"type": "text_delta", "text": "둘"})),
        delta(1, json!({"type": "citations_delta", "citation": {}})),
        begin(2, json!({"type": "tool_use", "id": "a", "name": "wiki", "input": {}})),
        begin(3, json!({"type": "tool_use", "id": "b", "name": "clock", "input": {}})),
        delta(2, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"input\": \"서"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "울\"}"})),
    ];
    let stream = stream.into_iter().chain(end("tool_use"));
    let (pieces, outcome) = Asker::answering([events(stream)]).stream();
    let reply = outcome.unwrap();
    assert_eq!(pieces, ["하나 ", "둘"]);
    assert_eq!((&*reply.text, &*reply.thoughts), ("하나 둘", "더하자"));
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
    assert_eq!(calls, [("wiki", "{\"input\": \"서울\"}"), ("clock", "{}")]);
    assert_eq!(reply.reasoning, [json!({"type": "thinking", "thinking": "더하자", "signature": "c2ln"})]);
    assert_eq!(reply.usage, Usage { output_tokens: 42, ..COST });
}

#[test]
fn form_of_a_reply_is_streamed_as_its_text() {
    let stream = [
        start(),
        begin(0, json!({"type": "tool_use", "id": "a", "name": "validator", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"ok\":"})),
        delta(0, json!({"type": "input_json_delta", "partial_json": " true}"})),
    ];
    let asker = Asker::answering([events(stream.into_iter().chain(end("tool_use")))]);
    let mut pieces = Vec::new();
    let reply =
        asker.client.ask(&with_schema(), Some(&mut |piece: &str| pieces.push(piece.to_owned()))).unwrap();
    assert_eq!((pieces, &*reply.text), (vec!["{\"ok\":".to_owned(), " true}".to_owned()], "{\"ok\": true}"));
    assert!(reply.tool_calls.is_empty());
}

#[test]
fn error_inside_a_stream_is_what_it_says_and_is_tried_again_where_it_may_pass() {
    let broken = |kind: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": "그 서버의 말"}});
        events([start(), json!({"type": "ping"}), error]).header("request-id", "req_9")
    };
    let passing = [
        ("overloaded_error", Cause::Server),
        ("api_error", Cause::Server),
        ("rate_limit_error", Cause::RateLimit),
    ];
    for (kind, cause) in passing {
        let asker = Asker::answering([broken(kind)]);
        let error = unanswered(asker.ask(), cause);
        assert_eq!((error.tries, asker.server().count()), (6, 6), "{kind}");
        assert!(error.message.contains("그 서버의 말") && error.message.contains("request req_9"), "{error}");
        let whole =
            [start(), begin(0, json!({"type": "text", "text": "답"}))].into_iter().chain(end("end_turn"));
        assert_eq!(Asker::answering([broken(kind), events(whole)]).ask().unwrap().text, "답");
    }
    for (kind, cause) in [
        ("authentication_error", Cause::Authentication),
        ("permission_error", Cause::Authentication),
        ("billing_error", Cause::Quota),
    ] {
        assert_eq!(unanswered(Asker::answering([broken(kind)]).ask(), cause).tries, 1);
    }
    failed(ask_once(broken("invalid_request_error")), FailureClass::BadRequest);
}

#[test]
fn stream_that_ends_before_its_message_does_is_no_reply() {
    let half = [start(), begin(0, json!({"type": "text", "text": "반"}))];
    let error = unanswered(Asker::answering([events(half.clone())]).ask(), Cause::BadResponse);
    assert!(error.message.contains("the stream ended before the reply did"), "{error}");
    let stray = events([start(), delta(4, json!({"type": "text_delta", "text": "?"}))]);
    unanswered(Asker::answering([stray]).ask(), Cause::BadResponse);
    for block in [json!("x"), json!(["x"]), json!(1), json!(true), Value::Null] {
        let stream =
            events([start(), begin(0, block), delta(0, json!({"type": "text_delta", "text": "답"}))]);
        let error = unanswered(Asker::answering([stream]).ask(), Cause::BadResponse);
        assert!(error.message.contains("expected an object as a block"), "{error}");
    }
    // Nothing after the end is waited for.
    let whole: Vec<Value> = half.into_iter().chain(end("end_turn")).collect();
    assert_eq!(ask_once(events(whole).hanging()).unwrap().text, "반");
}

#[test]
fn busy_server_is_asked_again_after_the_time_it_names() {
    let busy = |status: u16, kind: &str| {
        let error =
            json!({"type": "error", "error": {"type": kind, "message": "busy"}, "request_id": "req_8"});
        Answer::json(status, &error).header("retry-after", "7").header("request-id", "req_8")
    };
    let asker = Asker::answering([busy(429, "rate_limit_error"), busy(529, "overloaded_error"), words("답")]);
    assert_eq!(asker.ask().unwrap().text, "답");
    assert_eq!(asker.waits(), [Duration::from_secs(7); 2]);
    let error = unanswered(Asker::answering([busy(529, "overloaded_error")]).ask(), Cause::Server);
    assert!(error.message.contains("busy (status 529, request req_8)"), "{error}");
    assert_eq!((error.tries, error.retry_after), (6, Some(Duration::from_secs(7))));
}

#[test]
fn echoed_key_is_in_no_error() {
    let key = "sk-ant-0123456789";
    for answer in [
        Answer::error(401, &format!("no such key: {key}")).header("request-id", key),
        events([json!({"type": "error", "error": {"type": "api_error", "message": key}})]),
        Answer::body(200, "text/html", format!("<p>{key}")),
    ] {
        let server = Server::answering([answer]);
        let asker = Asker::with(&server, |config| config.api_key = Secret::new(key));
        let error = asker.ask().unwrap_err();
        let shown = format!("{error} {error:?} {:?}", asker.client);
        assert!(!shown.contains("0123456789"), "{shown}");
    }
}
