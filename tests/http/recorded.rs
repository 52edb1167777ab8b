//! Bodies that real servers sent, where `PLANWRIGHT_RESPONSES` names a folder of them: an
//! `INDEX.jsonl` with a line for each (`file`, `api`, `status`, `stream`, `headers`).

use std::path::Path;

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Cause, ModelError};
use serde_json::Value;

use super::asker::{Asker, Client};
use super::support::Answer;

/// What a body should be read as, worked out here without the client's own reading.
#[derive(Debug, PartialEq)]
pub enum Expected {
    Reply(String, Vec<Call>),
    Failed(FailureClass),
    Unanswered(Cause),
}

/// A tool's name and its arguments, read as JSON.
pub type Call = (String, Value);

/// Checks every recorded body of a protocol, against what `expect` makes of status, body and whether it is a stream.
/// `go_on` is given each reply.
pub fn check_recorded<M: Client>(
    api: &str,
    expect: impl Fn(u16, &str, bool) -> Expected,
    go_on: impl Fn(&ModelReply),
) {
    let folder = std::env::var_os("PLANWRIGHT_RESPONSES").expect("PLANWRIGHT_RESPONSES names a folder");
    let folder = Path::new(&folder);
    let index = std::fs::read_to_string(folder.join("INDEX.jsonl")).expect("the folder holds an INDEX.jsonl");
    let entries = index.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let (mut wrong, mut replies, mut calls) = (Vec::new(), 0, 0);
    for entry in entries.filter(|entry| entry["api"] == api) {
        let file = entry["file"].as_str().expect("an entry names its file");
        let body = std::fs::read(folder.join(file)).expect("the file is there");
        let status = u16::try_from(entry["status"].as_u64().expect("a status")).expect("a status is short");
        let streams = entry["stream"] == true;
        let expected = expect(status, &String::from_utf8_lossy(&body), streams);
        let outcome = ask::<M>(&entry, status, body, streams);
        outcome.iter().for_each(&go_on);
        let found = describe(outcome);
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

fn ask<M: Client>(
    entry: &Value,
    status: u16,
    body: Vec<u8>,
    streams: bool,
) -> Result<ModelReply, ModelError> {
    let mut answer = Answer::body(status, "", body);
    for (name, value) in entry["headers"].as_object().into_iter().flatten() {
        answer = answer.header(name, value.as_str().unwrap_or_default());
    }
    let asker = Asker::<M>::answering([answer]);
    if !streams {
        return asker.ask();
    }
    let (pieces, outcome) = asker.stream();
    if let Ok(reply) = &outcome {
        assert_eq!(pieces.concat(), reply.text);
    }
    outcome
}

fn describe(outcome: Result<ModelReply, ModelError>) -> Expected {
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

/// The events of a stream, or the one body.
pub fn values(body: &str, streams: bool) -> Vec<Value> {
    if !streams {
        return vec![serde_json::from_str(body).unwrap()];
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter(|data| data.trim() != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}
