//! Replies that come piece by piece.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use planwright::machine::{FailureClass, Usage};
use planwright::ports::{Cause, Model, Unanswered};
use planwright_http::OpenAi;
use serde_json::json;

use super::support::{Answer, Server, completion, event, finish};
use super::{Asker, failed, plain, unanswered};

const DONE: &str = "data: [DONE]\n\n";

/// The answer is read as these pieces.
#[track_caller]
fn check_pieces(answer: Answer, expected: &[&str]) {
    let server = Server::answering([answer]);
    let (pieces, outcome) = Asker::of(&server).stream();
    assert_eq!(outcome.unwrap().text, expected.concat());
    assert_eq!(pieces, expected);
    assert_eq!(server.count(), 1);
}

#[test]
fn pieces_come_in_order_and_the_reply_is_whole() {
    let events = [event("하"), event("나 "), event("둘"), finish("stop"), DONE.into()];
    let server = Server::answering([Answer::chunks(events)]);
    let (pieces, outcome) = Asker::of(&server).stream();
    assert_eq!(pieces, ["하", "나 ", "둘"]);
    assert_eq!(outcome.unwrap().text, "하나 둘");
    let body = server.seen()[0].json();
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
}

#[test]
fn thoughts_come_apart_from_the_pieces() {
    let thought =
        |text: &str| event("").replace("\"content\":\"\"", &format!("\"reasoning_content\":\"{text}\""));
    let events = [thought("더"), thought("하자"), event("하나"), finish("stop"), DONE.into()];
    let (pieces, outcome) = Asker::of(&Server::answering([Answer::chunks(events)])).stream();
    let reply = outcome.unwrap();
    assert_eq!((pieces.concat(), &*reply.text, &*reply.thoughts), ("하나".to_owned(), "하나", "더하자"));
}

#[test]
fn characters_split_between_reads_are_whole_again() {
    let stream = [event("한국어 "), event("글자 🦀"), finish("stop"), DONE.into()].concat().into_bytes();
    for size in 1..=7 {
        check_pieces(Answer::chunks(stream.chunks(size)), &["한국어 ", "글자 🦀"]);
    }
}

#[test]
fn stream_may_be_written_in_any_of_the_usual_ways() {
    let whole = [event("가"), event("나"), finish("stop"), DONE.into()].concat();
    check_pieces(Answer::chunks([whole.as_str()]), &["가", "나"]);
    check_pieces(Answer::chunks([whole.replace('\n', "\r\n")]), &["가", "나"]);
    check_pieces(Answer::chunks([whole.replace("data: ", "data:")]), &["가", "나"]);
    check_pieces(Answer::chunks([whole.replace("\n\n", "\n")]), &["가", "나"]);
    check_pieces(Answer::chunks([format!("\u{FEFF}{whole}")]), &["가", "나"]);
    check_pieces(Answer::chunks([format!("\n\n{whole}")]), &["가", "나"]);
    let commented = whole.replace("data: ", ": PROCESSING\n\nevent: chunk\nid: 7\nretry: 10\ndata: ");
    check_pieces(Answer::chunks([commented]), &["가", "나"]);
    // One event told on several lines.
    let spread = whole.replace("{\"choices\":", "{\ndata: \"choices\":");
    check_pieces(Answer::chunks([spread]), &["가", "나"]);
    // No length and no chunks: the end of the connection is the end of the body.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    check_pieces(Answer::raw(format!("{head}{whole}")), &["가", "나"]);
    // The headers do not matter.
    check_pieces(Answer::body(200, "application/json", whole), &["가", "나"]);
}

#[test]
fn usage_of_a_stream_comes_with_its_last_event() {
    let usage = json!({"choices": [], "usage": {
        "prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 16},
    }});
    let null = json!({"choices": [{"index": 0, "delta": {"content": "가"}}], "usage": null});
    let events = [format!("data: {null}\n\n"), finish("stop"), format!("data: {usage}\n\n"), DONE.into()];
    let usage = Asker::answering([Answer::chunks(events)]).stream().1.unwrap().usage;
    assert_eq!(usage, Usage { input_tokens: 20, output_tokens: 2, cached_tokens: 16, ..Usage::default() });
}

#[test]
fn done_is_not_missed_where_the_finish_came() {
    check_pieces(Answer::chunks([event("가"), finish("stop")]), &["가"]);
    check_pieces(Answer::broken_chunks([event("가"), finish("stop")]), &["가"]);
    check_pieces(Answer::chunks([event("가"), finish("stop").trim_end().to_owned()]), &["가"]);
    check_pieces(Answer::chunks([event("가"), finish("stop"), "data: {\"usa".to_owned()]), &["가"]);
    // Nothing after `[DONE]` is waited for.
    check_pieces(Answer::broken_chunks([event("가"), finish("stop"), DONE.into()]).hanging(), &["가"]);
    check_pieces(Answer::broken_chunks([event("가"), DONE.into()]).hanging(), &["가"]);
}

