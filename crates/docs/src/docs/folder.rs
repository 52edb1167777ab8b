//! Finds the documents of a folder. Only reads; never leaves the folder, never follows a link.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use ignore::WalkBuilder;
use unicode_normalization::UnicodeNormalization;

use planwright::ports::ToolError;

use super::document::{Content, Document, ENDINGS, ending};
use super::read::MAX_FILE_BYTES;
use super::skipped::{Skipped, grouped};
use crate::index::Stamp;

/// Most documents of one folder.
const MAX_FILES: usize = 10_000;
/// Most bytes of the documents of one folder.
const MAX_TOTAL_BYTES: u64 = 128 << 20;
/// Most files and folders that are looked at, documents or not.
const MAX_ENTRIES: usize = 200_000;

/// The documents of a folder by name, and what is left out.
pub(super) fn find_documents(root: &Path) -> Result<(Vec<Document>, Vec<Skipped>), ToolError> {
    let fail = |problem: String| Err(ToolError::input(format!("{}: {problem}", root.display())));
    if let Err(error) = std::fs::read_dir(root) {
        return fail(format!("the folder cannot be read: {error}"));
    }
    let (mut documents, mut skipped) = (Vec::new(), Vec::new());
    // The folder's own rules alone: what is found must not depend on the machine around it.
    let walk = WalkBuilder::new(root)
        .follow_links(false)
        .require_git(false)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .build();
    for (looked_at, entry) in walk.enumerate() {
        if looked_at >= MAX_ENTRIES {
            let most = grouped(MAX_ENTRIES);
            skipped.push(Skipped::new(
                "",
                format!("more than {most} files and folders: the rest is not searched"),
            ));
            break;
        }
        let found = entry.and_then(|entry| {
            let is_document =
                entry.file_type().is_some_and(|kind| kind.is_file()) && ending(entry.path()).is_some();
            Ok(if is_document { Some((entry.metadata()?, entry.into_path())) } else { None })
        });
        match found {
            Ok(Some((metadata, path))) => {
                let name = name_within(root, &path);
                documents.push(Document { name, stamp: stamp_of(&metadata), content: Content::File(path) });
            }
            Ok(None) => {}
            Err(error) => skipped.push(Skipped::new("", format!("not searched: {error}"))),
        }
    }
    if documents.is_empty() {
        let wanted = ENDINGS.map(|ending| format!(".{ending}")).join(" ");
        return fail(format!("expected documents ({wanted}), found none that can be read"));
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
            skipped.push(Skipped::new(name, format!("larger than {MAX_FILE_BYTES} bytes")));
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
