//! Which lines are headings: of articles, of annexes and supplementary provisions, of chapters.
//!
//! A reference to an article may stand at the start of a line, too («제5조에 따라», "Article 5 shall
//! apply"). What tells them apart is what stands behind the number, in `korean` and `english`; where
//! that leaves a doubt, the lines around it decide: [`Sure`].

use super::number::{ArticleNumber, Scan, folded};

/// What a heading opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opens {
    /// An article; where its text begins on the same line, from this character.
    Article { number: ArticleNumber, english: bool, body: usize },
    /// Something with articles of its own: supplementary provisions, an annex.
    Annex { label: String },
    /// A chapter or a part: the articles in it are numbered on.
    Chapter { label: String },
    /// Any other heading that Markdown marks.
    Other,
}

/// How far the line alone shows that it is a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    /// By itself.
    Yes,
    /// Where the line before has ended something.
    AfterEnd,
    /// Where, besides, its number follows the last one.
    InOrder,
}

/// A line that may be a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub opens: Opens,
    pub title: Option<String>,
    pub sure: Sure,
    /// The level of a heading that Markdown marks.
    pub level: Option<usize>,
    /// Whether a page number follows: an entry of a table of contents.
    pub listed: bool,
}

/// One line, without the marks of Markdown.
pub(super) struct Line {
    /// The line as it is, marks of emphasis left out where it begins with one.
    pub text: Vec<char>,
    /// The text with full-width forms folded; as long as `text`.
    pub folded: Vec<char>,
    pub level: Option<usize>,
    /// Whether Markdown marks all of it: as a heading, or in bold from end to end.
    pub marked: bool,
    pub listed: bool,
}

/// Longer lines are no headings and are not looked at; an article's first sentence may follow its
/// heading on the same line, so this is long.
const MAX_LINE_CHARS: usize = 20_000;

impl Line {
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim();
        let bare = line.trim_start_matches('#');
        let level = line.len() - bare.len();
        let heading = (1..=6).contains(&level) && bare.starts_with(char::is_whitespace);
        let (level, line) =
            if heading { (Some(level), bare.trim().trim_end_matches('#').trim_end()) } else { (None, line) };
        if line.is_empty() || line.chars().nth(MAX_LINE_CHARS).is_some() {
            return None;
        }
        let bold = ["**", "__"].into_iter().find(|mark| line.starts_with(mark));
        let whole = bold.is_some_and(|mark| line.len() > 4 && line.ends_with(mark));
        let line = bold.map_or_else(|| line.to_owned(), |mark| line.replace(mark, ""));
        let (line, listed) = without_page(line.trim());
        let text: Vec<char> = line.chars().collect();
        let folded = text.iter().copied().map(folded).collect();
        Some(Line { text, folded, level, marked: heading || whole, listed })
    }

    /// What stands from a place on.
    pub fn from(&self, at: usize) -> String {
        self.text.get(at..).unwrap_or_default().iter().collect::<String>().trim().to_owned()
    }

    pub fn scan(&self) -> Scan<'_> {
        Scan::new(&self.folded)
    }
}

/// A line without the dots and the page number that end an entry of a table of contents.
fn without_page(line: &str) -> (&str, bool) {
    let rest = line.trim_end_matches(|c: char| c.is_ascii_digit());
    let leader = |c: char| matches!(c, '.' | '·' | '…' | '‥' | '․' | '-') || c.is_whitespace();
    let bare = rest.trim_end_matches(leader);
    let dots: usize = rest[bare.len()..]
        .chars()
        .map(|c| match c {
            '…' => 3,
            '‥' => 2,
            c => usize::from(!c.is_whitespace()),
        })
        .sum();
    if dots >= 3 && !bare.is_empty() { (bare, true) } else { (line, false) }
}

/// A title behind its number, separators around it left out.
pub(super) fn title_of(chars: &[char]) -> String {
    let text: String = chars.iter().collect();
    text.trim_matches(|c: char| c.is_whitespace() || ".:-–—·".contains(c)).to_owned()
}

/// Whether the line before ends something, so that a heading may follow.
pub(super) fn has_ended(line: &str) -> bool {
    let line = line.trim().trim_end_matches(['*', '_', '"', '\'', '”', '’', ')', '）', ']', '】']);
    line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '\u{2500}'..='\u{257f}'))
        || line.ends_with(['.', '。', '．', '!', '?', ':', ';', '：', '|', '>'])
        || ["다", "함", "음", "것"].iter().any(|end| line.ends_with(end))
}
