//! A key goes into one header and nowhere else.

use planwright::machine::ModelReply;
use planwright::ports::{Cause, Model, Secret};
use planwright_http::{ModelConfig, OpenAi, Retry};
use serde_json::json;

use super::support::{Answer, DeadPort, Server, event};
use super::{Asker, plain, unanswered};

const KEY: &str = "sk-live-\"0123456789abcdef";

fn with_key(key: &str) -> ModelConfig {
    ModelConfig { api_key: Secret::new(key), ..ModelConfig::new("http://localhost:1/v1", "m") }
}

/// Every text of an outcome that people or files may get to see.
fn texts(asker: &Asker, streams: bool) -> String {
    let mut ignore = |_: &str| {};
    let outcome = asker.client.ask(&plain(), streams.then_some(&mut ignore));
    let error = outcome.expect_err("every answer here is an error");
    format!("{error}\n{error:?}\n{:?}", asker.client)
}

#[track_caller]
fn check_hidden(answer: Answer, streams: bool) {
    let server = Server::answering([answer]);
    let asker = Asker::with(&server, |config| config.api_key = Secret::new(KEY));
    let texts = texts(&asker, streams);
    for part in ["sk-live", "0123456789", "abcdef"] {
        assert!(!texts.contains(part), "{part} in {texts}");
    }
    assert_eq!(server.seen()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn echoed_key_is_taken_out_of_every_error() {
    for status in [400, 401, 404, 429, 500] {
        check_hidden(Answer::error(status, &format!("no such key: {KEY}")), false);
        check_hidden(Answer::body(status, "text/plain", format!("got Bearer {KEY}")), false);
        check_hidden(Answer::json(status, &json!({"odd": {"headers": [KEY]}})), false);
    }
    check_hidden(Answer::json(200, &json!({"error": {"message": KEY, "code": "c"}})), false);
    check_hidden(Answer::json(200, &json!({"echo": {"authorization": KEY}})), false);
    check_hidden(Answer::body(307, "text/plain", "").header("location", format!("/{KEY}/v1")), false);
    let refusal = json!({"choices": [{"message": {"refusal": format!("Not with {KEY}.")}}]});
    check_hidden(Answer::json(200, &refusal), false);
    check_hidden(Answer::chunks([format!("data: {}\n\n", json!({"error": {"message": KEY}}))]), true);
    check_hidden(Answer::chunks([event("가"), format!("data: {}\n\n", json!({"error": KEY}))]), true);
}

#[test]
fn key_is_taken_out_before_a_message_is_cut_off() {
    // The cut falls amid the key for some of these lengths.
    for padding in (80..125).chain(970..1005) {
        let text = format!("{}{KEY}", "가".repeat(padding));
        check_hidden(Answer::body(200, "text/html", text.clone()), false);
        check_hidden(Answer::body(400, "text/plain", text), false);
    }
}

#[test]
fn piece_of_a_key_at_which_a_message_broke_off_is_taken_out() {
    for length in 4..KEY.len() {
        for status in [200, 400] {
            let piece = &KEY[..length];
            let told = format!("HTTP/1.1 {status} Told\r\ncontent-type: text/plain\r\n\r\nnot you, {piece}");
            let server = Server::answering([Answer::raw(told)]);
            let asker = Asker::with(&server, |config| config.api_key = Secret::new(KEY));
            let texts = texts(&asker, false);
            assert!(texts.contains("not you, [redacted]") && !texts.contains("sk-l"), "{texts}");
        }
    }
}

#[test]
fn key_that_no_header_can_carry_is_refused_and_not_shown() {
    for key in ["sk-live\r\nx-evil: 1", "sk-live-열쇠", "sk-live-\0", "sk-live 1"] {
        let outcome = OpenAi::new(with_key(key)).map(|_| ModelReply::default());
        let error = unanswered(outcome, Cause::Authentication);
        assert!(error.message.contains("no header can carry"), "{error}");
        assert!(!format!("{error} {error:?}").contains("sk-live"));
    }
}

#[test]
fn key_in_the_base_url_is_not_shown() {
    let port = DeadPort::new();
    let address = format!("http://127.0.0.1:{}/v1?key=sk-live-1234", port.number());
    let retry = Retry { tries: 1, ..Retry::default() };
    let config = ModelConfig { retry, ..ModelConfig::new(address, "m") };
    let debug = format!("{config:?}");
    let error = OpenAi::new(config).unwrap().ask(&plain(), None).unwrap_err();
    assert!(!format!("{error} {error:?} {debug}").contains("sk-live"), "{error} {debug}");

    let config = ModelConfig::new("http://me:sk-live-1234@127.0.0.1:1/v1", "m");
    let debug = format!("{config:?}");
    let error = unanswered(OpenAi::new(config).map(|_| ModelReply::default()), Cause::NotFound);
    assert!(!format!("{error} {error:?} {debug}").contains("sk-live"), "{error} {debug}");
}

#[test]
fn further_headers_are_sent_and_their_values_are_in_no_error() {
    let server = Server::answering([Answer::error(401, "api-key azure-0123456789, title 파란 planwright")]);
    let headers =
        [("api-key", " azure-0123456789"), ("X-Title", "planwright"), ("Authorization", "Basic abc")];
    let asker = Asker::with(&server, |config| {
        config.api_key = Secret::new(KEY);
        config.headers = headers.map(|(name, value)| (name.to_owned(), Secret::new(value))).to_vec();
    });
    let error = unanswered(asker.ask(), Cause::Authentication).to_string();
    assert!(!error.contains("azure-0123456789") && !error.contains("planwright"), "{error}");
    let seen = &server.seen()[0];
    assert_eq!(
        (seen.header("api-key"), seen.header("x-title")),
        (Some("azure-0123456789"), Some("planwright"))
    );
    assert_eq!(seen.header("authorization"), Some("Basic abc"), "it takes the place of the key's");
    // What is no credential may be said: a program's name is in many texts.
    let secrets = asker.client.secrets();
    assert!(
        secrets.contains(&Secret::new("azure-0123456789")) && !secrets.contains(&Secret::new("planwright"))
    );
}

#[test]
fn header_that_cannot_be_sent_is_refused_and_its_value_is_not_shown() {
    for (name, value) in
        [("two words", "secret-1"), ("api-key", "secret-1\nx: y"), ("Content-Type", "secret-1")]
    {
        let headers = vec![(name.to_owned(), Secret::new(value))];
        let opened = OpenAi::new(ModelConfig { headers, ..with_key("") });
        let error = unanswered(opened.map(|_| ModelReply::default()), Cause::Authentication).to_string();
        assert!(error.contains(name) && !error.contains("secret-1"), "{error}");
    }
}
