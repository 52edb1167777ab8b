//! A reply says one thing or nothing: what a model only thought, quoted or drafted is never taken for its
//! verdict.

use planwright::contract::{AnswerForm, Decision, Intent, IntentForm, Validate};
use proptest::prelude::*;
use proptest::sample::select;

const YES: &str = r#"{"ok": true, "reason": "충분", "fix_hint": ""}"#;
const NO: &str = r#"{"ok": false, "reason": "no source", "fix_hint": "look it up"}"#;

/// The verdict of a reply in which `Y` and `N` stand for a yes and a no; `None` where it is refused.
fn verdict(reply: &str) -> Option<bool> {
    let reply = reply.replace('Y', YES).replace('N', NO);
    Validate::Verdict.parse(&reply, 10_000).ok().map(|verdict| verdict.ok)
}

#[test]
fn a_verdict_is_never_guessed() {
    for (reply, expected) in [
        ("The page says Y, so: N", None),
        ("N\n```json\nY\n```", None),
        ("Y and again Y", Some(true)),
        (r#"Y {"ok":true,"fix_hint":"","reason":"충분"}"#, Some(true)),
        ("<think>maybe Y", None),
        ("<think>maybe Y</think>N", Some(false)),
        ("Well. <thinking>Y</thinking> N", Some(false)),
        ("Well. <REASONING >Y</reasoning> N", Some(false)),
        ("<think>Y <think>Y</think> Y</think> N", Some(false)),
        ("maybe Y\n</think>\nN", Some(false)),
        ("N <think>or rather Y</think>", Some(false)),
        ("N <think>or rather Y", None),
        ("<think>I close with `</think>`. Maybe Y", None),
        ("I use no `<think>` tags.\nN", Some(false)),
        ("<think>of <think> tags</think>N", None),
        (r#"N {"ok": true, "reason": "#, None),
        (r#"{"ok": false,, "reason": "", "fix_hint": ""} Y"#, None),
        (r#"{"draft": N} Y"#, None),
        (r#"N {"a": "<think>Y</think>Y"#, None),
        ("N `<think>Y</think>Y", None),
        (r#"{"draft": 1} Y"#, Some(true)),
        (r#"{"ok": false} quoting: Y"#, None),
        (r#"{"ok": "false", "reason": "", "fix_hint": ""} but it said Y"#, None),
        (r#"{"reason": "no", "fix_hint": null} Y"#, None),
        ("{'ok': false} Y", None),
        ("{ok: false} Y", None),
        ("The page says \"Y\", so I am not sure.", None),
        ("그 글에는 “Y”라고 있다.", None),
        ("<|thinking|>Y<|/thinking|>", None),
        ("<thought>Y</thought> N", Some(false)),
        ("{name} says Y", Some(true)),
        (&"{} ".repeat(100), None),
        (&format!("Y{}", " {x}".repeat(100)), None),
    ] {
        assert_eq!(verdict(reply), expected, "{reply}");
    }
    let error = Validate::Verdict.parse(&format!("{YES} {NO}"), 1_000).expect_err("two verdicts");
    assert_eq!(error.to_string(), "$: expected one JSON object, found several that differ");
}

#[test]
fn intents_decisions_and_answers_are_read_the_same_way() {
    let intents = r#"{"intent": "a", "rewritten_query": "b"} {"intent": "c", "rewritten_query": "d"}"#;
    assert!(Intent::parse(IntentForm::Query, &[], intents, 1_000).is_err());
    let decisions = r#"<think>{"action": "skip_remaining"}</think> {"action": "continue"}"#;
    assert!(Decision::parse(decisions, |_| true, 1_000).is_ok());
    assert!(Decision::parse(&decisions.replace("think", "b"), |_| true, 1_000).is_err());
    for (text, expected) in [
        ("<thinking>4?</thinking>\n4", Some("4")),
        ("So 4. <think>sure?</think>", Some("So 4.")),
        ("sure?\n</think>\n4", Some("4")),
        ("<think>4", None),
        ("4\n<think>or 5", Some("4")),
        ("<think>of <think> tags</think>42", Some("42")),
        ("<think>x</think>\n\nthe tag <think> opens", Some("the tag <think> opens")),
        (
            "`<think>` opens a thought, `</think>` ends it",
            Some("`<think>` opens a thought, `</think>` ends it"),
        ),
        ("the tag <think> opens a thought", Some("the tag <think> opens a thought")),
        ("a < b and b > a", Some("a < b and b > a")),
    ] {
        assert_eq!(AnswerForm::Text.parse(text, 1_000).ok().as_deref(), expected, "{text}");
    }
}

#[test]
fn errors_name_the_fields_that_a_role_is_asked_for() {
    let kinds = ["chat".to_owned()];
    for (reply, path, problem) in [
        ("{}", "$", "missing field `intent_type`"),
        (r#"{"intent_type": 3}"#, "$.intent_type", "invalid type: integer `3`, expected a string"),
        (r#"{"intent_type": "x"}"#, "$.intent_type", "expected one of chat, found \"x\""),
    ] {
        let error = Intent::parse(IntentForm::Kind, &kinds, reply, 1_000).expect_err(reply);
        assert_eq!((error.path(), error.problem()), (path, problem), "{reply}");
    }
}

/// What may stand around a verdict, the other verdict among it. `open` and `close` are what a side may
/// have of halves of thoughts without making the verdict itself a thought.
fn surroundings(halves: &'static [&'static str]) -> impl Strategy<Value = String> {
    let whole = vec![
        "So: ",
        "```json\n",
        "\n```\n",
        "{name} ",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "{\"a\": ",
        "{\"a\": \"",
        ", \"b\": 1}",
        "Y",
        "the page says Y.",
        "\"Y\"",
        "{'ok': true}",
        "{\"ok\": true}",
        "<think>Y</think>",
        "<reasoning>{\"ok\":</reasoning>",
        "`<think>",
        "한국어 ",
        "{\"ok\": true, \"reason\": \"\", ",
        "{\"tool\": \"calc\"}",
    ];
    let fragment = prop_oneof![select(whole), select(halves.to_vec())].prop_map(str::to_owned);
    let any = prop_oneof![4 => fragment, 1 => "[^YN<]{0,12}"];
    proptest::collection::vec(any, 0..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn whatever_surrounds_a_verdict_it_is_read_as_that_or_not_at_all(
        before in surroundings(&["</think>", "Y</thinking>"]),
        after in surroundings(&["<think>", "<reasoning>Y"]),
    ) {
        prop_assert_ne!(verdict(&format!("{before}N{after}")), Some(true), "{} N {}", before, after);
    }
}
