//! Faults of the system, as it makes them: a library of C, compiled here and preloaded into a process, fails
//! the k-th call that concerns what is under one folder. See `shim.c`.
//!
//! A test runs itself again with the library preloaded, and in there says which calls are to fail.
#![allow(dead_code, reason = "each binary uses a part of it")]

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "PLANWRIGHT_FAULTS";
const FIRST: &str = "PLANWRIGHT_FAULTS_FIRST";

/// What goes wrong with which calls.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub name: &'static str,
    /// How: `fail`, `half` (a part is written, and the next write fails), `short` (a part is written, and
    /// said to be), `before`, `dies` and `after` (the process dies before, half-way in and after the call).
    pub how: &'static str,
    /// The classes of calls; see `shim.c`.
    pub classes: &'static str,
    error: i32,
    /// What is said of it.
    pub said: &'static str,
}

const fn fault(
    name: &'static str,
    how: &'static str,
    classes: &'static str,
    error: i32,
    said: &'static str,
) -> Fault {
    Fault { name, how, classes, error, said }
}

const EIO: i32 = 5;
const NO_SPACE: &str = "No space left on device";
const IO_ERROR: &str = "Input/output error";

pub const FULL: Fault = fault("no space", "fail", "wtsn", 28, NO_SPACE);
pub const BROKEN: Fault = fault("broken disk", "fail", "wtsn", EIO, IO_ERROR);
pub const HALF: Fault = fault("half a write", "half", "w", 28, NO_SPACE);
pub const SHORT: Fault = fault("short write", "short", "w", 0, "");
pub const UNSYNCED: Fault = fault("failed sync", "fail", "s", EIO, IO_ERROR);
pub const UNREAD: Fault = fault("failed read", "fail", "r", EIO, IO_ERROR);
pub const UNLOCKED: Fault = fault("failed lock", "fail", "l", EIO, IO_ERROR);

/// Nothing can be made, written or taken away.
pub const READ_ONLY: Fault = fault("read-only medium", "fail", "wtn", 30, "Read-only file system");

/// All kinds, of which the first three and the failed sync are those of a disk that does not take more.
pub const ALL: [Fault; 7] = [FULL, BROKEN, HALF, SHORT, UNSYNCED, UNREAD, UNLOCKED];

/// Which calls fail: the k-th alone, or it and all after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    Once,
    ForGood,
}

impl Fault {
    /// The process dies at one call.
    pub fn dies(how: &'static str, classes: &'static str) -> Self {
        Fault { name: how, how, classes, error: EIO, said: "" }
    }

    fn path(&self, kth: u64, span: Span) -> String {
        let count = if span == Span::Once { 1 } else { i64::from(u32::MAX) };
        format!("/planwright-faults/{}/{}/{}/{kth}/{count}", self.how, self.classes, self.error)
    }

    /// From here on, the k-th call fails.
    pub fn strikes(&self, kth: u64, span: Span) {
        assert!(File::open(self.path(kth, span)).is_err(), "nothing is preloaded that would hear this");
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// How many calls there were of the classes that are meant.
    pub calls: u64,
    /// How many of them failed.
    pub fired: u64,
    /// What a loss of power would have taken.
    pub unsynced: Vec<String>,
}

/// The system works again. What a loss of power would take is kept account of until the next fault.
pub fn heal() -> Report {
    let mut text = String::new();
    let mut report = File::open("/planwright-faults/report").expect("the library is preloaded");
    report.read_to_string(&mut text).expect("a report");
    let mut report = Report::default();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("calls", count)) => report.calls = count.parse().expect("a number"),
            Some(("fired", count)) => report.fired = count.parse().expect("a number"),
            _ => report.unsynced.push(line.to_owned()),
        }
    }
    report
}

/// Compiles the library, into a folder.
pub fn library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("shim.c"), folder.join("faults.so"));
    std::fs::write(&source, include_str!("shim.c")).expect("a source");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source).arg("-ldl");
    let said = compiler.output().expect("a C compiler, as for SQLite");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    library
}

/// Runs a program with the library preloaded, so that calls fail that concern a folder.
pub fn preload(program: &mut Command, library: &Path, folder: &Path) {
    program.env("LD_PRELOAD", library).env(FOLDER, folder);
}

/// Has a program's k-th call fail.
pub fn first(program: &mut Command, fault: &Fault, kth: u64) {
    program.env(FIRST, fault.path(kth, Span::Once));
}

/// The folder whose calls can be made to fail.
pub fn root() -> PathBuf {
    std::env::var_os(FOLDER).expect("the library is preloaded").into()
}

/// Whether this process is one in which calls can be made to fail. Where not, the test of this name is run in
/// such a process.
pub fn are_here(test: &str) -> bool {
    if std::env::var_os(FOLDER).is_some() {
        return true;
    }
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().canonicalize().expect("a path").join("faulty");
    std::fs::create_dir(&folder).expect("a folder");
    let mut child = Command::new(std::env::current_exe().expect("this test"));
    preload(&mut child, &library(place.path()), &folder);
    let said = child.args([test, "--nocapture"]).output().expect("the child starts");
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    println!("{out}");
    assert!(said.status.success() && out.contains("1 passed"), "{}: {out}\n{err}", said.status);
    false
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
