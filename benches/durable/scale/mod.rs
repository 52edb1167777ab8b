//! What a service needs at scale, by simulation, and how far the simulation can be trusted: beside real runs over a real
//! store at the scale of this computer.

mod simulation;

use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use planwright::driver::{Agent, Threads};
use planwright::journal::{Durability, MemoryStore};
use planwright_sqlite::SqliteStore;

use crate::measured::{memory, taken};
use crate::support::{self, QUESTION};
use crate::world::{Pass, World};
use simulation::{APPENDS, Arrivals, Costs, Load, Machines, Random, SEED, predict, simulate};

/// What real runs are made with: how many at once, and what a model or tool takes in the median, in seconds.
const COMPARED: [(usize, f64); 7] =
    [(16, 0.05), (256, 0.05), (1_000, 0.05), (16, 0.005), (64, 0.005), (256, 0.005), (16, 0.001)];
/// The deviation of the logarithm of what a model or tool takes.
const SPREAD: f64 = 0.5;

/// Runs a second and processes; of those that wait for a person, each takes a day.
const SERVICES: [(f64, usize, f64); 5] = [
    (1.0, 1, 86_400.0),
    (10.0, 1, 86_400.0),
    (100.0, 1, 86_400.0),
    (300.0, 1, 86_400.0),
    (1_000.0, 1, 86_400.0),
];

pub fn table() {
    let costs = measure();
    println!(
        "\nan append: {:.1} µs of a processor, {:.1} µs of the store",
        costs.processor * 1e6,
        costs.row * 1e6
    );
    println!("a commit: {:.0} µs of the store; to wake up: {:.0} µs\n", costs.commit * 1e6, costs.wake * 1e6);
    println!("| runs at once | a model or tool | measured: runs a second | simulated | ratio |");
    println!("| --- | --- | --- | --- | --- |");
    let (few, mut farthest) = (if support::measures() { &COMPARED[..] } else { &[(4, 0.001)] }, 0.0_f64);
    for &(count, latency) in few {
        let (measured, simulated) = (real(count, latency), small(count, latency, costs));
        let ratio = simulated / measured;
        farthest = farthest.max((ratio - 1.0).abs());
        println!("| {count} | {:.0} ms | {measured:.0} | {simulated:.0} | {ratio:.2} |", latency * 1e3);
    }
    println!("\nfarthest from what was measured: {:.0} % (bar: 20 %)", farthest * 100.0);
    println!("memory of this process at most: {} KiB", memory().1);
    if support::measures() {
        predict(costs, 2, true, &SERVICES);
    }
}

/// What an append and a commit cost here: of a processor, by runs in memory whose models take a millisecond; of the store,
/// by runs one after the other and by many at once, which no model keeps waiting.
fn measure() -> Costs {
    let (rounds, agent) =
        (if support::measures() { 10 } else { 1 }, World::replan().slow_agent(pass(0.001, SEED)));
    let threads = Threads::new(Arc::new(MemoryStore::default()));
    let mut nth = 0;
    let mut run = || {
        nth += 1;
        ask(&threads, &agent, &format!("memory-{nth}"));
    };
    let [taken] = taken(rounds, 20, [&mut run]);
    let processor = taken.time.as_secs_f64() / f64::from(APPENDS);
    let [alone, many] = [1, 64].map(|count| 1.0 / real(count, 0.0) / f64::from(APPENDS));
    let asleep = Instant::now();
    (0..200).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
    let wake = asleep.elapsed().as_secs_f64() / 200.0 - 0.001;
    Costs { processor, row: many, commit: (alone - processor - many).max(0.0), wake }
}

fn ask(threads: &Threads, agent: &Agent, name: &str) {
    let thread = name.parse().expect("a name");
    let run = threads.at(&thread).ask(agent, QUESTION).expect("nothing stops it");
    assert!(run.answer().is_some());
}

/// Lets a lognormal time pass.
fn pass(latency: f64, seed: u64) -> Pass {
    let random = Mutex::new(Random(seed));
    Arc::new(move || {
        let takes = random.lock().expect("nothing panics with it").lognormal(latency, SPREAD);
        if latency > 0.0 {
            std::thread::sleep(Duration::from_secs_f64(takes));
        }
    })
}

/// How long real runs are made, of which the first quarter does not count.
fn lasts() -> Duration {
    Duration::from_millis(if support::measures() { 4_000 } else { 100 })
}

/// Real runs, so many at once, with models and tools that take their time: how many end in a second.
fn real(count: usize, latency: f64) -> f64 {
    let folder = tempfile::tempdir().expect("a folder to write to");
    let store = SqliteStore::open(folder.path().join("threads.db"), Durability::Full).expect("opens");
    let (threads, ready) = (&Threads::new(Arc::new(store)), &Barrier::new(count));
    let lasts = lasts();
    let counts = std::thread::scope(|scope| {
        let worker = |nth: usize| {
            let agent = World::replan().slow_agent(pass(latency, nth as u64));
            scope.spawn(move || {
                ready.wait();
                let (began, mut ended, mut begun) = (Instant::now(), 0, 0);
                while begun == 0 || began.elapsed() < lasts {
                    begun += 1;
                    ask(threads, &agent, &format!("{nth}-{begun}"));
                    let passed = began.elapsed();
                    ended += usize::from(passed > lasts / 4 && passed <= lasts);
                }
                ended
            })
        };
        let workers: Vec<_> = (0..count).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().expect("nothing stops it")).sum::<usize>()
    });
    counts as f64 / lasts.as_secs_f64() / 0.75
}

/// The runs a second of so many that are always under way, by simulation.
fn small(count: usize, latency: f64, costs: Costs) -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let machines =
        Machines { processes: 1, processors, costs, killed: f64::INFINITY, lease: 0.0, shares: true };
    let arrivals = Arrivals::Closed(count);
    let load = Load { arrivals, appends: APPENDS, latency, spread: SPREAD, asked: 0.0, answered: 0.0 };
    simulate(load, machines, lasts().as_secs_f64(), SEED).rate
}
