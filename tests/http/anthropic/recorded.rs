//! Bodies of real servers with Anthropic's Messages.

use std::collections::BTreeMap;

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::Cause;
use planwright_http::Anthropic;
use serde_json::Value;

use super::super::recorded::{Expected, check_recorded, values};
use super::caching::{blocks, find_kept};
use super::{Asker, Message, Server, asks, call, native, result, words};

#[test]
#[ignore = "PLANWRIGHT_RESPONSES names a folder of recorded responses"]
fn recorded_messages_of_real_servers_are_read_as_they_were_meant() {
    check_recorded::<Anthropic>("anthropic-messages", expect, check_next_round);
}

/// The request of the next round, with the reply and its thoughts in it, begins with the bytes of the one before.
fn check_next_round(reply: &ModelReply) {
    let server = Server::answering([words("a")]);
    let (asker, mut rounds) = (Asker::of(&server), Vec::new());
    let read = |arguments: &str| serde_json::from_str(arguments).unwrap();
    for nth in 0..3 {
        asker.ask_with(&native(rounds.clone())).unwrap();
        let ids = (0..reply.tool_calls.len()).map(|at| format!("call_{nth}{at}"));
        let calls = reply.tool_calls.iter().zip(ids.clone());
        let calls = calls.map(|(made, id)| call(&id, &made.name, read(&made.arguments))).collect();
        rounds.push(asks(&reply.text, calls, reply.reasoning.clone()));
        rounds.extend(ids.map(|id| result(&id, "x")));
        rounds.push(Message::User { content: format!("{nth}") });
    }
    let bodies: Vec<Value> = server.seen().iter().map(|seen| seen.json()).collect();
    for pair in bodies.windows(2) {
        assert_eq!(find_kept(&pair[0], &pair[1]) + 1, blocks(&pair[0]).0.len(), "{reply:?}");
    }
}

fn expect(status: u16, body: &str, streams: bool) -> Expected {
    match status {
        200 => {}
        400 => return Expected::Failed(FailureClass::BadRequest),
        401 => return Expected::Unanswered(Cause::Authentication),
        404 => return Expected::Unanswered(Cause::NotFound),
        _ => return Expected::Unanswered(Cause::Server),
    }
    // What each block says, by its index: its text, and of a call the name and the JSON.
    let mut blocks: BTreeMap<u64, (String, String, String)> = BTreeMap::new();
    let mut stop = String::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for value in values(body, streams) {
        for (nth, block) in (0..).zip(value["content"].as_array().into_iter().flatten()) {
            let input = block["input"].is_object().then(|| block["input"].to_string());
            blocks.insert(nth, (text(&block["text"]), text(&block["name"]), input.unwrap_or_default()));
        }
        let index = value["index"].as_u64().unwrap_or_default();
        if value["type"] == "content_block_start" {
            blocks.insert(index, (String::new(), text(&value["content_block"]["name"]), String::new()));
        }
        if let Some(block) = blocks.get_mut(&index).filter(|_| value["type"] == "content_block_delta") {
            block.0.push_str(&text(&value["delta"]["text"]));
            block.2.push_str(&text(&value["delta"]["partial_json"]));
        }
        let reasons = [&value["stop_reason"], &value["delta"]["stop_reason"]];
        reasons.iter().filter_map(|reason| reason.as_str()).for_each(|reason| stop = reason.to_owned());
    }
    if stop == "max_tokens" {
        return Expected::Failed(FailureClass::Length);
    }
    let said = blocks.values().map(|(text, ..)| &**text).collect();
    let calls = blocks.into_values().filter(|(_, name, _)| !name.is_empty());
    let read = |input: String| serde_json::from_str(if input.is_empty() { "{}" } else { &input }).unwrap();
    Expected::Reply(said, calls.map(|(_, name, input)| (name, read(input))).collect())
}
