//! A conversation over HTTP: asked and answered, though its server is stopped or killed in between.

use planwright::journal::Fixture;
use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

/// What the models of a recorded run replied, in order.
pub fn replies(fixture: &Fixture) -> Vec<Answer> {
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
        let has_all = |step: &Value| {
            let keys = ["description", "hitl_question", "hitl_response", "error"];
            keys.iter().all(|key| step.get(key).is_some())
        };
        assert!(steps.iter().all(has_all), "{steps:?}");
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
    service.refuses(("POST", "/chat", &again), 409, "turn-is-open", "/threads/t/resume goes on");
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
    let (model, was_asked, answer) = Server::pausing(Answer::reply(PLAN));
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
    // The model answers while the service stops.
    assert_eq!(service.signal_then("-TERM", || drop(answer)), Some(0));
    let (status, told) = client.join().unwrap();
    assert!(status == 503 && told.contains("urn:planwright:stopping"), "{status}: {told}");
    assert_eq!(model.count(), 1);
    // What it answered is on record, and not asked again.
    let other = Server::answering([GOOD, "It is 300840."].map(Answer::reply));
    home.check(&["threads", "resume", "--base-url", &other.url(), "--model", "m", "t"], 0)
        .prints(&["300840"]);
}

#[test]
fn stop_waits_no_longer_than_it_may() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut service = Service::start(&home, &["--grace-seconds", "0", "--base-url", &url, "--model", "m"]);
    let (address, ask) = (service.address.clone(), json!({"message": SUM, "thread_id": "t"}).to_string());
    let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(ask).map(drop));
    was_asked.recv().unwrap();
    assert_eq!(service.signal("-TERM"), Some(0));
    assert!(client.join().unwrap().is_err());
    home.check(&["threads", "resume", "--offline", "t"], 0).prints(&["300840"]);
}
