//! Keeps an index in step with its documents: in a file of the cache folder, or in memory.

use std::fs::{DirBuilder, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Result;
use twox_hash::XxHash3_128;

use super::folder::{Document, describe_skipped};
use crate::index::{self, Index, Indexed, is_damage};

/// Hears how many documents have been read, of how many.
pub(super) type Progress = dyn Fn(usize, usize) + Send + Sync;

/// An index that holds the documents.
pub(super) struct Library {
    pub index: Index,
    /// Documents that could not be read, with the reason.
    pub skipped: Vec<String>,
}

/// The file that holds the index of a folder, by the folder's full path.
pub(super) fn cache_file(cache: &Path, folder: &Path) -> PathBuf {
    let hash = XxHash3_128::oneshot(folder.as_os_str().as_encoded_bytes());
    cache.join(format!("{hash:032x}.sqlite"))
}

impl Library {
    /// Brings the index in the file up to date; builds one in memory if there is no file that can be used.
    /// A damaged file is emptied and filled again.
    pub fn open(file: Option<&Path>, documents: &[Document], progress: Option<&Progress>) -> Result<Self> {
        if let Some(file) = file.filter(|file| create_private(file).is_ok()) {
            let open = || Library::update(Index::open(file)?, documents, progress);
            let opened = match open() {
                Err(error) if is_damage(&error) => Index::clear(file).and_then(|()| open()),
                opened => opened,
            };
            if let Ok(library) = opened {
                return Ok(library);
            }
        }
        Library::update(Index::in_memory()?, documents, progress)
    }

    /// Removes what is no longer there and reads what is new or has another stamp.
    fn update(mut index: Index, documents: &[Document], progress: Option<&Progress>) -> Result<Self> {
        let mut known = index.documents()?;
        let (mut skipped, mut stale) = (Vec::new(), Vec::new());
        for document in documents {
            match known.remove(&document.name) {
                Some(Indexed { stamp, unreadable }) if stamp == document.stamp => {
                    skipped.extend(unreadable.map(|reason| describe_skipped(&document.name, &reason)));
                }
                _ => stale.push(document),
            }
        }
        if known.is_empty() && stale.is_empty() {
            return Ok(Library { index, skipped });
        }
        let changes = index.change()?;
        for gone in known.keys() {
            index::remove(&changes, gone)?;
        }
        for (done, document) in (1..).zip(&stale) {
            index::remove(&changes, &document.name)?;
            // What cannot be read is tried again next time; what cannot be understood stays so.
            let passages = document.text().map(|text| document.passages(&text));
            if let Ok(passages) = &passages {
                index::add(&changes, &document.name, document.stamp, passages)?;
            }
            let reason = passages.and_then(|passages| passages).err();
            skipped.extend(reason.map(|reason| describe_skipped(&document.name, &reason)));
            if let Some(progress) = progress {
                progress(done, stale.len());
            }
        }
        changes.commit()?;
        Ok(Library { index, skipped })
    }
}

/// Creates the file and its folder, if they are not there, for the user alone.
fn create_private(file: &Path) -> std::io::Result<()> {
    let (mut folder, mut options) = (DirBuilder::new(), OpenOptions::new());
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        options.mode(0o600);
    }
    folder.recursive(true).create(file.parent().unwrap_or(Path::new("")))?;
    options.append(true).create(true).open(file).map(drop)
}
