//! Patterns: regular expressions as JSON schemas write them (ECMA-262), matched in linear time.

use regex_lite::{Regex, RegexBuilder};

/// Most patterns of one schema.
pub(super) const MAX_PATTERNS: usize = 64;
/// Largest compiled pattern, in bytes.
const MAX_BYTES: usize = 1 << 17;
/// Longest pattern as it is written, in bytes.
const MAX_WRITTEN: usize = 1 << 12;
/// Most that one pattern looks ahead to.
const MAX_AHEAD: usize = 8;

/// A compiled pattern. What it looks ahead to at its very beginning, as patterns of addresses and passwords do, is
/// matched by itself, because the engine cannot look around.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// What must, or must not, follow the beginning of the text.
    ahead: Vec<(bool, Regex)>,
    rest: Regex,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let refuse = |error: regex_lite::Error| {
            let hint = "look-around, back-references and \\p{…} are not supported";
            format!("expected a regular expression ({hint}), found {pattern:?}: {error}")
        };
        let compile = |text: &str| RegexBuilder::new(text).size_limit(MAX_BYTES).build().map_err(refuse);
        if pattern.len() > MAX_WRITTEN {
            return Err(format!(
                "expected a pattern of at most {MAX_WRITTEN} bytes, found {}",
                pattern.len()
            ));
        }
        let (mut ahead, mut rest) = (Vec::new(), pattern.to_owned());
        while let Some((must, inner, behind)) = split_look_ahead(&rest) {
            if ahead.len() == MAX_AHEAD {
                return Err(format!("expected at most {MAX_AHEAD} looks ahead in a pattern, found more"));
            }
            ahead.push((must, compile(&format!("^(?:{inner})"))?));
            rest = format!("^{behind}");
        }
        Ok(Pattern { ahead, rest: compile(&rest)? })
    }

    /// How many steps a match takes: a byte of the text is one, each time that it is gone through.
    pub(super) fn steps(&self, text: &str) -> usize {
        (1 + self.ahead.len()) * (1 + text.len())
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.ahead.iter().all(|(must, pattern)| pattern.is_match(text) == *must) && self.rest.is_match(text)
    }
}

/// The look-ahead right behind the `^` of a pattern: whether it must match, what it holds, and what follows it.
/// `None` if there is none, or if it is one side of a choice.
fn split_look_ahead(pattern: &str) -> Option<(bool, &str, &str)> {
    let body = pattern.strip_prefix('^')?;
    let must = body.starts_with("(?=");
    let inner = body.strip_prefix("(?=").or_else(|| body.strip_prefix("(?!"))?;
    let (mut open, mut in_class, mut end) = (1, false, None);
    let mut bytes = inner.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'[' => in_class = true,
            b']' => in_class = false,
            _ if in_class => {}
            b'(' => open += 1,
            b')' => {
                open -= 1;
                end = end.or((open == 0).then_some(at));
            }
            b'|' if open == 0 => return None,
            _ => {}
        }
    }
    let end = end?;
    Some((must, &inner[..end], &inner[end + 1..]))
}
