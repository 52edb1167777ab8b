//! `store copy`: threads from one store to another, compared record by record; one that is killed is gone on with.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use planwright::journal::{
    Claim, Durability, JournalError, JournalErrorKind, Lease, Listed, MemoryStore, Query, Record, RunStatus,
    Store, StoreError, ThreadId,
};
use planwright_app::{StoreAddress, copy_threads};
use serde_json::{Value, json};

use crate::cli_support::Home;
use crate::cli_support::store::{is_in_doubt, keep_records, store, waits, wants_approval};
use crate::postgres::{cluster, connect, is_here};
use crate::world::SUM;

/// All that a store has of its threads.
fn whole(address: &str) -> Vec<(Listed, Vec<Vec<Record>>)> {
    let threads = StoreAddress::parse(address.into()).unwrap().open(Durability::Normal, true).unwrap();
    assert_eq!(threads.store().check().unwrap(), [""; 0]);
    let listed = threads.store().list(&Query { limit: usize::MAX, ..Query::default() }).unwrap();
    let turns = |listed: &Listed| {
        (0..listed.turns).map(|turn| threads.store().records(&listed.thread, turn).unwrap()).collect()
    };
    listed.into_iter().map(|listed| (listed.clone(), turns(&listed))).collect()
}

/// A home with a thread of two turns, threads that wait or are in doubt, and many more.
fn full(home: &Home, count: usize) -> String {
    for _ in 0..2 {
        home.check(&["run", "--offline", "--quiet", "--thread", "보고서", SUM], 0);
    }
    waits(home, "waits");
    wants_approval(home, "approves");
    is_in_doubt(home, "doubts");
    let store = store(home);
    let records = store.records(&"보고서".parse().unwrap(), 0).unwrap();
    (0..count).for_each(|nth| keep_records(&store, &format!("t{nth}"), records.clone()));
    home.path("data/planwright/threads.db").to_str().unwrap().to_owned()
}

fn copy(home: &Home, from: &str, to: &str, code: i32) -> Value {
    let said = home.check(&["store", "copy", from, to, "--json", "--durability", "normal"], code);
    serde_json::from_str(&said.stdout).unwrap()
}

fn counts(told: &Value) -> [u64; 3] {
    ["copied", "same", "ahead"].map(|name| told[name].as_u64().unwrap())
}

#[test]
fn copies_to_sqlite_to_postgres_and_back_have_the_same_records_statuses_and_times() {
    let home = Home::new();
    let mut source = full(&home, 3);
    let original = whole(&source);
    assert_eq!(original.len(), 7);
    let file = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let postgres = is_here().then(|| cluster().database());
    for to in [file("second.db")].into_iter().chain(postgres).chain([file("last.db")]) {
        let told = copy(&home, &source, &to, 0);
        assert_eq!((counts(&told), &told["uncopied"]), ([7, 0, 0], &json!([])), "{told}");
        assert_eq!(whole(&to), original);
        assert_eq!(counts(&copy(&home, &source, &to, 0)), [0, 7, 0]);
        source = to;
    }
    home.check(&["run", "--offline", "--quiet", "--thread", "보고서", "--store", &source, SUM], 0);
}

