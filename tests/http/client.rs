//! Promises of the client that every door stands on, shown on `search` and `wiki`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use planwright::ports::{Secret, Tool, ToolCall, ToolError};
use planwright_http::{MediaWiki, Retry, Search, Wiki};
use serde_json::{Value, json};

use super::support::{Answer, DeadPort, Server};
use super::{Waits, call, noting};

const KEY: &str = "tvly-0123456789abcdef";
const FOUND: &str = r#"{"results":[{"title":"T","url":"https://x.org","content":"C","score":0.9}]}"#;
const WRITTEN: &str = r#"[{"title":"T","url":"https://x.org","content":"C"}]"#;

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Answer {
    Answer::body(status, "application/json", body)
}

/// A connection that is closed amid the body.
fn broken_off() -> Answer {
    Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
}

fn search(url: &str) -> (Search, Waits) {
    let (retry, waits) = noting();
    (Search::new(Secret::new(KEY)).unwrap().at(url).unwrap().retry(retry), waits)
}

fn ask(tool: &dyn Tool, timeout: Duration) -> Result<String, ToolError> {
    let input = json!("plans");
    tool.call(&ToolCall { timeout: Some(timeout), ..call(&input) }).map(|output| output.text)
}

/// Asks a server that answers so. Checks how often it was asked; gives what the tool returned and the waits.
#[track_caller]
fn check(answers: Vec<Answer>, requests: usize) -> (Result<String, ToolError>, Vec<Duration>) {
    let server = Server::answering(answers);
    let (search, waits) = search(&server.url());
    let outcome = ask(&search, Duration::from_secs(60));
    assert_eq!(server.count(), requests, "{outcome:?}");
    let waits = waits.lock().unwrap().clone();
    (outcome, waits)
}

#[track_caller]
fn check_error(answers: Vec<Answer>, requests: usize, kind: &str, message: &str) {
    let error = check(answers, requests).0.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(message) && error.message.contains("127.0.0.1"), "{error}");
    assert!(!error.to_string().contains(KEY), "{error}");
}

#[test]
fn refused_request_is_not_tried_again_and_a_busy_server_six_times() {
    for status in [400, 401, 402, 403, 404, 410, 418, 432, 501] {
        let body = json!({"detail": {"error": "no such luck"}}).to_string();
        check_error(vec![answer(status, body)], 1, "http", &format!("no such luck (status {status})"));
    }
    for status in [408, 429, 500, 502, 503, 504, 529] {
        let said = format!("busy (status {status}) (tried 6 times)");
        check_error(vec![answer(status, "busy")], 6, "http", &said);
    }
    let quota = json!({"error": {"code": "insufficient_quota", "message": "pay"}}).to_string();
    check_error(vec![answer(429, quota)], 1, "http", "pay (status 429)");
    check_error(vec![answer(404, "<html>Nothing")], 1, "http", "status 404 without a message");
}

#[test]
fn call_that_may_happen_once_is_tried_once_and_may_have_happened_unless_it_was_refused() {
    let answers = [
        (answer(503, ""), "http", true),
        (answer(429, ""), "http", true),
        (broken_off(), "connection", true),
        (answer(200, "nonsense"), "response", true),
        (answer(403, ""), "http", false),
    ];
    for (first, kind, may_have_happened) in answers {
        let server = Server::answering([first, answer(200, FOUND)]);
        let (search, waits) = search(&server.url());
        let input = json!("plans");
        let error = search.call(&ToolCall { once: true, ..call(&input) }).unwrap_err();
        assert!(error.kind == kind && server.count() == 1, "{error}");
        assert_eq!(
            (error.may_have_happened(), waits.lock().unwrap().len()),
            (may_have_happened, 0),
            "{error}"
        );
    }
}

#[test]
fn try_that_works_ends_the_tries() {
    let answers = vec![answer(503, ""), answer(429, ""), broken_off(), answer(200, FOUND), answer(500, "")];
    let (outcome, waits) = check(answers, 4);
    assert_eq!((outcome.unwrap().as_str(), waits.len()), (WRITTEN, 3));
}

