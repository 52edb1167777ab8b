//! Promises of every tool that asks a web service, shown on `search` and `wiki`.

use crate::tools_server;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::ports::{Secret, Tool, ToolCall, ToolError};
use planwright_http::retry::Retry;
use planwright_http::{Search, Wiki};
use serde_json::json;
use tools_server::{Reply, Server, says};

const KEY: &str = "tvly-0123456789abcdef";
const FOUND: &str = r#"{"results":[{"title":"T","url":"https://x.org","content":"C","score":0.9}]}"#;
const WRITTEN: &str = r#"[{"title":"T","url":"https://x.org","content":"C"}]"#;

type Waits = Arc<Mutex<Vec<Duration>>>;

/// A retry policy that writes down its waits instead of waiting.
fn noted() -> (Retry, Waits) {
    let waits = Waits::default();
    let noted = waits.clone();
    (Retry::default().sleep_with(move |wait| noted.lock().unwrap().push(wait)), waits)
}

fn ask(tool: &dyn Tool, timeout: Duration) -> Result<String, ToolError> {
    let input = json!("plans");
    let call = ToolCall {
        input: &input,
        idempotency_key: "run/1",
        timeout: Some(timeout),
        max_output_bytes: 24_000,
        once: false,
    };
    tool.call(&call).map(|output| output.text)
}

fn search(url: &str) -> (Search, Waits) {
    let (retry, waits) = noted();
    (Search::new(Secret::new(KEY)).unwrap().at(url).unwrap().retry(retry), waits)
}

/// Asks a server that replies so. Checks how often it was asked; gives what the tool said and the waits.
#[track_caller]
fn check(replies: Vec<Reply>, requests: usize) -> (Result<String, ToolError>, Vec<Duration>) {
    let server = Server::new(replies);
    let (search, waits) = search(&server.url());
    let said = ask(&search, Duration::from_secs(60));
    assert_eq!(server.asked().len(), requests, "{said:?}");
    let waits = waits.lock().unwrap().clone();
    (said, waits)
}

#[track_caller]
fn check_error(replies: Vec<Reply>, requests: usize, kind: &str, message: &str) {
    let error = check(replies, requests).0.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(message), "{error}");
    assert!(!error.to_string().contains(KEY), "{error}");
}

#[test]
fn each_result_of_the_search_that_can_be_named_is_a_source_once() {
    let result = |title: &str, url: &str| json!({"title": title, "url": url, "content": "C"});
    let results = [
        result("T", "https://x.org"),
        result("T", "https://x.org"),
        result("", "https://y.org"),
        result("", ""),
        result("U", ""),
    ];
    let server = Server::new(vec![says(200, &json!({"results": results}).to_string())]);
    let input = json!("plans");
    let call = |most| ToolCall {
        input: &input,
        idempotency_key: "run/1",
        timeout: Some(Duration::from_secs(60)),
        max_output_bytes: most,
        once: false,
    };
    let (search, _) = search(&server.url());
    let sources = search.call(&call(24_000)).unwrap().sources;
    let named: Vec<(&str, Option<&str>)> =
        sources.iter().map(|source| (source.title.as_str(), source.url.as_deref())).collect();
    let expected = [("T", Some("https://x.org")), ("https://y.org", Some("https://y.org")), ("U", None)];
    assert_eq!(named, expected);
    // What was left out for want of room is no source.
    assert_eq!(search.call(&call(60)).unwrap().sources.len(), 1);
}

#[test]
fn a_refused_request_is_not_tried_again() {
    for (status, name) in [
        (400, "400 Bad Request"),
        (401, "401 Unauthorized"),
        (402, "402 Payment Required"),
        (403, "403 Forbidden"),
        (404, "404 Not Found"),
        (410, "410 Gone"),
        (418, "418"),
        (432, "432"),
    ] {
        let body = json!({"detail": {"error": "no such luck"}}).to_string();
        check_error(vec![says(status, &body)], 1, "http", &format!("answered {name}"));
        check_error(vec![says(status, &body)], 1, "http", "no such luck");
    }
}

#[test]
fn a_busy_or_failing_server_is_tried_six_times() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        check_error(vec![says(status, "")], 6, "http", "(tried 6 times)");
        check_error(vec![says(status, "busy")], 6, "http", &format!("answered {status}"));
    }
}

