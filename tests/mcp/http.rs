//! Servers behind an address: streamable HTTP over the one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright::ports::{Tool, ToolErrorKind};
use planwright::spec::McpServer;
use planwright_http::Network;
use planwright_mcp::Server;
use serde_json::{Value, json};

use crate::stage::{call, call_within, expect_alive, open};
use crate::support::{Answer, Seen, Server as Http};

fn find(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("tok-12345678".to_owned()),
        "TENANT" => Some("north".to_owned()),
        _ => None,
    }
}

fn server(http: &Http) -> Arc<Server> {
    let definition = McpServer {
        url: Some(format!("{}/mcp", http.origin())),
        bearer_token_env: Some("TOKEN".to_owned()),
        headers: [("x-tenant".to_owned(), "TENANT".to_owned())].into(),
        ..McpServer::default()
    };
    Arc::new(Server::new("hostile", &definition, &Network::default(), &find).unwrap())
}

fn result(seen: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.json()["id"], "result": result})
}

/// What a decent server answers; a call as `answer` says.
fn decent(seen: &Seen, answer: impl Fn(&str) -> Option<Answer>) -> Answer {
    if seen.method == "DELETE" {
        return Answer::body(200, "text/plain", "");
    }
    let asked = seen.json();
    match asked["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let begun = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "h", "version": "1"}});
            Answer::json(200, &result(seen, &begun)).header("mcp-session-id", "session-1")
        }
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            let tool = json!({"name": "echo", "description": "Says it back.", "inputSchema": schema, "annotations": {"readOnlyHint": true}});
            Answer::json(200, &result(seen, &json!({"tools": [tool]})))
        }
        "tools/call" => {
            let text = asked["params"]["arguments"]["text"].as_str().unwrap_or_default().to_owned();
            let said = json!({"content": [{"type": "text", "text": text}]});
            answer(&text).unwrap_or_else(|| Answer::json(200, &result(seen, &said)))
        }
        _ => Answer::body(202, "text/plain", ""),
    }
}

fn tools_of(http: &Http) -> Vec<Arc<dyn Tool>> {
    open(&server(http))
}

#[test]
fn a_session_carries_token_headers_and_what_the_server_named() {
    let http = Http::start(|seen, _| decent(seen, |_| None));
    let tools = tools_of(&http);
    expect_alive(&tools);
    assert!(tools[0].secrets().iter().any(|secret| secret.expose() == "tok-12345678"));
    drop(tools);
    let seen = http.seen();
    assert!(seen.iter().all(|seen| seen.header("authorization") == Some("Bearer tok-12345678")));
    assert!(seen.iter().all(|seen| seen.header("x-tenant") == Some("north")));
    let call =
        seen.iter().find(|seen| seen.method == "POST" && seen.json()["method"] == "tools/call").unwrap();
    let named = ["mcp-session-id", "mcp-protocol-version"].map(|name| call.header(name));
    assert_eq!(named, [Some("session-1"), Some("2025-06-18")]);
    let last = seen.last().unwrap();
    assert_eq!(
        (&*last.method, last.header("mcp-session-id")),
        ("DELETE", Some("session-1")),
        "the session is ended"
    );
}

