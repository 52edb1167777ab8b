//! Reading fixtures: whatever stands in the file, it is read, or refused with the path and the place.
//! Nothing that can be written into one makes a replay panic or wait for ever.

use planwright::journal::{Exchange, Fixture};
use planwright::machine::{Event, ModelReply};
use planwright::spec::RoleName;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

fn fixture(agent: &str, story: &str) -> Fixture {
    let path = format!("{}/fixtures/{agent}/{story}.json", env!("CARGO_MANIFEST_DIR"));
    Fixture::load(path).unwrap()
}

/// Why a fixture with this text cannot be loaded, without the path before it.
#[track_caller]
fn unreadable(text: impl AsRef<[u8]>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("이야기.json");
    std::fs::write(&path, text).unwrap();
    let said = Fixture::load(&path).unwrap_err().to_string();
    let rest = said.strip_prefix(&format!("{}: ", path.display()));
    rest.unwrap_or_else(|| panic!("names no path: {said}")).to_owned()
}

/// A fixture's text with one passage replaced.
#[track_caller]
fn with(old: &str, new: &str) -> String {
    let text = fixture("validated", "cancelled").to_json();
    assert!(text.contains(old), "{old}");
    text.replacen(old, new, 1)
}

#[test]
fn unreadable_fixture_is_an_error_that_names_path_and_place() {
    let said = [
        (unreadable("이것은 JSON이 아니다"), "is not JSON: "),
        (unreadable(""), "is not JSON: EOF"),
        (unreadable(r#"{"colour":"#), "is not JSON: EOF"),
        (unreadable(r#"{"colour": "red"}"#), "is no fixture: expected a field \"format\" that says"),
        (unreadable("[1, 2]"), "is no fixture: expected a field \"format\" that says"),
        (unreadable(b"\xff\xfe"), "cannot be read: "),
        (
            unreadable(with("planwright-fixture/1", "planwright-fixture/2")),
            "expected the format \"planwright-fixture/1\", found \"planwright-fixture/2\"",
        ),
        (unreadable(with("\"format\"", "\"version\": 2, \"format\"")), "$.version: unknown field `version`"),
        (unreadable(with("\"outcome\"", "\"ending\"")), "$.ending: unknown field `ending`"),
        (
            unreadable(with("\"effect\": \"plan.1.1\"", "\"effect\": \"plan.0.1\"")),
            "$.exchanges[0].model.effect: ",
        ),
        (unreadable(with("\"effect\": \"step.1.1.1\"", "\"effect\": 7")), "$.exchanges[1].tool.effect: "),
        (
            unreadable(with("\"digest\": \"", "\"digest\": \"g")),
            "$.exchanges[0].model.digest: expected a digest",
        ),
        (
            unreadable(with("\"role\": \"planner\"", "\"role\": \"cook\"")),
            "$.exchanges[0].model.role: expected one of `frames`",
        ),
        (
            unreadable(with("\"phase\": \"PLAN\"", "\"phase\": \"REST\"")),
            "$.trace[0].phase: unknown variant `REST`",
        ),
        (unreadable(with("\"cancelled\"", "\"gone\"")), "$.exchanges[2].happened"),
        (unreadable(format!("{}{{}}", with("{", "{"))), "is not JSON: trailing characters"),
    ];
    for (found, wanted) in said {
        assert!(found.starts_with(wanted), "expected {wanted:?}, found {found:?}");
    }
}

#[test]
fn fixture_cut_anywhere_is_an_error() {
    let text = fixture("validated", "cancelled").to_json();
    for end in (0..text.trim_end().len()).step_by(97) {
        let cut = String::from_utf8_lossy(&text.as_bytes()[..end]).into_owned();
        let said = Fixture::parse(&cut).unwrap_err();
        assert!(said.starts_with("is not JSON: "), "{end}: {said}");
    }
}

#[test]
fn fixture_without_a_field_a_file_or_sense_is_an_error_that_says_where() {
    let cancelled = || fixture("validated", "cancelled");
    let mut value: Value = serde_json::from_str(&cancelled().to_json()).unwrap();
    value.as_object_mut().unwrap().remove("spec");
    let said = Fixture::parse(&value.to_string()).unwrap_err();
    assert!(said.starts_with("$: missing field `spec`"), "{said}");

    // An answer to an effect does not just happen.
    let (mut happened, effect) = (cancelled(), "plan.1.1".parse().unwrap());
    let reply = ModelReply::text("{}");
    happened.exchanges[2] = Exchange::Happened(Event::ModelReplied { effect, reply });
    let said = Fixture::parse(&happened.to_json()).unwrap_err();
    let wanted = "$.exchanges[2].happened: expected what answers no effect, found \"model_replied\"";
    assert_eq!(said, wanted);

    let said = Fixture::load("fixtures/nobody/nothing.json").unwrap_err().to_string();
    assert!(said.starts_with("fixtures/nobody/nothing.json: cannot be read: "), "{said}");

    let mut contradictory = cancelled();
    contradictory.spec.roles.remove(&RoleName::Validator);
    let said = contradictory.replay_as_recorded().unwrap_err().to_string();
    assert_eq!(said, "the fixture's spec: roles.validator: needed under `validate = \"verdict\"`");
}

/// Every story's text, to be spoilt.
fn texts() -> impl Strategy<Value = String> {
    let stories = vec!["accepted_at_once", "replanned_twice", "malformed_plan", "failing_tool", "cancelled"];
    select(stories).prop_map(|story| fixture("validated", story).to_json())
}

/// Reads and replays. Whether it works is all the same: it must come back.
fn comes_back(text: &str) {
    if let Ok(fixture) = Fixture::parse(text) {
        let _ = fixture.replay_as_recorded();
    }
}

/// All places of a JSON value, as pointers.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, &format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                places(item, &format!("{here}/{at}"), found);
            }
        }
        _ => {}
    }
}

