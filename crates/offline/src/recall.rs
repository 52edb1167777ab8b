//! Recall: whether a question goes on from earlier turns, and what of them it keeps.

use serde_json::{Value, json};

use super::cues;
use super::duties::mentions;
use super::request::{Payload, Turn};
use super::terms::{Term, terms};
use super::text::{clean, is_hangul, line};

/// Most terms that are taken over from earlier turns.
const MAX_TERMS: usize = 12;
/// Most characters of a question made to stand alone.
const MAX_QUERY: usize = 400;
/// Most characters of what earlier turns demand.
const MAX_CONSTRAINTS: usize = 200;

/// The reply of the role that says whether earlier turns matter.
pub(super) fn reply(payload: &Payload<'_>) -> Value {
    let question = clean(payload.question, 4_000);
    let korean = question.chars().any(is_hangul);
    let earlier = payload.history();
    let (needed, english, hangul) = match (earlier.is_empty(), cues::refers(&question)) {
        (true, _) => (false, "there is no earlier turn", "이전 대화가 없습니다"),
        (false, true) => (true, "the question points to an earlier turn", "질문이 이전 대화를 가리킵니다"),
        (false, false) => (false, "the question stands alone", "질문만으로 뜻이 분명합니다"),
    };
    json!({"need_previous_context": needed, "reason": if korean { hangul } else { english }})
}

/// The user's turns that a question goes on from, oldest first: back to the one that stands alone.
fn gone_on_from(history: &[Turn]) -> Vec<&Turn> {
    let mut turns = Vec::new();
    for turn in history.iter().rev().filter(|turn| turn.user && cues::small_talk(&turn.text).is_none()) {
        turns.push(turn);
        if !cues::refers(&turn.text) {
            break;
        }
    }
    turns.reverse();
    turns
}

/// A follow-up made to stand alone: what the earlier turns were about, then the question.
pub(super) fn standalone(question: &str, history: &[Turn]) -> String {
    let own = terms(question);
    let mut kept: Vec<Term> = Vec::new();
    for term in gone_on_from(history).into_iter().flat_map(|turn| terms(&turn.text)) {
        let known = |list: &[Term]| list.iter().any(|one| one.text == term.text);
        if !known(&own) && !known(&kept) && kept.len() < MAX_TERMS {
            kept.push(term);
        }
    }
    let question = line(question, MAX_QUERY);
    if kept.is_empty() {
        return question;
    }
    let words: Vec<&str> = kept.iter().map(|term| term.text.as_str()).collect();
    line(&format!("{}: {question}", words.join(" ")), MAX_QUERY)
}

/// What earlier turns demand of any answer: their clauses that restrict, word for word.
pub(super) fn constraints(history: &[Turn]) -> Option<String> {
    const RESTRICT: [&str; 36] = [
        "알레르기",
        "알러지",
        "빼고",
        "제외",
        "없이",
        "말고",
        "이하",
        "이상",
        "이내",
        "미만",
        "까지",
        "근처",
        "채식",
        "안전한",
        "예산",
        "반드시",
        "꼭",
        "못 먹",
        "allerg",
        "without",
        "except",
        "exclud",
        "under",
        "below",
        "within",
        "at most",
        "at least",
        "no more than",
        "only",
        "vegetarian",
        "vegan",
        "gluten",
        "budget",
        "near",
        "must",
        "avoid",
    ];
    let mut found: Vec<String> = Vec::new();
    for turn in gone_on_from(history) {
        for clause in turn.text.split(['.', '!', '?', ',', ';', '\n']) {
            let clause = line(clause, 120);
            if mentions(&clause.to_lowercase(), &RESTRICT) && !found.contains(&clause) {
                found.push(clause);
            }
        }
    }
    (!found.is_empty()).then(|| line(&found.join(", "), MAX_CONSTRAINTS))
}
