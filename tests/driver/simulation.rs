//! Simulated schedules: over all shipped agents, with crashes before, amid and after every write,
//! failing writes and reads, models that do not answer, people who answer late, twice, to something else
//! or not at all. Whatever happens, a run comes to the end that it has without any of it.
//!
//! `PLANWRIGHT_SCHEDULES=100000` plays more; `PLANWRIGHT_SEED=17` plays the one of a failure again.

use crate::simulated;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use planwright::driver::{Agent, Resolution, Run, Stopped, Threads, token};
use planwright::journal::{
    Durability, MemoryStore, Query, Record, RunStatus, Store, StoreError, ThreadId, UngroundedCall, fold,
};
use planwright::machine::{EffectId, HumanAnswer, State};

use planwright_sqlite::SqliteStore;
use simulated::Dice;
use simulated::store::Faulty;
use simulated::world::{Straight, Word, World};

/// How many schedules the suite plays.
const SCHEDULES: u64 = 10_000;
/// Most faults of one schedule.
const MOST_FAULTS: u32 = 10;
/// More goings-on than any schedule needs.
const MOST_ROUNDS: usize = 2_000;

/// What all schedules together have met: a simulation in which nothing breaks shows nothing.
#[derive(Default)]
struct Met(Mutex<BTreeMap<&'static str, usize>>);

impl Met {
    fn count(&self, what: &'static str) {
        *self.0.lock().unwrap().entry(what).or_default() += 1;
    }
}

struct Schedule<'m> {
    world: Arc<World>,
    agent: Agent,
    threads: Threads,
    thread: ThreadId,
    dice: Dice,
    met: &'m Met,
    /// Tokens whose questions were answered.
    spent: Vec<String>,
}

