//! Holders: which handles hold threads. A holder is alive as long as it holds the system's lock on a file of
//! its own. A process that was killed has lost its threads at once, and no clock is asked.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::journal::system::random_id;
use planwright::journal::{JournalError, system};

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
    fn new(folder: &Path) -> Result<Self, JournalError> {
        let fail = |error: std::io::Error| JournalError::io(folder.display(), "cannot be locked", &error);
        system::create_private_folder(folder).map_err(fail)?;
        // A sweep of another process may take the file for a dead holder's before it is locked.
        for _ in 0..100 {
            let id = format!("{}-{:016x}", std::process::id(), random_id());
            let path = folder.join(&id);
            let lock = system::private_options().write(true).create_new(true).open(&path).map_err(fail)?;
            let is_ours = match lock.try_lock() {
                Ok(()) => path.try_exists(),
                Err(TryLockError::WouldBlock) => Ok(false),
                Err(TryLockError::Error(error)) => Err(error),
            };
            match is_ours {
                Ok(true) => return Ok(Holder { id, path, _lock: lock }),
                Ok(false) => {}
                Err(error) => {
                    let _ = std::fs::remove_file(&path);
                    return Err(fail(error));
                }
            }
        }
        Err(fail(ErrorKind::WouldBlock.into()))
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
                let own = Holder::new(&self.folder)?;
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
        let process = || format!("process {}", id.split('-').next().unwrap_or_default());
        Ok(is_alive(&self.folder.join(id))?.then(process))
    }
}

/// Whether the holder of a file is alive. The file of a dead one is removed.
fn is_alive(path: &Path) -> Result<bool, JournalError> {
    let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be looked at", &error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        // Another user's: only they can tell.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(true),
        Err(error) => return Err(fail(error)),
    };
    // Shared, so that two processes that look at once do not take each other for the holder.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(fail(error)),
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            Ok(false)
        }
    }
}
