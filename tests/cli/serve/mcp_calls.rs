//! Calls of tools that are cancelled, answered wrong or made by keys with one right.

use serde_json::{Value, json};

use super::Service;
use super::keys::make_key;
use super::mcp::{Host, message, poll, post, text};
use crate::cli_support::Home;
use crate::cli_support::store::{is_in_doubt, token, waits, wants_approval, wants_calls};
use crate::support::{Answer, Server};
use crate::world::PLAN;

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[test]
fn cancel_right_behind_its_call_is_not_lost() {
    let home = Home::new();
    let mut host = Host::start(&home, &["--offline"], json!({}));
    for id in 100..116 {
        let arguments = json!({"question": "12*7?", "thread_id": format!("t{id}")});
        let params = json!({"name": "validated", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        host.write(&format!("{call}\n{}\n", cancel(id)));
    }
    // Nothing is answered to those calls, and this one is behind them.
    host.call("validated", json!({"question": "1+1?", "thread_id": "last"}));
    drop(host);
    let listed = home.check(&["threads", "list", "--json"], 0).json();
    let threads = listed["threads"].as_array().unwrap().iter();
    let done: Vec<_> =
        threads.filter(|thread| thread["status"] == "done").map(|one| &one["thread"]).collect();
    assert_eq!(done, ["last"], "{listed}");
}

#[test]
fn cancel_while_a_form_is_open_withdraws_it_and_ends_the_run() {
    let home = Home::new();
    wants_approval(&home, "송금");
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let ask = json!({"question": "12*7?", "thread_id": "송금"});
    let id = host.begin("tools/call", json!({"name": "validated", "arguments": ask.clone()}));
    let form = host.hear();
    assert_eq!(form["method"], "elicitation/create", "{form}");
    host.send(&cancel(id));
    let withdrawn = host.hear();
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], form["id"], "{withdrawn}");
    expect_cancelled(&home, "송금");
    let next = host.call("validated", ask);
    assert_eq!(next["structuredContent"]["turn"], 2, "{next}");
}

/// Waits until the only turn of a thread has ended as cancelled.
#[track_caller]
fn expect_cancelled(home: &Home, thread: &str) {
    poll(|| is_cancelled(home, thread).then_some(()));
}

fn is_cancelled(home: &Home, thread: &str) -> bool {
    let shown = home.check(&["threads", "show", thread, "--json"], 0).json();
    shown["turns"][0]["error"].as_str().is_some_and(|error| error.starts_with("CANCELLED"))
}

#[test]
fn cancel_while_the_question_of_a_run_is_looked_up_ends_the_run() {
    let home = Home::new();
    home.write(
        "asks.toml",
        "name = 'asks'\ntools = ['calc']\n[policy]\nvalidate = 'off'\napproval = 'plan'\n\
         [roles.planner]\nprompt = 'P'\n[roles.writer]\nprompt = 'W'\n",
    );
    let model = Server::answering([Answer::reply(PLAN)]);
    let args = ["--agent", "./asks.toml", "--base-url", &model.url(), "--model", "m"];
    let mut host = Host::start(&home, &args, json!({}));
    let mut cancelled = 0;
    for nth in 0..12 {
        let thread = format!("t{nth}");
        let arguments = json!({"question": "?", "thread_id": thread});
        let id = host.begin(
            "tools/call",
            json!({"name": "asks", "arguments": arguments, "_meta": {"progressToken": nth}}),
        );
        // Once the client hears of the question it is on record. The call has not looked it up yet.
        let is_question = |heard: &Value| {
            heard["params"]["message"].as_str().is_some_and(|text| text.contains(char::is_lowercase))
        };
        while !is_question(&host.hear()) {}
        host.send(&cancel(id));
        // A cancel that meets the answer on its way comes too late: then the question stays open, and what the client
        // sees is the answer or, as it wants none any more, nothing.
        let ended = (0..50).find_map(|_| {
            let (next, mut is_answered) = (host.begin("ping", json!({})), false);
            loop {
                let heard = host.hear();
                is_answered |= heard["id"] == id;
                if heard["id"] == next {
                    break;
                }
            }
            (is_answered || is_cancelled(&home, &thread)).then_some(!is_answered)
        });
        cancelled += usize::from(ended == Some(true));
    }
    assert!(cancelled > 0, "no call was cancelled before it was answered");
}

