//! The program dies at any call that writes to its store: before it, half-way in it, and after it. Another
//! process goes on to the same answer, and finds nothing damaged.
//!
//! Where every call is to be the last one once, and not only some of them, the variable
//! `PLANWRIGHT_TEST_ALL_CALLS` is set.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cli_support::Home;
use crate::faults::Fault;

const THREAD: &str = "죽어도 계속";
const QUESTION: &str = "12/4+9?";

/// The program with a store in a folder of its own.
struct Stored {
    home: Home,
    library: PathBuf,
}

impl Stored {
    fn new() -> Self {
        let home = Home::new();
        let library = crate::faults::library(&home.path("."));
        Stored { home, library }
    }

    fn clear(&self) -> PathBuf {
        let folder = self.home.path("").canonicalize().unwrap().join("kept");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut program = self.home.program();
        program.args(args).args(["--store", "kept/threads.db"]);
        program
    }

    fn runs(&self) -> Command {
        self.program(&["run", "--offline", "--tools", "calc", "--thread", THREAD, QUESTION])
    }

    /// Where the thread is there, it is gone on with; where not, or where it has ended, it is looked at.
    fn ends(&self) -> String {
        let resumed = self.program(&["threads", "resume", THREAD, "--offline"]).output().unwrap();
        let (out, err) = said(&resumed);
        if resumed.status.success() && !out.is_empty() {
            return out;
        }
        let begun = !["there is no thread", "there is no store"].iter().any(|said| err.contains(said));
        assert!(!begun, "{}: {out}{err}", resumed.status);
        let again = self.runs().output().unwrap();
        assert!(again.status.success(), "{:?}", said(&again));
        said(&again).0
    }

    fn is_sound(&self) {
        let checked = self.program(&["threads", "check"]).output().unwrap();
        assert!(checked.status.success(), "{:?}", said(&checked));
    }

    /// Dies at one call. Gives whether there was such a call.
    fn dies(&self, fault: &Fault, kth: u64, folder: &Path) -> bool {
        let mut program = self.runs();
        crate::faults::preload(&mut program, &self.library, folder);
        crate::faults::first(&mut program, fault, kth);
        let ended = program.output().unwrap();
        assert!(ended.status.success() || ended.status.signal() == Some(9), "{:?}", said(&ended));
        ended.status.signal() == Some(9)
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn run_in_a_store_survives_the_death_of_the_program_at_any_call() {
    let stored = Stored::new();
    stored.clear();
    let straight = stored.runs().output().unwrap();
    assert!(straight.status.success(), "{:?}", said(&straight));
    let answer = said(&straight).0;
    let stride = if std::env::var_os("PLANWRIGHT_TEST_ALL_CALLS").is_some() { 1 } else { 3 };
    for fault in [Fault::dies("before", "wtsn"), Fault::dies("dies", "w"), Fault::dies("after", "wtsn")] {
        let mut died = 0;
        for kth in (1..).step_by(stride) {
            let folder = stored.clear();
            let dies = stored.dies(&fault, kth, &folder);
            assert_eq!(stored.ends(), answer, "{fault} call {kth}");
            stored.is_sound();
            if !dies {
                break;
            }
            died += 1;
        }
        println!("died {died} times, {fault} a call");
        assert!(died >= 3, "died {died} times only, {fault} a call");
    }
}
