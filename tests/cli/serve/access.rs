//! Who may ask.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::{Home, check};

#[test]
fn page_of_another_site_is_refused_and_so_is_an_open_address_unless_that_is_said() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let here = service.address.replace("http://", "");
    let port = here.rsplit(':').next().unwrap();
    for (name, value, status) in [
        ("host", here.clone(), 200),
        ("host", format!("localhost:{port}"), 200),
        ("host", format!("[::1]:{port}"), 200),
        ("host", "rebound.example".to_owned(), 403),
        ("host", format!("127.0.0.1.rebound.example:{port}"), 403),
        ("origin", format!("http://{here}"), 200),
        ("origin", "http://rebound.example".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        ("origin", "chrome-extension://localhost".to_owned(), 403),
        ("host", "localhost:evil".to_owned(), 403),
        ("host", format!("[::1]evil:{port}"), 403),
    ] {
        let (found, reply) = service.send("GET", "/threads", "", &[(name, &value)]);
        assert_eq!(found, status, "{name}: {value}: {reply}");
    }
    let (line, foreign) = ("GET /threads", "rebound.example");
    for (asked, status) in [
        (request("GET http://localhost/threads", &[]), "200"),
        (request("GET http://rebound.example/threads", &[]), "403"),
        (request(line, &[("Host", foreign)]), "403"),
        (request(line, &[("Origin", "http://localhost"), ("Origin", "http://rebound.example")]), "403"),
    ] {
        assert_eq!(&service.raw(&asked)[9..12], status, "{asked}");
    }
    home.refuses(
        &["serve", "--listen", "0.0.0.0:0"],
        &["anybody could ask", "hint: listen on 127.0.0.1, make a key", "or say --allow-anonymous"],
    );
    let taken = check(home.program().args(["serve", "--offline", "--listen", &here]), "", 2);
    taken.complains(&["cannot be used", "--listen 127.0.0.1:0 for a free port"]);
}

/// A request that ends its connection.
fn request(line: &str, headers: &[(&str, &str)]) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
}

#[test]
fn page_reads_where_its_origin_is_listed() {
    let home = Home::new();
    let (listed, other) = ("https://chat.example", "https://chat.example.evil.example");
    let asks = |origin| {
        let wants = ("Access-Control-Request-Method", "POST");
        request("OPTIONS /chat", &[("Origin", origin), wants])
    };
    let closed = Service::start(&home, &["--offline"]);
    assert!(!closed.raw(&asks(listed)).contains("access-control-allow"), "CORS is off");
    let open = Service::start(&home, &["--offline", "--allow-origin", listed]);
    let lets = format!("access-control-allow-origin: {listed}\r\n");
    let preflight = open.raw(&asks(listed));
    assert!(
        preflight.contains(&lets) && preflight.contains("access-control-allow-methods: POST"),
        "{preflight}"
    );
    let read = open.raw(&request("GET /threads", &[("Origin", listed)]));
    assert!(read.starts_with("HTTP/1.1 200") && read.contains(&lets), "{read}");
    let refused = open.raw(&request("GET /threads", &[("Origin", other)]));
    assert!(
        refused.starts_with("HTTP/1.1 403") && !refused.contains("access-control-allow-origin"),
        "{refused}"
    );
    assert!(!open.raw(&asks(other)).contains("access-control-allow-origin"));
    for origin in ["chat.example", "https://", "*", "https://a b", "https://chat.example/"] {
        home.refuses(&["serve", "--allow-origin", origin], &["expected a scheme and a host"]);
    }
}

#[test]
fn request_that_does_not_arrive_is_ended() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--arrive-seconds", "1"]);
    // Neither is ended by the client: what comes back says that the service did.
    assert_eq!(service.raw("POST /chat HTTP/1.1\r\nHost: localhost\r\n"), "", "a head");
    let slow = service.raw("POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"mess");
    assert!(slow.starts_with("HTTP/1.1 408") && slow.contains("urn:planwright:too-slow"), "a body: {slow}");
    let long = request("GET /threads", &[("X-Long", &"x".repeat(40_000))]);
    assert!(service.raw(&long).starts_with("HTTP/1.1 431"));
    service.get("/threads", 200);
}

