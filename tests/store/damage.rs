//! Damage: whatever byte of what is kept is not as it was written, a journal is never read as another
//! one. It is the same, or it is refused by name.

use crate::crash_support;

use std::sync::{Arc, Mutex};

use planwright::driver::Agent;
use planwright::journal::{FileIo, FileJournal, Journal, JournalErrorKind, Record};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, input};

pub fn agent() -> Agent {
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
fn journal_file_with_any_block_zeroed_is_refused_or_loses_its_unconfirmed_end() {
    let (whole, records) = lines();
    let mut came = Came::default();
    for size in [512, 4_096] {
        for at in (0..whole.len()).step_by(512) {
            let mut bytes = whole.clone();
            let end = whole.len().min(at + size);
            bytes[at..end].fill(0);
            let what = format!("{size} bytes zeroed at {at}");
            match bytes.ends_with(b"\0") {
                // As after a loss of power: what was appended last is gone, and nothing else.
                true => assert!(records.starts_with(&read(bytes).expect(&what)), "{what}"),
                false => came.note(bytes, &records, false, &what),
            }
        }
    }
    assert_eq!((came.same, came.without_last, came.refused), (0, 0, 2 * whole.len().div_ceil(512) - 9));
}
