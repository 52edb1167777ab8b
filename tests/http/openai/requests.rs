//! What is sent, and how answers are read.

use planwright::machine::{FailureClass, ModelReply, Usage};
use planwright::ports::{Cause, Model, ModelError, Secret};
use planwright::spec::RequestFrame;
use planwright_http::{ModelConfig, OpenAi};
use serde_json::{Value, json};

use super::support::{Answer, Server, completion};
use super::{Asker, ask_for, failed, frame, request, unanswered};

#[test]
fn request_holds_instructions_payload_and_settings() {
    let server = Server::answering([Answer::reply("그래서.")]);
    let asked = request(RequestFrame {
        model: Some("bigger".to_owned()),
        temperature: Some(0.0),
        max_tokens: Some(64),
        ..frame()
    });
    let asker = Asker::with(&server, |config| config.api_key = Secret::new("sk-test-1234"));
    assert_eq!(asker.client.secrets(), [Secret::new("sk-test-1234")]);
    let reply = asker.ask_with(&asked).unwrap();
    assert_eq!(reply.text, "그래서.");

    let seen = &server.seen()[0];
    assert_eq!(seen.target, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some("Bearer sk-test-1234"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let expected = json!({
        "model": "bigger",
        "messages": [
            {"role": "system", "content": "Answer."},
            {"role": "user", "content": r#"{"user_question":"왜?"}"#},
        ],
        "temperature": 0.0,
        "max_tokens": 64,
        "stream": false,
    });
    assert_eq!(seen.json(), expected);
}

#[test]
fn base_url_may_end_in_a_slash_or_in_the_endpoint_and_may_hold_a_query() {
    let server = Server::answering([Answer::reply("a")]);
    let host = format!("http://127.0.0.1:{}", server.port());
    for (base, target) in [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/", "/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/openai/v1/?api-version=1", "/openai/v1/chat/completions?api-version=1"),
    ] {
        Asker::new(ModelConfig::new(format!("{host}{base}"), "m")).ask().unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!((seen.target.as_str(), seen.header("authorization")), (target, None));
    }
}

#[test]
fn address_that_is_no_url_is_refused_with_an_example() {
    for base in ["", " ", "localhost", "localhost:8080/v1", "ftp://host/v1", "http://", "http:///v1", "한국"]
    {
        let outcome = OpenAi::new(ModelConfig::new(base, "m"));
        let error = unanswered(outcome.map(|_| ModelReply::default()), Cause::NotFound);
        assert!(error.message.contains("\"http://localhost:8080/v1\""), "{base:?}: {error}");
    }
}

#[test]
fn port_that_is_none_is_said_and_not_replaced_by_the_usual_one() {
    for base in ["http://localhost:99999/v1", "http://localhost:/v1", "https://[::1]:70000"] {
        let outcome = OpenAi::new(ModelConfig::new(base, "m"));
        let error = unanswered(outcome.map(|_| ModelReply::default()), Cause::NotFound);
        assert!(error.message.contains("port is none from 1 to 65535"), "{base}: {error}");
    }
    OpenAi::new(ModelConfig::new("http://[::1]/v1", "m")).unwrap();
}

#[test]
fn message_counts_in_a_body_that_is_one_object_whatever_delta_stands_beside_it() {
    let mut answer = completion("한국어");
    answer["choices"][0]["delta"] = json!({"role": "assistant", "content": ""});
    assert_eq!(Asker::answering([Answer::json(200, &answer)]).ask().unwrap().text, "한국어");
    // Asked for as a stream too.
    let (pieces, outcome) = Asker::answering([Answer::json(200, &answer)]).stream();
    assert_eq!((pieces.concat(), outcome.unwrap().text), ("한국어".to_owned(), "한국어".to_owned()));
}

#[test]
fn half_of_a_character_is_replaced_and_the_rest_is_read() {
    let body = |text: &str| {
        let body = completion("TEXT").to_string().replace("TEXT", text);
        Asker::answering([Answer::body(200, "application/json", body)]).ask().unwrap().text
    };
    assert_eq!(body(r"a\ud83d b\ude00\ud83d\ud83d\ude00 \\ud83d"), "a\u{FFFD} b\u{FFFD}\u{FFFD}😀 \\ud83d");
    let events = [r"\ud83d", "가"].map(|text| super::support::event("TEXT").replace("TEXT", text));
    let done = "data: [DONE]\n\n".to_owned();
    let asker = Asker::answering([Answer::chunks(events.into_iter().chain([done]))]);
    assert_eq!(asker.stream().1.unwrap().text, "\u{FFFD}가");
}

#[test]
fn text_of_a_reply_that_was_cut_is_kept() {
    let mut answer = completion("답은 사");
    answer["choices"][0]["finish_reason"] = json!("length");
    let Err(ModelError::Failed(failure)) = Asker::answering([Answer::json(200, &answer)]).ask() else {
        panic!("expected a failure");
    };
    assert_eq!((failure.class, failure.text.as_str()), (FailureClass::Length, "답은 사"));
    assert_eq!(json!(failure)["text"], "답은 사", "and a journal holds it");
}

#[test]
fn name_is_the_model_that_was_asked_and_not_the_one_that_answered() {
    let mut answer = completion("a");
    answer["model"] = json!("m-2025-01-01");
    let asker = Asker::answering([Answer::json(200, &answer)]);
    assert_eq!((asker.client.name(), asker.ask().unwrap().model.as_str()), ("m", "m"));
    let named = request(RequestFrame { model: Some("bigger".to_owned()), ..frame() });
    assert_eq!(asker.ask_with(&named).unwrap().model, "bigger");
}

#[track_caller]
fn check_usage(usage: Value, expected: (u64, u64, u64)) {
    let mut answer = completion("a");
    answer["usage"] = usage;
    let (input_tokens, output_tokens, cached_tokens) = expected;
    let expected = Usage { input_tokens, output_tokens, cached_tokens, ..Usage::default() };
    assert_eq!(Asker::answering([Answer::json(200, &answer)]).ask().unwrap().usage, expected);
}

#[test]
fn usage_is_read_in_the_forms_that_servers_use() {
    check_usage(json!({"prompt_tokens": 7, "completion_tokens": 3}), (7, 3, 0));
    let openai = json!({
        "prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}
    });
    check_usage(openai, (7, 3, 5));
    check_usage(json!({"prompt_tokens": 7, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}), (7, 3, 4));
    check_usage(json!({"prompt_tokens": 7.0, "completion_tokens": null}), (7, 0, 0));
}

#[test]
fn usage_that_the_server_does_not_tell_is_estimated_and_marked() {
    for usage in [json!(null), json!({"prompt_tokens": -1, "completion_tokens": "many"})] {
        let mut answer = completion("가나다 four");
        answer["usage"] = usage;
        let asker = Asker::answering([Answer::json(200, &answer)]);
        let usage = asker.ask().unwrap().usage;
        assert_eq!((usage.output_tokens, usage.cached_tokens), (5, 0));
        assert!((20..60).contains(&usage.input_tokens), "{usage:?}");
        assert_eq!(usage.estimated_tokens, usage.input_tokens + usage.output_tokens);
    }
}

#[test]
fn finish_that_is_a_failure_reaches_the_machine_and_any_other_is_a_reply() {
    for finish in ["stop", "eos", "end_turn", "STOP", ""].map(Value::from).into_iter().chain([json!(null)]) {
        assert_eq!(ask_for(json!({"content": "a"}), finish).unwrap().text, "a");
    }
    let cut = json!({"content": "{\"goal\": \"ab"});
    failed(ask_for(cut.clone(), "length"), FailureClass::Length);
    failed(ask_for(cut.clone(), "max_tokens"), FailureClass::Length);
    failed(ask_for(cut, "content_filter"), FailureClass::ContentFilter);
    let refusal = json!({"content": null, "refusal": "I can't help with that."});
    let message = failed(ask_for(refusal, "stop"), FailureClass::Refusal);
    assert_eq!(message, "I can't help with that.");
    let part = json!({"content": [{"type": "refusal", "refusal": "No."}]});
    assert_eq!(failed(ask_for(part, "stop"), FailureClass::Refusal), "No.");
}

#[test]
fn text_is_the_content_in_any_of_its_forms_and_nothing_beside_it() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "둘"},
        {"type": "text", "text": "셋"},
    ]);
    for (content, text) in
        [(json!("하나"), "하나"), (json!(null), ""), (json!(""), ""), (json!([]), ""), (parts, "둘셋")]
    {
        assert_eq!(ask_for(json!({"content": content}), "stop").unwrap().text, text);
    }
    assert_eq!(ask_for(json!({}), "stop").unwrap().text, "");
    let message = json!({
        "content": "42", "reasoning_content": "six times seven", "reasoning": "seven times six",
        "refusal": null, "tool_calls": null,
    });
    assert_eq!(ask_for(message, "stop").unwrap().text, "42");
    let call = json!({"content": null, "tool_calls": [{"type": "function", "function": {"name": "f"}}]});
    assert_eq!(ask_for(call, "tool_calls").unwrap().text, "");
    let choice = |index: u32, text: &str| json!({"index": index, "message": {"content": text}});
    let answer = json!({"choices": [choice(1, "b"), choice(0, "a")]});
    assert_eq!(Asker::answering([Answer::json(200, &answer)]).ask().unwrap().text, "a");
}

