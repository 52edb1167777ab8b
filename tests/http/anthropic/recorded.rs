//! Bodies of real servers with Anthropic's Messages.

use std::collections::BTreeMap;

use planwright::machine::FailureClass;
use planwright::ports::Cause;
use planwright_http::Anthropic;
use serde_json::Value;

use super::super::recorded::{Expected, check_recorded, values};

#[test]
#[ignore = "PLANWRIGHT_RESPONSES names a folder of recorded responses"]
fn recorded_messages_of_real_servers_are_read_as_they_were_meant() {
    check_recorded::<Anthropic>("anthropic-messages", expect);
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