#[test]
fn an_answer_may_come_as_a_stream_and_one_that_breaks_off_fails_its_call_alone() {
    let http = Http::start(|seen, _| {
        let note = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"working\"}}\n\n";
        let id = serde_json::from_slice::<Value>(&seen.body).unwrap_or_default()["id"].clone();
        let said = json!({"content": [{"type": "text", "text": "흐름"}]});
        let said = json!({"jsonrpc": "2.0", "id": id, "result": said});
        decent(seen, |text| match text {
            "stream" => Some(Answer::chunks([note.to_owned(), format!(": alive\n\ndata: {said}\n\n")])),
            "break" => Some(Answer::broken_chunks([note])),
            "end" => Some(Answer::chunks([note])),
            "html" => Some(Answer::body(200, "text/html", "<p>hello</p>")),
            "large" => Some(Answer::json(200, &json!({"text": "x".repeat(9 << 20)}))),
            "large stream" => Some(Answer::chunks([format!("data: {}\n\n", "x".repeat(9 << 20))])),
            "unavailable" => Some(Answer::error(503, "no \u{1b}room for tok-12345678")),
            "refused" => Some(Answer::error(400, "no such header")),
            "hang" => Some(Answer::silence()),
            _ => None,
        })
    });
    let tools = tools_of(&http);
    assert_eq!(call(&tools, "stream").unwrap().text, "흐름");
    for text in ["break", "end", "html"] {
        let error = call(&tools, text).unwrap_err();
        assert!(error.kind == ToolErrorKind::Response && error.may_have_happened(), "{text}: {error}");
        expect_alive(&tools);
    }
    for text in ["large", "large stream"] {
        let error = call(&tools, text).unwrap_err();
        assert_eq!(error.message, "the server's answer was dropped: larger than 8 MiB");
        assert!(error.may_have_happened());
    }
    let error = call(&tools, "unavailable").unwrap_err();
    assert!(error.kind == ToolErrorKind::Http && error.may_have_happened(), "{error}");
    assert!(error.message.starts_with("the server answered with status 503: "), "{error}");
    assert!(!error.message.contains("tok-") && !error.message.contains('\u{1b}'), "{error}");
    let error = call(&tools, "refused").unwrap_err();
    assert!(!error.may_have_happened() && error.message.contains("no such header"), "{error}");
    let error = call_within(&tools, "hang", Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    expect_alive(&tools);
}

#[test]
fn a_session_that_the_server_has_forgotten_is_begun_again() {
    let forgets = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&forgets);
    let http = Http::start(move |seen, _| {
        decent(seen, |text| {
            let first = text == "안녕" && counter.fetch_add(1, Ordering::SeqCst) == 0;
            first.then(|| Answer::error(404, "no such session"))
        })
    });
    let tools = tools_of(&http);
    expect_alive(&tools);
    let begun = http
        .seen()
        .iter()
        .filter(|seen| seen.method == "POST" && seen.json()["method"] == "initialize")
        .count();
    assert_eq!((begun, forgets.load(Ordering::SeqCst)), (2, 2));
}

#[test]
fn an_address_that_cannot_be_reached_or_refuses_says_what_to_do() {
    let http = Http::start(|_, _| Answer::error(401, "who are you?"));
    let error = server(&http).list().unwrap_err();
    assert!(error.message.contains("status 401") && error.message.contains("bearer_token_env"), "{error}");
    let dead = McpServer { url: Some("http://127.0.0.1:9/mcp".to_owned()), ..McpServer::default() };
    let dead = Server::new("hostile", &dead, &Network::default(), &find).unwrap();
    let error = dead.list().unwrap_err();
    assert!(!error.may_have_happened());
    assert!(error.message.starts_with("the server cannot be used: Connection refused"), "{error}");
    let moved = Http::start(|_, _| Answer::error(308, "").header("location", "https://new.example/mcp"));
    let error = server(&moved).list().unwrap_err();
    let told = "status 308, a redirect to https://new.example/mcp: set `url` to where the server is";
    assert!(error.message.contains(told), "{error}");
    let short = |name: &str| Some(if name == "TOKEN" { "Bearer abc" } else { "north" }.to_owned());
    let definition = server(&moved).definition().clone();
    let error = Server::new("hostile", &definition, &Network::default(), &short).err().unwrap();
    assert!(
        error.contains("TOKEN") && error.contains("at least 8 bytes") && !error.contains("abc"),
        "{error}"
    );
    let wrong = McpServer { url: Some("files:///etc".to_owned()), ..McpServer::default() };
    let error = Server::new("hostile", &wrong, &Network::default(), &find).err().unwrap();
    assert!(error.starts_with("[mcp.hostile]: expected an address"), "{error}");
}
