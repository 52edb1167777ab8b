//! A journal in a file has one writer, and what earlier versions wrote is read by this one. What becomes of a
//! file that was cut or spoilt is in `tests/store`.

use std::path::{Path, PathBuf};

use planwright::journal::{
    Divergence, FileJournal, Fixture, Journal, JournalErrorKind, MemoryJournal, Outcome, Record, fold,
};
use planwright::machine::PhaseName;

use crate::resume::recorded;
use crate::stage::spec;

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
    let said = FileJournal::open(&path).unwrap_err().to_string();
    assert!(said.starts_with(&format!("{}: line 1: the seal does not fit: ", path.display())), "{said}");
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

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

#[test]
fn journals_of_every_format_are_read() {
    for file in ["journal-3.jsonl", "journal-4.jsonl"] {
        let records = FileJournal::parse(&std::fs::read(golden(file)).unwrap()).unwrap();
        let folded = fold(records.clone()).unwrap();
        assert_eq!(folded.state.phase(), PhaseName::Done, "{file}");
        assert_eq!(Outcome::ended(&folded.state), Some(Outcome::Answer("12/4+9 = 12".to_owned())), "{file}");
        assert!(folded.doubts().next().is_none() && folded.next_index() == records.len() as u64, "{file}");
        assert_eq!(Fixture::of_records(&records, None).unwrap().exchanges.len(), 4, "{file}");
        // The models were asked in an earlier order of words: what they answered counts, and each tool call.
        assert_eq!(Divergence::find(&records, None, true).unwrap(), None, "{file}");
    }
}

#[test]
fn journal_of_an_earlier_format_is_written_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let whole = std::fs::read_to_string(golden("journal-3.jsonl")).unwrap();
    let first: String = whole.split_inclusive('\n').take(2).collect();
    std::fs::write(&path, first).unwrap();
    let spec = fold(FileJournal::parse(whole.as_bytes()).unwrap()).unwrap().compiled.spec().clone();
    let calc = planwright_docs::Calc::new();
    let agent = planwright::driver::Agent::builder(spec).model(planwright_offline::Offline::new()).tool(calc);
    let run = agent.build().unwrap().resume(&mut FileJournal::open(&path).unwrap()).run().unwrap();
    assert_eq!(run.answer(), Some("12/4+9 = 12"));
    let records = FileJournal::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(&fold(records).unwrap().state, run.state(), "records of both formats fold as one run");
}

#[test]
fn fixtures_of_every_format_are_read() {
    let fixture = Fixture::load(golden("fixture-1.json")).unwrap();
    assert_eq!(fixture.to_json(), std::fs::read_to_string(golden("fixture-1.json")).unwrap());
}

#[test]
fn specs_are_read() {
    let spec =
        planwright::spec::Spec::from_toml(&std::fs::read_to_string(golden("spec.toml")).unwrap()).unwrap();
    assert_eq!(spec.name, "react");
    spec.check().unwrap();
}
