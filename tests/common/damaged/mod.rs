//! A store in a database, for damage: written once, spoilt in place, looked at, and put back.

mod database;

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use planwright::journal::{Durability, JournalErrorKind, Record, StoreError, ThreadId};
use planwright_sqlite::SqliteStore;
use tempfile::TempDir;

/// What a byte is spoilt with, one after the other.
const MASKS: [u8; 9] = [0xFF, 0x01, 0x20, 0x80, 0x02, 0x40, 0x10, 0x04, 0x08];

/// How many of the masks each byte is spoilt with; all of them at each 197th.
fn masks(at: usize) -> impl Iterator<Item = u8> {
    let set = std::env::var("PLANWRIGHT_TEST_MASKS").ok().and_then(|text| text.parse().ok());
    let most = if at.is_multiple_of(197) { MASKS.len() } else { set.unwrap_or(1) };
    (0..most.min(MASKS.len())).map(move |nth| MASKS[(at + nth) % MASKS.len()])
}

/// A folder in memory, where the system has one.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, Durability::Normal)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}

/// Said of damage by name.
#[track_caller]
fn is_named(error: &StoreError, what: &str) {
    let StoreError::Journal(named) = error else { panic!("{what}: {error}") };
    let kind = named.kind();
    assert!(
        matches!(kind, JournalErrorKind::Damaged | JournalErrorKind::Format),
        "{what}: {kind:?}: {named}"
    );
}

/// A file that is spoilt in places, and put back.
struct Spoilt {
    file: File,
    whole: Vec<u8>,
}

impl Spoilt {
    fn new(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Spoilt { file, whole: std::fs::read(path).unwrap() }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.file.seek(SeekFrom::Start(at as u64)).unwrap();
        self.file.write_all(bytes).unwrap();
    }

    /// Looks at the file with other bytes at a place.
    fn with<T>(&mut self, at: usize, bytes: &[u8], look: impl FnOnce() -> T) -> T {
        self.put(at, bytes);
        let seen = look();
        let end = at + bytes.len();
        let whole = std::mem::take(&mut self.whole);
        self.put(at, &whole[at..end]);
        self.file.seek(SeekFrom::Start(0)).unwrap();
        let mut found = Vec::with_capacity(whole.len() + 1);
        (&self.file).read_to_end(&mut found).unwrap();
        if found != whole {
            self.file.set_len(whole.len() as u64).unwrap();
            self.put(0, &whole);
        }
        self.whole = whole;
        seen
    }
}
