//! The journal of a run that is kept nowhere else. It lasts as long as there is something to go on with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::user_folder;
use planwright::journal::system::{create_private_folder, random_id};
use planwright::journal::{Durability, FileJournal, Journal, JournalError, Record, RunStatus, fold};

/// How long the journal of an unfinished run is kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A journal in the user's state folder that no run fails because of: where it cannot be written, the run goes on
/// without it.
#[derive(Debug)]
pub struct Spool {
    journal: Option<FileJournal>,
    path: PathBuf,
}

fn find_folder() -> Option<PathBuf> {
    Some(user_folder("LOCALAPPDATA", "XDG_STATE_HOME", ".local/state")?.join("runs"))
}

impl Spool {
    /// Begins a journal, and removes those that were left long ago. `None` where none can be made.
    pub fn begin() -> Option<Self> {
        let folder = find_folder()?;
        create_private_folder(&folder).ok()?;
        for file in std::fs::read_dir(&folder).ok()?.flatten() {
            let age =
                file.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = std::fs::remove_file(file.path());
            }
        }
        let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        let path = folder.join(format!("{now}-{:08x}.jsonl", random_id() & 0xffff_ffff));
        let journal = FileJournal::create(&path).ok()?.durability(Durability::Normal);
        Some(Spool { journal: Some(journal), path })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a journal of this folder unless its run can be gone on with. Says whether it is there.
    pub fn keep_unfinished(path: &Path) -> bool {
        if path.parent() != find_folder().as_deref() {
            return true;
        }
        let records = std::fs::read(path).ok().and_then(|bytes| FileJournal::parse(&bytes).ok());
        let goes_on = records.and_then(|records| fold(records).ok());
        let goes_on = goes_on.is_some_and(|folded| !RunStatus::of(&folded).has_ended());
        goes_on || std::fs::remove_file(path).is_err() && path.exists()
    }
}

impl Journal for Spool {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if self.journal.as_mut().is_some_and(|journal| journal.append(index, records).is_err()) {
            self.journal = None;
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        self.journal.as_ref().map_or(Ok(Vec::new()), FileJournal::records)
    }
}
