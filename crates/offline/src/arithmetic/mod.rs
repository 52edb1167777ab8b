//! Arithmetic in a question: what is said in words becomes an expression.
//!
//! Numbers that are not meant for it are left alone: dates, versions, phone numbers, names such as
//! `GPT-4`, and `24/7` or `10-15` unless nothing else is asked. An expression without a value is found too:
//! `calc` says why it has none.

mod rewrite;
mod run;

use std::sync::LazyLock;

use planwright::contract::first_chars;
use regex_lite::Regex;

use super::lexicon::table;
use super::terms::terms;
use rewrite::{CUE, TABLES, regex, rewrite};
use run::find_runs;

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

static CLAUSE_END: LazyLock<Regex> = LazyLock::new(|| regex(&TABLES.clause_end));
/// What cannot be worked out, with the key of what is said: what no document says either, and what one may say.
static DECLINED: LazyLock<[Vec<(Regex, &str)>; 2]> = LazyLock::new(|| {
    let read = |(pattern, key): &'static (String, String)| (regex(pattern), key.as_str());
    [&TABLES.beyond, &TABLES.declined].map(|list| list.iter().map(read).collect())
});

pub(super) fn find(question: &str) -> Found {
    let (question, behind) = question.split_at(first_chars(question, MAX_QUESTION_CHARS).len());
    let text = rewrite(question);
    let mut found = Found::default();
    let mut kept = 0;
    for run in find_runs(&text) {
        let fits = run.text.chars().count() <= MAX_CHARS
            && run.start >= kept
            && (run.certain || asks_for_value(&text, run.start, run.end));
        if !fits || found.expressions.len() == MAX_EXPRESSIONS {
            continue;
        }
        found.rest.extend([&text[kept..run.start], " \u{1} "]);
        found.expressions.push(run.text);
        kept = run.end;
    }
    found.rest.push_str(&text[kept..]);
    found.rest = if found.expressions.is_empty() { question.to_owned() } else { without_cues(&found.rest) };
    found.rest.push_str(behind);
    found
}

/// Why a question asks for what arithmetic cannot do (dates, rates of exchange), as the key of what is said:
/// whatever the documents say, or unless they say it.
pub(super) fn declines(question: &str) -> [Option<&'static str>; 2] {
    let question = first_chars(question, MAX_QUESTION_CHARS);
    let why = |(asks, key): &(Regex, &'static str)| asks.is_match(question).then_some(*key);
    DECLINED.each_ref().map(|list| list.iter().find_map(why))
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
