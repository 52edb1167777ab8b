//! What is sent again under an `Idempotency-Key` is done once, and told as it was told.

use planwright::journal::Fixture;
use serde_json::{Value, json};

use super::Service;
use super::conversation::replies;
use crate::cli_support::Home;
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

const ANSWER: &str = "It is 300840.";

/// Sends a request under a key.
fn send(service: &Service, path: &str, key: &str, body: &Value) -> (u16, Value) {
    service.send("POST", path, &body.to_string(), &[("idempotency-key", key)])
}

#[track_caller]
fn expects(service: &Service, path: &str, key: &str, body: &Value, status: u16) -> Value {
    let (found, reply) = send(service, path, key, body);
    assert_eq!(found, status, "{path} {key} {body}: {reply}");
    reply
}

#[test]
fn question_under_the_same_key_is_one_turn_and_one_reply_also_after_a_restart() {
    let home = Home::new();
    let model = Server::answering([PLAN, GOOD, ANSWER].repeat(3).into_iter().map(Answer::reply));
    let url = model.url();
    let args = ["--base-url", &url, "--model", "m"];
    let mut service = Service::start(&home, &args);
    let (new, named) = (json!({"message": SUM}), json!({"message": SUM, "thread_id": "t"}));
    let told = [("k1", &new), ("k1-of-t", &named), ("k2-of-t", &named)]
        .map(|(key, body)| (key, body, expects(&service, "/chat", key, body, 200)));
    assert_eq!(told.each_ref().map(|(_, _, told)| told["turn"].as_u64().unwrap()), [1, 1, 2]);
    assert_eq!(model.count(), 9);
    for restarts in [false, true] {
        if restarts {
            assert_eq!(service.signal("-TERM"), Some(0));
            service = Service::start(&home, &args);
        }
        for (key, body, told) in &told {
            assert_eq!(expects(&service, "/chat", key, body, 200), *told, "{key}");
            let other = json!({"message": "7*6?", "thread_id": body["thread_id"]});
            let problem = expects(&service, "/chat", key, &other, 422);
            assert_eq!(problem["type"], "urn:planwright:idempotency-key-reused", "{problem}");
        }
    }
    assert_eq!(model.count(), 9, "nothing was asked again");
    assert_eq!(service.get("/threads", 200)["threads"].as_array().unwrap().len(), 2);
    for key in ["", "가", "a b", "a\tb", &"x".repeat(256)] {
        let problem = expects(&service, "/chat", key, &new, 422);
        assert!(problem["detail"].as_str().unwrap().starts_with("Idempotency-Key: expected"), "{problem}");
    }
}

