//! What PLAN asks before the first draft, and what follows from it: each stage, the short cuts that a
//! rule takes, and what becomes of a reply that does not read.

use planwright::machine::{FailureClass, Input, Speaker, Turn};
use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{Say, Told, broken, found, plan, refuses_to_say, small_talk, spec, text, verdict};

const ALL: &str = "intake = ['scope', 'previous_context', 'intent']\nmemory = 'thread'";
const IN_SCOPE: &str = r#"{"in_scope": true, "reason": "r", "refusal": ""}"#;
const OUT: &str = r#"{"in_scope": false, "reason": "r", "refusal": " 계약에 대한 질문만 받습니다. "}"#;
const NEEDS: &str = r#"{"need_previous_context": true, "reason": "r"}"#;
const NEEDS_NOT: &str = r#"{"need_previous_context": false, "reason": "r"}"#;

/// A new question with these fields beside.
fn intent(fields: Value) -> Say {
    let mut intent = json!({"intent": "new_question", "rewritten_query": "서울의 날씨는?"});
    intent.as_object_mut().expect("fields").extend(fields.as_object().cloned().unwrap_or_default());
    text(intent.to_string())
}

fn new_question() -> Say {
    intent(json!({}))
}

/// What follows an intent that needs a tool.
fn rest() -> [Say; 3] {
    [plan("calc 1"), found("1"), text("답")]
}

fn followed(question: &str) -> Input {
    let turn = |role, content: &str| Turn { role, content: content.into(), trusted: false };
    let history = vec![turn(Speaker::User, "제5조는?"), turn(Speaker::Assistant, "비밀유지입니다.")];
    Input { history, outline: vec!["제5조 (비밀유지)".into()], ..Input::question(question) }
}

/// Tells a run its answers; it asks these, in this order.
#[track_caller]
fn check(spec: Spec, input: Input, answers: impl IntoIterator<Item = Say>, asked: &str) -> Told {
    let mut told = Told::begin_with(spec, input);
    told.tell(answers);
    assert_eq!(told.asked.join(" "), asked);
    told
}

#[test]
fn each_stage_is_asked_once_in_the_order_of_the_policy() {
    let answers = [text(IN_SCOPE), text(NEEDS), new_question()].into_iter().chain(rest());
    let asked = "scope previous_context intent planner calc writer";
    let told = check(spec(ALL), followed("왜?"), answers, asked);
    assert_eq!(told.phases(), ["SCOPE", "PREVIOUS_CONTEXT", "INTENT", "PLAN", "EXECUTE", "WRITE"]);
    assert_eq!(told.spent().model_calls, 5);

    let turned = spec("intake = ['intent', 'scope']");
    check(turned, Input::question("q"), [new_question(), text(OUT)], "intent scope");
}

#[test]
fn the_ids_of_intake_are_its_own() {
    let mut told = Told::begin_with(spec(ALL), followed("왜?"));
    for (id, answer) in [
        ("scope.1", text("?")),
        ("scope.2", text(IN_SCOPE)),
        ("previous_context.1", text(NEEDS)),
        ("intent.1", new_question()),
    ] {
        assert_eq!(told.waits(), [id]);
        told.answer(id, answer);
    }
    assert_eq!(told.waits(), ["plan.1.1"]);
}

#[test]
fn without_earlier_turns_nobody_is_asked_whether_they_matter() {
    let spec = spec("intake = ['scope', 'previous_context']\nmemory = 'thread'");
    let answers = [text(IN_SCOPE)].into_iter().chain(rest());
    let told = check(spec, Input::question("왜?"), answers, "scope planner calc writer");
    assert_eq!(told.line("PREVIOUS_CONTEXT"), json!({"phase": "PREVIOUS_CONTEXT", "needed": false}));
    let understood = told.memory("/understanding/previous_context/need_previous_context");
    assert_eq!(understood, json!(false), "it is known all the same");
}

#[test]
fn a_run_whose_only_intake_is_answered_by_rule_begins_with_its_plan() {
    let told = Told::begin(spec("intake = ['previous_context']\nmemory = 'thread'"));
    assert_eq!(told.waits(), ["plan.1.1"]);
    assert_eq!(told.phases(), ["PREVIOUS_CONTEXT"]);
}

#[test]
fn earlier_turns_reach_the_writer_only_where_they_are_needed_and_the_planner_not() {
    for (said, shown) in [(NEEDS, true), (NEEDS_NOT, false)] {
        let mut told =
            Told::begin_with(spec("intake = ['previous_context']\nmemory = 'thread'"), followed("왜?"));
        assert_eq!(told.payload()["history"].as_array().map(Vec::len), Some(2));
        told.tell([text(said)]);
        assert_eq!(told.payload().get("history"), None, "the planner works on the question");
        told.tell([plan("calc 1"), found("1")]);
        assert_eq!(told.payload().get("history").is_some(), shown);
    }
}

