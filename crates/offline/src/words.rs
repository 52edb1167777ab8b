//! The words of a text. Code identifiers, file names and numbers are one word each, and a Hangul
//! word ends where a Latin one begins.

use super::text::is_hangul;

/// Most words of one text that are looked at.
const MAX_WORDS: usize = 20_000;
/// Most characters of one word.
const MAX_WORD: usize = 64;

/// One word of a text.
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
        c if c.is_alphanumeric() => Some(Script::Spaced),
        _ => None,
    }
}

/// The words of a text, in order. Code identifiers, file names and numbers are one word each.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    let mut last_end = usize::MAX;
    let next = move || {
        let (start, first) = text[from..].char_indices().find(|(_, c)| script(*c).is_some() || *c == '_')?;
        let start = from + start;
        let kind = script(first).unwrap_or(Script::Spaced);
        let end = start + word_len(&text[start..], kind);
        let word = Word { text: &text[start..end], script: kind, glued: start == last_end };
        (from, last_end) = (end, end);
        Some(word)
    };
    std::iter::from_fn(next).take(MAX_WORDS)
}

fn word_len(text: &str, kind: Script) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut count = 0;
    while let Some((at, c)) = chars.next() {
        count += 1;
        if count > MAX_WORD {
            return at;
        }
        if script(c) == Some(kind) || (kind == Script::Spaced && c == '_') {
            continue;
        }
        let joins = kind == Script::Spaced && matches!(c, '-' | '.' | '\'' | '’' | ':' | '+' | '#') && at > 0;
        let rest = &text[at..];
        if joins && count == 2 && (rest.starts_with("++") || rest.starts_with('#')) {
            // C++, C#.
            return at + if rest.starts_with('#') { 1 } else { 2 };
        }
        let sign = if rest.starts_with("::") { 2 } else { c.len_utf8() };
        let follows = rest.get(sign..).and_then(|rest| rest.chars().next());
        let continues = follows.is_some_and(|c| script(c) == Some(Script::Spaced) || c == '_');
        if !joins || !continues || (c == ':' && sign == 1) || matches!(c, '+' | '#') {
            return at;
        }
        if sign == 2 {
            chars.next();
        }
    }
    text.len()
}
