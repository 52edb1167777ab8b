//! Intake: whether a question has to do with the material at hand, whether it goes on from earlier turns, and
//! what the user wants. All of it is told by cues, never by meaning.

use serde_json::{Value, json};

use super::lexicon::{Duty, Words, say, table};
use super::payload::Payload;
use super::question::Question;
use super::talk;
use super::terms::{Term, Vocabulary, query, terms};
use super::text::{clean, is_korean, line};
use planwright::spec::RequestFrame;

const MAX_NAMED: usize = 2;
const MAX_TERMS: usize = 12;
const MAX_QUERY_CHARS: usize = 2_000;
const MAX_STANDALONE: usize = 400;
const MAX_CONSTRAINTS_CHARS: usize = 200;
const MAX_SUBJECT_CHARS: usize = 80;

/// Whether a question is in scope. An outline does not tell all, so only what is elsewhere is turned away.
pub(super) fn scope(payload: &Payload<'_>) -> Value {
    let question = clean(payload.question, 4_000);
    let outline = payload.labels("outline");
    let korean = is_korean(&question);
    let may_be_told = outline.is_empty()
        || !table("elsewhere").are_in(&question.to_lowercase())
        || !talk::articles(&question).is_empty()
        || talk::refers(&question)
        || Vocabulary::of(&outline.join("\n")).weight(&terms(&question)) > 0;
    if may_be_told {
        return json!({"in_scope": true, "reason": say("only_a_search_tells", korean), "refusal": ""});
    }
    let labels = outline.iter().take(MAX_NAMED).map(|label| line(&clean(label, 200), 60));
    let labels = labels.collect::<Vec<String>>().join(", ");
    let (reason, refusal) = (say("no_common_word", korean), say("out_of_scope", korean));
    json!({"in_scope": false, "reason": reason, "refusal": refusal.replace("{}", &labels)})
}

pub(super) fn previous_context(payload: &Payload<'_>) -> Value {
    let question = clean(payload.question, 4_000);
    let needed = !payload.turns().is_empty() && talk::refers(&question);
    let reason = if needed { "points_to_an_earlier_turn" } else { "the_question_stands_alone" };
    json!({"need_previous_context": needed, "reason": say(reason, is_korean(&question))})
}

/// The turns that a question goes on from, oldest first: back to the one that stands alone.
fn turns_before(turns: &[String]) -> &[String] {
    &turns[turns.iter().rposition(|turn| !talk::refers(turn)).unwrap_or(0)..]
}

/// A follow-up made to stand alone: what the earlier turns were about, then the question.
fn standalone(question: &str, turns: &[String]) -> String {
    let own = terms(question);
    let mut kept: Vec<Term> = Vec::new();
    for term in turns_before(turns).iter().flat_map(|turn| terms(turn)) {
        if own.iter().chain(&kept).all(|known| known.text != term.text) && kept.len() < MAX_TERMS {
            kept.push(term);
        }
    }
    let question = line(question, MAX_STANDALONE);
    match kept.is_empty() {
        true => question,
        false => line(&format!("{}: {question}", query(&kept, MAX_STANDALONE)), MAX_STANDALONE),
    }
}

/// What earlier turns demand of any answer: their clauses that restrict, word for word.
fn constraints(turns: &[String]) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    let clauses = turns_before(turns).iter().flat_map(|turn| turn.split(['.', '!', '?', ',', ';', '\n']));
    for clause in clauses.map(|clause| line(clause, 120)) {
        if table("restrict").are_in(&clause.to_lowercase()) && !found.contains(&clause) {
            found.push(clause);
        }
    }
    (!found.is_empty()).then(|| line(&found.join(", "), MAX_CONSTRAINTS_CHARS))
}

/// The reply of the role that says what the user wants, in the form that its schema asks for.
pub(super) fn intent(frame: &RequestFrame, payload: &Payload<'_>) -> String {
    let text = clean(payload.question, 8_000).trim().to_owned();
    let kinds = |name: &str| {
        let field = frame.schema.as_ref()?.pointer(&format!("/properties/{name}"))?;
        let names = field.get("enum").and_then(Value::as_array).into_iter().flatten();
        Some(names.filter_map(Value::as_str).collect::<Vec<&str>>())
    };
    if let Some(kinds) = kinds("intent_type") {
        let (kind, confidence) = kind_of(&text, &kinds);
        return json!({"intent_type": kind, "confidence": confidence}).to_string();
    }
    match kinds("intent") {
        Some(kinds) => query_intent(&text, payload, &kinds).to_string(),
        None => phrase(&text),
    }
}

