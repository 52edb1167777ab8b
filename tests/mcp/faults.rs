//! What a server does wrong hurts the call at hand and no other.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use planwright::ports::{ToolCall, ToolErrorKind};
use planwright::spec::McpServer;
use serde_json::json;

use crate::stage::{call, call_within, expect_alive, open, server, server_of};

#[test]
fn what_a_server_writes_beside_the_protocol_does_not_matter() {
    for fault in ["garbage", "huge", "stderr"] {
        expect_alive(&open(&server(fault, None)));
    }
}

#[test]
fn floods_doubles_and_answers_to_nobody_hurt_no_call() {
    let tools = open(&server("", None));
    for text in ["flood", "twice", "ask"] {
        assert_eq!(call(&tools, text).unwrap().text, text);
        expect_alive(&tools);
    }
    let error = call_within(&tools, "other id", Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    expect_alive(&tools);
}

#[test]
fn an_answer_that_is_too_large_or_none_fails_its_call_at_once_and_says_why() {
    let tools = open(&server("", None));
    for (text, why) in [
        ("huge", "larger than 8 MiB"),
        ("huge, with the id behind it", "larger than 8 MiB"),
        ("both", "expected either a result or an error in it"),
        ("neither", "expected either a result or an error in it"),
    ] {
        let error = call_within(&tools, text, Duration::from_secs(3600)).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Response);
        assert_eq!(error.message, format!("the server's answer was dropped: {why}"));
        expect_alive(&tools);
    }
    let error = call_within(&tools, "huge without an end", Duration::from_secs(2)).unwrap_err();
    assert!(error.kind == ToolErrorKind::Timeout && error.message.contains("larger than 8 MiB"), "{error}");
}

#[test]
fn a_call_that_is_not_answered_ends_in_time_and_the_server_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let tools = open(&server("", Some(&told)));
    let error = call_within(&tools, "hang", Duration::from_millis(200)).unwrap_err();
    assert!(error.kind == ToolErrorKind::Timeout && error.may_have_happened(), "{error}");
    expect_alive(&tools);
    assert_eq!(std::fs::read_to_string(&told).unwrap(), "cancelled");
}

#[test]
fn a_call_that_nobody_waits_for_ends_at_once() {
    let tools = open(&server("", None));
    let (input, abandoned) = (json!({"text": "hang"}), AtomicBool::new(true));
    let time = Some(Duration::from_secs(3600));
    let call = ToolCall { abandoned: &abandoned, timeout: time, ..ToolCall::new(&input, "run/step.1") };
    assert!(tools[0].call(&call).is_err(), "it ends long before its time");
}

#[test]
fn a_server_that_dies_is_started_again_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let tools = open(&server("starts", Some(&starts)));
    let started = || std::fs::read_to_string(&starts).unwrap().lines().count();
    for nth in 1..=5 {
        let word = if nth % 2 == 0 { "die in a word" } else { "die" };
        let error = call(&tools, word).unwrap_err();
        assert!(error.kind == ToolErrorKind::Connection && error.may_have_happened(), "{error}");
        assert!(nth % 2 == 1 || error.message.contains("out of paper"), "{error}");
        assert_eq!(started(), nth);
    }
    let error = call(&tools, "x").unwrap_err();
    assert!(!error.may_have_happened() && error.message.contains("5 times within a minute"), "{error}");
    assert_eq!(started(), 5);
}

#[test]
fn a_server_that_never_begins_is_given_up() {
    let never = planwright_mcp::Server::new(
        "hostile",
        &crate::stage::definition("silent", None),
        &planwright_http::Network::default(),
        &|_| None,
    );
    let never = never.unwrap().start_time(Duration::from_millis(300));
    let error = never.list().unwrap_err();
    assert!(error.message.contains("did not begin within 0.3 s") && !error.may_have_happened(), "{error}");
    let nothing = McpServer { command: Some("true".to_owned()), ..McpServer::default() };
    let error = server_of(&nothing).list().unwrap_err();
    assert_eq!(error.message, "the server cannot be used: it ended before it had begun");
}

#[test]
fn a_list_without_an_end_is_refused() {
    let error = server("endless", None).list().unwrap_err();
    assert!(error.message.contains("at most 50 pages"), "{error}");
}

#[test]
fn results_are_text_with_links_and_data_and_pictures_are_refused_by_name() {
    let tools = open(&server("", None));
    let mixed = call(&tools, "mixed").unwrap();
    let lines: Vec<&str> = mixed.text.lines().collect();
    assert_eq!(
        lines,
        [
            r"see\u{202e} this\u{1b}[2J",
            "a.md <file:///a.md>",
            "inside b",
            "[left out, because only text is read: an image (image/png)]",
        ]
    );
    let sources: Vec<_> = mixed.sources.iter().filter_map(|source| source.url.as_deref()).collect();
    assert_eq!(sources, ["file:///a.md", "file:///b.md"]);
    let structured = call(&tools, "structured").unwrap();
    assert_eq!(structured.text, r#"{"sum":21,"of":["\u{200b}a"]}"#);
    assert_eq!(structured.data, Some(json!({"sum": 21, "of": [r"\u{200b}a"]})));
    let failures = [
        ("picture", ToolErrorKind::Response, true, "expected text, found an image (image/png)"),
        ("fails", ToolErrorKind::Internal, true, r"the tool failed: no such \u{1b}page"),
        ("refuses", ToolErrorKind::Input, false, "the server refused: no such argument (-32602)"),
    ];
    for (text, kind, may_have_happened, message) in failures {
        let error = call(&tools, text).unwrap_err();
        assert_eq!(
            (&error.kind, error.may_have_happened(), &*error.message),
            (&kind, may_have_happened, message)
        );
    }
}
