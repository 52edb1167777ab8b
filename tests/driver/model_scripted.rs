//! The model that answers from a list.

use std::sync::Arc;

use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{Cause, Model, ModelError, ScriptedModel};
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::{Digest, RequestFrame, RoleName};
use serde_json::json;

fn request(role: RoleName, payload: &str) -> ModelRequest {
    let frame = RequestFrame {
        asked: role.to_string(),
        role,
        agent: None,
        model: None,
        system: String::new(),
        tools: Vec::new(),
        native_calls: false,
        schema: None,
        temperature: None,
        max_tokens: None,
        digest: Digest::of([]),
    };
    ModelRequest {
        frame: Arc::new(frame),
        payload: payload.to_owned(),
        conversation: Vec::new(),
        trace: None,
    }
}

fn text(model: &ScriptedModel, role: RoleName) -> String {
    model.ask(&request(role, "{}"), None).unwrap().text
}

#[test]
fn answers_and_failures_come_in_the_order_of_the_script_and_requests_are_kept() {
    let refusal = ModelError::failed(FailureClass::Refusal, "no");
    let model = ScriptedModel::replies(["하나"]).answer(Err(refusal.clone())).reply("둘");
    assert_eq!(text(&model, RoleName::Planner), "하나");
    let call = Call { id: "call_1".into(), name: "wiki".into(), arguments: json!({"input": "세종"}) };
    let mut asked = request(RoleName::Writer, "질문");
    asked.conversation = vec![
        Message::Assistant { text: String::new(), calls: vec![call], reasoning: Vec::new() },
        Message::Tool { id: "call_1".into(), name: "wiki".into(), content: "{}".into() },
    ];
    assert_eq!(model.ask(&asked, None), Err(refusal));
    assert_eq!(model.seen(), [request(RoleName::Planner, "{}"), asked]);
    assert_eq!((model.asked(), model.remaining()), (2, 1));
    assert_eq!(text(&model, RoleName::Writer), "둘");
    let error = model.ask(&request(RoleName::Writer, "{}"), None).unwrap_err();
    assert_eq!(error.to_string(), "unavailable: the script has no answer to request 4, as writer");
}

#[test]
fn role_with_a_script_of_its_own_does_not_touch_the_shared_one() {
    let model = ScriptedModel::new().reply("a").reply_as(RoleName::Validator, "v").reply("b");
    assert_eq!(text(&model, RoleName::Planner), "a");
    assert_eq!(text(&model, RoleName::Validator), "v");
    let end = model.ask(&request(RoleName::Validator, "{}"), None);
    assert!(matches!(end, Err(ModelError::Unanswered(error)) if error.cause == Cause::Unavailable));
    assert_eq!(text(&model, RoleName::Writer), "b");
}

#[test]
fn script_may_ask_for_tool_calls() {
    let now = || [("wiki", json!({"input": "세종"})), ("calc", json!({"input": "1+1"}))];
    let model = ScriptedModel::says([ModelReply::calls(now()), ModelReply::text("끝")])
        .answer_as(RoleName::Replanner, Ok(ModelReply::calls(now())))
        .calls(now());
    let first = model.ask(&request(RoleName::Planner, "{}"), None).unwrap();
    assert_eq!(first, ModelReply::calls(now()));
    assert_eq!(first.tool_calls[0].arguments, r#"{"input":"세종"}"#);
    assert_eq!(model.ask(&request(RoleName::Replanner, "{}"), None).unwrap(), first);
    assert_eq!(text(&model, RoleName::Planner), "끝");
    assert_eq!(model.ask(&request(RoleName::Planner, "{}"), None).unwrap(), first);
}
