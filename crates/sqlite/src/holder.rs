//! Holders: which handles hold threads. A holder is alive as long as it holds the system's lock on a file of
//! its own. A process that was killed has lost its threads at once, and no clock is asked.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::journal::JournalError;
use planwright::journal::system::{create_private_folder, private_options, random_id};

use crate::row::Row;

/// The holders of threads of one database, of which a handle becomes one with its first claim.
#[derive(Debug)]
pub(crate) struct Holders {
    folder: PathBuf,
    /// This handle's id, `<process id>-<random digits>`, which is never given twice; and its lock, which lasts as
    /// long as the file is open.
    own: Option<(String, File)>,
}

impl Drop for Holders {
    fn drop(&mut self) {
        if let Some((id, _)) = &self.own {
            // If this fails, the next sweep removes the file: its lock is free.
            let _ = std::fs::remove_file(self.folder.join(id));
        }
    }
}

impl Holders {
    /// The holders of the database in a file.
    pub fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".holders");
        Holders { folder: folder.into(), own: None }
    }

    /// The id of this handle, if it is a holder.
    pub fn own(&self) -> Option<&str> {
        self.own.as_ref().map(|(id, _)| id.as_str())
    }

    /// Makes this handle a holder, and gives its id. Files of dead holders are removed.
    pub fn become_holder(&mut self) -> Result<&str, JournalError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => {
                let own = lock_new(&self.folder)
                    .map_err(|error| JournalError::io(self.folder.display(), "cannot be locked", &error))?;
                let others = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
                for other in others.filter(|other| other.file_name() != own.0.as_str()) {
                    // Only a claim of its thread needs to know whether it is alive.
                    let _ = is_alive(&other.path());
                }
                own
            }
        };
        Ok(&self.own.insert(own).0)
    }

    /// The name of a holder for people, if it is alive.
    pub fn describe_alive(&self, id: &str) -> Result<Option<String>, JournalError> {
        if self.own() == Some(id) {
            return Ok(Some("this process".to_owned()));
        }
        let path = self.folder.join(id);
        let alive = is_alive(&path)
            .map_err(|error| JournalError::io(path.display(), "cannot be looked at", &error))?;
        Ok(alive.then(|| format!("process {}", id.split('-').next().unwrap_or_default())))
    }

    /// Whether a holder that is alive has the thread.
    pub fn is_held(&self, row: &Row) -> Result<bool, JournalError> {
        let Some(id) = &row.holder else { return Ok(false) };
        Ok(self.describe_alive(id)?.is_some())
    }
}

/// Makes a file of a new holder and locks it.
fn lock_new(folder: &Path) -> std::io::Result<(String, File)> {
    create_private_folder(folder)?;
    // A sweep of another process may take the file for a dead holder's before it is locked.
    for _ in 0..100 {
        let id = format!("{}-{:016x}", std::process::id(), random_id());
        let path = folder.join(&id);
        let lock = private_options().write(true).create_new(true).open(&path)?;
        match lock.try_lock() {
            Ok(()) if path.try_exists()? => return Ok((id, lock)),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(ErrorKind::WouldBlock.into())
}

/// Whether the holder of a file is alive. The file of a dead one is removed.
fn is_alive(path: &Path) -> std::io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        // Another user's: only they can tell.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(true),
        Err(error) => return Err(error),
    };
    // Shared, so that two processes that look at once do not take each other for the holder.
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            Ok(false)
        }
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
