//! Appends at the same moment share one commit. Each is whole or not there, fails for its own reason alone, and is
//! durable when it returns; an append alone is one commit. Counted in SQLite's log, not timed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright::journal::JournalErrorKind::{Damaged, Fenced, Stale};
use planwright::journal::{Claim, Lease, Record, Store, StoreError, ThreadId};
use planwright_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::hooked::{Hooked, When};
use crate::support::{claim, done, id, is_sound, open, records, refused, tell, write};

/// Waits until something is so.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("it never is");
}

/// The commits in SQLite's log of a database: frames that say how large the database is after them.
pub fn commits(database: &Path) -> usize {
    let Ok(log) = std::fs::read(database.with_extension("db-wal")) else { return 0 };
    let page = u32::from_be_bytes(log[8..12].try_into().unwrap()) as usize;
    let frames = log[32..].chunks_exact(24 + page).take_while(|frame| frame[8..16] == log[16..24]);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

/// A database in a folder, and the store in it.
struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    store: SqliteStore,
}

impl Place {
    fn new() -> Self {
        Place::within(tempfile::tempdir().unwrap())
    }

    fn within(folder: tempfile::TempDir) -> Self {
        let path = folder.path().join("threads.db");
        Place { store: open(&path), path, _folder: folder }
    }

    /// A thread with two records, under a lease.
    fn begun(&self, name: &str) -> Lease {
        let lease = claim(&self.store, &id(name));
        self.append(&lease, 0, 2).unwrap();
        lease
    }

    /// Appends so many of a thread's records.
    fn append(&self, lease: &Lease, from: usize, count: usize) -> Result<(), StoreError> {
        let new = records(lease.thread(), 0, from + count)[from..].to_vec();
        self.store.append(lease, 0, from as u64, new, None)
    }

    fn has(&self, lease: &Lease, count: usize) {
        let expected = records(lease.thread(), 0, count);
        assert_eq!(self.store.records(lease.thread(), 0).unwrap(), expected, "{}", lease.thread());
    }

    /// Does jobs while another process writes: the first waits for it, the others for the first, in their order.
    /// `meanwhile` is done when they all wait. Gives what came of them, and how many commits they were.
    fn at_once(&self, jobs: Vec<(&str, Job<'_>)>, meanwhile: impl FnOnce()) -> (Vec<Outcome>, usize) {
        let other = Connection::open(&self.path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let before = commits(&self.path);
        let outcomes = std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (nth, (name, job)) in jobs.into_iter().enumerate() {
                running.push(scope.spawn(job));
                // The handle is locked by the first, so that no other names are shown than of those that wait.
                until(|| {
                    let shown = format!("{:?}", self.store);
                    let waits = nth == 0 || shown.contains(&format!("{name:?}"));
                    waits && shown.contains("is_led: true") && shown.contains("<locked>")
                });
            }
            meanwhile();
            other.execute_batch("ROLLBACK").unwrap();
            running.into_iter().map(|job| job.join().unwrap()).collect()
        });
        (outcomes, commits(&self.path) - before)
    }
}

type Outcome = Result<(), StoreError>;
type Job<'p> = Box<dyn FnOnce() -> Outcome + Send + 'p>;

/// One more record to each of some threads.
fn appends<'p>(place: &'p Place, leases: &'p [Lease]) -> Vec<(&'p str, Job<'p>)> {
    let job = |lease: &'p Lease| {
        let append: Job<'p> = Box::new(move || place.append(lease, 2, 1));
        (lease.thread().as_str(), append)
    };
    leases.iter().map(job).collect()
}

fn leases(place: &Place, count: usize) -> Vec<Lease> {
    (0..count).map(|nth| place.begun(&format!("실행 {nth:03}"))).collect()
}

#[test]
fn appends_that_come_while_one_is_written_are_one_commit() {
    for count in [2, 16, 200] {
        let place = Place::new();
        let leases = leases(&place, count);
        let (outcomes, commits) = place.at_once(appends(&place, &leases), || ());
        assert_eq!((outcomes, commits), (vec![Ok(()); count], 2), "the first, and all others");
        leases.iter().for_each(|lease| place.has(lease, 3));
        is_sound(&place.store);
    }
}

#[test]
fn append_alone_is_one_commit_and_a_run_has_no_others() {
    let place = Place::new();
    let begun = commits(&place.path);
    let lease = place.begun("혼자");
    assert_eq!(commits(&place.path) - begun, 2, "the claim, and what it begins with");
    for at in 2..12 {
        place.append(&lease, at, 1).unwrap();
        assert_eq!(commits(&place.path) - begun, 1 + at);
    }
    place.store.append(&lease, 0, 12, Vec::new(), Some(&done("답"))).unwrap();
    place.store.release(lease).unwrap();
    assert_eq!(commits(&place.path) - begun, 13, "what is released with its status needs no commit more");

    let (written, path) = (Arc::new(std::sync::atomic::AtomicUsize::new(0)), place.path.clone());
    let counted = written.clone();
    let hook = move |method: &str, when| {
        let writes = matches!(method, "claim" | "begin" | "append" | "conclude") && when == When::Before;
        counted.fetch_add(usize::from(writes), std::sync::atomic::Ordering::SeqCst);
    };
    let begun = commits(&path);
    tell(Arc::new(Hooked(Arc::new(open(&path)), Box::new(hook))), &id("이야기"), true);
    assert_eq!(commits(&path) - begun, written.load(std::sync::atomic::Ordering::SeqCst));
}

