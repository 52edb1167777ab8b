//! A journal in a file: one record a line, as its seal, a space and the record as JSON.
//!
//! Only the end of the file may be incomplete: a last line that breaks off, and zeros where the system had
//! reserved space that was never written. Both belong to an append that was not confirmed, so nothing was
//! performed because of them, and they are dropped. Anything else that does not read is an error that names
//! the line and the command that keeps what is before it.

mod contents;
mod io;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use io::FileIo;

use super::JournalErrorKind::Stale;
use super::durability::Durability;
use super::seal::{self, Seal};
use super::{Journal, JournalError, Record, disk};
use contents::{Contents, is_torn_header, parse};

/// A journal in a JSON-lines file. What is appended is written before `append` returns, and survives what
/// its [`Durability`] says.
///
/// ```text
/// 3c5a…(32 digits) {"header":{"format":4,…}}
/// 9b01…            {"requested":{"effect":"plan.1.1","digest":"…"}}
/// ```
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: Box<dyn FileIo>,
    durability: Durability,
    len: u64,
    seal: Seal,
    /// Where the next record goes: the end of the last whole line.
    end: u64,
    /// How long the file was when it was last read or written, its incomplete end included.
    size: u64,
    /// Whether the last line lacks nothing but its end.
    unended: bool,
}

impl FileJournal {
    /// Starts a new journal, in a file that only its owner can read. A file that holds no whole record (its
    /// writer was stopped before the first) is taken over. The file is locked for as long as this handle
    /// lives.
    ///
    /// # Errors
    /// Where the file holds a record already, or cannot be made;
    /// [`Locked`](super::JournalErrorKind::Locked) where another writer has it.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        check_is_file(&path)?;
        let journal = match std::fs::read(&path).is_ok_and(|bytes| is_torn_header(&bytes)) {
            true => FileJournal::open(path)?,
            false => {
                let file = disk::private_options().read(true).write(true).create_new(true).open(&path);
                let file = file.map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => {
                        JournalError::new(Stale, path.display().to_string(), "there is a file already")
                    }
                    _ => io(&path, "cannot be created", &error),
                })?;
                lock(&path, &file)?;
                FileJournal::at(path, Box::new(file))
            }
        };
        disk::sync_folder(&journal.path).map_err(|error| io(&journal.path, "cannot be created", &error))?;
        Ok(journal)
    }

    /// Opens a journal to read it and append to it. The file is locked for as long as this handle lives. What
    /// an earlier writer left is made durable before anything follows from it.
    ///
    /// # Errors
    /// Where the file cannot be opened, or a line of it does not read;
    /// [`Locked`](super::JournalErrorKind::Locked) where another writer has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        check_is_file(&path)?;
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io(&path, "cannot be opened", &error))?;
        lock(&path, &file)?;
        file.sync_data().map_err(|error| io(&path, "cannot be written", &error))?;
        FileJournal::over(path, Box::new(file))
    }

    /// A journal over any [`FileIo`], empty or not. The path is only the name that errors give it.
    ///
    /// # Errors
    /// Where the bytes cannot be read, or a line of them does not read.
    pub fn over(path: impl Into<PathBuf>, file: Box<dyn FileIo>) -> Result<Self, JournalError> {
        let journal = FileJournal::at(path.into(), file);
        let Contents { records, seal, end, size, unended } = journal.read()?;
        Ok(FileJournal { len: records.len() as u64, seal, end, size, unended, ..journal })
    }

    /// Reads the records from the bytes of a journal file, which another process may be writing to.
    ///
    /// # Errors
    /// Names the line that does not read.
    pub fn parse(bytes: &[u8]) -> Result<Vec<Record>, JournalError> {
        Ok(parse(bytes)?.records)
    }

    fn at(path: PathBuf, file: Box<dyn FileIo>) -> Self {
        let durability = Durability::Full;
        FileJournal { path, file, durability, len: 0, seal: Seal::new(), end: 0, size: 0, unended: false }
    }

    /// What an append survives; [`Durability::Full`] unless set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Writes lines behind the last whole one.
    fn write(&mut self, lines: &[u8]) -> std::io::Result<()> {
        if self.size != self.end {
            self.file.cut(self.end)?;
        }
        self.file.write(self.end, lines)?;
        if self.durability == Durability::Full { self.file.sync() } else { Ok(()) }
    }

    fn read(&self) -> Result<Contents, JournalError> {
        let bytes = self.file.read().map_err(|error| io(&self.path, "cannot be read", &error))?;
        parse(&bytes).map_err(|error| error.within(self.path.display()))
    }
}

impl Journal for FileJournal {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if index != self.len {
            return Err(JournalError::stale(index, self.len));
        }
        let mut lines = if self.unended { vec![b'\n'] } else { Vec::new() };
        let mut seal = self.seal;
        for (index, record) in (index..).zip(&records) {
            let text = seal::encode(index, record)?;
            seal = seal.with(&text);
            lines.extend_from_slice(seal.to_string().as_bytes());
            lines.push(b' ');
            lines.extend_from_slice(&text);
            lines.push(b'\n');
        }
        let size = self.file.size().map_err(|error| io(&self.path, "cannot be read", &error))?;
        if size != self.size {
            let problem = format!("another writer was here: expected {} bytes, found {size}", self.size);
            return Err(JournalError::new(Stale, self.path.display().to_string(), problem));
        }
        if let Err(error) = self.write(&lines) {
            // Some of the new lines may be in the file. They are cut off; if that fails too, the next append
            // tries again.
            let _ = self.file.cut(self.end);
            self.size = self.file.size().unwrap_or(size);
            return Err(io(&self.path, "cannot be written", &error));
        }
        self.len += records.len() as u64;
        self.seal = seal;
        self.end += lines.len() as u64;
        (self.size, self.unended) = (self.end, false);
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.read()?.records)
    }
}

/// Locks a file for this writer, until its handle is dropped or its process ends.
fn lock(path: &Path, file: &File) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::locked(path.display().to_string()),
        TryLockError::Error(error) => io(path, "cannot be locked", &error),
    })
}

/// Refuses what is not a file: a pipe would wait for a writer, a device may have no end.
fn check_is_file(path: &Path) -> Result<(), JournalError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(io(path, "cannot be opened", &std::io::Error::other("it is no file")))
        }
        _ => Ok(()),
    }
}

fn io(path: &Path, what: &str, error: &std::io::Error) -> JournalError {
    JournalError::io(path.display(), what, error)
}