#[test]
fn reply_that_has_ended_is_not_held_up_by_an_open_connection() {
    let begun = Instant::now();
    check_pieces(Answer::broken_chunks([event("가"), finish("stop")]).hanging(), &["가"]);
    let keeps_alive = std::iter::repeat_n(": ping\n\n".to_owned(), 99);
    let events = [event("가"), finish("stop")].into_iter().chain(keeps_alive);
    check_pieces(Answer::chunks(events).trickling(Duration::from_millis(50)), &["가"]);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn stream_that_falls_silent_is_given_up_before_the_whole_time_is_up() {
    let idle = |answer: Answer| {
        let server = Server::answering([answer]);
        let asker = Asker::with(&server, |config| config.idle_timeout = Duration::from_millis(300));
        asker.stream()
    };
    let (pieces, outcome) = idle(Answer::broken_chunks([event("가")]).hanging());
    let error = unanswered(outcome, Cause::Timeout);
    assert!(error.message.contains("nothing more of the answer within 300ms"), "{error}");
    assert_eq!((pieces.concat().as_str(), error.tries), ("가", 1));
    let (_, outcome) = idle(Answer::broken_chunks(["{\"choices\": "]).hanging());
    assert_eq!(unanswered(outcome, Cause::Timeout).tries, 6, "a body that is no stream, too");
    // A comment keeps the stream alive, and the wait for its beginning is another matter.
    let ping = || ": ping\n".to_owned();
    let events = [event("가"), ping(), ping(), ping(), finish("stop"), DONE.into()];
    idle(Answer::chunks(events).trickling(Duration::from_millis(120))).1.unwrap();
    idle(Answer::chunks([[event("가"), finish("stop")].concat()]).trickling(Duration::from_millis(600)))
        .1
        .unwrap();
}

/// The stream breaks after its first piece, which the sink has: it is not asked for again.
#[track_caller]
fn check_broken(answer: Answer, cause: Cause) {
    // Only a stream that hangs has to be waited for.
    let patience = Duration::from_secs(if cause == Cause::Timeout { 1 } else { 60 });
    let server = Server::answering([answer]);
    let asker = Asker::with(&server, |config| config.call_timeout = patience);
    let (pieces, outcome) = asker.stream();
    let error = unanswered(outcome, cause);
    assert_eq!(pieces, ["가"], "no text is told twice");
    assert_eq!((server.count(), error.tries, asker.waits().len()), (1, 1, 0));
}

#[test]
fn cut_stream_is_no_reply_and_is_not_tried_again() {
    check_broken(Answer::chunks([event("가")]), Cause::BadResponse);
    check_broken(Answer::chunks([event("가"), "data: {\"choices\": [{\"del".to_owned()]), Cause::BadResponse);
    check_broken(Answer::chunks([event("가"), "data: 하하\n\n".to_owned()]), Cause::BadResponse);
    check_broken(Answer::broken_chunks([event("가")]), Cause::Connection);
    check_broken(Answer::broken_chunks([event("가")]).hanging(), Cause::Timeout);
    let error = format!("data: {}\n\n", json!({"error": {"message": "CUDA", "type": "server_error"}}));
    check_broken(Answer::chunks([event("가"), error]), Cause::Server);
}

#[test]
fn cut_stream_is_tried_again_where_the_caller_is_told_that_its_text_is_void() {
    let good = Answer::chunks([event("나"), finish("stop"), DONE.into()]);
    let asker = Asker::answering([Answer::broken_chunks([event("가")]), good]);
    let seen = RefCell::new(Vec::new());
    let mut tokens = |piece: &str| seen.borrow_mut().push(piece.to_owned());
    let retrying = |error: &Unanswered, most, _| {
        seen.borrow_mut().push(format!("{}: {} of {most} failed", error.cause, error.tries));
    };
    let reply = asker.client.ask_until(&plain(), Some(&mut tokens), &retrying, &|| false);
    assert_eq!(reply.unwrap().text, "나");
    assert_eq!(*seen.borrow(), ["가", "connection: 1 of 6 failed", "나"]);
}

#[test]
fn stop_ends_the_wait_and_no_other_try_begins() {
    let server = Server::answering([Answer::error(429, "busy").header("retry-after", "15")]);
    let client = OpenAi::new(super::config(&server)).unwrap();
    let (stopped, told) = (AtomicBool::new(false), Cell::new(Duration::ZERO));
    let begun = Instant::now();
    let retrying = |_: &Unanswered, _, delay| told.set(delay);
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stopped.store(true, Ordering::SeqCst);
        });
        client.ask_until(&plain(), None, &retrying, &|| stopped.load(Ordering::SeqCst))
    });
    assert_eq!((unanswered(answer, Cause::RateLimit).tries, server.count()), (1, 1));
    assert_eq!(told.get(), Duration::from_secs(15));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn stop_leaves_behind_a_request_that_was_sent_wherever_it_hangs() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    for hangs in [
        Answer::silence(),
        Answer::raw(head).hanging(),
        Answer::raw(format!("{head}{{")).hanging(),
        Answer::raw(format!("{}{{", head.replace("200 OK", "500 Oh"))).hanging(),
        Answer::broken_chunks([event("가")]).hanging(),
    ] {
        let server = Server::answering([hangs]);
        let client = OpenAi::new(super::config(&server)).unwrap();
        let begun = Instant::now();
        let stop = || begun.elapsed() > Duration::from_millis(300);
        let answer = client.ask_until(&plain(), Some(&mut |_: &str| {}), &|_, _, _| {}, &stop);
        assert_eq!((unanswered(answer, Cause::Stopped).tries, server.count()), (1, 1));
        assert!(begun.elapsed() < Duration::from_secs(10), "the time of a try is 300 s");
    }
}

