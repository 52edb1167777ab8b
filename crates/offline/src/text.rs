//! Text from outside, made safe to compare and to print, and its words. No escape sequence of a document
//! reaches a terminal through an answer: a [clean] text holds no control character but line breaks.

use std::sync::LazyLock;

use planwright::contract::{excerpt, first_chars, is_sanitized};
use regex_lite::Regex;
use unicode_normalization::UnicodeNormalization;

const MAX_WORDS: usize = 20_000;
const MAX_WORD_CHARS: usize = 64;
/// What stands inside one word: `plan-then-execute`, `Cargo.toml`, `it's`, `std::fs`.
const JOINTS: [&str; 5] = ["::", "-", ".", "'", "’"];

/// Escape sequences of terminals: those with parameters, and titles and links up to their end.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:\x1b\[|\x{9b})[ -?]*[@-~]?|\x1b[\]P_^][^\x07\x1b\x{9c}]*(?:[\x07\x{9c}]|\x1b\\?)?")
        .expect("the pattern is compiled by every test")
});

/// The first characters of a text: composed, without full-width forms, escape sequences and controls.
pub(super) fn clean(text: &str, max_chars: usize) -> String {
    let text = first_chars(text, max_chars);
    let plain = if text.contains(['\u{1b}', '\u{9b}']) { ESCAPES.replace_all(text, "") } else { text.into() };
    let shown = |c: char| match c {
        '\n' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\t' | '\u{a0}' | '\u{3000}' => Some(' '),
        // Full-width forms lie at a fixed distance from ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0),
        c => is_sanitized(c).then_some(c),
    };
    // Accents and Hangul letters that stand by themselves are composed.
    plain.nfc().filter_map(shown).collect()
}

/// The first `max` characters on one line, with an ellipsis if something was left off.
pub(super) fn line(text: &str, max: usize) -> String {
    excerpt(&text.split_whitespace().collect::<Vec<&str>>().join(" "), max)
}

pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}')
}

pub(super) fn is_korean(text: &str) -> bool {
    text.chars().any(is_hangul)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub script: Script,
    /// Whether it follows the word before it without a gap (`LLM` and `은`).
    pub glued: bool,
}

/// How words of a script are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// By stem: Latin and other scripts with blanks between words, numbers, code.
    Spaced,
    /// By inclusion: Hangul, and scripts without blanks between words.
    Dense,
}

fn script(c: char) -> Option<Script> {
    match c {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' => Some(Script::Dense),
        c if is_hangul(c) => Some(Script::Dense),
        c if c.is_alphanumeric() || c == '_' => Some(Script::Spaced),
        _ => None,
    }
}

/// The words of a text. Identifiers, file names and numbers are one each; Hangul ends where Latin begins.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    let mut last_end = usize::MAX;
    let next = move || {
        let (at, script) = text[from..].char_indices().find_map(|(at, c)| Some((at, script(c)?)))?;
        let start = from + at;
        let end = start + word_len(&text[start..], script);
        let word = Word { text: &text[start..end], script, glued: start == last_end };
        (from, last_end) = (end, end);
        Some(word)
    };
    std::iter::from_fn(next).take(MAX_WORDS)
}

fn word_len(text: &str, kind: Script) -> usize {
    let mut end = 0;
    for count in 0..MAX_WORD_CHARS {
        let rest = &text[end..];
        let begins = |sign: &&str| kind == Script::Spaced && rest.starts_with(*sign);
        // C++, C#.
        if let Some(sign) = ["++", "#"].iter().find(|sign| count == 1 && begins(sign)) {
            return end + sign.len();
        }
        let sign = JOINTS.iter().find(|sign| begins(sign)).map_or(0, |sign| sign.len());
        match rest[sign..].chars().next().filter(|c| script(*c) == Some(kind)) {
            Some(c) => end += sign + c.len_utf8(),
            None => break,
        }
    }
    end
}
