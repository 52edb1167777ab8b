//! Damage: whatever byte of what is kept is not as it was written, a journal is never read as another
//! one. It is the same, or it is refused by name.

use std::sync::Arc;

use planwright::journal::{FileJournal, Journal, JournalErrorKind, MemoryStore, Record};

use crate::support::{id, tell};

fn read(bytes: Vec<u8>) -> Result<Vec<Record>, JournalErrorKind> {
    FileJournal::parse(&bytes).map_err(|error| error.kind())
}

/// The story in lines, and its records.
fn lines() -> (Vec<u8>, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let records = tell(Arc::new(MemoryStore::new()), &id("demo"), true);
    FileJournal::create(&path).unwrap().append(0, records.clone()).unwrap();
    (std::fs::read(path).unwrap(), records)
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
