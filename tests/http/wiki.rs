//! Promises of the tools `wiki` and `lookup`.

use crate::tools_server;

use std::time::Duration;

use planwright::contract::Source;
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};
use planwright_http::retry::Retry;
use planwright_http::{Lookup, Wiki};
use serde_json::{Value, json};
use tools_server::{Server, says};

fn ask(tool: &dyn Tool, text: &str) -> Result<String, ToolError> {
    call(tool, text).map(|output| output.text)
}

fn call(tool: &dyn Tool, text: &str) -> Result<ToolOutput, ToolError> {
    let input = json!(text);
    let timeout = Some(Duration::from_secs(60));
    tool.call(&ToolCall {
        input: &input,
        idempotency_key: "run/1",
        timeout,
        max_output_bytes: 20_000,
        once: false,
    })
}

/// Asks `wiki` where the service answers so.
fn wiki(answer: Value) -> Result<String, ToolError> {
    let server = Server::new(vec![says(200, &answer.to_string())]);
    ask(&Wiki::at(&server.url()).unwrap(), "state machine")
}

/// Asks `lookup` where the service answers so, one after the other.
fn lookup(title: &str, answers: &[Value]) -> Result<String, ToolError> {
    let server = Server::new(answers.iter().map(|answer| says(200, &answer.to_string())).collect());
    let said = ask(&Lookup::at(&server.url()).unwrap().retry(Retry::default().tries(1)), title);
    assert_eq!(server.asked().len(), answers.len());
    said
}

