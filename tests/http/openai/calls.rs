//! Tool calls of a reply, in the many ways in which servers write them.

use planwright::contract::AskedCall;
use planwright::machine::FailureClass;
use planwright::ports::Cause;
use serde_json::{Value, json};

use super::support::{Answer, Server, event, finish};
use super::{Asker, ask_for, failed, unanswered};

fn calls(expected: &[(&str, &str)]) -> Vec<AskedCall> {
    let call = |(name, arguments): &(&str, &str)| AskedCall {
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    expected.iter().map(call).collect()
}

/// A whole message is read as these calls.
#[track_caller]
fn check(message: Value, expected: &[(&str, &str)]) {
    assert_eq!(ask_for(message, "tool_calls").unwrap().tool_calls, calls(expected));
}

#[test]
fn several_calls_are_read_in_their_order_beside_the_text() {
    let message = json!({"content": "찾아본다.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "wiki", "arguments": "{\"input\": \"세종\"}"}},
        {"id": "b", "type": "function", "function": {"name": "calc", "arguments": "{\"input\":\"1+1\"}"}},
    ]});
    let reply = ask_for(message, "tool_calls").unwrap();
    assert_eq!(reply.text, "찾아본다.");
    let expected = [("wiki", "{\"input\": \"세종\"}"), ("calc", "{\"input\":\"1+1\"}")];
    assert_eq!(reply.tool_calls, calls(&expected));
}

