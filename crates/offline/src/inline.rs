//! Markdown within a line: links, emphasis, tags and entities made plain.

/// How many characters behind its opening a mark may be closed.
const MAX_REACH: usize = 400;

/// A line without link targets, emphasis and tags. What stands between backticks is kept whole.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '`' => code(rest, &mut out),
            '!' if rest.starts_with("![") => link(&rest[1..], &mut out).map(|len| len + 1),
            '[' => link(rest, &mut out),
            '<' => tag(rest, &mut out),
            '&' => entity(rest, &mut out),
            '*' | '_' | '~' => emphasis(rest, c, &out),
            '\\' if rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) => {
                out.push_str(&rest[1..2]);
                Some(2)
            }
            _ => None,
        };
        let len = taken.unwrap_or_else(|| {
            out.push(c);
            c.len_utf8()
        });
        rest = &rest[len..];
    }
    out
}

/// The part of a text within which a mark must be closed.
fn near(text: &str) -> &str {
    text.char_indices().nth(MAX_REACH).map_or(text, |(end, _)| &text[..end])
}

fn code(rest: &str, out: &mut String) -> Option<usize> {
    let ticks = rest.bytes().take_while(|byte| *byte == b'`').count();
    let end = near(&rest[ticks..]).find(&rest[..ticks])?;
    let len = ticks + end + ticks;
    out.push('`');
    out.push_str(rest[ticks..ticks + end].trim());
    out.push('`');
    Some(len)
}

/// `[words](target)` and `[words][name]`: the words.
fn link(rest: &str, out: &mut String) -> Option<usize> {
    let close = near(rest).find(']')?;
    let (words, behind) = (&rest[1..close], &rest[close + 1..]);
    let end = match behind.chars().next()? {
        '(' => near(behind).find(')')?,
        '[' => near(behind).find(']')?,
        _ => return None,
    };
    out.push_str(words.trim_start_matches(['!', '[']));
    Some(close + 1 + end + 1)
}

const TAGS: [&str; 26] = [
    "a", "b", "br", "code", "dd", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "hr", "i", "img",
    "kbd", "li", "p", "pre", "span", "strong", "sub", "summary", "sup", "u",
];

fn tag(rest: &str, out: &mut String) -> Option<usize> {
    if rest.starts_with("<!--") {
        return Some(near(rest).find("-->")? + 3);
    }
    let end = near(rest).find('>')?;
    let inner = &rest[1..end];
    if inner.starts_with("http://") || inner.starts_with("https://") {
        out.push_str(inner);
        return Some(end + 1);
    }
    let name = inner.trim_start_matches('/');
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    TAGS.contains(&name.to_ascii_lowercase().as_str()).then_some(end + 1)
}

fn entity(rest: &str, out: &mut String) -> Option<usize> {
    let known =
        [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&#39;", '\''), ("&nbsp;", ' ')];
    let (entity, c) = known.into_iter().find(|(entity, _)| rest.starts_with(entity))?;
    out.push(c);
    Some(entity.len())
}

/// The length of a mark of emphasis; `None` for a sign that means itself (`a * b`, `snake_case`).
fn emphasis(rest: &str, mark: char, before: &str) -> Option<usize> {
    let run = rest.chars().take_while(|c| *c == mark).count();
    let word = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    let (left, right) = (word(before.chars().next_back()), word(rest[run..].chars().next()));
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let within_word = inside(before.chars().next_back()) && inside(rest[run..].chars().next());
    match mark {
        '~' => (run == 2).then_some(2),
        // `**이것**은` has letters on both sides.
        '*' if run == 2 => (left || right).then_some(2),
        _ => (run <= 3 && (left || right) && !within_word).then_some(run),
    }
}
