//! Calls that must come before an answer: an answer before that many is a bad reply.

use planwright::agents;
use planwright::spec::Spec;
use serde_json::json;

use crate::promise::{Told, asks, broken, found, plan, spec, text};

const ROUNDS: &str =
    "planner = 'tool_calls'\nhorizon = 'next'\nwrite = 'planner'\nplan = { min_steps = 0 }\n";
const LIMIT: &str = "\n[limits]\nmax_iterations = 6\nmax_repairs = 1";

fn least(tool: &str, least: u32) -> Spec {
    spec(&format!("{ROUNDS}required_calls = [{{ tool = '{tool}', least = {least} }}]{LIMIT}"))
}

#[test]
fn an_answer_too_early_is_a_bad_reply_and_is_repaired() {
    let mut told = Told::run(least("find", 1), [text("바로 답")]);
    assert_eq!(told.waits(), ["plan.1.2"]);
    let said = "$: \"find\" must be called once before the answer; so far it was called 0 times";
    assert_eq!(told.line("REPAIR")["error"], json!(said));
    told.ends([asks(&[("find", "a")]), found("A"), text("답")], "답");
    let early = [text("바로 답"), text("그래도 답")];
    let told = Told::fails(least("find", 1), early, &format!("PLAN_ERROR: contract: {said}"));
    assert_eq!(told.said(), "");
}

#[test]
fn calls_are_counted_over_all_rounds_and_of_that_tool_alone() {
    let two = [asks(&[("find", "a"), ("calc", "1")]), found("A"), found("1"), text("답")];
    let mut told = Told::run(least("find", 2), two);
    assert_eq!(told.waits(), ["plan.2.2"], "one of them was another tool's");
    told.ends([asks(&[("find", "b")]), found("B"), text("답")], "답");
}

#[test]
fn a_failed_call_was_made_and_a_skipped_repetition_was_not() {
    let failed = [asks(&[("find", "a")]), broken(), text("찾지 못했습니다")];
    Told::begin(least("find", 1)).ends(failed, "찾지 못했습니다");
    let skips =
        format!("{ROUNDS}duplicates = 'skip'\nrequired_calls = [{{ tool = 'find', least = 2 }}]{LIMIT}");
    let told = Told::run(spec(&skips), [asks(&[("find", "a"), ("find", "a")]), found("A"), text("답")]);
    assert_eq!(told.waits(), ["plan.2.2"]);
    let told = Told::run(least("find", 3), [asks(&[("calc", "1")])]);
    assert_eq!(told.waits(), ["step.1.1.1"], "calls are not held up by what is still to be called");
}

#[test]
fn each_line_that_begins_so_needs_a_call() {
    let lines = format!("{ROUNDS}required_calls = [{{ tool = 'find', per_line = 'Follow-up:' }}]{LIMIT}");
    let answer = "Follow-up: 언제?\n- 1949\n  Follow-up: 어디서?\n- 서울\n답: 서울";
    let mut told = Told::run(spec(&lines), [asks(&[("find", "a")]), found("A"), text(answer)]);
    let said = "$: \"find\" must be called 2 times before the answer; so far it was called 1 times";
    assert_eq!(told.line("REPAIR")["error"], json!(said));
    told.ends([asks(&[("find", "b")]), found("B"), text(answer)], answer);
    Told::begin(spec(&lines)).ends([text("후속 질문이 없는 답")], "후속 질문이 없는 답");
}

#[test]
fn a_whole_plan_must_hold_them() {
    let whole = "required_calls = [{ tool = 'find', least = 2 }, { tool = 'calc', least = 1 }]";
    let error = "PLAN_ERROR: contract: $: \"calc\" must be called once before the answer; so far it was called 0 times";
    let told = Told::fails(spec(whole), [plan("find a; calc 1"), plan("find a; find b")], error);
    assert_eq!(told.spent().tool_calls, 0);
    assert_eq!(Told::run(spec(whole), [plan("find a; calc 1; find b")]).waits(), ["step.1.1.1"]);
}

#[test]
fn an_answer_in_text_needs_them_too() {
    let react = format!(
        "{}required_calls = [{{ tool = 'find', least = 1 }}]{LIMIT}",
        ROUNDS.replace("tool_calls", "react_text")
    );
    let mut told = Told::run(spec(&react), [text("Final Answer: 몰라도 답")]);
    assert_eq!(told.waits(), ["plan.1.2"]);
    told.ends([text("Action: find\nAction Input: a"), found("A"), text("Final Answer: 답")], "답");
}

#[test]
fn self_ask_takes_neither_a_placeholder_nor_a_repeated_search() {
    let follow_up = |number: u32, point: &str| {
        format!("Follow-up {number}: 언제?\nIntermediate answer {number}:\n- {point}\nSources: 연감\n\n")
    };
    let ended = |text: String| format!("{text}Final answer: 1949년");
    let shipped = || agents::shipped("self-ask").expect("it is shipped");
    let good = ended(follow_up(1, "1949년이다 [1] …"));
    for empty in ["...", "…", "[answer]", "<point>"] {
        let bad = ended(follow_up(1, empty));
        let mut told = Told::run(shipped(), [asks(&[("search", "a")]), found("A"), text(bad)]);
        let said = format!("$: expected the answer itself, found the placeholder \"- {empty}\"");
        assert_eq!(told.line("REPAIR")["error"], json!(said));
        told.ends([text(&good)], &good);
    }
    let two = ended(follow_up(1, "1949년") + &follow_up(2, "서울"));
    let searches = asks(&[("search", "a"), ("search", "a")]);
    let mut told = Told::run(shipped(), [searches, found("A"), text(&two)]);
    let said = "$: \"search\" must be called 2 times before the answer; so far it was called 1 times";
    assert_eq!((told.line("REPAIR")["error"].clone(), told.lines("SKIP").len()), (json!(said), 1));
    told.ends([asks(&[("search", "b")]), found("B"), text(&two)], &two);
}

#[test]
fn placeholder_of_a_writer_is_a_bad_reply_too() {
    let refusing = spec("placeholders = ['TODO']\n[limits]\nmax_repairs = 1");
    let mut told = Told::run(refusing, [plan("find a"), found("A"), text("답: TODO")]);
    assert_eq!(told.waits(), ["write.1.2"]);
    told.ends([text("답")], "답");
    let error = spec_error("placeholders = ['(']");
    assert!(error.starts_with("policy.placeholders: "), "{error}");
}

fn spec_error(policy: &str) -> String {
    let text = format!(
        "name = 'a'\n[policy]\nvalidate = 'off'\n{policy}\n[roles]\nplanner.prompt = 'P'\nwriter.prompt = 'W'"
    );
    Spec::from_toml(&text).unwrap_err().to_string()
}
