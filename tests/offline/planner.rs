//! What the offline model plans for which question.

use std::sync::Arc;

use crate::offline_specs;

use offline_specs::{ask, frame};
use planwright::agents;
use planwright::contract::{Before, Plan, ToolContract, ToolEffect};
use planwright::spec::RoleName;
use serde_json::{Value, json};

fn plan(tools: &[ToolContract], role: RoleName, payload: &Value) -> Arc<Plan> {
    let mut spec = agents::shipped("validated").unwrap();
    spec.tools = tools.to_vec();
    let compiled = spec.check().unwrap();
    let reply = ask(&frame(&compiled, role), payload, &[]).text;
    compiled.plan().parse(Before::NOTHING, &reply, 100_000).unwrap().plan
}

/// The steps of the plan before `final_answer`, as `tool: input`.
fn steps(tools: &[ToolContract], role: RoleName, payload: &Value) -> Vec<String> {
    let plan = plan(tools, role, payload);
    let calls = plan.steps.iter().filter(|step| !step.is_final());
    calls
        .map(|step| format!("{}: {}", step.tool, step.input.as_ref().and_then(Value::as_str).unwrap_or("?")))
        .collect()
}

fn shipped(names: &str) -> Vec<ToolContract> {
    names.split_whitespace().map(|name| agents::tool(name).unwrap()).collect()
}

fn check(tools: &str, question: &str, expected: &[&str]) {
    let found = steps(&shipped(tools), RoleName::Planner, &json!({"user_question": question}));
    assert_eq!(found, expected, "{question}");
}

/// The plan after `rejected` (`tool: input`) was sent back with a hint.
fn check_again(tools: &str, question: &str, rejected: &[&str], hint: &str, expected: &[&str]) {
    let step = |step: &&str| {
        let (tool, input) = step.split_once(": ").unwrap();
        json!({"tool": tool, "input": input})
    };
    let plan = json!({"goal": question, "steps": rejected.iter().map(step).collect::<Vec<_>>()});
    let payload =
        json!({"user_question": question, "rejected_plan": plan, "rejected_because": "no", "fix_hint": hint});
    let found = steps(&shipped(tools), RoleName::Replanner, &payload);
    assert_eq!(found, expected, "{question}");
}

#[test]
fn arithmetic_goes_to_calc() {
    check("docs calc", "What is 345*872?", &["calc: 345*872"]);
    check("docs calc", "12/4+9 은 얼마야?", &["calc: 12/4+9"]);
    check("docs calc", "How many miles is 5 km?", &["calc: 5 km in miles"]);
    check("docs calc", "5킬로미터는 몇 마일이야?", &["calc: 5 km in miles"]);
    check("docs calc", "１２＋３", &["calc: 12+3"]);
}

#[test]
fn everything_else_goes_to_the_documents() {
    check("docs calc", "How does the journal survive a crash?", &["docs: journal survive crash"]);
    check("docs calc wiki search", "상태기계란 무엇인가요?", &["docs: 상태기계"]);
    check("docs", "What is 345*872?", &["docs: 345 872"]);
    check("docs calc", "What changed in version 1.2.3?", &["docs: changed version 1.2.3"]);
}

#[test]
fn each_part_is_a_step_and_arithmetic_comes_first() {
    check("docs calc", "저널과 픽스처의 차이는?", &["docs: 저널", "docs: 픽스처"]);
    check("docs calc", "What is a journal and what is 3*4?", &["calc: 3*4", "docs: journal"]);
    check(
        "docs calc",
        "What is A1? What is B2? What is C3? What is D4?",
        &["docs: A1", "docs: B2", "docs: C3 D4"],
    );
}

#[test]
fn decomposed_hangul_is_composed() {
    let decomposed = "\u{1109}\u{1161}\u{11bc}\u{1110}\u{1162}\u{1100}\u{1175}\u{1100}\u{1168}\u{1102}\u{1173}\u{11ab} 뭐야?";
    check("docs", decomposed, &["docs: 상태기계"]);
}

