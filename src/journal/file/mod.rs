//! A journal in a file: one record a line, as its seal, a space and the record as JSON.
//!
//! A last line that breaks off was never whole and is dropped, for nothing was performed on its word.
//! Anything else that does not read is an error that names the line.

mod io;
mod read;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

pub use io::FileIo;

use super::disk;
use super::durability::Durability;
use super::seal::{self, Seal};
use super::{Journal, JournalError, JournalErrorKind, Record};
use read::{Contents, contents, is_torn_header};

/// A journal in a JSON-lines file. What is appended is written before `append` returns, and survives what
/// its [`Durability`] says.
///
/// ```text
/// 3c5a…(32 digits) {"header":{"format":3,…}}
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
    /// How long the file was when it was last looked at, a torn last line included.
    size: u64,
    /// Whether the last line lacks nothing but its end.
    unended: bool,
}

impl FileJournal {
    /// Starts a new journal. A file that holds no whole record (its writer was stopped before the
    /// first) is taken over. A new file is its owner's alone. It is locked for as long as this handle lives.
    ///
    /// # Errors
    /// Where the file holds a record already, or cannot be made;
    /// [`Locked`](JournalErrorKind::Locked) where another writer has it.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        FileJournal::begin(path.into(), true)
    }

    /// Opens a journal to read it and write on. The file is locked for as long as this handle lives. What a
    /// writer that was stopped left behind is durable before anything follows from it.
    ///
    /// # Errors
    /// Where the file cannot be opened, or a line of it does not read;
    /// [`Locked`](JournalErrorKind::Locked) where another writer has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        FileJournal::go_on(path.into(), true)
    }

    /// [`create`](FileJournal::create), where something else may keep other writers out.
    pub(in crate::journal) fn begin(path: PathBuf, locks: bool) -> Result<Self, JournalError> {
        is_file(&path)?;
        if std::fs::read(&path).is_ok_and(|bytes| is_torn_header(&bytes)) {
            let journal = FileJournal::go_on(path, locks)?;
            // Whoever made it may not have come to this.
            disk::sync_folder(&journal.path)
                .map_err(|error| io(&journal.path, "cannot be created", &error))?;
            return Ok(journal);
        }
        let file = disk::private_options().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let taken = JournalError::named(path.display().to_string(), "there is a file already");
                taken.of(JournalErrorKind::Stale)
            }
            _ => io(&path, "cannot be created", &error),
        })?;
        if locks {
            lock(&path, &file)?;
        }
        disk::sync_folder(&path).map_err(|error| io(&path, "cannot be created", &error))?;
        Ok(FileJournal::at(path, Box::new(file)))
    }

    /// [`open`](FileJournal::open), where something else may keep other writers out.
    pub(in crate::journal) fn go_on(path: PathBuf, locks: bool) -> Result<Self, JournalError> {
        is_file(&path)?;
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io(&path, "cannot be opened", &error))?;
        if locks {
            lock(&path, &file)?;
            file.sync_data().map_err(|error| io(&path, "cannot be written", &error))?;
        }
        FileJournal::over(path, Box::new(file))
    }

    /// The journal whose bytes are kept here, be it empty. The path is what errors name it by.
    ///
    /// # Errors
    /// Where the bytes cannot be read, or a line of them does not read.
    pub fn over(path: impl Into<PathBuf>, file: Box<dyn FileIo>) -> Result<Self, JournalError> {
        let journal = FileJournal::at(path.into(), file);
        let Contents { records, seal, end, size, unended } = journal.read()?;
        Ok(FileJournal { len: records.len() as u64, seal, end, size, unended, ..journal })
    }

    /// Reads the records out of the bytes of such a file, without opening it to write: it may be another's,
    /// and be written to at this moment.
    ///
    /// # Errors
    /// Names the line that does not read.
    pub fn parse(bytes: &[u8]) -> Result<Vec<Record>, JournalError> {
        Ok(contents(bytes)?.records)
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

    /// How many records it holds.
    pub(in crate::journal) fn len(&self) -> u64 {
        self.len
    }

    /// Puts lines behind the last whole one.
    fn write(&mut self, lines: &[u8]) -> std::io::Result<()> {
        if self.size != self.end {
            self.file.cut(self.end)?;
        }
        self.file.write(self.end, lines)?;
        if self.durability == Durability::Full { self.file.sync() } else { Ok(()) }
    }

    fn read(&self) -> Result<Contents, JournalError> {
        let bytes = self.file.read().map_err(|error| io(&self.path, "cannot be read", &error))?;
        contents(&bytes).map_err(|error| error.within(self.path.display()))
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
            let error = JournalError::named(self.path.display().to_string(), problem);
            return Err(error.of(JournalErrorKind::Stale));
        }
        if let Err(error) = self.write(&lines) {
            // Lines of our own may stand there now, in part or whole, and nobody knows what of them
            // lasts: they are taken away, or where even that fails, with the next append.
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

/// The records of a journal that somebody may be writing to meanwhile.
pub(in crate::journal) fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|error| io(path, "cannot be read", &error))?;
    Ok(contents(&bytes).map_err(|error| error.within(path.display()))?.records)
}

/// The record of a file's first line; none where it is not whole.
pub(in crate::journal) fn first(line: &[u8]) -> Result<Option<Record>, JournalError> {
    Ok(contents(line)?.records.pop())
}

/// Whether a file holds a whole record, or anything else that is no torn first line.
pub(in crate::journal) fn is_begun(path: &Path) -> Result<bool, JournalError> {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut line));
    read.map_err(|error| io(path, "cannot be read", &error))?;
    Ok(!is_torn_header(&line))
}

/// Takes a file for this writer, until its handle is dropped or its process ends.
fn lock(path: &Path, file: &File) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let error = JournalError::named(path.display().to_string(), "another process is writing to it");
            Err(error.of(JournalErrorKind::Locked))
        }
        Err(TryLockError::Error(error)) => Err(io(path, "cannot be locked", &error)),
    }
}

/// Whether a journal may stand there: what is no file may be read without an end, or wait for a writer.
fn is_file(path: &Path) -> Result<(), JournalError> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(io(path, "cannot be opened", &std::io::Error::other("it is no file")))
        }
        _ => Ok(()),
    }
}

/// Makes durable what stands in a file, whoever wrote it, before anything follows from it: its writer may
/// have been stopped before that.
pub(in crate::journal) fn sync(path: &Path) -> Result<(), JournalError> {
    let synced = OpenOptions::new().write(true).open(path).and_then(|file| file.sync_data());
    synced.map_err(|error| io(path, "cannot be written", &error))
}

fn io(path: &Path, what: &str, error: &std::io::Error) -> JournalError {
    JournalError::io(path.display(), what, error)
}
