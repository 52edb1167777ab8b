//! Validator: the judgement in the form that the role is asked for, on results or on an answer.

use serde_json::{Value, json};

use super::judge::{self, judge};
use super::question::Question;
use super::request::Payload;
use super::results::Results;
use super::terms::{Vocabulary, terms};
use super::text::{clean, line};
use planwright::contract::Verdict;
use planwright::spec::RequestFrame;

/// Most characters of a reason after a reply that did not fit.
const MAX_SHORT: usize = 80;

/// The reply of the role.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Value {
    let evidence = Results::parse(&payload.records());
    let question = Question::read(payload.query(), evidence.calculated());
    let mut verdict = match payload.answer {
        Some(answer) => written(&question, answer),
        None => judge(&question, &evidence),
    };
    if payload.repair {
        verdict.reason = line(&verdict.reason, MAX_SHORT);
        verdict.fix_hint = line(&verdict.fix_hint, MAX_SHORT);
    }
    let sufficiency =
        frame.schema.as_ref().is_some_and(|schema| schema.pointer("/properties/sufficient").is_some());
    if !sufficiency {
        return json!({"ok": verdict.ok, "reason": verdict.reason, "fix_hint": verdict.fix_hint});
    }
    let missing = match verdict.ok {
        true => String::new(),
        false => missing(&question, &verdict, &payload.unexplored()),
    };
    json!({"sufficient": verdict.ok, "missing_info": missing, "reason": verdict.reason})
}

/// What is missing: the parts of the material that nobody has read and that the question names, else
/// the words that were not found.
fn missing(question: &Question, verdict: &Verdict, unexplored: &[&str]) -> String {
    let asked = question.terms();
    let speaks = |label: &&&str| Vocabulary::of(label).weight(asked.iter().copied()) > 1;
    if let Some(label) = unexplored.iter().find(speaks) {
        return line(&clean(label, 200), 120);
    }
    // The hint quotes them.
    let quoted: Vec<&str> = verdict.fix_hint.split('"').skip(1).step_by(2).collect();
    match quoted.is_empty() {
        true => question.say("anything on the question", "질문에 대한 내용").to_owned(),
        false => quoted.join(", "),
    }
}

/// Judges a written answer: whether there is one, and whether it speaks of what was asked.
fn written(question: &Question, answer: &str) -> Verdict {
    let answer = clean(answer, 40_000);
    let said = Vocabulary::of(&answer);
    let asked = question.terms();
    let (found, missing): (Vec<_>, Vec<_>) = asked.into_iter().partition(|term| said.has(term));
    let empty = answer.trim().is_empty();
    let calculated = !question.expressions.is_empty() && answer.chars().any(|c| c.is_ascii_digit());
    let names_nothing = terms(&question.text).is_empty();
    if !empty && (!found.is_empty() || calculated || names_nothing) {
        let reason =
            question.say("the answer speaks of what was asked", "답변이 질문에 대해 말하고 있습니다");
        return Verdict { ok: true, reason: reason.to_owned(), fix_hint: String::new() };
    }
    let reason = match empty {
        true => question.say("the answer is empty", "답변이 비어 있습니다"),
        false => {
            question.say("the answer does not speak of what was asked", "답변이 질문에 대해 말하지 않습니다")
        }
    };
    let named = judge::named(question, missing);
    let fix_hint = match question.korean {
        false => format!("write about {named}"),
        true => format!("{named}에 대해 쓰세요"),
    };
    Verdict { ok: false, reason: reason.to_owned(), fix_hint }
}
