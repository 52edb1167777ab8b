//! Arithmetic in a question: what is said in words becomes an expression; fend knows the units.
//!
//! Numbers that are not meant for it are left alone: dates, versions, phone numbers, names such as
//! `GPT-4`, and `24/7` or `10-15` unless nothing else is asked. An expression without a value is found too:
//! `calc` says why it has none.

mod rewrite;
mod run;

use std::sync::LazyLock;

use regex_lite::Regex;

use super::lexicon::table;
use super::terms::terms;
use rewrite::{CUE, regex, rewrite};
use run::{Run, evaluates, look_alikes, read_run};

const MAX_EXPRESSIONS: usize = 3;
const MAX_QUESTION_CHARS: usize = 600;
const MAX_CHARS: usize = 300;

/// Stands where an expression stood. Not in the question: control characters are taken out before.
pub(super) const MARK: char = '\u{1}';

/// A question, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// What `calc` can work out, in the question's order.
    pub expressions: Vec<String>,
    /// The question with a [`MARK`] in the place of each expression.
    pub rest: String,
}

static CLAUSE_END: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[?!;,\n]|\.(?:\s|$)|\b(?:and|then)\b|그리고|얼마고|이고"));

pub(super) fn find(question: &str) -> Found {
    let end = question.char_indices().nth(MAX_QUESTION_CHARS).map_or(question.len(), |(at, _)| at);
    let (question, behind) = question.split_at(end);
    let text = rewrite(question);
    let look_alikes = look_alikes(&text);
    let mut found = Found::default();
    let (mut at, mut kept) = (0, 0);
    while at < text.len() && found.expressions.len() < MAX_EXPRESSIONS {
        let fits = |run: &Run| {
            // A word right behind it could belong to it.
            let whole = !text[run.end..].trim_start().starts_with(|c: char| c.is_ascii_alphanumeric());
            run.text.chars().count() <= MAX_CHARS
                && (run.certain || asks_for_value(&text, at, run.end))
                && (whole || evaluates(&run.text))
        };
        let Some(run) = read_run(&text, at, &look_alikes).filter(fits) else {
            at = next_start(&text, at);
            continue;
        };
        found.rest.push_str(&text[kept..at]);
        found.rest.extend([' ', MARK, ' ']);
        found.expressions.push(run.text);
        (at, kept) = (run.end, run.end);
    }
    found.rest.push_str(&text[kept..]);
    found.rest = if found.expressions.is_empty() { question.to_owned() } else { without_cues(&found.rest) };
    found.rest.push_str(behind);
    found
}

/// Whether a text is an expression and nothing else.
pub(super) fn is_expression(text: &str) -> bool {
    let found = find(text);
    let alone = found.rest.trim().trim_matches(MARK).is_empty();
    let signs = text.contains(['+', '-', '*', '/', '^', '%', '!', '(']) || text.contains(" in ");
    let digits = text.contains(|c: char| c.is_ascii_digit());
    found.expressions.len() == 1 && alone || signs && digits && evaluates(text)
}

/// The place behind `at` where the next expression may begin.
fn next_start(text: &str, at: usize) -> usize {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let mut before = text[at..].chars().next();
    for (place, c) in text[at..].char_indices().skip(1) {
        let word = c.is_ascii_alphabetic() && !before.is_some_and(|c| c.is_alphanumeric());
        if c == '(' || c == '-' || word || digit(Some(c)) && !digit(before) {
            return at + place;
        }
        before = Some(c);
    }
    text.len()
}

/// Whether the clause asks for the value of `start..end` and for nothing else, or says so.
fn asks_for_value(text: &str, start: usize, end: usize) -> bool {
    let before = CLAUSE_END.find_iter(&text[..start]).last().map_or(0, |found| found.end());
    let behind = CLAUSE_END.find(&text[end..]).map_or(text.len(), |found| end + found.start());
    let around = [&text[before..start], &text[end..behind]];
    let only_asks = |part: &&str| terms(part).iter().all(|term| table("measures").has(&term.text));
    around.iter().any(|part| CUE.is_match(part)) || around.iter().all(only_asks)
}

/// Takes the words that only asked for a value out of the clauses with an expression.
fn without_cues(text: &str) -> String {
    let mut from = 0;
    let bounds = CLAUSE_END.find_iter(text).map(|end| end.end()).chain([text.len()]);
    let clauses = bounds.map(|to| &text[std::mem::replace(&mut from, to)..to]);
    clauses
        .map(|clause| if clause.contains(MARK) { CUE.replace_all(clause, " ") } else { clause.into() })
        .collect()
}
