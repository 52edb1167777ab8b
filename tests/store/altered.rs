//! Journals spoilt: bytes and blocks that are not as they were written; lines doubled, moved, lost, put in from
//! elsewhere or rewritten, also under seals that fit. Each is the same, or it is refused by name; none is read as
//! another run.

use std::sync::Arc;

use planwright::journal::{FileJournal, Journal, JournalErrorKind, MemoryStore, Record, fold};
use planwright::spec::Digest;

use crate::support::{agent, id, tell};

/// The lines of a journal, and those of another run of the same story.
fn two() -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let written = ["one", "two"].map(|name| {
        let (path, told) = (folder.path().join(name), tell(Arc::new(MemoryStore::new()), &id(name), true));
        FileJournal::create(&path).unwrap().append(0, told).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        text.split_inclusive('\n').map(str::to_owned).collect()
    });
    written.into()
}

/// Texts as lines whose seals fit.
fn sealed<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<u8> {
    let (mut seal, mut bytes) = (Digest::of([b"planwright-journal".as_slice()]), Vec::new());
    for text in texts {
        seal = Digest::of([seal.bytes(), text.as_bytes()]);
        bytes.extend(format!("{seal} {text}\n").bytes());
    }
    bytes
}

/// The record's text of a line.
fn text(line: &str) -> &str {
    line[33..].trim_end()
}

/// Refused as a journal, with this in what is said.
#[track_caller]
fn refused(bytes: &[u8], kind: JournalErrorKind, says: &str) {
    let error = FileJournal::parse(bytes).and_then(|records| fold(records).map(drop)).unwrap_err();
    let said = error.to_string();
    assert!(error.kind() == kind && said.contains(says), "expected {says:?} in: {said}");
    assert!(said.len() < 500, "{} bytes are said", said.len());
}

#[track_caller]
fn damaged(lines: &[String], says: &str) {
    refused(lines.concat().as_bytes(), JournalErrorKind::Damaged, says);
}

#[test]
fn line_that_is_doubled_moved_lost_or_another_runs_is_named() {
    let (whole, other) = two();
    let (len, unsealed) = (whole.len(), "the seal does not fit");
    assert!(len > 20 && other.len() == len && whole[3] != other[3]);
    for at in 0..len {
        let mut bent = whole.clone();
        bent.insert(at + 1, whole[at].clone());
        damaged(&bent, &format!("line {}: {unsealed}", at + 2));
        let mut bent = whole.clone();
        bent.push(whole[at].clone());
        damaged(&bent, &format!("line {}: {unsealed}", len + 1));
        let mut bent = whole.clone();
        bent[at].clone_from(&other[at]);
        // The other's first line is a first line; the next does not follow it.
        damaged(&bent, &format!("line {}: {unsealed}", at.max(1) + 1));
        if at + 1 < len {
            let mut bent = whole.clone();
            bent.swap(at, at + 1);
            damaged(&bent, &format!("line {}: {unsealed}", at + 1));
            let mut bent = whole.clone();
            bent.remove(at);
            damaged(&bent, &format!("line {}: {unsealed}", at + 1));
        }
    }
    damaged(&other[..5].iter().chain(&whole[5..]).cloned().collect::<Vec<_>>(), "line 6: ");
    damaged(&whole.iter().chain(&other).cloned().collect::<Vec<_>>(), &format!("line {}: ", len + 1));
}

#[test]
fn text_that_an_editor_spoilt_is_named() {
    let (whole, _) = two();
    let text = whole.concat();
    damaged(&[text.replace('\n', "\r\n")], "line 1: the seal does not fit");
    damaged(&[text.replacen('\n', "\r\n", 5)], "line 1: the seal does not fit");
    damaged(&[text.trim_end().replace('\n', "\r\n")], "line 1: ");
    damaged(&[format!("\u{feff}{text}")], "line 1: the seal does not fit");
    damaged(&[text.replacen("보고서", "보고사", 1)], "line 1: the seal does not fit");
    for end in ["garbage\n", "garbage", "\n", " ", "{}\n", "\0\n", "// 메모\n", "\u{feff}"] {
        damaged(&[text.clone(), end.to_owned()], &format!("line {}: the seal does not fit", whole.len() + 1));
    }
    damaged(&["\n".to_owned(), text.clone()], "line 1: ");
    for huge in ["x".repeat(16 << 20), format!("{}\n", "x".repeat(16 << 20))] {
        damaged(&[text.clone(), huge], &format!("line {}: the seal does not fit", whole.len() + 1));
    }
    let mut bytes = text.clone().into_bytes();
    let at = text.find("보고서").unwrap();
    bytes[at + 1] = 0xFF;
    refused(&bytes, JournalErrorKind::Damaged, "line 1: the seal does not fit");
    refused(
        &text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
        JournalErrorKind::Damaged,
        "line 1: ",
    );
}