impl Schedule<'_> {
    fn standing(&self) -> Option<RunStatus> {
        self.records().map(|records| RunStatus::of(&fold(records).expect("what was written folds")))
    }

    fn records(&self) -> Option<Vec<Record>> {
        match self.world.store.kept().records(&self.thread, 0) {
            Ok(records) => Some(records),
            Err(StoreError::NoThread { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Goes on by one step, whatever the thread needs.
    fn goes_on(&mut self) {
        if self.world.store.is_dead() {
            self.met.count("process died");
            self.world.store.begins_again();
        }
        let Some(standing) = self.standing() else {
            let asked =
                self.threads.at(&self.thread).ask_with(&self.agent, self.world.straight.input.clone());
            return self.ended(asked);
        };
        if self.dice.one_in(4) {
            self.nonsense(&standing);
        }
        let ended = match standing {
            RunStatus::Waiting { effect, .. } => self.person(effect),
            RunStatus::InDoubt { effect, .. } => self.settles(effect),
            RunStatus::Unfinished => self.threads.at(&self.thread).resume(&self.agent),
            RunStatus::Done { .. } | RunStatus::Failed { .. } | RunStatus::Damaged { .. } => {
                unreachable!("the schedule is over")
            }
        };
        self.ended(ended);
    }

    fn token(&self) -> String {
        token(&fold(self.records().expect("there is a thread")).unwrap())
            .expect("a person has to say something")
    }

    fn person(&mut self, effect: EffectId) -> Result<Run, Stopped> {
        let folded = fold(self.records().expect("there is a thread")).unwrap();
        if folded.asked_at(effect).is_none() {
            self.met.count("died before the question was put");
            return self.threads.at(&self.thread).resume(&self.agent);
        }
        let token = self.token();
        match self.world.straight.word(effect) {
            Word::Says(answer) => {
                self.met.count("answered");
                let answered = self.threads.at(&self.thread).token(&token).answer(&self.agent, answer);
                if self.standing() != Some(RunStatus::Unfinished) || answered.is_ok() {
                    self.spent.push(token);
                }
                answered
            }
            Word::Nothing => {
                self.met.count("expired");
                self.world.a_week_passes();
                let before = self.records();
                let late = HumanAnswer::reject("늦었다");
                let stopped = self.threads.at(&self.thread).token(token).answer(&self.agent, late);
                assert!(stopped.is_err(), "a late answer is refused");
                assert_eq!(self.records(), before, "a late answer changes nothing");
                self.threads.at(&self.thread).resume(&self.agent)
            }
        }
    }

    /// Says of a write in doubt what really became of it.
    fn settles(&mut self, effect: EffectId) -> Result<Run, Stopped> {
        let resumed = self.threads.at(&self.thread).resume(&self.agent);
        assert!(resumed.is_err(), "what is in doubt is not done again unasked");
        let settlement = match self.world.times(&effect.to_string()) {
            0 => {
                self.met.count("had not happened");
                Resolution::DidNotHappen
            }
            _ => {
                self.met.count("had happened");
                Resolution::Happened { output: self.world.straight.returned(effect) }
            }
        };
        let token = self.token();
        self.spent.push(token.clone());
        self.threads.at(&self.thread).token(token).resolve(&self.agent, settlement)
    }

    /// Says what does not fit. It is refused, and changes nothing.
    fn nonsense(&mut self, standing: &RunStatus) {
        let before = self.records();
        let at = || self.threads.at(&self.thread);
        let yes = HumanAnswer::Approve;
        let spent = self.spent.last().cloned();
        let said = match (self.dice.below(4), spent) {
            (0, Some(spent)) if !self.is_open(&spent) => at().token(spent).answer(&self.agent, yes),
            (1, Some(spent)) if !self.is_open(&spent) => {
                at().token(spent).resolve(&self.agent, Resolution::DidNotHappen)
            }
            (2, _) => at().token("0123456789abcdef").answer(&self.agent, yes),
            _ if !standing.has_ended() => at().ask(&self.agent, "다른 질문"),
            _ => return,
        };
        assert!(said.is_err(), "{standing:?} took what does not fit");
        assert_eq!(self.records(), before, "what is refused changes nothing");
        self.met.count("refused");
    }

    fn is_open(&self, token: &str) -> bool {
        let folded = fold(self.records().expect("there is a thread")).unwrap();
        planwright::driver::token(&folded).as_deref() == Some(token)
    }

    fn ended(&self, ended: Result<Run, Stopped>) {
        match ended {
            Ok(run) if run.is_waiting() => self.met.count("waited"),
            Ok(_) => self.met.count("ended"),
            Err(Stopped::Interrupted(_)) => self.met.count("interrupted"),
            Err(Stopped::Journal(_) | Stopped::InDoubt { .. }) => self.met.count("stopped"),
            Err(Stopped::AlreadyAnswered { .. } | Stopped::Expired { .. }) => self.met.count("too late"),
            Err(stopped) => panic!("{stopped}"),
        }
    }
}

fn play(seed: u64, met: &Met, kept: Arc<dyn Store>) {
    let straight = Straight::of(seed);
    let mut dice = Dice::of(!seed);
    let (faults, most) = (Dice::of(dice.next()), (dice.next() % u64::from(MOST_FAULTS)) as u32);
    let store = Arc::new(Faulty::new(kept, faults, most));
    let (done, now_ms) = (Mutex::default(), AtomicU64::new(1_000_000));
    let world = Arc::new(World { straight, store: store.clone(), done, now_ms });
    let (agent, thread) = (world.agent(), format!("모의 {seed}").parse().expect("a name"));
    let threads = Threads::new(store);
    let mut schedule = Schedule { world, agent, threads, thread, dice, met, spent: Vec::new() };
    let over = |schedule: &Schedule<'_>| schedule.standing().is_some_and(|standing| standing.has_ended());
    for _ in 0..MOST_ROUNDS {
        if over(&schedule) {
            break;
        }
        schedule.goes_on();
    }
    assert!(over(&schedule), "the run does not come to its end: {:?}", schedule.standing());
    for fault in schedule.world.store.seen() {
        met.count(match fault {
            simulated::store::Fault::DiesBefore => "died before a write",
            simulated::store::Fault::DiesAmid => "died amid a write",
            simulated::store::Fault::DiesAfter => "died after a write",
            simulated::store::Fault::Fails => "write failed",
        });
    }
    let records = schedule.records().expect("there is a thread");
    assert_eq!(UngroundedCall::find_all(&records), Ok(Vec::new()));
    let folded = fold(records.iter().cloned()).unwrap();
    assert_eq!(written(&folded.state), written(&schedule.world.straight.state), "another end");
    let done = schedule.world.done.lock().unwrap();
    for (key, times) in done.iter() {
        let effect = key.split_once('/').unwrap().1;
        assert!(*times == 1 || repeats(&records, effect), "{key} was done {times} times");
    }
}

/// Whether an effect may be done more than once: it is no write that may not.
fn repeats(records: &[Record], effect: &str) -> bool {
    let id: EffectId = effect.parse().unwrap();
    let requested =
        records.iter().position(|record| matches!(record, Record::Requested { effect, .. } if *effect == id));
    let cut = requested.expect("what was done was requested") + 1;
    let folded = fold(records[..cut].iter().cloned()).unwrap();
    planwright::journal::find_unrepeatable(&folded.compiled, &folded.state, id).is_none()
}

fn written(state: &State) -> String {
    serde_json::to_string(state).expect("a state serialises")
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: expected a number")))
}

/// Plays schedules, so many at a time, each in what `kept` gives it.
fn play_all(seeds: Range<u64>, at_once: usize, kept: &(dyn Fn() -> Arc<dyn Store> + Sync)) -> Met {
    let met = Met::default();
    let (next, failed) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let played = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || failed.lock().unwrap().len() > 5 {
                        return;
                    }
                    let caught =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(seed, &met, kept())));
                    if caught.is_err() {
                        failed.lock().unwrap().push(seed);
                    }
                    played.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "PLANWRIGHT_SEED={} plays the first of {failed:?} again", failed[0]);
    assert_eq!(played.into_inner() as u64, seeds.end - seeds.start);
    met
}

#[test]
fn every_schedule_of_faults_comes_to_the_end_of_the_straight_run() {
    let seeds = match number("PLANWRIGHT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PLANWRIGHT_SCHEDULES").unwrap_or(SCHEDULES),
    };
    let at_once = std::thread::available_parallelism().map_or(2, usize::from);
    let met = play_all(seeds.clone(), at_once, &|| Arc::new(MemoryStore::new()));
    let met = met.0.into_inner().unwrap();
    println!("{met:#?}");
    if seeds.end - seeds.start >= SCHEDULES {
        for what in [
            "process died",
            "answered",
            "expired",
            "had happened",
            "had not happened",
            "refused",
            "waited",
            "ended",
            "interrupted",
            "stopped",
            "died before a write",
            "died amid a write",
            "died after a write",
            "write failed",
        ] {
            assert!(met.get(what).is_some_and(|times| *times >= 100), "{what} is hardly ever met: {met:?}");
        }
    }
}

#[test]
fn schedules_at_once_over_one_database_come_to_the_end_of_the_straight_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("threads.db"), Durability::Normal).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    play_all(0..400, 16, &|| store.clone());
    let waiting = Query { statuses: vec!["waiting".to_owned()], ..Query::default() };
    assert_eq!(store.list(&waiting).unwrap(), []);
    assert_eq!(store.check().unwrap(), [""; 0]);
}
