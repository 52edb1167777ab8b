//! From a folder to documents. Only reads; never leaves the folder, never follows a link.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use unicode_normalization::UnicodeNormalization;

use planwright::ports::ToolError;

use super::Skipped;
use super::html;
use super::passages::Form;

/// Most documents of one folder.
pub(super) const MAX_FILES: usize = 10_000;
/// Largest document, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 2 << 20;
/// Most text of one folder, in bytes: the index is held in memory.
const MAX_TOTAL_BYTES: usize = 128 << 20;
/// Most files and folders that are looked at, documents or not.
const MAX_ENTRIES: usize = 200_000;

const KNOWN: [&str; 7] = ["md", "markdown", "txt", "html", "htm", "rst", "adoc"];

/// A document that was found, not yet read.
#[derive(Debug)]
pub(super) struct Found {
    path: PathBuf,
    /// The path from the folder, with `/`, composed.
    pub source: String,
}

/// The documents of a folder by path, and what was left out.
pub(super) fn find(folder: &Path) -> Result<(Vec<Found>, Vec<Skipped>), ToolError> {
    let fail =
        |kind: &str, problem: String| Err(ToolError::new(kind, format!("{}: {problem}", folder.display())));
    let root = match folder.canonicalize() {
        Ok(root) if root.is_dir() => root,
        Ok(_) => return fail("input", "expected a folder, found a file".into()),
        Err(error) => return fail("input", format!("expected a folder: {error}")),
    };
    if let Err(error) = std::fs::read_dir(&root) {
        return fail("input", format!("the folder cannot be read: {error}"));
    }
    let mut found = Vec::new();
    let mut skipped = Vec::new();
    // The folder's own rules alone: what is found must not depend on the machine around it.
    let walk = WalkBuilder::new(&root)
        .follow_links(false)
        .require_git(false)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .sort_by_file_name(|one, other| one.cmp(other))
        .build();
    for (looked_at, entry) in walk.enumerate() {
        if looked_at >= MAX_ENTRIES {
            skipped.push(Skipped::new("", format!("more than {MAX_ENTRIES} files and folders")));
            break;
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                skipped.push(Skipped::new("", error.to_string()));
                continue;
            }
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) || extension(entry.path()).is_none() {
            continue;
        }
        let source = relative(&root, entry.path());
        if found.len() == MAX_FILES {
            skipped.push(Skipped::new(source, format!("more than {MAX_FILES} documents")));
            break;
        }
        found.push(Found { path: entry.into_path(), source });
    }
    if found.is_empty() {
        let wanted = KNOWN.map(|known| format!(".{known}")).join(" ");
        return fail("input", format!("expected documents ({wanted}), found none that can be read"));
    }
    found.sort_by(|one, other| one.source.cmp(&other.source));
    Ok((found, skipped))
}

fn extension(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(extension))
}

/// The path from the folder, with `/` between its parts.
fn relative(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<_> =
        parts.map(|part| part.as_os_str().to_string_lossy().nfc().collect::<String>()).collect();
    parts.join("/")
}

/// Reads the documents that can be read.
pub(super) fn read(found: &[Found], skipped: &mut Vec<Skipped>) -> Vec<(String, String)> {
    let mut total = 0;
    let mut documents = Vec::new();
    for Found { path, source } in found {
        match read_one(path) {
            Ok(text) if total + text.len() > MAX_TOTAL_BYTES => {
                skipped
                    .push(Skipped::new(source, format!("more than {MAX_TOTAL_BYTES} bytes of text in all")));
            }
            Ok(text) => {
                total += text.len();
                documents.push((source.clone(), text));
            }
            Err(reason) => skipped.push(Skipped::new(source, reason)),
        }
    }
    documents
}

fn read_one(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("larger than {MAX_FILE_BYTES} bytes"));
    }
    Ok(decode(&bytes))
}

/// UTF-8, or UTF-16 where the file says so; what is neither is read as far as it goes.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A document as text with marked headings, composed.
pub(super) fn plain(name: &str, text: &str) -> Result<(String, Form), String> {
    let form = match extension(Path::new(name)) {
        Some("html" | "htm") => return Ok((html::text(text)?.nfc().collect(), Form::Markdown)),
        Some("adoc") => Form::AsciiDoc,
        Some("rst") => Form::Restructured,
        _ => Form::Markdown,
    };
    Ok((text.nfc().collect(), form))
}
