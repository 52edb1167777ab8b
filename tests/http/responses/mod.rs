//! The client of OpenAI's Responses against real servers on loopback.

use planwright::driver::Agent;
use planwright::machine::{FailureClass, ModelReply, Usage};
use planwright::ports::{Cause, FnTool, ModelError};
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::{RequestFrame, RoleName};
use planwright_http::Responses;
use serde_json::{Value, json};

use super::asker::{config, failed, frame, request, unanswered, with_schema};
use super::support::{Answer, Server};

type Asker = super::asker::Asker<Responses>;

/// A response as the server would put it.
fn response(status: &str, output: Value) -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": status, "error": null, "incomplete_details": null,
        "model": "m-2026-01-01", "output": output,
        "usage": {
            "input_tokens": 20, "input_tokens_details": {"cached_tokens": 16}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 25,
        },
    })
}

const COST: Usage = Usage {
    input_tokens: 20,
    output_tokens: 5,
    cached_tokens: 16,
    cache_written_tokens: 0,
    estimated_tokens: 0,
};

fn says(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
        {"type": "output_text", "text": text, "annotations": []},
    ]})
}

fn calls(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments})
}

fn thinks(seal: Option<&str>) -> Value {
    let summary = json!([{"type": "summary_text", "text": "둘 다 본다."}]);
    json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": seal})
}

fn words(text: &str) -> Answer {
    Answer::json(200, &response("completed", json!([says(text)])))
}

fn events(events: impl IntoIterator<Item = Value>) -> Answer {
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    Answer::chunks(events.into_iter().map(event).collect::<Vec<_>>())
}

fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text})
}

/// A request that offers a tool, after this conversation.
fn native(conversation: Vec<Message>) -> ModelRequest {
    let tools = vec![planwright::agents::tool("calc").unwrap()];
    let frame = RequestFrame { role: RoleName::Planner, tools, native_calls: true, ..frame() };
    ModelRequest { conversation, ..request(frame) }
}

#[track_caller]
fn ask_once(answer: Answer) -> Result<ModelReply, ModelError> {
    let asker = Asker::answering([answer]);
    let outcome = asker.ask();
    assert_eq!(asker.server().count(), 1, "an answer is an answer");
    outcome
}

