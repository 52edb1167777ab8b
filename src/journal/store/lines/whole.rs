//! What is there whole or not at all: turns that are put in together, and threads that are taken away.

use std::path::Path;

use super::LinesStore;
use super::place::{self, HALF, io};
use crate::journal::store::{check_place, random_id};
use crate::journal::{FileJournal, Journal, JournalError, Lease, Record, StoreError, disk};

impl LinesStore {
    /// Begins a thread with turns of which none counts before all are there.
    pub(super) fn copy(&self, lease: &Lease, turns: Vec<Vec<Record>>) -> Result<(), StoreError> {
        if lease.lock.is_none() {
            return Err(JournalError::fenced(lease.thread()).into());
        }
        let folder = self.folder(lease.thread());
        let there = place::turns(&folder)?;
        if there > 0 {
            return Err(JournalError::stale(0, u64::from(there)).into());
        }
        let half = folder.join(HALF);
        let fail = |error: std::io::Error| io(&half, "cannot be written", &error);
        let made = disk::private_options().write(true).create(true).truncate(true).open(&half);
        made.and_then(|_| self.sync(&half)).map_err(fail)?;
        for (turn, records) in (0..).zip(turns) {
            for (index, record) in (0..).zip(&records) {
                check_place(record, lease.thread(), turn, index)?;
            }
            let journal = FileJournal::begin(place::turn(&folder, turn), false)?;
            journal.durability(self.durability).append(0, records)?;
        }
        Ok(std::fs::remove_file(&half).and_then(|()| self.sync(&half)).map_err(fail)?)
    }

    /// Takes away turns that were never all there, before others are put in their place.
    pub(super) fn clear(&self, folder: &Path) -> Result<(), JournalError> {
        let half = folder.join(HALF);
        let fail = |error: std::io::Error| io(folder, "cannot be taken away", &error);
        if !half.try_exists().map_err(fail)? {
            return Ok(());
        }
        for entry in std::fs::read_dir(folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                std::fs::remove_file(&path).map_err(fail)?;
            }
        }
        self.sync(&half).and_then(|()| std::fs::remove_file(&half)).map_err(fail)
    }

    /// Takes away a thread's folder. It is gone at once or not at all; what is left of it has a name that is
    /// no thread's.
    pub(super) fn take_away(&self, folder: &Path) -> Result<(), StoreError> {
        let away = self.root.join(format!(".gone-{}", random_id()));
        let fail = |error: std::io::Error| io(folder, "cannot be taken away", &error);
        std::fs::rename(folder, &away).map_err(fail)?;
        if let Err(error) = self.sync(folder) {
            // Nobody knows whether it would be gone after a loss of power: it is not.
            let _ = std::fs::rename(&away, folder);
            return Err(fail(error).into());
        }
        let _ = std::fs::remove_dir_all(&away);
        Ok(())
    }
}
