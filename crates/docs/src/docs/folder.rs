//! The documents of a folder. It is only read, and never left: no link is followed.

use std::borrow::Cow;
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use unicode_normalization::UnicodeNormalization;

use planwright::ports::ToolError;

use super::html;
use super::passages::{Markup, split};
use crate::index::{Entry, Stamp};
use crate::read::read_text;

/// Most documents of one folder.
const MAX_FILES: usize = 10_000;
/// Most bytes of the documents of one folder, and of one document.
const MAX_TOTAL_BYTES: u64 = 128 << 20;
const MAX_FILE_BYTES: u64 = 2 << 20;
/// Most files and folders that are looked at, documents or not.
const MAX_ENTRIES: usize = 200_000;
/// How the names of documents end.
const ENDINGS: [&str; 7] = ["md", "markdown", "txt", "html", "htm", "rst", "adoc"];

/// A document of a folder or a built-in one.
#[derive(Debug)]
pub(super) struct Document {
    /// The path from the folder, with `/`, composed; or the name.
    pub name: String,
    pub stamp: Stamp,
    pub content: Content,
}

/// Where the text comes from.
#[derive(Debug)]
pub(super) enum Content {
    File(PathBuf),
    Text(String),
}

/// A document that is not searched, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The document's path from the folder; empty if the reason speaks of several documents.
    pub path: String,
    /// Why it was left out.
    pub reason: String,
}

impl Skipped {
    pub(super) fn new(path: &str, reason: impl Into<String>) -> Self {
        Skipped { path: path.to_owned(), reason: reason.into() }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "not searched: {path}: {}", self.reason),
        }
    }
}

/// The ending of a path, if it is one of a document.
fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.into_iter().find(|known| known.eq_ignore_ascii_case(ending))
}

impl Document {
    /// The text as it is, or why it cannot be read at the moment.
    pub fn text(&self) -> Result<Cow<'_, str>, String> {
        match &self.content {
            Content::Text(text) => Ok(Cow::Borrowed(text)),
            Content::File(path) => match read_text(path, MAX_FILE_BYTES) {
                Ok(Some((text, _))) => Ok(Cow::Owned(text)),
                Ok(None) => Err(too_large()),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// The passages of the text by the document's markup, or why it has none.
    pub fn passages(&self, text: &str) -> Result<Vec<Entry>, String> {
        let (text, markup) = match ending(Path::new(&self.name)) {
            Some("html" | "htm") => (Cow::Owned(html::render_text(text)?), Markup::Markdown),
            Some("adoc") => (Cow::Borrowed(text), Markup::AsciiDoc),
            Some("rst") => (Cow::Borrowed(text), Markup::Restructured),
            _ => (Cow::Borrowed(text), Markup::Markdown),
        };
        Ok(split(&text.nfc().collect::<String>(), markup))
    }
}

fn too_large() -> String {
    format!("larger than {MAX_FILE_BYTES} bytes")
}

/// The documents of a folder by name, and what is left out.
pub(super) fn find_documents(root: &Path) -> Result<(Vec<Document>, Vec<Skipped>), ToolError> {
    let fail = |problem: String| ToolError::input(format!("{}: {problem}", root.display()));
    std::fs::read_dir(root).map_err(|error| fail(format!("the folder cannot be read: {error}")))?;
    let (mut documents, mut skipped) = (Vec::new(), Vec::new());
    // The folder's own rules alone: what is found must not depend on the machine around it.
    let mut walk = WalkBuilder::new(root);
    walk.follow_links(false).require_git(false).parents(false).git_global(false).git_exclude(false);
    for (looked_at, entry) in walk.build().enumerate() {
        if looked_at >= MAX_ENTRIES {
            let most = grouped(MAX_ENTRIES);
            skipped.push(Skipped::new(
                "",
                format!("more than {most} files and folders: the rest is not searched"),
            ));
            break;
        }
        let is_document = |entry: &ignore::DirEntry| {
            entry.file_type().is_some_and(|kind| kind.is_file()) && ending(entry.path()).is_some()
        };
        match entry {
            Ok(entry) if !is_document(&entry) => {}
            Ok(entry) => match entry.metadata() {
                Ok(metadata) => documents.push(Document {
                    name: name_within(root, entry.path()),
                    stamp: stamp_of(&metadata),
                    content: Content::File(entry.into_path()),
                }),
                Err(error) => skipped.push(Skipped::new("", format!("not searched: {error}"))),
            },
            Err(error) => skipped.push(Skipped::new("", format!("not searched: {error}"))),
        }
    }
    if documents.is_empty() {
        let wanted = ENDINGS.map(|ending| format!(".{ending}")).join(" ");
        return Err(fail(format!("expected documents ({wanted}), found none that can be read")));
    }
    documents.sort_by(|one, other| one.name.cmp(&other.name));
    skipped.extend(leave_out(&mut documents));
    Ok((documents, skipped))
}

/// Leaves out what is beyond the limits: large documents one by one, the others in one sentence.
fn leave_out(documents: &mut Vec<Document>) -> Vec<Skipped> {
    let mut skipped = Vec::new();
    let (found, mut files, mut total) = (documents.len(), 0, 0);
    documents.retain(|Document { name, stamp, .. }| {
        if stamp.bytes > MAX_FILE_BYTES {
            skipped.push(Skipped::new(name, too_large()));
            return false;
        }
        let fits = files < MAX_FILES && total + stamp.bytes <= MAX_TOTAL_BYTES;
        if fits {
            (files, total) = (files + 1, total + stamp.bytes);
        }
        fits
    });
    let beyond = found - skipped.len() - files;
    if beyond > 0 {
        let (beyond, found, files) = (grouped(beyond), grouped(found), grouped(MAX_FILES));
        let reason = format!(
            "{beyond} of {found} files not searched: at most {files} files of {} MiB in all are",
            MAX_TOTAL_BYTES >> 20
        );
        skipped.insert(0, Skipped::new("", reason));
    }
    skipped
}

fn stamp_of(metadata: &Metadata) -> Stamp {
    let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since_1970.and_then(|time| i64::try_from(time.as_nanos()).ok()).unwrap_or_default();
    Stamp { bytes: metadata.len(), modified }
}

/// The path from the folder, composed, with `/` between its parts.
fn name_within(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<String> = parts.map(|part| part.as_os_str().to_string_lossy().nfc().collect()).collect();
    parts.join("/")
}

/// A number with commas between groups of three digits: `14,646`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}
