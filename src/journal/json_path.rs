//! The path to the place in a JSON text where a reader stopped.
//!
//! The error of `serde_json` names a line and a column. Reading every type once more with a reader that keeps the
//! path doubled the code that reads them.

/// An object under its current key, or an array at an index.
enum Level {
    Object(String),
    Array(usize),
}

/// Describes an error of reading `text`, with the path to what does not fit.
pub(super) fn describe_error(text: &str, error: &serde_json::Error) -> String {
    let start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    let mut levels = find_levels(text.as_bytes(), start + error.column());
    let message = error.to_string();
    if let (true, Some(Level::Object(key))) = (message.starts_with("missing field"), levels.last_mut()) {
        // It is the object that lacks it, not the field before.
        key.clear();
    }
    let path: String = levels
        .iter()
        .map(|level| match level {
            Level::Object(key) if key.is_empty() => String::new(),
            Level::Object(key) => format!(".{key}"),
            Level::Array(index) => format!("[{index}]"),
        })
        .collect();
    format!("${path}: {message}")
}

/// What is open behind so many bytes.
fn find_levels(text: &[u8], end: usize) -> Vec<Level> {
    let (mut levels, mut at, mut is_key) = (Vec::new(), 0, false);
    while let Some(&byte) = text.get(at).filter(|_| at < end) {
        at += 1;
        match byte {
            b'{' => levels.push(Level::Object(String::new())),
            b'[' => levels.push(Level::Array(0)),
            b'}' | b']' => drop(levels.pop()),
            b'"' => {
                let start = at;
                while text.get(at).is_some_and(|&byte| byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                if let (true, Some(Level::Object(key))) = (is_key, levels.last_mut()) {
                    *key = String::from_utf8_lossy(text.get(start..at).unwrap_or_default()).into_owned();
                }
                at += 1;
            }
            b',' => {
                if let Some(Level::Array(index)) = levels.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        // A string behind these is a key, if an object is open.
        is_key = matches!(byte, b'{' | b',') || is_key && byte.is_ascii_whitespace();
    }
    levels
}
