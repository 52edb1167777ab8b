//! What is sent where tools are offered natively, and where a conversation goes on.

use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::machine::FailureClass;
use planwright::ports::{FnTool, ModelError};
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::{RequestFrame, RoleName};
use planwright_http::{OpenAi, StructuredOutput};
use serde_json::{Value, json};

use super::support::{Answer, Server};
use super::{Asker, config, failed, frame, request};

fn tools() -> Vec<ToolContract> {
    let mut weather = ToolContract::text("weather", "날씨를 본다.", ToolEffect::Read);
    weather.input = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    });
    vec![ToolContract::text("wiki", "Searches an encyclopedia.", ToolEffect::Read), weather]
}

/// A request that offers two tools.
fn native() -> ModelRequest {
    request(RequestFrame { role: RoleName::Planner, tools: tools(), native_calls: true, ..frame() })
}

fn sent(request: &ModelRequest) -> Value {
    let server = Server::answering([Answer::reply("a")]);
    Asker::of(&server).ask_with(request).unwrap();
    server.seen()[0].json()
}

#[test]
fn tools_are_offered_with_their_parameters_and_no_form_is_asked_for() {
    let schema = Some(json!({"type": "object"}));
    let asked = request(RequestFrame { schema, ..(*native().frame).clone() });
    for setting in [StructuredOutput::Auto, StructuredOutput::JsonSchema, StructuredOutput::Prompt] {
        let server = Server::answering([Answer::reply("a")]);
        Asker::with(&server, |config| config.structured_output = setting).ask_with(&asked).unwrap();
        let body = server.seen()[0].json();
        let [wiki, weather] = &tools()[..] else { unreachable!("there are two") };
        let expected = json!([
            {"type": "function", "function": {
                "name": "wiki", "description": "Searches an encyclopedia.", "parameters": wiki.parameters(),
            }},
            {"type": "function", "function": {
                "name": "weather", "description": "날씨를 본다.", "parameters": weather.input,
            }},
        ]);
        assert_eq!(body["tools"], expected);
        assert_eq!(body["tool_choice"], "auto");
        assert_eq!(body.get("response_format"), None);
        assert_eq!(body["messages"][0]["content"], "Answer.");
    }
}

#[test]
fn without_native_calls_or_tools_there_is_no_list_of_tools() {
    for (tools, native_calls) in [(tools(), false), (Vec::new(), true)] {
        let body = sent(&request(RequestFrame { tools, native_calls, ..frame() }));
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    }
}

