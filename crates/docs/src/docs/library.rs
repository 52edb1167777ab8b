//! Keeps an index in step with its documents: in a file of the cache folder, or in memory.

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Result;
use twox_hash::XxHash3_128;

use super::folder::{Document, Skipped};
use crate::index::{Index, is_damage};

/// Hears how many documents have been read, of how many.
pub(super) type Progress = dyn Fn(usize, usize) + Send + Sync;

/// Changes become visible whenever this many bytes of documents were read.
const BATCH_BYTES: u64 = 16 << 20;

/// An index that holds the documents.
pub(super) struct Library {
    pub index: Index,
    /// Documents that could not be read.
    pub skipped: Vec<Skipped>,
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
        let known: HashMap<_, _> =
            index.documents()?.into_iter().map(|known| (known.name.clone(), known)).collect();
        let names: HashSet<&str> = documents.iter().map(|document| document.name.as_str()).collect();
        let gone: Vec<&String> = known.keys().filter(|name| !names.contains(name.as_str())).collect();
        let (current, stale): (Vec<&Document>, Vec<&Document>) = documents.iter().partition(|document| {
            known.get(&document.name).is_some_and(|known| known.stamp == document.stamp)
        });
        let unreadable = |document: &&Document| {
            let reason = known.get(&document.name)?.unreadable.as_ref()?;
            Some(Skipped::new(&document.name, reason))
        };
        let mut skipped: Vec<Skipped> = current.iter().filter_map(unreadable).collect();
        if gone.is_empty() && stale.is_empty() {
            return Ok(Library { index, skipped });
        }
        let mut changes = index.change()?;
        for name in gone {
            changes.remove(name)?;
        }
        let mut uncommitted = 0;
        for (done, document) in stale.iter().enumerate() {
            if uncommitted >= BATCH_BYTES {
                changes.commit()?;
                changes = index.change()?;
                uncommitted = 0;
            }
            // Another process may have been faster.
            if !changes.holds(&document.name, document.stamp)? {
                changes.remove(&document.name)?;
                match document.text() {
                    Ok(text) => {
                        let passages = document.passages(&text);
                        changes.add(&document.name, document.stamp, &passages)?;
                        skipped.extend(passages.err().map(|reason| Skipped::new(&document.name, reason)));
                        uncommitted += text.len() as u64;
                    }
                    // Tried again next time.
                    Err(reason) => skipped.push(Skipped::new(&document.name, reason)),
                }
            }
            if let Some(progress) = progress {
                progress(done + 1, stale.len());
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
