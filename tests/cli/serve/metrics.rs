//! Figures for Prometheus, what runs now, and whether the service is ready.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

fn figures(service: &Service) -> String {
    let mut reply = ureq::get(format!("{}/metrics", service.address)).call().unwrap();
    let kind = reply.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    reply.body_mut().read_to_string().unwrap()
}

#[track_caller]
fn has(figures: &str, lines: &[&str]) {
    for line in lines {
        assert!(figures.lines().any(|found| found == format!("planwright_{line}")), "{line} in {figures}");
    }
}

#[test]
fn runs_calls_tokens_money_and_refusals_are_counted() {
    let bad = r#"{"ok": false, "reason": "nothing found", "fix_hint": "other words"}"#;
    let model = Server::answering([PLAN, bad, PLAN, GOOD, "It is 300840."].map(Answer::reply));
    let home = Home::new();
    crate::cli_support::store::wants_approval(&home, "송금");
    let config = home.write("priced.toml", "[prices.m]\ninput = '2.50'\noutput = 10\n").display().to_string();
    let url = model.url();
    let service = Service::start(&home, &["--config", &config, "--base-url", &url, "--model", "m"]);
    service.post("/chat", &json!({"message": SUM, "thread_id": "t"}), 200);
    service.get("/threads/none", 404);
    // What is refused is no run, and neither is a look at one that has ended.
    service.post("/threads/t/resume", &Value::Null, 200);
    service.post("/hitl/resume", &json!({"thread_id": "t", "response": "yes"}), 409);
    assert_eq!(service.send("GET", "/threads", "", &[("origin", "http://rebound.example")]).0, 403);
    has(
        &figures(&service),
        &[
            r#"runs_total{agent="validated",outcome="done"} 1"#,
            r#"replans_total{agent="validated"} 1"#,
            r#"model_call_seconds_count{agent="validated",outcome="ok"} 5"#,
            r#"tool_call_seconds_count{tool="calc",outcome="ok"} 2"#,
            r#"tokens_total{agent="validated",kind="read"} 55"#,
            r#"tokens_total{agent="validated",kind="written"} 25"#,
            r#"cost_total{agent="validated"} 0.0003875"#,
            r#"refusals_total{status="403"} 1"#,
            r#"request_seconds_count{method="GET",path="/threads/{thread_id}",status="404"} 1"#,
            "runs_under_way 0",
            "runs_in_line 0",
            "threads_waiting 1",
            "streams_open 0",
        ],
    );
    // A name that nobody knows makes no label.
    service.post("/chat", &json!({"message": SUM, "agent": "none"}), 404);
    assert!(!figures(&service).contains("none"));
}

#[test]
fn what_runs_is_shown_with_its_phase_and_so_is_what_waits_in_line() {
    let home = Home::new();
    let (model, was_asked, answer) = Server::pausing(Answer::reply("no plan"));
    let url = model.url();
    let service = Service::start(&home, &["--max-runs", "1", "--base-url", &url, "--model", "m"]);
    assert_eq!(service.get("/running", 200), json!({"running": [], "in_line": 0}));
    let clients = ["하나", "둘"].map(|thread| {
        let (address, ask) =
            (service.address.clone(), json!({"message": SUM, "thread_id": thread}).to_string());
        let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(ask).map(drop));
        if thread == "하나" {
            was_asked.recv().unwrap();
        }
        client
    });
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let running = loop {
        let running = service.get("/running", 200);
        if running["in_line"] == 1 || std::time::Instant::now() > until {
            break running;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let line = &running["running"][0];
    assert_eq!(running["in_line"], 1, "{running}");
    assert_eq!(
        [&line["thread"], &line["agent"], &line["phase"]],
        [&json!("하나"), &json!("validated"), &json!("PLAN")]
    );
    has(&figures(&service), &["runs_under_way 1", "runs_in_line 1"]);
    drop(answer);
    clients.into_iter().for_each(|client| client.join().unwrap().unwrap());
}

#[test]
fn service_whose_store_is_gone_lives_and_is_not_ready() {
    let home = Home::new();
    let store = home.path("kept.db");
    let service = Service::start(&home, &["--offline", "--store", store.to_str().unwrap()]);
    assert_eq!(service.get("/readyz", 200)["status"], "ok");
    std::fs::remove_file(&store).unwrap();
    service.refuses(("GET", "/readyz", &Value::Null), 503, "not-ready", "the store: ");
    assert_eq!(service.get("/healthz", 200)["status"], "ok");
}

#[test]
fn service_whose_store_is_full_is_not_ready() {
    let home = Home::new();
    home.check(&["run", "--offline", "--quiet", "--thread", "t", "7*6?"], 0);
    // Each write makes the log of the database longer, up to what a file may have.
    let service = Service::of(home.program_after("ulimit -f 512", &[]), &["--offline"]);
    service.get("/readyz", 200);
    let ask = json!({"message": "7*6?"}).to_string();
    let is_full = |_: &u32| service.send("POST", "/chat", &ask, &[]).0 == 503;
    assert!((0..1000).find(is_full).is_some(), "the store is never full");
    // It is written to for that alone once a second at most.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    service.refuses(("GET", "/readyz", &Value::Null), 503, "not-ready", "the store: ");
    assert_eq!(service.get("/healthz", 200)["status"], "ok");
    drop(service);
    home.check(&["threads", "check"], 0);
}
