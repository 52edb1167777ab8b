//! Runs over one Postgres from one, two and four processes, next to what the server takes by itself: as many rows of the
//! same size, each inserted by hand and committed alone. The server is one of the benchmark's own in a temporary folder,
//! with `fsync = on`, and shares the machine with its clients.
//!
//! A process of runs is this benchmark itself, started with what it is to do in its environment.
#![cfg(unix)]

#[path = "../../tests/common/postgres/mod.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "a part of it is for other benchmarks")]
#[path = "../durable/world.rs"]
mod world;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use planwright::driver::Threads;
use planwright::journal::Durability;
use planwright_postgres::{Address, PostgresStore};
use server::Cluster;
use support::QUESTION;
use world::World;

/// What a process is told: the address, `Full` or `Normal`, and `runs` or the size of a row to insert by hand.
const TASK: &str = "PLANWRIGHT_BENCH_TASK";
const PROCESSES: [usize; 3] = [1, 2, 4];
/// Runs at once in a process: as many as a store has connections.
const WORKERS: usize = 16;
const LASTS: Duration = Duration::from_secs(5);
/// Commits of the run with one replan.
const COMMITS: usize = 12;

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        return perform(&task);
    }
    if !support::measures() || !server::is_here() {
        return;
    }
    let server = Cluster::start(&["fsync=on"]);
    println!(
        "| processes | durability | runs a second | p50 | p99 | by hand | bytes a run | bytes a record | WAL a run |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for durability in ["full", "normal"] {
        PROCESSES.iter().for_each(|count| row(&server, durability, *count));
    }
}

fn row(server: &Cluster, durability: &str, count: usize) {
    let address = server.database();
    PostgresStore::migrate(&Address::parse(&address).expect("an address")).expect("makes tables");
    let mut client = server::connect(&address);
    let mut number = |sql: &str| client.query_one(sql, &[]).expect("is a number").get::<_, i64>(0);
    let log = "SELECT (pg_current_wal_lsn() - '0/0')::bigint";
    let before = number(log);
    let (rate, each) = race(&format!("{address} {durability} runs"), count);
    let (runs, wal) = (each.len() as i64, number(log) - before);
    let size = number(
        "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
         WHERE relnamespace = 'planwright'::regnamespace AND relkind = 'r'",
    );
    let (records, body) = (
        number("SELECT count(*) FROM planwright.record"),
        number("SELECT sum(length(body)) FROM planwright.record"),
    );
    let (by_hand, _) = race(&format!("{address} {durability} {}", body / records), count);
    let at = |percent: usize| each[(each.len() - 1) * percent / 100];
    println!(
        "| {count} | {durability} | {rate:.0} | {:.1?} | {:.1?} | {by_hand:.0} | {} | {} | {} |",
        at(50),
        at(99),
        size / runs,
        size / records,
        wal / runs
    );
}

/// Has so many processes do a task at once. Gives how often it was done in a second, and how long each time took.
fn race(task: &str, count: usize) -> (f64, Vec<Duration>) {
    let start = || {
        let mut child = Command::new(std::env::current_exe().expect("this benchmark"));
        child.env(TASK, task).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts")
    };
    let mut children: Vec<Child> = (0..count).map(|_| start()).collect();
    let mut said: Vec<_> =
        children.iter_mut().map(|child| BufReader::new(child.stdout.take().expect("is piped"))).collect();
    for said in &mut said {
        said.read_line(&mut String::new()).expect("it is ready");
    }
    let began = Instant::now();
    children
        .iter_mut()
        .for_each(|child| child.stdin.take().expect("is piped").write_all(b"\n").expect("reads"));
    let mut texts = vec![String::new(); count];
    for (said, text) in said.iter_mut().zip(&mut texts) {
        said.read_to_string(text).expect("it says how long each took");
    }
    let passed = began.elapsed();
    children.iter_mut().for_each(|child| assert!(child.wait().expect("ends").success()));
    let micros = texts.iter().flat_map(|text| text.lines());
    let mut each: Vec<_> =
        micros.map(|line| Duration::from_micros(line.parse().expect("a number"))).collect();
    each.sort();
    (each.len() as f64 / passed.as_secs_f64(), each)
}

/// A process: does its task again and again, on as many threads as there are workers.
fn perform(task: &str) {
    let parts: Vec<&str> = task.split(' ').collect();
    let [address, durability, what] = parts[..] else { panic!("expected three words, found {task:?}") };
    let each = match what {
        "runs" => {
            let durability: Durability = durability.parse().expect("a durability");
            let store = PostgresStore::open(&Address::parse(address).expect("an address"), durability);
            let threads = Threads::new(Arc::new(store.expect("opens")));
            repeat(|worker| {
                // Each with a model of its own, which knows how far its one run is.
                let (agent, threads, mut nth) = (World::replan().agent(), threads.clone(), 0);
                move || {
                    nth += 1;
                    let thread = format!("{}-{worker}-{nth}", std::process::id()).parse().expect("a name");
                    let run = threads.at(&thread).ask(&agent, QUESTION).expect("nothing stops it");
                    assert!(run.answer().is_some());
                }
            })
        }
        size => repeat(|worker| {
            let mut client = server::connect(address);
            let commit = if durability == "full" { "on" } else { "off" };
            let table =
                "CREATE TABLE IF NOT EXISTS step (thread text, at int, body text, PRIMARY KEY (thread, at))";
            let lock = "SELECT pg_advisory_lock(1)";
            client
                .batch_execute(&format!("SET synchronous_commit TO {commit}; {lock}; {table}"))
                .expect("makes it");
            client.batch_execute("SELECT pg_advisory_unlock(1)").expect("held it");
            let insert = client.prepare("INSERT INTO step VALUES ($1, $2, $3)").expect("reads");
            let (body, mut nth) = ("x".repeat(size.parse().expect("a size")), 0);
            move || {
                nth += 1;
                let thread = format!("{}-{worker}-{nth}", std::process::id());
                for at in 0..COMMITS {
                    client.execute(&insert, &[&thread, &(at as i32), &body]).expect("nothing stops it");
                }
            }
        }),
    };
    each.iter().for_each(|took| println!("{}", took.as_micros()));
}

/// Repeats what each worker does, once a line comes from the parent, for a time.
fn repeat<F: FnMut() + Send>(make: impl Fn(usize) -> F) -> Vec<Duration> {
    let workers: Vec<F> = (0..WORKERS).map(make).collect();
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).expect("the parent says when");
    let began = Instant::now();
    let work = |mut once: F| {
        let mut each = Vec::new();
        while each.is_empty() || began.elapsed() < LASTS {
            let asked = Instant::now();
            once();
            each.push(asked.elapsed());
        }
        each
    };
    std::thread::scope(|scope| {
        let begun: Vec<_> = workers.into_iter().map(|worker| scope.spawn(move || work(worker))).collect();
        begun.into_iter().flat_map(|worker| worker.join().expect("nothing stops it")).collect()
    })
}
