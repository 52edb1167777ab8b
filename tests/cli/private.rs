//! What people and models say to one another is its owner's alone on the disk, whatever the umask; what is
//! there already keeps its mode, and a fixture is made to be shared.
#![cfg(unix)]

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cli_support::{Home, check};

/// Runs the program where the umask takes nothing away.
#[track_caller]
fn open_handed(home: &Home, args: &[&str]) {
    check(&mut home.program_after("umask 000", args), "", 0);
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// All files and folders under a folder, itself included.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(all(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[track_caller]
fn are_private(folder: &Path, at_least: usize) {
    let found = all(folder);
    assert!(found.len() >= at_least, "{found:?}");
    for path in found {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}: {:o}", path.display(), mode(&path));
    }
}

const ASK: [&str; 3] = ["run", "--offline", "--quiet"];

#[test]
fn store_and_journal_are_their_owners_alone_and_a_fixture_is_not() {
    let home = Home::new();
    open_handed(&home, &[&ASK[..], &["--thread", "합계", "12/4+9?"]].concat());
    are_private(&home.path("data"), 3);
    // While it is open, its log and its holders are too.
    let store = crate::cli_support::store::store(&home);
    let lease = planwright::journal::Store::claim(
        &store,
        &"합계".parse().unwrap(),
        planwright::journal::Claim::Known,
    );
    are_private(&home.path("data"), 6);
    planwright::journal::Store::release(&store, lease.unwrap()).unwrap();

    open_handed(&home, &[&ASK[..], &["--journal", "run.jsonl", "--record", "run.json", "12/4+9?"]].concat());
    assert_eq!((mode(&home.path("run.jsonl")), mode(&home.path("run.json"))), (0o600, 0o666));
}

#[test]
fn what_is_there_already_keeps_its_mode() {
    let home = Home::new();
    let ask = |question| [&ASK[..], &["--store", "threads.db", "--thread", "sum", question]].concat();
    open_handed(&home, &ask("1+1?"));
    set_permissions(home.path("threads.db"), Permissions::from_mode(0o640)).unwrap();
    open_handed(&home, &ask("2+2?"));
    assert_eq!(mode(&home.path("threads.db")), 0o640);
}
