//! Damage in a database: whatever byte or block of it is spoilt, what is read is as it was written, or refused
//! by name. The database is written once, spoilt in place, looked at, and put back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::journal::{
    Claim, Durability, JournalErrorKind, Listed, Query, Record, Store, StoreError, ThreadId,
};
use planwright_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::support::{id, open, renamed, tell, waiting};

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

/// Said of damage by name.
#[track_caller]
fn is_named(error: &StoreError, what: &str) {
    let StoreError::Journal(named) = error else { panic!("{what}: {error}") };
    let kind = named.kind();
    let is_damage =
        matches!(kind, JournalErrorKind::Damaged | JournalErrorKind::Format | JournalErrorKind::Setup);
    assert!(is_damage, "{what}: {kind:?}: {named}");
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

/// A story that was told, one that waits, and one whose writer was killed: of that nobody has noted where
/// it stands.
fn threads() -> [ThreadId; 3] {
    ["told", "기다림", "killed"].map(id)
}

fn write(path: &Path) {
    let (store, [told, waits, killed]) = (Arc::new(open(path)), threads());
    let records = tell(store.clone(), &told, true);
    let lease = store.claim(&waits, Claim::New).unwrap();
    store.append(&lease, 0, 0, renamed(records[..4].to_vec(), &waits), Some(&waiting(1))).unwrap();
    store.release(lease).unwrap();
    let lease = store.claim(&killed, Claim::New).unwrap();
    store.append(&lease, 0, 0, renamed(records[..9].to_vec(), &killed), None).unwrap();
}

/// All that can be read.
struct Kept {
    list: Vec<Listed>,
    threads: Vec<Vec<Record>>,
}

impl Kept {
    fn of(store: &SqliteStore) -> Self {
        let threads = threads().iter().map(|thread| store.records(thread, 0).unwrap()).collect();
        Kept { list: store.list(&Query::default()).unwrap(), threads }
    }
}

/// What came of damage.
#[derive(Debug, Default)]
struct Came {
    /// All was read as it was written.
    same: usize,
    /// The store was not opened.
    closed: usize,
    /// A thread that is damaged was refused, and what else was read is as it was written.
    refused: usize,
    /// What was read is less than what was written, or a list differs, and the check says what is wrong.
    checked: usize,
}

impl Came {
    fn all(&self) -> usize {
        self.same + self.closed + self.refused + self.checked
    }

    #[track_caller]
    fn note(&mut self, path: &Path, whole: &Kept, what: &str) {
        let store = match SqliteStore::open(path, Durability::Normal) {
            Ok(store) => store,
            Err(error) => {
                // A version of SQLite's format that this SQLite only reads is no damage.
                if !error.to_string().contains("only to read") {
                    is_named(&error, what);
                }
                self.closed += 1;
                return;
            }
        };
        let (mut refused, mut less) = (false, false);
        for (thread, whole) in threads().iter().zip(&whole.threads) {
            match store.records(thread, 0) {
                Ok(records) if records == *whole => {}
                // A page that says it is shorter than it was: nobody noted the end of this thread.
                Ok(records) if whole.starts_with(&records) && thread.as_str() == "killed" => less = true,
                Ok(_) => panic!("{what}: {thread} is read as another journal"),
                Err(StoreError::NoThread { .. }) => less = true,
                Err(error) => {
                    is_named(&error, what);
                    refused = true;
                }
            }
        }
        match store.list(&Query::default()) {
            Ok(list) => less |= list != whole.list,
            Err(error) => {
                is_named(&error, what);
                refused = true;
            }
        }
        match (refused, less) {
            (true, _) => self.refused += 1,
            (false, false) => self.same += 1,
            (false, true) => {
                assert_ne!(
                    store.check().ok(),
                    Some(Vec::new()),
                    "{what}: something is lost, and all is well"
                );
                self.checked += 1;
            }
        }
    }
}

/// A store of one's own, and what is kept in it.
struct Place {
    _folder: TempDir,
    path: PathBuf,
    kept: Kept,
    spoilt: Spoilt,
}

impl Place {
    fn new() -> Self {
        let folder = folder();
        let path = folder.path().join("threads.db");
        write(&path);
        let kept = Kept::of(&open(&path));
        let spoilt = Spoilt::new(&path);
        Place { _folder: folder, path, kept, spoilt }
    }

    fn look(&mut self, came: &mut Came, at: usize, bytes: &[u8], what: &str) {
        let (path, kept) = (&self.path, &self.kept);
        self.spoilt.with(at, bytes, || came.note(path, kept, what));
        for file in ["-wal", "-shm"] {
            let left = path.with_file_name(format!("threads.db{file}"));
            assert!(!left.exists(), "{what}: nothing was written, and nothing is left");
        }
    }
}

/// Every byte of the database whose number is even, or odd.
fn check_bytes(odd: usize) {
    let mut place = Place::new();
    let (mut came, mut tries) = (Came::default(), 0);
    for at in (odd..place.spoilt.whole.len()).step_by(2) {
        for mask in masks(at) {
            let spoilt = place.spoilt.whole[at] ^ mask;
            place.look(&mut came, at, &[spoilt], &format!("byte {at} by {mask:#x}"));
            tries += 1;
        }
    }
    let len = place.spoilt.whole.len();
    println!("{tries} tries at {} bytes of {len}: {came:?}", len / 2);
    assert_eq!(came.all(), tries);
    assert!(tries >= len / 2 + len / 197 * 4, "{tries} tries at every second of {len} bytes");
    assert!(came.refused > tries / 8 && came.closed > 0 && came.checked > 0, "{tries} tries: {came:?}");
}

#[test]
fn database_with_any_even_byte_spoilt_is_read_the_same_or_refused() {
    check_bytes(0);
}

#[test]
fn database_with_any_odd_byte_spoilt_is_read_the_same_or_refused() {
    check_bytes(1);
}

#[test]
fn database_with_any_block_zeroed_is_read_the_same_or_refused() {
    let mut place = Place::new();
    let len = place.spoilt.whole.len();
    for size in [512, 4_096] {
        let (mut came, mut blank, mut unsaid) = (Came::default(), 0, 0);
        for at in (0..len).step_by(512) {
            let (end, same) = (len.min(at + size), came.same);
            let zeros = vec![0; end - at];
            let is_blank = place.spoilt.whole[at..end] == zeros;
            blank += usize::from(is_blank);
            place.look(&mut came, at, &zeros, &format!("{size} bytes zeroed at {at}"));
            if came.same > same && !is_blank {
                // A list does without its index; the check names it.
                let path = &place.path;
                let check = || SqliteStore::open(path, Durability::Normal).unwrap().check().unwrap();
                unsaid += usize::from(place.spoilt.with(at, &zeros, check).is_empty());
            }
        }
        println!("{} blocks of {size}, {blank} of them zeros already: {came:?}", len / 512);
        assert_eq!(came.all(), len / 512);
        // The head of a page on which nothing stands says nothing.
        assert!(unsaid <= 3, "{unsaid}: {came:?}");
        assert!(came.refused > len / 512 / 4, "{came:?}");
    }
}
