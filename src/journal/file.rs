//! A journal in a file: one record a line, as its seal, a space and the record as JSON.
//!
//! A last line that breaks off was never whole and is dropped, for nothing was performed on its word.
//! Anything else that does not read is an error that names the line.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::durability::Durability;
use super::seal::{self, Seal};
use super::{JOURNAL_FORMAT, Journal, JournalError, JournalErrorKind, Record};

/// A journal in a JSON-lines file. What is appended is on disk before `append` returns.
///
/// ```text
/// 3c5a…(32 digits) {"header":{"format":2,…}}
/// 9b01…            {"requested":{"effect":"plan.1.1","digest":"…"}}
/// ```
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
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

/// What a file holds.
struct Contents {
    records: Vec<Record>,
    seal: Seal,
    end: u64,
    size: u64,
    unended: bool,
}

impl FileJournal {
    /// Starts a new journal. A file that holds no whole record (its writer was stopped before the
    /// first) is taken over.
    ///
    /// # Errors
    /// Where the file holds a record already, or cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        if std::fs::read(&path).is_ok_and(|bytes| is_torn_header(&bytes)) {
            return FileJournal::open(path);
        }
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|error| io(&path, "cannot be created", &error))?;
        sync_folder(&path).map_err(|error| io(&path, "cannot be created", &error))?;
        Ok(FileJournal::at(path, file))
    }

    /// Opens a journal to read it and write on.
    ///
    /// # Errors
    /// Where the file cannot be opened, or a line of it does not read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io(&path, "cannot be opened", &error))?;
        let journal = FileJournal::at(path, file);
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

    fn at(path: PathBuf, file: File) -> Self {
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
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    fn read(&self) -> Result<Contents, JournalError> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_end(&mut bytes))
            .map_err(|error| io(&self.path, "cannot be read", &error))?;
        contents(&bytes).map_err(|error| error.within(self.path.display()))
    }
}

/// Reads the lines of a file.
///
/// # Errors
/// Names the line that does not read.
fn contents(bytes: &[u8]) -> Result<Contents, JournalError> {
    let (records, seal, size) = (Vec::new(), Seal::new(), bytes.len() as u64);
    let mut contents = Contents { records, seal, end: 0, size, unended: false };
    for (at, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let damaged = |problem: String| JournalError::named(format!("line {}", at + 1), problem);
        let whole = line.strip_suffix(b"\n");
        // A last line without its end may be all there but for that.
        let text = whole.unwrap_or(line);
        let sealed = sealed(contents.seal, text).or_else(|| match whole {
            Some(_) => None,
            None => sealed(contents.seal, &text[..text.len().saturating_sub(1)]),
        });
        let Some((text, seal)) = sealed else {
            match (whole, at) {
                (None, _) if is_torn(text, at) => break,
                (_, 0) => return Err(foreign(text).unwrap_or_else(|| damaged(UNSEALED.to_owned()))),
                _ => return Err(damaged(UNSEALED.to_owned())),
            }
        };
        if at == 0
            && let Some(other) = seal::format(text).filter(|format| *format != JOURNAL_FORMAT)
        {
            return Err(JournalError::format(other));
        }
        contents.records.push(seal::read(text).map_err(damaged)?);
        contents.seal = seal;
        contents.unended = whole.is_none();
        contents.end += (Seal::WIDTH + 1 + text.len() + usize::from(whole.is_some())) as u64;
    }
    Ok(contents)
}

const UNSEALED: &str = "the seal does not fit: this line, or one before it, is not as it was written";

/// The record's text and the seal after it, where the line's own seal is that one.
fn sealed(before: Seal, line: &[u8]) -> Option<(&[u8], Seal)> {
    let (written, rest) = line.split_at_checked(Seal::WIDTH)?;
    let text = rest.strip_prefix(b" ")?;
    let seal = before.with(text);
    (seal.text().as_bytes() == written).then_some((text, seal))
}

/// Whether a last line can be the beginning of one whose writer was stopped. A block of zeros, or a line
/// whose record reads whole, is damage.
fn is_torn(line: &[u8], at: usize) -> bool {
    let (seal, rest) = line.split_at(line.len().min(Seal::WIDTH));
    let begun = match at {
        0 => b" {\"header\":{".as_slice(),
        _ => b" {\"".as_slice(),
    };
    let common = rest.len().min(begun.len());
    let whole = || serde_json::from_slice::<serde_json::Value>(&rest[1..]).is_ok();
    seal.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && rest[..common] == begun[..common]
        && !rest.contains(&0)
        && !(rest.len() > begun.len() && whole())
}

/// What is said of a first line that another version, or something else, has written.
fn foreign(line: &[u8]) -> Option<JournalError> {
    seal::format(line).filter(|format| *format != JOURNAL_FORMAT).map(JournalError::format)
}

impl Journal for FileJournal {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        if index != self.len {
            return Err(JournalError::stale(index, self.len));
        }
        let mut lines = if self.unended { vec![b'\n'] } else { Vec::new() };
        let mut seal = self.seal;
        for (index, record) in (index..).zip(&records) {
            let text = seal::written(index, record)?;
            seal = seal.with(&text);
            lines.extend_from_slice(seal.text().as_bytes());
            lines.push(b' ');
            lines.extend_from_slice(&text);
            lines.push(b'\n');
        }
        let mut file = &self.file;
        let size = file.metadata().map_err(|error| io(&self.path, "cannot be read", &error))?.len();
        if size != self.size {
            let problem = format!("another writer was here: expected {} bytes, found {size}", self.size);
            let error = JournalError::named(self.path.display().to_string(), problem);
            return Err(error.of(JournalErrorKind::Stale));
        }
        let cut = if size == self.end { Ok(()) } else { file.set_len(self.end) };
        let written = cut
            .and_then(|()| file.seek(SeekFrom::Start(self.end)))
            .and_then(|_| file.write_all(&lines))
            .and_then(|()| if self.durability == Durability::Full { file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            // Lines of our own may stand there now, in part or whole, and nobody knows what of them
            // lasts: they are taken away, or where even that fails, with the next append.
            let _ = file.set_len(self.end);
            self.size = file.metadata().map_or(size, |metadata| metadata.len());
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

/// Whether a file holds the beginning of a journal's first line and no more: nothing of anybody's.
fn is_torn_header(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n') && is_torn(bytes, 0) && sealed(Seal::new(), bytes).is_none()
}

/// The records of a journal that somebody may be writing to meanwhile.
pub(super) fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|error| io(path, "cannot be read", &error))?;
    Ok(contents(&bytes).map_err(|error| error.within(path.display()))?.records)
}

/// The record of a file's first line; none where it is not whole.
pub(super) fn first(line: &[u8]) -> Result<Option<Record>, JournalError> {
    Ok(contents(line)?.records.pop())
}

/// Whether a file holds a whole record, or anything else that is no torn first line.
pub(super) fn is_begun(path: &Path) -> Result<bool, JournalError> {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut line));
    read.map_err(|error| io(path, "cannot be read", &error))?;
    Ok(!is_torn_header(&line))
}

/// Makes a file's name in its folder durable, where the system can.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}

fn io(path: &Path, what: &str, error: &std::io::Error) -> JournalError {
    JournalError::io(path.display(), what, error)
}
