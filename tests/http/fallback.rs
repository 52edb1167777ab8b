//! Several servers: who is asked after whom, and who is said to have answered.

use planwright::machine::ModelReply;
use planwright::ports::{Cause, Model, ModelError, RetrySink, Secret};
use planwright::spec::RequestFrame;
use planwright_http::{Anthropic, Fallback, ModelConfig, OpenAi, Retry};
use serde_json::json;

use super::asker::{frame, plain, request, unanswered};
use super::support::{Answer, DeadPort, Server, event};

fn config(server: &Server, model: &str) -> ModelConfig {
    let config = ModelConfig::new(server.url(), model);
    ModelConfig { retry: Retry { tries: 1, ..super::noting().0 }, ..config }
}

fn openai(server: &Server) -> OpenAi {
    OpenAi::new(config(server, "first")).unwrap()
}

/// A server that speaks the other protocol.
fn backup(text: &str) -> (Server, Anthropic) {
    let content = json!([{"type": "text", "text": text}]);
    let body = json!({"type": "message", "content": content, "stop_reason": "end_turn"});
    let server = Server::answering([Answer::json(200, &body)]);
    let model = Anthropic::new(config(&server, "second")).unwrap();
    (server, model)
}

/// Asks a server that answers so, and then one that answers well.
#[track_caller]
fn check(answer: Answer, falls_back: bool) -> Result<ModelReply, ModelError> {
    let first = Server::answering([answer]);
    let (second, model) = backup("둘째");
    let both = Fallback::new("main", openai(&first)).or("backup", model);
    let outcome = both.ask(&plain(), None);
    assert_eq!((first.count(), second.count()), (1, usize::from(falls_back)));
    outcome
}

#[test]
fn next_server_is_asked_where_one_is_interrupted_and_nowhere_else() {
    for status in [402, 408, 429, 500, 503, 529] {
        let reply = check(Answer::error(status, "later"), true).unwrap();
        assert_eq!((&*reply.text, &*reply.model, &*reply.server), ("둘째", "second", "backup"), "{status}");
    }
    for (status, cause) in [(401, Cause::Authentication), (404, Cause::NotFound)] {
        unanswered(check(Answer::error(status, "never"), false), cause);
    }
    let outcome = check(Answer::error(400, "maximum context length"), false);
    assert!(matches!(outcome, Err(ModelError::Failed(_))), "an answer is an answer: {outcome:?}");
    let reply = check(Answer::reply("첫째"), false).unwrap();
    assert_eq!((&*reply.text, &*reply.model, &*reply.server), ("첫째", "first", "main"));
}

#[test]
fn all_that_failed_are_named_where_none_answers() {
    let (first, dead) = (Server::answering([Answer::error(429, "too many")]), DeadPort::new());
    let nowhere = ModelConfig::new(format!("http://127.0.0.1:{}/v1", dead.number()), "x");
    let retry = Retry { tries: 1, ..super::noting().0 };
    let api_key = Secret::new("sk-2");
    let nowhere = OpenAi::new(ModelConfig { retry, api_key, ..nowhere }).unwrap();
    let both = Fallback::new("main", openai(&first)).or("backup", nowhere);
    let error = unanswered(both.ask(&plain(), None), Cause::Connection);
    assert!(error.message.contains("too many") && error.message.contains("refused"), "{error}");
    assert_eq!(both.secrets(), [Secret::new("sk-2")]);
}

#[test]
fn words_of_a_server_that_broke_off_are_void_only_where_that_is_told() {
    let broken = || Server::answering([Answer::broken_chunks([event("반")])]);
    let ask = |told: Option<RetrySink<'_>>| {
        let (first, (second, model)) = (broken(), backup("둘째"));
        let both = Fallback::new("main", openai(&first)).or("backup", model);
        let mut pieces = Vec::new();
        let mut sink = |piece: &str| pieces.push(piece.to_owned());
        let outcome = match told {
            Some(told) => both.ask_until(&plain(), Some(&mut sink), told, &|| false),
            None => both.ask(&plain(), Some(&mut sink)),
        };
        (outcome.map(|reply| reply.text), pieces, second.count())
    };
    let (outcome, pieces, asked) = ask(None);
    assert!(outcome.is_err() && asked == 0, "{outcome:?}");
    assert_eq!(pieces, ["반"]);
    let told = std::sync::Mutex::new(Vec::new());
    let (outcome, pieces, asked) =
        ask(Some(&|error, most, _| told.lock().unwrap().push((error.tries, most))));
    assert_eq!((outcome.unwrap().as_str(), asked), ("둘째", 1));
    assert_eq!((pieces.concat().as_str(), told.into_inner().unwrap()), ("반둘째", vec![(1, 2)]));
}

#[test]
fn role_s_model_is_the_first_server_s_affair() {
    let first = Server::answering([Answer::error(500, "down")]);
    let (second, model) = backup("둘째");
    let both = Fallback::new("main", openai(&first)).or("backup", model);
    both.ask(&request(RequestFrame { model: Some("large".to_owned()), ..frame() }), None).unwrap();
    let asked = |server: &Server| server.seen()[0].json()["model"].clone();
    assert_eq!((asked(&first), asked(&second)), (json!("large"), json!("second")));
}
