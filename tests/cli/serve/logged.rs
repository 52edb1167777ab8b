//! The log: a JSON line for each request, effect and run, and nothing in it that does not belong there.

use std::fs::File;

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

const PRICED: &str = "[prices.m]\ninput = '2.50'\noutput = 10\n";

/// Asks once under such flags, and gives the reply's id with the lines of the log.
fn logged(flags: &[&str], headers: &[(&str, &str)]) -> (String, Vec<Value>) {
    let model = Server::answering([PLAN, GOOD, "It is 300840."].map(Answer::reply));
    let home = Home::new();
    let config = home.write("priced.toml", PRICED).display().to_string();
    let url = model.url();
    let log = home.path("log");
    let args = [&["--config", &config, "--base-url", &url, "--model", "m"][..], flags].concat();
    let service = Service::start_with(home.program(), &args, File::create(&log).unwrap());
    let ask = json!({"message": SUM, "thread_id": "질문\"{"}).to_string();
    let request = ureq::http::Request::post(format!("{}/chat", service.address));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let reply = ureq::run(request.body(ask).unwrap()).unwrap();
    let id = reply.headers()["x-request-id"].to_str().unwrap().to_owned();
    service.get("/threads/none%0A%22", 404);
    drop(service);
    let text = std::fs::read_to_string(log).unwrap();
    (id, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn of<'l>(lines: &'l [Value], kind: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["message"] == kind).collect()
}

#[test]
fn log_follows_a_request_to_its_effects_without_a_word_of_the_question_or_the_answer() {
    let (id, lines) = logged(&["--log", "info"], &[("x-request-id", "a\"b\\c")]);
    assert_eq!(id, "a\"b\\c");
    let request = of(&lines, "request")[0];
    assert_eq!(
        [&request["request_id"], &request["method"], &request["path"], &request["status"]],
        [&json!(id), &json!("POST"), &json!("/chat"), &json!(200)]
    );
    assert!(request["duration_ms"].is_number());
    assert_eq!(of(&lines, "request")[1]["path"], "/threads/{thread_id}");
    let effects = of(&lines, "effect");
    let asked: Vec<&Value> = effects.iter().map(|line| &line["asked"]).collect();
    assert_eq!(asked, ["planner", "calc", "validator", "writer"]);
    for line in &effects {
        assert_eq!(
            [&line["request_id"], &line["thread"], &line["turn"], &line["agent"]],
            [&json!(id), &json!("질문\"{"), &json!(1), &json!("validated")]
        );
    }
    let planned = effects[0];
    assert_eq!(
        [&planned["phase"], &planned["tokens_read"], &planned["tokens_written"], &planned["cost"]],
        [&json!("PLAN"), &json!(11), &json!(5), &json!("0.0000775")]
    );
    assert_eq!(of(&lines, "run")[0]["outcome"], "done");
    let all = json!(lines).to_string();
    assert!(!all.contains("345*872") && !all.contains("300840") && !all.contains("none"), "{all}");
    assert!(of(&lines, "phase").is_empty());
}

#[test]
fn log_has_texts_and_phases_where_that_is_said_and_an_id_that_is_none_is_replaced() {
    let long = "x".repeat(129);
    let (id, lines) = logged(&["--log", "debug", "--log-texts"], &[("x-request-id", &long)]);
    assert_eq!(id.len(), 16);
    let run = of(&lines, "run")[0];
    assert_eq!((&run["question"], &run["answer"]), (&json!(SUM), &json!("It is 300840.")));
    let phases: Vec<&Value> = of(&lines, "phase").iter().map(|line| &line["phase"]).collect();
    assert_eq!(phases, ["PLAN", "EXECUTE", "VALIDATE", "WRITE", "DONE"]);
    for flags in [&["--log", "off", "--quiet"][..], &["--log", "error"], &["--quiet"]] {
        assert_eq!(logged(flags, &[]).1, [Value::Null; 0]);
    }
}
