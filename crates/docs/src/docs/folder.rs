//! The documents of a folder and their texts. It is only read, and never left: no link is followed. Borrowed
//! libraries read HTML; the last functions keep hostile pages away from them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use planwright::ports::ToolError;

use super::passages::{Markup, split};
use super::walk::walk;
use crate::index::{Entry, Stamp};
use crate::read::read_text;
use crate::terms::needs_a_look;

const MAX_FILES: usize = 10_000;
/// Most bytes of the documents of one folder, and of one document.
const MAX_TOTAL_BYTES: u64 = 128 << 20;
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Most files and folders that are looked at, documents or not.
const MAX_ENTRIES: usize = 200_000;
/// Wider than any line, so that no word is torn.
const HTML_WIDTH: usize = 4000;
/// Deeper nesting is no document. Rendering it takes time that grows with the square of the depth.
const MAX_HTML_DEPTH: usize = 200;
/// Parsing time grows with the square of unclosed tags as well, so they are counted before.
const MAX_UNCLOSED: usize = 1000;
const ENDINGS: [&str; 7] = ["md", "markdown", "txt", "html", "htm", "rst", "adoc"];

/// A document of a folder or a built-in one.
#[derive(Debug)]
pub(super) struct Document {
    /// The path from the folder, with `/`, composed; or the name.
    pub name: String,
    pub stamp: Stamp,
    pub content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    File(PathBuf),
    Text(String),
}

fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.into_iter().find(|known| known.eq_ignore_ascii_case(ending))
}

impl Document {
    /// The text as it is, or why it cannot be read at the moment.
    pub fn text(&self) -> Result<Cow<'_, str>, String> {
        let path = match &self.content {
            Content::Text(text) => return Ok(Cow::Borrowed(text)),
            Content::File(path) => path,
        };
        let read = read_text(path, MAX_FILE_BYTES).map_err(|error| error.to_string())?;
        let (text, _) = read.ok_or_else(too_large)?;
        // Some bytes may be broken; a text of another encoding is nothing but.
        if text.matches('\u{fffd}').count() * 20 > text.chars().count() {
            return Err(
                "expected a text in UTF-8, UTF-16 or Latin-1, found another encoding or no text".to_owned()
            );
        }
        Ok(Cow::Owned(text))
    }

    /// The passages of the text by the document's markup, or why it has none.
    pub fn passages(&self, text: &str) -> Result<Vec<Entry>, String> {
        let (rendered, markup) = match ending(Path::new(&self.name)) {
            Some("html" | "htm") => (Some(render_text(text)?), Markup::Markdown),
            Some("adoc") => (None, Markup::AsciiDoc),
            Some("rst") => (None, Markup::Restructured),
            _ => (None, Markup::Markdown),
        };
        let text = rendered.as_deref().unwrap_or(text);
        match is_nfc_quick(text.chars().filter(needs_a_look)) {
            IsNormalized::Yes => Ok(split(text, markup)),
            _ => Ok(split(&text.nfc().collect::<String>(), markup)),
        }
    }
}

fn too_large() -> String {
    format!("larger than {MAX_FILE_BYTES} bytes")
}

#[derive(Default)]
pub(super) struct Found {
    pub documents: Vec<Document>,
    /// What keeps documents from being searched, a sentence each.
    pub limits: Vec<String>,
    /// The documents that are too large, with the reason.
    pub too_large: Vec<String>,
    /// How many files there are of each kind that is not read.
    pub others: BTreeMap<String, usize>,
}

pub(super) fn describe_skipped(name: &str, reason: &str) -> String {
    format!("not searched: {name}: {reason}")
}

/// A sentence on the kinds of files that are not read, the most frequent first; none where all are read.
pub(super) fn describe_others(others: &BTreeMap<String, usize>) -> Option<String> {
    const SHOWN: usize = 6;
    let mut kinds: Vec<(&String, &usize)> = others.iter().collect();
    kinds.sort_by_key(|(_, count)| Reverse(**count));
    let rest: usize = kinds.iter().skip(SHOWN).map(|(_, count)| **count).sum();
    let shown = kinds.iter().take(SHOWN).map(|(kind, count)| format!("{} {kind}", grouped(**count)));
    let shown: Vec<String> = shown.chain((rest > 0).then(|| format!("{} others", grouped(rest)))).collect();
    (!shown.is_empty()).then(|| format!("not searched: {} (documents are {})", shown.join(", "), wanted()))
}

fn wanted() -> String {
    ENDINGS.map(|ending| format!(".{ending}")).join(" ")
}