#[test]
fn copy_that_is_killed_again_and_again_is_gone_on_with() {
    let home = Home::new();
    let from = full(&home, 400);
    let second = home.path("second.db").to_str().unwrap().to_owned();
    let to = if is_here() { cluster().database() } else { second };
    for _ in 0..3 {
        let mut program = home.program();
        program.args(["store", "copy", &from, &to, "--durability", "normal"]);
        let mut child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("compared"), "{line:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let [copied, same, _] = counts(&copy(&home, &from, &to, 0));
    assert!(copied + same == 404 && same >= 100, "{copied} {same}");
    assert_eq!(whole(&to), whole(&from));
}

#[test]
fn copy_adds_what_came_since_leaves_what_went_on_and_names_what_differs() {
    let home = Home::new();
    let (from, to) = (full(&home, 0), home.path("second.db").to_str().unwrap().to_owned());
    copy(&home, &from, &to, 0);
    let ask = ["run", "--offline", "--quiet", "--thread", "보고서", SUM];
    home.check(&ask, 0);
    assert_eq!(counts(&copy(&home, &from, &to, 0)), [1, 3, 0]);
    assert_eq!(whole(&to), whole(&from));
    home.check(&[&ask[..], &["--store", &to]].concat(), 0);
    assert_eq!(counts(&copy(&home, &from, &to, 0)), [0, 3, 1]);
    // Both went on.
    home.check(&ask, 0);
    let told = copy(&home, &from, &to, 1);
    let problem = told["uncopied"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("보고서, turn 4, journal record "), "{told}");
    // A process has one.
    let held = store(&home);
    let lease = held.claim(&"waits".parse().unwrap(), Claim::Known).unwrap();
    let other = home.path("third.db").to_str().unwrap().to_owned();
    let told = copy(&home, &from, &other, 6);
    assert_eq!((counts(&told), &told["uncopied"][0]["is_held"]), ([3, 0, 0], &json!(true)), "{told}");
    held.release(lease).unwrap();
    assert_eq!(counts(&copy(&home, &from, &other, 0)), [1, 3, 0]);
}

#[test]
fn copy_names_a_damaged_thread_and_stores_that_cannot_be_used() {
    let home = Home::new();
    let (from, to) = (full(&home, 0), home.path("second.db").to_str().unwrap().to_owned());
    let spoil = "UPDATE record SET body = body || ' ' WHERE at = (SELECT max(at) FROM record)";
    rusqlite::Connection::open(&from).unwrap().execute(spoil, []).unwrap();
    let told = copy(&home, &from, &to, 1);
    assert_eq!((counts(&told), &told["uncopied"][0]["thread"]), ([3, 0, 0], &json!("doubts")), "{told}");
    home.check(&["store", "copy", "none.db", &to], 2).complains(&["none.db: there is no store"]);
    home.check(&["store", "copy", &from, &to, "--store", &to], 2).complains(&["leave --store out"]);
}

#[test]
fn thread_that_no_list_shows_since_its_turns_are_damaged_is_named_by_a_copy() {
    let home = Home::new();
    let from = full(&home, 0);
    let mut stores = vec![from.clone()];
    if is_here() {
        let to = cluster().database();
        copy(&home, &from, &to, 0);
        let spoil = "UPDATE planwright.thread SET turns = 0 WHERE name = '보고서'; \
                     UPDATE planwright.thread SET turns = -1 WHERE name = 'waits'";
        connect(&to).batch_execute(spoil).unwrap();
        stores.push(to);
    }
    let spoil = "UPDATE thread SET turns = 0 WHERE name = '보고서'; \
                 UPDATE thread SET turns = -1 WHERE name = 'waits'";
    rusqlite::Connection::open(&from).unwrap().execute_batch(spoil).unwrap();
    for (nth, from) in stores.into_iter().enumerate() {
        let told = copy(&home, &from, home.path(&format!("seen{nth}.db")).to_str().unwrap(), 1);
        let uncopied = told["uncopied"].as_array().unwrap();
        let mut names: Vec<&str> = uncopied.iter().map(|left| left["thread"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!((counts(&told)[0], &names[..]), (2, &["waits", "보고서"][..]), "{told}");
    }
}

#[test]
fn copy_goes_on_past_pages_that_do_not_read_and_names_every_thread_on_them() {
    let home = Home::new();
    let from = full(&home, 400);
    rusqlite::Connection::open(&from).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let whole = std::fs::read(&from).unwrap();
    let holds = |page: &&[u8]| page.windows(4).any(|bytes| bytes == b"t200");
    // A page of the table, and one of each index by time and by name.
    let pages: Vec<&[u8]> = whole.chunks(4096).collect();
    let hit: Vec<usize> = (13..pages.len()).filter(|at| holds(&pages[*at])).collect();
    assert!(hit.len() >= 3, "{hit:?}");
    let mut left = Vec::new();
    for (nth, at) in hit.into_iter().enumerate() {
        let mut bytes = whole.clone();
        bytes[at * 4096..][..4096].fill(0xA7);
        let from = home.path(&format!("hit{nth}.db")).to_str().unwrap().to_owned();
        std::fs::write(&from, bytes).unwrap();
        let to = home.path(&format!("to{nth}.db")).to_str().unwrap().to_owned();
        let mut program = home.program();
        program.args(["store", "copy", &from, &to, "--json", "--durability", "normal"]);
        let done = program.output().unwrap();
        let told: Value = serde_json::from_slice(&done.stdout).unwrap();
        let uncopied = told["uncopied"].as_array().unwrap();
        assert_eq!(counts(&told)[0] + uncopied.len() as u64, 404, "page {at}: {told}");
        assert_eq!(done.status.code(), Some(i32::from(!uncopied.is_empty())), "page {at}");
        left.push(uncopied.iter().any(|left| left["thread"] == "t200"));
    }
    assert!(left.contains(&true), "{left:?}");
}

#[test]
fn thread_whose_name_is_none_is_named_and_the_others_are_listed_checked_counted_and_copied() {
    let home = Home::new();
    let from = full(&home, 3);
    let spoil = "UPDATE thread SET name = '' WHERE name = 't0'; \
                 UPDATE thread SET name = 'a' || chr(7) || 'b' WHERE name = 't1'";
    let mut stores = vec![from.clone()];
    if is_here() {
        let to = cluster().database();
        copy(&home, &from, &to, 0);
        connect(&to).batch_execute(&format!("SET search_path TO planwright; {spoil}")).unwrap();
        stores.push(to);
    }
    let spoil = spoil.replace("chr(", "char(");
    rusqlite::Connection::open(&from).unwrap().execute_batch(&spoil).unwrap();
    for (nth, from) in stores.into_iter().enumerate() {
        let said = |args: &[&str], code: i32| {
            let told = home.check(&[args, &["--store", &from]].concat(), code);
            format!("{}{}", told.stdout, told.stderr)
        };
        for told in [said(&["threads", "list", "--limit", "1"], 0), said(&["threads", "check"], 1)] {
            assert!(!told.contains('\u{7}'), "{told:?}");
        }
        let listed = said(&["threads", "list"], 0);
        assert!(listed.contains(r#": "a\u{7}b")"#) && listed.contains("t2"), "{listed}");
        assert!(said(&["threads", "check"], 1).contains(r#": "a\u{7}b")"#));
        let cost = said(&["cost"], 0);
        assert!(cost.contains(r#": "")"#), "{cost}");
        let told = copy(&home, &from, home.path(&format!("named{nth}.db")).to_str().unwrap(), 1);
        assert_eq!((counts(&told)[0], told["uncopied"].as_array().unwrap().len()), (5, 2), "{told}");
    }
}

#[test]
fn store_that_looks_like_an_address_and_is_none_is_refused_without_repeating_it() {
    let home = Home::new();
    for (store, says) in [
        (" postgres://u:geheim@h/d", "USER@HOST"),
        ("postgresql+psycopg2://u:geheim@h/d", "USER@HOST"),
        ("jdbc:postgresql://h/d?password=geheim", "USER@HOST"),
        ("postgres:/u:geheim@h/d", "USER@HOST"),
        ("host=h user=u password=geheim", "USER@HOST"),
        ("Postgres://u:geheim@h/d?sslmode=prefer", "expected sslmode"),
        ("postgres://u@h/d?Password=geheim", "expected sslmode"),
    ] {
        let told = home.check(&["run", "--offline", "--thread", "t", "--store", store, SUM], 2);
        told.complains(&[says]);
        assert!(!format!("{}{}", told.stdout, told.stderr).contains("geheim"), "{store}: {}", told.stderr);
        assert!(!told.stderr.contains("version of planwright"), "{}", told.stderr);
        home.write("config.toml", &format!("[persistence]\nmode = \"sqlite\"\npath = {store:?}"));
        let config = home.path("config.toml");
        let told = home.check(&["threads", "list", "--config", config.to_str().unwrap()], 2);
        assert!(told.stderr.contains(says) && !told.stderr.contains("geheim"), "{store}: {}", told.stderr);
    }
    for (mode, path) in
        [("postgres", "path = \"threads.db\""), ("postgres", ""), ("sqlite", "path = \"postgres://h/d\"")]
    {
        let config = home.write("config.toml", &format!("[persistence]\nmode = \"{mode}\"\n{path}"));
        let told = home.check(&["threads", "list", "--config", config.to_str().unwrap()], 2);
        told.complains(&["two kinds of store", "expected `path`"]);
    }
}

/// A store whose disk fails at one of its threads, or at all of it.
#[derive(Debug)]
struct Failing<'s> {
    store: &'s dyn Store,
    thread: &'static str,
    is_gone: bool,
}

impl Failing<'_> {
    fn io<T>() -> Result<T, StoreError> {
        Err(JournalError::new(JournalErrorKind::Io, "the store", "the disk does not answer").into())
    }
}

impl Store for Failing<'_> {
    fn claim(&self, thread: &ThreadId, claim: Claim) -> Result<Lease, StoreError> {
        self.store.claim(thread, claim)
    }
    fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.store.release(lease)
    }
    fn append(
        &self,
        lease: &Lease,
        turn: u32,
        index: u64,
        records: Vec<Record>,
        status: Option<&RunStatus>,
    ) -> Result<(), StoreError> {
        self.store.append(lease, turn, index, records, status)
    }
    fn turns(&self, thread: &ThreadId) -> Result<u32, StoreError> {
        self.store.turns(thread)
    }
    fn records(&self, thread: &ThreadId, turn: u32) -> Result<Vec<Record>, StoreError> {
        if thread.as_str() == self.thread { Failing::io() } else { self.store.records(thread, turn) }
    }
    fn list(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        // A copy asks for more at once.
        if self.is_gone && query.limit == 1 { Failing::io() } else { self.store.list(query) }
    }
    fn list_stale(&self) -> Result<Vec<ThreadId>, StoreError> {
        self.store.list_stale()
    }
    fn delete(&self, lease: Lease) -> Result<(), StoreError> {
        self.store.delete(lease)
    }
    fn check(&self) -> Result<Vec<String>, StoreError> {
        self.store.check()
    }
}

#[test]
fn thread_at_which_alone_the_disk_fails_is_named_and_a_store_that_is_gone_ends_the_copy() {
    let home = Home::new();
    full(&home, 1);
    let source = store(&home);
    let copy = |is_gone: bool| {
        let from = Failing { store: &source, thread: "waits", is_gone };
        copy_threads(&from, &MemoryStore::default(), |_| {})
    };
    let report = copy(false).unwrap();
    assert_eq!((report.copied, report.uncopied.len()), (4, 1), "{report:?}");
    let left = &report.uncopied[0];
    assert!(left.thread.as_str() == "waits" && left.problem.contains("does not answer"), "{left:?}");
    assert!(copy(true).unwrap_err().to_string().contains("does not answer"));
}