#[test]
fn waits_double_with_jitter_up_to_the_longest() {
    let server = Server::answering([answer(500, "down")]);
    let (retry, waits) = noting();
    let retry = Retry { tries: 7, longest_wait: Duration::from_secs(3), ..retry };
    let search = Search::new(Secret::new(KEY)).unwrap().at(&server.url()).unwrap().retry(retry);
    ask(&search, Duration::from_secs(60)).unwrap_err();
    let full = [0.5, 1.0, 2.0, 3.0, 3.0, 3.0].map(Duration::from_secs_f64);
    let waits = waits.lock().unwrap();
    assert_eq!(waits.len(), full.len());
    for (wait, full) in waits.iter().zip(full) {
        assert!(*wait >= full / 2 && *wait <= full, "{wait:?} of {full:?}");
    }
}

#[track_caller]
fn check_wait(name: &str, value: &str, expected: impl Fn(Duration) -> bool) {
    let (outcome, waits) = check(vec![answer(429, "").header(name, value), answer(200, FOUND)], 2);
    outcome.unwrap();
    assert!(waits.len() == 1 && expected(waits[0]), "{name}: {value} gave {waits:?}");
}

#[test]
fn server_is_asked_again_after_the_delay_that_it_asks_for() {
    let exactly = |millis| move |wait| wait == Duration::from_millis(millis);
    check_wait("retry-after", "7", exactly(7_000));
    check_wait("retry-after", "0.25", exactly(250));
    check_wait("retry-after-ms", "1500", exactly(1_500));
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(15));
    check_wait("retry-after", &date, |wait| wait > Duration::from_secs(5) && wait <= Duration::from_secs(15));
    // What is no delay leaves the client's own.
    for value in ["0", "soon", "-3", "NaN", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"] {
        check_wait("retry-after", value, |wait| wait <= Duration::from_secs(4) && !wait.is_zero());
    }
}

#[test]
fn server_that_asks_for_too_long_a_wait_is_left_alone() {
    check_error(vec![answer(429, "").header("retry-after", "3600")], 1, "http", "asks to wait 3600 s");
    let endless = answer(429, "").header("retry-after", "1e308");
    check_error(vec![endless], 1, "http", "asks to wait 31536000 s");
    let server = Server::answering([answer(503, "").header("retry-after", "10")]);
    let (search, waits) = search(&server.url());
    assert_eq!(ask(&search, Duration::from_secs(5)).unwrap_err().kind.to_string(), "http");
    assert_eq!((server.count(), waits.lock().unwrap().len()), (1, 0), "the call's time ends before the wait");
}

#[test]
fn connection_that_fails_is_tried_again() {
    let port = DeadPort::new();
    let (search, waits) = search(&format!("http://127.0.0.1:{}", port.number()));
    let error = ask(&search, Duration::from_secs(60)).unwrap_err();
    assert_eq!(
        (error.kind.to_string().as_str(), error.may_have_happened()),
        ("connection", false),
        "{error}"
    );
    let says = [&format!("127.0.0.1:{}", port.number()), "tried 2 times"];
    assert!(says.iter().all(|text| error.message.contains(text)), "{error}");
    assert_eq!(waits.lock().unwrap().len(), 1);
    check_error(vec![Answer::raw("")], 6, "connection", "");
}

#[test]
fn server_that_does_not_finish_is_a_timeout() {
    for begun in ["", "HTTP/1.1 200 OK\r\ncontent-le", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"res"]
    {
        let server = Server::answering([Answer::raw(begun).hanging()]);
        let (search, waits) = search(&server.url());
        let error = ask(&search, Duration::from_millis(300)).unwrap_err();
        assert_eq!(error.kind.to_string().as_str(), "timeout", "{begun:?}: {error}");
        assert!(error.message.contains("within 300ms"), "{error}");
        assert_eq!((server.count(), waits.lock().unwrap().len()), (1, 0));
    }
}

