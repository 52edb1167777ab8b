//! Promises of the tools `wiki` and `lookup`.

use planwright::contract::Source;
use planwright::ports::{Tool, ToolError, ToolOutput};
use planwright_http::{Lookup, MediaWiki, Network, Retry, Wiki};
use serde_json::{Value, json};

use super::call;
use super::support::{Answer, Server};

fn ask(tool: &dyn Tool, text: &str) -> Result<String, ToolError> {
    ask_whole(tool, text).map(|output| output.text)
}

fn ask_whole(tool: &dyn Tool, text: &str) -> Result<ToolOutput, ToolError> {
    tool.call(&call(&json!(text)))
}

/// Asks `wiki` where the service answers so.
fn wiki(answer: Value) -> Result<String, ToolError> {
    let server = Server::answering([Answer::json(200, &answer)]);
    ask(&Wiki(MediaWiki::at(&server.origin()).unwrap()), "state machine")
}

/// Asks `lookup` where the service answers so, one after the other.
fn lookup(title: &str, answers: &[Value]) -> Result<String, ToolError> {
    let server = Server::answering(answers.iter().map(|answer| Answer::json(200, answer)));
    let retry = Retry { tries: 1, ..Retry::default() };
    let said = ask(&Lookup(MediaWiki::at(&server.origin()).unwrap().retry(retry)), title);
    assert_eq!(server.count(), answers.len());
    said
}

