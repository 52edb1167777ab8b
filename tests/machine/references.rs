//! References: a value of an input may be a part of what an earlier step returned. What it takes is checked against
//! both declarations before anything runs, and the whole input before the call.

use planwright::contract::schema::is_strict;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::machine::{ToolOutcome, explore};
use planwright::spec::{RoleName, Spec};
use serde_json::{Value, json};

use crate::promise::{PARALLEL, Say, Told, approve, edit_input, found, plan, spec, text, with_risky};

/// A spec whose planner may refer to what `stock` returns: an object with a list.
fn referring(policy: &str) -> Spec {
    let mut spec = spec(&format!(
        "plan = {{ fields = ['id', 'refs'], max_steps = 4, says = {{ goal = false }} }}\n{policy}"
    ));
    let output = json!({
        "type": "object",
        "properties": {
            "품목": {"type": "string"},
            "count": {"type": "integer"},
            "rooms": {"type": "array", "items": {
                "type": "object", "properties": {"day": {"type": "string"}, "a/b": {"type": "null"}},
            }},
            "anything": {},
        },
        "required": ["count"],
    });
    spec.tools.push(ToolContract::text("stock", "Counts.", ToolEffect::Read).output(output));
    spec
}

fn returned(data: Value) -> Say {
    Say::Found(ToolOutcome::Returned {
        output: "셋".into(), sources: Vec::new(), data: Some(Box::new(data))
    })
}

/// `stock`, and a `book` with these values.
fn booking(day: Value, people: Value) -> Say {
    plan(json!([
        {"id": "재고", "tool": "stock", "input": "방"},
        {"tool": "book", "input": {"day": day, "people": people}},
    ]))
}

fn from(take: &str) -> Value {
    json!({"$from": "재고", "take": take})
}