#[test]
fn without_documents_the_other_tools_are_asked() {
    check("wiki calc", "How tall is Mount Everest?", &["wiki: tall Mount Everest"]);
    check("wiki search", "What is a state machine?", &["wiki: state machine"]);
    check("wiki search", "What is the latest news about Rust?", &["search: latest news Rust"]);
    check("search", "서울의 인구는?", &["search: 서울 인구"]);
}

#[test]
fn a_question_that_names_nothing_calls_nothing() {
    for question in ["hello", "안녕하세요", "", "???", "Can you help me, please?"] {
        check("docs calc wiki", question, &[]);
    }
    check("", "What is a journal?", &[]);
}

#[test]
fn a_tool_of_ones_own_is_asked_where_the_question_names_it() {
    let weather = ToolContract::text("weather", "Today's weather in a city.", ToolEffect::Read);
    let plan = |tools: &[ToolContract], question: &str| {
        steps(tools, RoleName::Planner, &json!({"user_question": question}))
    };
    assert_eq!(plan(std::slice::from_ref(&weather), "What is the weather in Seoul?"), ["weather: Seoul"]);
    // There is nothing else to ask.
    assert_eq!(plan(std::slice::from_ref(&weather), "Who wrote Hamlet?"), ["weather: wrote Hamlet"]);
    let mut both = shipped("docs");
    both.push(weather);
    assert_eq!(plan(&both, "What is the weather in Seoul?"), ["docs: weather Seoul", "weather: Seoul"]);
}

#[test]
fn a_tool_that_takes_an_object_is_given_one() {
    let mut search = ToolContract::text("notes", "Searches notes.", ToolEffect::Pure);
    search.input = json!({"type": "object", "properties": {"query": {"type": "string"}, "limit": {"const": 3}},
        "required": ["query", "limit"], "additionalProperties": false});
    let payload = json!({"user_question": "Which notes speak of journals?"});
    let plan = plan(&[search], RoleName::Planner, &payload);
    assert_eq!(plan.steps[0].input, Some(json!({"query": "speak journals", "limit": 3})));
}

#[test]
fn a_rejected_plan_is_followed_by_single_words_then_other_tools() {
    let question = "How does the journal survive a crash?";
    let first = ["docs: journal survive crash"];
    let words = ["docs: journal", "docs: survive", "docs: crash"];
    check_again("docs calc", question, &first, "", &words);
    check_again("docs calc", question, &words, "", &["docs: journal overview"]);
    check_again(
        "docs wiki",
        question,
        &first,
        "",
        &["docs: journal", "docs: survive", "docs: crash", "wiki: journal survive crash"],
    );
    check_again("wiki", "서울의 인구는?", &["wiki: 서울 인구"], "", &["wiki: 서울", "wiki: 인구"]);
}

/// A verdict in the closed form has no words to look for: what to look for comes from the question.
#[test]
fn a_plan_is_made_anew_from_the_question_where_the_verdict_is_closed() {
    let payload = json!({
        "user_question": "How does the journal survive a crash?",
        "rejected_plan": {"goal": "g", "steps": [{"tool": "docs", "input": "journal survive crash"}]},
        "step_states": [{"id": "step_1", "status": "completed"}],
        "rejected_because": {"verdict": "wrong_subject", "steps": ["step_1"]},
        "fix_hint": "What was found is about something else: name the \"subject\" more exactly.",
    });
    let found = steps(&shipped("docs calc"), RoleName::Replanner, &payload);
    assert_eq!(found, ["docs: journal", "docs: survive", "docs: crash"]);
}

#[test]
fn a_hint_is_looked_for_in_tools_that_touch_nothing_outside_only() {
    let (question, hint) = ("What is a journal?", "look for \"append-only log\" instead");
    check_again(
        "docs",
        question,
        &["docs: journal"],
        hint,
        &["docs: journal overview", "docs: append-only log"],
    );
    check_again("wiki", question, &["wiki: journal"], hint, &["wiki: journal overview"]);
}
