//! Markdown made plain: sentences without link targets, heading marks and table pipes. Code stays
//! as it is.

use super::inline::plain;

/// Most units of one passage.
const MAX_UNITS: usize = 400;
/// Longest sentence, in characters; a longer one is cut and marked.
const MAX_SENTENCE: usize = 400;
/// Most lines of a code block.
const MAX_CODE_LINES: usize = 10;

/// What an answer may be put together from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    pub text: String,
    pub kind: UnitKind,
    /// Whether it begins a paragraph, an entry or another block.
    pub opens: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    Heading,
    Sentence,
    /// The first sentence of a list entry, or a row of a table: a line of its own.
    Item,
    Code,
}

/// The sentences, entries, rows and code blocks of a text, in order.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut reader = Reader::default();
    for line in text.lines() {
        if reader.units.len() >= MAX_UNITS {
            break;
        }
        reader.line(line);
    }
    reader.end_code();
    reader.end_paragraph();
    reader.units.truncate(MAX_UNITS);
    reader.units
}

#[derive(Default)]
struct Reader {
    units: Vec<Unit>,
    paragraph: String,
    item: bool,
    /// The fence that ends the code block, and its lines so far.
    code: Option<(char, Vec<String>)>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        let fence =
            ['`', '~'].into_iter().find(|c| trimmed.chars().take_while(|found| found == c).count() >= 3);
        match (&mut self.code, fence) {
            (Some((open, _)), Some(close)) if *open == close => return self.end_code(),
            (Some((_, lines)), _) => {
                if lines.len() < MAX_CODE_LINES {
                    lines.push(line.trim_end().to_owned());
                }
                return;
            }
            (None, Some(open)) => {
                self.end_paragraph();
                self.code = Some((open, Vec::new()));
                return;
            }
            (None, None) => {}
        }
        let quoted = trimmed.trim_start_matches(['>', ' ']);
        if quoted.is_empty() || is_rule(quoted) {
            return self.end_paragraph();
        }
        let hashes = quoted.chars().take_while(|c| *c == '#').count();
        if (1..=6).contains(&hashes) && quoted[hashes..].starts_with(' ') {
            self.end_paragraph();
            return self.unit(&plain(quoted[hashes..].trim_matches(['#', ' '])), UnitKind::Heading, true);
        }
        if quoted.starts_with('|') {
            self.end_paragraph();
            return self.row(quoted);
        }
        if let Some(entry) = entry(quoted) {
            self.end_paragraph();
            self.item = true;
            self.paragraph.push_str(entry);
            return;
        }
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(quoted);
    }

    fn row(&mut self, row: &str) {
        if row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            // What stands above the line of a table names its columns and says nothing.
            if self.units.last().is_some_and(|unit| unit.kind == UnitKind::Item) {
                self.units.pop();
            }
            return;
        }
        let cells: Vec<String> = row.trim_matches('|').split('|').map(|cell| plain(cell.trim())).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        self.unit(&cells.join(" — "), UnitKind::Item, true);
    }

    fn end_paragraph(&mut self) {
        let text = plain(&std::mem::take(&mut self.paragraph));
        let mut kind = if std::mem::take(&mut self.item) { UnitKind::Item } else { UnitKind::Sentence };
        let mut opens = true;
        for sentence in sentences(&text) {
            self.unit(sentence, kind, opens);
            (kind, opens) = (UnitKind::Sentence, false);
        }
    }

    fn end_code(&mut self) {
        if let Some((_, lines)) = self.code.take() {
            let text = lines.join("\n");
            if !text.trim().is_empty() {
                self.units.push(Unit { text, kind: UnitKind::Code, opens: true });
            }
        }
    }

    fn unit(&mut self, text: &str, kind: UnitKind, opens: bool) {
        let text = super::text::line(text, MAX_SENTENCE);
        if text.chars().any(char::is_alphanumeric) {
            self.units.push(Unit { text, kind, opens });
        }
    }
}

/// `---`, `===`, `***`
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | ' '))
}

/// What a list entry says, without its mark.
fn entry(line: &str) -> Option<&str> {
    let bulleted = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let rest = line[digits..].strip_prefix(['.', ')'])?;
        ((1..=3).contains(&digits) && rest.starts_with(' ')).then_some(rest)
    };
    let rest = bulleted.or_else(numbered)?.trim_start();
    let rest = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest);
    Some(rest)
}

/// Short forms that end with a full stop inside a sentence.
const SHORT: [&str; 12] = ["e.g", "i.e", "vs", "dr", "mr", "mrs", "ms", "no", "fig", "cf", "st", "approx"];

/// The sentences of a paragraph.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let behind = text[end..].trim_start_matches(['"', '\'', ')', '”', '’', '*']);
        let gap = behind.starts_with(char::is_whitespace);
        let ends = match c {
            '。' => true,
            '?' | '!' => gap,
            '.' => {
                gap && !is_short_form(&text[start..at])
                    && !behind.trim_start().starts_with(char::is_lowercase)
            }
            _ => false,
        };
        if ends && end > start {
            let end = text.len() - behind.len();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences
}

fn is_short_form(before: &str) -> bool {
    let last = before.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
    SHORT.contains(&last.as_str()) || last.chars().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found = units(text);
        let texts: Vec<&str> = found.iter().map(|unit| unit.text.as_str()).collect();
        assert_eq!(texts, expected, "{text}");
    }

    #[test]
    fn marks_go_and_words_stay() {
        check(
            "# The *machine*\n\nIt has **six** phases. See [the list](phases.md).",
            &["The machine", "It has six phases.", "See the list."],
        );
        check("- one `a_b*c`\n- [x] two\n3. three", &["one `a_b*c`", "two", "three"]);
        check("> quoted\n> text\n\n---\n", &["quoted text"]);
        check("![diagram](x.png) of <b>it</b><br>", &["diagram of it"]);
        check("snake_case and 2 * 3 and a*b*c", &["snake_case and 2 * 3 and a*b*c"]);
        check("**상태**는 _데이터_ 다.", &["상태는 데이터 다."]);
        check("Vec<String> &amp; more", &["Vec<String> & more"]);
    }

    #[test]
    fn rows_lose_their_pipes() {
        check("| name | means |\n|---|---|\n| `plan` | the first |", &["`plan` — the first"]);
    }

    #[test]
    fn code_stays_readable() {
        let found = units("Run it:\n\n```sh\ncargo run -- ask \"hi\"\n# **not** a heading\n```\nDone.");
        assert_eq!(found[1].kind, UnitKind::Code);
        assert_eq!(found[1].text, "cargo run -- ask \"hi\"\n# **not** a heading");
        assert_eq!(found[2].text, "Done.");
    }

    #[test]
    fn sentences_end_where_they_end() {
        check(
            "It costs 1.5 s, e.g. for reads. Then it ends.",
            &["It costs 1.5 s, e.g. for reads.", "Then it ends."],
        );
        check("계획을 세운다. 그리고 실행한다.", &["계획을 세운다.", "그리고 실행한다."]);
        check("Why? \"Because.\" So be it", &["Why?", "\"Because.\"", "So be it"]);
    }
}