#[test]
fn what_may_happen_once_is_asked_for_once_and_said_not_to_be_known() {
    let broken = || Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec());
    let failing = [(says(503, ""), "unknown"), (says(429, ""), "unknown"), (broken(), "connection")];
    for (reply, kind) in failing {
        let server = Server::new(vec![reply, says(200, FOUND)]);
        let (search, waits) = search(&server.url());
        let input = json!("plans");
        let timeout = Some(Duration::from_secs(60));
        let (idempotency_key, max_output_bytes) = ("run/1", 24_000);
        let call = ToolCall { input: &input, idempotency_key, timeout, max_output_bytes, once: true };
        let error = search.call(&call).unwrap_err();
        assert_eq!((error.kind.as_str(), server.asked().len()), (kind, 1), "{error}");
        assert!(error.may_have_happened() && waits.lock().unwrap().is_empty());
    }
}

#[test]
fn a_try_that_works_ends_the_tries() {
    let broken = Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec());
    let (said, waits) = check(vec![says(503, ""), says(429, ""), broken, says(200, FOUND), says(500, "")], 4);
    assert_eq!(said.unwrap(), WRITTEN);
    assert_eq!(waits.len(), 3);
}

#[test]
fn waits_grow_and_follow_the_server_where_it_asks() {
    let (_, waits) = check(
        vec![says(500, ""), says(500, ""), says(500, "").with("retry-after", "7"), says(200, FOUND)],
        4,
    );
    let seconds: Vec<f64> = waits.iter().map(Duration::as_secs_f64).collect();
    assert!((0.25..=0.5).contains(&seconds[0]), "{seconds:?}");
    assert!((0.5..=1.0).contains(&seconds[1]), "{seconds:?}");
    assert_eq!(seconds[2], 7.0);
    assert_eq!(seconds.len(), 3);
}

#[test]
fn a_server_that_asks_for_too_long_a_wait_is_left_alone() {
    check_error(vec![says(429, "").with("retry-after", "3600")], 1, "http", "asks to wait 3600 s");
    let server = Server::new(vec![says(503, "").with("retry-after", "10")]);
    let (search, waits) = search(&server.url());
    assert_eq!(ask(&search, Duration::from_secs(5)).unwrap_err().kind, "http");
    assert_eq!(server.asked().len(), 1);
    assert!(waits.lock().unwrap().is_empty());
}

#[test]
fn a_connection_that_fails_is_tried_again() {
    // Taken and given back: nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (search, waits) = search(&format!("http://127.0.0.1:{port}"));
    let error = ask(&search, Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.kind, "connection", "{error}");
    assert!(
        error.message.contains(&format!("127.0.0.1:{port}")) && error.message.contains("tried 6 times"),
        "{error}"
    );
    assert_eq!(waits.lock().unwrap().len(), 5);
    check_error(vec![Reply::Raw(Vec::new())], 6, "connection", "127.0.0.1");
}

#[test]
fn a_server_that_does_not_finish_is_a_timeout() {
    for begun in ["", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"res"]
    {
        let server = Server::new(vec![Reply::Hangs(begun.as_bytes().to_vec())]);
        let (search, waits) = search(&server.url());
        let error = ask(&search, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.kind, "timeout", "{begun:?}: {error}");
        assert!(error.message.contains("within 300 ms"), "{error}");
        assert_eq!(server.asked().len(), 1);
        assert!(waits.lock().unwrap().is_empty());
    }
}

#[test]
fn what_is_no_json_is_a_broken_response() {
    check_error(vec![says(200, "<html>Sign in</html>")], 1, "response", "expected JSON");
    check_error(vec![says(200, "{\"results\":[")], 1, "response", "expected JSON");
    check_error(vec![says(200, "")], 1, "response", "expected JSON");
    check_error(vec![says(200, &"[".repeat(100_000))], 1, "response", "expected JSON");
    check_error(vec![Reply::Says(200, vec![], b"\xff\xfe{}".to_vec())], 1, "response", "expected JSON");
    check_error(vec![says(200, "{\"answer\":1}")], 1, "response", "expected a list \"results\"");
    check_error(vec![Reply::Raw(b"SSH-2.0-nothing\r\n\r\n".to_vec())], 1, "response", "does not speak HTTP");
}

#[test]
fn an_oversized_reply_is_refused() {
    // Announced: refused before a byte of it is there.
    let announced = Reply::Hangs(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n".to_vec());
    check_error(vec![announced], 1, "response", "expected at most 4194304 bytes");
    let unannounced = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; (4 << 20) + 1]].concat();
    check_error(vec![Reply::Raw(unannounced)], 1, "response", "expected at most 4194304 bytes");
}

#[test]
fn a_redirect_never_takes_the_key_along() {
    let other = Server::new(vec![says(200, FOUND)]);
    for status in [301, 302, 303, 307, 308] {
        for to in [format!("{}/search", other.url()), "/elsewhere".into(), "//other.example/".into()] {
            check_error(vec![says(status, "").with("location", &to)], 1, "http", "not followed");
        }
    }
    check_error(vec![says(302, "")], 1, "http", "redirects to nowhere");
    assert_eq!(other.asked().len(), 0);
}

