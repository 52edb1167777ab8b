//! The service under load: a real process and clients of its own, beside the same runs in the library.
//!
//! `cargo bench --package planwright-cli --bench service [-- SECONDS]`. Every reply is checked: no error of the
//! server, no turn lost or doubled, and memory that does not grow with the runs.

mod client;
mod process;

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use client::Client;
use planwright::driver::time_for;
use planwright::journal::Durability;
use planwright::machine::Input;
use planwright_app::{AgentChoice, Overrides, Settings, StorePlace};
use process::{Service, cpu_of};

/// One replan: the sum cannot be worked out, and neither can that of the second plan.
const QUESTION: &str = "What is 1/0?";
const CLIENTS: usize = 64;
const THREADS: usize = 1_000;
/// Runs for a row that is not under load.
const RUNS: usize = 1_000;
const STREAMS: usize = 200;

fn main() {
    // `cargo bench` hands on `--bench`, and `cargo test` nothing.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let seconds = arguments.iter().find_map(|seconds| seconds.parse().ok()).unwrap_or(60);
    let folder = tempfile::tempdir().expect("a folder");
    println!("| {RUNS} runs with a replan | runs/s | p50 | p99 | CPU per run |");
    println!("| --- | --- | --- | --- | --- |");
    let in_library = library(folder.path());
    let over_http = service(folder.path());
    println!("\nthe service adds {:.0} µs of CPU to a run\n", over_http - in_library);
    load(folder.path(), Duration::from_secs(seconds));
    streams(folder.path());
}

fn choice() -> AgentChoice {
    let (tools, max_replans) = (Some("calc".to_owned()), Some(1));
    AgentChoice { tools, max_replans, ..AgentChoice::default() }
}

/// Runs the question in this process, through a store, one run after the other. Gives the CPU of a run in microseconds.
fn library(folder: &Path) -> f64 {
    let store = folder.join("library.db");
    let place = StorePlace::find(Some(&store), Some(Durability::Full), None).expect("a store");
    let threads = place.make().expect("a store");
    let overrides = Overrides { offline: true, ..Overrides::default() };
    let settings = Settings::resolve(&overrides, None, None).expect("settings");
    let prepared = choice().prepare(&settings, None, None).expect("an agent");
    let run = |nth: usize| {
        let stored = place.thread_of(&threads, format!("t{nth}").parse().expect("a name"));
        let now = time_for(prepared.agent.compiled().policy());
        let input = Input { now, outline: prepared.outline.clone(), ..Input::question(QUESTION) };
        let ended = stored.threads.at(&stored.thread).ask_with(&prepared.agent, input).expect("a run");
        assert_eq!(ended.counters().replans, 1);
    };
    run(RUNS);
    let (cpu, began) = (cpu_of(std::process::id()), Instant::now());
    let took = (0..RUNS).map(|nth| timed(|| run(nth))).collect();
    row("in the library, one by one", took, began.elapsed(), cpu_of(std::process::id()) - cpu)
}

/// Asks a service the question over one connection, one run after the other. Gives its CPU for a run in microseconds.
fn service(folder: &Path) -> f64 {
    let service = Service::start(&folder.join("service.db"), &[]);
    let mut client = Client::of(&service.address);
    client.ask("first", QUESTION);
    let (cpu, began) = (service.cpu(), Instant::now());
    let took = (0..RUNS).map(|nth| timed(|| drop(client.ask(&format!("t{nth}"), QUESTION)))).collect();
    row("over HTTP, one by one", took, began.elapsed(), service.cpu() - cpu)
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

/// Prints a row, and gives the CPU of a run in microseconds.
fn row(name: &str, mut took: Vec<Duration>, wall: Duration, cpu: Duration) -> f64 {
    took.sort();
    let runs = took.len() as f64;
    let per_run = cpu.as_secs_f64() * 1e6 / runs;
    let at = |share: f64| took[((runs * share) as usize).min(took.len() - 1)];
    println!(
        "| {name} | {:.0} | {:.2?} | {:.2?} | {per_run:.0} µs |",
        runs / wall.as_secs_f64(),
        at(0.5),
        at(0.99)
    );
    per_run
}

/// Many clients over many threads for a time.
fn load(folder: &Path, lasts: Duration) {
    let service = Service::start(&folder.join("load.db"), &[]);
    let (began, took) = (Instant::now(), Mutex::new(Vec::new()));
    let cpu = service.cpu();
    let early = std::thread::scope(|scope| {
        for nth in 0..CLIENTS {
            let (address, took) = (&service.address, &took);
            scope.spawn(move || {
                let (mut client, mut mine) = (Client::of(address), Vec::new());
                let threads: Vec<usize> = (0..THREADS).filter(|thread| thread % CLIENTS == nth).collect();
                'load: for turn in 1.. {
                    for thread in &threads {
                        let began_run = Instant::now();
                        let reply = client.ask(&format!("t{thread}"), QUESTION);
                        assert_eq!(reply["turn"], turn, "a turn was lost or doubled: {reply}");
                        mine.push(began_run.elapsed());
                        if began.elapsed() >= lasts {
                            break 'load;
                        }
                    }
                }
                took.lock().expect("no client panics").extend(mine);
            });
        }
        std::thread::sleep(Duration::from_secs(10).min(lasts / 2));
        service.memory()
    });
    let (wall, late, took) = (began.elapsed(), service.memory(), took.into_inner().expect("all are back"));
    let turns: u64 = Client::of(&service.address).turns();
    assert_eq!(turns, took.len() as u64, "every turn is there once");
    row(&format!("{CLIENTS} clients, {THREADS} threads"), took, wall, service.cpu() - cpu);
    let growth = late as f64 / early as f64;
    println!(
        "\n{turns} turns; memory {} KiB early, {} KiB at the end ({growth:.2})",
        early / 1024,
        late / 1024
    );
    assert!(growth <= 1.2, "memory grows with the runs");
}

/// What an open stream holds.
fn streams(folder: &Path) {
    let service = Service::start(&folder.join("load.db"), &[]);
    let open =
        |thread: usize| Client::of(&service.address).open(&format!("/threads/t{thread}/events?follow=true"));
    // What comes with the first of anything is not a stream's.
    let first: Vec<Client> = (0..STREAMS).map(open).collect();
    let before = service.memory();
    let more: Vec<Client> = (STREAMS..2 * STREAMS).map(open).collect();
    let each = service.memory().saturating_sub(before) / STREAMS as u64;
    println!(
        "{} streams open: {} KiB each, {} threads of execution",
        2 * STREAMS,
        each / 1024,
        service.threads()
    );
    drop((first, more));
}
