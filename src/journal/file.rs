//! A journal in a file: one record a line, as its seal, a space and the record as JSON.
//!
//! Only the end of the file may be incomplete: a last line that breaks off, and zeros in space that was
//! reserved and never written. Both are of an append that was not confirmed, so nothing was performed because
//! of them, and they are dropped. Anything else that does not read is an error that names the line, and the
//! command that keeps what is before it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::JournalErrorKind::{Locked, Stale};
use super::{Durability, Journal, JournalError, Record, Seal, system};

/// A journal in a JSON-lines file. What an append survives is its [`Durability`].
///
/// ```text
/// 3c5a…(32 digits) {"header":{"format":6,…}}
/// 9b01…            {"requested":{"effect":"plan.1.1","digest":"…"}}
/// ```
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
    durability: Durability,
    end: End,
}

/// Where the records of a file end.
#[derive(Clone, Copy, Debug)]
struct End {
    /// How many records there are.
    len: u64,
    /// The seal of them all.
    seal: Seal,
    /// The byte after the last whole line: where the next record goes.
    at: u64,
    /// How long the file was when it was last read or written, with its incomplete end.
    size: u64,
    /// Whether the last line lacks nothing but its line break.
    is_unbroken: bool,
}

impl FileJournal {
    /// Starts a journal in a new file that only its owner can read, and locks it for as long as this handle
    /// lives. A file whose writer was stopped before it held a record is taken over.
    ///
    /// # Errors
    /// [`Stale`] if the file holds anything else; [`Locked`] if another writer has it; or if it cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        let fail = |error| io_error(&path, "cannot be created", &error);
        let journal = match system::private_options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => FileJournal::over(path.clone(), file)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match FileJournal::open(&path) {
                Ok(journal) if journal.end.len == 0 => journal,
                Err(error) if error.kind() == Locked => return Err(error),
                _ => {
                    let place = path.display().to_string();
                    return Err(JournalError::new(Stale, place, "there is a file already"));
                }
            },
            Err(error) => return Err(fail(error)),
        };
        system::sync_folder(&path).map_err(fail)?;
        Ok(journal)
    }

    /// Opens a journal, and locks it for as long as this handle lives. What an earlier writer left is made
    /// durable before anything follows from it.
    ///
    /// # Errors
    /// If the file cannot be opened, or a line of it does not read; [`Locked`] if another writer has it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        // A pipe would wait for a writer, a device may have no end.
        if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(io_error(&path, "cannot be opened", &io::Error::other("it is no file")));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io_error(&path, "cannot be opened", &error))?;
        FileJournal::over(path, file)
    }

    /// Locks and reads a file.
    fn over(path: PathBuf, file: File) -> Result<Self, JournalError> {
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                JournalError::new(Locked, path.display().to_string(), "another process is writing to it")
            }
            TryLockError::Error(error) => io_error(&path, "cannot be locked", &error),
        })?;
        file.sync_data().map_err(|error| io_error(&path, "cannot be written", &error))?;
        let (_, end) = read_file(&path, &file)?;
        Ok(FileJournal { path, file, durability: Durability::Full, end })
    }

    /// Reads the records from the bytes of a journal file, which another process may be writing to.
    ///
    /// # Errors
    /// Names the line that does not read.
    pub fn parse(bytes: &[u8]) -> Result<Vec<Record>, JournalError> {
        Ok(parse_lines(bytes)?.0)
    }

    /// The bytes of a journal file that holds these records.
    ///
    /// # Errors
    /// If a record cannot be written as JSON.
    pub fn encode(records: &[Record]) -> Result<Vec<u8>, JournalError> {
        Ok(encode_lines(0, Seal::new(), records)?.0)
    }

    /// Sets what an append survives; [`Durability::Full`] by default.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Writes lines after the last whole one.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.end.size != self.end.at {
            self.file.set_len(self.end.at)?;
        }
        self.file.seek(SeekFrom::Start(self.end.at))?;
        self.file.write_all(lines)?;
        if self.durability == Durability::Full { self.file.sync_data() } else { Ok(()) }
    }
}