/// What is done to one place of a fixture.
#[derive(Clone, Debug)]
enum Spoil {
    /// Puts something else there.
    Put(Value),
    /// Puts there what stands at another place.
    Copy(Index),
    /// Takes the place away.
    Drop,
    /// Turns a list around.
    Reverse,
}

fn spoils() -> impl Strategy<Value = Spoil> {
    let values = vec![
        json!(null),
        json!(0),
        json!(4_294_967_295_u32),
        json!(true),
        json!(""),
        json!("wiki"),
        json!("step.1.9.1"),
        json!([]),
        json!({}),
    ];
    prop_oneof![
        select(values).prop_map(Spoil::Put),
        any::<Index>().prop_map(Spoil::Copy),
        Just(Spoil::Drop),
        Just(Spoil::Reverse),
    ]
}

fn spoil(fixture: &mut Value, place: Index, what: &Spoil) {
    let mut found = Vec::new();
    places(fixture, "", &mut found);
    let place = place.get(&found).clone();
    match what {
        Spoil::Put(value) => *fixture.pointer_mut(&place).unwrap() = value.clone(),
        Spoil::Copy(from) => {
            let copy = fixture.pointer(from.get(&found).as_str()).unwrap().clone();
            *fixture.pointer_mut(&place).unwrap() = copy;
        }
        Spoil::Drop => {
            let Some((parent, name)) = place.rsplit_once('/') else { return };
            match fixture.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.shift_remove(&name.replace("~1", "/"))),
                Some(Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
                _ => {}
            }
        }
        Spoil::Reverse => {
            if let Some(Value::Array(items)) = fixture.pointer_mut(&place) {
                items.reverse();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn fixture_with_bytes_turned_over_never_panics(
        text in texts(),
        flips in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        comes_back(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn fixture_that_is_json_and_makes_no_sense_never_panics(
        text in texts(),
        changes in prop::collection::vec((any::<Index>(), spoils()), 1..4),
    ) {
        let mut value = serde_json::from_str(&text).unwrap();
        for (place, what) in &changes {
            spoil(&mut value, *place, what);
        }
        comes_back(&value.to_string());
    }
}