#[test]
fn request_holds_everything_and_nothing_is_stored() {
    let asker = Asker::answering([words("답")]);
    let reply = asker.ask().unwrap();
    assert_eq!((&*reply.text, &*reply.model, reply.usage), ("답", "m", COST));
    let seen = &asker.server().seen()[0];
    assert_eq!(seen.target, "/v1/responses");
    let expected = json!({
        "model": "m", "instructions": "Answer.", "store": false, "stream": false,
        "input": [{"role": "user", "content": r#"{"user_question":"왜?"}"#}],
    });
    assert_eq!(seen.json(), expected);
}

#[test]
fn form_is_asked_for_as_strictly_as_the_server_takes_it() {
    let refusal =
        |what: &str| Answer::error(400, &format!("text.format {what} is not supported with this model"));
    let asker = Asker::answering([refusal("json_schema"), refusal("json_object"), words(r#"{"ok":true}"#)]);
    assert_eq!(asker.ask_with(&with_schema()).unwrap().text, r#"{"ok":true}"#);
    let seen: Vec<Value> = asker.server().seen().iter().map(|seen| seen.json()).collect();
    let schema = with_schema().frame.schema.clone();
    let strict = json!({"type": "json_schema", "name": "validator", "strict": true, "schema": schema});
    assert_eq!(seen[0]["text"]["format"], strict);
    assert_eq!(seen[1]["text"]["format"], json!({"type": "json_object"}));
    assert_eq!(seen[2].get("text"), None);
    assert!(seen[2]["instructions"].as_str().unwrap().contains("It must conform to this JSON schema"));
}

#[test]
fn calls_and_sealed_reasoning_go_back_in_their_order() {
    let calc = planwright::agents::tool("calc").unwrap();
    let seal = thinks(Some("c2VhbA=="));
    let output =
        json!([seal, calls("a", "calc", "{\"input\":\"1+1\"}"), calls("b", "calc", "{\"input\":\"2+2\"}")]);
    let server = Server::answering([Answer::json(200, &response("completed", output)), words("2와 4.")]);
    let spec = planwright::agents::shipped("react").unwrap().with_tools(|tool| tool.name == "calc");
    let tool = FnTool::new(calc.clone(), |_| Ok("2".to_owned()));
    let agent =
        Agent::builder(spec).model(Responses::new(config(&server)).unwrap()).tool(tool).build().unwrap();
    assert_eq!(agent.run("1+1, 2+2?").unwrap().answer(), Some("2와 4."));

    let [first, second] = &server.seen().iter().map(|seen| seen.json()).collect::<Vec<_>>()[..] else {
        panic!("two rounds")
    };
    let tool = &first["tools"][0];
    assert_eq!(
        (&tool["type"], &tool["name"], &tool["parameters"]),
        (&json!("function"), &json!("calc"), &calc.parameters())
    );
    assert_eq!(
        (&first["tool_choice"], &first["include"]),
        (&json!("auto"), &json!(["reasoning.encrypted_content"]))
    );
    let input = second["input"].as_array().unwrap();
    assert_eq!(input[0], first["input"][0]);
    assert_eq!(input[1], seal);
    let call = |nth: usize| {
        (input[nth]["type"].clone(), input[nth]["call_id"].clone(), input[nth]["arguments"].clone())
    };
    assert_eq!(call(2), (json!("function_call"), json!("call_1"), json!("{\"input\":\"1+1\"}")));
    assert_eq!(call(3), (json!("function_call"), json!("call_2"), json!("{\"input\":\"2+2\"}")));
    let answered: Vec<&Value> = input[4..].iter().map(|item| &item["call_id"]).collect();
    assert_eq!(answered, ["call_1", "call_2"]);
}

#[test]
fn model_without_sealed_reasoning_is_asked_without_it_from_then_on() {
    let refusal = Answer::error(400, "Encrypted content is not supported with this model.");
    let asker = Asker::answering([refusal, words("답")]);
    asker.ask_with(&native(Vec::new())).unwrap();
    asker.ask_with(&native(Vec::new())).unwrap();
    let seen = asker.server().seen();
    let sealed: Vec<bool> = seen.iter().map(|seen| seen.json().get("include").is_some()).collect();
    assert_eq!(sealed, [true, false, false]);
    // Nor is the same sent back that was refused: another server sealed it.
    let refusal = Answer::error(400, "The encrypted content for item rs_1 could not be verified.");
    let asker = Asker::answering([refusal, words("답")]);
    let call = Call { id: "call_1".to_owned(), name: "calc".to_owned(), arguments: json!({"input": "1"}) };
    let reasoning = vec![thinks(Some("c2VhbA=="))];
    let said = Message::Assistant { text: String::new(), calls: vec![call], reasoning };
    asker.ask_with(&native(vec![said])).unwrap();
    let sent = |seen: &[Value]| seen.iter().map(|item| item["type"] == "reasoning").collect::<Vec<_>>();
    let seen = asker.server().seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(sent(seen[0].json()["input"].as_array().unwrap()), [false, true, false]);
    assert_eq!(sent(seen[1].json()["input"].as_array().unwrap()), [false, false]);
    // A request that asked for none of it is not put again.
    let asker = Asker::answering([Answer::error(400, "An encrypted file is no document.")]);
    failed(asker.ask(), FailureClass::BadRequest);
    assert_eq!(asker.server().count(), 1);
    // What is not sealed is not sent back: nothing is stored under its name.
    let output = json!([thinks(None), calls("a", "calc", "")]);
    let reply = ask_once(Answer::json(200, &response("completed", output))).unwrap();
    assert_eq!(
        (&*reply.thoughts, reply.reasoning.len(), &*reply.tool_calls[0].arguments),
        ("둘 다 본다.", 0, "{}")
    );
}

#[test]
fn repair_and_another_server_s_thoughts_make_a_sound_list() {
    let call = Call { id: "call_1".to_owned(), name: "calc".to_owned(), arguments: json!({"input": "1"}) };
    let foreign = vec![json!({"type": "thinking", "thinking": "…", "signature": "s"})];
    let note = |reply: &str| Message::User {
        content: json!({"repair": {"your_reply": reply, "error": "$: unfit"}}).to_string(),
    };
    let asker = Asker::answering([words("a")]);
    asker
        .ask_with(&native(vec![
            Message::Assistant { text: "본다.".to_owned(), calls: vec![call], reasoning: foreign },
            Message::Tool { id: "call_1".to_owned(), name: "calc".to_owned(), content: "1".to_owned() },
            note("browser({})"),
            note(""),
        ]))
        .unwrap();
    let problem = r#"{"repair":{"error":"$: unfit"}}"#;
    let expected = json!([
        {"role": "assistant", "content": "본다."},
        {"type": "function_call", "call_id": "call_1", "name": "calc", "arguments": "{\"input\":\"1\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "function_call", "call_id": "bad_1", "name": "browser", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "bad_1", "output": problem},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": problem},
    ]);
    let body = asker.server().seen()[0].json();
    assert_eq!(body["input"].as_array().unwrap()[1..], *expected.as_array().unwrap());
}

#[test]
fn stream_gives_its_words_as_they_come_and_its_last_event_is_the_reply() {
    let whole = response("completed", json!([says("하나 둘"), calls("a", "calc", "{}")]));
    let stream = [
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": says("")}),
        delta("하나 "),
        json!({"type": "an.event.yet.to.come"}),
        delta("둘"),
        json!({"type": "response.output_item.done", "output_index": 0, "item": says("하나 둘")}),
        json!({"type": "response.completed", "response": whole}),
    ];
    // Nothing after the end is waited for.
    let (pieces, outcome) = Asker::answering([events(stream.clone()).hanging()]).stream();
    let reply = outcome.unwrap();
    assert_eq!(
        (pieces, &*reply.text, reply.usage),
        (vec!["하나 ".to_owned(), "둘".to_owned()], "하나 둘", COST)
    );
    assert_eq!(reply.tool_calls[0].name, "calc");
    // A server whose last event does not repeat the items.
    let mut bare = stream.to_vec();
    bare[6]["response"]["output"] = json!([]);
    assert_eq!(Asker::answering([events(bare)]).stream().1.unwrap().text, "하나 둘");
    let cut = events(stream[..5].to_vec());
    let error = unanswered(Asker::answering([cut]).ask(), Cause::BadResponse);
    assert!(error.message.contains("the stream ended before the reply did"), "{error}");
}

#[test]
fn every_end_of_a_response_has_its_meaning() {
    let incomplete = |reason: &str, output: Value| {
        let mut body = response("incomplete", output);
        body["incomplete_details"] = json!({"reason": reason});
        body
    };
    let Err(ModelError::Failed(cut)) =
        ask_once(Answer::json(200, &incomplete("max_output_tokens", json!([says("반")]))))
    else {
        panic!("a cut reply is no reply")
    };
    assert_eq!((cut.class, &*cut.text, cut.usage), (FailureClass::Length, "반", COST));
    failed(
        ask_once(Answer::json(200, &incomplete("content_filter", json!([])))),
        FailureClass::ContentFilter,
    );
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "그건 안 된다."}]}]);
    let refused = failed(ask_once(Answer::json(200, &response("completed", refusal))), FailureClass::Refusal);
    assert_eq!(refused, "그건 안 된다.");
}

#[test]
fn error_inside_a_stream_is_what_it_says() {
    let broken = |code: &str| {
        let mut body = response("failed", json!([]));
        body["error"] = json!({"code": code, "message": "그 서버의 말"});
        events([delta("반"), json!({"type": "response.failed", "response": body})])
    };
    for (code, cause) in [("server_error", Cause::Server), ("rate_limit_exceeded", Cause::RateLimit)] {
        let error = unanswered(Asker::answering([broken(code)]).ask(), cause);
        assert_eq!(error.tries, 6, "{code}");
        let plain = json!({"type": "error", "code": code, "message": "그 서버의 말", "param": null});
        let error = unanswered(Asker::answering([events([plain])]).ask(), cause);
        assert!(error.message.contains("그 서버의 말"), "{error}");
    }
    let whole = json!({"type": "response.completed", "response": response("completed", json!([says("답")]))});
    assert_eq!(Asker::answering([broken("server_error"), events([whole])]).ask().unwrap().text, "답");
}
