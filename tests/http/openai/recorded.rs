//! Bodies that real servers sent, where `PLANWRIGHT_RESPONSES` names a folder of them: an
//! `INDEX.jsonl` with a line for each (`file`, `api`, `status`, `stream`, `headers`).

use std::collections::BTreeMap;
use std::path::Path;

use planwright::machine::FailureClass;
use planwright::ports::{Cause, ModelError};
use serde_json::Value;

use super::Asker;
use super::support::Answer;

/// What a body should be read as, worked out here without the client's own reading.
#[derive(Debug, PartialEq)]
enum Expected {
    Reply(String, Vec<Call>),
    Failed(FailureClass),
    Unanswered(Cause),
}

/// A tool's name and its arguments, read as JSON.
type Call = (String, Value);

#[test]
#[ignore = "PLANWRIGHT_RESPONSES names a folder of recorded responses"]
fn recorded_responses_of_real_servers_are_read_as_they_were_meant() {
    let folder = std::env::var_os("PLANWRIGHT_RESPONSES").expect("PLANWRIGHT_RESPONSES names a folder");
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("INDEX.jsonl")).expect("the folder holds an INDEX.jsonl");
    let entries = index.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let (mut wrong, mut replies, mut calls) = (Vec::new(), 0, 0);
    for entry in entries.filter(|entry| entry["api"] == "chat-completions") {
        let file = entry["file"].as_str().expect("an entry names its file");
        let body = std::fs::read(folder.join(file)).expect("the file is there");
        let status = u16::try_from(entry["status"].as_u64().expect("a status")).expect("a status is short");
        let streams = entry["stream"] == true;
        let expected = expect(status, &String::from_utf8_lossy(&body), streams);
        let found = ask(&entry, status, body, streams);
        if let Expected::Reply(_, found) = &found {
            (replies, calls) = (replies + 1, calls + found.len());
        }
        if found != expected {
            wrong.push(format!("{file}: expected {expected:?}, found {found:?}"));
        }
    }
    println!("{replies} recorded replies read, with {calls} tool calls");
    assert!(replies > 0 && calls > 0, "the index names no replies, or none with tool calls");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ask(entry: &Value, status: u16, body: Vec<u8>, streams: bool) -> Expected {
    let mut answer = Answer::body(status, "", body);
    for (name, value) in entry["headers"].as_object().into_iter().flatten() {
        answer = answer.header(name, value.as_str().unwrap_or_default());
    }
    let asker = Asker::answering([answer]);
    let outcome = if streams {
        let (pieces, outcome) = asker.stream();
        if let Ok(reply) = &outcome {
            assert_eq!(pieces.concat(), reply.text);
        }
        outcome
    } else {
        asker.ask()
    };
    match outcome {
        Ok(reply) => {
            let calls = reply.tool_calls.into_iter().map(|call| {
                let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
                (call.name, arguments)
            });
            Expected::Reply(reply.text, calls.collect())
        }
        Err(ModelError::Failed(failure)) => Expected::Failed(failure.class),
        Err(ModelError::Unanswered(error)) => Expected::Unanswered(error.cause),
    }
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
    let values: Vec<Value> = if streams {
        let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter(|data| data.trim() != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    } else {
        vec![serde_json::from_str(body).unwrap()]
    };
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