#[test]
fn stream_that_broke_before_its_first_piece_is_tried_again() {
    let role = format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}));
    let error = format!("data: {}\n\n", json!({"error": {"message": "overloaded", "code": 529}}));
    let good = Answer::chunks([event("나"), finish("stop"), DONE.into()]);
    for broken in [
        Answer::chunks([role.clone()]),
        Answer::broken_chunks([role.clone()]),
        Answer::chunks([role, error]),
        Answer::chunks(["data: [DONE]\n\n"]),
        Answer::error(503, "busy"),
    ] {
        let asker = Asker::answering([broken, good.clone()]);
        let (pieces, outcome) = asker.stream();
        assert_eq!((outcome.unwrap().text, pieces), ("나".to_owned(), vec!["나".to_owned()]));
        assert_eq!((asker.server().count(), asker.waits().len()), (2, 1));
    }
}

#[test]
fn failure_in_a_stream_has_the_class_that_it_would_have_elsewhere() {
    let error = |value| Answer::chunks([format!("data: {value}\n\n")]);
    let refused = error(json!({"error": {"code": 401, "message": "no"}}));
    unanswered(Asker::answering([refused]).stream().1, Cause::Authentication);
    let long = json!({"error": {"code": "context_length_exceeded", "message": "long"}});
    failed(Asker::answering([error(long)]).stream().1, FailureClass::ContextLength);
    for (reason, class) in [("length", FailureClass::Length), ("content_filter", FailureClass::ContentFilter)]
    {
        let server = Server::answering([Answer::chunks([event("가"), finish(reason), DONE.into()])]);
        failed(Asker::of(&server).stream().1, class);
        assert_eq!(server.count(), 1);
    }
    let refusing = |text| format!("data: {}\n\n", json!({"choices": [{"delta": {"refusal": text}}]}));
    let events = [refusing("I'm "), refusing("sorry."), finish("stop"), DONE.into()];
    let outcome = Asker::answering([Answer::chunks(events)]).stream().1;
    assert_eq!(failed(outcome, FailureClass::Refusal), "I'm sorry.");
}

#[test]
fn stream_over_the_limit_is_not_read_on() {
    let server = Server::start(|_, _| Answer::broken_chunks((0..1_000).map(|_| event("가나다"))).hanging());
    let asker = Asker::with(&server, |config| config.max_response_bytes = 5_000);
    let (pieces, outcome) = asker.stream();
    failed(outcome, FailureClass::TooLarge);
    assert!(pieces.len() < 100, "{}", pieces.len());
    let server = Server::answering([Answer::chunks([format!("data: {}", "가".repeat(10_000))])]);
    let asker = Asker::with(&server, |config| config.max_response_bytes = 5_000);
    failed(asker.stream().1, FailureClass::TooLarge);
}

#[test]
fn reasoning_is_not_told_to_the_sink() {
    let thinking = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm", "content": null}}]});
    let events = [format!("data: {thinking}\n\n"), event("답"), finish("stop"), DONE.into()];
    check_pieces(Answer::chunks(events), &["답"]);
}

#[test]
fn server_that_ignores_stream_or_streams_unasked_is_read_all_the_same() {
    check_pieces(Answer::reply("통째로"), &["통째로"]);
    check_pieces(Answer::body(200, "text/event-stream", completion("통째로").to_string()), &["통째로"]);
    let events = [event("가"), event("나"), finish("stop"), DONE.into()];
    assert_eq!(Asker::answering([Answer::chunks(events)]).ask().unwrap().text, "가나");
    let server = Server::answering([Answer::reply("a")]);
    Asker::of(&server).ask_with(&plain()).unwrap();
    let body = server.seen()[0].json();
    assert_eq!((&body["stream"], body.get("stream_options")), (&json!(false), None));
}
