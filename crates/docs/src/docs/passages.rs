//! From one document to passages: by headings, then by paragraphs.
//!
//! A passage never crosses a heading and knows the trail of headings above it.

use crate::index::Entry;

/// Paragraphs are gathered up to this many characters; a longer one is cut.
const MOST: usize = 900;
/// A cut falls behind this many characters.
const LEAST: usize = 600;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Markup {
    /// `# Title`, or a line of `=` or `-` below it. Plain text is read so, too.
    #[default]
    Markdown,
    /// `= Title`.
    AsciiDoc,
    /// A line of punctuation below the title.
    Restructured,
}

pub(super) fn split(text: &str, markup: Markup) -> Vec<Entry> {
    let mut splitter = Splitter { markup, ..Splitter::default() };
    let lines: Vec<&str> = text.lines().collect();
    let mut fence: Option<&str> = None;
    let mut at = front_matter(&lines);
    splitter.paragraph.extend(&lines[..at]);
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(mark) = fence {
            fence = fence.filter(|_| line.trim() != mark);
            splitter.paragraph.push(line);
        } else if let Some(mark) = fence_mark(line, markup) {
            fence = Some(mark);
            splitter.paragraph.push(line);
        } else if line.trim().is_empty() {
            splitter.end_paragraph();
        } else if let Some((level, title)) = marked_heading(line, markup) {
            splitter.heading(level, title);
        } else if splitter.paragraph.is_empty()
            && let Some(level) = lines.get(at).and_then(|next| underline(next, markup))
        {
            at += 1;
            splitter.heading(level, line.trim());
        } else {
            splitter.paragraph.push(line);
        }
    }
    splitter.end_section(None);
    splitter.pieces
}

/// How many lines a block of YAML or TOML at the top of the document takes.
fn front_matter(lines: &[&str]) -> usize {
    let Some(mark @ ("---" | "+++")) = lines.first().map(|line| line.trim_end()) else { return 0 };
    lines.iter().skip(1).position(|line| line.trim_end() == mark).map_or(0, |end| end + 2)
}

fn fence_mark(line: &str, markup: Markup) -> Option<&'static str> {
    let line = line.trim_start();
    match markup {
        Markup::Markdown => ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)),
        Markup::AsciiDoc => (line.trim_end() == "----").then_some("----"),
        Markup::Restructured => None,
    }
}

fn marked_heading(line: &str, markup: Markup) -> Option<(usize, &str)> {
    let mark = if markup == Markup::AsciiDoc { '=' } else { '#' };
    let title = line.trim_start_matches(mark);
    let level = line.len() - title.len();
    let spaced = title.starts_with([' ', '\t']);
    let title = title.trim().trim_end_matches(mark).trim_end();
    let is_marked = (1..=6).contains(&level) && spaced && !title.is_empty();
    (is_marked && markup != Markup::Restructured).then_some((level, title))
}

/// The level of the heading above this line, where the line is an underline.
fn underline(line: &str, markup: Markup) -> Option<usize> {
    let line = line.trim_end();
    let first = line.chars().next()?;
    let marks = match markup {
        Markup::Markdown => "=-",
        Markup::Restructured => "=-~^\"'",
        Markup::AsciiDoc => return None,
    };
    (line.len() >= 3 && line.chars().all(|c| c == first)).then(|| marks.find(first).map(|level| level + 1))?
}

#[derive(Default)]
struct Splitter<'t> {
    markup: Markup,
    trail: Vec<(usize, String)>,
    pieces: Vec<Entry>,
    /// The lines of a paragraph that goes on.
    paragraph: Vec<&'t str>,
    gathered: String,
    /// A heading under which nothing has been found yet.
    bare: Option<usize>,
}

impl Splitter<'_> {
    fn heading(&mut self, level: usize, title: &str) {
        self.end_section(Some(level));
        self.trail.retain(|(above, _)| *above < level);
        self.trail.push((level, title.to_owned()));
        self.bare = Some(level);
    }

    /// Makes a passage of what was gathered. A heading with nothing below it is its own text.
    fn end_section(&mut self, next: Option<usize>) {
        self.end_paragraph();
        self.flush();
        if let Some(level) = self.bare.take()
            && next.is_none_or(|next| next <= level)
            && let Some((_, title)) = self.trail.last()
        {
            self.gathered = title.clone();
            self.flush();
        }
    }

    fn end_paragraph(&mut self) {
        let joined = std::mem::take(&mut self.paragraph).join("\n");
        let mut rest = joined.trim_matches('\n').trim_end();
        if rest.is_empty() || self.markup == Markup::Markdown && rest.chars().all(is_rule) {
            return;
        }
        self.bare = None;
        if self.gathered.chars().count() + 2 + rest.chars().count() > MOST {
            self.flush();
        }
        self.gathered.push_str(if self.gathered.is_empty() { "" } else { "\n\n" });
        let head = table_head(rest);
        while let Some(end) = cut_at(rest) {
            self.gathered.push_str(rest[..end].trim_end());
            self.flush();
            // Every piece of a table has the headings of its columns.
            self.gathered.push_str(head);
            rest = rest[end..].trim_start();
        }
        self.gathered.push_str(rest);
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.gathered);
        let headings = || self.trail.iter().map(|(_, title)| title.clone()).collect();
        let piece = (!text.trim().is_empty()).then(|| Entry { headings: headings(), text });
        self.pieces.extend(piece);
    }
}

/// The first two lines of a table in Markdown, which name its columns; empty if it is none.
fn table_head(text: &str) -> &str {
    let is_rule = |line: &str| line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c));
    let mut lines = text.split_inclusive('\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let is_table = first.starts_with('|') && is_rule(second.trim_end()) && first.len() + second.len() < LEAST;
    if is_table { &text[..first.len() + second.len()] } else { "" }
}

/// A line that only draws.
fn is_rule(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '*' | '_' | '=' | '\u{2500}'..='\u{257f}')
}

/// Where to cut a long text: behind a sentence or a line, else between words, else where the room ends.
fn cut_at(text: &str) -> Option<usize> {
    let (end, _) = text.char_indices().nth(MOST)?;
    let least = text.char_indices().nth(LEAST).map_or(0, |(at, _)| at);
    let window = &text[least..end];
    let sentence = window.char_indices().rev().find(|(at, c)| {
        let spaced = window[at + c.len_utf8()..].starts_with(char::is_whitespace);
        matches!(c, '\n' | '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && spaced)
    });
    let word = || window.char_indices().rev().find(|(_, c)| c.is_whitespace());
    Some(sentence.or_else(word).map_or(end, |(at, c)| least + at + c.len_utf8()))
}
