//! What fails, what it is called, and what is tried again.

use std::io::{Read, Write};
use std::time::Duration;

use planwright::machine::FailureClass;
use planwright::ports::Cause;
use planwright::spec::RequestFrame;
use planwright_http::{ModelConfig, Retry};
use serde_json::{Value, json};

use super::support::{Answer, DeadPort, Server};
use super::{Asker, failed, request, unanswered, with_schema};

/// The failure lasts: it is tried `tries` times in all and then has this cause and says this.
#[track_caller]
fn check_lasting(answer: Answer, cause: Cause, tries: u32, says: &str) {
    let asker = Asker::answering([answer]);
    let error = unanswered(asker.ask(), cause);
    assert!(error.message.contains(says), "expected {says:?} in {error}");
    assert!(error.message.contains("127.0.0.1"), "the server is named: {error}");
    let (count, waits) = (asker.server().count() as u32, asker.waits().len() as u32);
    assert_eq!((count, error.tries, waits), (tries, tries, tries - 1));
}

#[test]
fn a_time_that_no_clock_counts_is_as_good_as_none() {
    let server = Server::answering([Answer::reply("답")]);
    let asker = Asker::with(&server, |config| {
        config.call_timeout = Duration::MAX;
        config.connect_timeout = Duration::MAX;
        config.idle_timeout = Duration::MAX;
    });
    assert_eq!(asker.ask().unwrap().text, "답");
}

#[test]
fn every_status_class_has_its_cause_and_only_passing_ones_are_tried_again() {
    let causes: [(Cause, u32, &[u16]); 7] = [
        (Cause::Authentication, 1, &[401, 403]),
        (Cause::Quota, 1, &[402]),
        (Cause::NotFound, 1, &[404, 405]),
        (Cause::Server, 1, &[501]),
        (Cause::Timeout, 6, &[408]),
        (Cause::RateLimit, 6, &[429]),
        (Cause::Server, 6, &[500, 502, 503, 504, 529]),
    ];
    for (cause, tries, statuses) in causes {
        for status in statuses {
            check_lasting(Answer::error(*status, "그 서버의 말"), cause, tries, "그 서버의 말");
        }
    }
}

#[track_caller]
fn check_failure(status: u16, body: &Value, class: FailureClass, says: &str) {
    let server = Server::answering([Answer::json(status, body)]);
    let message = failed(Asker::of(&server).ask(), class);
    assert!(message.contains(says), "expected {says:?} in {message:?}");
    assert_eq!(server.count(), 1, "the same request would get it again");
}

#[test]
fn message_is_found_wherever_the_server_puts_it() {
    let class = FailureClass::BadRequest;
    let usual = json!({"error": {"message": "나쁜 요청", "type": "t"}});
    check_failure(400, &usual, class, "나쁜 요청 (status 400)");
    check_failure(400, &json!({"error": "as a text"}), class, "as a text");
    check_failure(422, &json!({"message": "beside a code", "code": 422}), class, "beside a code");
    check_failure(413, &json!({"detail": "as a detail"}), class, "as a detail");
    let list = json!({"detail": [{"loc": ["body", "n"], "msg": "too many", "type": "t"}]});
    check_failure(422, &list, class, "body.n: too many");
    let routed =
        json!({"error": {"message": "Provider returned error", "metadata": {"raw": "what it said"}}});
    check_failure(400, &routed, class, "Provider returned error: what it said");
    check_failure(400, &json!({"odd": 1}), class, r#"{"odd":1}"#);
    let teapot = Asker::answering([Answer::body(418, "text/plain", "short and stout")]);
    assert!(failed(teapot.ask(), class).contains("short and stout (status 418)"));
}

#[test]
fn too_long_a_context_is_not_asked_again_in_another_form() {
    let message = "maximum context length is 8192 tokens, lower max_completion_tokens or the schema";
    let server = Server::answering([Answer::error(400, message)]);
    let asked = with_schema();
    let frame = RequestFrame { max_tokens: Some(9), ..(*asked.frame).clone() };
    failed(Asker::of(&server).ask_with(&request(frame)), FailureClass::ContextLength);
    assert_eq!(server.count(), 1);
}

#[test]
fn used_up_quota_is_not_waited_for_and_too_many_tokens_a_minute_are() {
    let quota = json!({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}});
    check_lasting(Answer::json(429, &quota), Cause::Quota, 1, "You exceeded your quota");
    let kind = json!({"error": {"message": "pay", "type": "insufficient_quota", "code": null}});
    check_lasting(Answer::json(429, &kind), Cause::Quota, 1, "pay");
    check_lasting(Answer::error(429, "Too many tokens, please wait"), Cause::RateLimit, 6, "Too many tokens");
}

#[test]
fn too_long_a_context_and_a_filtered_prompt_are_told_from_other_bad_requests() {
    let class = FailureClass::ContextLength;
    for message in [
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "The prompt exceeds the context window",
        "too many tokens",
    ] {
        check_failure(400, &json!({"error": {"message": message}}), class, message);
    }
    let code = json!({"error": {"message": "Too long.", "code": "context_length_exceeded"}});
    check_failure(400, &code, class, "Too long.");
    let llama = json!({"error": {"code": 400, "message": "it is long", "type": "exceed_context_size_error"}});
    check_failure(400, &llama, class, "it is long");
    let body = json!({"error": {
        "message": "triggering content management policy", "code": "content_filter",
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }});
    check_failure(400, &body, FailureClass::ContentFilter, "content management policy");
}