fn call(id: &str, name: &str, arguments: Value) -> Call {
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

#[test]
fn conversation_follows_the_payload_in_its_order() {
    let result = |id: &str, content: &str| Message::Tool {
        id: id.to_owned(),
        name: "wiki".to_owned(),
        content: content.to_owned(),
    };
    let conversation = vec![
        Message::Assistant {
            text: String::new(),
            reasoning: Vec::new(),
            calls: vec![
                call("call_1", "wiki", json!({"input": "서울의 \"옛\" 이름"})),
                call("call_2", "weather", json!({"city": "부산"})),
            ],
        },
        result("call_1", r#"{"status":"completed","output":"한양"}"#),
        result("call_2", r#"{"status":"failed","output":"timeout"}"#),
        Message::User { content: r#"{"missing_info":"연도"}"#.to_owned() },
        Message::Assistant {
            text: "더 찾는다.".to_owned(),
            calls: vec![call("call_3", "wiki", json!({"input": "한양 천도"}))],
            reasoning: Vec::new(),
        },
        result("call_3", "{}"),
    ];
    let body = sent(&ModelRequest { conversation, ..native() });
    let asked = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "system", "content": "Answer."},
        {"role": "user", "content": r#"{"user_question":"왜?"}"#},
        {"role": "assistant", "content": null, "tool_calls": [
            asked("0000call1", "wiki", r#"{"input":"서울의 \"옛\" 이름"}"#),
            asked("0000call2", "weather", r#"{"city":"부산"}"#),
        ]},
        {"role": "tool", "tool_call_id": "0000call1", "content": r#"{"status":"completed","output":"한양"}"#},
        {"role": "tool", "tool_call_id": "0000call2", "content": r#"{"status":"failed","output":"timeout"}"#},
        // Where roles must alternate, a user message follows words of the assistant.
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": r#"{"missing_info":"연도"}"#},
        {"role": "assistant", "content": "더 찾는다.", "tool_calls": [
            asked("0000call3", "wiki", r#"{"input":"한양 천도"}"#),
        ]},
        {"role": "tool", "tool_call_id": "0000call3", "content": "{}"},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn conversation_in_words_alone_needs_no_native_calls() {
    let conversation = vec![
        Message::Assistant {
            text: "Action: wiki[서울]".to_owned(),
            calls: Vec::new(),
            reasoning: Vec::new(),
        },
        Message::User { content: "Observation: 수도".to_owned() },
        Message::Assistant { text: String::new(), calls: Vec::new(), reasoning: Vec::new() },
    ];
    let body = sent(&ModelRequest { conversation, ..super::plain() });
    let expected = json!([
        {"role": "assistant", "content": "Action: wiki[서울]"},
        {"role": "user", "content": "Observation: 수도"},
        {"role": "assistant", "content": ""},
    ]);
    assert_eq!(body["messages"].as_array().unwrap()[2..], *expected.as_array().unwrap());
}

/// A repair as the prompt renders it: what the model said, and what is wrong with it.
fn repair(reply: &str) -> Message {
    let note = json!({"repair": {"your_reply": reply, "error": "$: unfit", "instruction": "Again."}});
    Message::User { content: note.to_string() }
}

const PROBLEM: &str = r#"{"repair":{"error":"$: unfit","instruction":"Again."}}"#;

/// The roles of the messages after the first user message, and those messages.
fn check_alternates(request: ModelRequest) -> Vec<Value> {
    let messages = sent(&request)["messages"].as_array().unwrap()[2..].to_vec();
    let mut last = "user".to_owned();
    for message in &messages {
        let role = message["role"].as_str().unwrap();
        let follows = match role {
            "user" => last == "assistant",
            "assistant" => last != "assistant",
            _ => last != "user",
        };
        assert!(follows, "{role} after {last}");
        role.clone_into(&mut last);
    }
    messages
}

#[test]
fn calls_that_must_be_repaired_are_answered_with_what_is_wrong() {
    let reply = "찾아본다.\nbrowser({\"input\":\"a (b)\"})\nwiki({})";
    let messages = check_alternates(ModelRequest { conversation: vec![repair(reply)], ..native() });
    let asked = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": PROBLEM});
    let calls = [asked("00000bad1", "browser", r#"{"input":"a (b)"}"#), asked("00000bad2", "wiki", "{}")];
    let said = json!({"role": "assistant", "content": "찾아본다.", "tool_calls": calls});
    assert_eq!(messages, [said, result("00000bad1"), result("00000bad2")]);
}

#[test]
fn repair_is_no_second_user_message_in_a_row() {
    // Words, nothing, and calls that no server takes: arguments that are no JSON, a name that is none.
    for reply in ["그냥 답한다.", "", "wiki({\"input\": ", "<function=wiki>({})", "wiki([1])"] {
        let messages = check_alternates(ModelRequest { conversation: vec![repair(reply)], ..native() });
        let said = if reply.is_empty() { "Noted." } else { reply };
        assert_eq!(messages[0], json!({"role": "assistant", "content": said}));
        assert_eq!(messages[1], json!({"role": "user", "content": PROBLEM}));
        let calls = vec![call("call_1", "wiki", json!({"input": "x"}))];
        let result = Message::Tool { id: "call_1".into(), name: "wiki".into(), content: "{}".into() };
        let note = Message::User { content: "{}".to_owned() };
        let asked = Message::Assistant { text: String::new(), calls, reasoning: Vec::new() };
        let conversation = vec![asked, result, note.clone(), note, repair(reply)];
        check_alternates(ModelRequest { conversation, ..native() });
    }
    // Where no tools are offered, calls are words.
    let messages =
        check_alternates(ModelRequest { conversation: vec![repair("wiki({})")], ..super::plain() });
    assert_eq!(messages[0]["content"], "wiki({})");
}

/// The server takes no tools: that is its answer, and the request is not put without them.
#[test]
fn bad_call_among_several_is_answered_in_its_place_and_the_run_goes_on() {
    let asks = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls =
        [asks("a", "weather forecast", "{\"day\":\"내일\"}"), asks("b", "calc", "{\"input\":\"1+1\"}")];
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let choice = json!({"index": 0, "finish_reason": "tool_calls", "message": message});
    let server =
        Server::answering([Answer::json(200, &json!({"choices": [choice]})), Answer::reply("2 입니다.")]);
    let spec = planwright::agents::shipped("react").unwrap().with_tools(|tool| tool.name == "calc");
    let calc = FnTool::new(planwright::agents::tool("calc").unwrap(), |_| Ok("2".to_owned()));
    let agent = Agent::builder(spec).model(OpenAi::new(config(&server)).unwrap()).tool(calc).build().unwrap();
    assert_eq!(agent.run("1+1?").unwrap().answer(), Some("2 입니다."));

    let messages = server.seen()[1].json()["messages"].clone();
    let [.., asked, refused, found] = &messages.as_array().unwrap()[..] else { panic!("{messages}") };
    assert_eq!(
        asked["tool_calls"][0]["function"],
        json!({
            "name": "weather_forecast", "arguments": "{\"day\":\"내일\"}",
        })
    );
    let content = refused["content"].as_str().unwrap();
    assert!(content.contains("expected one of calc, found \\\"weather forecast\\\""), "{content}");
    assert!(found["content"].as_str().unwrap().contains("\"completed\""), "{found}");
    for (result, nth) in [(refused, 0), (found, 1)] {
        assert_eq!(result["tool_call_id"], asked["tool_calls"][nth]["id"]);
    }
}

#[track_caller]
fn check_refusal(status: u16, message: &str) {
    let asker = Asker::answering([Answer::error(status, message)]);
    let told = failed(asker.ask_with(&native()), FailureClass::BadRequest);
    assert!(told.contains(message), "{told}");
    assert_eq!((asker.server().count(), asker.waits().len()), (1, 0), "{message}");
}

#[test]
fn server_that_refuses_tools_is_believed_and_the_tools_are_not_dropped() {
    check_refusal(400, "tiny:latest does not support tools");
    check_refusal(400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser");
    check_refusal(400, "Unrecognized request arguments supplied: tool_choice, tools");
    check_refusal(422, "body.tools: Extra inputs are not permitted");
    check_refusal(404, "No endpoints found that support tool use.");
    check_refusal(500, "tools param requires --jinja flag");
    check_refusal(501, "function calling is not implemented");
}

#[test]
fn failure_of_a_server_that_takes_tools_passes_as_any_other() {
    let asker = Asker::answering([Answer::error(500, "Failed to parse input"), Answer::reply("a")]);
    assert_eq!(asker.ask_with(&native()).unwrap().text, "a");
    assert_eq!((asker.server().count(), asker.waits().len()), (2, 1));
    let outcome = Asker::answering([Answer::error(404, "no such model")]).ask_with(&native());
    assert!(matches!(outcome, Err(ModelError::Unanswered(_))), "{outcome:?}");
}

#[test]
fn a_tool_with_a_dot_in_its_name_goes_out_under_a_name_that_servers_take_and_comes_back_under_its_own() {
    let mut tools = tools();
    tools[0].name = "files.read".to_owned();
    let frame = RequestFrame { role: RoleName::Planner, tools, native_calls: true, ..frame() };
    let mut asked = request(frame);
    let call = Call { id: "call_1".into(), name: "files.read".into(), arguments: json!({"input": "가"}) };
    asked.conversation =
        vec![Message::Assistant { text: String::new(), calls: vec![call], reasoning: Vec::new() }];
    let called =
        json!([{"id": "a", "type": "function", "function": {"name": "files_read", "arguments": "{}"}}]);
    let choice = json!({"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": called}});
    let server = Server::answering([Answer::json(200, &json!({"choices": [choice]}))]);
    let reply = Asker::of(&server).ask_with(&asked).unwrap();
    assert_eq!(reply.tool_calls[0].name, "files.read");
    let body = server.seen()[0].json();
    assert_eq!(body["tools"][0]["function"]["name"], "files_read");
    let again =
        body["messages"].as_array().unwrap().iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!(again["tool_calls"][0]["function"]["name"], "files_read");
}
