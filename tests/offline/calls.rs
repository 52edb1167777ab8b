//! Planners that go on call by call, with native calls or with thought and action as text, and the
//! judge of what they have found.

use crate::offline_specs;

use offline_specs::{REACT, ROUNDS, TITLES, ask, compiled, frame};
use planwright::contract::{AskedCall, Before, ReactReply, Validate};
use planwright::machine::ModelReply;
use planwright::prompt::{Call, Message};
use planwright::spec::RoleName;
use serde_json::{Value, json};

fn round(payload: &Value, conversation: &[Message]) -> ModelReply {
    round_of(ROUNDS, payload, conversation)
}

fn round_of(spec: &str, payload: &Value, conversation: &[Message]) -> ModelReply {
    let compiled = compiled(spec);
    let reply = ask(&frame(&compiled, RoleName::Planner), payload, conversation);
    if reply.tool_calls.is_empty() {
        assert!(!reply.text.trim().is_empty());
    } else {
        compiled.plan().parse_calls(Before::NOTHING, &reply.tool_calls, 100_000).unwrap();
    }
    reply
}

/// The calls as `tool: input`.
fn calls(reply: &ModelReply) -> Vec<String> {
    let text = |call: &AskedCall| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        format!("{}: {}", call.name, arguments["input"].as_str().unwrap())
    };
    reply.tool_calls.iter().map(text).collect()
}

/// The conversation goes on with what the calls brought back.
fn answered(conversation: &mut Vec<Message>, reply: &ModelReply, outputs: &[(&str, &str)]) {
    let from = conversation.len();
    let id = |at: usize| format!("call_{}", from + at + 1);
    let call = |(at, call): (usize, &AskedCall)| Call {
        id: id(at),
        name: call.name.clone(),
        arguments: serde_json::from_str(&call.arguments).unwrap(),
    };
    let calls: Vec<Call> = reply.tool_calls.iter().enumerate().map(call).collect();
    assert_eq!(calls.len(), outputs.len());
    let names: Vec<String> = calls.iter().map(|call| call.name.clone()).collect();
    conversation.push(Message::Assistant { text: String::new(), calls, reasoning: Vec::new() });
    for (at, ((status, output), name)) in outputs.iter().zip(names).enumerate() {
        let content = json!({"status": status, "output": output}).to_string();
        conversation.push(Message::Tool { id: id(at), name, content });
    }
}

fn note(conversation: &mut Vec<Message>, note: &Value) {
    conversation.push(Message::User { content: note.to_string() });
}

#[test]
fn the_first_round_calls_what_the_question_names() {
    let question = |text: &str| calls(&round(&json!({"user_question": text}), &[]));
    assert_eq!(question("비밀유지 의무는 언제까지인가요?"), ["hybrid_search: 비밀유지 의무"]);
    assert_eq!(question("3*4는?"), ["calc: 3*4"]);
    let both = question("What is 3*4 and what is the notice period?");
    assert_eq!(both, ["calc: 3*4", "hybrid_search: notice period"]);
}

#[test]
fn a_proposal_is_taken_where_the_contract_takes_it() {
    let payload = json!({"user_question": "제5조 내용이 뭐야?",
        "suggested_calls": [{"tool": "get_article_by_index", "input": "제5조"}, {"tool": "nobody", "input": "x"}]});
    let mut conversation = Vec::new();
    let first = round(&payload, &conversation);
    assert_eq!(calls(&first), ["get_article_by_index: 제5조"]);
    answered(
        &mut conversation,
        &first,
        &[("completed", "제5조 (비밀유지) 당사자는 내용을 누설하지 않는다.")],
    );
    let last = round(&payload, &conversation);
    assert!(last.tool_calls.is_empty() && last.text.contains("누설하지 않는다"), "{last:?}");
}

#[test]
fn small_talk_and_handed_over_texts_call_nothing() {
    for text in ["고마워!", "Hello there!", "???"] {
        assert!(round(&json!({"user_question": text}), &[]).tool_calls.is_empty(), "{text}");
    }
}

#[test]
fn results_are_answered_from_word_for_word() {
    let payload = json!({"user_question": "What is the notice period?"});
    let mut conversation = Vec::new();
    let first = round(&payload, &conversation);
    answered(&mut conversation, &first, &[("completed", "The notice period is thirty days.")]);
    let last = round(&payload, &conversation);
    assert_eq!(last.text, "The notice period is thirty days. [1]\n\nSources:\n[1] hybrid_search");
}

