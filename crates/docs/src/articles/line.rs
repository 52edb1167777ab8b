//! One line of a contract without the marks of Markdown, and the pieces that headings are made of.

use regex_lite::Regex;

/// Longer lines are no headings. An article's first sentence may follow its heading, so this is long.
const MAX_LINE: usize = 20_000;

pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("every pattern of articles/ is compiled by its tests")
}

pub(super) struct Line {
    pub text: String,
    /// The text with full-width forms folded; as many characters as `text`.
    pub folded: String,
    pub level: Option<usize>,
    /// Whether Markdown marks all of it: as a heading, or in bold from end to end.
    pub marked: bool,
    /// Whether a page number follows: an entry of a table of contents.
    pub listed: bool,
}

impl Line {
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let bare = line.trim_start_matches('#');
        let level = line.len() - bare.len();
        let level =
            Some(level).filter(|level| (1..=6).contains(level) && bare.starts_with(char::is_whitespace));
        let line = if level.is_some() { bare.trim().trim_end_matches('#').trim_end() } else { line };
        if line.is_empty() || line.chars().nth(MAX_LINE).is_some() {
            return None;
        }
        let bold = ["**", "__"].into_iter().find(|mark| line.starts_with(mark));
        let all_bold = bold.is_some_and(|mark| line.len() > 4 && line.ends_with(mark));
        let line = bold.map_or_else(|| line.to_owned(), |mark| line.replace(mark, ""));
        let (text, listed) = strip_page(line.trim());
        let folded = text.chars().map(fold).collect();
        Some(Line { text: text.to_owned(), folded, level, marked: level.is_some() || all_bold, listed })
    }

    /// The text that ends with this end of the folded text.
    pub fn unfolded(&self, rest: &str) -> String {
        let before = self.folded.chars().count() - rest.chars().count();
        self.text.chars().skip(before).collect::<String>().trim().to_owned()
    }
}

/// One character as headings are compared: full-width forms become what people type.
pub(super) fn fold(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        c if c.is_whitespace() => ' ',
        c => c,
    }
}

/// A line without the dots and the page number that end an entry of a table of contents.
fn strip_page(line: &str) -> (&str, bool) {
    let rest = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let leader = |c: char| ".·…‥․-".contains(c) || c.is_whitespace();
    let bare = rest.trim_end_matches(leader);
    let width = |c: char| match c {
        '…' => 3,
        '‥' => 2,
        c => usize::from(!c.is_whitespace()),
    };
    let dots: usize = rest[bare.len()..].chars().map(width).sum();
    if dots >= 3 && !bare.is_empty() { (bare, true) } else { (line, false) }
}

/// A title in brackets of any kind at the start of a text, perhaps empty, and what stands behind it.
pub(super) fn bracketed(text: &str, max_chars: usize) -> Option<(String, &str)> {
    let opening = text.chars().next()?;
    let pairs = ["()", "[]", "【】", "〔〕", "〈〉", "<>", "「」", "『』", "《》"];
    let closing = pairs.iter().find(|pair| pair.starts_with(opening))?.chars().last()?;
    let mut depth = 0;
    for (at, c) in text.char_indices().take(max_chars + 2) {
        depth += usize::from(c == opening);
        depth -= usize::from(c == closing);
        if depth == 0 {
            return Some((text[opening.len_utf8()..at].trim().to_owned(), &text[at + c.len_utf8()..]));
        }
    }
    None
}
