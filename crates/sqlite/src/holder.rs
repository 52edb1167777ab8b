//! Holders: which handles hold threads. A holder is alive as long as it holds the system's lock on a file of
//! its own. A process that was killed has lost its threads at once, and no clock is asked.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::journal::JournalError;
use planwright::journal::system::{create_private_folder, private_options, random_id};

/// The holders of threads of one database.
#[derive(Debug)]
pub(crate) struct Holders {
    folder: PathBuf,
    /// This handle, from its first claim on.
    own: Option<Holder>,
}

/// One handle of a store, as the holder of the threads that it claims.
#[derive(Debug)]
struct Holder {
    /// `<process id>-<random digits>`, never given twice.
    id: String,
    path: PathBuf,
    /// The lock lasts as long as this is open.
    _lock: File,
}

impl Holder {
    fn new(folder: &Path) -> std::io::Result<Self> {
        create_private_folder(folder)?;
        // A sweep of another process may take the file for a dead holder's before it is locked.
        for _ in 0..100 {
            let id = format!("{}-{:016x}", std::process::id(), random_id());
            let path = folder.join(&id);
            let lock = private_options().write(true).create_new(true).open(&path)?;
            let holder = Holder { id, path, _lock: lock };
            match holder._lock.try_lock() {
                Ok(()) if holder.path.try_exists()? => return Ok(holder),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // If this fails, the next sweep removes the file: nobody holds its lock.
        let _ = std::fs::remove_file(&self.path);
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
        self.own.as_ref().map(|own| own.id.as_str())
    }

    /// Makes this handle a holder, and gives its id. Files of dead holders are removed.
    pub fn become_holder(&mut self) -> Result<&str, JournalError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => {
                let own = Holder::new(&self.folder)
                    .map_err(|error| JournalError::io(self.folder.display(), "cannot be locked", &error))?;
                let others = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
                for other in others.filter(|other| other.path() != own.path) {
                    // Only a claim of its thread needs to know whether it is alive.
                    let _ = is_alive(&other.path());
                }
                own
            }
        };
        Ok(&self.own.insert(own).id)
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
