//! Damage: whatever byte of what is kept is not as it was written, a journal is never read as another
//! one. It is the same, or it is refused by name.

mod crash_support;

use std::sync::{Arc, Mutex};

use planwright::driver::Agent;
use planwright::journal::{FileIo, FileJournal, Journal, JournalErrorKind, Record};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, input};

fn agent() -> Agent {
    Story::told().agent(&Log::in_memory(), Arc::new(|_| {}))
}

/// A file in memory, which costs nothing to spoil.
#[derive(Clone, Debug, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl FileIo for Bytes {
    fn size(&self) -> std::io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self) -> std::io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.cut(at)?;
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, at: u64) -> std::io::Result<()> {
        self.0.lock().unwrap().truncate(at as usize);
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn read(bytes: Vec<u8>) -> Result<Vec<Record>, JournalErrorKind> {
    let bytes = Bytes(Arc::new(Mutex::new(bytes)));
    let journal = FileJournal::over("journal", Box::new(bytes)).map_err(|error| error.kind())?;
    journal.records().map_err(|error| error.kind())
}

/// The story in lines, and its records.
fn lines() -> (Vec<u8>, Vec<Record>) {
    let bytes = Bytes::default();
    let mut journal = FileJournal::over("journal", Box::new(bytes.clone())).unwrap();
    let agent = agent();
    assert!(agent.job(input()).journal(&mut journal).run().unwrap().is_waiting());
    agent.resuming(&mut journal).answer(HumanAnswer::respond(WORD)).run().unwrap();
    let records = journal.records().unwrap();
    (bytes.read().unwrap(), records)
}

/// How often damage did no harm, was refused, and cost the last record.
#[derive(Default)]
struct Came {
    same: usize,
    refused: usize,
    without_last: usize,
}

impl Came {
    #[track_caller]
    fn note(&mut self, bytes: Vec<u8>, whole: &[Record], in_last: bool, what: &str) {
        match read(bytes) {
            Ok(records) if records == whole => self.same += 1,
            Ok(records) if in_last && records == whole[..whole.len() - 1] => self.without_last += 1,
            Ok(records) => panic!("{what}: {} records of {} were read", records.len(), whole.len()),
            Err(JournalErrorKind::Damaged | JournalErrorKind::Format) => self.refused += 1,
            Err(kind) => panic!("{what}: {kind:?}"),
        }
    }
}

#[test]
fn journal_file_with_any_byte_spoilt_is_the_same_or_refused() {
    let (whole, records) = lines();
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap();
    let mut came = Came::default();
    for at in 0..whole.len() {
        for spoilt in [whole[at] ^ 0xFF, whole[at] ^ 0x01, whole[at] ^ 0x20, b'\n'] {
            if spoilt != whole[at] {
                let mut bytes = whole.clone();
                bytes[at] = spoilt;
                came.note(bytes, &records, at > last, &format!("byte {at} made {spoilt:#x}"));
            }
        }
    }
    assert!(came.refused > 3 * (whole.len() - 10), "{} of {}", came.refused, whole.len());
    assert!(came.same <= 8, "{}: only the end of the last line says nothing", came.same);
    assert_eq!(came.without_last, 0, "with an end, the last line is whole or damaged");
}

#[test]
fn journal_file_with_any_block_zeroed_is_refused() {
    let (whole, records) = lines();
    let mut came = Came::default();
    for size in [512, 4_096] {
        for at in (0..whole.len()).step_by(512) {
            let mut bytes = whole.clone();
            let end = whole.len().min(at + size);
            bytes[at..end].fill(0);
            came.note(bytes, &records, false, &format!("{size} bytes zeroed at {at}"));
        }
    }
    assert_eq!((came.same, came.without_last, came.refused), (0, 0, 2 * whole.len().div_ceil(512)));
}

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::path::Path;

    use super::*;
    use planwright::driver::Threads;
    use planwright::journal::{
        Durability, Listed, Query, SqliteStore, Standing, Store, StoreError, ThreadId, fold,
    };

    fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open(path, Durability::Normal)
    }

    fn threads() -> [ThreadId; 2] {
        ["told", "기다림"].map(|name| name.parse().unwrap())
    }

    /// A store with a story that was told and one that waits; closed.
    fn write(path: &Path) {
        let (agent, threads_of) = (agent(), threads());
        let threads = Threads::new(Arc::new(open(path).unwrap()));
        for thread in &threads_of {
            assert!(threads.at(thread).ask_with(&agent, input()).unwrap().is_waiting());
        }
        threads.at(&threads_of[0]).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    }

    /// All that can be read: the list, and of each thread the records, folded.
    #[derive(Debug, PartialEq)]
    struct Kept {
        list: Vec<Listed>,
        threads: Vec<(Vec<Record>, String, Standing)>,
    }

    fn kept(store: &SqliteStore) -> Result<Kept, StoreError> {
        let list = store.list(&Query::default())?;
        let of = |thread: &ThreadId| {
            let records = store.records(thread, 0)?;
            let folded = fold(records.clone())?;
            let trace = serde_json::to_string(&folded.state.task.trace).unwrap();
            Ok((records, trace, Standing::of(&folded)))
        };
        Ok(Kept { list, threads: threads().iter().map(of).collect::<Result<_, StoreError>>()? })
    }

    /// What is read of spoilt bytes is what was written, or it is refused, or the check says what is
    /// wrong. Gives whether it was the same.
    #[track_caller]
    fn is_same(path: &Path, whole: &Kept, what: &str) -> bool {
        let Ok(store) = open(path) else { return false };
        match kept(&store) {
            Ok(read) if read == *whole => true,
            Ok(read) => {
                assert_eq!(read.threads, whole.threads, "{what}: read as another journal");
                assert_ne!(store.check().ok(), Some(Vec::new()), "{what}: a list differs, and all is well");
                false
            }
            // A thread that is not found is there, and the check knows.
            Err(StoreError::Journal(_)) => false,
            Err(other) => {
                assert_ne!(store.check().ok(), Some(Vec::new()), "{what}: {other}, and all is well");
                false
            }
        }
    }

    #[test]
    fn database_with_a_byte_spoilt_is_the_same_or_refused_or_the_check_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("threads.db");
        write(&path);
        let (whole, kept) = (std::fs::read(&path).unwrap(), kept(&open(&path).unwrap()).unwrap());
        let (mut same, mut other) = (0, 0);
        for (nth, at) in (0..whole.len()).step_by(41).enumerate() {
            let mut bytes = whole.clone();
            bytes[at] ^= [0xFF, 0x01, 0x20, 0x80][nth % 4];
            std::fs::write(&path, &bytes).unwrap();
            *(if is_same(&path, &kept, &format!("byte {at}")) { &mut same } else { &mut other }) += 1;
        }
        assert!(other > 150, "{other} of {}", same + other);
    }

    #[test]
    fn database_with_a_block_zeroed_is_the_same_or_refused_or_the_check_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("threads.db");
        write(&path);
        let (whole, kept) = (std::fs::read(&path).unwrap(), kept(&open(&path).unwrap()).unwrap());
        for size in [512, 4_096] {
            for at in (0..whole.len()).step_by(512) {
                let mut bytes = whole.clone();
                let end = whole.len().min(at + size);
                bytes[at..end].fill(0);
                std::fs::write(&path, &bytes).unwrap();
                is_same(&path, &kept, &format!("{size} bytes zeroed at {at}"));
            }
        }
    }

    /// Every frame of a log that was not yet moved into the database, spoilt in its header and its page.
    #[test]
    fn damage_in_the_write_ahead_log_is_refused_or_costs_the_last_transaction_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
        let (store, thread) = (open(&path).unwrap(), threads()[0].clone());
        let agent = agent();
        let threads = Threads::new(Arc::new(store));
        threads.at(&thread).ask_with(&agent, input()).unwrap();
        let whole = threads.store().records(&thread, 0).unwrap();
        let wal = std::fs::read(folder.path().join("threads.db-wal")).unwrap();
        let database = std::fs::read(&path).unwrap();
        let frames = (wal.len() - 32) / 4_120;
        assert!(frames > 12, "{frames}");
        let read = |spoilt: &[u8]| {
            let _ = std::fs::remove_file(folder.path().join("copy.db-shm"));
            std::fs::write(&copy, &database).unwrap();
            std::fs::write(folder.path().join("copy.db-wal"), spoilt).unwrap();
            open(&copy).and_then(|store| store.records(&thread, 0))
        };
        assert_eq!(read(&wal).unwrap(), whole);
        let (mut refused, mut cut) = (0, 0);
        for frame in 0..frames {
            for within in [0, 5, 9, 17, 24, 24 + 100, 24 + 4_000] {
                let mut spoilt = wal.clone();
                spoilt[32 + frame * 4_120 + within] ^= 0x41;
                match read(&spoilt) {
                    Ok(records) if records == whole => cut += 1,
                    Ok(records) => panic!("frame {frame}, byte {within}: {} records", records.len()),
                    Err(error) => {
                        assert!(error.to_string().contains("frame "), "{error}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused >= 7 * (frames - 8), "{refused} of {}", 7 * frames);
        assert!(cut < 7 * 8, "{cut}: the last transaction gives the thread back");
        for byte in [0, 9, 20, 30] {
            let mut spoilt = wal.clone();
            spoilt[byte] ^= 0x41;
            let said = read(&spoilt).unwrap_err().to_string();
            assert!(said.contains("the write-ahead log: its header is damaged"), "{said}");
        }
    }

    /// A crash in the middle of writing ahead: whatever of the log's end did not reach the disk.
    #[test]
    fn torn_end_of_the_write_ahead_log_is_a_crash_and_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
        let threads = Threads::new(Arc::new(open(&path).unwrap()));
        let thread = super::sqlite::threads()[0].clone();
        threads.at(&thread).ask_with(&agent(), input()).unwrap();
        let whole = threads.store().records(&thread, 0).unwrap();
        let wal = std::fs::read(folder.path().join("threads.db-wal")).unwrap();
        for cut in (32..wal.len()).step_by(1_030) {
            let _ = std::fs::remove_file(folder.path().join("copy.db-shm"));
            std::fs::copy(&path, &copy).unwrap();
            std::fs::write(folder.path().join("copy.db-wal"), &wal[..cut]).unwrap();
            let store = open(&copy).unwrap();
            match store.records(&thread, 0) {
                Ok(records) => assert_eq!(records, whole[..records.len()]),
                Err(error) => assert!(matches!(error, StoreError::NoThread { .. }), "{cut}: {error}"),
            }
            assert_eq!(store.check().unwrap(), [""; 0]);
        }
    }
}
