//! Runs over one Postgres from one, two and four processes, next to what the server takes by itself: as many rows of the
//! size of an append, each inserted by hand and committed alone. The server is one of the benchmark's own in a temporary folder,
//! with `fsync = on`, and shares the machine with its clients. With the argument `full` or `normal`, that durability only;
//! with `many`, what is asked of all threads instead, where there are many.
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
use planwright::journal::{Durability, Order, Query, Store};
use planwright_postgres::{Address, PostgresStore};
use server::Cluster;
use support::QUESTION;
use world::World;

/// What a process is told: the address, `full` or `normal`, runs at once, and `runs` or the size of a row to insert by
/// hand.
const TASK: &str = "PLANWRIGHT_BENCH_TASK";
/// Processes, and runs at once in each: one alone, and as many as a store has connections.
const PROCESSES: [(usize, usize); 4] = [(1, 1), (1, 16), (2, 16), (4, 16)];
const DURABILITIES: [&str; 2] = ["full", "normal"];
const LASTS: Duration = Duration::from_secs(5);
/// Commits of the run with one replan.
const COMMITS: i64 = 12;

fn main() {
    if let Ok(task) = std::env::var(TASK) {
        return perform(&task);
    }
    if !support::measures() || !server::is_here() {
        return;
    }
    let server = Cluster::start(&["fsync=on"]);
    if std::env::args().any(|argument| argument == "many") {
        return many(&server);
    }
    println!(
        "| processes | runs at once in each | durability | runs a second | p50 | p99 | by hand | bytes a run | bytes a record | WAL a run |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let wanted: Vec<String> = std::env::args().filter(|wanted| DURABILITIES.contains(&&**wanted)).collect();
    for durability in DURABILITIES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == durability) {
            PROCESSES.iter().for_each(|(count, workers)| row(&server, durability, *count, *workers));
        }
    }
}

fn row(server: &Cluster, durability: &str, count: usize, workers: usize) {
    let address = server.database();
    PostgresStore::migrate(&Address::parse(&address).expect("an address")).expect("makes tables");
    let mut client = server::connect(&address);
    let mut number = |sql: &str| client.query_one(sql, &[]).expect("is a number").get::<_, i64>(0);
    let log = "SELECT (pg_current_wal_lsn() - '0/0')::bigint";
    let before = number(log);
    let (rate, each) = race(&format!("{address} {durability} {workers} runs"), count);
    let (runs, wal) = (each.len() as i64, number(log) - before);
    let size = number(
        "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
         WHERE relnamespace = 'planwright'::regnamespace AND relkind = 'r'",
    );
    let (records, body) = (
        number("SELECT count(*) FROM planwright.record"),
        number("SELECT sum(length(body)) FROM planwright.record"),
    );
    let (by_hand, _) = race(&format!("{address} {durability} {workers} {}", body / runs / COMMITS), count);
    let at = |percent: usize| each[(each.len() - 1) * percent / 100];
    println!(
        "| {count} | {workers} | {durability} | {rate:.0} | {:.1?} | {:.1?} | {by_hand:.0} | {} | {} | {} |",
        at(50),
        at(99),
        size / runs,
        size / records,
        wal / runs
    );
}

/// Puts many threads there, of which processes hold some and the others wait for a person, and times what is asked of
/// all of them: the look that each service takes every two seconds, the 50 that have waited longest, and those of a key
/// that has none.
fn many(server: &Cluster) {
    println!("| threads | of them held | bytes a row | a look | 50 that wait | of one key |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (threads, held) in [(10_000, 100), (100_000, 1_000), (1_000_000, 30_000)] {
        let address = server.database();
        let parsed = Address::parse(&address).expect("an address");
        PostgresStore::migrate(&parsed).expect("makes tables");
        let mut client = server::connect(&address);
        client
            .batch_execute(&format!("SET search_path TO planwright; {}", fill(threads, held)))
            .expect("fills it");
        let store = PostgresStore::open(&parsed, Durability::Full).expect("opens");
        let look = client.prepare(planwright_postgres::FIND_LEFT).expect("reads");
        let list = |prefix: &str| {
            let statuses = vec!["waiting".to_owned(), "in_doubt".to_owned()];
            let order = if prefix.is_empty() { Order::LongestWaiting } else { Order::Newest };
            let statuses = if prefix.is_empty() { statuses } else { Vec::new() };
            Query { statuses, prefix: prefix.to_owned(), order, limit: 50, ..Query::default() }
        };
        let look = median(|| assert!(client.query(&look, &[]).expect("looks").is_empty()));
        let waits = median(|| assert_eq!(store.list(&list("")).expect("lists").len(), 50));
        let of_key = median(|| assert!(store.list(&list("nobody:")).expect("lists").is_empty()));
        let size: i64 =
            client.query_one("SELECT pg_total_relation_size('thread')", &[]).expect("is a number").get(0);
        println!("| {threads} | {held} | {} | {look:.2?} | {waits:.2?} | {of_key:.2?} |", size / threads);
    }
}

/// Rows of threads whose seals nobody reads, and the locks of sixty processes.
fn fill(threads: i64, held: i64) -> String {
    format!(
        "INSERT INTO thread (name, title, turns, created, updated, epoch, written, holder, noted, standing, records, \
         last, seal, status, waits) SELECT 'thread ' || at, 'a question', 1, at, at, 1, 1, \
         CASE WHEN at <= {held} THEN '1@127.0.0.1-' || lpad(to_hex(at % 60), 16, '0') END, at > {held}, \
         rpad('{{}}', 200), 24, sha256('x'), sha256('x'), \
         CASE WHEN at <= {held} THEN 'unfinished' ELSE 'waiting' END, at FROM generate_series(1, {threads}) AS at; \
         SELECT pg_advisory_lock(key) FROM generate_series(0, 59) AS key; ANALYZE thread"
    )
}

/// How long something takes, in the median of eleven.
fn median(mut run: impl FnMut()) -> Duration {
    let mut each = [(); 11].map(|()| {
        let asked = Instant::now();
        run();
        asked.elapsed()
    });
    each.sort();
    each[5]
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
    let [address, durability, workers, what] = parts[..] else {
        panic!("expected four words, found {task:?}")
    };
    let workers = workers.parse().expect("a number");
    let each = match what {
        "runs" => {
            let durability: Durability = durability.parse().expect("a durability");
            let store = PostgresStore::open(&Address::parse(address).expect("an address"), durability);
            let threads = Threads::new(Arc::new(store.expect("opens")));
            repeat(workers, |worker| {
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
        size => repeat(workers, |worker| {
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
fn repeat<F: FnMut() + Send>(workers: usize, make: impl Fn(usize) -> F) -> Vec<Duration> {
    let workers: Vec<F> = (0..workers).map(make).collect();
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