#[test]
fn bad_request_that_says_wrong_key_or_no_such_model_interrupts() {
    let check = |error: Value, cause| {
        let asker = Asker::answering([Answer::json(400, &error)]);
        assert!(unanswered(asker.ask_with(&with_schema()), cause).message.contains("(status 400)"));
        assert_eq!(asker.server().count(), 1);
    };
    let litellm =
        |message: &str, kind: &str| json!({"error": {"message": message, "type": kind, "code": "400"}});
    let token = "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...1234";
    check(litellm(token, "auth_error"), Cause::Authentication);
    check(json!([{"error": {"code": 400, "message": "API key not valid."}}]), Cause::Authentication);
    let model =
        "/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view available models";
    check(litellm(model, "invalid_request_error"), Cause::NotFound);
    check(json!({"message": "Invalid model: m", "type": "invalid_model", "code": "1500"}), Cause::NotFound);
    check(json!({"error": {"message": "m is not a valid model ID", "code": 400}}), Cause::NotFound);
}

#[test]
fn rate_limit_is_waited_out_for_the_minute_that_it_lasts() {
    let asker =
        Asker::answering([Answer::error(429, "later").header("retry-after", "60"), Answer::reply("a")]);
    asker.ask().unwrap();
    assert_eq!(asker.waits(), [Duration::from_secs(60)]);
    let asker = Asker::answering([Answer::error(429, "later")]);
    unanswered(asker.ask(), Cause::RateLimit);
    assert!(asker.waits().iter().sum::<Duration>() >= Duration::from_secs(60), "{:?}", asker.waits());
}

#[test]
fn host_that_is_not_there_gets_one_quick_second_try() {
    let port = DeadPort::new();
    for base in [format!("http://127.0.0.1:{}", port.number()), "http://nowhere.invalid".to_owned()] {
        let asker = Asker::new(ModelConfig::new(base, "m"));
        assert_eq!(unanswered(asker.ask(), Cause::Connection).tries, 2);
        assert!(asker.waits()[0] <= Duration::from_millis(500));
    }
}

#[test]
fn server_that_does_not_speak_tls_is_a_matter_of_set_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://127.0.0.1:{}/v1", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let asker = Asker::new(ModelConfig::new(address, "m"));
    let error = unanswered(asker.ask(), Cause::Connection);
    assert!(error.message.contains("no TLS connection"), "{error}");
    assert_eq!((error.tries, asker.waits().len()), (1, 0));
}

#[test]
fn number_of_tries_is_a_setting() {
    for (setting, tries) in [(0, 1), (1, 1), (3, 3)] {
        let server = Server::answering([Answer::error(500, "down")]);
        let asker = Asker::with(&server, |config| config.retry.tries = setting);
        let error = unanswered(asker.ask(), Cause::Server);
        assert_eq!((error.tries, server.count() as u32), (tries, tries));
    }
}

#[test]
fn server_that_asks_for_too_long_a_wait_is_not_tried_again() {
    let year = Duration::from_secs(365 * 86_400);
    for (value, expected) in [("120", Duration::from_secs(120)), ("99999999999999999999999999", year)] {
        let asker = Asker::answering([Answer::error(429, "later").header("retry-after", value)]);
        let error = unanswered(asker.ask(), Cause::RateLimit);
        assert_eq!(error.retry_after, Some(expected));
        assert_eq!((asker.server().count(), asker.waits().len()), (1, 0));
        assert!(error.to_string().contains("the server asks to wait"), "{error}");
    }
}

#[test]
fn body_that_is_no_completion_gets_one_more_try() {
    let kind = Cause::BadResponse;
    let html = Answer::body(200, "text/html", "<!doctype html><title>한국어</title>");
    check_lasting(html, kind, 2, "found \"<!doctype html>");
    check_lasting(Answer::body(200, "application/json", ""), kind, 2, "found an empty body");
    let begun = Answer::body(200, "application/json", "{\"choices\": [{");
    check_lasting(
        begun,
        kind,
        2,
        "(EOF while parsing an object at line 1 column 14); is the base URL right?",
    );
    check_lasting(Answer::json(200, &json!({"choices": []})), kind, 2, "expected a chat completion");
    check_lasting(Answer::json(200, &json!([1, 2])), kind, 2, "[1,2]");
    check_lasting(Answer::body(200, "application/json", b"{\"a\": \"\xFF\"}"), kind, 2, "expected a chat");
    check_lasting(Answer::raw("SSH-2.0-OpenSSH_9.6\r\n"), kind, 2, "");
}

const SHORT: Duration = Duration::from_millis(300);

/// Each of two tries runs into the time-out.
#[track_caller]
fn check_timeout(answer: Answer) {
    let server = Server::answering([answer]);
    let asker = Asker::with(&server, |config| {
        config.call_timeout = SHORT;
        config.retry.tries = 2;
    });
    let error = unanswered(asker.ask(), Cause::Timeout);
    assert!(error.message.contains("no whole answer within 300ms"), "{error}");
    assert_eq!((error.tries, server.count()), (2, 2));
}

#[test]
fn whole_call_is_bounded_in_time_wherever_it_hangs() {
    check_timeout(Answer::silence());
    check_timeout(Answer::raw("HTTP/1.1 200 OK\r\ncontent-le").hanging());
    check_timeout(Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"cho").hanging());
    // A server that always has a little more to say gets no more time for it.
    check_timeout(Answer::chunks([" "; 600]).trickling(SHORT / 6));
}

#[test]
fn connecting_is_bounded_in_time() {
    // A listener that accepts and never greets: the TLS handshake is part of connecting.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://127.0.0.1:{}/v1", listener.local_addr().unwrap().port());
    let retry = Retry { tries: 1, ..Retry::default() };
    let config = ModelConfig { connect_timeout: SHORT, retry, ..ModelConfig::new(address, "m") };
    let asker = Asker::new(config);
    let error = unanswered(asker.ask(), Cause::Timeout);
    assert!(error.message.contains("no connection within 300ms"), "{error}");
}