#[test]
fn a_value_of_an_input_is_the_part_of_an_output_that_it_refers_to() {
    for policy in ["", PARALLEL] {
        let mut told = Told::run(referring(policy), [booking(from("/rooms/1/day"), from("/count"))]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{policy}: the other waits for it");
        let data = json!({"count": 3, "rooms": [{"day": "월"}, {"day": "화"}]});
        told.tell([returned(data)]);
        assert_eq!(told.waits(), ["step.1.2.1"]);
        assert_eq!(told.input("step.1.2.1"), json!({"day": "화", "people": 3}));
        told.ends([found("됨"), text("답")], "답");
        let planned = &told.line("PLAN")["steps"][1]["input"];
        assert_eq!(
            *planned,
            json!({"day": from("/rooms/1/day"), "people": from("/count")}),
            "the plan is frozen"
        );
    }
}

#[test]
fn a_reference_without_a_part_takes_the_text_of_a_tool_that_returns_no_data() {
    let steps = json!([
        {"tool": "calc", "input": "1+1"},
        {"tool": "book", "input": {"day": {"$from": "step_1"}, "people": 2}},
        {"tool": "calc", "input": {"$from": "step_1", "take": null}},
    ]);
    let mut told = Told::run(referring(""), [plan(steps), found("둘")]);
    assert_eq!(told.input("step.1.2.1"), json!({"day": "둘", "people": 2}));
    told.tell([found("됨")]);
    assert_eq!(told.input("step.1.3.1"), json!("둘"));
}

#[test]
fn a_reference_that_cannot_fit_is_refused_before_anything_runs() {
    let (day, people) = (json!("월"), json!(2));
    for (day, people, said) in [
        (from("/name"), people.clone(), "day: 재고 declares nothing at /name"),
        (from("/rooms/0/hour"), people.clone(), "day: 재고 declares nothing at /rooms/0/hour"),
        (from("/count"), people.clone(), "day: expected string, found a reference to integer"),
        (from(""), people.clone(), "day: expected string, found a reference to object"),
        (day.clone(), from("/품목"), "people: expected integer, found a reference to string"),
        (day.clone(), from("/rooms/0/a~1b"), "people: expected integer, found a reference to null"),
        (day.clone(), json!({"$from": "재고", "which": []}), "which: unexpected field of a reference"),
        (day.clone(), json!({"$from": 1}), "$from: expected the id of an earlier step"),
        (day.clone(), from("count"), "take: expected a JSON pointer such as \"/total\""),
        (day.clone(), json!({"$from": "step_2"}), "input: a step cannot wait for itself"),
        (day.clone(), json!({"$from": "없음"}), "input: no step has the id \"없음\""),
        (from("/rooms/0/day"), json!("둘"), "people: expected integer, found \"둘\""),
    ] {
        let told = Told::run(referring("on_bad_reply = 'fail'"), [booking(day.clone(), people)]);
        let error = told.error();
        assert!(
            error.starts_with("PLAN_ERROR: contract: $.steps[1].input") && error.ends_with(said),
            "{error}"
        );
        assert_eq!(told.spent().tool_calls, 0);
    }
    for (input, said) in [
        (json!({"day": from("/품목")}), "$.steps[1].input: expected a field \"people\", found none"),
        (json!({"day": from("/품목"), "people": 2, "hour": 1}), "$.steps[1].input.hour: unexpected field"),
        (
            json!({"day": vec![from("/품목"); 33], "people": 2}),
            "$.steps[1].input: expected at most 32 references, found 33",
        ),
    ] {
        let steps = json!([{"id": "재고", "tool": "stock", "input": "방"}, {"tool": "book", "input": input}]);
        let told = Told::run(referring("on_bad_reply = 'fail'"), [plan(steps)]);
        assert_eq!(told.error(), format!("PLAN_ERROR: contract: {said}"));
    }
    let of_text =
        json!([{"tool": "calc", "input": "1"}, {"tool": "calc", "input": {"$from": "step_1", "take": "/x"}}]);
    let told = Told::run(referring("on_bad_reply = 'fail'"), [plan(of_text)]);
    let said = "PLAN_ERROR: contract: $.steps[1].input: step_1 returns a text; expected no `take`";
    assert_eq!(told.error(), said);
}

#[test]
fn what_was_declared_and_is_not_there_fails_the_step_and_the_tool_is_not_called() {
    for (data, people, said) in [
        (json!({"count": 3}), "/rooms/0/day", "book: $.day: 재고 returned nothing at /rooms/0/day"),
        (
            json!({"count": 3, "anything": "셋"}),
            "/anything",
            "book: $.people: expected integer, found \"셋\"",
        ),
    ] {
        let (day, people) = match people {
            "/anything" => (json!("월"), from(people)),
            _ => (from(people), json!(2)),
        };
        let mut told = Told::run(referring(""), [booking(day, people), returned(data)]);
        let failed = format!("step_2: failed: ERROR: input: what the input refers to does not fit {said}");
        assert_eq!(told.results()[1], failed);
        assert_eq!(told.spent().tool_calls, 1);
        told.ends([text("답")], "답");
    }
}

/// `stock`, and a `book` of the day of one room.
fn booking_by(select: Value) -> Say {
    let mut day = json!({"$from": "재고", "in": "/rooms", "take": "/day"});
    day.as_object_mut().unwrap().extend(select.as_object().unwrap().clone());
    booking(day, json!({"$calc": "({1} + 1) * 2", "with": [from("/count")]}))
}

#[test]
fn a_record_is_found_by_what_the_plan_says_of_it_and_only_if_it_is_the_only_one() {
    let rooms = json!({"count": 3, "rooms": [{"day": "월", "a/b": null}, {"day": "화"}, {"day": "화요일"}]});
    let found = |wanted: Value| Told::run(referring(""), [booking_by(wanted), returned(rooms.clone())]);
    let told = found(json!({"where": [["/day", "contains", "월"]]}));
    assert_eq!(told.input("step.1.2.1"), json!({"day": "월", "people": 8}));
    for (test, count) in [("starts_with", 2), ("equals", 0)] {
        let literal = if count == 0 { "수" } else { "화" };
        let mut told = found(json!({"where": [["/day", test, literal]]}));
        let said = format!(
            "step_2: failed: ERROR: ambiguous: what the input refers to does not fit book: $.day: expected one \
             record of 재고/rooms, found {count}"
        );
        assert_eq!(told.results()[1], said);
        assert_eq!(told.spent().tool_calls, 1, "the tool is not called");
        told.ends([text("답")], "답");
    }
}

#[test]
fn a_selection_that_cannot_be_is_refused_before_anything_runs() {
    for (select, said) in [
        (json!({"where": [["/hour", "equals", "x"]]}), "day.where[0]: 재고 declares nothing at /hour"),
        (
            json!({"where": [["/day", "equals", 1]]}),
            "day.where[0]: expected number, found a reference to string",
        ),
        (
            json!({"where": [["/day", "is", "x"]]}),
            "day.where[0][1]: expected equals, contains or starts_with",
        ),
        (json!({"where": [["/day", "contains", ""]]}), "day.where[0][2]: expected a text that is not empty"),
        (json!({"where": [["/day", "equals"]]}), "such as [\"/title\", \"equals\", \"Lunch\"]"),
        (json!({}), "day.in: expected `where` or `order_by` beside it, which find one record of the list"),
        (json!({"order_by": "/day"}), "day.first: expected \"largest\" or \"smallest\" beside `order_by`"),
        (
            json!({"order_by": "/day", "first": "largest"}),
            "day.order_by: expected a field of numbers or dates, and 재고 declares none at /day",
        ),
        (json!({"in": "/count", "where": [["/x", "equals", "x"]]}), "day.in: expected a list of 재고"),
        (
            json!({"where": [["/day", "equals", "x"]], "extract": "name"}),
            "day.extract: expected one of email, url, iban, number, date, amount",
        ),
        (
            json!({"where": [["/day", "equals", "x"]], "extract": "number"}),
            "day: expected string, found a reference to number",
        ),
    ] {
        let error = Told::run(referring("on_bad_reply = 'fail'"), [booking_by(select)]).error();
        assert!(
            error.starts_with("PLAN_ERROR: contract: $.steps[1].input") && error.ends_with(said),
            "{error}"
        );
    }
}

#[test]
fn every_field_of_a_schema_with_definitions_may_be_a_reference() {
    let mut spec = referring("");
    let room = json!({
        "type": "object",
        "properties": {
            "floor": {"$ref": "#/$defs/Floor"},
            "guests": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["floor", "guests"],
        "additionalProperties": false,
        "$defs": {"Floor": {"enum": ["low", "high"]}},
    });
    spec.tools.push(ToolContract::json("room", "Books.", ToolEffect::Read).input(room));
    let compiled = spec.clone().check().unwrap();
    let schema = compiled.frame(RoleName::Planner).unwrap().schema.clone().unwrap();
    let floor = &schema["$defs"]["room"]["properties"]["floor"]["anyOf"];
    assert_eq!(*floor, json!([{"$ref": "#/$defs/room/$defs/Floor"}, {"$ref": "#/$defs/$value"}]));
    let steps = |floor: Value| {
        let input = json!({"floor": floor, "guests": [from("/품목")]});
        plan(json!([{"id": "재고", "tool": "stock", "input": "방"}, {"tool": "room", "input": input}]))
    };
    let outcome = || returned(json!({"count": 1, "품목": "high"}));
    let told = Told::run(spec.clone(), [steps(from("/품목")), outcome()]);
    assert_eq!(told.input("step.1.2.1"), json!({"floor": "high", "guests": ["high"]}));
    spec.policy.on_bad_reply = planwright::spec::OnFailure::Fail;
    for (floor, said) in [
        (json!("middle"), "$.steps[1].input.floor: expected one of \"low\", \"high\", found \"middle\""),
        (from("/count"), "$.steps[1].input.floor: expected string or string, found a reference to integer"),
    ] {
        let error = Told::run(spec.clone(), [steps(floor)]).error();
        assert_eq!(error, format!("PLAN_ERROR: contract: {said}"));
    }
}

#[test]
fn a_person_sees_what_a_reference_stands_for_and_what_they_write_is_no_reference() {
    let spec = with_risky(referring("approval = 'risky'"), "book");
    let begin = || {
        let data = json!({"count": 1, "품목": "월"});
        Told::run(spec.clone(), [booking(from("/품목"), json!(2)), returned(data)])
    };
    let mut told = begin();
    let asked = "이 호출을 승인해주세요: book\n입력: {\"day\":\"월\",\"people\":2}\n- /day: 재고 /품목 (신뢰할 수 없음)\n- /people: 계획에 있음";
    assert_eq!(told.question(), asked);
    let mut other = begin();
    assert_eq!(told.tell([approve()]).input("step.1.2.1"), json!({"day": "월", "people": 2}));
    let refused = other.refuses(edit_input(json!({"day": from("/품목"), "people": 2})));
    assert!(
        refused.ends_with("$.day: expected string, found {\"$from\":\"재고\",\"take\":\"/품목\"}"),
        "{refused}"
    );
    other.tell([edit_input(json!({"day": "화", "people": 2}))]);
    assert_eq!(other.input("step.1.2.1"), json!({"day": "화", "people": 2}));
}

#[test]
fn without_the_policy_it_is_data_like_any_other() {
    let mut plain = referring("");
    plain.policy.plan.fields.clear();
    plain.tools.push(ToolContract::json("note", "Notes.", ToolEffect::Read));
    let input = json!({"$from": "step_1", "take": "/x"});
    let told = Told::run(plain, [plan(json!([{"tool": "note", "input": input}]))]);
    assert_eq!(told.input("step.1.1.1"), input);
}

#[test]
fn a_planner_is_told_how_to_refer_and_what_there_is() {
    let compiled = referring("").check().unwrap();
    let frame = compiled.frame(RoleName::Planner).unwrap();
    assert!(frame.system.contains("- stock: Counts. Output: {\"type\":\"object\""), "{}", frame.system);
    assert!(frame.system.contains(r#"{"$from": "step_1", "take": "/items/0/price"}"#));
    let schema = frame.schema.as_ref().unwrap();
    let book = &schema["properties"]["steps"]["items"]["anyOf"][4]["properties"];
    assert_eq!(book["tool"]["enum"], json!(["book"]));
    let people = &book["input"]["properties"]["people"]["anyOf"];
    assert_eq!(*people, json!([{"type": "integer"}, {"$ref": "#/$defs/$value"}]));
    let value = &schema["$defs"]["$value"]["anyOf"];
    let names = json!(["$from", "in", "where", "order_by", "first", "take", "extract"]);
    assert_eq!(
        (&value[0]["required"], &value[1]["required"], &value[2]["required"]),
        (&names, &json!(["$template", "with"]), &json!(["$calc", "with"]))
    );
    assert!(is_strict(schema), "{schema:#}");
    let without = spec("").check().unwrap();
    assert!(!without.frame(RoleName::Planner).unwrap().system.contains("$from"));
}

#[test]
fn every_invariant_holds_with_references() {
    for policy in ["", PARALLEL, "on_replan = 'keep'\non_step_failure = 'replan'\n[limits]\nmax_replans = 1"]
    {
        let mut spec = referring(policy);
        spec.policy.plan.max_steps = 2;
        spec.tools.retain(|tool| ["stock", "calc", "book"].contains(&tool.name.as_str()));
        let report = explore::explore(&spec.check().unwrap());
        let violations: Vec<&String> = report.checks.iter().flat_map(|check| &check.violations).collect();
        assert!(violations.is_empty(), "{policy}: {violations:#?}");
        let refers = |key: &explore::Key| {
            key.progress.iter().flat_map(|plan| &plan.steps).any(|(call, _)| call.ends_with('←'))
        };
        assert!(report.keys.iter().any(refers), "{policy}");
    }
}