#[test]
fn call_is_read_in_the_forms_that_servers_use() {
    let input = [("wiki", r#"{"input":"세종"}"#)];
    let text = r#"{"input":"세종"}"#;
    let usual = json!({"content": null, "tool_calls": [{"function": {"name": "wiki", "arguments": text}}]});
    check(usual, &input);
    let object = json!({"name": "wiki", "arguments": {"input": "세종"}});
    check(json!({"tool_calls": [{"id": "", "function": object}]}), &input);
    check(json!({"tool_calls": [object]}), &input);
    check(json!({"content": "", "function_call": {"name": "wiki", "arguments": text}}), &input);
    check(json!({"function_call": object}), &input);
    check(json!({"tool_calls": [{"function": object}], "function_call": object}), &input);
    check(json!({"tool_calls": null, "function_call": null, "content": "없다"}), &[]);
    check(json!({"tool_calls": [null, {}, {"function": object}, 7]}), &input);
}

#[test]
fn arguments_may_be_missing_or_no_json() {
    for arguments in [json!(null), json!(""), json!(" "), json!({}), json!("{}")] {
        let call = json!({"id": "a", "function": {"name": "now", "arguments": arguments}});
        check(json!({"tool_calls": [call]}), &[("now", "{}")]);
    }
    let twice = json!({"tool_calls": [{"function": {"name": "now"}}, {"function": {"name": "now"}}]});
    check(twice, &[("now", "{}"), ("now", "{}")]);
    let message = json!({"tool_calls": [{"function": {"name": "wiki", "arguments": "input: 세종"}}]});
    check(message, &[("wiki", "input: 세종")]);
}

#[test]
fn call_cut_at_the_token_limit_is_a_cut_reply() {
    let cut =
        json!({"tool_calls": [{"id": "a", "function": {"name": "wiki", "arguments": "{\"input\": \"세"}}]});
    failed(ask_for(cut, "length"), FailureClass::Length);
    let pieces = [piece(0, Some("a"), Some("wiki"), "{\"inp"), finish("length"), DONE.to_owned()];
    failed(Asker::answering([Answer::chunks(pieces)]).stream().1, FailureClass::Length);
}

#[test]
fn calls_and_their_arguments_are_bounded() {
    let entry = |nth: usize| json!({"id": format!("c{nth}"), "function": {"name": "f", "arguments": "{}"}});
    let many = |count: usize| json!({"tool_calls": (0..count).map(entry).collect::<Vec<_>>()});
    assert_eq!(ask_for(many(128), "tool_calls").unwrap().tool_calls.len(), 128);
    let told = failed(ask_for(many(129), "tool_calls"), FailureClass::TooLarge);
    assert!(told.contains("128 tool calls"), "{told}");
    let server = Server::start(|_, _| {
        let pieces = (0..1_000).map(|nth| piece(nth, Some("a"), Some("f"), "{}"));
        Answer::broken_chunks(pieces).hanging()
    });
    failed(Asker::of(&server).stream().1, FailureClass::TooLarge);
    let long = "가".repeat(10_000);
    let server = Server::start(move |_, _| {
        Answer::broken_chunks((0..100).map(|_| piece(0, Some("a"), Some("f"), &long))).hanging()
    });
    let asker = Asker::with(&server, |config| config.max_response_bytes = 100_000);
    failed(asker.stream().1, FailureClass::TooLarge);
}

const DONE: &str = "data: [DONE]\n\n";

fn said(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

fn entry(entry: &Value) -> String {
    said(&json!({"tool_calls": [entry]}))
}

/// A piece of a call as most servers write it.
fn piece(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> String {
    entry(&json!({"index": index, "id": id, "type": "function", "function": {
        "name": name, "arguments": arguments,
    }}))
}

/// A stream of these pieces is read as these calls, and nothing of them is text.
#[track_caller]
fn check_stream(pieces: impl IntoIterator<Item = String>, expected: &[(&str, &str)]) {
    let whole: String = pieces.into_iter().chain([finish("tool_calls"), DONE.to_owned()]).collect();
    let (texts, outcome) = Asker::answering([Answer::chunks([whole])]).stream();
    assert_eq!(outcome.unwrap().tool_calls, calls(expected));
    assert!(texts.is_empty(), "{texts:?}");
}

const TWO: [(&str, &str); 2] = [("wiki", r#"{"input":"서울 \"수도\" {"}"#), ("calc", r#"{"input":"2"}"#)];

#[test]
fn pieces_are_put_together_by_index() {
    let pieces = [
        piece(0, Some("a"), Some("wiki"), ""),
        piece(0, None, None, r#"{"input":"서울 \"#),
        piece(0, None, None, r#""수도\" {"}"#),
        piece(1, Some("b"), Some("calc"), ""),
        piece(1, None, None, r#"{"input":"2"}"#),
    ];
    check_stream(pieces.clone(), &TWO);
    // Side by side, and the second first.
    check_stream([3, 0, 4, 1, 2].map(|at| pieces[at].clone()), &TWO);
    let together = json!({"tool_calls": [
        {"index": 0, "id": "a", "function": {"name": "wiki", "arguments": TWO[0].1}},
        {"index": 1, "id": "b", "function": {"name": "calc", "arguments": TWO[1].1}},
    ]});
    check_stream([said(&together)], &TWO);
}

#[test]
fn text_and_calls_may_come_in_one_stream() {
    let pieces = [event("먼저 "), piece(0, Some("a"), Some("wiki"), "{}"), event("찾자."), finish("stop")];
    let (texts, outcome) = Asker::answering([Answer::chunks(pieces)]).stream();
    let reply = outcome.unwrap();
    assert_eq!((texts.concat(), reply.text.as_str()), ("먼저 찾자.".to_owned(), "먼저 찾자."));
    assert_eq!(reply.tool_calls, calls(&[("wiki", "{}")]));
}

#[test]
fn name_may_be_repeated_or_come_in_pieces_and_the_id_may_change() {
    let repeated = [
        piece(0, Some("a"), Some("wiki"), ""),
        piece(0, Some("a"), Some("wiki"), "{\"input\":"),
        piece(0, Some("a"), Some("wiki"), "\"서울\"}"),
        piece(0, Some("a"), Some("wiki"), ""),
    ];
    check_stream(repeated, &[("wiki", "{\"input\":\"서울\"}")]);
    let pieces = [piece(0, Some("a"), Some("wi"), ""), piece(0, None, Some("ki"), "{}")];
    check_stream(pieces, &[("wiki", "{}")]);
    let growing = [piece(0, Some("a"), Some("wi"), ""), piece(0, None, Some("wiki"), "{}")];
    check_stream(growing, &[("wiki", "{}")]);
    let pieces = [
        piece(0, Some("x1"), Some("wiki"), ""),
        piece(0, Some("x2"), None, "{\"input\":"),
        piece(0, Some("x3"), None, "\"서울\"}"),
        piece(0, Some("x4"), None, ""),
    ];
    check_stream(pieces, &[("wiki", "{\"input\":\"서울\"}")]);
}

#[test]
fn calls_that_all_have_index_0_are_told_apart() {
    let same = [
        piece(0, Some("a"), Some("wiki"), r#"{"input":"서울"}"#),
        piece(0, Some("b"), Some("wiki"), r#"{"input":"부산"}"#),
        piece(0, Some("c"), Some("wiki"), r#"{"input":"부산"}"#),
    ];
    let expected =
        [("wiki", r#"{"input":"서울"}"#), ("wiki", r#"{"input":"부산"}"#), ("wiki", r#"{"input":"부산"}"#)];
    check_stream(same, &expected);
    let nameless_ids = [
        piece(0, Some(""), Some("wiki"), r#"{"input":"서울"}"#),
        piece(0, Some(""), Some("wiki"), r#"{"input":"부산"}"#),
    ];
    check_stream(nameless_ids, &expected[..2]);
    let empty = [piece(0, Some("a"), Some("now"), ""), piece(0, Some("b"), Some("where"), "")];
    check_stream(empty, &[("now", "{}"), ("where", "{}")]);
}

#[test]
fn brackets_within_texts_and_texts_without_brackets_end_no_call_too_early_or_too_late() {
    let named = |arguments: &str| piece(0, None, Some("wiki"), arguments);
    let pieces =
        [r#"{"input":"a } \\\""#, r#" } {[","deep":{"a":[1]}"#, r#","b":2}"#, r#"{"input":"둘"}"#].map(named);
    let first = r#"{"input":"a } \\\" } {[","deep":{"a":[1]},"b":2}"#;
    check_stream(pieces, &[("wiki", first), ("wiki", r#"{"input":"둘"}"#)]);
    let no_json = [piece(0, None, Some("wiki"), "서울"), piece(0, None, Some("calc"), "1+1")];
    check_stream(no_json, &[("wiki", "서울"), ("calc", "1+1")]);
}

#[test]
fn index_may_be_missing() {
    let whole = |id: Option<&str>, (name, arguments): (&str, &str)| {
        entry(&json!({"id": id, "function": {"name": name, "arguments": arguments}}))
    };
    check_stream([whole(Some("a"), TWO[0]), whole(Some("b"), TWO[1])], &TWO);
    check_stream([whole(None, TWO[0]), whole(None, TWO[1])], &TWO);
    let not_strict = [("wiki", r#"{"input":"서울",}"#), ("wiki", "{input: '부산'}")];
    check_stream(not_strict.map(|call| whole(None, call)), &not_strict);
    let more = |arguments: &str| entry(&json!({"function": {"arguments": arguments}}));
    let pieces = [
        whole(Some("a"), ("wiki", "")),
        more(r#"{"input":"서울 \"수"#),
        more(r#"도\" {"}"#),
        whole(Some("b"), ("calc", "{")),
        more(r#""input":"2"}"#),
    ];
    check_stream(pieces, &TWO);
    let together = json!({"tool_calls": [
        {"function": {"name": "now"}}, {"function": {"name": "now"}},
        {"function": {"name": "wiki", "arguments": {"input": "서울"}}},
    ]});
    check_stream([said(&together)], &[("now", "{}"), ("now", "{}"), ("wiki", r#"{"input":"서울"}"#)]);
}

#[test]
fn arguments_may_be_an_object_or_be_told_once_more_as_a_whole() {
    let object = entry(&json!({"index": 0, "function": {"name": "wiki", "arguments": {"input": "서울"}}}));
    check_stream([object], &[("wiki", r#"{"input":"서울"}"#)]);
    let again = [
        piece(0, Some("a"), Some("wiki"), "{\"input\":"),
        piece(0, None, None, "\"서울\"}"),
        piece(0, None, None, "{\"input\":\"서울\"}"),
    ];
    check_stream(again, &[("wiki", "{\"input\":\"서울\"}")]);
}

#[test]
fn stream_may_hold_a_legacy_function_call_or_a_whole_message() {
    let pieces = [
        said(&json!({"content": null, "function_call": {"name": "wiki", "arguments": ""}})),
        said(&json!({"function_call": {"arguments": "{\"input\":"}})),
        said(&json!({"function_call": {"arguments": "\"서울\"}"}})),
    ];
    check_stream(pieces, &[("wiki", "{\"input\":\"서울\"}")]);
    let message = json!({"content": null, "tool_calls": [
        {"id": "a", "function": {"name": "wiki", "arguments": "{}"}},
    ]});
    let answer = json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]});
    check_stream([format!("data: {answer}\n\n"), format!("data: {answer}\n\n")], &[("wiki", "{}")]);
}

#[test]
fn stream_that_broke_amid_a_call_is_asked_for_again() {
    let broken = Answer::chunks([piece(0, Some("a"), Some("wiki"), "{\"input\":")]);
    let good = Answer::chunks([piece(0, Some("a"), Some("wiki"), "{}"), finish("tool_calls")]);
    let asker = Asker::answering([broken.clone(), good]);
    assert_eq!(asker.stream().1.unwrap().tool_calls, calls(&[("wiki", "{}")]));
    assert_eq!((asker.server().count(), asker.waits().len()), (2, 1));
    unanswered(Asker::answering([broken]).stream().1, Cause::BadResponse);
}

/// Groq tells in an error what the model said: its calls are read, in a response and in a stream.
#[track_caller]
fn check_generation(text: &str, expected: &[(&str, &str)]) {
    let error = json!({"error": {
        "message": "Failed to call a function. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": text,
    }});
    let event = format!("event: error\ndata: {error}\n\n");
    let thinking = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"reasoning\": \"hm\"}}]}\n\n".to_owned();
    for answer in [Answer::json(400, &error), Answer::chunks([thinking, event])] {
        let asker = Asker::answering([answer]);
        let reply = asker.stream().1.unwrap();
        let calls: Vec<(&str, &str)> =
            reply.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!((calls.as_slice(), reply.text.as_str()), (expected, ""), "{text}");
        assert_eq!(asker.server().count(), 1);
    }
}

#[test]
fn call_that_the_server_could_not_read_is_read_here() {
    let (a, b) = (r#"{"input":"서울"}"#, r#"{"city":"부산"}"#);
    check_generation(&format!("<function=wiki>{a}</function>"), &[("wiki", a)]);
    check_generation(
        &format!("<function=wiki{a}</function>\n<function=weather({b})"),
        &[("wiki", a), ("weather", b)],
    );
    check_generation(
        &format!(r#"<tool_call>{{"name": "wiki", "arguments": {a}}}</tool_call>"#),
        &[("wiki", a)],
    );
    let list = format!(r#"[{{"name": "wiki", "parameters": {a}}}, {{"name": "weather", "arguments": {b}}}]"#);
    check_generation(&list, &[("wiki", a), ("weather", b)]);
    let whole = format!(
        r#"{{"tool_calls": [{{"type": "function", "function": {{"name": "wiki", "arguments": {a}}}}}]}}"#
    );
    check_generation(&whole, &[("wiki", a)]);
    // What is no call is one that the contract refuses, so that the model is asked again.
    check_generation("나는 모른다.", &[("", "나는 모른다.")]);
    check_generation("{\"name\": \"wi", &[("", "{\"name\": \"wi")]);
}