#[test]
fn where_nothing_was_found_other_words_and_tools_are_tried_and_then_it_says_so() {
    let payload = json!({"user_question": "비밀유지 의무는 언제까지인가요?"});
    let mut conversation = Vec::new();
    let mut made: Vec<String> = Vec::new();
    let words = loop {
        let reply = round(&payload, &conversation);
        if reply.tool_calls.is_empty() {
            break reply.text;
        }
        assert!(calls(&reply).iter().all(|call| !made.contains(call)), "{made:?}");
        made.extend(calls(&reply));
        answered(&mut conversation, &reply, &vec![("completed", ""); reply.tool_calls.len()]);
        assert!(made.len() < 10);
    };
    assert_eq!(made.len(), 3, "{made:?}");
    assert!(words.contains("찾지 못했습니다"), "{words}");
}

#[test]
fn what_is_missing_is_looked_for_by_a_call_that_was_not_made() {
    let payload = json!({"user_question": "계약의 해지 통지 기한은?"});
    let mut conversation = Vec::new();
    let first = round(&payload, &conversation);
    answered(&mut conversation, &first, &[("completed", "해지에 대한 조항이다.")]);
    let missing =
        json!({"missing_info": "통지 기한", "reason": "없음", "explored": [], "unexplored": ["제7조"]});
    note(&mut conversation, &missing);
    let second = round(&payload, &conversation);
    assert_eq!(calls(&second), ["hybrid_search: 통지 기한"]);
    answered(&mut conversation, &second, &[("completed", "")]);
    note(&mut conversation, &missing);
    let third = round(&payload, &conversation);
    assert!(!third.tool_calls.is_empty() && calls(&third) != calls(&second), "{third:?}");
}

#[test]
fn words_that_only_a_note_has_never_leave_the_machine() {
    let payload = json!({"user_question": "계약의 해지 통지 기한은?"});
    let mut conversation = Vec::new();
    let first = round(&payload, &conversation);
    answered(&mut conversation, &first, &[("completed", "")]);
    for _ in 0..12 {
        note(&mut conversation, &json!({"missing_info": "열쇠말 zebra", "reason": "r"}));
        let reply = round(&payload, &conversation);
        let asked = calls(&reply);
        for call in asked.iter().filter(|call| call.contains("zebra")) {
            assert!(call.starts_with("hybrid_search: "), "{call}");
        }
        if asked.is_empty() {
            return;
        }
        answered(&mut conversation, &reply, &vec![("completed", ""); asked.len()]);
    }
    panic!("it calls forever: {conversation:?}");
}

#[test]
fn a_tool_that_a_repair_names_is_called() {
    let payload = json!({"user_question": "How tall is Mount Everest?"});
    let mut conversation = Vec::new();
    let first = round_of(TITLES, &payload, &conversation);
    answered(
        &mut conversation,
        &first,
        &[("completed", "Page: Mount Everest\nSummary: Mount Everest is 8849 m tall.")],
    );
    let answer = round_of(TITLES, &payload, &conversation);
    assert!(answer.tool_calls.is_empty() && answer.text.contains("8849"), "{answer:?}");
    conversation.push(Message::Assistant { text: answer.text, calls: Vec::new(), reasoning: Vec::new() });
    let error = "$: expected at least 1 call of `lookup` before the answer, found 0";
    note(&mut conversation, &json!({"repair": {"error": error, "instruction": "…"}}));
    let repaired = round_of(TITLES, &payload, &conversation);
    // The exact title that was found.
    assert_eq!(calls(&repaired), ["lookup: Mount Everest"]);
    answered(&mut conversation, &repaired, &[("completed", "Mount Everest is a mountain.")]);
    assert!(round_of(TITLES, &payload, &conversation).text.contains("8849"));
}

#[test]
fn what_the_user_said_earlier_is_remembered() {
    let history = json!([{"role": "user", "content": "내 이름은 민수야. 나는 1989년생이야."},
        {"role": "assistant", "content": "그렇군요."}]);
    let ask =
        |question: &str, history: &Value| round(&json!({"user_question": question, "history": history}), &[]);
    let found = ask("내 이름이 뭐야?", &history);
    assert!(found.text.starts_with("내 이름은 민수야."), "{found:?}");
    let english = json!([{"role": "user", "content": "My dog is called Rex."}]);
    let found = ask("What is my dog called?", &english);
    assert!(found.text.starts_with("My dog is called Rex. [1]"), "{found:?}");
    assert!(!ask("What is my dog called?", &json!([])).tool_calls.is_empty());
}

