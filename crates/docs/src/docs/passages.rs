//! From one document to passages: by headings, then by paragraphs.
//!
//! A passage never crosses a heading and knows the trail of headings above it.

/// Paragraphs are gathered up to this many characters; a longer one is cut.
const MOST: usize = 900;
/// A cut falls behind this many characters.
const LEAST: usize = 600;

/// How headings are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `# Title`, or a line of `=` or `-` below it. Plain text is read so, too.
    Markdown,
    /// `= Title`.
    AsciiDoc,
    /// A line of punctuation below the title.
    Restructured,
}

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub trail: Vec<String>,
    pub text: String,
}

/// Cuts a document into passages.
pub(super) fn split(text: &str, form: Form) -> Vec<Piece> {
    let mut splitter =
        Splitter { form, trail: Vec::new(), pieces: Vec::new(), gathered: String::new(), bare: None };
    let lines: Vec<&str> = text.lines().collect();
    let mut paragraph: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = front_matter(&lines);
    paragraph.extend(&lines[..at]);
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(mark) = fence {
            paragraph.push(line);
            if line.trim() == mark {
                fence = None;
            }
            continue;
        }
        if let Some(mark) = fence_mark(line, form) {
            fence = Some(mark);
            paragraph.push(line);
        } else if line.trim().is_empty() {
            splitter.paragraph(&mut paragraph);
        } else if let Some((level, title)) = marked_heading(line, form) {
            splitter.paragraph(&mut paragraph);
            splitter.heading(level, title);
        } else if let Some(level) =
            lines.get(at).filter(|_| paragraph.is_empty()).and_then(|next| underline(next, form))
        {
            at += 1;
            splitter.heading(level, line.trim());
        } else {
            paragraph.push(line);
        }
    }
    splitter.paragraph(&mut paragraph);
    splitter.end_section(None);
    splitter.pieces
}

/// How many lines a block of YAML or TOML at the top of the document takes.
fn front_matter(lines: &[&str]) -> usize {
    let Some(mark @ ("---" | "+++")) = lines.first().map(|line| line.trim_end()) else { return 0 };
    lines.iter().skip(1).position(|line| line.trim_end() == mark).map_or(0, |end| end + 2)
}

fn fence_mark(line: &str, form: Form) -> Option<&'static str> {
    let line = line.trim_start();
    match form {
        Form::Markdown => ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)),
        Form::AsciiDoc => (line.trim_end() == "----").then_some("----"),
        Form::Restructured => None,
    }
}

fn marked_heading(line: &str, form: Form) -> Option<(usize, &str)> {
    let mark = match form {
        Form::Markdown => '#',
        Form::AsciiDoc => '=',
        Form::Restructured => return None,
    };
    let title = line.trim_start_matches(mark);
    let level = line.len() - title.len();
    let spaced = title.starts_with([' ', '\t']);
    let title = title.trim().trim_end_matches(mark).trim_end();
    ((1..=6).contains(&level) && spaced && !title.is_empty()).then_some((level, title))
}

/// The level of the heading above this line, where the line is an underline.
fn underline(line: &str, form: Form) -> Option<usize> {
    let line = line.trim_end();
    let first = line.chars().next()?;
    let marks = match form {
        Form::Markdown => "=-",
        Form::Restructured => "=-~^\"'",
        Form::AsciiDoc => return None,
    };
    (line.len() >= 3 && line.chars().all(|c| c == first)).then(|| marks.find(first).map(|level| level + 1))?
}

struct Splitter {
    form: Form,
    trail: Vec<(usize, String)>,
    pieces: Vec<Piece>,
    gathered: String,
    /// A heading under which nothing has been found yet.
    bare: Option<usize>,
}

impl Splitter {
    fn heading(&mut self, level: usize, title: &str) {
        self.end_section(Some(level));
        self.trail.retain(|(above, _)| *above < level);
        self.trail.push((level, title.to_owned()));
        self.bare = Some(level);
    }

