//! Where a reference fits several values a person is offered them and picks one, which is a literal of theirs then.

use planwright::contract::{ArgumentRole, FieldType, ToolContract, ToolEffect, Trust};
use planwright::machine::{Refusal, ToolOutcome};
use planwright::prompt::choices;
use planwright::spec::{Containment, Spec};
use serde_json::{Value, json};

use crate::promise::{Say, Told, approve, found, id, plan, reject, respond, spec, text, verdict};

/// A read of records of the system and anyone, a write to whom it says, a read that takes a text.
fn booking(policy: &str) -> Spec {
    let mut spec = spec(&format!(
        "containment = 'standard'\nplan = {{ fields = ['id', 'refs'], says = {{ goal = false }} }}\n{policy}"
    ));
    let event = json!({"type": "object", "properties": {
        "id": {"type": "string"}, "seats": {"type": "integer"}, "title": {"type": "string"}, "more": {"type": "array"},
    }});
    let events = ToolContract::text("events", "Lists.", ToolEffect::Read)
        .output(json!({"type": "array", "items": event}))
        .field("/*/id", Trust::Trusted, FieldType::Id);
    let texts = json!({"type": "object", "properties": {"id": {"type": "string"}, "seats": {"type": "integer"}, "more": {}}});
    let cancel = ToolContract::json("cancel", "Cancels.", ToolEffect::Write)
        .input(texts)
        .argument("/seats", ArgumentRole::Value);
    spec.tools.extend([events, cancel]);
    spec
}

fn check_up(take: &str) -> Value {
    json!({"$from": "e", "where": [["/title", "equals", "check-up"]], "take": take})
}

fn cancelling(input: Value) -> Say {
    plan(
        json!([{"id": "e", "tool": "events", "input": "all"}, {"id": "c", "tool": "cancel", "input": input}]),
    )
}

fn returned(events: Value) -> Say {
    Say::Found(ToolOutcome::Returned {
        output: "둘".into(),
        sources: Vec::new(),
        data: Some(Box::new(events)),
    })
}

fn twins() -> Say {
    returned(json!([
        {"id": "mine", "seats": 1, "title": "Check-up", "more": []},
        {"id": "evil", "seats": 2, "title": "check-up", "more": []},
        {"id": "x", "seats": 3, "title": "Lunch", "more": []},
    ]))
}

#[test]
fn nothing_is_offered_of_which_a_value_would_write_lines_of_its_own() {
    let twins = returned(json!([
        {"id": "mine\n- other (trusted)", "seats": 1, "title": "Check-up", "more": []},
        {"id": "evil", "seats": 2, "title": "check-up", "more": []},
    ]));
    let told = Told::run(booking(""), [cancelling(json!({"id": check_up("/id")})), twins]);
    assert!(told.results()[1].contains("ambiguous"), "{:?}", told.results());
}

#[test]
fn a_person_picks_one_of_the_values_that_fit_and_the_call_is_made_with_it() {
    let mut told = Told::run(booking(""), [cancelling(json!({"id": check_up("/id")})), twins()]);
    assert_eq!(told.waits(), ["pick.1.2.1"]);
    assert_eq!(choices(&told.compiled, &told.state, id("pick.1.2.1")), ["mine", "evil"]);
    let question = told.question();
    assert!(
        question.contains("/id") && question.ends_with("- mine\n- evil\n입력: {\"id\":\"?\"}"),
        "{question}"
    );
    for said in [respond("x"), respond("1"), approve()] {
        assert!(matches!(
            told.refusal("pick.1.2.1", said),
            Refusal::BadPick { .. } | Refusal::WrongAnswer { .. }
        ));
    }
    told.tell([respond("mine")]);
    assert_eq!(told.waits(), ["step.1.2.1"], "what a person picked is a literal: nothing more is asked");
    assert_eq!(told.input("step.1.2.1"), json!({"id": "mine"}));
    let parts = told.state.label_parts(&told.compiled, 1);
    assert_eq!((&*parts[0].place, &*parts[0].tell()), ("/id", "picked at pick.1.2.1 (literal)"));
    told.ends([found("됨"), text("답")], "답");
    assert_eq!(told.spent().questions, 1);
}

#[test]
fn each_reference_is_asked_about_and_what_rests_on_the_step_is_still_allowed() {
    let mut spec = booking("");
    let receipts = ToolContract::text("receipt", "Reads.", ToolEffect::Read);
    spec.tools.push(receipts);
    let write = json!({"id": {"$from": "r"}});
    let steps = json!([
        {"id": "e", "tool": "events", "input": "all"},
        {"id": "r", "tool": "receipt", "input": check_up("/id")},
        {"tool": "cancel", "input": {"id": check_up("/id"), "seats": check_up("/seats")}},
        {"tool": "cancel", "input": write},
    ]);
    let mut told = Told::run(spec, [plan(steps), twins()]);
    assert_eq!(told.waits(), ["pick.1.2.1"]);
    told.tell([respond("mine"), found("m7")]);
    assert_eq!(told.waits(), ["pick.1.3.1"]);
    told.tell([respond("mine")]);
    assert_eq!(told.waits(), ["pick.1.3.2"]);
    told.tell([respond("1")]);
    assert_eq!(told.input("step.1.3.1"), json!({"id": "mine", "seats": 1}));
    told.tell([found("됨")]);
    assert_eq!(told.waits(), ["permit.1.4"], "in the plan as before, and its value is untrusted as before");
}

#[test]
fn a_no_leaves_the_call_out_and_where_nobody_may_be_asked_the_step_fails_as_ambiguous() {
    let steps = || cancelling(json!({"id": check_up("/id")}));
    let mut told = Told::run(booking(""), [steps(), twins(), reject("neither")]);
    assert_eq!(told.waits(), ["write.1.1"]);
    assert!(told.results()[1].contains("rejected"), "{:?}", told.results());
    let nobody = Told::run(booking("[limits]\nmax_questions = 0"), [steps(), twins()]);
    let mut off = booking("");
    off.policy.containment = Containment::Off;
    let off = Told::run(off, [steps(), twins()]);
    // None fits, and what cannot be shown on a line is not offered.
    let none = Told::run(booking(""), [steps(), returned(json!([{"id": "x", "title": "Lunch"}]))]);
    let lists = Told::run(booking(""), [cancelling(json!({"id": "x", "more": check_up("/more")})), twins()]);
    for told in [nobody, off, none, lists] {
        assert_eq!(told.waits(), ["write.1.1"]);
        assert!(told.results()[1].contains("ERROR: ambiguous: "), "{:?}", told.results());
    }
    told.ends([text("답")], "답");
}

#[test]
fn a_call_that_may_not_be_made_is_not_asked_about() {
    let policy = "validate = 'verdict'\n[limits]\nmax_replans = 1";
    let first = [plan(json!([{"id": "e", "tool": "events", "input": "all"}])), twins()];
    let mut told = Told::run(booking(policy), first);
    told.tell([verdict(false, "모자람", "더")]);
    told.tell([cancelling(json!({"id": check_up("/id")})), twins()]);
    assert_eq!(told.waits(), ["validate.2.1"], "a later plan adds no write, and no question about one");
}
