//! The service as clients of the Model Context Protocol see it, over stdin and over HTTP. The official client and the
//! conformance suite are in `tests/clients`; here is what they cannot ask for.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::Service;
use super::keys::make_key;
use crate::cli_support::store::{is_in_doubt, wants_approval};
use crate::cli_support::{Home, check};
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN};

/// A client that has started the program and speaks the protocol with sessions.
pub struct Host {
    pub process: Child,
    pub stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    sent: u64,
}

impl Host {
    pub fn start(home: &Home, args: &[&str], capabilities: Value) -> Self {
        let mut program = home.program();
        program.args(["mcp", "serve"]).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = program.spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let mut host = Host { process, stdin, stdout, sent: 0 };
        let client = json!({"name": "test", "version": "1"});
        let begin =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        assert_eq!(host.ask("initialize", begin)["serverInfo"]["name"], "planwright");
        host.send(&json!({"method": "notifications/initialized"}));
        host
    }

    pub fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        self.write(&format!("{message}\n"));
    }

    pub fn write(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The next message. Nothing else is ever written to stdout.
    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        self.send(&json!({"id": self.sent, "method": method, "params": params}));
        self.sent
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let reply = self.hear();
        assert_eq!(reply["id"], id, "{reply}");
        reply["result"].clone()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and answers the form that it is asked with.
    pub fn call_with_form(&mut self, arguments: Value, said: Value) -> (Value, Value) {
        let id = self.begin("tools/call", json!({"name": "validated", "arguments": arguments}));
        let form = self.hear();
        assert_eq!(form["method"], "elicitation/create", "{form}");
        self.send(&json!({"id": form["id"], "result": said}));
        let reply = self.hear();
        assert_eq!(reply["id"], id, "{reply}");
        (form["params"].clone(), reply["result"].clone())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Looks until something is there; not without an end.
#[track_caller]
pub fn poll<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not come");
}

pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn approval_is_a_form_and_nothing_but_its_word_approves() {
    let home = Home::new();
    wants_approval(&home, "송금");
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let ask = json!({"question": "?", "thread_id": "송금"});
    for content in [json!({"decision": "maybe"}), json!({}), json!({"approve": true}), json!("approve")] {
        let said = json!({"action": "accept", "content": content});
        let (form, result) = host.call_with_form(ask.clone(), said);
        let schema = &form["requestedSchema"];
        assert_eq!(schema["properties"]["decision"]["enum"], json!(["approve", "reject"]), "{form}");
        assert_eq!(schema["required"], json!(["decision"]));
        assert!(result["isError"] == true && text(&result).starts_with("$.decision"), "{result}");
    }
    let (_, waits) = host.call_with_form(ask.clone(), json!({"action": "cancel"}));
    let token = waits["structuredContent"]["token"].clone();
    assert_eq!(waits["structuredContent"]["status"], "waiting_human");
    let unnamed = host.call("answer", json!({"thread_id": "송금", "approve": true}));
    assert!(unnamed["isError"] == true && text(&unnamed).contains("expected the token"), "{unnamed}");
    let (_, done) = host.call_with_form(ask, json!({"action": "accept", "content": {"decision": "approve"}}));
    assert_eq!(done["structuredContent"]["status"], "completed", "{done}");
    let late = host.call("answer", json!({"thread_id": "송금", "approve": true, "token": token}));
    assert!(text(&late).contains("answered before"), "{late}");
}

#[test]
fn write_in_doubt_is_asked_about_and_resolved() {
    let home = Home::new();
    is_in_doubt(&home, "form");
    is_in_doubt(&home, "answer");
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let said = json!({"action": "decline"});
    let ask = json!({"question": "?", "thread_id": "form"});
    let (form, waits) = host.call_with_form(ask.clone(), said);
    assert!(form["message"].as_str().unwrap().starts_with("in doubt: "), "{form}");
    assert_eq!(waits["structuredContent"]["status"], "in_doubt", "to decline says nothing of a write");
    let said = json!({"action": "accept", "content": {"decision": "happened", "text": "42"}});
    let (_, done) = host.call_with_form(ask, said);
    assert!(!["in_doubt", ""].contains(&done["structuredContent"]["status"].as_str().unwrap()), "{done}");
    drop(host);
    let mut host = Host::start(&home, &["--offline"], json!({}));
    let waits = host.call("validated", json!({"question": "?", "thread_id": "answer"}));
    let told = &waits["structuredContent"];
    assert_eq!(told["answers"], json!(["happened", "did_not_happen", "stop"]), "{waits}");
    let both = json!({"thread_id": "answer", "token": told["token"], "happened": "42", "stop": "x"});
    assert!(text(&host.call("answer", both)).contains("found happened and stop"));
    let stop = json!({"thread_id": "answer", "token": told["token"], "stop": "그만"});
    let done = host.call("answer", stop);
    assert!(done["structuredContent"]["status"] == "failed" && done["isError"] == true, "{done}");
}

#[test]
fn cancelled_call_ends_its_run_and_the_thread_takes_the_next_question() {
    let home = Home::new();
    let (model, was_asked, may_answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut host = Host::start(&home, &["--base-url", &url, "--model", "m"], json!({}));
    let ask = json!({"name": "validated", "arguments": {"question": "345*872?", "thread_id": "합"}});
    let id = host.begin("tools/call", ask);
    was_asked.recv().unwrap();
    host.send(&json!({"method": "notifications/cancelled", "params": {"requestId": id}}));
    drop(may_answer);
    // The run ends at its next record, and nothing is answered to the call.
    let next = poll(|| {
        let next = host.call("validated", json!({"question": "7*6?", "thread_id": "합"}));
        Some(next).filter(|next| !text(next).contains("is being run already"))
    });
    assert_eq!(next["structuredContent"]["turn"], 2, "{next}");
    let shown = home.check(&["threads", "show", "합", "--json"], 0).json();
    assert_eq!(shown["turns"][0]["status"], "failed", "{shown}");
    assert!(shown["turns"][0]["error"].as_str().unwrap().starts_with("CANCELLED"), "{shown}");
}

#[test]
fn stdin_that_closes_ends_the_process_and_what_runs_can_be_gone_on_with() {
    let home = Home::new();
    let (model, was_asked, _may_answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut host = Host::start(&home, &["--base-url", &url, "--model", "m"], json!({}));
    host.begin("tools/call", json!({"name": "validated", "arguments": {"question": "?", "thread_id": "t"}}));
    was_asked.recv().unwrap();
    drop(host.stdin.take());
    assert_eq!(host.process.wait().unwrap().code(), Some(0));
    let shown = home.check(&["threads", "show", "t", "--json"], 0).json();
    assert_eq!(shown["turns"][0]["status"], "unfinished", "{shown}");
    let model = Server::answering([PLAN, GOOD, "It is 300840."].map(Answer::reply));
    let url = model.url();
    let mut host = Host::start(&home, &["--base-url", &url, "--model", "m"], json!({}));
    let refused = host.call("validated", json!({"question": "?", "thread_id": "t"}));
    assert!(text(&refused).contains(r#"{"thread_id":"t","resume":true}"#), "{refused}");
    let told = &refused["structuredContent"];
    assert!(refused["isError"] == true && told["answers"] == json!(["resume"]), "{refused}");
    assert!(!refused.to_string().contains("/threads/"), "{refused}");
    let done = host.call("answer", json!({"thread_id": "t", "token": "", "resume": true}));
    assert_eq!((text(&done), &done["structuredContent"]["turn"]), ("It is 300840.", &json!(1)), "{done}");
    let told = std::process::Command::new("kill").args(["-TERM", &host.process.id().to_string()]).status();
    assert!(told.unwrap().success() && host.process.wait().unwrap().code() == Some(0));
    // A process that is not spoken to ends as well, and one that is spoken to otherwise says what it expects.
    check(home.program().args(["mcp", "serve", "--offline"]), "", 0).prints_nothing();
    let odd = "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n";
    check(home.program().args(["mcp", "serve", "--offline"]), odd, 2)
        .complains(&["the first message is no request\n", "a program that speaks MCP"]);
}

#[test]
fn garbage_and_floods_on_stdin_cost_their_own_line_alone() {
    let home = Home::new();
    let mut host = Host::start(&home, &["--offline"], json!({}));
    for (line, code, id) in [
        ("not json", -32700, json!(null)),
        (r#"{"id": 7, "method": "\ud800"}"#, -32700, json!(null)),
        (&"x".repeat(2 << 20), -32600, json!(null)),
        ("[]", -32600, json!(null)),
        (r#"{"jsonrpc": "2.0", "id": 7}"#, -32600, json!(7)),
        (
            r#"{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "validated", "arguments": []}}"#,
            -32602,
            json!(8),
        ),
        ("\n{}", -32600, json!(null)),
    ] {
        host.write(&format!("{line}\n"));
        let refused = host.hear();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(code)), "{line:.40}: {refused}");
    }
    let id =
        host.begin("tools/call", json!({"name": "validated", "arguments": {"question": "12*7은 얼마야?"}}));
    let reply = host.hear();
    assert_eq!(reply["id"], id);
    assert!(text(&reply["result"]).contains("84"), "{reply}");
}

/// Sends a message as a client of the newest protocol does, or within a session. Gives the status, the session and
/// the reply.
pub fn post(service: &Service, key: &str, session: Option<&str>, message: &Value) -> (u16, String, Value) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request = ureq::http::Request::post(format!("{}/mcp", service.address))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", format!("Bearer {key}"));
    let request = session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
    let request = match message["params"]["_meta"].is_object() {
        true => request
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", message["method"].as_str().unwrap())
            .header("mcp-name", message["params"]["name"].as_str().unwrap_or_default()),
        false => request,
    };
    let mut response = agent.run(request.body(message.to_string()).unwrap()).unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let opened = headers.get("mcp-session-id").map_or("", |id| id.to_str().unwrap()).to_owned();
    let body = response.body_mut().read_to_string().unwrap();
    let last =
        body.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| data.starts_with('{'));
    (status, opened, serde_json::from_str(last.unwrap_or(&body)).unwrap_or_default())
}

/// A message of the newest protocol, which has no sessions.
pub fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn call(service: &Service, key: &str, tool: &str, arguments: &Value) -> Value {
    let (status, _, reply) =
        post(service, key, None, &message("tools/call", json!({"name": tool, "arguments": arguments})));
    assert_eq!(status, 200, "{reply}");
    reply["result"].clone()
}

#[test]
fn call_over_http_is_made_for_the_key_of_its_request() {
    let home = Home::new();
    let [asks, answers] =
        ["run", "run,answer"].map(|may| make_key(&home, &may.replace(',', "-"), &["--may", may]));
    wants_approval(&home, "run-answer:송금");
    let log = home.path("log");
    let args = ["--offline", "--log", "debug"];
    let service = Service::start_with(home.program(), &args, std::fs::File::create(&log).unwrap());
    let names = |key: &str| {
        let listed = post(&service, key, None, &message("tools/list", json!({}))).2;
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(!names(&asks).contains(&"answer".to_owned()) && names(&answers).contains(&"answer".to_owned()));
    let ask = json!({"question": "비밀 12*7?", "thread_id": "t"});
    let done = call(&service, &asks, "validated", &ask);
    assert_eq!(done["structuredContent"]["thread_id"], "t", "{done}");
    assert!(!done.to_string().contains("run:t"), "{done}");
    assert_eq!(
        call(&service, &answers, "validated", &ask)["structuredContent"]["turn"],
        1,
        "a thread of its own"
    );
    let refused = call(&service, &asks, "answer", &json!({"thread_id": "송금", "approve": true}));
    assert!(text(&refused).contains("the key may not answer"), "{refused}");
    let other =
        call(&service, &answers, "answer", &json!({"thread_id": "none", "response": "x", "token": "0"}));
    assert!(other["isError"] == true && text(&other).contains("no thread none"), "{other}");
    assert!(!other.to_string().contains("run-answer:"), "{other}");
    let (status, _, problem) = post(&service, "wrong", None, &message("tools/list", json!({})));
    assert_eq!((status, &problem["type"]), (401, &json!("urn:planwright:no-key")));
    // What a client sends back with a form is believed no more than a call.
    let token = call(&service, &answers, "validated", &json!({"question": "?", "thread_id": "송금"}));
    let token = token["structuredContent"]["token"].clone();
    let state = json!({"thread_id": "송금", "token": token, "form": "approval", "tool": "validated"});
    let state = state.to_string();
    let said = json!({"answer": {"action": "accept", "content": {"decision": "approve"}}});
    let retry = json!({"name": "validated", "arguments": {}, "requestState": state, "inputResponses": said});
    let retry = message("tools/call", retry);
    let refused = post(&service, &asks, None, &retry).2;
    assert!(text(&refused["result"]).contains("may not answer"), "{refused}");
    // It is of the tool and the thread that asked, and of no other.
    for (field, other) in [("name", json!("supervised")), ("arguments", json!({"thread_id": "t"}))] {
        let mut elsewhere = retry.clone();
        elsewhere["params"][field] = other;
        let refused = post(&service, &answers, None, &elsewhere).2;
        assert!(text(&refused["result"]).contains("found that of another"), "{refused}");
    }
    let done = post(&service, &answers, None, &retry).2;
    assert_eq!(done["result"]["structuredContent"]["status"], "completed", "{done}");
    drop(service);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("비밀") && !log.contains(&asks), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str, field: &str, value: &str| {
        let found = lines.iter().find(|line| line["message"] == kind && line[field] == value);
        found.unwrap_or_else(|| panic!("no {kind} with {field} {value}: {log}")).clone()
    };
    let run = of("run", "thread", "run:t");
    let request = of("request", "request_id", run["request_id"].as_str().unwrap());
    assert_eq!((&request["path"], &request["method"]), (&json!("/mcp"), &json!("POST")), "{request}");
}

#[test]
fn sessions_are_bounded_and_each_is_of_one_key() {
    let home = Home::new();
    let [alice, bob] = ["alice", "bob"].map(|name| make_key(&home, name, &["--may", "run,answer"]));
    let service = Service::start(&home, &["--offline"]);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let open = |key: &str| {
        let (status, session, reply) = post(&service, key, None, &begin);
        assert!(status == 200 && !session.is_empty(), "{reply}");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(&service, key, Some(&session), &ready).0, 202);
        session
    };
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let [first, other] = [open(&alice), open(&bob)];
    assert_eq!(post(&service, &alice, Some(&first), &ping).2["result"], json!({}));
    let (status, _, problem) = post(&service, &bob, Some(&first), &ping);
    assert_eq!((status, &problem["type"]), (404, &json!("urn:planwright:no-such-session")));
    let opened: Vec<String> = (0..32).map(|_| open(&alice)).collect();
    let last = &opened[31];
    assert_eq!(
        post(&service, &alice, Some(&first), &ping).0,
        404,
        "that which was used longest ago has ended"
    );
    assert_eq!(post(&service, &bob, Some(&other), &ping).0, 200, "that of another key has not");
    let headers = [("authorization", &*format!("Bearer {alice}")), ("mcp-session-id", last)];
    assert_eq!(service.send("DELETE", "/mcp", "", &headers).0, 204);
    assert_eq!(post(&service, &alice, Some(last), &ping).0, 404);
}

#[test]
fn client_of_the_newest_protocol_that_hangs_up_has_cancelled() {
    let home = Home::new();
    let (model, was_asked, may_answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let service = Service::start(&home, &["--base-url", &url, "--model", "m"]);
    let ask = json!({"name": "validated", "arguments": {"question": "345*872?", "thread_id": "t"}});
    let body = message("tools/call", ask).to_string();
    let mut stream = TcpStream::connect(service.address.replace("http://", "")).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
                Mcp-Method: tools/call\r\nMcp-Name: validated\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    was_asked.recv().unwrap();
    drop((stream, may_answer));
    let turn = poll(|| {
        let turn = service.get("/threads/t", 200)["turns"][0].clone();
        Some(turn).filter(|turn| turn["status"] != "running")
    });
    assert!(turn["error"].as_str().unwrap().starts_with("CANCELLED"), "{turn}");
}
