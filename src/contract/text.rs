//! Texts that are made shorter, safe to show, or comparable.

use std::borrow::Cow;

use serde_json::Value;

/// The first `max` characters of a text.
pub fn first_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// The first `max` characters of a text, with an ellipsis if something was left off.
pub fn excerpt(text: &str, max: usize) -> String {
    let shown = first_chars(text, max);
    if shown.len() < text.len() { format!("{shown}…") } else { shown.to_owned() }
}

/// Whether a name may have a character. Control characters move the cursor or erase what was written, marks of
/// bidirectional text change the order in which a call reads, and invisible characters make two words look alike.
/// Joiners and combining marks count as visible.
pub fn is_sanitized(c: char) -> bool {
    let reorders =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    let hides = matches!(
        c,
        '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e007f}'
    );
    !(c.is_control() || reorders || ends_line || hides)
}

/// Whether a character shows on a screen as what it is, and says nothing that a person does not see: those that no name
/// may have, and more that hide or have no form that is agreed on.
pub fn is_shown(c: char) -> bool {
    let hides = matches!(
        c,
        '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
    );
    // Two more selectors make an emoji or a text of a sign; these choose among its forms.
    let selects = matches!(c, '\u{fe00}'..='\u{fe0d}');
    let is_none = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..)
        || matches!(c as u32 & 0xffff, 0xfffe | 0xffff);
    is_sanitized(c) && !(hides || selects || is_none)
}

/// Whether a character that shows nothing of its own changes how the one before it shows. A row of them, or one behind a
/// letter that has no other form, would be a message to machines.
fn joins(before: char, c: char) -> bool {
    let (is_joiner, is_selector) =
        (|c| matches!(c, '\u{200c}' | '\u{200d}'), |c| matches!(c, '\u{fe0e}' | '\u{fe0f}'));
    if is_joiner(c) {
        return !before.is_ascii() && !is_joiner(before);
    }
    let has_forms = (!before.is_ascii() && !is_joiner(before) && !is_selector(before))
        || before.is_ascii_digit()
        || matches!(before, '#' | '*');
    !is_selector(c) || has_forms
}

/// Writes what would act on a screen as its number: `\u{202e}`. Line ends and tabs are kept.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let stays = |before: char, c: char| matches!(c, '\n' | '\t') || (is_shown(c) && joins(before, c));
    let mut before = '\n';
    if text.chars().all(|c| stays(std::mem::replace(&mut before, c), c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let (mut rest, mut before) = (text.chars().peekable(), '\n');
    while let Some(c) = rest.next() {
        match c {
            // The other half of a line end.
            '\r' if rest.peek().is_none_or(|&next| next == '\n') => {}
            c if stays(before, c) => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
        before = out.chars().next_back().unwrap_or('\n');
    }
    Cow::Owned(out)
}

/// A JSON value whose texts and names are [sanitized](sanitize).
pub fn sanitize_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(sanitize(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(sanitize_value).collect(),
        Value::Object(fields) => {
            let clean =
                |(name, field): (String, Value)| (sanitize(&name).into_owned(), sanitize_value(field));
            Value::Object(fields.into_iter().map(clean).collect())
        }
        other => other,
    }
}

/// Writes a JSON value with all keys in alphabetical order, so that equal inputs are equal texts.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = Vec::with_capacity(128);
    write_canonical(value, &mut text).expect("a value has text keys only");
    String::from_utf8(text).expect("JSON is UTF-8")
}

fn write_canonical(value: &Value, to: &mut Vec<u8>) -> serde_json::Result<()> {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            to.push(b'{');
            for (nth, (key, value)) in fields.into_iter().enumerate() {
                to.extend((nth > 0).then_some(b','));
                serde_json::to_writer(&mut *to, key)?;
                to.push(b':');
                write_canonical(value, to)?;
            }
            to.push(b'}');
        }
        Value::Array(items) => {
            to.push(b'[');
            for (nth, item) in items.iter().enumerate() {
                to.extend((nth > 0).then_some(b','));
                write_canonical(item, to)?;
            }
            to.push(b']');
        }
        other => serde_json::to_writer(to, other)?,
    }
    Ok(())
}
