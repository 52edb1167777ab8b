//! The service: threads over HTTP. It is a thin shell: what it says is what the store holds, a restart loses
//! nothing, and what cannot be used is refused with a reason.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use planwright::journal::Fixture;
use serde_json::{Value, json};

use crate::cli_support::store::is_in_doubt;
use crate::cli_support::{Home, check};
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

/// A service on a port of its own.
struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut program = home.program();
        program.args(["serve", "--quiet", "--listen", "127.0.0.1:0"]).args(args);
        let mut process = program.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{address:?}");
        Service { process, address: address.trim().to_owned() }
    }

    /// Sends a request, and gives the status with the JSON of the reply.
    fn send(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut response = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        if status >= 400 {
            assert_eq!(kind.as_deref(), Some("application/problem+json"), "{text}");
        }
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value, status: u16) -> Value {
        let (found, reply) = self.send("POST", path, &body.to_string(), &[]);
        assert_eq!(found, status, "{path} {body}: {reply}");
        reply
    }

    #[track_caller]
    fn get(&self, path: &str, status: u16) -> Value {
        let (found, reply) = self.send("GET", path, "", &[]);
        assert_eq!(found, status, "{path}: {reply}");
        reply
    }

    /// Expects a problem of this type that says this.
    #[track_caller]
    fn refuses(&self, (method, path, body): (&str, &str, &Value), status: u16, kind: &str, says: &str) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (found, problem) = self.send(method, path, &text, &[]);
        assert_eq!((found, &problem["status"]), (status, &json!(status)), "{path} {body}: {problem}");
        assert_eq!(problem["type"], format!("urn:planwright:{kind}"), "{problem}");
        assert!(problem.to_string().contains(says), "expected {says:?} in {problem}");
    }

    fn signal(&mut self, signal: &str) -> Option<i32> {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the models of a recorded run replied, in order.
fn replies(fixture: &Fixture) -> Vec<Answer> {
    let written = serde_json::to_value(fixture).unwrap();
    let reply = |exchange: &Value| exchange["model"]["answer"]["reply"]["text"].as_str().map(Answer::reply);
    written["exchanges"].as_array().unwrap().iter().filter_map(reply).collect()
}

/// The supervisor of eleven steps with four questions, as its document asks it.
#[test]
fn supervised_thread_is_answered_over_http_though_the_server_is_restarted_at_each_question() {
    let path = format!("{}/../../fixtures/supervised/report.json", env!("CARGO_MANIFEST_DIR"));
    let fixture = Fixture::load(path).unwrap();
    let model = Server::answering(replies(&fixture));
    let home = Home::new();
    let url = model.url();
    let args = ["--agent", "supervised", "--base-url", &url, "--model", "m"];
    let mut service = Service::start(&home, &args);
    let begun =
        service.post("/chat", &json!({"message": fixture.input.question, "thread_id": "보고서"}), 200);
    assert_eq!(begun["status"], "waiting_human", "{begun}");
    let mut asked = begun;
    for (step, question, answer) in [
        (4, "검색된 데이터가 맞나요?", "네"),
        (7, "분석 결과를 확인해주세요", "좋습니다"),
        (9, "해결 방안이 적절한가요?", "네"),
        (11, "보고서를 승인하시겠습니까?", "승인"),
    ] {
        assert_eq!((&asked["question"], &asked["thread_id"]), (&json!(question), &json!("보고서")));
        assert_eq!(service.signal("-TERM"), Some(0));
        service = Service::start(&home, &args);
        // What a client sends again is not a new question.
        let again = service.post("/chat", &json!({"message": "계속", "thread_id": "보고서"}), 200);
        assert_eq!((&again["status"], &again["token"]), (&json!("waiting_human"), &asked["token"]));
        let plan = service.get("/plan/%EB%B3%B4%EA%B3%A0%EC%84%9C", 200);
        let steps = plan["plan"].as_array().unwrap();
        assert_eq!(
            (steps.len(), &plan["current_step"], &plan["is_waiting_human"]),
            (11, &json!(step - 1), &json!(true))
        );
        assert_eq!(
            (&steps[step - 1]["step_id"], &steps[step - 1]["status"], &steps[step - 1]["hitl_question"]),
            (&json!(step), &json!("waiting_human"), &json!(question))
        );
        asked = service.post("/hitl/resume", &json!({"thread_id": "보고서", "response": answer}), 200);
    }
    assert_eq!(asked["status"], "completed", "{asked}");
    assert!(asked["result"].as_str().unwrap().contains("Step 11: 보고서를 승인하시겠습니까? - completed"));
    let plan = service.get("/plan/%EB%B3%B4%EA%B3%A0%EC%84%9C", 200);
    let answers: Vec<&Value> = plan["plan"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["hitl_response"])
        .filter(|said| !said.is_null())
        .collect();
    assert_eq!(answers, ["네", "좋습니다", "네", "승인"]);
    assert_eq!(model.count(), replies(&fixture).len(), "nothing was asked twice");
    // The command line sees the same thread.
    home.check(&["threads", "show", "보고서"], 0).prints(&["turn 1  done  supervised"]);
}

#[test]
fn turn_whose_server_was_killed_goes_on_at_the_next_start() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut service = Service::start(&home, &["--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM, "thread_id": "t"}).to_string());
    let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(ask).map(drop));
    was_asked.recv().unwrap();
    service.signal("-KILL");
    assert!(client.join().unwrap().is_err());
    let other = Server::answering([PLAN, GOOD, "It is 300840."].map(Answer::reply));
    // Left alone it stays as it was, and says what goes on with it.
    let mut service = Service::start(&home, &["--no-resume", "--base-url", &other.url(), "--model", "m"]);
    let again = json!({"message": SUM, "thread_id": "t"});
    service.refuses(("POST", "/chat", &again), 409, "turn-is-open", "/threads/{thread_id}/resume goes on");
    assert_eq!(service.get("/threads?status=unfinished", 200)["threads"][0]["thread"], "t");
    service.signal("-TERM");
    let service = Service::start(&home, &["--base-url", &other.url(), "--model", "m"]);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let ended = loop {
        let turn = service.get("/threads/t", 200)["turns"][0].clone();
        if turn["status"] == "done" || std::time::Instant::now() > until {
            break turn;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("done"), &json!("It is 300840.")));
}

#[test]
fn stop_brings_what_runs_to_its_next_record_and_ends_with_0() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut service = Service::start(&home, &["--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM, "thread_id": "t"}).to_string());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let client = std::thread::spawn(move || {
        let mut response = agent.post(format!("{address}/chat")).send(ask).unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    });
    was_asked.recv().unwrap();
    // One that never ends its request holds nobody up.
    let mut endless = std::net::TcpStream::connect(service.address.replace("http://", "")).unwrap();
    std::io::Write::write_all(&mut endless, b"POST /chat HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    assert_eq!(service.signal("-TERM"), Some(0));
    let (status, told) = client.join().unwrap();
    assert!(
        status == 503 && told.contains("/threads/{thread_id}/resume goes on with it"),
        "{status}: {told}"
    );
    home.check(&["threads", "resume", "--offline", "t"], 0).prints(&["300840"]);
}

#[test]
fn more_runs_than_it_bears_are_told_to_try_later() {
    let home = Home::new();
    let (model, was_asked, answer) = Server::pausing(Answer::reply("no plan"));
    let url = model.url();
    let service =
        Service::start(&home, &["--max-runs", "1", "--max-waiting", "0", "--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM}).to_string());
    let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(ask).map(drop));
    was_asked.recv().unwrap();
    service.refuses(("POST", "/chat", &json!({"message": SUM})), 429, "too-busy", "\"retry_after\":1");
    // What only reads waits for nobody.
    service.get("/threads", 200);
    drop(answer);
    client.join().unwrap().unwrap();
}

#[test]
fn approval_names_what_it_approves_and_an_answer_is_taken_once() {
    let home = Home::new();
    crate::cli_support::store::wants_approval(&home, "송금");
    let service = Service::start(&home, &["--offline"]);
    let approve = json!({"thread_id": "송금", "approve": true});
    service.refuses(("POST", "/hitl/resume", &approve), 422, "wrong-input", "$.token: expected the token");
    let shown = service.get("/threads/%EC%86%A1%EA%B8%88", 200);
    let token = &shown["turns"][0]["open"]["token"];
    let wrong = json!({"thread_id": "송금", "approve": true, "token": "0123"});
    service.refuses(("POST", "/hitl/resume", &wrong), 409, "answer-does-not-fit", "token");
    for (body, says) in [
        (
            json!({"thread_id": "송금"}),
            "expected one of response, approve, reject, edit and edit_input, found none",
        ),
        (json!({"thread_id": "송금", "approve": true, "reject": "x"}), "found more than one"),
        (
            json!({"thread_id": "송금", "edit": {"a": 1}, "token": token}),
            "$.edit: expected a list of plan steps",
        ),
    ] {
        service.refuses(("POST", "/hitl/resume", &body), 422, "wrong-input", says);
    }
    let approve = json!({"thread_id": "송금", "approve": true, "token": token});
    let done = service.post("/hitl/resume", &approve, 200);
    assert_eq!(done["status"], "completed", "{done}");
    service.refuses(("POST", "/hitl/resume", &approve), 409, "answer-does-not-fit", "answered before");
}

#[test]
fn write_in_doubt_is_resolved_by_its_token_alone() {
    let home = Home::new();
    is_in_doubt(&home, "t");
    let service = Service::start(&home, &["--offline"]);
    let ask = json!({"message": "7*6?", "thread_id": "t"});
    service.refuses(("POST", "/chat", &ask), 409, "write-in-doubt", "/threads/{thread_id}/resolve");
    let cancel = json!({"reason": "no longer needed"});
    service.refuses(("POST", "/threads/t/cancel", &cancel), 409, "write-in-doubt", "in doubt");
    let token = service.get("/threads/t", 200)["turns"][0]["open"]["token"].clone();
    let both = json!({"token": token, "did_not_happen": true, "happened": "42"});
    service.refuses(("POST", "/threads/t/resolve", &both), 422, "wrong-input", "expected one of happened");
    let resolve = json!({"token": token, "happened": "42"});
    let resolved = service.post("/threads/t/resolve", &resolve, 200);
    assert!(resolved["status"] != "in_doubt" && resolved["open"].is_null(), "{resolved}");
    service.refuses(("POST", "/threads/t/resolve", &resolve), 409, "answer-does-not-fit", "");
}

#[test]
fn what_cannot_be_used_is_a_problem_that_says_where() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--max-body-bytes", "1000"]);
    let long = json!({"message": "가".repeat(1000)});
    for (request, status, kind, says) in [
        (("POST", "/chat", &json!({"mesage": "x"})), 422, "wrong-input", "$.mesage: unknown field"),
        (("POST", "/chat", &json!({"message": 5})), 422, "wrong-input", "$.message: invalid type"),
        (("POST", "/chat", &json!({"message": "  "})), 422, "wrong-input", "$.message: expected a question"),
        (
            ("POST", "/chat", &json!({"message": "x", "thread_id": "a/b\n"})),
            422,
            "wrong-input",
            "$.thread_id: ",
        ),
        (("POST", "/chat", &json!({"message": "x", "agent": "./x.toml"})), 404, "no-such-agent", "there are"),
        (("POST", "/chat", &long), 413, "too-large", "too-large"),
        (("POST", "/chat", &Value::Null), 422, "wrong-input", "EOF"),
        (("POST", "/hitl/resume", &json!({"thread_id": "x", "response": "y"})), 404, "no-such-thread", "x"),
        (("GET", "/plan/none", &Value::Null), 404, "no-such-thread", "none"),
        (("GET", "/threads/none", &Value::Null), 404, "no-such-thread", "none"),
        (("DELETE", "/threads/none", &Value::Null), 404, "no-such-thread", "none"),
        (("GET", "/threads?status=odd", &Value::Null), 422, "wrong-input", "status: expected one of"),
        (("GET", "/threads?limit=0", &Value::Null), 422, "wrong-input", "limit: expected 1 to 1000"),
        (("GET", "/threads?after=odd", &Value::Null), 422, "wrong-input", "after: expected a cursor"),
        (("GET", "/agents/none", &Value::Null), 404, "no-such-agent", "there are"),
        (("GET", "/none", &Value::Null), 404, "no-such-path", "/openapi.json"),
        (("PUT", "/chat", &Value::Null), 405, "no-such-method", "/openapi.json"),
    ] {
        service.refuses(request, status, kind, says);
    }
    let (status, _) = service.send("POST", "/chat", "{\"message\": \"x\"} more", &[]);
    assert_eq!(status, 422);
}

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
    ] {
        let (found, reply) = service.send("GET", "/threads", "", &[(name, &value)]);
        assert_eq!(found, status, "{name}: {value}: {reply}");
    }
    home.refuses(
        &["serve", "--listen", "0.0.0.0:0"],
        &["anybody could ask", "hint: listen on 127.0.0.1, or say --allow-anonymous"],
    );
    let taken = check(home.program().args(["serve", "--offline", "--listen", &here]), "", 2);
    taken.complains(&["cannot be used", "--listen 127.0.0.1:0 for a free port"]);
}

#[test]
fn document_of_the_interface_names_every_path_that_is_served() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let described = service.get("/openapi.json", 200);
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = described["paths"].as_object().unwrap();
    assert!(paths.len() >= 13, "{:?}", paths.keys());
    for (path, methods) in paths {
        for (method, about) in methods.as_object().unwrap() {
            assert!(about["summary"].is_string() && about["responses"].is_object(), "{method} {path}");
            let path = path.replace("{thread_id}", "none").replace("{name}", "none");
            let (status, reply) = service.send(&method.to_uppercase(), &path, "", &[]);
            let kind = reply["type"].as_str().unwrap_or_default();
            assert!(!kind.ends_with("no-such-path") && status != 405, "{method} {path}: {status} {reply}");
        }
    }
}
