//! Holders: who has threads. A holder lives as long as it holds the system's lock on a file of its own,
//! so a process that was killed has lost its threads at once, and no clock is asked. The file says in which
//! session of the computer it was made: where that has ended, what was not on the disk yet may be spoilt.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::beside;
use planwright::journal::store::random_id;
use planwright::journal::{Durability, JournalError, disk};

/// Who has threads of a database.
#[derive(Debug)]
pub(super) struct Holders {
    /// Where their files are.
    folder: PathBuf,
    durability: Durability,
    /// This handle as a holder, from its first claim on.
    own: Option<Holder>,
}

/// One handle of a store, as the holder of the threads it claims.
#[derive(Debug)]
struct Holder {
    /// Never given twice.
    id: String,
    path: PathBuf,
    /// The lock lasts as long as this is open.
    _lock: File,
}

impl Holder {
    /// A new holder. Nobody takes it for one before its lock is held: its file gets its name then.
    fn new(folder: &Path, durability: Durability) -> Result<Self, JournalError> {
        let id = format!("{}-{:016x}", std::process::id(), random_id());
        let (path, new) = (folder.join(&id), folder.join(format!("{COMING}{id}")));
        let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be locked", &error);
        disk::create_private_folder(folder).map_err(fail)?;
        let mut lock = disk::private_options().write(true).create_new(true).open(&new).map_err(fail)?;
        let named = lock.try_lock().map_err(std::io::Error::from).and_then(|()| {
            lock.write_all(session().unwrap_or_default().as_bytes())?;
            if durability == Durability::Full {
                lock.sync_all()?;
            }
            std::fs::rename(&new, &path)?;
            if durability == Durability::Full { disk::sync_folder(&path) } else { Ok(()) }
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

impl Holders {
    pub fn of(database: &Path, durability: Durability) -> Self {
        Holders { folder: beside(database, ".holders"), durability, own: None }
    }

    /// Where the files of holders are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of this handle, where it is a holder.
    pub fn own(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.id.as_str())
    }

    /// The name of this handle, which becomes a holder where it is none yet.
    pub fn owned(&mut self) -> Result<&str, JournalError> {
        let own = match self.own.take() {
            Some(own) => own,
            None => Holder::new(&self.folder, self.durability)?,
        };
        Ok(&self.own.insert(own).id)
    }

    /// Who a holder is, in words, where it lives. The file of a dead one is taken away.
    pub fn alive(&self, id: &str) -> Result<Option<String>, JournalError> {
        if self.own() == Some(id) {
            return Ok(Some("this process".to_owned()));
        }
        let process = || format!("process {}", id.split('-').next().unwrap_or_default());
        Ok(lives(&self.folder.join(id))?.then(process))
    }

    /// Whether anybody who lives may have threads. Where that cannot be seen, they may. Nothing is changed.
    pub fn any_lives(&self) -> bool {
        if std::fs::read_dir(&self.folder).is_err() {
            return self.folder.exists();
        }
        self.files().any(|path| match File::open(&path) {
            Ok(file) => file.try_lock_shared().is_err(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        })
    }

    /// What those who had threads have left behind. Known only as long as nobody has looked for who lives.
    pub fn left(&self) -> Left {
        let Some(now) = session() else { return Left::default() };
        let said = self.files().map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let said: Vec<String> = said.collect();
        let others = said.iter().all(|session| !session.is_empty() && *session != now);
        Left { computer_stopped: !said.is_empty() && others, of_this_session: said.contains(&now) }
    }

    /// Forgets the holders of sessions that have ended.
    pub fn forget_sessions(&self) {
        let Some(now) = session() else { return };
        for path in self.files() {
            if std::fs::read_to_string(&path).is_ok_and(|session| !session.is_empty() && session != now) {
                let _ = std::fs::remove_file(&path);
            }
        }
    }

    /// Takes away the files of all who are dead. Nobody may become a holder meanwhile.
    pub fn sweep(&self) -> Result<(), JournalError> {
        self.files().try_for_each(|path| lives(&path).map(drop))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let is_one = |entry: &std::fs::DirEntry| {
            entry.file_name().to_str().is_some_and(|name| !name.starts_with(COMING))
        };
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter(is_one).map(|entry| entry.path())
    }
}

/// What the holders' files say, of whom none may live any more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// There are some, and all of another session: the computer was stopped under the last to have threads.
    pub computer_stopped: bool,
    /// There are some of this session.
    pub of_this_session: bool,
}

/// The session of the computer, from its start to its end, where the system gives it a name.
fn session() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether the holder of a file lives. The file of a dead one is taken away.
fn lives(path: &Path) -> Result<bool, JournalError> {
    let fail = |error: std::io::Error| JournalError::io(path.display(), "cannot be looked at", &error);
    let file = match File::open(path) {
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
            let _ = std::fs::remove_file(path);
            Ok(false)
        }
    }
}