#[test]
fn more_than_is_allowed_is_refused_with_the_limit() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--max-question-bytes", "10"]);
    let long = json!({"message": "무엇인가"});
    service.refuses(
        ("POST", "/chat", &long),
        422,
        "wrong-input",
        "$.message: expected at most 10 bytes, found 12",
    );
    let long = json!({"thread_id": "t", "response": "eleven bytes"});
    service.refuses(
        ("POST", "/hitl/resume", &long),
        422,
        "wrong-input",
        "$.response: expected at most 10 bytes",
    );
    crate::cli_support::store::wants_approval(&home, "t");
    let service = Service::start(&home, &["--offline", "--max-reply-bytes", "1000"]);
    service.refuses(("GET", "/threads/t", &Value::Null), 422, "reply-too-large", "at most 1000 are sent");
    service.get("/threads", 200);
    service.get("/openapi.json", 200);
    let done = service.post("/threads/t/cancel", &json!({"reason": "x".repeat(1000)}), 200);
    assert_eq!(done["status"], "failed", "what was done is said");
    let service = Service::start(&home, &["--offline", "--max-requests", "5"]);
    let status = || service.raw(&request("GET /threads", &[]))[9..12].to_owned();
    let statuses: Vec<String> = (0..7).map(|_| status()).collect();
    assert_eq!(statuses, ["200", "200", "200", "200", "200", "429", "429"]);
    service.refuses(("GET", "/threads", &Value::Null), 429, "too-often", "\"retry_after\":1");
    let refused = service.raw(&request("GET /threads", &[]));
    assert!(refused.contains("\r\nretry-after: 1"), "{refused}");
    // What a machine asks to see that it lives is not counted.
    service.get("/healthz", 200);
}

#[test]
fn nothing_that_is_sent_becomes_a_file_or_a_header() {
    let home = Home::new();
    let mut service = Service::start(&home, &["--offline"]);
    for name in [
        "../../escaped",
        "..%2F..%2Fescaped",
        "/etc/passwd",
        "C:\\escaped",
        "'; DROP TABLE thread; --",
        "100%_",
    ] {
        let asked = service.post("/chat", &json!({"message": "7*6?", "thread_id": name}), 200);
        assert_eq!(asked["thread_id"], name);
        service.refuses(("POST", "/chat", &json!({"message": "x", "agent": name})), 404, "no-such-agent", "");
    }
    let long = "x".repeat(100_000);
    for name in ["a\r\nSet-Cookie: x", "\u{1b}[31mred", "\u{202e}turned", "a\0b", ".", "..", &long] {
        let ask = json!({"message": "7*6?", "thread_id": name});
        service.refuses(("POST", "/chat", &ask), 422, "wrong-input", "$.thread_id: a thread's name");
        let ask = json!({"message": "7*6?", "agent": name});
        service.refuses(("POST", "/chat", &ask), 404, "no-such-agent", "no agent is called");
    }
    let split = service.raw(&request("GET /threads/a%0d%0aSet-Cookie:%20x", &[]));
    assert!(split.starts_with("HTTP/1.1 404") && !split.contains("\r\nSet-Cookie"), "{split}");
    for header in
        [("Idempotency-Key", "a\r\n b"), ("X-Request-Id", "a\nb"), ("Authorization", "Bearer \u{1b}")]
    {
        let refused = service.raw(&request("GET /threads", &[header]));
        assert!(refused.starts_with("HTTP/1.1 400"), "{header:?}: {refused}");
    }
    assert_eq!(service.get("/threads", 200)["threads"].as_array().unwrap().len(), 6);
    assert_eq!(service.signal("-TERM"), Some(0));
    let files = |folder: &str| {
        std::fs::read_dir(home.path(folder))
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
    };
    let mut kept: Vec<String> = files(".").chain(files("data/planwright")).collect();
    kept.sort();
    kept.retain(|name| !name.starts_with("threads.db"));
    assert_eq!(kept, ["data"], "the store is all there is");
}