#[test]
fn error_in_a_group_reaches_its_own_run_alone() {
    let place = Place::new();
    let [first, fenced, stale, strange, last] =
        ["첫째", "빼앗긴 것", "낡은 것", "남의 것", "막내"].map(|name| place.begun(name));
    let taken = open(&place.path).claim(fenced.thread(), Claim::TakeOver).unwrap();
    let elsewhere: Vec<Record> = records(&id("다른 것"), 0, 1);
    let turns = |name| vec![records(&id(name), 0, 3)];
    let (held, new): (ThreadId, ThreadId) = (id("잡힌 것"), id("새 것"));
    let holder = open(&place.path).begin(&held, turns("잡힌 것"));
    // The other handle is gone, and its lease with it: taken over once more, by one that stays.
    let other = open(&place.path);
    let holder = other.claim(holder.unwrap().thread(), Claim::Any).unwrap();
    let jobs: Vec<(&str, Job<'_>)> = vec![
        ("첫째", Box::new(|| place.append(&first, 2, 1))),
        ("빼앗긴 것", Box::new(|| place.append(&fenced, 2, 1))),
        ("낡은 것", Box::new(|| place.append(&stale, 1, 2))),
        ("남의 것", Box::new(|| place.store.append(&strange, 1, 0, elsewhere, None))),
        ("잡힌 것", Box::new(|| place.store.begin(&held, turns("잡힌 것")).map(drop))),
        ("새 것", Box::new(|| place.store.begin(&new, turns("새 것")).map(drop))),
        (
            "막내",
            Box::new(|| place.store.append(&last, 0, 2, records(last.thread(), 0, 5)[2..].to_vec(), None)),
        ),
    ];
    let (mut outcomes, commits) = place.at_once(jobs, || ());
    assert_eq!(commits, 2);
    assert_eq!([&outcomes[0], &outcomes[5], &outcomes[6]], [&Ok(()); 3]);
    let said = outcomes[4].as_ref().unwrap_err().to_string();
    assert!(said.starts_with("the thread 잡힌 것 is being run already, by "), "{said}");
    for (nth, kind) in [(3, Damaged), (2, Stale), (1, Fenced)] {
        refused(outcomes.remove(nth), kind);
    }
    for (lease, len) in [(&first, 3), (&taken, 2), (&stale, 2), (&strange, 2), (&holder, 3), (&last, 5)] {
        place.has(lease, len);
    }
    assert_eq!(place.store.records(&new, 0).unwrap(), records(&new, 0, 3));
    // Where each thread ends is known as before.
    place.append(&first, 3, 1).unwrap();
    place.append(&stale, 2, 1).unwrap();
    place.append(&strange, 2, 1).unwrap();
    is_sound(&place.store);
}

#[test]
fn append_that_finds_no_space_does_not_take_those_beside_it_along() {
    let place = Place::new();
    let leases = leases(&place, 6);
    let size = std::fs::metadata(&place.path).unwrap().len();
    let pages: u64 =
        Connection::open(&place.path).unwrap().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    place.store.limit(size.max(pages * 4_096) + 10 * 4_096).unwrap();
    let mut jobs = appends(&place, &leases);
    jobs[3].1 = Box::new(|| place.append(&leases[3], 2, 2_000));
    let (outcomes, _) = place.at_once(jobs, || ());
    for (nth, (outcome, lease)) in outcomes.iter().zip(&leases).enumerate() {
        assert_eq!(outcome.is_ok(), nth != 3, "{nth}: {outcome:?}");
        place.has(lease, if nth == 3 { 2 } else { 3 });
    }
    assert!(outcomes[3].as_ref().unwrap_err().to_string().contains("no space is left"));
    place.store.limit(u64::MAX).unwrap();
    place.append(&leases[3], 2, 2_000).unwrap();
    is_sound(&place.store);
}

#[test]
fn runs_over_one_store_keep_their_order_and_are_seen_once_they_are_written() {
    let place = Place::new();
    let beside = open(&place.path);
    std::thread::scope(|scope| {
        for nth in 0..16 {
            let (place, beside) = (&place, &beside);
            scope.spawn(move || {
                let lease = place.begun(&format!("실행 {nth}"));
                for at in 2..30 {
                    place.append(&lease, at, 1).unwrap();
                    assert_eq!(beside.records(lease.thread(), 0).unwrap().len(), at + 1);
                }
                place.has(&lease, 30);
                place.store.release(lease).unwrap();
            });
        }
    });
    is_sound(&beside);
    write(&beside, &id("실행 3"), 1, 2);
}

