//! Damage in the write-ahead log, and what is none: where a writer was stopped.

use std::sync::{Arc, Mutex};

use super::*;
use crate::crash_support::{Log, Story, WORD, input};
use crate::store_conformance;
use planwright::driver::{Agent, Run, Settlement, Stopped, Threads};
use planwright::journal::{Claim, Store};
use planwright::machine::HumanAnswer;

const HEADER: usize = 32;
const FRAME: usize = 4_120;

fn thread() -> ThreadId {
    "보고서".parse().unwrap()
}

/// A database and its log, as a process that was killed leaves them.
#[derive(Clone)]
struct Left {
    database: Vec<u8>,
    log: Vec<u8>,
}

impl Left {
    fn at(path: &Path) -> Self {
        let log = std::fs::read(beside(path, "-wal")).unwrap_or_default();
        Left { database: std::fs::read(path).unwrap(), log }
    }

    fn put(&self, path: &Path) {
        let _ = std::fs::remove_file(beside(path, "-shm"));
        std::fs::write(path, &self.database).unwrap();
        std::fs::write(beside(path, "-wal"), &self.log).unwrap();
    }

    fn cut(&self, at: usize) -> Self {
        Left { log: self.log[..at].to_vec(), ..self.clone() }
    }
}

/// A thread that waited, and the log of its answer alone.
fn answered(path: &Path) -> Left {
    let agent = crate::damage::agent();
    let threads = Threads::new(Arc::new(open(path).unwrap()));
    assert!(threads.at(&thread()).ask_with(&agent, input()).unwrap().is_waiting());
    drop(threads);
    let threads = Threads::new(Arc::new(open(path).unwrap()));
    threads.at(&thread()).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    Left::at(path)
}

/// Refused, and the frame is named that the place lies in.
#[track_caller]
fn is_refused(path: &Path, at: usize, what: &str) {
    let error = open(path).expect_err(what);
    is_named(&error, what);
    let expected = match at.checked_sub(HEADER) {
        Some(at) => format!("the write-ahead log: frame {} is damaged, and ", at / FRAME + 1),
        None => "the write-ahead log: its header is damaged".to_owned(),
    };
    assert!(error.to_string().contains(&expected), "{what}: {error}");
}

#[test]
fn log_with_any_byte_spoilt_is_refused_and_its_frame_named() {
    let folder = folder();
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let left = answered(&path);
    left.put(&copy);
    let mut log = Spoilt::new(&beside(&copy, "-wal"));
    let mut tries = 0;
    for at in 0..left.log.len() {
        for mask in masks(at) {
            let spoilt = [left.log[at] ^ mask];
            log.with(at, &spoilt, || is_refused(&copy, at, &format!("byte {at} by {mask:#x}")));
            tries += 1;
        }
    }
    println!("{tries} tries at {} bytes of {} frames", left.log.len(), left.log.len() / FRAME);
    assert!(tries > left.log.len() && left.log.len() > 8 * FRAME, "{tries} of {}", left.log.len());
    let records = open(&path).unwrap().records(&thread(), 0).unwrap();
    assert_eq!(open(&copy).unwrap().records(&thread(), 0).unwrap(), records, "put back, it is whole");
}

#[test]
fn log_with_any_block_zeroed_is_refused_and_its_frame_named() {
    let folder = folder();
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let left = answered(&path);
    left.put(&copy);
    let mut log = Spoilt::new(&beside(&copy, "-wal"));
    let len = left.log.len();
    for size in [512, 4_096] {
        let (mut refused, mut blank) = (0, 0);
        for at in (0..len).step_by(512) {
            let end = len.min(at + size);
            match left.log[at..end].iter().position(|byte| *byte != 0) {
                None => blank += 1,
                Some(first) => {
                    let what = format!("{size} bytes zeroed at {at}");
                    log.with(at, &vec![0; end - at], || is_refused(&copy, at + first, &what));
                    refused += 1;
                }
            }
        }
        println!("{refused} blocks of {size} refused, {blank} were zeros already");
        assert_eq!(refused + blank, len.div_ceil(512));
        assert!(refused > len / 512 / 3, "{refused} of {}", len / 512);
    }
}

