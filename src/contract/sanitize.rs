//! Text as it can be read: what would act on a screen instead of standing on it is shown by its number.

use std::borrow::Cow;

/// Whether a character stands on a screen as what it is. Control characters move the cursor, colour or erase
/// what was written; the marks, overrides and isolates of bidirectional text put what follows in another
/// order, so that a call reads as another call; what is not seen at all makes two words look alike. Whatever makes words and pictures (combining marks, joiners)
/// stays.
pub fn is_sanitized(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_a_line = matches!(c, '\u{2028}' | '\u{2029}');
    // Nothing at all is seen of these.
    let hides = matches!(
        c,
        '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    );
    !(c.is_control() || turns || ends_a_line || hides)
}

/// The text with what would act on a screen written as its number: `\u{202e}`. Line ends and tabs are kept.
///
/// ```
/// use planwright::contract::sanitize;
///
/// assert_eq!(sanitize("삭제 \u{202e}txt.\u{1b}[2K"), r"삭제 \u{202e}txt.\u{1b}[2K");
/// assert_eq!(sanitize("한국어\t👩‍🚀\r\n"), "한국어\t👩‍🚀\n");
/// ```
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| matches!(c, '\n' | '\t') || is_sanitized(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // The other half of a line end.
            '\r' if rest.peek().is_none_or(|&next| next == '\n') => {}
            c if matches!(c, '\n' | '\t') || is_sanitized(c) => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(out)
}
