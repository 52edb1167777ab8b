//! Intent: what the user wants, in the form that the role is asked for.
//!
//! The kind is told by cues, never by meaning; which kinds there are is what the schema says.

use serde_json::{Value, json};

use super::body;
use super::cues;
use super::duties::{Duty, leave_the_subject, mentions};
use super::question::Question;
use super::recall::{constraints, standalone};
use super::request::Payload;
use super::terms::{query, terms};
use super::text::{clean, is_hangul, line};
use planwright::spec::RequestFrame;

/// Most characters of a question that is passed on.
const MAX_QUERY: usize = 2_000;
/// Most characters of the subject in a phrase.
const MAX_SUBJECT: usize = 80;

/// The reply of the role.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> String {
    let text = clean(payload.question, 8_000).trim().to_owned();
    let field = |name: &str| frame.schema.as_ref()?.pointer(&format!("/properties/{name}"));
    if let Some(kind) = field("intent_type") {
        return kinds_reply(&text, &kinds(kind)).to_string();
    }
    match field("intent") {
        Some(kind) => query_reply(&text, payload, &kinds(kind)).to_string(),
        None => phrase(&text),
    }
}

fn kinds(schema: &Value) -> Vec<&str> {
    let names = schema.get("enum").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The first of the kinds with one of these words in it; where any kind will do, the first word.
fn pick<'a>(kinds: &[&'a str], words: &[&'a str]) -> Option<&'a str> {
    if kinds.is_empty() {
        return words.first().copied();
    }
    let holds = |word: &&str| kinds.iter().find(|kind| kind.to_lowercase().contains(*word)).copied();
    words.iter().find_map(holds)
}

/// `{intent, rewritten_query, needs_tool, constraints}`.
fn query_reply(text: &str, payload: &Payload<'_>, kinds: &[&str]) -> Value {
    let history = payload.history();
    let plain = || line(text, MAX_QUERY);
    let new = pick(kinds, &["new_question", "new", "question"])
        .or(kinds.first().copied())
        .unwrap_or("new_question");
    let said = |kind: &str, query: String, needs_tool: bool, constraints: Option<String>| json!({"intent": kind, "rewritten_query": query, "needs_tool": needs_tool, "constraints": constraints});
    if cues::small_talk(text).is_some() {
        let kind = pick(kinds, &["chitchat", "chat", "small", "greet"]).unwrap_or(new);
        return said(kind, plain(), false, None);
    }
    if body::read(text).is_some() {
        return said(new, plain(), false, None);
    }
    if history.iter().any(|turn| turn.user) && cues::refers(text) {
        let words: &[&str] = match asks_to_clarify(text) {
            true => &["clarification", "clarif", "follow"],
            false => &["follow_up", "follow"],
        };
        let kind = pick(kinds, words).unwrap_or(new);
        return said(kind, standalone(text, &history), true, constraints(&history));
    }
    said(new, plain(), true, None)
}

/// Whether a text asks what an earlier answer meant.
fn asks_to_clarify(text: &str) -> bool {
    const CLARIFY: [&str; 14] = [
        "무슨 말",
        "무슨 뜻",
        "무슨 의미",
        "예시",
        "예를 들",
        "다시 설명",
        "쉽게",
        "이해가",
        "what do you mean",
        "example",
        "explain again",
        "in other words",
        "clarify",
        "simpler",
    ];
    let lower = text.to_lowercase();
    CLARIFY.iter().any(|cue| lower.contains(cue))
}

/// `{intent_type, confidence}`: by the work that is asked for.
fn kinds_reply(text: &str, kinds: &[&str]) -> Value {
    let (kind, confidence) = sorted(text, kinds);
    json!({"intent_type": kind, "confidence": confidence})
}

fn sorted<'a>(text: &str, kinds: &[&'a str]) -> (&'a str, f64) {
    let open = |kind: &&&str| !is_closed(kind);
    let first = kinds.iter().find(open).copied().or(kinds.first().copied()).unwrap_or("search");
    if cues::small_talk(text).is_some() {
        let kind = pick(kinds, &["chitchat", "chat", "greet", "unclear", "irrelevant"]);
        return (kind.unwrap_or(first), 0.9);
    }
    if is_unclear(text) {
        return (pick(kinds, &["unclear", "unknown", "irrelevant"]).unwrap_or(first), 0.8);
    }
    let asked = Duty::asked(text);
    let beside_search: Vec<Duty> = asked.iter().copied().filter(|duty| *duty != Duty::Search).collect();
    if beside_search.len() > 1
        && let Some(kind) =
            kinds.iter().find(|kind| mentions(&spaced(kind), &["comprehensive", "complex", "multi", "종합"]))
    {
        return (kind, 0.7);
    }
    // A kind that the question names beats one that its work suggests.
    let lower = text.to_lowercase();
    let named = kinds.iter().filter(open).find(|kind| {
        let kind = spaced(kind);
        kind.split(' ').any(|word| word.chars().nth(2).is_some() && mentions(&lower, &[word]))
    });
    if let Some(kind) = named {
        return (kind, 0.9);
    }
    let by_work = beside_search.iter().rev().chain([&Duty::Search]).find_map(|duty| {
        let kind = kinds.iter().filter(open).find(|kind| mentions(&spaced(kind), duty.kinds()))?;
        Some((*kind, if asked.contains(duty) { 0.8 } else { 0.6 }))
    });
    by_work.unwrap_or((first, 0.5))
}

fn spaced(kind: &str) -> String {
    kind.to_lowercase().replace(['_', '-'], " ")
}

/// Whether a kind says that nothing is to be done.
fn is_closed(kind: &str) -> bool {
    mentions(&spaced(kind), &["unclear", "irrelevant", "unknown", "chitchat", "greet", "other"])
}

/// Whether a text names nothing that could be worked on.
fn is_unclear(text: &str) -> bool {
    let calculates = !Question::read(text, true).expressions.is_empty();
    !calculates && !terms(text).iter().any(|term| term.weight > 1) && !cues::names_an_article(text)
}

/// What is wanted, as a short phrase: the work, and on what.
fn phrase(text: &str) -> String {
    let korean = text.chars().any(is_hangul);
    let say = |english: &str, hangul: &str| (if korean { hangul } else { english }).to_owned();
    if cues::small_talk(text).is_some() {
        return say("small talk", "인사나 잡담");
    }
    if body::read(text).is_some() {
        return say("a text to work on", "글을 다루는 요청");
    }
    let mut question = Question::read(text, true);
    if let [expression, ..] = question.expressions.as_slice() {
        return line(&format!("{}: {expression}", say("calculation", "계산")), 2 * MAX_SUBJECT);
    }
    if is_unclear(text) {
        return say("an unclear request", "분명하지 않은 요청");
    }
    leave_the_subject(&mut question);
    let subject = query(question.terms(), MAX_SUBJECT);
    let mut asked = Duty::asked(text);
    // A report is a written text already.
    asked.retain(|duty| *duty != Duty::Writing);
    if asked.is_empty() {
        asked.push(Duty::Search);
    }
    let work: Vec<&str> = asked.iter().map(|duty| duty.noun(korean)).collect();
    match korean {
        false => format!("{} on {subject}", work.join(" and ")),
        true => format!("{subject}에 대한 {}", work.join(", ")),
    }
}
