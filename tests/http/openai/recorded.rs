//! Bodies of real servers with chat completions.

use std::collections::BTreeMap;

use planwright::machine::FailureClass;
use planwright::ports::Cause;
use planwright_http::OpenAi;
use serde_json::Value;

use super::super::recorded::{Expected, check_recorded, values};

#[test]
#[ignore = "PLANWRIGHT_RESPONSES names a folder of recorded responses"]
fn recorded_responses_of_real_servers_are_read_as_they_were_meant() {
    check_recorded::<OpenAi>("chat-completions", expect, |_| {});
}

fn expect(status: u16, body: &str, streams: bool) -> Expected {
    match status {
        200 => {}
        400 if body.contains("context size") => return Expected::Failed(FailureClass::ContextLength),
        400 if ["nvalid model", "valid model"].iter().any(|words| body.contains(words)) => {
            return Expected::Unanswered(Cause::NotFound);
        }
        400 => return Expected::Failed(FailureClass::BadRequest),
        401 | 403 => return Expected::Unanswered(Cause::Authentication),
        404 => return Expected::Unanswered(Cause::NotFound),
        429 => return Expected::Unanswered(Cause::RateLimit),
        _ => return Expected::Unanswered(Cause::Server),
    }
    let values = values(body, streams);
    let part = if streams { "delta" } else { "message" };
    let (mut text, mut refusal, mut finish) = (String::new(), String::new(), String::new());
    // By index; every recorded stream tells it.
    let mut calls: BTreeMap<usize, (String, String)> = BTreeMap::new();
    for value in &values {
        if value["error"]["code"] == "content_filter" {
            return Expected::Failed(FailureClass::ContentFilter);
        }
        let Some(choices) = value["choices"].as_array() else { return Expected::Unanswered(Cause::Server) };
        for choice in choices.iter().filter(|choice| choice["index"] == 0) {
            match &choice[part]["content"] {
                Value::Array(parts) => {
                    let texts = parts.iter().filter(|part| part["type"] == "text");
                    text.extend(texts.filter_map(|part| part["text"].as_str()));
                }
                content => text.push_str(content.as_str().unwrap_or_default()),
            }
            refusal.push_str(choice[part]["refusal"].as_str().unwrap_or_default());
            let legacy = Some(&choice[part]["function_call"]).filter(|call| call.is_object());
            let entries = choice[part]["tool_calls"].as_array().into_iter().flatten();
            let entries = entries.map(|entry| (&entry["index"], &entry["function"]));
            let legacy = legacy.map(|function| (&Value::Null, function));
            for (nth, (index, function)) in entries.chain(legacy).enumerate() {
                let index = index.as_u64().map_or(nth, |index| index as usize);
                let (name, arguments) = calls.entry(index).or_default();
                name.push_str(function["name"].as_str().unwrap_or_default());
                arguments.push_str(function["arguments"].as_str().unwrap_or_default());
            }
            // Some servers say it twice.
            if let Some(reason) = choice["finish_reason"].as_str() {
                finish = reason.to_owned();
            }
        }
    }
    match finish.as_str() {
        "content_filter" => Expected::Failed(FailureClass::ContentFilter),
        _ if !refusal.is_empty() => Expected::Failed(FailureClass::Refusal),
        "length" => Expected::Failed(FailureClass::Length),
        _ => {
            let read = |(name, arguments): (String, String)| {
                let arguments = if arguments.is_empty() { "{}" } else { &arguments };
                (name, serde_json::from_str(arguments).expect("arguments are JSON"))
            };
            Expected::Reply(text, calls.into_values().map(read).collect())
        }
    }
}