    /// Ends the section: what has been gathered becomes a passage. A heading with neither text nor
    /// headings below it is its own text.
    fn end_section(&mut self, next: Option<usize>) {
        self.flush();
        if let Some(level) = self.bare.take()
            && next.is_none_or(|next| next <= level)
            && let Some((_, title)) = self.trail.last()
        {
            self.gathered = title.clone();
            self.flush();
        }
    }

    fn paragraph(&mut self, lines: &mut Vec<&str>) {
        let joined = std::mem::take(lines).join("\n");
        let mut rest = joined.trim_matches('\n').trim_end();
        if rest.is_empty() || self.form == Form::Markdown && rest.chars().all(is_rule) {
            return;
        }
        self.bare = None;
        let mut gathered = self.gathered.chars().count();
        if gathered > 0 && gathered + 2 + rest.chars().count() > MOST {
            self.flush();
            gathered = 0;
        }
        while let Some(end) = cut_at(rest) {
            self.gathered.push_str(rest[..end].trim_end());
            self.flush();
            rest = rest[end..].trim_start();
        }
        if gathered > 0 && !self.gathered.is_empty() {
            self.gathered.push_str("\n\n");
        }
        self.gathered.push_str(rest);
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.gathered);
        if !text.trim().is_empty() {
            let trail = self.trail.iter().map(|(_, title)| title.clone()).collect();
            self.pieces.push(Piece { trail, text });
        }
    }
}

/// A line that only draws.
fn is_rule(c: char) -> bool {
    c.is_whitespace() || matches!(c, '-' | '*' | '_' | '=' | '\u{2500}'..='\u{257f}')
}

/// Where to cut a text that is too long: behind a sentence or a line, else between words, else where
/// the room ends.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, form: Form, expected: &[(&str, &str)]) {
        let found: Vec<(String, String)> =
            split(text, form).into_iter().map(|piece| (piece.trail.join(" > "), piece.text)).collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(trail, text)| ((*trail).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn passages_know_the_headings_above_them() {
        check(
            "top\n\n# A\none\n\ntwo\n## B ##\nthree\n# C\nfour",
            Form::Markdown,
            &[("", "top"), ("A", "one\n\ntwo"), ("A > B", "three"), ("C", "four")],
        );
        check("Title\n=====\nx\n\nPart\n----\ny", Form::Markdown, &[("Title", "x"), ("Title > Part", "y")]);
        check("= Title\nx\n== Part\ny", Form::AsciiDoc, &[("Title", "x"), ("Title > Part", "y")]);
        check("Title\n=====\n\nPart\n~~~~\ny", Form::Restructured, &[("Title > Part", "y")]);
    }

    #[test]
    fn code_and_front_matter_hold_no_headings() {
        check("```sh\n# not a heading\n```\n", Form::Markdown, &[("", "```sh\n# not a heading\n```")]);
        check("---\ntitle: x\n---\n# A\ny", Form::Markdown, &[("", "---\ntitle: x\n---"), ("A", "y")]);
    }

    #[test]
    fn a_heading_alone_is_its_own_passage() {
        check("# A\n## B\n", Form::Markdown, &[("A > B", "B")]);
        check("# A\n# B\nx", Form::Markdown, &[("A", "A"), ("B", "x")]);
    }

    #[test]
    fn long_paragraphs_are_cut_behind_sentences() {
        let text = "상태 기계는 순수하다. ".repeat(200);
        let pieces = split(&text, Form::Markdown);
        assert!(pieces.len() > 2);
        for piece in &pieces {
            assert!(piece.text.chars().count() <= MOST);
            assert!(piece.text.ends_with('.'), "{:?}", piece.text);
        }
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join(" ");
        assert_eq!(whole, text.trim_end());
        assert_eq!(split(&"x".repeat(2000), Form::Markdown).len(), 3);
    }
}
