//! Holders: who has threads. A holder lives as long as it holds the system's lock on a file of its own,
//! so a process that was killed has lost its threads at once, and no clock is asked. The file says in which
//! session of the computer it was made: where that has ended, what was not on the disk yet may be spoilt.

use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::journal::{Durability, JournalError, file, private};

/// One handle of a store, as the holder of the threads it claims.
#[derive(Debug)]
pub(super) struct Holder {
    /// `<process id>-<16 random digits>`: never given twice.
    pub id: String,
    path: PathBuf,
    /// The lock lasts as long as this is open.
    _lock: File,
}

impl Holder {
    /// A new holder. Nobody can see its name before its lock is held.
    pub fn new(folder: &Path, durability: Durability) -> Result<Self, JournalError> {
        let random = std::hash::RandomState::new().build_hasher().finish();
        let id = format!("{}-{random:016x}", std::process::id());
        let path = folder.join(&id);
        let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be locked", &error);
        private::folder(folder).map_err(fail)?;
        let mut lock = private::options().write(true).create_new(true).open(&path).map_err(fail)?;
        lock.try_lock().map_err(std::io::Error::from).map_err(fail)?;
        lock.write_all(session().unwrap_or_default().as_bytes()).map_err(fail)?;
        if durability == Durability::Full {
            lock.sync_all().and_then(|()| file::sync_folder(&path)).map_err(fail)?;
        }
        Ok(Holder { id, path, _lock: lock })
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // What stays behind is unlocked, and taken away by whoever sees it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a holder lives. The file of a dead one is taken away.
pub(super) fn lives(folder: &Path, id: &str) -> Result<bool, JournalError> {
    let path = folder.join(id);
    let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be looked at", &error);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(fail(error)),
    };
    // Shared, so that two who look at the same time do not take one another for the holder.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(fail(error)),
        Ok(()) => {
            let _ = std::fs::remove_file(&path);
            Ok(false)
        }
    }
}

/// The session of the computer, from its start to its end, where the system gives it a name.
fn session() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether the last to have threads were stopped by the end of the computer's session, and none by anything
/// else since. Known only as long as nobody has looked for who lives.
pub(super) fn computer_was_stopped(folder: &Path) -> bool {
    let Some(now) = session() else { return false };
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    let said = entries.flatten().map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default());
    let mut said = said.peekable();
    said.peek().is_some() && said.all(|session| !session.is_empty() && session != now)
}

/// Whether anybody who lives may have threads. Where that cannot be seen, they may.
pub(super) fn any_lives(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return folder.exists() };
    let lives = |entry: std::fs::DirEntry| match entry.file_name().to_str() {
        Some(id) => lives(folder, id).unwrap_or(true),
        None => false,
    };
    entries.flatten().any(lives)
}

/// The process of a holder, in words.
pub(super) fn process(id: &str) -> String {
    format!("process {}", id.split('-').next().unwrap_or_default())
}

/// Takes away the files of all who are dead. Nobody may become a holder meanwhile.
pub(super) fn sweep(folder: &Path) -> Result<(), JournalError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        if let Some(id) = entry.file_name().to_str() {
            lives(folder, id)?;
        }
    }
    Ok(())
}