/// A log that was begun anew over an older one ends with its first commit: then whatever does not fit is
/// damage. While that commit is being written, it is not.
#[test]
fn log_over_an_older_one_is_torn_in_its_first_commit_and_damaged_behind_it() {
    let folder = folder();
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let store = open(&path).unwrap();
    let (thread, one) = (thread(), store_conformance::records(&thread(), 0, 2));
    let lease = store.claim(&thread, Claim::New).unwrap();
    store.append(&lease, 0, 0, one.clone()).unwrap();
    let (mut older, mut len) = (Left::at(&path), 2);
    let newer = loop {
        store.append(&lease, 0, len, vec![one[1].clone()]).unwrap();
        len += 1;
        let now = Left::at(&path);
        if now.log.len() < older.log.len() {
            break now;
        }
        older = now;
        assert!(len < 5_000, "the log is never begun anew");
    };
    assert!(older.log.len() > 900 * FRAME && newer.log.len() < 9 * FRAME, "{}", newer.log.len());

    // The older log, of which some is written over.
    let mut over = older.log[..HEADER + 20 * FRAME].to_vec();
    for written in (HEADER..newer.log.len()).step_by(2_050) {
        over[..written].copy_from_slice(&newer.log[..written]);
        Left { log: over.clone(), ..newer.clone() }.put(&copy);
        let found = open(&copy).unwrap().records(&thread, 0).unwrap().len() as u64;
        assert_eq!(found, len - 1, "{written} of {} bytes were written", newer.log.len());
    }
    newer.put(&copy);
    let mut log = Spoilt::new(&beside(&copy, "-wal"));
    for at in (0..newer.log.len()).step_by(5) {
        let spoilt = [newer.log[at] ^ MASKS[at % MASKS.len()]];
        log.with(at, &spoilt, || is_refused(&copy, at, &format!("byte {at}")));
    }
    assert_eq!(open(&copy).unwrap().records(&thread, 0).unwrap().len() as u64, len);
}

#[test]
fn damaged_log_that_is_cut_as_the_refusal_says_holds_what_was_written_before() {
    let folder = folder();
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let mut left = answered(&path);
    let whole = open(&path).unwrap().records(&thread(), 0).unwrap();
    left.log[HEADER + 6 * FRAME + 99] ^= 1;
    left.put(&copy);
    let said = open(&copy).unwrap_err().to_string();
    let (_, cut) = said.split_once("cut to ").expect("it says where");
    let cut: usize = cut.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(cut, HEADER + 6 * FRAME, "{said}");
    left.cut(cut).put(&copy);
    let store = open(&copy).unwrap();
    let records = store.records(&thread(), 0).unwrap();
    assert!(records.len() < whole.len() && whole.starts_with(&records), "{}", records.len());
    assert_eq!(store.check().unwrap(), [""; 0]);
}

/// What stood on the disk, and what had been done in the world, at some moment of the story.
struct Moment {
    log: usize,
    done: Vec<String>,
}

/// The story, told in a database, with every moment before and after something was done in the world.
fn moments(path: &Path, story: &Story) -> (Left, Vec<Moment>) {
    let (log, moments) = (Log::in_memory(), Arc::new(Mutex::new(Vec::new())));
    let look = {
        let (log, moments, wal) = (log.clone(), Arc::clone(&moments), beside(path, "-wal"));
        move || {
            let mut moments = moments.lock().unwrap();
            let len = std::fs::metadata(&wal).map_or(0, |file| file.len());
            moments.push(Moment { log: usize::try_from(len).unwrap(), done: log.done() });
        }
    };
    let around = {
        let look = look.clone();
        move |_: &str| look()
    };
    let agent = story.agent(&log, Arc::new(around));
    drop(open(path).unwrap());
    let database = std::fs::read(path).unwrap();
    let threads = Threads::new(Arc::new(open(path).unwrap()));
    assert!(threads.at(&thread()).ask_with(&agent, input()).unwrap().is_waiting());
    look();
    let run = threads.at(&thread()).answer(&agent, HumanAnswer::respond(WORD)).unwrap();
    assert!(story.is_told_by(&run));
    look();
    let left = Left::at(path);
    assert!(left.database == database, "nothing was moved out of the log yet");
    let moments = std::mem::take(&mut *moments.lock().unwrap());
    (left, moments)
}

