//! Threads and agents as resources: what the command line prints as JSON, under the same names.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::cli_support::store::{is_in_doubt, wants_approval};

/// What the command line prints as JSON.
fn printed(home: &Home, args: &[&str]) -> Value {
    serde_json::from_str(&home.check(args, 0).stdout).unwrap()
}

#[test]
fn threads_are_searched_by_name_by_what_any_turn_asked_and_by_the_last_answer() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    for question in ["6*7?", "What is 11*11?", "20+5?"] {
        service.post("/chat", &json!({"message": question, "thread_id": "Sums"}), 200);
    }
    service.post("/chat", &json!({"message": "9+9?", "thread_id": "other"}), 200);
    let found = |words: &str| {
        let page = service.get(&format!("/threads?words={words}"), 200);
        assert_eq!(page["next"], Value::Null);
        let threads = page["threads"].as_array().unwrap().iter();
        threads.map(|thread| thread["thread"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // By name, first question, a question amid, the last answer; all words, in any case.
    for words in ["sums", "6*7", "what%20IS%2011", "=%2025", "11*11%20sums%20%2025"] {
        assert_eq!(found(words), ["Sums"], "{words}");
    }
    assert_eq!(found("11*11%20other"), [""; 0]);
    assert_eq!(found("%20").len(), 2);
    let page = service.get("/threads?words=%3F&limit=1&brief=true", 200);
    assert_eq!(page["threads"][0]["answer"], "");
    assert_eq!(page["threads"][0]["thread"], "other");
    let rest = service.get(&format!("/threads?words=%3F&after={}", page["next"].as_str().unwrap()), 200);
    assert_eq!((&rest["threads"][0]["thread"], &rest["next"]), (&json!("Sums"), &Value::Null));
}

#[test]
fn thread_is_looked_at_turn_by_turn_as_the_command_line_shows_it() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    for question in ["7*6?", "What happens when a plan is rejected?"] {
        service.post("/chat", &json!({"message": question, "thread_id": "대화"}), 200);
    }
    let at = |path: &str| format!("/threads/%EB%8C%80%ED%99%94{path}");
    let shown = printed(&home, &["threads", "show", "대화", "--json"]);
    assert_eq!(service.get(&at("/turns"), 200), shown);
    assert_eq!(service.get(&at(""), 200), shown);
    assert_eq!(service.get(&at("/turns/1"), 200), shown["turns"][0]);
    let records = printed(&home, &["threads", "show", "대화", "--json", "--records", "--full"]);
    assert_eq!(service.get(&at("/turns/2/records"), 200)["records"], records["turns"][1]["records"]);
    let lines = home.check(&["trace", "--thread", "대화", "--turn", "2", "--json"], 0).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(service.get(&at("/turns/2/trace"), 200)["trace"], json!(lines));
    let fixture = printed(&home, &["fixture", "from", "대화", "--turn", "1"]);
    assert_eq!(service.get(&at("/turns/1/fixture"), 200), fixture);
    for by in ["role", "thread"] {
        let spent = service.get(&at(&format!("/spent?by={by}")), 200);
        assert_eq!(spent, printed(&home, &["cost", "--by", by, "--json"]));
        assert_eq!(spent["total"]["runs"], 2, "{spent}");
    }
    for (path, kind) in [
        ("/turns/3", "no-such-turn"),
        ("/turns/0", "no-such-turn"),
        ("/turns/x/fixture", "no-such-turn"),
        ("x/turns/1", "no-such-thread"),
    ] {
        service.refuses(("GET", &at(path), &Value::Null), 404, kind, "");
    }
    let fork = json!({"to": "갈래", "turn": 1, "records": 3});
    let forked = service.post(&at("/fork"), &fork, 201);
    assert_eq!((&forked["thread"], &forked["turn"]["origin"]["records"]), (&json!("갈래"), &json!(3)));
    service.refuses(("POST", &at("/fork"), &fork), 409, "thread-exists", "갈래");
    let too_many = json!({"to": "b", "records": 1000});
    service.refuses(("POST", &at("/fork"), &too_many), 404, "no-such-turn", "expected 1 to");
    let cancelled = service.post("/threads/%EA%B0%88%EB%9E%98/cancel", &json!({"reason": "no"}), 200);
    assert_eq!(cancelled["status"], "failed", "{cancelled}");
    assert_eq!(service.send("DELETE", &at(""), "", &[]).0, 204);
    let pages = service.get("/threads?limit=1", 200);
    assert_eq!((&pages["threads"][0]["thread"], &pages["next"]), (&json!("갈래"), &Value::Null));
}

#[test]
fn who_is_waited_for_is_listed_as_the_command_line_lists_it() {
    let home = Home::new();
    wants_approval(&home, "송금");
    is_in_doubt(&home, "t");
    let service = Service::start(&home, &["--offline", "--no-resume"]);
    let mut waiting = service.get("/waiting", 200);
    let mut printed = printed(&home, &["waiting", "--json"]);
    for page in [&mut waiting, &mut printed] {
        let runs = page["waiting"].as_array_mut().unwrap();
        runs.iter_mut().for_each(|run| drop(run.as_object_mut().unwrap().remove("waited_seconds")));
    }
    assert_eq!(waiting, printed);
    assert_eq!(waiting["waiting"].as_array().unwrap().len(), 2);
    let first = service.get("/waiting?limit=1", 200);
    assert_eq!(first["more"], true);
    let next = first["next"].as_str().unwrap().replace(':', "%3A");
    assert_eq!(service.get(&format!("/waiting?limit=1&after={next}"), 200)["more"], false);
}

#[test]
fn agent_is_shown_as_json_as_toml_as_a_diagram_and_with_its_bounds() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--agent", "supervised"]);
    let listed = service.get("/agents", 200);
    let agents = listed["agents"].as_array().unwrap();
    let mut printed_agents = printed(&home, &["agents", "--json"]);
    for agent in printed_agents.as_array_mut().unwrap() {
        agent["default"] = json!(agent["name"] == "supervised");
    }
    assert_eq!(json!(agents), printed_agents);
    let shown = printed(&home, &["agents", "show", "validated", "--json"]);
    assert_eq!(service.get("/agents/validated", 200), shown);
    let verified = printed(&home, &["verify", "--agent", "react", "--json"]);
    assert_eq!(service.get("/agents/react/bounds", 200), verified["bounds"]);
    let text = |path: &str| {
        let mut reply = ureq::get(format!("{}{path}", service.address)).call().unwrap();
        reply.body_mut().read_to_string().unwrap()
    };
    for agent in ["validated", "supervised"] {
        let toml = text(&format!("/agents/{agent}/toml"));
        assert_eq!(toml.trim_end(), home.check(&["agents", "show", agent], 0).stdout.trim_end());
        let diagram = text(&format!("/agents/{agent}/diagram"));
        assert_eq!(diagram.trim_end(), home.check(&["diagram", "--agent", agent], 0).stdout.trim_end());
    }
    for path in ["/agents/none/toml", "/agents/none/diagram", "/agents/.%2Fx.toml/bounds"] {
        service.refuses(("GET", path, &Value::Null), 404, "no-such-agent", "there are");
    }
}
