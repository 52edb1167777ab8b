//! What models say is read strictly: wrapped replies are read, nonsense is an error that names the
//! place.

use std::sync::Arc;

use planwright::contract::{
    AnswerForm, Before, Plan, PlanContract, PlanPolicy, ReadPlan, StepField, ToolContract, ToolEffect,
    Validate,
    schema::{Schema, is_strict},
};
use serde_json::{Value, json};

/// One to four steps and a goal; the last step is the final one.
fn contract_of(tools: Vec<ToolContract>, fields: &[StepField]) -> PlanContract {
    let policy = PlanPolicy { max_steps: 4, fields: fields.to_vec(), ..PlanPolicy::default() };
    PlanContract::new(tools, Vec::new(), policy, false, 100)
}

fn contract() -> PlanContract {
    let mut typed = ToolContract::text("book", "Books a table.", ToolEffect::Write);
    typed.input = json!({
        "type": "object",
        "properties": {"people": {"type": "integer", "minimum": 1}, "name": {"type": "string"}},
        "required": ["people"], "additionalProperties": false,
    });
    let tools = vec![ToolContract::text("wiki", "Looks up.", ToolEffect::Read), typed];
    contract_of(tools, &[])
}

fn read(reply: &str) -> Result<Plan, String> {
    contract()
        .parse(Before::NOTHING, reply, 10_000)
        .map(|read| Arc::unwrap_or_clone(read.plan))
        .map_err(|error| error.to_string())
}

fn plan(steps: Value) -> String {
    json!({"goal": "g", "steps": steps}).to_string()
}

const GOOD: &str =
    r#"{"goal":"g","steps":[{"tool":"wiki","input":"서울 {중괄호}"},{"tool":"final_answer","input":"x"}]}"#;

#[test]
fn a_reply_in_fences_or_prose_is_read_the_same() {
    let bare = read(GOOD).expect("reads");
    for wrapped in [
        format!("```json\n{GOOD}\n```"),
        format!("```\n{GOOD}\n```"),
        format!("  \n{GOOD}\n"),
        format!("Here is the plan you asked for:\n{GOOD}\nShall I go on?"),
        format!("<think>maybe {{wiki}} or {{\"tool\": 1}}?</think>\n{GOOD}"),
        format!("계획은 다음과 같습니다 {{}}: {GOOD}"),
        format!("\u{feff}{GOOD}"),
        format!("<think>{{\"goal\": \"no\", \"steps\": []}}</think>\n{GOOD}"),
    ] {
        assert_eq!(read(&wrapped).as_ref(), Ok(&bare), "{wrapped}");
    }
}

#[test]
fn the_outermost_object_is_read_and_not_one_inside_it() {
    let reply =
        plan(json!([{"tool": "book", "input": {"people": 2}}, {"tool": "final_answer", "input": "x"}]));
    let plan = read(&format!("Sure. {reply}")).expect("reads");
    assert_eq!(plan.steps.len(), 2);
}

/// Replies, and the error with which each is refused.
const NONSENSE: &str = r#"
I would search first. => $: expected a JSON object, found text that begins "I would search first."
[1, 2] => $: expected a JSON object, found an array
{"steps": []} => $: missing field `goal`
{"goal": 7, "steps": []} => $.goal: invalid type: integer `7`, expected a string
{"goal": "g", "steps": [{"input": "x"}]} => $.steps[0]: missing field `tool`
{"goal": "g", "steps": [{"tool": "wiki"}, {"tool": 3}]} => $.steps[1].tool: invalid type: integer `3`, expected a string
{"goal": "g", "steps": [{"tool": "wiki", "agent": "a", "team": null}]} => $.steps[0]: duplicate field `agent`
{"goal":"g","steps":[{"tool":"wiki","input":"x"},]} => $: expected a JSON object, found JSON that does not parse (expected value at line 1 column 50)
"#;