fn gzip(text: &str) -> Answer {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    Answer::body(200, "application/json", encoder.finish().unwrap()).header("content-encoding", "gzip")
}

#[test]
fn response_over_the_limit_is_not_read_and_counts_as_unpacked() {
    let exact = completion("abc").to_string();
    let server = Server::answering([Answer::reply("abc")]);
    let asker = Asker::with(&server, |config| config.max_response_bytes = exact.len());
    assert_eq!(asker.ask().unwrap().text, "abc");
    let asker = Asker::with(&server, |config| config.max_response_bytes = exact.len() - 1);
    failed(asker.ask(), FailureClass::TooLarge);
    assert_eq!(server.count(), 2);

    let small = completion("작은 답").to_string();
    let large = completion(&"a".repeat(5_000_000)).to_string();
    let server = Server::answering([gzip(&small), gzip(&large)]);
    let asker = Asker::with(&server, |config| config.max_response_bytes = 100_000);
    assert_eq!(asker.ask().unwrap().text, "작은 답");
    failed(asker.ask(), FailureClass::TooLarge);
}

#[test]
fn error_under_status_200_is_an_error() {
    let answer = json!({"error": {"message": "Provider returned error", "code": 429}, "user_id": "u"});
    let asker = Asker::answering([Answer::json(200, &answer), Answer::reply("a")]);
    assert_eq!(asker.ask().unwrap().text, "a");
    assert_eq!((asker.server().count(), asker.waits().len()), (2, 1));

    let filtered = json!({"error": {"message": "filtered", "code": "content_filter", "status": 400}});
    failed(Asker::answering([Answer::json(200, &filtered)]).ask(), FailureClass::ContentFilter);
}