#[test]
fn answer_under_the_same_key_is_told_as_then_though_the_thread_went_on() {
    let path = format!("{}/../../fixtures/supervised/report.json", env!("CARGO_MANIFEST_DIR"));
    let fixture = Fixture::load(path).unwrap();
    let model = Server::answering(replies(&fixture));
    let home = Home::new();
    let url = model.url();
    let args = ["--agent", "supervised", "--base-url", &url, "--model", "m"];
    let mut service = Service::start(&home, &args);
    let ask = json!({"message": fixture.input.question, "thread_id": "보고서"});
    let mut told = vec![("/chat", "ask", ask.clone(), expects(&service, "/chat", "ask", &ask, 200))];
    for (key, answer) in [("a1", "네"), ("a2", "좋습니다"), ("a3", "네"), ("a4", "승인")] {
        let answer = json!({"thread_id": "보고서", "response": answer});
        let reply = expects(&service, "/hitl/resume", key, &answer, 200);
        told.push(("/hitl/resume", key, answer, reply));
    }
    let asked = model.count();
    assert_eq!(service.signal("-KILL"), None);
    service = Service::start(&home, &args);
    let statuses: Vec<&str> = told.iter().map(|(_, _, _, told)| told["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["waiting_human", "waiting_human", "waiting_human", "waiting_human", "completed"]);
    for (path, key, body, told) in &told {
        assert_eq!(expects(&service, path, key, body, 200), *told, "{key}");
    }
    let other = json!({"thread_id": "보고서", "response": "아니요"});
    let problem = expects(&service, "/hitl/resume", "a2", &other, 422);
    assert_eq!(problem["type"], "urn:planwright:idempotency-key-reused", "{problem}");
    assert_eq!(
        expects(&service, "/hitl/resume", "a5", &other, 409)["type"],
        "urn:planwright:answer-does-not-fit"
    );
    assert_eq!(model.count(), asked, "nothing was asked again");
    assert_eq!(
        service.get("/threads/%EB%B3%B4%EA%B3%A0%EC%84%9C", 200)["turns"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn request_that_is_sent_again_while_its_server_is_killed_is_one_turn() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut service = Service::start(&home, &["--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM}));
    let body = ask.to_string();
    let client = std::thread::spawn(move || {
        ureq::post(format!("{address}/chat")).header("idempotency-key", "k").send(body).map(drop)
    });
    was_asked.recv().unwrap();
    let busy = expects(&service, "/chat", "k", &ask, 409);
    assert_eq!(
        (&busy["type"], &busy["retry_after"]),
        (&json!("urn:planwright:thread-is-running"), &json!(1))
    );
    let other = json!({"message": "7*6?", "thread_id": service.get("/threads", 200)["threads"][0]["thread"]});
    service.refuses(("POST", "/chat", &other), 409, "thread-is-running", "\"retry_after\":1");
    service.signal("-KILL");
    assert!(client.join().unwrap().is_err());
    // Whether the next start goes on with it or the client does, it is the one turn.
    let other = Server::answering([PLAN, GOOD, ANSWER].map(Answer::reply));
    let url = other.url();
    let service = Service::start(&home, &["--no-resume", "--base-url", &url, "--model", "m"]);
    let told = expects(&service, "/chat", "k", &ask, 200);
    assert_eq!(
        (&told["status"], &told["result"], &told["turn"]),
        (&json!("completed"), &json!(ANSWER), &json!(1))
    );
    assert_eq!(expects(&service, "/chat", "k", &ask, 200), told);
    assert_eq!(other.count(), 3);
    assert_eq!(service.get("/threads", 200)["threads"][0]["turns"], 1);
}

#[test]
fn requests_that_come_at_once_under_one_key_are_one_turn() {
    let home = Home::new();
    let model = Server::answering([PLAN, GOOD, ANSWER].map(Answer::reply));
    let url = model.url();
    let service = Service::start(&home, &["--base-url", &url, "--model", "m"]);
    let ask = json!({"message": SUM, "thread_id": "t"});
    let statuses = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..8).map(|_| scope.spawn(|| send(&service, "/chat", "k", &ask).0)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect::<Vec<u16>>()
    });
    assert!(
        statuses.contains(&200) && statuses.iter().all(|status| [200, 409].contains(status)),
        "{statuses:?}"
    );
    assert_eq!(expects(&service, "/chat", "k", &ask, 200)["result"], ANSWER);
    assert_eq!((model.count(), &service.get("/threads/t", 200)["turns"][1]), (3, &Value::Null));
}

#[test]
fn key_of_one_caller_is_not_that_of_another() {
    let home = Home::new();
    let keys = ["alice", "bob"].map(|name| super::keys::make_key(&home, name, &["--may", "run"]));
    let service = Service::start(&home, &["--offline"]);
    let [alice, bob] = keys.map(|key| {
        let headers = [("authorization", &*format!("Bearer {key}")), ("idempotency-key", "k")];
        let ask = json!({"message": "7*6?"}).to_string();
        let told = service.send("POST", "/chat", &ask, &headers);
        assert_eq!(service.send("POST", "/chat", &ask, &headers), told);
        told
    });
    assert_eq!((alice.0, bob.0), (200, 200));
    assert_ne!(alice.1["thread_id"], bob.1["thread_id"]);
    // What a fork holds was asked for under no key.
    let key = super::keys::make_key(&home, "root", &["--may", "admin"]);
    let root = format!("Bearer {key}");
    let thread = format!("alice:{}", alice.1["thread_id"].as_str().unwrap());
    let fork = json!({"to": "copy"}).to_string();
    let sent = service.send("POST", &format!("/threads/{thread}/fork"), &fork, &[("authorization", &root)]);
    assert_eq!(sent.0, 201, "{}", sent.1);
    let records = service.send("GET", "/threads/copy?records=true", "", &[("authorization", &root)]).1;
    assert!(!records.to_string().contains("\"asked\""), "{records}");
}
