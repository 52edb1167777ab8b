//! Terms: what is looked up of a text. Words of spaced scripts are one lower-case term each, and their root another.
//! A run of Hangul, Han, kana or another script whose words are not told apart by spaces alone gives every pair of
//! neighbouring characters and the whole run, so `상태기계`, `상태 기계는` and `기계를` share terms without a
//! dictionary.

use std::borrow::Cow;
use std::collections::HashSet;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Longer words are cut, so that no text makes a term of any size.
const MAX_WORD_CHARS: usize = 64;
/// Longer runs give their pairs alone.
const MAX_RUN_CHARS: usize = 16;
const MAX_QUERY_TERMS: usize = 64;

/// Appends the terms of a text, a blank before each. No term and no composed character reaches across a blank.
pub(crate) fn push_terms(text: &str, terms: &mut String) {
    let mut lower = String::new();
    for piece in text.split_ascii_whitespace() {
        lower.clear();
        if piece.is_ascii() {
            lower.push_str(piece);
            lower.make_ascii_lowercase();
            let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            words.for_each(|word| push_word(word, terms));
            continue;
        }
        // Compatibility composition: decomposed Hangul and full-width letters become what people type.
        match is_nfkc_quick(piece.chars().filter(needs_a_look)) {
            IsNormalized::Yes => lower.extend(piece.chars().flat_map(char::to_lowercase)),
            _ => lower.extend(piece.nfkc().flat_map(char::to_lowercase)),
        }
        push_runs(&lower, terms);
    }
}

fn push_runs(text: &str, terms: &mut String) {
    let (mut start, mut of) = (0, None);
    for (at, c) in text.char_indices() {
        let script = script(c);
        if script != of {
            push_run(&text[start..at], of, terms);
            (start, of) = (at, script);
        }
    }
    push_run(&text[start..], of, terms);
}

/// Whether a character may be written in more than one way or be part of another. Characters that are not and that
/// combine with nothing before them can be left out of a check.
pub(crate) fn needs_a_look(c: &char) -> bool {
    !c.is_ascii() && !matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{4e00}'..='\u{9fff}')
}

/// Appends the terms of characters of one script.
fn push_run(run: &str, script: Option<Script>, terms: &mut String) {
    match script {
        Some(Script::Spaced) => push_word(run, terms),
        Some(Script::Unspaced) => {
            let ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
            let pairs = run.char_indices().zip(ends.skip(1));
            pairs.for_each(|((start, _), end)| push(&run[start..end], terms));
            // A pair is its own whole run.
            let length = run.chars().count();
            if length != 2 && length <= MAX_RUN_CHARS {
                push(run, terms);
            }
        }
        None => {}
    }
}

fn push_word(word: &str, terms: &mut String) {
    let is_long = word.len() > MAX_WORD_CHARS;
    let end = if is_long { word.char_indices().nth(MAX_WORD_CHARS) } else { None };
    let term = singular(&word[..end.map_or(word.len(), |(at, _)| at)]);
    push(&term, terms);
    if let Some(root) = root(&term) {
        push(root, terms);
    }
}

fn push(term: &str, terms: &mut String) {
    terms.push(' ');
    terms.push_str(term);
}

/// How words are told apart: by spaces, or by pairs of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    Unspaced,
}

fn script(c: char) -> Option<Script> {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric().then_some(Script::Spaced);
    }
    let is_unspaced = matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    c.is_alphanumeric().then_some(if is_unspaced { Script::Unspaced } else { Script::Spaced })
}

/// `plans` and `plan` are one term: the rules of Harman's S-stemmer.
fn singular(word: &str) -> Cow<'_, str> {
    if !matches!(word.as_bytes(), [.., b's']) {
        return Cow::Borrowed(word);
    }
    let (ending, put, but): (_, _, &[&str]) = match word.ends_with("ies") {
        true => ("ies", "y", &["eies", "aies"]),
        false => ("s", "", &["aes", "ees", "oes", "us", "ss"]),
    };
    let kept = word.len() <= 3 || !word.is_ascii() || but.iter().any(|but| word.ends_with(but));
    match word.strip_suffix(ending).filter(|_| !kept) {
        Some(stem) if put.is_empty() => Cow::Borrowed(stem),
        Some(stem) => Cow::Owned(format!("{stem}{put}")),
        None => Cow::Borrowed(word),
    }
}

/// What `contribute` and `contribution` have in common: a term beside the word, so that the word counts most.
fn root(word: &str) -> Option<&str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let bytes = word.as_bytes();
    let mut end = match bytes {
        [stem @ .., b'a', b't', b'i', b'o', b'n'] if stem.len() >= 5 => stem.len(),
        [stem @ .., b't' | b's', b'i', b'o', b'n'] if stem.len() >= 3 => stem.len() + 1,
        [stem @ .., b'i', b'n', b'g'] if stem.len() >= 4 => stem.len(),
        [stem @ .., b'e', b'd'] if stem.len() >= 4 => stem.len(),
        _ => bytes.len(),
    };
    if end > 4 && bytes[end - 1] == b'e' {
        end -= 1;
    }
    if end > 6 && bytes[..end].ends_with(b"at") {
        end -= 2;
    }
    // `planning` and `plan`.
    if end > 4 && bytes[end - 1] == bytes[end - 2] && !b"aeiouls".contains(&bytes[end - 1]) {
        end -= 1;
    }
    (end < word.len()).then(|| &word[..end])
}

/// Words of a question that say nothing of what it is about.
const EMPTY_WORDS: &str =
    "a about an and are as at be by can could did do does for from had has have how i in is it its me my of on or
    our should that the their there these this to was we were what when where which who why will with would you
    your doe";

/// The different terms of a query, without empty words unless there are no others.
pub(crate) fn query_terms(query: &str) -> Vec<String> {
    let mut joined = String::new();
    push_terms(query, &mut joined);
    let mut terms: Vec<&str> = joined.split_whitespace().collect();
    let is_empty = |term: &&str| EMPTY_WORDS.split_whitespace().any(|word| word == *term);
    if !terms.iter().all(is_empty) {
        terms.retain(|term| !is_empty(term));
    }
    let mut seen = HashSet::new();
    terms.retain(|term| seen.insert(*term));
    terms.into_iter().take(MAX_QUERY_TERMS).map(str::to_owned).collect()
}
