//! A person who decides sees what it is about: nothing that a model, a tool or a plan says moves the cursor,
//! erases a line or turns the direction of writing. Words and pictures of every language stay as they are.

use crate::stage;

use planwright::contract::{ToolContract, sanitize};
use planwright::driver::Agent;
use planwright::journal::ThreadId;
use planwright::spec::{Approval, Spec};
use proptest::prelude::*;
use serde_json::json;

use stage::{Calls, asked, echoing, model, spec};

/// Reads as `ls -l` and something in red where a terminal does as it is told.
const FORGED: &str = "rm -rf /\u{1b}[2K\rls -l\u{202e}txt.\u{2066}\u{9b}31m";
const SEEN: &str = r"rm -rf /\u{1b}[2K\u{d}ls -l\u{202e}txt.\u{2066}\u{9b}31m";
/// Korean in letters and in jamo, an emoji of three people and two joiners, a letter with its mark apart.
const WORDS: &str = "한국어 \u{1112}\u{1161}\u{11ab} 👨‍👩‍👧 e\u{301} می‌خواهم שלום 日本語";

fn needing(approval: Approval) -> Spec {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = approval;
    for tool in &mut spec.tools {
        *tool = ToolContract { needs_approval: true, ..tool.clone() };
    }
    spec
}

/// What a run asks a person of which the plan calls `find` with this input.
fn question(approval: Approval, steps: &serde_json::Value) -> String {
    let mut steps = steps.as_array().unwrap().clone();
    steps.push(json!({"tool": "final_answer", "input": "답"}));
    let script = model([json!({"goal": "g", "steps": steps}).to_string()]);
    let agent: Agent = echoing(needing(approval), &script, &Calls::default()).build().unwrap();
    agent.job(asked("질문?")).run().unwrap().waiting().unwrap().question.clone()
}

#[track_caller]
fn shows(question: &str, what: &str) {
    assert!(question.contains(what), "{question:?}");
    assert_eq!(question, sanitize(question), "nothing is left that acts on a screen");
    assert_eq!(sanitize("two\r\nlines 👩\u{200d}💻\r"), "two\nlines 👩\u{200d}💻");
}

#[test]
fn question_shows_what_the_call_and_the_plan_are() {
    let plan = Approval { plan: true, ..Approval::default() };
    let risky = Approval { risky: true, ..Approval::default() };
    for (said, seen) in [(FORGED, SEEN), (WORDS, WORDS)] {
        let call = json!([{"tool": "find", "input": said}]);
        shows(&question(risky, &call), seen);
        // A plan shows a step a line.
        shows(&question(plan, &call), &seen.replace(r"\u{d}", " "));
        shows(&question(Approval::STEPS, &json!([{"tool": "hitl", "hitl_question": said}])), seen);
    }
}

#[test]
fn approval_is_of_the_very_call_and_not_of_how_it_is_shown() {
    let risky = Approval { risky: true, ..Approval::default() };
    let token = |input: &str| {
        let plan = json!({"goal": "g", "steps": [
            {"tool": "find", "input": input}, {"tool": "final_answer", "input": "답"}]});
        let agent = echoing(needing(risky), &model([plan.to_string()]), &Calls::default()).build().unwrap();
        let run = agent.job(asked("질문?")).run().unwrap();
        let mut folded = planwright::journal::fold(run.records().to_vec()).unwrap();
        folded.run = "one".to_owned();
        (run.waiting().unwrap().question.clone(), planwright::driver::token(&folded).unwrap())
    };
    let (raw, written) = (token("a\u{202e}b"), token(r"a\u{202e}b"));
    assert_eq!(raw.0, written.0, "they are shown alike");
    assert_ne!(raw.1, written.1, "and are not the same call");
    assert_eq!(raw, token("a\u{202e}b"));
}

#[test]
fn thread_has_no_name_that_is_not_what_it_looks_like() {
    for name in ["보고서\u{202e}", "a\u{200f}b", "\u{2066}x", "a\u{1b}[31m", "a\u{9b}b", "a\nb"] {
        assert!(name.parse::<ThreadId>().is_err_and(|problem| problem == sanitize(&problem)), "{name:?}");
    }
    assert_eq!(WORDS.parse::<ThreadId>().unwrap().as_str(), WORDS);
}

#[test]
fn what_shows_nothing_of_its_own_stays_only_where_it_changes_what_is_before_it() {
    for kept in [
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "👩\u{200d}❤\u{fe0f}\u{200d}👩",
        "می\u{200c}خواهم",
        "각",
        "全\u{3000}角",
        "café",
    ] {
        assert_eq!(sanitize(kept), kept);
    }
    let hidden = [
        '\u{34f}',
        '\u{17b4}',
        '\u{180e}',
        '\u{206a}',
        '\u{2800}',
        '\u{fe00}',
        '\u{fff9}',
        '\u{1bca0}',
        '\u{1d173}',
        '\u{e0041}',
        '\u{e0100}',
        '\u{e000}',
        '\u{fdd0}',
        '\u{1ffff}',
        '\u{100000}',
    ];
    for c in hidden {
        assert_eq!(sanitize(&format!("a{c}b")), format!("a{}b", c.escape_unicode()), "{c:?}");
    }
    assert_eq!(sanitize("a\u{fe0f}\u{200d}"), "a\\u{fe0f}\\u{200d}", "behind a letter that has one form");
    assert_eq!(sanitize("❤\u{fe0f}\u{fe0e}\u{fe0f}"), "❤\u{fe0f}\\u{fe0e}\\u{fe0f}", "a row of them");
}

proptest! {
    #[test]
    fn whatever_is_said_is_legible_and_all_there(text in "(?s).{0,40}") {
        let shown = sanitize(&text);
        let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
        prop_assert!(!shown.contains(hidden), "{shown:?}");
        prop_assert_eq!(sanitize(&shown), shown.clone(), "what is shown is shown so again");
        let kept = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        prop_assert!(kept(&shown) >= kept(&text));
    }
}
