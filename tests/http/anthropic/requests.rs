//! What is sent: headers, instructions, tools, forms, and a conversation whose roles alternate.

use planwright::machine::FailureClass;
use planwright::ports::{Model, Secret};
use planwright::prompt::Message;
use planwright::spec::{RequestFrame, RoleName};
use planwright_http::StructuredOutput;
use serde_json::{Value, json};

use super::*;

const KEPT: &str = "ephemeral";

fn kept(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": KEPT});
    block
}

#[test]
fn request_goes_to_messages_with_its_key_and_version() {
    let server = Server::answering([words("답")]);
    let asker = Asker::with(&server, |config| {
        // A base URL without a path is the one that the protocol's own libraries take.
        config.base_url = server.origin();
        config.api_key = Secret::new(" sk-ant-1234 ");
        config.extra = json!({"service_tier": "auto"}).as_object().unwrap().clone();
    });
    assert_eq!(asker.ask().unwrap().text, "답");
    let seen = &server.seen()[0];
    assert_eq!((&*seen.method, &*seen.target), ("POST", "/v1/messages"));
    assert_eq!(seen.header("x-api-key"), Some("sk-ant-1234"));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("authorization"), None);
    assert!(asker.client.secrets().contains(&Secret::new("sk-ant-1234")));
    let expected = json!({
        "model": "m", "max_tokens": 8192, "system": [kept(json!({"type": "text", "text": "Answer."}))],
        "messages": [{"role": "user", "content": [{"type": "text", "text": r#"{"user_question":"왜?"}"#}]}],
        "stream": false, "service_tier": "auto",
    });
    assert_eq!(seen.json(), expected);
    // What is set goes before what is written, but for who is asked and how.
    let body =
        sent_with(&super::super::asker::plain(), json!({"max_tokens": 4096, "model": "x", "stream": true}));
    assert_eq!(
        (&body["max_tokens"], &body["model"], &body["stream"]),
        (&json!(4096), &json!("m"), &json!(false))
    );
}

#[test]
fn role_s_limits_are_sent_and_a_temperature_that_is_refused_is_left_out() {
    let asked = request(RequestFrame { temperature: Some(0.5), max_tokens: Some(77), ..frame() });
    let refusal = Answer::error(400, "temperature: Extra inputs are not permitted");
    let asker = Asker::answering([refusal, words("a")]);
    asker.ask_with(&asked).unwrap();
    let [first, second] = &asker.server().seen()[..] else { panic!("two requests") };
    assert_eq!(
        (first.json()["temperature"].as_f64(), first.json()["max_tokens"].as_u64()),
        (Some(0.5), Some(77))
    );
    assert_eq!(second.json().get("temperature"), None);
}

#[test]
fn role_s_form_is_a_tool_that_must_be_called_and_its_input_is_the_reply() {
    let form = with_schema();
    let block = json!({"type": "tool_use", "id": "t", "name": "validator", "input": {"ok": true}});
    let asker = Asker::answering([Answer::json(200, &message(json!([block]), "tool_use"))]);
    let reply = asker.ask_with(&form).unwrap();
    assert_eq!((&*reply.text, reply.tool_calls.len()), (r#"{"ok":true}"#, 0));
    let body = asker.server().seen()[0].json();
    assert_eq!(body["tools"][0]["name"], "validator");
    assert_eq!(Some(&body["tools"][0]["input_schema"]), form.frame.schema.as_ref());
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "validator"}));
    assert_eq!(body["system"][0]["text"], "Answer.");
}

#[test]
fn form_is_told_in_words_where_the_server_refuses_it_or_the_model_thinks() {
    let refusal = Answer::error(400, "tools.0.custom.input_schema: JSON schema is invalid");
    let asker = Asker::answering([refusal, words(r#"{"ok":true}"#)]);
    assert_eq!(asker.ask_with(&with_schema()).unwrap().text, r#"{"ok":true}"#);
    // What worked is remembered.
    asker.ask_with(&with_schema()).unwrap();
    let seen = asker.server().seen();
    let in_words = |body: &Value| {
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
        assert!(
            body["system"][0]["text"].as_str().unwrap().contains("It must conform to this JSON schema:\n{")
        );
    };
    assert_eq!(seen.len(), 3);
    seen[1..].iter().for_each(|seen| in_words(&seen.json()));
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let warm = request(RequestFrame { temperature: Some(1.0), ..(*with_schema().frame).clone() });
    let body = sent_with(&warm, thinking.clone());
    in_words(&body);
    assert_eq!((body.get("temperature"), &body["max_tokens"]), (None, &json!(10_192)));
    assert_eq!(body["thinking"], thinking["thinking"]);
    let server = Server::answering([words("{}")]);
    let told = Asker::with(&server, |config| config.structured_output = StructuredOutput::Prompt);
    told.ask_with(&with_schema()).unwrap();
    in_words(&server.seen()[0].json());
}

#[test]
fn tools_are_offered_with_their_parameters() {
    let body = sent(&native(Vec::new()));
    let expected = json!([
        {"name": "wiki", "description": "Searches an encyclopedia.", "input_schema": tools()[0].parameters()},
        {"name": "weather", "description": "날씨를 본다.", "input_schema": tools()[1].input},
    ]);
    assert_eq!((&body["tools"], &body["tool_choice"]), (&expected, &json!({"type": "auto"})));
    let none = request(RequestFrame { role: RoleName::Planner, native_calls: true, ..frame() });
    assert_eq!(sent(&none).get("tools"), None);
}

#[test]
fn results_of_calls_made_together_and_the_note_after_them_are_one_message() {
    let thought = json!({"type": "thinking", "thinking": "둘 다 본다.", "signature": "c2ln"});
    let sealed = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    // Another server's reasoning is none of this one's.
    let foreign = json!({"type": "reasoning", "id": "rs_1"});
    let calls = vec![
        call("call_1", "wiki", json!({"input": "서울"})),
        call("call_2", "weather", json!({"city": "부산"})),
    ];
    let conversation = vec![
        asks("찾아본다.", calls, vec![thought.clone(), sealed.clone(), foreign]),
        result("call_1", "한양"),
        result("call_2", "맑음"),
        Message::User { content: r#"{"missing_info":"연도"}"#.to_owned() },
        asks("", Vec::new(), Vec::new()),
        Message::User { content: "{}".to_owned() },
    ];
    let body = sent(&native(conversation));
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": r#"{"user_question":"왜?"}"#}]},
        {"role": "assistant", "content": [
            thought, sealed, {"type": "text", "text": "찾아본다."},
            {"type": "tool_use", "id": "call_1", "name": "wiki", "input": {"input": "서울"}},
            {"type": "tool_use", "id": "call_2", "name": "weather", "input": {"city": "부산"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "한양"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "맑음"},
            {"type": "text", "text": r#"{"missing_info":"연도"}"#},
            kept(json!({"type": "text", "text": "{}"})),
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

/// A repair as the prompt renders it: what the model said, and what is wrong with it.
fn repair(reply: &str) -> Message {
    let note = json!({"repair": {"your_reply": reply, "error": "$: unfit", "instruction": "Again."}});
    Message::User { content: note.to_string() }
}

#[test]
fn calls_that_must_be_repaired_are_answered_with_what_is_wrong() {
    let problem = r#"{"repair":{"error":"$: unfit","instruction":"Again."}}"#;
    let body = sent(&native(vec![repair("찾는다.\nbrowser({\"input\":\"a\"})")]));
    let expected = json!([
        {"role": "assistant", "content": [
            {"type": "text", "text": "찾는다."},
            {"type": "tool_use", "id": "bad_1", "name": "browser", "input": {"input": "a"}},
        ]},
        {"role": "user", "content": [kept(json!({
            "type": "tool_result", "tool_use_id": "bad_1", "content": problem, "is_error": true,
        }))]},
    ]);
    assert_eq!(body["messages"].as_array().unwrap()[1..], *expected.as_array().unwrap());
    for (reply, said) in [("그냥 답한다.", "그냥 답한다."), ("", "Noted.")] {
        let body = sent(&native(vec![repair(reply)]));
        assert_eq!(body["messages"][1]["content"], json!([{"type": "text", "text": said}]));
        assert_eq!(body["messages"][2]["content"], json!([kept(json!({"type": "text", "text": problem}))]));
    }
}

#[test]
fn model_that_thinks_rests_where_its_calls_come_without_their_thoughts() {
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let thought = json!({"type": "thinking", "thinking": "…", "signature": "c2ln"});
    let turn = |reasoning: Vec<Value>| {
        vec![asks("", vec![call("call_1", "wiki", json!({"input": "x"}))], reasoning), result("call_1", "y")]
    };
    let on = |conversation| sent_with(&native(conversation), thinking.clone())["thinking"]["type"].clone();
    assert_eq!(on(turn(vec![thought.clone()])), "enabled");
    assert_eq!(on(turn(Vec::new())), "disabled");
    assert_eq!(on([turn(Vec::new()), turn(vec![thought.clone()])].concat()), "enabled");
    // Another server's signature is refused, and thoughts do not go back from then on.
    let refusal = Answer::error(400, "messages.1.content.0: Invalid `signature` in `thinking` block");
    let server = Server::answering([refusal, words("a")]);
    let asker = Asker::with(&server, |config| config.extra = thinking.as_object().unwrap().clone());
    asker.ask_with(&native(turn(vec![thought]))).unwrap();
    let seen: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    let begins: Vec<&Value> = seen.iter().map(|body| &body["messages"][1]["content"][0]["type"]).collect();
    assert_eq!(begins, ["thinking", "tool_use"]);
    assert_eq!(seen[1]["thinking"]["type"], "disabled");
    // No other error is taken for such a refusal.
    let asker = Asker::answering([Answer::error(400, "An encrypted file is no document.")]);
    failed(asker.ask_with(&native(Vec::new())), FailureClass::BadRequest);
    assert_eq!(asker.server().count(), 1);
}

#[test]
fn server_that_refuses_tools_or_a_long_prompt_is_believed() {
    let refuse = |message: &str| {
        Asker::answering([Answer::json(
            400,
            &json!({
                "type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_7",
            }),
        )])
    };
    let asker = refuse("prompt is too long: 210000 tokens > 200000 maximum");
    failed(asker.ask(), FailureClass::ContextLength);
    let asker = refuse("tools.0.custom: Invalid schema: Circular reference detected in schema definitions");
    failed(asker.ask_with(&native(Vec::new())), FailureClass::BadRequest);
    assert_eq!(asker.server().count(), 1, "the tools are not dropped");
}
