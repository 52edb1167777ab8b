//! How a reply's form is asked for, and what a server was found not to take.

use std::cell::RefCell;
use std::sync::Barrier;
use std::time::Duration;

use planwright::machine::FailureClass;
use planwright::ports::{Model, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::RequestFrame;
use planwright_http::{OpenAi, StructuredOutput};
use serde_json::{Value, json};

use super::support::{Answer, Seen, Server};
use super::{Asker, config, failed, frame, request, with_schema};

/// The way in which a request asks for its form.
fn form(seen: &Seen) -> String {
    let body = seen.json();
    let kind = body["response_format"]["type"].as_str().unwrap_or("none");
    let system = body["messages"][0]["content"].as_str().unwrap().to_owned();
    let told = system.starts_with("Answer.\n\n") && system.contains(r#""required":["ok"]"#);
    if told { format!("{kind}+prompt") } else { kind.to_owned() }
}

fn forms(server: &Server) -> Vec<String> {
    server.seen().iter().map(form).collect()
}

/// A server that refuses these kinds of `response_format` with this answer.
fn refusing(kinds: &'static [&'static str], answer: Answer) -> Server {
    Server::start(move |seen, _| {
        let kind = form(seen);
        let refused = kinds.iter().any(|refused| kind.starts_with(refused));
        if refused { answer.clone() } else { Answer::reply(r#"{"ok": true}"#) }
    })
}

#[test]
fn schema_is_asked_for_strictly_at_first() {
    let server = refusing(&[], Answer::error(400, ""));
    Asker::of(&server).ask_with(&with_schema()).unwrap();
    let expected = json!({"type": "json_schema", "json_schema": {
        "name": "validator", "strict": true, "schema": with_schema().frame.schema,
    }});
    let body = server.seen()[0].json();
    assert_eq!(body["response_format"], expected);
    assert_eq!(body["messages"][0]["content"], "Answer.");
}

/// The refusal is understood: the next form is asked for, and at once the next time.
#[track_caller]
fn check_gives_way(status: u16, message: &str) {
    let server = refusing(&["json_schema"], Answer::error(status, message));
    let asker = Asker::of(&server);
    assert_eq!(asker.ask_with(&with_schema()).unwrap().text, r#"{"ok": true}"#);
    asker.ask_with(&with_schema()).unwrap();
    assert_eq!(forms(&server), ["json_schema", "json_object+prompt", "json_object+prompt"], "{message}");
    assert!(asker.waits().is_empty(), "a refusal is no failure to wait for");
}

#[test]
fn refused_schema_gives_way_to_json_object() {
    check_gives_way(400, "This response_format type is unavailable now");
    check_gives_way(400, "Invalid parameter: 'json_schema' is not supported with this model");
    check_gives_way(400, "Failed to parse grammar");
    check_gives_way(422, "body.response_format: Extra inputs are not permitted");
    check_gives_way(404, "No endpoints found that can handle the requested parameters.");
    check_gives_way(500, "Cannot use both json_schema and grammar");
    check_gives_way(501, "not implemented");
    check_gives_way(400, "");
}

#[test]
fn refused_json_object_gives_way_to_the_prompt_alone_and_that_is_remembered() {
    let refusal = Answer::error(400, "'response_format.type' must be 'text'");
    let server = refusing(&["json_schema", "json_object"], refusal);
    let asker = Asker::of(&server);
    asker.ask_with(&with_schema()).unwrap();
    assert_eq!(forms(&server), ["json_schema", "json_object+prompt", "none+prompt"]);
    for _ in 0..3 {
        asker.ask_with(&with_schema()).unwrap();
    }
    assert_eq!(forms(&server)[3..], ["none+prompt", "none+prompt", "none+prompt"]);
}

#[test]
fn what_one_model_refuses_is_still_asked_of_another() {
    let server = Server::start(|seen, _| match (seen.json()["model"].as_str(), form(seen).as_str()) {
        (Some("small"), "json_schema") => Answer::error(400, "no response_format here"),
        _ => Answer::reply("{}"),
    });
    let of = |model: &str| {
        let asked = with_schema();
        let frame = RequestFrame { model: Some(model.to_owned()), ..(*asked.frame).clone() };
        ModelRequest { frame: frame.into(), ..asked }
    };
    let asker = Asker::of(&server);
    for model in ["small", "large", "small"] {
        asker.ask_with(&of(model)).unwrap();
    }
    assert_eq!(forms(&server), ["json_schema", "json_object+prompt", "json_schema", "json_object+prompt"]);
}

#[test]
fn refusal_that_no_form_mends_is_told_and_nothing_is_learnt_from_it() {
    let asker = Asker::answering([Answer::error(400, "images are not supported")]);
    for _ in 0..2 {
        let message = failed(asker.ask_with(&with_schema()), FailureClass::BadRequest);
        assert!(message.contains("images are not supported"));
    }
    let once = ["json_schema", "json_object+prompt", "none+prompt"];
    assert_eq!(forms(asker.server()), [once, once].concat());
}

#[test]
fn failure_that_is_not_about_the_form_does_not_change_it() {
    for (status, message) in [(400, "n must be 1"), (404, "The model `m` does not exist"), (401, "schema")] {
        let server = Server::answering([Answer::error(status, message)]);
        Asker::of(&server).ask_with(&with_schema()).unwrap_err();
        assert_eq!(forms(&server), ["json_schema"], "{message}");
    }
}

#[test]
fn form_may_be_fixed_and_then_never_gives_way() {
    for (setting, expected) in [
        (StructuredOutput::JsonSchema, "json_schema"),
        (StructuredOutput::JsonObject, "json_object+prompt"),
        (StructuredOutput::Prompt, "none+prompt"),
    ] {
        let server = Server::answering([Answer::error(400, "response_format is not supported")]);
        let asker = Asker::with(&server, |config| config.structured_output = setting);
        failed(asker.ask_with(&with_schema()), FailureClass::BadRequest);
        assert_eq!(forms(&server), [expected]);
    }
}

fn sampled() -> ModelRequest {
    request(RequestFrame { temperature: Some(0.2), max_tokens: Some(9), ..frame() })
}

/// The keys of each request, of those that a server may refuse.
fn keys(server: &Server) -> Vec<Vec<String>> {
    let known = ["temperature", "max_tokens", "max_completion_tokens", "stream_options"];
    let of = |seen: &Seen| {
        let body: Value = seen.json();
        known.into_iter().filter(|key| body.get(*key).is_some()).map(str::to_owned).collect()
    };
    server.seen().iter().map(of).collect()
}

#[test]
fn refused_parameter_gives_way_and_that_is_remembered() {
    let max_tokens = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    let temperature = json!({"error": {
        "message": "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        "param": "temperature", "code": "unsupported_value",
    }});
    let options = "Unrecognized request argument supplied: stream_options";
    for (key, refusal, kept) in [
        (
            "max_tokens",
            Answer::error(400, max_tokens),
            &["temperature", "max_completion_tokens", "stream_options"][..],
        ),
        ("temperature", Answer::json(400, &temperature), &["max_tokens", "stream_options"]),
        ("stream_options", Answer::error(400, options), &["temperature", "max_tokens"]),
    ] {
        let server = Server::start(move |seen, _| match seen.json().get(key) {
            Some(_) => refusal.clone(),
            None => Answer::reply("a"),
        });
        let asker = Asker::of(&server);
        for _ in 0..2 {
            asker.client.ask(&sampled(), Some(&mut |_: &str| {})).unwrap();
        }
        assert_eq!(keys(&server), [&["temperature", "max_tokens", "stream_options"][..], kept, kept]);
        assert!(key != "max_tokens" || server.seen()[2].json()["max_completion_tokens"] == 9);
    }
}

#[test]
fn temperature_out_of_range_is_a_bad_request() {
    let message =
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.";
    let server = Server::answering([Answer::error(400, message)]);
    failed(Asker::of(&server).ask_with(&sampled()), FailureClass::BadRequest);
    assert_eq!(server.count(), 1);
}

#[test]
fn several_refusals_in_a_row_are_all_learnt() {
    let server = Server::start(|seen, _| {
        let body = seen.json();
        match () {
            () if body.get("max_tokens").is_some() => Answer::error(400, "use max_completion_tokens"),
            () if body.get("temperature").is_some() => Answer::error(400, "temperature is unsupported"),
            () if body.get("response_format").is_some() => Answer::error(400, "no response_format"),
            () => Answer::reply("{}"),
        }
    });
    let schema = with_schema().frame.schema.clone();
    let asked = request(RequestFrame { temperature: Some(0.0), max_tokens: Some(9), schema, ..frame() });
    let client = OpenAi::new(config(&server)).unwrap();
    client.ask(&asked, None).unwrap();
    assert_eq!(server.count(), 5);
    client.ask(&asked, None).unwrap();
    assert_eq!(server.count(), 6);
}

#[test]
fn text_that_the_server_found_unfit_is_for_the_contract_to_judge() {
    let body = json!({"error": {
        "message": "Failed to validate JSON. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "json_validate_failed", "failed_generation": "{\"ok\": 1}",
    }});
    let server = Server::answering([Answer::json(400, &body)]);
    assert_eq!(Asker::of(&server).ask_with(&with_schema()).unwrap().text, "{\"ok\": 1}");
    assert_eq!(server.count(), 1);
}

#[test]
fn what_two_requests_find_out_at_the_same_time_is_put_together() {
    // Each form is refused while both requests are on their way: one finds out about the temperature, the other
    // about the schema, and the third is taken at once.
    let meet = Barrier::new(2);
    let server = Server::start(move |seen, nth| {
        let body = seen.json();
        if nth < 2 {
            meet.wait();
        }
        match () {
            () if body.get("temperature").is_some() => Answer::error(400, "temperature is unsupported"),
            () if body["response_format"]["type"] == "json_schema" => Answer::error(400, "no json_schema"),
            () => Answer::reply("{}"),
        }
    });
    let asker = Asker::of(&server);
    let both = request(RequestFrame {
        temperature: Some(0.0),
        schema: with_schema().frame.schema.clone(),
        ..frame()
    });
    std::thread::scope(|scope| {
        scope.spawn(|| asker.ask_with(&sampled()).unwrap());
        scope.spawn(|| asker.ask_with(&with_schema()).unwrap());
    });
    let before = server.count();
    asker.ask_with(&both).unwrap();
    assert_eq!(server.count(), before + 1);
}

#[test]
fn what_the_server_refuses_is_told_once_with_what_is_asked_for_instead() {
    let server =
        refusing(&["json_schema", "json_object"], Answer::error(400, "response_format: not supported"));
    let asker = Asker::of(&server);
    let told = RefCell::new(Vec::new());
    let tell = |error: &Unanswered, _, delay: Duration| {
        assert!(delay.is_zero());
        told.borrow_mut().push(error.message.rsplit(": ").next().unwrap().to_owned());
    };
    for _ in 0..2 {
        asker.client.ask_until(&with_schema(), None, &tell, &|| false).unwrap();
    }
    let expected = [
        "json_schema is refused here; asking for json_object",
        "json_object is refused here; asking in words",
    ];
    assert_eq!(*told.borrow(), expected);
    let asker = Asker::with(&server, |config| config.structured_output = StructuredOutput::Prompt);
    asker.client.ask_until(&with_schema(), None, &tell, &|| false).unwrap();
    assert_eq!(told.borrow().len(), 2, "what is set is not found out");
}