/// The steps of plans before their `final_answer`, and the error with which each plan is refused.
const WRONG_PLANS: &str = r#"
{"tool": "final_answer", "input": "x"} => $.steps[0].tool: "final_answer" must be the last step, and only the last
{"tool": "rm -rf", "input": "x"} => $.steps[0].tool: expected one of wiki, book, final_answer, found "rm -rf"
{"tool": "wiki"} => $.steps[0].input: expected an input, found none
{"tool": "wiki", "input": ""} => $.steps[0].input: expected at least 1 characters, found 0
{"tool": "wiki", "input": ["a"]} => $.steps[0].input: expected string, found ["a"]
{"tool": "book", "input": {"people": 0}} => $.steps[0].input.people: expected at least 1, found 0
{"tool": "book", "input": {"people": 2, "x": 1}} => $.steps[0].input.x: unexpected field
"#;

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.trim().lines().map(|row| row.split_once(" => ").expect("a reply and its error"))
}

#[test]
fn nonsense_names_the_json_path() {
    for (reply, error) in rows(NONSENSE).chain([("", "$: expected a JSON object, found an empty reply")]) {
        assert_eq!(read(reply), Err(error.to_owned()), "{reply}");
    }
    let cut = read(&GOOD[..GOOD.len() - 10]).expect_err("cut");
    assert!(cut.starts_with("$: expected a whole JSON object, found one that is cut off"), "{cut}");
    assert_eq!(AnswerForm::Text.parse("<think>hm {</think>\n답", 100).as_deref(), Ok("답"));
    let inside = r#"{"notes": {"final": "not the answer"}, "fin"#;
    assert!(AnswerForm::Final.parse(inside, 1_000).is_err(), "a part of a cut reply is not the reply");
    assert!(read(r#"{"goal": "g", "steps": [}"#).expect_err("broken").contains("JSON that does not parse"));
}

#[test]
fn a_plan_is_checked_whole() {
    let wiki = |input: &str| json!({"tool": "wiki", "input": input});
    let end = json!({"tool": "final_answer", "input": "x"});
    let many = plan(json!(vec![wiki("x"); 10_000]));
    assert!(contract().parse(Before::NOTHING, &many, 10_000_000).is_err());
    let refused = |steps: Value, error: &str| assert_eq!(read(&plan(steps)), Err(error.to_owned()));
    refused(json!([]), "$.steps: expected 1 to 4 steps, found 0");
    let unended = "$.steps[0].tool: expected \"final_answer\" as the last step, found \"wiki\"";
    refused(json!([wiki("x")]), unended);
    refused(json!([wiki(&"x".repeat(101)), end]), "$.steps[0].input: expected at most 100 bytes, found 101");
    for (step, error) in rows(WRONG_PLANS) {
        refused(json!([serde_json::from_str::<Value>(step).expect(step), end]), error);
    }
}

#[test]
fn what_is_waited_for_is_worked_out_once() {
    let end = json!({"tool": "final_answer", "input": "x"});
    let good = plan(json!([
        {"step_id": 1, "tool": "wiki", "input": "x"},
        {"step_id": 2, "tool": "wiki", "input_from": 1, "depends_on": null, "status": "completed", "output": "mine"},
        end
    ]));
    let ReadPlan { plan: read, links, .. } = contract().parse(Before::NOTHING, &good, 10_000).expect("reads");
    assert_eq!(read.steps[1].input_from.as_deref(), Some("step_1"));
    assert_eq!(links.needs, [vec![], vec![0], vec![]]);
    assert_eq!(links.dependents, [vec![1], vec![], vec![]]);
}

#[test]
fn an_input_and_what_is_waited_for_are_told_apart_and_nothing_is_waited_for_twice() {
    let steps = json!([
        {"tool": "wiki", "input": "a"},
        {"tool": "wiki", "input": "b"},
        {"tool": "wiki", "input_from": "step_1", "depends_on": ["step_2", "step_1", "step_2"]},
        {"tool": "final_answer", "input": "x"},
    ]);
    let links = contract().parse(Before::NOTHING, &plan(steps), 10_000).expect("reads").links;
    assert_eq!(links.inputs, [None, None, Some(0), None]);
    assert_eq!(links.needs, [vec![], vec![], vec![0, 1], vec![]]);
    assert_eq!(links.dependents, [vec![2], vec![2], vec![], vec![]]);
}

#[test]
fn a_reply_over_the_limit_is_refused_unread() {
    let error = contract().parse(Before::NOTHING, GOOD, 20).expect_err("too large");
    assert_eq!(error.to_string(), format!("$: expected at most 20 bytes, found {}", GOOD.len()));
}

#[test]
fn deep_nesting_and_many_braces_are_errors_and_no_overflow() {
    for bad in ["{".repeat(100_000), "[".repeat(100_000), "{\"a\":".repeat(50_000), "}{".repeat(50_000)] {
        assert!(contract().parse(Before::NOTHING, &bad, 1_000_000).is_err());
        assert!(Validate::Verdict.parse(&bad, 1_000_000).is_err());
        assert!(AnswerForm::Final.parse(&bad, 1_000_000).is_err());
    }
}

#[test]
fn a_verdict_needs_all_its_fields_in_their_types() {
    let verdict = Validate::Verdict
        .parse("판정:\n{\"ok\": true, \"reason\": \"충분\", \"fix_hint\": \"\", \"score\": 9}", 1_000);
    assert_eq!(verdict.expect("reads").reason, "충분");
    for (bad, path) in [
        (r#"{"ok": true, "reason": "r"}"#, "$"),
        (r#"{"ok": "true", "reason": "r", "fix_hint": ""}"#, "$.ok"),
        (r#"{"ok": true, "reason": null, "fix_hint": ""}"#, "$.reason"),
        (r#"{"ok": true, "ok": false, "reason": "r", "fix_hint": ""}"#, "$"),
    ] {
        assert_eq!(Validate::Verdict.parse(bad, 1_000).expect_err(bad).path(), path, "{bad}");
    }
}

#[test]
fn schemas_that_go_out_are_strict_and_describe_what_is_read() {
    let mut simple = contract().schema();
    // A tool's own input schema is its author's; all else is ours.
    simple["properties"]["steps"]["items"]["anyOf"][1]["properties"]["input"] = json!({});
    assert!(is_strict(&simple), "{simple}");
    let text = |fields: &[StepField]| {
        let wiki = ToolContract::text("wiki", "Looks up.", ToolEffect::Read);
        contract_of(vec![wiki], fields)
    };
    let all = [StepField::Id, StepField::InputFrom, StepField::DependsOn, StepField::Description];
    for schema in [
        text(&[]).schema(),
        text(&all).schema(),
        Validate::Verdict.schema().expect("one"),
        AnswerForm::Final.schema().expect("one"),
    ] {
        assert!(is_strict(&schema), "{schema}");
    }
    let value: Value = serde_json::from_str(GOOD).expect("JSON");
    let asked = Schema::new(&text(&[]).schema()).expect("our own checker knows every keyword");
    asked.check(&value).expect("what is read conforms to what was asked for");
    assert_eq!(
        text(&[]).schema()["properties"]["steps"]["items"]["properties"]["tool"]["enum"],
        json!(["wiki", "final_answer"])
    );
}

#[test]
fn names_have_1_to_64_characters_of_the_kind_that_servers_take() {
    let check = |name: &str| ToolContract::text(name, "d", ToolEffect::Pure).check();
    let (longest, longer) = ("a".repeat(64), "a".repeat(65));
    for good in ["a", "get_article-2", "files.read", &longest] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for bad in ["", "a b", ".a", "a.", "도구", &longer, "final_answer", "hitl"] {
        assert!(check(bad).expect_err(bad).to_string().starts_with("name: "), "{bad}");
    }
}
