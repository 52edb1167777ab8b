//! Which databases this process has open.
//!
//! **Invariant:** a database that this process has open is read by SQLite alone. Where a process closes a
//! file, some systems take all its locks on that file from it, whoever of the process set them; another
//! process would then take the log for nobody's, and away.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright::journal::JournalError;

/// How many handles have a database open.
static OPEN: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// A database that a handle has open. To be dropped after the connection.
#[derive(Debug)]
pub(super) struct Opened(PathBuf);

impl Opened {
    /// Notes that a database is opened. Where this process has not got it open yet, its file is looked at
    /// first.
    ///
    /// # Errors
    /// Those of the look.
    pub fn after(
        path: &Path,
        look: impl FnOnce(&Path) -> Result<(), JournalError>,
    ) -> Result<Self, JournalError> {
        let mut open = all();
        if !open.contains_key(path) {
            look(path)?;
        }
        *open.entry(path.to_owned()).or_default() += 1;
        Ok(Opened(path.to_owned()))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut open = all();
        if let Some(handles) = open.get_mut(&self.0) {
            *handles -= 1;
            if *handles == 0 {
                open.remove(&self.0);
            }
        }
    }
}

fn all() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    // Nothing that can panic happens between two changes of it.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