pub(super) fn find_documents(place: &Path) -> Result<Found, ToolError> {
    let fail = |problem: String| ToolError::input(format!("{}: {problem}", place.display()));
    let mut found = Found::default();
    // One document has its own name alone.
    if place.is_file() {
        let read = read_file(place.parent().unwrap_or(place), place.to_owned());
        found.add(read.map_err(|error| fail(error.to_string()))?);
    } else {
        std::fs::read_dir(place).map_err(|error| fail(format!("the folder cannot be read: {error}")))?;
        for (looked_at, entry) in walk(place).enumerate() {
            if looked_at >= MAX_ENTRIES {
                let most = grouped(MAX_ENTRIES);
                found.limits.push(format!("more than {most} files and folders: the rest is not searched"));
                break;
            }
            match entry.and_then(|entry| entry.map(|entry| read_file(place, entry.path())).transpose()) {
                Ok(read) => read.into_iter().for_each(|read| found.add(read)),
                Err(error) => found.limits.push(format!("not searched: {error}")),
            }
        }
    }
    if found.documents.is_empty() {
        let others = describe_others(&found.others).map(|others| format!("; {others}")).unwrap_or_default();
        let problem = format!("expected documents ({}), found none that can be read", wanted());
        return Err(fail(problem + &others));
    }
    found.documents.sort_by(|one, other| one.name.cmp(&other.name));
    found.leave_out();
    Ok(found)
}

/// The document that a file is, or the kind of file that is none.
fn read_file(root: &Path, path: PathBuf) -> io::Result<Result<Document, String>> {
    if ending(&path).is_none() {
        let kind = path.extension().map(|ending| format!(".{}", ending.to_string_lossy().to_lowercase()));
        return Ok(Err(kind.unwrap_or_else(|| "without an ending".to_owned())));
    }
    let metadata = path.metadata()?;
    let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since_1970.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or_default();
    let parts = path.strip_prefix(root).unwrap_or(&path).components();
    let parts: Vec<String> = parts.map(|part| part.as_os_str().to_string_lossy().nfc().collect()).collect();
    let stamp = Stamp { bytes: metadata.len(), modified };
    Ok(Ok(Document { name: parts.join("/"), stamp, content: Content::File(path) }))
}

impl Found {
    fn add(&mut self, read: Result<Document, String>) {
        match read {
            Ok(document) => self.documents.push(document),
            Err(kind) => *self.others.entry(kind).or_default() += 1,
        }
    }

    /// Leaves out what is beyond the limits: large documents one by one, the others in one sentence.
    fn leave_out(&mut self) {
        let (found, mut files, mut total) = (self.documents.len(), 0, 0);
        self.documents.retain(|Document { name, stamp, .. }| {
            if stamp.bytes > MAX_FILE_BYTES {
                self.too_large.push(describe_skipped(name, &too_large()));
                return false;
            }
            let fits = files < MAX_FILES && total + stamp.bytes <= MAX_TOTAL_BYTES;
            if fits {
                (files, total) = (files + 1, total + stamp.bytes);
            }
            fits
        });
        let beyond = found - self.too_large.len() - files;
        if beyond > 0 {
            let (beyond, found, files) = (grouped(beyond), grouped(found), grouped(MAX_FILES));
            let limit = format!("at most {files} files of {} MiB in all are", MAX_TOTAL_BYTES >> 20);
            self.limits.push(format!("{beyond} of {found} files not searched: {limit}"));
        }
    }
}

/// A number with commas between groups of three digits: `14,646`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}

/// The text of a page, its headings marked as in Markdown.
fn render_text(html: &str) -> Result<String, String> {
    let unreadable = |error| format!("HTML that cannot be read: {error}");
    let config = html2text::config::plain_no_decorate().raw_mode(true);
    let config = config.no_table_borders().allow_width_overflow();
    if !closes_what_it_opens(html) {
        return Err(format!("HTML that leaves more than {MAX_UNCLOSED} elements open"));
    }
    let tree = config.parse_html(html.as_bytes()).map_err(unreadable)?;
    let mut left = vec![(tree.document.clone(), 0)];
    while let Some((node, depth)) = left.pop() {
        if depth > MAX_HTML_DEPTH {
            return Err(format!("HTML nested deeper than {MAX_HTML_DEPTH} elements"));
        }
        left.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1)));
    }
    let rendered = config.dom_to_render_tree(&tree).map_err(unreadable)?;
    config.render_to_string(rendered, HTML_WIDTH).map_err(unreadable)
}

/// Elements without content, and those that the next one of their kind closes.
const NEVER_OPEN: [&str; 30] = [
    "area", "base", "body", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody", "td",
    "tfoot", "th", "thead", "tr", "wbr",
];
/// Elements whose content is no markup.
const RAW: [&str; 5] = ["script", "style", "textarea", "title", "xmp"];

/// Whether few elements are left open. What is badly nested is taken for open, never the other way round.
fn closes_what_it_opens(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
            continue;
        }
        let closing = rest.starts_with('/');
        let tag = rest.trim_start_matches('/');
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).take(32).collect();
        let name = name.to_ascii_lowercase();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || NEVER_OPEN.contains(&name.as_str()) {
            continue;
        }
        if closing {
            open.pop_if(|innermost| *innermost == name);
        } else if RAW.contains(&name.as_str()) {
            rest = after_raw(rest, &name);
        } else {
            open.push(name);
            if open.len() > MAX_UNCLOSED {
                return false;
            }
        }
    }
    true
}

fn after_raw<'a>(text: &'a str, name: &str) -> &'a str {
    let mut tags = text.match_indices("</").map(|(at, _)| &text[at + 2..]);
    let is_end = |tag: &&str| tag.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
    tags.find(is_end).map_or("", |tag| &tag[name.len()..])
}