#[test]
fn redirects_of_an_encyclopedia_stay_on_its_host() {
    let pages = r#"{"query":{"pages":[{"title":"T","extract":"E","index":1}]}}"#;
    let other = Server::new(vec![says(200, pages)]);
    let wiki = |server: &Server| Wiki::at(&server.url()).unwrap().retry(noted().0);

    let server = Server::new(vec![says(302, "").with("location", "/w/moved.php?x=1"), says(200, pages)]);
    assert_eq!(ask(&wiki(&server), Duration::from_secs(60)).unwrap(), "Page: T\nSummary: E");
    assert_eq!(server.asked()[1].line, "GET /w/moved.php?x=1 HTTP/1.1");

    let server = Server::new(vec![says(302, "").with("location", &other.url())]);
    assert_eq!(ask(&wiki(&server), Duration::from_secs(60)).unwrap_err().kind, "http");
    assert_eq!((server.asked().len(), other.asked().len()), (1, 0));

    let server = Server::new(vec![says(302, "").with("location", "/w/api.php")]);
    let error = ask(&wiki(&server), Duration::from_secs(60)).unwrap_err();
    assert!(error.message.contains("redirects more than 3 times"), "{error}");
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn an_echoed_key_is_not_told_on() {
    let echoes = [
        format!("{{\"detail\":{{\"error\":\"bad key {KEY}\"}}}}"),
        format!("bad key {KEY}"),
        // Cut in the middle of the key, half of it would be told.
        format!("{} {KEY}", "x".repeat(290)),
    ];
    for body in &echoes {
        for status in [200, 401, 500] {
            let (said, _) = check(vec![says(status, body)], if status == 500 { 6 } else { 1 });
            let error = said.unwrap_err().to_string();
            assert!(!error.contains(KEY) && !error.contains("tvly-01"), "{error}");
        }
    }
    check_error(
        vec![says(302, "").with("location", &format!("http://a.org/?k={KEY}"))],
        1,
        "http",
        "[redacted]",
    );
    let found = json!({"results": [{"title": KEY, "url": "u", "content": format!("a {KEY} b")}]}).to_string();
    let said = check(vec![says(200, &found)], 1).0.unwrap();
    assert_eq!(said, r#"[{"title":"[redacted]","url":"u","content":"a [redacted] b"}]"#);
}

#[test]
fn a_search_sends_the_key_as_a_bearer_token_and_its_name() {
    let server = Server::new(vec![says(200, FOUND)]);
    let (search, _) = search(&format!("{}/", server.url()));
    assert_eq!(ask(&search, Duration::from_secs(60)).unwrap(), WRITTEN);
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /search HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("idempotency-key"), Some("run/1"));
    assert_eq!(asked.header("user-agent"), Some(concat!("planwright/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(asked.body, r#"{"query":"plans","max_results":5}"#);
    assert_eq!(search.secrets(), [Secret::new(KEY)]);
    assert!(!format!("{search:?}").contains(KEY));
}

#[test]
fn a_search_writes_five_results_that_fit() {
    let result = json!({"title": "제목", "url": "https://x.org", "content": "가".repeat(5000)});
    let found = json!({"results": vec![result; 9]}).to_string();
    let said = check(vec![says(200, &found)], 1).0.unwrap();
    let results: Vec<serde_json::Value> = serde_json::from_str(&said).unwrap();
    assert_eq!(results.len(), 5);
    assert_eq!(results[0]["content"].as_str().unwrap().chars().count(), 1500);
    assert!(said.len() <= 24_000);
    assert_eq!(check(vec![says(200, r#"{"results":[]}"#)], 1).0.unwrap(), "[]");
    let odd = r#"{"results":[null,{"title":7}]}"#;
    let empty = r#"{"title":"","url":"","content":""}"#;
    assert_eq!(check(vec![says(200, odd)], 1).0.unwrap(), format!("[{empty},{empty}]"));
}

#[test]
fn keys_and_addresses_that_cannot_be_are_refused() {
    for key in ["", " \n", "two words", "줄\n", "a\nb"] {
        assert_eq!(Search::new(Secret::new(key)).unwrap_err().kind, "input");
    }
    for address in ["", "tavily", "ftp://x.org", "http://me:pass@x.org"] {
        let error = Search::new(Secret::new(KEY)).unwrap().at(address).unwrap_err();
        assert!(!error.message.contains("pass"), "{error}");
    }
    assert_eq!(Search::new(Secret::new("key\n")).unwrap().secrets(), [Secret::new("key")]);
}