#[test]
fn answer_that_is_no_json_gets_one_more_try() {
    let bodies: [&[u8]; 5] =
        [b"<html>Sign in</html>", b"{\"results\":[", b"", &[b'['; 100_000], b"\xff\xfe{}"];
    for body in bodies {
        check_error(vec![answer(200, body)], 2, "response", "expected JSON");
    }
    check_error(vec![Answer::raw("SSH-2.0-nothing\r\n\r\n")], 2, "response", "");
    let error = check(vec![answer(200, "{\"answer\":1}")], 1).0.unwrap_err();
    assert!(error.message.contains("expected a list \"results\""), "{error}");
}

#[test]
fn oversized_reply_is_refused() {
    // Announced: refused before a byte of it is there.
    let announced = Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n").hanging();
    check_error(vec![announced], 1, "response", "expected at most 4194304 bytes");
    let unannounced = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; (4 << 20) + 1]].concat();
    check_error(vec![Answer::raw(unannounced)], 1, "response", "expected at most 4194304 bytes");
}

#[test]
fn redirect_never_takes_the_key_along() {
    let other = Server::answering([answer(200, FOUND)]);
    for status in [301, 302, 303, 307, 308] {
        for to in [format!("{}/search", other.url()), "/elsewhere".into(), "//other.example/".into()] {
            check_error(vec![answer(status, "").header("location", to)], 1, "response", "not followed");
        }
    }
    check_error(vec![answer(302, "")], 1, "response", "a redirect to nowhere");
    let echo = format!("http://user:pass@a.org/{KEY}?k={KEY}");
    check_error(vec![answer(302, "").header("location", echo)], 1, "response", "to http://a.org/[redacted],");
    assert_eq!(other.count(), 0);
}

#[test]
fn redirects_of_a_request_without_a_key_stay_on_its_host() {
    let pages = r#"{"query":{"pages":[{"title":"T","extract":"E","index":1}]}}"#;
    let other = Server::answering([answer(200, pages)]);
    let wiki = |server: &Server| Wiki(MediaWiki::at(&server.url()).unwrap().retry(noting().0));
    let minute = Duration::from_secs(60);

    let server =
        Server::answering([answer(302, "").header("location", "/w/moved.php?x=1"), answer(200, pages)]);
    assert_eq!(ask(&wiki(&server), minute).unwrap(), "Page: T\nSummary: E");
    let moved = &server.seen()[1];
    assert_eq!((moved.method.as_str(), moved.target.as_str()), ("GET", "/w/moved.php?x=1"));

    let server = Server::answering([answer(302, "").header("location", other.url())]);
    assert_eq!(ask(&wiki(&server), minute).unwrap_err().kind.to_string(), "response");
    assert_eq!((server.count(), other.count()), (1, 0));

    let server = Server::answering([answer(302, "").header("location", "/w/api.php")]);
    let error = ask(&wiki(&server), minute).unwrap_err();
    assert!(error.message.contains("expected at most 3 redirects"), "{error}");
    assert_eq!(server.count(), 4);
}

