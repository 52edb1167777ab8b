//! Runs at once over one store: how many of them end in a second, and how long one takes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use planwright::driver::{Agent, Threads};
use planwright::journal::Durability;
use planwright_sqlite::SqliteStore;

use crate::support::{self, QUESTION};
use crate::world::World;

const AT_ONCE: [usize; 4] = [1, 16, 256, 1_000];

/// How long runs are begun.
const LASTS: Duration = Duration::from_secs(3);

/// The replan run, so many at once: on the disk of the system's folder for temporary files, and in memory.
pub fn table() {
    println!("\n| runs at once | | runs a second | p50 | p99 |");
    println!("| --- | --- | --- | --- | --- |");
    let memory = PathBuf::from("/dev/shm");
    let places = [("disk", std::env::temp_dir()), ("memory", memory)];
    for (name, place) in places.iter().filter(|(_, place)| place.is_dir()) {
        for durability in [Durability::Full, Durability::Normal] {
            let few = if support::measures() { &AT_ONCE[..] } else { &AT_ONCE[1..2] };
            few.iter().for_each(|count| row(name, place, durability, *count));
        }
    }
}

fn row(name: &str, place: &Path, durability: Durability, count: usize) {
    let folder = tempfile::tempdir_in(place).expect("a folder to write to");
    let store = SqliteStore::open(folder.path().join("threads.db"), durability).expect("opens");
    let (threads, ready) = (&Threads::new(Arc::new(store)), &Barrier::new(count + 1));
    let lasts = if support::measures() { LASTS } else { Duration::ZERO };
    let (mut each, passed) = std::thread::scope(|scope| {
        let worker = |nth: usize| {
            // Each with a model of its own, which knows how far its one run is.
            let agent = World::replan().agent();
            scope.spawn(move || {
                ready.wait();
                run_for(lasts, threads, &agent, nth)
            })
        };
        let workers: Vec<_> = (0..count).map(worker).collect();
        ready.wait();
        let began = Instant::now();
        let each = workers.into_iter().flat_map(|worker| worker.join().expect("nothing stops it"));
        (each.collect::<Vec<_>>(), began.elapsed())
    });
    each.sort();
    let at = |percent: usize| each[(each.len() - 1) * percent / 100];
    let rate = each.len() as f64 / passed.as_secs_f64();
    let (p50, p99) = (at(50), at(99));
    println!("| {count} | {name}, {durability:?} | {rate:.0} | {p50:.1?} | {p99:.1?} |");
}

/// Runs one after the other, each a new thread, for so long; at least one. Gives how long each took.
fn run_for(lasts: Duration, threads: &Threads, agent: &Agent, worker: usize) -> Vec<Duration> {
    let (began, mut each) = (Instant::now(), Vec::new());
    while each.is_empty() || began.elapsed() < lasts {
        let thread = format!("{worker}-{}", each.len()).parse().expect("a name");
        let asked = Instant::now();
        let run = threads.at(&thread).ask(agent, QUESTION).expect("nothing stops it");
        assert!(run.answer().is_some());
        each.push(asked.elapsed());
    }
    each
}