#[track_caller]
fn check_error(said: Result<String, ToolError>, kind: &str, message: &str) {
    let error = said.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn summaries_come_in_the_order_of_the_search() {
    let second = json!({"pageid": 1, "title": "B", "index": 2, "extract": "Two.\n\nMore of two."});
    let first = json!({"pageid": 9, "title": "A", "index": 1, "extract": "One."});
    let expected = "Page: A\nSummary: One.\n\nPage: B\nSummary: Two.\nMore of two.";
    assert_eq!(wiki(json!({"query": {"pages": [second, first]}})).unwrap(), expected);
    // As older installations write it.
    assert_eq!(wiki(json!({"query": {"pages": {"1": second, "9": first}}})).unwrap(), expected);
}

#[test]
fn summaries_are_cut_at_a_character() {
    let page = |n| json!({"title": "제목", "index": n, "extract": "가".repeat(1500)});
    let said = wiki(json!({"query": {"pages": [page(1), page(2), page(3)]}})).unwrap();
    assert_eq!(said.chars().count(), 2000);
    assert!(said.starts_with("Page: 제목\nSummary: 가"));
}

#[test]
fn each_article_that_is_shown_is_a_source_with_its_address() {
    let page = |title: &str, n: u32, text: &str| json!({"title": title, "index": n, "extract": text});
    let pages = [page("A b?", 1, "One."), page("유한", 2, &"가".repeat(2000)), page("C", 3, "Unseen.")];
    let server = Server::new(vec![says(200, &json!({"query": {"pages": pages}}).to_string())]);
    let host = Some("127.0.0.1".to_owned());
    let source = |title: &str, name: &str| {
        let url = Some(format!("{}/w/index.php?title={name}", server.url()));
        Source { title: title.to_owned(), document: host.clone(), part: None, url }
    };
    let output = call(&Wiki::at(&server.url()).unwrap(), "state").unwrap();
    assert_eq!(output.sources, [source("A b?", "A_b%3F"), source("유한", "%EC%9C%A0%ED%95%9C")]);
    assert!(!output.text.contains("Page: C"));

    let page = json!({"query": {"pages": [{"title": "Finite-state machine", "extract": "E"}]}});
    let lookups = Server::new(vec![says(200, &page.to_string())]);
    let output = call(&Lookup::at(&lookups.url()).unwrap(), "FSM").unwrap();
    let url = Some(format!("{}/w/index.php?title=Finite-state_machine", lookups.url()));
    let title = "Finite-state machine".to_owned();
    assert_eq!(output.sources, [Source { title, document: host, part: None, url }]);
    assert_eq!(call(&Wiki::at(&Server::new(vec![says(200, "{}")]).url()).unwrap(), "x").unwrap().sources, []);
}

#[test]
fn nothing_found_is_said() {
    assert_eq!(wiki(json!({"batchcomplete": true})).unwrap(), "No article was found.");
    assert_eq!(wiki(json!({"query": {"pages": []}})).unwrap(), "No article was found.");
    let no_extract = json!({"query": {"pages": [{"title": "A", "index": 1}]}});
    assert_eq!(wiki(no_extract).unwrap(), "Page: A\nSummary: ");
}

#[test]
fn what_the_service_refuses_is_told() {
    let refusal = json!({"error": {"code": "badvalue", "info": "Unrecognized value"}});
    check_error(wiki(refusal.clone()), "api", "Unrecognized value (badvalue)");
    check_error(lookup("A", &[refusal]), "api", "Unrecognized value");
    check_error(wiki(json!([1])), "response", "expected a JSON object");
}

#[test]
fn words_and_titles_are_sent_whole() {
    let server = Server::new(vec![says(200, "{}")]);
    let tool = Wiki::at(&format!("{}/w/api.php", server.url())).unwrap();
    ask(&tool, " 상태 a&b=c#d ").unwrap();
    let asked = &server.asked()[0];
    let words = "%EC%83%81%ED%83%9C%20a%26b%3Dc%23d";
    assert!(asked.line.starts_with("GET /w/api.php?"), "{}", asked.line);
    assert!(asked.line.contains(&format!("gsrsearch={words}&")), "{}", asked.line);
    assert!(asked.header("user-agent").unwrap().starts_with("planwright/"));
    assert_eq!(asked.header("authorization"), None);
    check_error(ask(&tool, "  "), "input", "found an empty text");
}

#[test]
fn the_script_of_the_words_chooses_the_language() {
    let server = Server::new(vec![says(200, "{}")]);
    let tool = Wiki::at(&format!("{}/{{lang}}/w/api.php", server.url())).unwrap();
    ask(&tool, "state machine").unwrap();
    ask(&tool, "유한 상태 기계").unwrap();
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    assert!(
        lines[0].starts_with("GET /en/w/api.php?") && lines[1].starts_with("GET /ko/w/api.php?"),
        "{lines:?}"
    );
}

#[test]
fn an_article_is_found_by_its_title_and_cut() {
    let page = json!({"title": "Finite-state machine", "extract": "가".repeat(5000)});
    let said = lookup("FSM", &[json!({"query": {"redirects": [{"from": "FSM"}], "pages": [page]}})]).unwrap();
    assert!(said.starts_with("Page: Finite-state machine\n가"));
    assert_eq!(said.chars().count(), 4000);
}

#[test]
fn a_missing_title_proposes_what_is_near() {
    let missing = json!({"query": {"pages": [{"title": "Fnite", "missing": true}]}});
    let near = json!({"query": {"search": [{"title": "Finite"}, {"title": "유한"}]}});
    check_error(
        lookup("Fnite", &[missing.clone(), near]),
        "not_found",
        "\"Fnite\"; near it are \"Finite\", \"유한\"",
    );
    check_error(
        lookup("Fnite", &[missing.clone(), json!({})]),
        "not_found",
        "no article has the title \"Fnite\"",
    );
    check_error(lookup("Fnite", &[missing, json!({"error": {}})]), "not_found", "\"Fnite\"");
}

#[test]
fn what_cannot_be_a_title_is_refused_unasked() {
    let server = Server::new(vec![says(200, "{}")]);
    let tool = Lookup::at(&server.url()).unwrap();
    for title in ["A|B", "A#B", "{{x}}", "[x]", "<b>", ""] {
        assert_eq!(ask(&tool, title).unwrap_err().kind, "input", "{title:?}");
    }
    assert_eq!(server.asked().len(), 0);
    let invalid =
        json!({"query": {"pages": [{"title": "..", "invalid": true, "invalidreason": "relative"}]}});
    check_error(lookup("..", &[invalid]), "input", "relative");
    let textless = json!({"query": {"pages": [{"title": "A"}]}});
    check_error(lookup("A", &[textless]), "response", "gives no text");
}