#[test]
fn journal_of_another_format_is_refused_by_its_number_sealed_or_not() {
    let (whole, _) = two();
    let header = text(&whole[0]).replacen("\"format\":6", "\"format\":9", 1);
    let says = "expected journal format 6, found 9";
    refused(&sealed([header.as_str()]), JournalErrorKind::Format, says);
    refused(&sealed([&*header, text(&whole[1])]), JournalErrorKind::Format, says);
    let unsealed = whole.concat().replacen("\"format\":6", "\"format\":9", 1);
    refused(unsealed.as_bytes(), JournalErrorKind::Format, says);
    refused(format!("{header}\n").as_bytes(), JournalErrorKind::Format, says);
    refused(&sealed(["{\"header\":{\"format\":9,\"told\":\"otherwise\"}}"]), JournalErrorKind::Format, says);
}

/// What a forger writes who knows how lines are sealed still has to be a run.
#[test]
fn lines_that_are_sealed_and_mean_nothing_are_named() {
    let (whole, other) = two();
    let texts: Vec<&str> = whole.iter().map(|line| text(line)).collect();
    assert_eq!(sealed(texts.iter().copied()), whole.concat().as_bytes(), "so they are sealed");
    let with = |at: usize, text: &str| {
        let mut bent = texts.clone();
        bent[at] = text;
        sealed(bent)
    };
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let header = texts[0].replacen("\"input\":", "\"extra\":1,\"input\":", 1);
    for (at, text, says) in [
        (4, "{", "line 5: does not read as a journal record"),
        (4, "", "line 5: does not read as a journal record"),
        (4, "null", "line 5: does not read as a journal record"),
        (4, "{\"happening\":{}}", "line 5: does not read as a journal record"),
        (4, &deep, "line 5: does not read as a journal record"),
        (4, text(&other[0]), "journal record 4: expected no second header"),
        (0, "{}", "line 1: does not read"),
        (0, &header, "line 1: does not read"),
        (0, texts[1], "journal record 0: expected a header, found another record"),
    ] {
        refused(&with(at, text), JournalErrorKind::Damaged, says);
    }
    // An answer that was given already, and one before it was asked for.
    let answered = texts.iter().position(|text| text.starts_with("{\"answered\"")).unwrap();
    let mut twice = texts.clone();
    twice.insert(answered + 1, texts[answered]);
    refused(&sealed(twice), JournalErrorKind::Damaged, &format!("journal record {}: ", answered + 1));
    let last = texts.iter().rposition(|text| text.starts_with("{\"answered\"")).unwrap();
    refused(&with(answered, texts[last]), JournalErrorKind::Damaged, &format!("journal record {answered}: "));
    refused(b"", JournalErrorKind::Damaged, "expected a header, found an empty journal");
}

#[test]
fn journal_of_a_header_alone_is_a_run_that_has_just_begun() {
    let (whole, _) = two();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, &whole[0]).unwrap();
    let run = agent().resume(&mut FileJournal::open(&path).unwrap()).run().unwrap();
    assert!(run.is_waiting(), "it goes on from its start");
}

/// The story in lines, and its records.
fn told() -> (Vec<u8>, Vec<Record>) {
    let bytes = two().0.concat().into_bytes();
    let records = FileJournal::parse(&bytes).unwrap();
    (bytes, records)
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
        match FileJournal::parse(&bytes).map_err(|error| error.kind()) {
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
    let (whole, records) = told();
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
    let (whole, records) = told();
    let mut came = Came::default();
    for size in [512, 4_096] {
        for at in (0..whole.len()).step_by(512) {
            let mut bytes = whole.clone();
            let end = whole.len().min(at + size);
            bytes[at..end].fill(0);
            let what = format!("{size} bytes zeroed at {at}");
            match bytes.ends_with(b"\0") {
                // As after a loss of power: what was appended last is gone, and nothing else.
                true => assert!(records.starts_with(&FileJournal::parse(&bytes).expect(&what)), "{what}"),
                false => came.note(bytes, &records, false, &what),
            }
        }
    }
    assert_eq!((came.same, came.without_last, came.refused), (0, 0, 2 * whole.len().div_ceil(512) - 9));
}
