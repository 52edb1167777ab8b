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
    /// A new holder. Nobody takes it for one before its lock is held: its file gets its name then.
    pub fn new(folder: &Path, durability: Durability) -> Result<Self, JournalError> {
        let random = std::hash::RandomState::new().build_hasher().finish();
        let id = format!("{}-{random:016x}", std::process::id());
        let (path, new) = (folder.join(&id), folder.join(format!("{COMING}{id}")));
        let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be locked", &error);
        private::folder(folder).map_err(fail)?;
        let mut lock = private::options().write(true).create_new(true).open(&new).map_err(fail)?;
        let named = lock.try_lock().map_err(std::io::Error::from).and_then(|()| {
            lock.write_all(session().unwrap_or_default().as_bytes())?;
            if durability == Durability::Full {
                lock.sync_all()?;
            }
            std::fs::rename(&new, &path)?;
            if durability == Durability::Full { file::sync_folder(&path) } else { Ok(()) }
        });
        named.inspect_err(|_| drop(std::fs::remove_file(&new))).map_err(fail)?;
        Ok(Holder { id, path, _lock: lock })
    }
}

/// What the name of a file begins with that is about to be a holder's.
const COMING: &str = ".";

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
        // Another user's, who alone can say.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(true),
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

/// What the files of holders say, of whom none may live any more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// There are some, and all of another session: the computer was stopped under the last to have threads.
    pub computer_stopped: bool,
    /// There are some of this session.
    pub of_this_session: bool,
}

/// What those who had threads have left behind. Known only as long as nobody has looked for who lives.
pub(super) fn left(folder: &Path) -> Left {
    let Some(now) = session() else { return Left::default() };
    let said = files(folder).map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let said: Vec<String> = said.collect();
    let others = said.iter().all(|session| !session.is_empty() && *session != now);
    Left { computer_stopped: !said.is_empty() && others, of_this_session: said.contains(&now) }
}

/// Forgets the holders of sessions that have ended.
pub(super) fn forget_sessions(folder: &Path) {
    let Some(now) = session() else { return };
    for path in files(folder) {
        if std::fs::read_to_string(&path).is_ok_and(|session| !session.is_empty() && session != now) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// The files of holders.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_one =
        |entry: &std::fs::DirEntry| entry.file_name().to_str().is_some_and(|name| !name.starts_with(COMING));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_one).map(|entry| entry.path())
}

/// Whether anybody who lives may have threads. Where that cannot be seen, they may. Nothing is changed.
pub(super) fn any_lives(folder: &Path) -> bool {
    if std::fs::read_dir(folder).is_err() {
        return folder.exists();
    }
    files(folder).any(|path| match File::open(&path) {
        Ok(file) => file.try_lock_shared().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    })
}

/// The process of a holder, in words.
pub(super) fn process(id: &str) -> String {
    format!("process {}", id.split('-').next().unwrap_or_default())
}

/// Takes away the files of all who are dead. Nobody may become a holder meanwhile.
pub(super) fn sweep(folder: &Path) -> Result<(), JournalError> {
    for path in files(folder) {
        if let Some(id) = path.file_name().and_then(|id| id.to_str()) {
            lives(folder, id)?;
        }
    }
    Ok(())
}
