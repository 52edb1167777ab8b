//! Golden files: what earlier versions wrote is read by this one.

use std::path::{Path, PathBuf};

use planwright::journal::{FileJournal, Fixture, Outcome, fold};
use planwright::machine::PhaseName;

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
        assert!(folded.pending.is_empty() && folded.len == records.len() as u64, "{file}");
        assert_eq!(Fixture::of_records(&records, None).unwrap().exchanges.len(), 4, "{file}");
    }
}

#[test]
fn journal_of_an_earlier_format_is_written_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let whole = std::fs::read_to_string(golden("journal-3.jsonl")).unwrap();
    let first: String = whole.split_inclusive('\n').take(2).collect();
    std::fs::write(&path, first).unwrap();
    let spec = fold(FileJournal::parse(whole.as_bytes()).unwrap()).unwrap().rules.spec().clone();
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
