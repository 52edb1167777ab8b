//! The examples run as they stand, and are short.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn every_example_runs_without_a_key_and_has_fewer_than_60_lines() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (package, name, says) in [
        ("planwright-typed", "own_tools", "book_seats: {\"left\":7}\nshout: BOOKED\n"),
        ("planwright-typed", "typed_answer", "chair: 4900 cents (EUR)"),
        ("planwright-typed", "approval", "send: sent to Kim: Not this week.\n"),
        ("planwright-typed", "durable_thread", "- What did Kim Ltd charge? "),
        ("planwright", "mcp", "It is sunny in Seoul.\n"),
    ] {
        let source = std::fs::read_to_string(root.join(format!("examples/{name}.rs"))).expect(name);
        assert!(source.lines().count() < 60, "{name} has {} lines", source.lines().count());
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline", "--package", package, "--example", name]);
        let ran = cargo.current_dir(&root).output().expect("cargo runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(said.contains(says), "{name}: {said}");
    }
}