#[track_caller]
fn check_error(said: Result<String, ToolError>, kind: &str, message: &str) {
    let error = said.unwrap_err();
    assert_eq!(error.kind.to_string().as_str(), kind, "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn each_article_that_is_shown_is_a_source_with_its_address() {
    let page = |title: &str, n: u32, text: &str| json!({"title": title, "index": n, "extract": text});
    let pages = [page("A b?", 1, "One."), page("유한", 2, &"가".repeat(2000)), page("C", 3, "Unseen.")];
    let server = Server::answering([Answer::json(200, &json!({"query": {"pages": pages}}))]);
    let host = Some("127.0.0.1".to_owned());
    let source = |title: &str, name: &str| {
        let url = Some(format!("{}/w/index.php?title={name}", &server.origin()));
        Source { title: title.to_owned(), document: host.clone(), part: None, url }
    };
    let output = ask_whole(&Wiki(MediaWiki::at(&server.origin()).unwrap()), "state").unwrap();
    assert_eq!(output.sources, [source("A b?", "A_b%3F"), source("유한", "%EC%9C%A0%ED%95%9C")]);
    assert!(!output.text.contains("Page: C"));

    let page = json!({"query": {"pages": [{"title": "Finite-state machine", "extract": "E"}]}});
    let lookups = Server::answering([Answer::json(200, &page)]);
    let output = ask_whole(&Lookup(MediaWiki::at(&lookups.origin()).unwrap()), "FSM").unwrap();
    let url = Some(format!("{}/w/index.php?title=Finite-state_machine", &lookups.origin()));
    let title = "Finite-state machine".to_owned();
    assert_eq!(output.sources, [Source { title, document: host, part: None, url }]);
}

#[test]
fn summaries_come_in_the_order_of_the_search_and_are_cut_at_a_character() {
    let second = json!({"pageid": 1, "title": "B", "index": 2, "extract": "Two.\n\nMore of two."});
    let first = json!({"pageid": 9, "title": "A", "index": 1, "extract": "One."});
    let expected = "Page: A\nSummary: One.\n\nPage: B\nSummary: Two.\nMore of two.";
    assert_eq!(wiki(json!({"query": {"pages": [second, first]}})).unwrap(), expected);
    // As older installations write it.
    assert_eq!(wiki(json!({"query": {"pages": {"1": second, "9": first}}})).unwrap(), expected);
    let page = |n| json!({"title": "제목", "index": n, "extract": "가".repeat(1500)});
    let said = wiki(json!({"query": {"pages": [page(1), page(2), page(3)]}})).unwrap();
    assert_eq!(said.chars().count(), 2000);
    assert!(said.starts_with("Page: 제목\nSummary: 가"));
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
fn address_may_leave_out_the_end() {
    let server = Server::answering([Answer::json(200, &json!({}))]);
    for (end, target) in
        [("", "/w/api.php?"), ("/", "/w/api.php?"), ("/w/", "/w/api.php?"), ("/api.php", "/api.php?")]
    {
        ask(&Wiki(MediaWiki::at(&format!("{}{end}", server.origin())).unwrap()), "a").unwrap();
        let seen = server.seen().pop().unwrap();
        assert!(seen.target.starts_with(target), "{end:?}: {}", seen.target);
    }
    for wrong in ["", "a.org", "ftp://a.org", "https://", "http://me:secret@a.org"] {
        let error = MediaWiki::at(wrong).unwrap_err();
        assert!(error.kind.to_string().as_str() == "input" && !error.message.contains("secret"), "{error}");
    }
}

#[test]
fn what_is_sent_is_whole_in_the_language_of_its_script() {
    let server = Server::answering([Answer::json(200, &json!({}))]);
    let tool = Wiki(MediaWiki::at(&format!("{}/w/api.php", &server.origin())).unwrap());
    ask(&tool, " 상태 a&b=c#d ").unwrap();
    let seen = &server.seen()[0];
    let words = "%EC%83%81%ED%83%9C%20a%26b%3Dc%23d";
    assert!(seen.method == "GET" && seen.target.starts_with("/w/api.php?"), "{seen:?}");
    assert!(seen.target.contains(&format!("gsrsearch={words}&")), "{seen:?}");
    assert_eq!(seen.header("authorization"), None);
    check_error(ask(&tool, "  "), "input", "found an empty text");
    let server = Server::answering([Answer::json(200, &json!({}))]);
    let tool = Wiki(MediaWiki::at(&format!("{}/{{lang}}/w/api.php", &server.origin())).unwrap());
    ask(&tool, "state machine").unwrap();
    ask(&tool, "유한 상태 기계").unwrap();
    let targets: Vec<String> = server.seen().into_iter().map(|seen| seen.target).collect();
    let starts = [targets[0].starts_with("/en/w/api.php?"), targets[1].starts_with("/ko/w/api.php?")];
    assert_eq!(starts, [true, true], "{targets:?}");
}

#[test]
fn an_article_is_found_by_its_title_or_what_is_near_is_proposed() {
    let page = json!({"title": "Finite-state machine", "extract": "가".repeat(5000)});
    let said = lookup("FSM", &[json!({"query": {"redirects": [{"from": "FSM"}], "pages": [page]}})]).unwrap();
    assert!(said.starts_with("Page: Finite-state machine\n가"));
    assert_eq!(said.chars().count(), 4000);
    let missing = json!({"query": {"pages": [{"title": "Fnite", "missing": true}]}});
    let near = json!({"query": {"search": [{"title": "Finite"}, {"title": "유한"}]}});
    for (near, says) in [
        (near, r#""Fnite"; near it are "Finite", "유한""#),
        (json!({}), r#"no article has the title "Fnite""#),
        (json!({"error": {}}), r#""Fnite""#),
    ] {
        check_error(lookup("Fnite", &[missing.clone(), near]), "not_found", says);
    }
}

#[test]
fn what_cannot_be_a_title_is_refused_unasked() {
    let server = Server::answering([Answer::json(200, &json!({}))]);
    let tool = Lookup(MediaWiki::at(&server.origin()).unwrap());
    for title in ["A|B", "A#B", "{{x}}", "[x]", "<b>", ""] {
        assert_eq!(ask(&tool, title).unwrap_err().kind.to_string(), "input", "{title:?}");
    }
    assert_eq!(server.count(), 0);
    let invalid =
        json!({"query": {"pages": [{"title": "..", "invalid": true, "invalidreason": "relative"}]}});
    check_error(lookup("..", &[invalid]), "input", "relative");
    let textless = json!({"query": {"pages": [{"title": "A"}]}});
    check_error(lookup("A", &[textless]), "response", "gives no text");
}

#[test]
fn an_answer_that_stops_amid_its_body_is_not_waited_for_as_long_as_the_whole_call() {
    let server = Server::answering([Answer::broken_chunks([r#"{"query": "#]).hanging()]);
    let network = Network { idle_timeout: Some(std::time::Duration::from_millis(300)), ..Network::default() };
    let wiki = MediaWiki::at(&server.origin()).unwrap().retry(Retry { tries: 1, ..Retry::default() });
    let wiki = Wiki(wiki.through(&network).unwrap());
    check_error(ask(&wiki, "state"), "timeout", "nothing more of the answer within 300ms");
}