impl Journal for FileJournal {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let End { len, seal, at, size: expected, is_unbroken } = self.end;
        if index != len {
            return Err(JournalError::stale(index, len));
        }
        let (mut lines, seal) = encode_lines(index, seal, &records)?;
        if is_unbroken {
            lines.insert(0, b'\n');
        }
        let about = self.file.metadata().map_err(|error| io_error(&self.path, "cannot be read", &error))?;
        let size = about.len();
        if size != expected {
            let problem = format!("another writer was here: expected {expected} bytes, found {size}");
            return Err(JournalError::new(Stale, self.path.display().to_string(), problem));
        }
        if let Err(error) = self.write(&lines) {
            // Some of the new lines may be there. If they cannot be cut off, the next append tries again.
            let _ = self.file.set_len(at);
            self.end.size = self.file.metadata().map_or(size, |about| about.len());
            return Err(io_error(&self.path, "cannot be written", &error));
        }
        let (len, at) = (len + records.len() as u64, at + lines.len() as u64);
        self.end = End { len, seal, at, size: at, is_unbroken: false };
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        let (mut records, _) = read_file(&self.path, &self.file)?;
        // What a failed append left behind is not part of the journal.
        records.truncate(usize::try_from(self.end.len).unwrap_or(usize::MAX));
        Ok(records)
    }
}

/// The lines of records from this index on, and the seal of all up to the last.
fn encode_lines(from: u64, mut seal: Seal, records: &[Record]) -> Result<(Vec<u8>, Seal), JournalError> {
    let mut lines = Vec::new();
    for (index, record) in (from..).zip(records) {
        let text = record.encode(index)?;
        seal = seal.with(&text);
        lines.extend_from_slice(seal.to_string().as_bytes());
        lines.push(b' ');
        lines.extend_from_slice(&text);
        lines.push(b'\n');
    }
    Ok((lines, seal))
}

fn io_error(path: &Path, what: &str, error: &io::Error) -> JournalError {
    JournalError::io(path.display(), what, error)
}

fn read_file(path: &Path, mut file: &File) -> Result<(Vec<Record>, End), JournalError> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(|error| io_error(path, "cannot be read", &error))?;
    parse_lines(&bytes).map_err(|error| error.within(path.display()))
}

/// Parses the lines of a file. An error names the line.
fn parse_lines(bytes: &[u8]) -> Result<(Vec<Record>, End), JournalError> {
    let (mut records, size) = (Vec::new(), bytes.len() as u64);
    let mut end = End { len: 0, seal: Seal::new(), at: 0, size, is_unbroken: false };
    // JSON has no zero bytes: at the end they are space that was reserved and never written.
    let written = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    for (nth, line) in bytes[..written].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let whole = line.strip_suffix(b"\n");
        let text = whole.unwrap_or(line);
        // A spoilt line break at the end spoils no record.
        let cut = || text.split_last().filter(|_| whole.is_none()).map(|(_, text)| text);
        let Some((text, seal)) = unseal(end.seal, text).or_else(|| unseal(end.seal, cut()?)) else {
            if whole.is_none() && is_torn(text, nth) {
                break;
            }
            return Err(describe_unsealed(nth, text));
        };
        if nth == 0 {
            Record::check_format(text)?;
        }
        let damaged = |problem: String| JournalError::damaged(format!("line {}", nth + 1), problem);
        records.push(Record::decode(text).map_err(damaged)?);
        end.at += (Seal::WIDTH + 1 + text.len() + usize::from(whole.is_some())) as u64;
        (end.len, end.seal, end.is_unbroken) = (end.len + 1, seal, whole.is_none());
    }
    Ok((records, end))
}

/// The record's text and the seal after it, if the line begins with that seal.
fn unseal(before: Seal, line: &[u8]) -> Option<(&[u8], Seal)> {
    let (written, rest) = line.split_at_checked(Seal::WIDTH)?;
    let text = rest.strip_prefix(b" ")?;
    let seal = before.with(text);
    (seal.to_string().as_bytes() == written).then_some((text, seal))
}

/// Whether a last line can be the beginning of one whose writer was stopped. If its record reads, it is not.
fn is_torn(line: &[u8], nth: usize) -> bool {
    let (seal, rest) = line.split_at(line.len().min(Seal::WIDTH));
    let begun: &[u8] = if nth == 0 { b" {\"header\":{" } else { b" {\"" };
    let common = rest.len().min(begun.len());
    let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(&rest[1..]).is_ok();
    seal.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && rest[..common] == begun[..common]
        && !rest.contains(&0)
        && !(rest.len() > begun.len() && is_json())
}

/// Describes a line whose seal does not fit. Another version's first line is named by its format.
fn describe_unsealed(nth: usize, line: &[u8]) -> JournalError {
    let sealed = line.get(Seal::WIDTH + 1..).unwrap_or_default();
    if let (0, Err(error)) = (nth, Record::check_format(sealed).and(Record::check_format(line))) {
        return error;
    }
    let problem = match nth {
        0 => {
            "the seal does not fit: this is no journal, or its first line is not as it was written".to_owned()
        }
        _ => format!(
            "the seal does not fit: this line, or one before it, is not as it was written; `head -n {nth} FILE > \
             NEW` keeps the {nth} lines before it"
        ),
    };
    JournalError::damaged(format!("line {}", nth + 1), problem)
}