#[test]
fn earlier_turns_reach_nobody_without_memory() {
    let mut told = Told::begin_with(spec("intake = ['intent']"), followed("왜?"));
    for answer in [new_question()].into_iter().chain(rest()) {
        if !told.first().starts_with("step") {
            assert_eq!(told.payload().get("history"), None);
        }
        told.tell([answer]);
    }
}

#[test]
fn out_of_scope_ends_in_done_with_a_refusal_and_nothing_else_called() {
    let all = spec(&format!("{ALL}\nvalidate = 'verdict'\nvalidate_at = 'answer'"));
    let told = check(all, followed("점심 뭐 먹지?"), [text(OUT)], "scope");
    assert_eq!(told.said(), "계약에 대한 질문만 받습니다.");
    assert_eq!(told.error(), "");
    assert_eq!((told.spent().model_calls, told.spent().tool_calls), (1, 0));
    assert_eq!(told.phases(), ["SCOPE", "PLAN"]);
    assert_eq!(told.line("PLAN")["steps"], json!([]));
}

#[test]
fn a_missing_needs_tool_is_true_and_so_is_null() {
    for fields in [json!({}), json!({"needs_tool": null}), json!({"needs_tool": true})] {
        let mut told = Told::run(spec("intake = ['intent']"), [intent(fields.clone())]);
        assert_eq!(told.waits(), ["plan.1.1"], "{fields}");
        assert_eq!(told.line("INTENT")["needs_tool"], json!(true));
        told.ends(rest(), "답");
    }
}

#[test]
fn what_needs_no_tool_is_answered_by_conversation_on_the_question_as_asked() {
    let with = "intake = ['intent']\n[roles.conversation]\nprompt = 'Talk.'";
    let mut told = Told::run(spec(with), [small_talk()]);
    assert_eq!(told.waits(), ["write.1.1"]);
    assert_eq!(told.payload()["user_question"], json!("왜?"));
    told.tell([text("안녕하세요")]);
    assert_eq!(told.asked, ["intent", "conversation"]);
    assert_eq!(told.phases(), ["INTENT", "PLAN", "WRITE"]);

    let told = Told::run(spec("intake = ['intent']"), [small_talk(), text("안녕하세요")]);
    assert_eq!(told.asked, ["intent", "writer"], "the writer talks where there is nobody else");
}

#[test]
fn kinds_that_are_answered_at_once_are_not_planned_for() {
    let text_of = "intake = ['intent']\n[intent]\nform = 'kind'\nkinds = ['search', 'unclear']\n\
                   answer_at_once = ['unclear']";
    let kind = |kind: &str| text(json!({"intent_type": kind, "confidence": 0.8}).to_string());
    let told = Told::run(spec(text_of), [kind("unclear"), text("무엇을 도와드릴까요?")]);
    assert_eq!(told.asked, ["intent", "writer"]);
    let told = Told::run(spec(text_of), [kind("search")]);
    assert_eq!(told.payload()["intent_confidence"], json!("80%"));
    let told = Told::run(spec(text_of), [kind("cooking"), kind("search")]);
    assert_eq!(told.phases(), ["REPAIR", "INTENT"]);
    let error = told.line("REPAIR")["error"].to_string();
    assert!(error.starts_with("\"$.intent_type: expected one of"), "{error}");
}

#[test]
fn the_question_is_never_rewritten_and_the_rewritten_one_travels_beside_it() {
    let spec = spec("intake = ['intent']\nvalidate = 'verdict'\n[roles.replanner]\nprompt = 'Plan anew.'");
    let mut told = Told::begin(spec);
    let answers = [
        intent(json!({"constraints": ["땅콩 없이", "부산"]})),
        plan("calc 1"),
        found("1"),
        verdict(false, "다름", "다시"),
        plan("calc 1"),
        found("1"),
        verdict(true, "", ""),
    ];
    for answer in answers {
        let first = told.first();
        if !first.starts_with("step") {
            let payload = told.payload();
            assert_eq!(payload["user_question"], json!("왜?"), "{first}");
            let understood = !first.starts_with("intent");
            assert_eq!(payload.get("rewritten_query").is_some(), understood, "{first}");
            assert_eq!(payload.get("constraints").is_some(), understood, "{first}");
        }
        told.tell([answer]);
    }
    let payload = told.payload();
    assert_eq!(payload["rewritten_query"], json!("서울의 날씨는?"));
    assert_eq!(payload["constraints"], json!("땅콩 없이, 부산"));
    assert_eq!(told.asked[4], "replanner".to_owned(), "{:?}", told.asked);
}

/// Every broken reply of one stage ends the run at once under `on_bad_reply = "fail"`.
#[track_caller]
fn fails_closed(stage: &str, replies: &[&str]) {
    for reply in replies {
        let policy = format!("intake = ['{stage}']\nmemory = 'thread'\non_bad_reply = 'fail'");
        let mut told = Told::begin_with(spec(&policy), followed("왜?"));
        told.tell([text(*reply)]).failed("PLAN_ERROR: contract: $");
        let spent = told.spent();
        assert_eq!((spent.model_calls, spent.tool_calls), (1, 0), "{reply}");
        assert_eq!(told.phases(), ["PLAN"], "{reply}");
        assert_eq!(told.said(), "");
    }
}

