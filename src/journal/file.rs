//! A journal in a file: one record a line, as JSON. A last line without its end was never whole and
//! is dropped; anything else that does not read is an error that names the line.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Journal, JournalError, Record};

/// A journal in a JSON-lines file. Each record is on disk before `append` returns.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
    len: u64,
    /// Where the next record goes: the end of the last whole line.
    end: u64,
    /// How long the file was when it was last looked at, a torn last line included.
    size: u64,
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
        Ok(FileJournal { path, file, len: 0, end: 0, size: 0 })
    }

    /// Opens a journal to read it and write on.
    ///
    /// # Errors
    /// Where the file cannot be opened, or a line of it does not read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io(&path, "cannot be opened", &error))?;
        let mut journal = FileJournal { path, file, len: 0, end: 0, size: 0 };
        let (records, end, size) = journal.read()?;
        (journal.len, journal.end, journal.size) = (records.len() as u64, end, size);
        Ok(journal)
    }

    /// The records, where the last whole line ends, and how long the file is.
    fn read(&self) -> Result<(Vec<Record>, u64, u64), JournalError> {
        let mut bytes = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_to_end(&mut bytes))
            .map_err(|error| io(&self.path, "cannot be read", &error))?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut records = Vec::new();
        for (at, line) in bytes[..end].split_inclusive(|&byte| byte == b'\n').enumerate() {
            let record = serde_json::from_slice(line).map_err(|error| {
                let place = format!("{}: line {}", self.path.display(), at + 1);
                JournalError::named(place, format!("does not read as a journal record: {error}"))
            })?;
            records.push(record);
        }
        Ok((records, end as u64, bytes.len() as u64))
    }
}

impl Journal for FileJournal {
    fn append(&mut self, index: u64, record: &Record) -> Result<(), JournalError> {
        if index != self.len {
            return Err(JournalError::stale(index, self.len));
        }
        let mut line =
            serde_json::to_vec(record).map_err(|error| JournalError::at(index, error.to_string()))?;
        line.push(b'\n');
        let mut file = &self.file;
        let size = file.metadata().map_err(|error| io(&self.path, "cannot be read", &error))?.len();
        if size != self.size {
            let problem = format!("another writer was here: expected {} bytes, found {size}", self.size);
            return Err(JournalError::named(self.path.display().to_string(), problem));
        }
        let written = file
            .seek(SeekFrom::Start(self.end))
            .and_then(|_| self.file.set_len(self.end))
            .and_then(|()| file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line of our own may stand there now; the next append takes it away.
            self.size = file.metadata().map_or(size, |metadata| metadata.len());
            return Err(io(&self.path, "cannot be written", &error));
        }
        self.len += 1;
        self.end += line.len() as u64;
        self.size = self.end;
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        Ok(self.read()?.0)
    }
}

/// Whether a file holds the beginning of a journal's first line and no more: nothing of anybody's.
fn is_torn_header(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"header\":{";
    let len = bytes.len().min(BEGINNING.len());
    bytes[..len] == BEGINNING[..len] && !bytes.contains(&b'\n')
}

fn io(path: &Path, what: &str, error: &std::io::Error) -> JournalError {
    JournalError::named(path.display().to_string(), format!("{what}: {error}"))
}
