//! A journal in a file: cut at any byte it loses no whole line, and it has one writer.

use std::path::{Path, PathBuf};

use planwright::journal::{FileJournal, Journal, JournalErrorKind, MemoryJournal, Record, fold};

use crate::resume::{agent, answers, recorded, replies};
use crate::stage::{Calls, model, spec};

/// A whole run in a file.
fn file_of(folder: &Path, records: &[Record]) -> PathBuf {
    let path = folder.join("실행.jsonl");
    let mut journal = FileJournal::create(&path).unwrap();
    for (index, record) in (0..).zip(records) {
        journal.append(index, vec![record.clone()]).unwrap();
    }
    path
}

#[test]
fn journal_file_cut_at_any_byte_folds_to_its_whole_lines() {
    let whole = recorded(spec("validated"));
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(file_of(folder.path(), &whole)).unwrap();
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let cut = folder.path().join("cut.jsonl");
    // Every byte of the last lines, and every eleventh before them.
    for end in (header + 1..bytes.len()).step_by(11).chain(bytes.len() - 250..=bytes.len()) {
        std::fs::write(&cut, &bytes[..end]).unwrap();
        let records = FileJournal::open(&cut).unwrap().records().unwrap();
        // A record is whole as soon as nothing but the end of its line is missing.
        let lines = bytes[..bytes.len().min(end + 1)].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(records, whole[..lines], "cut at byte {end}");
        fold(records).unwrap();
    }
}

#[test]
fn torn_last_line_is_dropped_and_the_run_goes_on_in_the_same_file() {
    let whole = recorded(spec("validated"));
    let end = fold(whole.clone()).unwrap().state;
    for len in (2..=whole.len()).step_by(4) {
        let folder = tempfile::tempdir().unwrap();
        let path = file_of(folder.path(), &whole[..len]);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let (models_before, tools_before) = answers(&whole[..len - 1]);
        let rest: Vec<String> = replies().into_iter().skip(models_before).collect();
        let (script, calls, mut journal) = (model(rest), Calls::default(), FileJournal::open(&path).unwrap());
        let run = agent(spec("validated"), &script, &calls).resume(&mut journal).run().unwrap();
        assert_eq!(*run.state(), end);
        assert_eq!((script.asked(), calls.count()), (5 - models_before, 4 - tools_before));
        let again = FileJournal::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(fold(again).unwrap().state, end, "the torn line is gone from the file");
    }
}

#[test]
fn corrupt_earlier_line_is_an_error_that_names_file_and_line() {
    let whole = recorded(spec("validated"));
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), &whole);
    let text = std::fs::read_to_string(&path).unwrap();
    for line in [1, 2, whole.len()] {
        let spoilt: Vec<&str> =
            text.lines().enumerate().map(|(at, it)| if at + 1 == line { "{\"고장\"" } else { it }).collect();
        std::fs::write(&path, spoilt.join("\n") + "\n").unwrap();
        let said = FileJournal::open(&path).unwrap_err().to_string();
        let wanted = format!("{}: line {line}: the seal does not fit: ", path.display());
        assert!(said.starts_with(&wanted), "{said}");
    }
}

#[test]
fn append_at_an_index_that_is_taken_or_too_far_is_refused() {
    let whole = recorded(spec("validated"));
    let folder = tempfile::tempdir().unwrap();
    let mut file = FileJournal::create(folder.path().join("run.jsonl")).unwrap();
    let mut memory = MemoryJournal::new();
    let journals: [&mut dyn Journal; 2] = [&mut memory, &mut file];
    for journal in journals {
        journal.append(0, vec![whole[0].clone()]).unwrap();
        for index in [0, 2] {
            let said = journal.append(index, vec![whole[1].clone()]).unwrap_err().to_string();
            assert_eq!(
                said,
                format!("journal record {index}: another writer was here: the journal has 1 records")
            );
        }
        journal.append(1, vec![whole[1].clone()]).unwrap();
        assert_eq!(journal.records().unwrap(), whole[..2]);
    }
}

#[test]
fn second_writer_of_a_journal_file_is_refused() {
    let whole = recorded(spec("validated"));
    let folder = tempfile::tempdir().unwrap();
    let path = file_of(folder.path(), &whole[..3]);
    let mut one = FileJournal::open(&path).unwrap();
    let error = FileJournal::open(&path).unwrap_err();
    assert_eq!(error.kind(), JournalErrorKind::Locked);
    assert_eq!(error.to_string(), format!("{}: another process is writing to it", path.display()));
    one.append(3, vec![whole[3].clone()]).unwrap();
    // Who writes past the lock is noticed.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.push(b'x');
    std::fs::write(&path, bytes).unwrap();
    let said = one.append(4, vec![whole[4].clone()]).unwrap_err().to_string();
    assert!(said.starts_with(&format!("{}: another writer was here: expected ", path.display())), "{said}");
    drop(one);
    assert_eq!(
        FileJournal::parse(&std::fs::read(&path).unwrap()[..]).unwrap_err().kind(),
        JournalErrorKind::Damaged
    );
}

#[test]
fn journal_file_is_not_begun_twice_and_not_opened_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let said = FileJournal::open(&path).unwrap_err().to_string();
    assert!(said.starts_with(&format!("{}: cannot be opened: ", path.display())), "{said}");
    let whole = recorded(spec("validated"));
    FileJournal::create(&path).unwrap().append(0, vec![whole[0].clone()]).unwrap();
    let said = FileJournal::create(&path).unwrap_err().to_string();
    assert_eq!(said, format!("{}: there is a file already", path.display()));
    std::fs::write(&path, "notes without a line end").unwrap();
    assert!(FileJournal::create(&path).is_err(), "somebody's file is not taken for a journal");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "notes without a line end");
}

#[test]
fn journal_that_was_stopped_in_its_first_line_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let whole = recorded(spec("validated"));
    let header = std::fs::read_to_string(file_of(folder.path(), &whole[..1])).unwrap();
    for torn in [0, 1, 9, 32, 33, 40, header.len() - 2] {
        std::fs::write(&path, &header[..torn]).unwrap();
        let mut journal = FileJournal::create(&path).unwrap();
        journal.append(0, vec![whole[0].clone()]).unwrap();
        drop(journal);
        assert_eq!(FileJournal::open(&path).unwrap().records().unwrap(), whole[..1]);
    }
}