/// Goes on until the end, or from the start where nothing was written; settles what is in doubt by what
/// was really done. Gives whether something was.
fn finish(agent: &Agent, threads: &Threads, log: &Log) -> Result<(Run, bool), Stopped> {
    let (mut doubted, thread) = (false, thread());
    let mut ended = match threads.store().turns(&thread) {
        Ok(_) => threads.at(&thread).resume(agent),
        Err(_) => threads.at(&thread).ask_with(agent, input()),
    };
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => threads.at(&thread).answer(agent, HumanAnswer::respond(WORD)),
            Ok(run) => return Ok((run, doubted)),
            Err(Stopped::InDoubt { tool, .. }) => {
                assert_eq!(tool, "send", "nothing else may not be done twice");
                doubted = true;
                let settlement = match log.times("send") {
                    0 => Settlement::DidNotHappen,
                    _ => Settlement::Happened { output: "send of 보고서".to_owned() },
                };
                threads.at(&thread).settle(agent, settlement)
            }
            Err(stopped) => return Err(stopped),
        };
    }
    panic!("the run does not come to its end")
}

#[test]
fn log_cut_where_its_writer_was_stopped_ends_the_same_and_sends_once() {
    let (story, folder) = (Story::told(), folder());
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let (left, moments) = moments(&path, &story);
    let (mut tries, mut doubts) = (0, 0);
    for (at, moment) in moments.iter().enumerate() {
        // Until the world was asked for something again, whatever was being written may have been cut.
        let end = moments[at + 1..].first().map_or(left.log.len(), |next| next.log.max(moment.log));
        for cut in (moment.log..=end).step_by(1_030) {
            left.cut(cut).put(&copy);
            let log = Log::in_memory();
            moment.done.iter().for_each(|line| log.did(line));
            let agent = story.agent(&log, Arc::new(|_| {}));
            let threads = Threads::new(Arc::new(open(&copy).unwrap()));
            let (run, doubted) = finish(&agent, &threads, &log).unwrap();
            assert!(story.is_told_by(&run), "cut to {cut} bytes after {:?}", moment.done);
            assert_eq!(log.times("send"), 1, "cut to {cut} bytes after {:?}", moment.done);
            assert_eq!(threads.store().check().unwrap(), [""; 0], "cut to {cut} bytes");
            (tries, doubts) = (tries + 1, doubts + usize::from(doubted));
        }
    }
    println!("{tries} cuts at {} moments, {doubts} in doubt", moments.len());
    assert!(tries > 60 && doubts > 1, "{tries} cuts, {doubts} in doubt");
}

/// What was last committed may have been performed on: dropped, it might be performed again.
#[test]
fn last_commit_of_a_log_is_never_dropped_for_damage() {
    let (story, folder) = (Story::told(), folder());
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let (left, moments) = moments(&path, &story);
    let mut tries = 0;
    for moment in &moments {
        let left = left.cut(moment.log);
        left.put(&copy);
        let mut log = Spoilt::new(&beside(&copy, "-wal"));
        for at in (moment.log - FRAME..moment.log).step_by(37).chain(moment.log - FRAME..moment.log - 4_096) {
            let spoilt = [left.log[at] ^ MASKS[at % MASKS.len()]];
            log.with(at, &spoilt, || is_refused(&copy, at, &format!("byte {at} of {}", moment.log)));
            tries += 1;
        }
    }
    println!("{tries} tries at the last frames of {} moments", moments.len());
    assert!(moments.len() > 10 && tries == moments.len() * (FRAME.div_ceil(37) + 24), "{tries}");
}

