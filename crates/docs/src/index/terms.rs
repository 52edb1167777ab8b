//! From text to the terms that are indexed and looked for; the same rule on both sides.
//!
//! Words of spaced scripts are one lower-case term each, and their root another. A run of Hangul, Han, kana or another
//! script whose words are not told apart by spaces alone gives every pair of neighbouring characters
//! and the whole run, so `상태기계`, `상태 기계는` and `기계를` share terms without a dictionary.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;

/// Longer words are cut, so that no text makes a term of any size.
const MAX_WORD_CHARS: usize = 64;
/// Longer runs give their pairs alone.
const MAX_RUN_CHARS: usize = 16;

/// The terms of a text with blanks between them, as SQLite indexes them.
pub(super) fn spaced_terms(text: &str) -> String {
    split_terms(text).join(" ")
}

/// The terms of a text, in order.
fn split_terms(text: &str) -> Vec<String> {
    // Compatibility composition: decomposed Hangul and full-width letters become what people type.
    let mut terms = Vec::new();
    let mut word = String::new();
    let mut run: Vec<char> = Vec::new();
    for c in text.nfkc().flat_map(char::to_lowercase) {
        if is_unspaced(c) {
            end_word(&mut word, &mut terms);
            run.push(c);
        } else if c.is_alphanumeric() {
            end_run(&mut run, &mut terms);
            word.push(c);
        } else {
            end_word(&mut word, &mut terms);
            end_run(&mut run, &mut terms);
        }
    }
    end_word(&mut word, &mut terms);
    end_run(&mut run, &mut terms);
    terms
}

/// Scripts whose words are found by pairs of characters.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
        && c.is_alphanumeric()
}

fn end_word(word: &mut String, terms: &mut Vec<String>) {
    if word.is_empty() {
        return;
    }
    let term: String = std::mem::take(word).chars().take(MAX_WORD_CHARS).collect();
    let term = if term.is_ascii() { singular(term) } else { term };
    let root = root(&term).map(str::to_owned);
    terms.push(term);
    terms.extend(root);
}

fn end_run(run: &mut Vec<char>, terms: &mut Vec<String>) {
    terms.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
    // A pair is its own whole run.
    if run.len() != 2 && !run.is_empty() && run.len() <= MAX_RUN_CHARS {
        terms.push(run.iter().collect());
    }
    run.clear();
}

/// `plans` and `plan` are one term: the rules of Harman's S-stemmer.
fn singular(mut word: String) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if word.len() <= 3 || !word.ends_with('s') {
    } else if ends(&["ies"]) {
        if !ends(&["eies", "aies"]) {
            word.truncate(word.len() - 3);
            word.push('y');
        }
    } else if ends(&["es"]) {
        if !ends(&["aes", "ees", "oes"]) {
            word.truncate(word.len() - 1);
        }
    } else if !ends(&["us", "ss"]) {
        word.truncate(word.len() - 1);
    }
    word
}

/// What `contribute`, `contributing` and `contribution` have in common, where it is not the word
/// itself. It is a term beside the word, so that the word as it is asked for still counts most.
fn root(word: &str) -> Option<&str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let ending = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    let base = ending("ation", 5)
        .or_else(|| ending("ion", 4).filter(|rest| rest.ends_with(['t', 's'])))
        .or_else(|| ending("ing", 4))
        .or_else(|| ending("ed", 4))
        .unwrap_or(word);
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 4).unwrap_or(base);
    let base = base.strip_suffix("at").filter(|rest| rest.len() >= 5).unwrap_or(base);
    // `planning` and `plan`.
    let bytes = base.as_bytes();
    let doubled = matches!(bytes, [.., one, other] if one == other && !b"aeiouls".contains(one));
    let base = if doubled && base.len() > 4 { &base[..base.len() - 1] } else { base };
    (base.len() < word.len()).then_some(base)
}

/// Words of a question that say nothing of what it is about.
const EMPTY_WORDS: &str =
    "a about an and are as at be by can could did do does for from had has have how i in is it its me my of on or
    our should that the their there these this to was we were what when where which who why will with would you
    your doe";

/// The different terms of a query, at most this many, without empty words unless there are no others.
pub(super) fn query_terms(query: &str, most: usize) -> Vec<String> {
    let mut terms = split_terms(query);
    let is_empty = |term: &String| EMPTY_WORDS.split_whitespace().any(|word| word == term);
    if !terms.iter().all(is_empty) {
        terms.retain(|term| !is_empty(term));
    }
    let mut seen = HashSet::new();
    terms.retain(|term| seen.insert(term.clone()));
    terms.truncate(most);
    terms
}