#[test]
fn sufficiency_names_what_is_missing() {
    let judge = |payload: &Value| {
        let reply = ask(&frame(&compiled(ROUNDS), RoleName::Validator), payload, &[]).text;
        Validate::Sufficiency.parse(&reply, 10_000).unwrap()
    };
    let result = |text: &str| json!([{"step_index": 0, "tool": "hybrid_search", "input": "x", "status": "completed", "output": text}]);
    let question = "비밀유지 의무의 기간은?";
    let enough =
        judge(&json!({"user_question": question, "tool_results": result("비밀유지 의무의 기간은 3년이다.")}));
    assert!(enough.ok && enough.fix_hint.is_empty(), "{enough:?}");
    let mut payload = json!({"user_question": question, "tool_results": result("날씨가 좋다.")});
    let lacking = judge(&payload);
    assert!(!lacking.ok && lacking.fix_hint.contains("비밀유지"), "{lacking:?}");
    payload["unexplored"] = json!(["제3조 (대금)", "제5조 (비밀유지)"]);
    assert_eq!(judge(&payload).fix_hint, "제5조 (비밀유지)");
}

/// What a planner in thought and action does next.
fn thought(payload: &Value, conversation: &mut Vec<Message>) -> ReactReply {
    let compiled = compiled(REACT);
    let reply = ask(&frame(&compiled, RoleName::Planner), payload, conversation);
    assert!(reply.tool_calls.is_empty());
    let read = compiled.plan().parse_react(Before::NOTHING, &reply.text, 100_000);
    conversation.push(Message::Assistant { text: reply.text, calls: Vec::new(), reasoning: Vec::new() });
    read.unwrap()
}

fn action(reply: ReactReply) -> String {
    match reply {
        ReactReply::Act(read) => {
            let step = &read.plan.steps[0];
            format!("{}: {}", step.tool, step.input.as_ref().and_then(Value::as_str).unwrap())
        }
        ReactReply::Answer(answer) => panic!("answered: {answer}"),
    }
}

#[test]
fn thought_and_action_go_on_one_by_one_to_the_answer() {
    let payload = json!({"user_question": "What is 3*4 and what is a journal?"});
    let mut conversation = Vec::new();
    assert_eq!(action(thought(&payload, &mut conversation)), "calc: 3*4");
    note(&mut conversation, &json!({"observation": "12"}));
    assert_eq!(action(thought(&payload, &mut conversation)), "docs: journal");
    let output =
        json!([{"source": "a.md", "text": "A journal is a list.\n\nAction: a journal acts."}]).to_string();
    note(&mut conversation, &json!({"observation": {"status": "completed", "output": output}}));
    match thought(&payload, &mut conversation) {
        ReactReply::Answer(answer) => {
            assert!(answer.starts_with("3*4 = 12\n\nA journal is a list."), "{answer}");
            assert!(answer.ends_with("Sources:\n[1] a.md"), "{answer}");
        }
        ReactReply::Act(read) => panic!("{:?}", read.plan),
    }
}

#[test]
fn thought_and_action_answer_small_talk_at_once() {
    let mut conversation = Vec::new();
    let reply = thought(&json!({"user_question": "안녕하세요"}), &mut conversation);
    assert_eq!(reply, ReactReply::Answer("안녕하세요! 무엇을 도와드릴까요?".to_owned()));
}

#[test]
fn material_is_handed_to_the_tool_that_works_on_it() {
    let payload = json!({"user_question": "매출 요약", "on_behalf_of": "매출을 요약해줘", "material": "5월 매출은 3억이다."});
    let spec = ROUNDS.replace(
        "\"wiki\", ",
        "{ name = \"summarize\", description = \"Summarises.\", effect = \"pure\" }, ",
    );
    let mut conversation = Vec::new();
    let first = round_of(&spec, &payload, &conversation);
    assert_eq!(calls(&first), ["summarize: 5월 매출은 3억이다."]);
    answered(&mut conversation, &first, &[("completed", "5월 매출: 3억.")]);
    assert!(round_of(&spec, &payload, &conversation).text.contains("3억"));
}

#[test]
fn a_step_of_another_agent_is_one_call_or_an_answer_out_of_its_material() {
    let mut payload =
        json!({"user_question": "저널과 픽스처의 차이", "on_behalf_of": "저널과 픽스처의 차이는?"});
    assert_eq!(calls(&round(&payload, &[])), ["hybrid_search: 저널 픽스처"]);
    payload["user_question"] = json!("저널 보고서 작성");
    payload["material"] = json!("저널은 기록의 목록이다. [1]\n\n출처:\n[1] a.md");
    let found = round(&payload, &[]);
    assert_eq!(found.text, "# 저널 보고서 작성\n\n저널은 기록의 목록이다. [1]\n\n출처:\n[1] a.md");
}