#[test]
fn form_that_is_open_does_not_hold_the_process() {
    let home = Home::new();
    waits(&home, "t");
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let call = json!({"name": "validated", "arguments": {"question": "?", "thread_id": "t"}});
    let id = host.begin("tools/call", call);
    assert_eq!(host.hear()["method"], "elicitation/create");
    drop(host.stdin.take());
    let reply = host.hear();
    assert_eq!(
        (&reply["id"], &reply["result"]["structuredContent"]["status"]),
        (&json!(id), &json!("waiting_human"))
    );
    assert_eq!(host.process.wait().unwrap().code(), Some(0));
}

#[test]
fn run_stops_at_its_next_record_once_stdin_is_closed() {
    let home = Home::new();
    let (model, was_asked, may_answer) = Server::pausing(Answer::reply(PLAN));
    let url = model.url();
    let mut host = Host::start(&home, &["--base-url", &url, "--model", "m"], json!({}));
    let id = host
        .begin("tools/call", json!({"name": "validated", "arguments": {"question": "?", "thread_id": "t"}}));
    was_asked.recv().unwrap();
    drop(host.stdin.take());
    let reply = host.hear();
    let told = &reply["result"]["structuredContent"];
    assert!(reply["id"] == id && told["status"] == "unfinished", "{reply}");
    assert_eq!(told["answers"], json!(["resume"]));
    drop(may_answer);
}

#[test]
fn answer_that_is_wrong_says_so_with_the_question_and_its_token() {
    let home = Home::new();
    wants_approval(&home, "plan");
    is_in_doubt(&home, "doubt");
    let (plan, doubt) = (token(&home, "plan"), token(&home, "doubt"));
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let long = json!({"decision": "reject", "reason": "x".repeat(1 << 19)});
    for content in [json!({}), json!({"decision": "승인"}), long] {
        let ask = json!({"question": "?", "thread_id": "plan"});
        let (_, told) = host.call_with_form(ask, json!({"action": "accept", "content": content}));
        assert!(told["isError"] == true && told["structuredContent"]["token"] == plan, "{told}");
        assert!(text(&told).starts_with("$.") && text(&told).contains(&plan), "{told}");
    }
    drop(host);
    let mut host = Host::start(&home, &["--offline"], json!({}));
    for said in [
        json!({"approve": true}),
        json!({"approve": true, "token": "0"}),
        json!({"response": "x", "token": doubt}),
    ] {
        let mut arguments = said;
        arguments["thread_id"] = json!("doubt");
        let told = host.call("answer", arguments);
        assert!(told["isError"] == true && text(&told).contains("a write is in doubt"), "{told}");
        assert_eq!(told["structuredContent"]["token"], doubt, "{told}");
    }
    for (said, wrong) in [
        (json!({"thread_id": "doubt", "bogus": 1}), "found \"bogus\""),
        (json!({"thread_id": "doubt", "did_not_happen": false, "token": "0"}), "stop, resume, found none"),
        (json!({"thread_id": "doubt", "did_not_happen": true}), "$.token: expected the token"),
        (json!({"thread_id": "doubt", "did_not_happen": true, "token": "0"}), "token"),
    ] {
        let told = host.call("answer", said);
        assert!(told["isError"] == true && text(&told).contains(wrong), "{told}");
        assert!(!text(&told).contains("line 1"), "{told}");
    }
}

#[test]
fn form_about_several_calls_takes_the_positions_of_those_that_are_allowed() {
    let home = Home::new();
    wants_calls(&home, "t");
    let mut host = Host::start(&home, &["--offline"], json!({"elicitation": {}}));
    let ask = json!({"question": "?", "thread_id": "t"});
    let said = json!({"decision": "approve", "calls": "2"});
    let (form, done) = host.call_with_form(ask, json!({"action": "accept", "content": said}));
    assert!(form["message"].as_str().unwrap().contains("2. calc"), "{form}");
    assert_eq!(done["structuredContent"]["status"], "completed", "{done}");
    assert!(text(&done).contains("35"), "{done}");
    drop(host);
    wants_calls(&home, "edited");
    let mut host = Host::start(&home, &["--offline"], json!({}));
    let calls = json!([{"position": 1, "input": "6*7"}]);
    let token = token(&home, "edited");
    let done = host.call("answer", json!({"thread_id": "edited", "token": token, "approve_calls": calls}));
    assert!(text(&done).contains("42"), "{done}");
}