/// The first of the kinds with one of these words in it; if there are none, the first word.
fn pick<'a>(kinds: &[&'a str], words: &'a str) -> Option<&'a str> {
    let mut words = words.split_whitespace();
    if kinds.is_empty() {
        return words.next();
    }
    words.find_map(|word| kinds.iter().find(|kind| kind.to_lowercase().contains(word)).copied())
}

fn query_intent(text: &str, payload: &Payload<'_>, kinds: &[&str]) -> Value {
    let mut turns = payload.turns();
    turns.retain(|turn| talk::small_talk(turn).is_none());
    let new = pick(kinds, "new_question new question").or(kinds.first().copied()).unwrap_or("new_question");
    let (mut kind, mut rewritten, mut demanded) = (new, line(text, MAX_QUERY_CHARS), None);
    let talk = talk::small_talk(text).is_some();
    let needs_tool = !talk && talk::handed_over(text).is_none();
    if talk {
        kind = pick(kinds, "chitchat chat small greet").unwrap_or(new);
    } else if needs_tool && !turns.is_empty() && talk::refers(text) {
        let unclear = table("clarify").are_in(&text.to_lowercase());
        let words = if unclear { "clarification clarif follow" } else { "follow_up follow" };
        kind = pick(kinds, words).unwrap_or(new);
        (rewritten, demanded) = (standalone(text, &turns), constraints(&turns));
    }
    json!({"intent": kind, "rewritten_query": rewritten, "needs_tool": needs_tool, "constraints": demanded})
}

/// The kind by the work that is asked for, and how sure that is.
fn kind_of<'a>(text: &str, kinds: &[&'a str]) -> (&'a str, f64) {
    let spaced = |kind: &str| kind.to_lowercase().replace(['_', '-'], " ");
    // A kind may say that nothing is to be done.
    let is_open = |kind: &&&str| !table("closed_kinds").are_in(&spaced(kind));
    let open: Vec<&str> = kinds.iter().filter(is_open).copied().collect();
    let first = open.first().or(kinds.first()).copied().unwrap_or("search");
    if talk::small_talk(text).is_some() {
        return (pick(kinds, "chitchat chat greet unclear irrelevant").unwrap_or(first), 0.9);
    }
    if is_unclear(text) {
        return (pick(kinds, "unclear unknown irrelevant").unwrap_or(first), 0.8);
    }
    let mut work = Duty::asked(text);
    work.retain(|duty| *duty != Duty::Search);
    let several = kinds.iter().find(|kind| table("manifold_kinds").are_in(&spaced(kind)));
    // A kind that the question names beats one that its work suggests.
    let lower = text.to_lowercase();
    let long = |word: &&str| word.chars().nth(2).is_some();
    let names = |kind: &&&str| {
        let words: Vec<String> = spaced(kind).split(' ').filter(long).map(str::to_owned).collect();
        Words::from(words.join(" ")).are_in(&lower)
    };
    let does = |duty: &Duty| open.iter().find(|kind| duty.is_kind(&spaced(kind)));
    let by_work = || work.iter().rev().chain([&Duty::Search]).find_map(does);
    let kind = several.filter(|_| work.len() > 1).or_else(|| open.iter().find(names)).or_else(by_work);
    kind.map_or((first, 0.5), |kind| (kind, 0.8))
}

fn is_unclear(text: &str) -> bool {
    let calculates = !Question::parse(text, true).expressions.is_empty();
    !calculates && !terms(text).iter().any(|term| term.weight > 1) && talk::articles(text).is_empty()
}

fn phrase(text: &str) -> String {
    let question = Question::parse(text, true);
    let key = match question.expressions.first() {
        _ if talk::small_talk(text).is_some() => Some("small_talk"),
        _ if talk::handed_over(text).is_some() => Some("a_text_to_work_on"),
        Some(expression) => {
            return line(&question.tell("calculation", expression), 2 * MAX_SUBJECT_CHARS);
        }
        None => is_unclear(text).then_some("an_unclear_request"),
    };
    if let Some(key) = key {
        return question.say(key).to_owned();
    }
    // A report is a written text already.
    let mut asked = Duty::asked(text);
    asked.retain(|duty| *duty != Duty::Writing);
    if asked.is_empty() {
        asked.push(Duty::Search);
    }
    let work: Vec<&str> = asked.iter().map(|duty| duty.noun(question.korean)).collect();
    let question = question.without_work();
    let subject = query(question.terms(), MAX_SUBJECT_CHARS);
    match question.korean {
        false => format!("{} on {subject}", work.join(" and ")),
        true => format!("{subject}에 대한 {}", work.join(", ")),
    }
}
