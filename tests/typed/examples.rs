//! The examples run as they stand, and are short.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn every_example_runs_without_a_key_and_has_fewer_than_60_lines() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, says) in [
        ("own_tools", "book_seats: {\"left\":7}\nshout: BOOKED\n"),
        ("typed_answer", "chair: 4900 cents (EUR)"),
        ("approval", "send: sent to Kim: Not this week.\n"),
        ("durable_thread", "- What did Kim Ltd charge? "),
    ] {
        let source = std::fs::read_to_string(root.join(format!("examples/{name}.rs"))).expect(name);
        assert!(source.lines().count() < 60, "{name} has {} lines", source.lines().count());
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline", "--package", "planwright-typed", "--example", name]);
        let ran = cargo.current_dir(&root).output().expect("cargo runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains(says), "{name}: {said}");
    }
}