#[test]
fn key_that_may_only_answer_has_the_tool_answer_alone() {
    let home = Home::new();
    let asks = make_key(&home, "alice", &["--may", "run"]);
    let answers = make_key(&home, "carol", &["--may", "answer", "--threads-of", "alice"]);
    wants_approval(&home, "alice:plan");
    let service = Service::start(&home, &["--offline"]);
    let call = |key: &str, name: &str, arguments: Value| {
        let call = message("tools/call", json!({"name": name, "arguments": arguments}));
        post(&service, key, None, &call).2["result"].clone()
    };
    let listed = post(&service, &answers, None, &message("tools/list", json!({}))).2;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() == 1 && tools[0]["name"] == "answer", "{listed}");
    let refused = call(&answers, "validated", json!({"question": "?"}));
    assert!(text(&refused).contains("the key may not run"), "{refused}");
    // The key that only asks is not sent to a tool that it has not.
    let waits = call(&asks, "validated", json!({"question": "?", "thread_id": "plan"}));
    assert_eq!(waits["structuredContent"]["answers"], json!([]), "{waits}");
    assert!(text(&waits).contains("may not answer") && !text(&waits).contains("`answer`"), "{waits}");
    let said = json!({"thread_id": "plan", "approve": true, "token": waits["structuredContent"]["token"]});
    assert_eq!(call(&answers, "answer", said)["structuredContent"]["status"], "completed");
}

#[test]
fn call_in_a_session_is_answered_when_the_service_is_told_to_stop() {
    let home = Home::new();
    let (model, was_asked, _may_answer) = Server::pausing(Answer::reply(PLAN));
    let args = ["--base-url", &model.url(), "--model", "m", "--grace-seconds", "0"];
    let mut service = Service::start(&home, &args);
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let session = post(&service, "", None, &begin).1;
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let (status, problem) = service.send("POST", "/mcp", "{bad", &headers);
    assert!(status == 400 && problem["type"] == "urn:planwright:wrong-message", "{problem}");
    let pid = service.process.id().to_string();
    let call = json!({"name": "validated", "arguments": {"question": "?", "thread_id": "t"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call});
    let reply = std::thread::scope(|scope| {
        let called = scope.spawn(|| post(&service, "", Some(&session), &call).2);
        was_asked.recv().unwrap();
        assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        called.join().unwrap()
    });
    assert_eq!(reply["result"]["structuredContent"]["answers"], json!(["resume"]), "{reply}");
    assert_eq!(service.process.wait().unwrap().code(), Some(0));
}

#[test]
fn form_of_a_result_is_shown_again_until_it_is_answered_and_for_its_own_call_alone() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let ask = |name: &str, thread: &str, more: Value| {
        let arguments = json!({"question": "?", "thread_id": thread});
        let mut ask = message("tools/call", json!({"name": name, "arguments": arguments}));
        ask["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        ask["params"].as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        post(&service, "", None, &ask).2["result"].clone()
    };
    let form = ask("validated", "plan", json!({}));
    let approve = json!({"action": "accept", "content": {"decision": "approve"}});
    for (said, is_said) in
        [(json!({}), false), (json!({"other": approve}), false), (json!({"answer": approve}), true)]
    {
        let more = json!({"requestState": form["requestState"], "inputResponses": said});
        for (name, thread) in [("supervised", "plan"), ("validated", "other")] {
            let refused = ask(name, thread, more.clone());
            assert!(text(&refused).contains("found that of another"), "{refused}");
        }
        let told = ask("validated", "plan", more);
        assert_eq!(told["inputRequests"] == form["inputRequests"], !is_said, "{told}");
        assert_eq!(told["structuredContent"]["status"] == "completed", is_said, "{told}");
    }
}