/// Syncs fail, and processes are killed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod faulty {
    use std::collections::BTreeMap;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::process::Command;
    use std::sync::Barrier;

    use planwright::journal::Durability;

    use super::*;
    use crate::faults::{self, Fault, Span, heal};

    const FOLDER: &str = "PLANWRIGHT_TEST_FOLDER";
    const DIES_AT: &str = "PLANWRIGHT_TEST_DIES_AT";
    const RUNS: usize = 16;

    #[test]
    fn group_that_cannot_be_synced_fails_each_of_its_appends_and_leaves_nothing_of_them() {
        let test = "group_that_cannot_be_synced_fails_each_of_its_appends_and_leaves_nothing_of_them";
        if !faults::are_here(test) {
            return;
        }
        let mut place = Place::within(tempfile::tempdir_in(faults::root()).unwrap());
        place.store = SqliteStore::open(&place.path, Durability::Full).unwrap();
        let leases = leases(&place, 8);
        let strikes = || faults::UNSYNCED.strikes(1, Span::ForGood);
        let (outcomes, _) = place.at_once(appends(&place, &leases), strikes);
        assert!(heal().fired > 8, "the group, and then each alone");
        for (outcome, lease) in outcomes.iter().zip(&leases) {
            let said = outcome.as_ref().unwrap_err().to_string();
            assert!(said.contains("threads.db: cannot be read or written: disk I/O error"), "{said}");
            place.has(lease, 2);
        }
        let (outcomes, _) = place.at_once(appends(&place, &leases), || ());
        assert_eq!(outcomes, vec![Ok(()); 8]);
        leases.iter().for_each(|lease| place.has(lease, 3));
        // A sync that fails once fails the group, and none of its appends.
        let next: Vec<(&str, Job<'_>)> = (leases.iter())
            .map(|lease| -> (&str, Job<'_>) {
                (lease.thread().as_str(), Box::new(|| place.append(lease, 3, 1)))
            })
            .collect();
        let (outcomes, _) = place.at_once(next, || faults::UNSYNCED.strikes(2, Span::Once));
        assert_eq!((outcomes, heal().fired), (vec![Ok(()); 8], 1));
        is_sound(&place.store);
    }

    /// The child: runs append at once, and note what has returned, until the process dies in a write. Does
    /// nothing where it is run as a test.
    #[test]
    fn child_appends_at_once() {
        let Ok(folder) = std::env::var(FOLDER) else { return };
        let dies_at = std::env::var(DIES_AT).unwrap().parse().unwrap();
        let place = Place {
            path: faults::root().join("threads.db"),
            store: SqliteStore::open(faults::root().join("threads.db"), Durability::Full).unwrap(),
            _folder: tempfile::tempdir().unwrap(),
        };
        let noted = Path::new(&folder).join("returned");
        let (leases, begin) = (leases(&place, RUNS), Barrier::new(RUNS));
        Fault::dies("dies", "w").strikes(dies_at, Span::Once);
        std::thread::scope(|scope| {
            for lease in &leases {
                let mut noted = OpenOptions::new().create(true).append(true).open(&noted).unwrap();
                let (place, begin) = (&place, &begin);
                scope.spawn(move || {
                    for at in 2.. {
                        begin.wait();
                        place.append(lease, at, 1).unwrap();
                        noted.write_all(format!("{}\t{}\n", lease.thread(), at + 1).as_bytes()).unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn kill_in_the_middle_of_groups_takes_nothing_that_has_returned() {
        let whole = tempfile::tempdir().unwrap();
        let library = faults::library(whole.path());
        let (mut appended, mut committed) = (0, 0);
        for dies_at in [1, 2, 7, 16, 60, 133, 270] {
            let folder = tempfile::tempdir().unwrap();
            let faulty = folder.path().canonicalize().unwrap().join("faulty");
            std::fs::create_dir(&faulty).unwrap();
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "at_once::faulty::child_appends_at_once", "--nocapture"]);
            faults::preload(&mut child, &library, &faulty);
            let child = child.env(FOLDER, folder.path()).env(DIES_AT, dies_at.to_string());
            assert!(!child.output().unwrap().status.success(), "it is killed");
            let path = faulty.join("threads.db");
            committed += commits(&path) - 2 * RUNS;
            let text = std::fs::read_to_string(folder.path().join("returned")).unwrap_or_default();
            let returned = text.lines().map(|line| line.split_once('\t').unwrap());
            let returned: BTreeMap<&str, usize> =
                returned.map(|(name, len)| (name, len.parse().unwrap())).collect();
            let store = open(&path);
            for nth in 0..RUNS {
                let thread = id(&format!("실행 {nth:03}"));
                let found = store.records(&thread, 0).unwrap();
                let least = returned.get(thread.as_str()).copied().unwrap_or(2);
                assert!(found.len() == least || found.len() == least + 1, "{} of {least}", found.len());
                assert_eq!(found, records(&thread, 0, found.len()));
                appended += found.len() - 2;
            }
            is_sound(&store);
        }
        assert!(committed < appended, "{appended} records in {committed} commits");
    }
}
