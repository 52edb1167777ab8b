//! Markdown made plain: sentences, list entries, table rows and code, without marks and link targets.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};
use regex_lite::Regex;

use super::lexicon::table;
use super::text::line;

const MAX_UNITS: usize = 400;
const MAX_SENTENCE_CHARS: usize = 400;
const MAX_CODE_LINES: usize = 10;
/// A line of fewer bytes was not broken for want of room.
const MAX_SHORT_LINE: usize = 60;
/// Comments, and tags that show nothing themselves; `Vec<String>` is text.
static TAGS: LazyLock<Regex> = LazyLock::new(|| {
    let tags = "a|br?|code|d[dlt]|details|div|em|h[1-3r]|i|img|kbd|li|p|pre|span|strong|su[bp]|summary|u";
    Regex::new(&format!(r"(?is)<!--.*?-->|</*(?:{tags})(?:[^0-9a-z>][^>]*)?>"))
        .expect("the pattern is compiled by every test")
});

/// What an answer may be put together from.
#[derive(Clone)]
pub(super) struct Unit {
    pub text: String,
    pub kind: UnitKind,
    pub opens: bool,
    /// Of a row of a table, the headings of its columns.
    pub head: String,
}

impl Unit {
    /// Whether it says what stands below it.
    pub(super) fn is_above(&self) -> bool {
        matches!(self.kind, UnitKind::Heading | UnitKind::Title)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum UnitKind {
    Heading,
    /// A first line that may be one: it says what stands below, and may be quoted.
    Title,
    #[default]
    Sentence,
    /// The first sentence of a list entry, or a row of a table: a line of its own.
    Item,
    Code,
}

pub(super) fn units(text: &str) -> Vec<Unit> {
    let text = format!("\n{text}").replace("\n• ", "\n- ");
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // The target of `[words][name]` may be defined in another passage.
    let resolve = |link: BrokenLink<'_>| {
        let named = matches!(link.link_type, LinkType::Reference | LinkType::Collapsed);
        named.then(|| (CowStr::from(""), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(&text, options, Some(resolve));
    let mut reader = Reader::default();
    for (event, place) in parser.into_offset_iter() {
        if reader.units.len() >= MAX_UNITS {
            break;
        }
        reader.take(event, &text, place);
    }
    reader.end_block();
    reader.units.truncate(MAX_UNITS);
    reader.units
}

#[derive(Default)]
struct Reader {
    units: Vec<Unit>,
    /// The text of the block so far, and what kind of unit it begins with.
    block: String,
    kind: UnitKind,
    cells: Vec<String>,
    /// The headings of the table that is read.
    head: Vec<String>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, source: &str, place: Range<usize>) {
        match event {
            // `a*b*c` is no emphasis.
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis)
                if source[..place.start].ends_with(char::is_alphanumeric) =>
            {
                self.block.push('*');
            }
            Event::Start(Tag::Heading { .. }) => self.begin(UnitKind::Heading),
            Event::Start(Tag::Item) => self.begin(UnitKind::Item),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => self.begin(UnitKind::Code),
            Event::Start(Tag::TableCell) => self.block.clear(),
            Event::End(TagEnd::TableCell) => self.cells.push(std::mem::take(&mut self.block)),
            Event::End(TagEnd::TableHead) => self.head = std::mem::take(&mut self.cells),
            Event::End(TagEnd::TableRow) => {
                let cells = std::mem::take(&mut self.cells);
                self.row(&cells);
            }
            Event::End(TagEnd::Table) => self.head.clear(),
            Event::Start(Tag::List(_) | Tag::BlockQuote(_) | Tag::Table(_) | Tag::CodeBlock(_))
            | Event::End(
                TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock | TagEnd::HtmlBlock,
            )
            | Event::Rule => self.end_block(),
            Event::Text(text) => self.block.push_str(&text),
            Event::Code(text) => self.block.extend(["`", text.trim(), "`"]),
            Event::Html(html) | Event::InlineHtml(html) => self.block.push_str(&TAGS.replace_all(&html, "")),
            Event::SoftBreak | Event::HardBreak => self.block.push('\n'),
            _ => {}
        }
    }

    fn begin(&mut self, kind: UnitKind) {
        self.end_block();
        self.kind = kind;
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        if self.kind != UnitKind::Code && block.trim().is_empty() {
            return;
        }
        let mut kind = std::mem::take(&mut self.kind);
        match kind {
            UnitKind::Code => {
                let lines: Vec<&str> = block.lines().map(str::trim_end).take(MAX_CODE_LINES).collect();
                let unit = Unit { text: lines.join("\n"), kind, opens: true, head: String::new() };
                self.units.extend(Some(unit).filter(|unit| !unit.text.trim().is_empty()));
            }
            UnitKind::Heading | UnitKind::Title => self.unit(&without_marks(&block), kind, true),
            UnitKind::Sentence | UnitKind::Item => {
                let pieces = pieces(&without_marks(&block));
                let mut pieces = pieces.as_slice();
                // `Meeting rooms`, above the rooms: a few words without a number or a mark.
                let names = |c: char| c.is_alphabetic() || c == ' ' || c == '-';
                if let [title, rest @ ..] = pieces
                    && kind == UnitKind::Sentence
                    && !rest.is_empty()
                    && title.len() < MAX_SHORT_LINE
                    && title.chars().all(names)
                {
                    self.unit(title, UnitKind::Title, true);
                    pieces = rest;
                }
                for (at, sentence) in pieces.iter().flat_map(|piece| sentences(piece)).enumerate() {
                    self.unit(sentence, kind, at == 0);
                    kind = UnitKind::Sentence;
                }
            }
        }
    }

    /// Adds a row, each cell behind the heading of its column.
    fn row(&mut self, cells: &[String]) {
        let heads = self.head.iter().map(|head| head.trim()).chain(std::iter::repeat(""));
        let cells = cells.iter().map(|cell| cell.trim()).zip(heads).filter(|(cell, _)| !cell.is_empty());
        let name = |(cell, head): (&str, &str)| match head {
            "" => cell.to_owned(),
            head => format!("{head}: {cell}"),
        };
        self.unit(&cells.map(name).collect::<Vec<String>>().join(" — "), UnitKind::Item, true);
    }

    fn unit(&mut self, text: &str, kind: UnitKind, opens: bool) {
        let text = line(text, MAX_SENTENCE_CHARS);
        if text.chars().any(char::is_alphanumeric) {
            self.units.push(Unit { text, kind, opens, head: self.head.join(" / ") });
        }
    }
}

/// The lines of a block that were broken on purpose: short ones, before one that begins anew.
fn pieces(block: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut broken = true;
    for line in block.lines().map(str::trim) {
        match pieces.last_mut().filter(|_| !broken || line.starts_with(char::is_lowercase)) {
            Some(last) => last.extend([" ", line]),
            None => pieces.push(line.to_owned()),
        }
        broken = line.len() < MAX_SHORT_LINE;
    }
    pieces
}

/// A text without marks of emphasis that the rules of Markdown leave over: `**"이것"**은`.
fn without_marks(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let pieces =
        pieces.map(|(at, piece)| if at % 2 == 0 { piece.replace("**", "") } else { piece.to_owned() });
    pieces.collect::<Vec<String>>().join("`")
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let is_short = |before: &str| {
        let last = before.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
        table("short_forms").has(&last) || last.chars().count() == 1
    };
    for (at, c) in text.char_indices() {
        let behind = text[at + c.len_utf8()..].trim_start_matches(['"', '\'', ')', '”', '’', '*']);
        let gap = behind.starts_with(char::is_whitespace);
        let small = behind.trim_start().starts_with(char::is_lowercase);
        let ends = match c {
            _ if at < start => false,
            '。' => true,
            '?' | '!' => gap,
            '.' => gap && !small && !is_short(&text[start..at]),
            _ => false,
        };
        if ends {
            let end = text.len() - behind.len();
            sentences.push(text[start..end].trim());
            start = end;
        }
    }
    sentences.push(text[start..].trim());
    sentences
}
