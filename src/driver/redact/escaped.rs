//! Keys that a text spells with JSON escapes.

/// The text without a key that is written with JSON escapes (`\u0073k-…`): decoded, it would be
/// the key again.
pub fn without_escaped(text: String, value: &str, replacement: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        if let Some(len) = escaped_prefix(rest, value) {
            kept.push_str(replacement);
            rest = &rest[len..];
        } else {
            kept.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    kept
}

/// How many bytes at the beginning of a text spell the value, each character as it is or escaped.
fn escaped_prefix(text: &str, value: &str) -> Option<usize> {
    let mut rest = text;
    for wanted in value.chars() {
        // The escape first: the key's own backslash may be written as one.
        rest = escaped_char(rest, wanted).or_else(|| rest.strip_prefix(wanted))?;
    }
    Some(text.len() - rest.len())
}

fn escaped_char(text: &str, wanted: char) -> Option<&str> {
    let escape = past_backslashes(text)?;
    if let Some(hex) = escape.strip_prefix('u')
        && let Some((unit, after)) = code_unit(hex)
    {
        if unit == u32::from(wanted) {
            return Some(after);
        }
        // A character outside the first plane is written as two units.
        let mut units = [0; 2];
        let [high, low] = wanted.encode_utf16(&mut units) else { return None };
        let second = past_backslashes(after)?.strip_prefix('u')?;
        let (next, after) = code_unit(second)?;
        return (unit == u32::from(*high) && next == u32::from(*low)).then_some(after);
    }
    escape.strip_prefix(wanted)
}

/// What follows the backslashes of one escape. JSON in JSON doubles them; more than so many are not
/// looked at, so that a text of nothing else costs no more than any other.
fn past_backslashes(text: &str) -> Option<&str> {
    const MOST: usize = 8;
    let count = text.bytes().take(MOST).take_while(|&byte| byte == b'\\').count();
    (count > 0).then(|| &text[count..])
}

/// Four hexadecimal digits, and what follows them.
fn code_unit(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}