#[test]
fn echoed_key_is_taken_out() {
    let echoes = [
        format!("{{\"detail\":{{\"error\":\"bad key {KEY}\"}}}}"),
        format!("bad key {KEY}"),
        // Cut in the middle of the key, half of it would be told.
        format!("{} {KEY}", "x".repeat(110)),
        format!("{} {KEY}", "x".repeat(990)),
    ];
    for body in &echoes {
        for status in [200, 401] {
            let error = check(
                vec![answer(status, body.as_str())],
                if body.starts_with('{') || status != 200 { 1 } else { 2 },
            );
            let error = error.0.unwrap_err().to_string();
            assert!(!error.contains(KEY) && !error.contains("tvly-01"), "{error}");
        }
    }
    let found = json!({"results": [{"title": KEY, "url": "u", "content": format!("a {KEY} b")}]}).to_string();
    let text = check(vec![answer(200, found)], 1).0.unwrap();
    assert_eq!(text, r#"[{"title":"[redacted]","url":"u","content":"a [redacted] b"}]"#);
}

#[test]
fn search_sends_the_key_as_a_bearer_token_and_its_name() {
    let server = Server::answering([answer(200, FOUND)]);
    let (search, _) = search(&format!("{}/", server.url()));
    assert_eq!(ask(&search, Duration::from_secs(60)).unwrap(), WRITTEN);
    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/v1/search"));
    for (name, value) in [
        ("authorization", format!("Bearer {KEY}").as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "run/1"),
        ("user-agent", concat!("planwright/", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(seen.header(name), Some(value));
    }
    assert_eq!(seen.json(), json!({"query": "plans", "max_results": 5}));
    assert_eq!(search.secrets(), [Secret::new(KEY)]);
    assert!(!format!("{search:?}").contains(KEY));
}

#[test]
fn search_returns_five_results_that_fit() {
    let result = json!({"title": "제목", "url": "https://x.org", "content": "가".repeat(5000)});
    let found = json!({"results": vec![result; 9]}).to_string();
    let text = check(vec![answer(200, found)], 1).0.unwrap();
    let results: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(results.len(), 5);
    assert_eq!(results[0]["content"].as_str().unwrap().chars().count(), 1500);
    assert!(text.len() <= 24_000);
    assert_eq!(check(vec![answer(200, r#"{"results":[]}"#)], 1).0.unwrap(), "[]");
    let odd = r#"{"results":[null,{"title":7}]}"#;
    let empty = r#"{"title":"","url":"","content":""}"#;
    assert_eq!(check(vec![answer(200, odd)], 1).0.unwrap(), format!("[{empty},{empty}]"));
}

#[test]
fn each_result_of_the_search_that_can_be_named_is_a_source_once() {
    let result = |(title, url)| json!({"title": title, "url": url, "content": "C"});
    let results =
        [("T", "https://x.org"), ("T", "https://x.org"), ("", "https://y.org"), ("", ""), ("U", "")]
            .map(result);
    let server = Server::answering([answer(200, json!({"results": results}).to_string())]);
    let (search, _) = search(&server.url());
    let input = json!("plans");
    let sources = search.call(&call(&input)).unwrap().sources;
    let named: Vec<(&str, Option<&str>)> =
        sources.iter().map(|source| (source.title.as_str(), source.url.as_deref())).collect();
    let expected = [("T", Some("https://x.org")), ("https://y.org", Some("https://y.org")), ("U", None)];
    assert_eq!(named, expected);
    // What was left out for want of room is no source.
    let short = ToolCall { max_output_bytes: 60, ..call(&input) };
    assert_eq!(search.call(&short).unwrap().sources.len(), 1);
}

#[test]
fn keys_and_addresses_that_cannot_be_are_refused() {
    for key in ["", " \n", "two words", "줄\n", "a\nb"] {
        assert_eq!(Search::new(Secret::new(key)).unwrap_err().kind.to_string(), "input");
    }
    for address in ["", "tavily", "ftp://x.org", "http://me:pass@x.org", "http:///x"] {
        let error = Search::new(Secret::new(KEY)).unwrap().at(address).unwrap_err();
        assert!(error.kind.to_string().as_str() == "input" && !error.message.contains("pass"), "{error}");
    }
    assert_eq!(Search::new(Secret::new("key\n")).unwrap().secrets(), [Secret::new("key")]);
    assert_eq!(format!("{:?}", Retry::default()), "6 tries, waits of 500ms to 60s");
}

#[test]
fn call_that_nobody_waits_for_is_not_tried_again_and_its_wait_ends() {
    let (input, abandoned) = (json!("plans"), AtomicBool::new(true));
    let busy = || answer(503, "");
    let server = Server::answering([busy(), busy()]);
    let called = ToolCall { abandoned: &abandoned, ..call(&input) };
    search(&server.url()).0.call(&called).unwrap_err();
    assert!(server.count() <= 1);

    let server = Server::answering([Answer::silence()]);
    let (begun, abandoned) = (Instant::now(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            abandoned.store(true, Ordering::Relaxed);
        });
        let called = ToolCall { abandoned: &abandoned, ..call(&input) };
        search(&server.url()).0.call(&called).unwrap_err();
    });
    assert!(begun.elapsed() < Duration::from_secs(10), "its time is a minute");
}
