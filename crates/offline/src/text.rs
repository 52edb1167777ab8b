//! Text as it comes from outside, made safe to compare and to print.
//!
//! Nothing that leaves this file holds a control character other than a line break: no escape
//! sequence of a document can reach a terminal through an answer.

use std::sync::LazyLock;

use planwright::contract::is_sanitized;
use regex_lite::Regex;
use unicode_normalization::UnicodeNormalization;

/// Escape sequences of terminals: those with parameters, and titles and links up to their end.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:\x1b\[|\x{9b})[ -?]*[@-~]?|\x1b[\]P_^][^\x07\x1b\x{9c}]*(?:[\x07\x{9c}]|\x1b\\?)?")
        .expect("the pattern is compiled by every test")
});

/// The first `max_chars` characters of a text: composed, full-width forms as ASCII, escape sequences
/// and control characters left out, tabs as blanks.
pub(super) fn clean(text: &str, max_chars: usize) -> String {
    let end = text.char_indices().nth(max_chars).map_or(text.len(), |(at, _)| at);
    let text = &text[..end];
    let plain = match text.contains(['\u{1b}', '\u{9b}']) {
        true => ESCAPES.replace_all(text, ""),
        false => text.into(),
    };
    let shown = |c: char| match c {
        '\n' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\t' | '\u{a0}' | '\u{3000}' => Some(' '),
        // Full-width forms lie at a fixed distance from ASCII.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0),
        c => is_sanitized(c).then_some(c),
    };
    // Accents and Hangul letters that stand by themselves.
    match plain.contains(|c| matches!(c, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}')) {
        true => plain.nfc().filter_map(shown).collect(),
        false => plain.chars().filter_map(shown).collect(),
    }
}

const SYLLABLES: u32 = 0xac00;

/// Lead, vowel and final consonant of a Hangul syllable, each by its number; no consonant is 0.
pub(super) fn letters(c: char) -> Option<[u32; 3]> {
    let code = (0xac00..=0xd7a3).contains(&(c as u32)).then(|| c as u32 - SYLLABLES)?;
    Some([code / 588, code / 28 % 21, code % 28])
}

/// The syllable of these letters.
pub(super) fn syllable([lead, vowel, end]: [u32; 3]) -> Option<char> {
    char::from_u32(SYLLABLES + (lead * 21 + vowel) * 28 + end)
}

/// Whether a character is a Hangul syllable or letter.
pub(super) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}')
}

/// Whether a text is to be answered in Korean.
pub(super) fn is_korean(text: &str) -> bool {
    text.chars().any(is_hangul)
}

/// The first `max` characters, with an ellipsis where something was left off, all on one line.
pub(super) fn line(text: &str, max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    match whole.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", whole[..end].trim_end()),
        None => whole,
    }
}