/// Where the computer was stopped, and not the program alone, what of the last commit had not reached the
/// disk may be anything; nothing was done on its word yet.
#[cfg(target_os = "linux")]
#[test]
fn commit_that_a_loss_of_power_spoilt_is_dropped_and_the_run_ends_the_same() {
    let (story, folder) = (Story::told(), folder());
    let (path, copy) = (folder.path().join("threads.db"), folder.path().join("copy.db"));
    let (left, moments) = moments(&path, &story);
    let holders = beside(&copy, ".holders");
    let held_in = |session: &str| {
        let _ = std::fs::remove_dir_all(&holders);
        std::fs::create_dir(&holders).unwrap();
        std::fs::write(holders.join("4711-0123456789abcdef"), session).unwrap();
    };
    let now = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (mut tries, mut within) = (0, 0);
    for (at, moment) in moments.iter().enumerate() {
        let end = moments[at + 1..].first().map_or(left.log.len(), |next| next.log.max(moment.log));
        // From some place on, or some frame of the last commit before its last.
        let is_commit = |frame: usize| left.log[frame + 4..frame + 8] != [0; 4];
        let frames = (moment.log..end).step_by(FRAME).collect::<Vec<_>>().into_iter().rev().skip(1);
        let inside = frames.take_while(|frame| !is_commit(*frame)).map(|frame| frame..frame + FRAME);
        let places = (moment.log..end).step_by(1_030).map(|from| from..end).chain(inside);
        for (place, spoilt) in places.flat_map(|place| [(place.clone(), 0x00), (place, 0x5A)]) {
            let mut left = left.cut(end);
            left.log[place.clone()].fill(spoilt);
            left.put(&copy);
            let what = format!("{spoilt:#x} at {place:?} of {end}");
            held_in(now.trim());
            open(&copy).expect_err(&what);
            held_in("another-session");
            let log = Log::in_memory();
            moment.done.iter().for_each(|line| log.did(line));
            let agent = story.agent(&log, Arc::new(|_| {}));
            let threads = Threads::new(Arc::new(open(&copy).expect(&what)));
            let (run, _) = finish(&agent, &threads, &log).unwrap();
            assert!(story.is_told_by(&run), "{what}");
            assert_eq!(log.times("send"), 1, "{what}");
            assert_eq!(threads.store().check().unwrap(), [""; 0], "{what}");
            (tries, within) = (tries + 1, within + usize::from(place.end < end));
        }
    }
    println!("{tries} logs spoilt at {} moments, {within} within a commit", moments.len());
    assert!(tries > 100 && within > 4, "{tries}, {within}");
}

/// A process is killed as its transaction is on its way to the disk; another, which lives, writes a shorter one
/// over the beginning of it, and is killed too. What of the first stands behind was never committed.
#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_process_had_not_committed_is_no_damage_behind_what_another_has() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let threads = Threads::new(Arc::new(open(&at("base.db")).unwrap()));
    assert!(threads.at(&thread()).ask_with(&crate::damage::agent(), input()).unwrap().is_waiting());
    let base = Left::at(&at("base.db"));
    let (long, short) = (at("long.db"), at("short.db"));
    base.put(&long);
    base.put(&short);
    let other: ThreadId = "다른 것".parse().unwrap();
    let one = open(&long).unwrap();
    one.release(one.begin(&other, vec![store_conformance::records(&other, 0, 99)]).unwrap()).unwrap();
    let two = open(&short).unwrap();
    let lease = two.claim(&thread(), Claim::Known).unwrap();
    let (killed, lived) = (Left::at(&long), Left::at(&short));
    let account = std::fs::read(beside(&short, "-shm")).unwrap();
    let behind = killed.log.len() - lived.log.len();
    assert!(lived.log.len() > base.log.len() && behind > 2 * FRAME, "{behind}");
    let left = Left { log: [&lived.log[..], &killed.log[lived.log.len()..]].concat(), ..lived };
    let session = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (copy, holders) = (at("copy.db"), at("copy.db.holders"));
    std::fs::create_dir(&holders).unwrap();
    // Without that account, or where it may be older than the log, nobody can tell it from damage.
    for (has_account, said) in [(false, session.trim()), (true, "another-session"), (true, session.trim())] {
        left.put(&copy);
        std::fs::write(holders.join("4711-0123456789abcdef"), said).unwrap();
        if has_account {
            std::fs::write(beside(&copy, "-shm"), &account).unwrap();
        }
        let opened = open(&copy);
        if !has_account || said != session.trim() {
            assert!(opened.unwrap_err().to_string().contains("commits stand behind it"));
            continue;
        }
        let opened = opened.unwrap();
        assert_eq!(opened.records(&thread(), 0).unwrap(), threads.store().records(&thread(), 0).unwrap());
        assert!(matches!(opened.turns(&other), Err(StoreError::NoThread { .. })));
        assert_eq!(opened.check().unwrap(), [""; 0]);
    }
    two.release(lease).unwrap();
}
