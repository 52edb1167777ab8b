//! What it costs that a run outlives its process: whole runs through [`Threads`] with [`SqliteStore`],
//! next to a loop written by hand that writes each step down as one row of such a database; long runs,
//! and many threads that wait. In memory where the system has a file system there, so that no disk is
//! measured. With the argument `at_once`, runs at once over one store instead; with `scale`, a service
//! at scale by simulation.

mod at_once;
mod by_hand;
mod measured;
mod scale;
#[path = "../support/mod.rs"]
mod support;
mod waiting;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use by_hand::Rows;
use measured::{Taken, taken};
use planwright::driver::Threads;
use planwright::journal::{Durability, ThreadId, fold};
use planwright_sqlite::SqliteStore;
use support::QUESTION;
use world::World;

const SIZES: [usize; 3] = [10, 100, 1_000];

fn main() {
    if std::env::args().any(|argument| argument == "at_once") {
        return at_once::table();
    }
    if std::env::args().any(|argument| argument == "scale") {
        return scale::table();
    }
    let folder = folder();
    let rounds = if support::measures() { 20 } else { 1 };
    println!("in {}, per run\n", folder.path().display());
    println!("| | by hand | bytes | threads | bytes | time | bytes |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for durability in [Durability::Normal, Durability::Full] {
        compare(folder.path(), &format!("replan, {durability:?}"), durability, rounds, 100, World::replan);
    }
    let mut each = Vec::new();
    for steps in SIZES {
        let runs = u32::try_from(2_000 / steps).expect("few");
        let name = format!("{steps} steps, Normal");
        let taken = compare(folder.path(), &name, Durability::Normal, rounds, runs, || World::steps(steps));
        each.push(taken.time / u32::try_from(steps).expect("few"));
    }
    let grows = each[SIZES.len() - 1].as_secs_f64() / each[0].as_secs_f64();
    println!("\na step of {} takes {grows:.2} times as long as one of {} (bar: 1.5)", SIZES[2], SIZES[0]);
    if support::measures() {
        long_run(folder.path(), 1_000);
        long_run(folder.path(), 10_000);
        waiting::many(folder.path(), 10_000);
    }
}

/// A folder in memory where there is one.
fn folder() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    let at = if memory.is_dir() { memory } else { std::env::temp_dir() };
    tempfile::tempdir_in(at).expect("a folder to write to")
}

/// Times one run by hand against that run through a store, each run a thread of its own.
fn compare(
    folder: &Path,
    name: &str,
    durability: Durability,
    rounds: usize,
    runs: u32,
    world: impl Fn() -> World,
) -> Taken {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    let rows = Rows::open(&folder.join(format!("rows{nth}.db")), durability);
    let store = SqliteStore::open(folder.join(format!("threads{nth}.db")), durability).expect("opens");
    let (threads, agent, mut asked) = (Threads::new(Arc::new(store)), world().agent(), world());
    let (mut by_hand, mut by_thread) = (0, 0);
    let [hand, ours] = taken(
        rounds,
        runs,
        [
            &mut || {
                by_hand += 1;
                drop(rows.run(&format!("thread-{by_hand:06}"), QUESTION, &mut asked));
            },
            &mut || {
                by_thread += 1;
                let run = threads.at(&thread(by_thread)).ask(&agent, QUESTION).expect("nothing stops it");
                assert!(run.answer().is_some());
            },
        ],
    );
    println!(
        "| {name} | {:.1?} | {} | {:.1?} | {} | {:.2} | {:.2} |",
        hand.time,
        hand.bytes,
        ours.time,
        ours.bytes,
        ours.time.as_secs_f64() / hand.time.as_secs_f64(),
        ours.bytes as f64 / hand.bytes as f64,
    );
    ours
}

fn thread(nth: usize) -> ThreadId {
    format!("thread-{nth:06}").parse().expect("a name")
}

/// One run of many steps: the size of its database, and how long it takes to fold it and to go on with
/// it where it broke off.
fn long_run(folder: &Path, steps: usize) {
    let path = folder.join(format!("long{steps}.db"));
    let store = Arc::new(SqliteStore::open(&path, Durability::Normal).expect("opens"));
    let (threads, agent) = (Threads::new(store), World::steps(steps).agent());
    threads.at(&thread(0)).ask(&agent, QUESTION).expect("nothing stops it");
    let whole = threads.store().records(&thread(0), 0).expect("reads");
    let len = whole.len();
    let began = Instant::now();
    fold(threads.store().records(&thread(0), 0).expect("reads")).expect("folds");
    let folded = began.elapsed();
    threads.fork(&thread(0), None, Some(len as u64 - 4), &thread(1)).expect("copies");
    let began = Instant::now();
    let run = threads.at(&thread(1)).resume(&agent).expect("goes on");
    assert!(run.answer().is_some());
    let resumed = began.elapsed();
    threads.delete(&thread(1)).expect("is there");
    threads.store().vacuum().expect("nobody else is there");
    let bytes = std::fs::metadata(&path).expect("is there").len();
    println!("{steps} steps: {bytes} bytes; read and folded in {folded:.1?}, gone on with in {resumed:.1?}");
}