#[test]
fn broken_intake_fails_closed_after_one_call() {
    fails_closed("scope", &["", "yes", "{}", r#"{"in_scope": "no"}"#, r#"{"in_scope": false}"#]);
    fails_closed("scope", &["[true]", r#"[true, "r", ""]"#]);
    fails_closed("previous_context", &["", "{}", r#"{"need_previous_context": 1}"#, "[false]"]);
    let intents = [
        "",
        "chitchat",
        r#"{"intent": "new_question"}"#,
        r#"{"intent": " ", "rewritten_query": "q"}"#,
        r#"{"rewritten_query": "q"}"#,
        r#"{"intent": "a", "rewritten_query": "q", "needs_tool": "no"}"#,
        r#"{"intent": "a", "rewritten_query": "q""#,
        r#"["new_question", "q", true, null, null]"#,
    ];
    fails_closed("intent", &intents);
}

#[test]
fn broken_intake_is_repaired_otherwise_and_shown_the_exact_error() {
    let mut told = Told::run(spec("intake = ['intent']"), [text(r#"{"intent": "a"}"#)]);
    assert_eq!(told.waits(), ["intent.2"]);
    let repair = told.payload()["repair"].clone();
    assert_eq!(repair["your_reply"], json!(r#"{"intent": "a"}"#));
    assert_eq!(repair["error"], json!("$: missing field `rewritten_query`"));
    told.tell([new_question(), text("no plan")]).ends(rest(), "답");
    assert_eq!(told.phases(), ["REPAIR", "INTENT", "REPAIR", "PLAN", "EXECUTE", "WRITE"]);
    assert_eq!(told.spent().model_calls, 5, "each reply has repairs of its own");

    let twice = [text("?"), text("??")];
    let told = Told::fails(spec("intake = ['intent']"), twice, "PLAN_ERROR: contract: ");
    assert_eq!(told.spent().model_calls, 2);
}

#[test]
fn an_answer_that_is_no_reply_ends_intake_without_a_repair() {
    for class in FailureClass::ALL {
        let told = Told::run(spec("intake = ['scope', 'intent']"), [text(IN_SCOPE), Say::Class(class)]);
        assert_eq!(told.error(), format!("PLAN_ERROR: {class}: said so"));
        assert_eq!(told.spent().model_calls, 2);
    }
}

#[test]
fn a_fallback_is_read_at_once_in_place_of_what_a_role_did_not_say() {
    let policy = "intake = ['scope', 'intent']\nvalidate = 'verdict'\n\
        [roles.scope]\non_failure = { fallback = '{\"in_scope\": true}' }\n\
        [roles.intent]\non_failure = { fallback = '{\"intent\": \"unknown\", \"rewritten_query\": \"q\"}' }\n\
        [roles.validator]\non_failure = { fallback = '{\"ok\": true, \"reason\": \"unread\", \"fix_hint\": \"\"}' }\n\
        [roles.writer]\non_failure = { fallback = '죄송합니다.' }";
    let mut told = Told::run(spec(policy), [refuses_to_say(), text("?"), plan("calc 1"), broken()]);
    told.ends([text("{}"), refuses_to_say()], "죄송합니다.");
    assert_eq!(told.spent().model_calls, 5, "a fallback costs no further call");
    let fallbacks: Vec<Value> = told.lines("FALLBACK").iter().map(|line| line["of"].clone()).collect();
    assert_eq!(fallbacks, ["scope", "intent", "validator", "writer"]);
    assert_eq!(told.memory("/failures").as_array().map(Vec::len), Some(4), "what was wrong is kept");
}

#[test]
fn a_fallback_that_turns_the_question_away_turns_it_away() {
    let policy = "intake = ['scope']\n[roles.scope]\n\
        on_failure = { fallback = '{\"in_scope\": false, \"refusal\": \"지금은 받을 수 없습니다.\"}' }";
    let told = Told::run(spec(policy), [text("?")]);
    assert_eq!(told.said(), "지금은 받을 수 없습니다.");
    assert_eq!(told.phases(), ["FALLBACK", "SCOPE", "PLAN"]);
}

#[test]
fn scope_is_shown_the_outline_and_not_the_history() {
    let mut told =
        Told::begin_with(spec("intake = ['scope', 'previous_context']\nmemory = 'thread'"), followed("왜?"));
    let payload = told.payload();
    assert_eq!(payload, json!({"user_question": "왜?", "outline": ["제5조 (비밀유지)"]}));
    told.tell([text(IN_SCOPE)]);
    assert!(told.payload().get("outline").is_none());
}
