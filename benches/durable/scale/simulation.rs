//! A service as queues: runs ask models that take their time, the processors serve them in order, and one store commits
//! what waits for it in groups. What is random follows from a seed.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

pub const SEED: u64 = 20_261_123;
/// Appends of the replan run.
pub const APPENDS: u32 = 12;

/// What a run and its store cost, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Of a processor for each append, whatever waits.
    pub processor: f64,
    /// Of the store for each commit.
    pub commit: f64,
    /// Of the store for each append in a commit.
    pub row: f64,
    /// From when a thread of execution may go on until it does.
    pub wake: f64,
}

/// Whose runs begin when.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// So many that begin anew as soon as they end.
    Closed(usize),
    /// So many in a second, independent of one another.
    Open(f64),
}

/// What is asked of a service.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub arrivals: Arrivals,
    /// Appends of a run: one to begin with, and one for each effect that is answered.
    pub appends: u32,
    /// What an effect takes, in seconds: half of them less than this, by a lognormal distribution.
    pub latency: f64,
    /// The deviation of its logarithm.
    pub spread: f64,
    /// How many runs wait for a person once, of all.
    pub asked: f64,
    /// How long a person takes in the mean, in seconds. What waited before the beginning is answered as well.
    pub answered: f64,
}

/// What serves it.
#[derive(Clone, Copy, Debug)]
pub struct Machines {
    pub processes: usize,
    /// Processors of each.
    pub processors: usize,
    pub costs: Costs,
    /// How often a process is killed, in the mean: once in so many seconds.
    pub killed: f64,
    /// After how many seconds its runs are gone on with elsewhere.
    pub lease: f64,
    /// Whether the store writes rows on the processors of the process, which is one then. Waiting for the disk takes
    /// none.
    pub shares: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Runs that ended in a second, from a quarter of the time on.
    pub rate: f64,
    /// How much longer than its models and people a run took, in the median and for one in a hundred, in seconds.
    pub added: [f64; 2],
    /// The share of the time that processors and store were busy.
    pub busy: [f64; 2],
    /// The most runs under way at once in all processes, without those that wait for a person.
    pub most_under_way: usize,
    /// The runs that wait for a person at the end.
    pub waiting: usize,
    /// Effects that were asked again because a process was killed.
    pub repeated: usize,
}

/// A source of numbers that are the same for the same seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// A number from 0 to 1, without 0.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// A lognormal number (by Box and Muller).
    pub fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        median * (spread * normal).exp()
    }
}

/// A run, and the try that it is in: what an earlier one still does counts no more.
type Job = (usize, u32);

/// What a store that shares the processors does on one.
const STORE: Job = (usize::MAX, 0);

/// A process, and how often it was killed before.
type Era = (usize, u32);

#[derive(Clone, Copy)]
enum What {
    Arrives,
    /// A person answers what waited before the beginning.
    Returns,
    /// An effect of a run is answered.
    Answered(Job),
    /// A processor of a process is done with what a run does before an append.
    Worked(Job, Era),
    Committed,
    /// A run goes on behind an append that shared the commit of another.
    Woken(Job),
    Killed(usize),
}

struct Due {
    at: f64,
    /// Of two at the same time the first that was planned.
    nth: u64,
    what: What,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    // The earliest is the greatest: a heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.nth.cmp(&self.nth))
    }
}

/// A run under way.
struct Run {
    process: usize,
    appended: u32,
    attempt: u32,
    began: f64,
    /// What its models and people took.
    asked: f64,
    waits: bool,
}

/// The processors of a process.
struct Processors {
    idle: usize,
    queue: VecDeque<Job>,
    era: u32,
}

struct Simulation {
    load: Load,
    machines: Machines,
    random: Random,
    now: f64,
    planned: u64,
    due: BinaryHeap<Due>,
    runs: Vec<Run>,
    /// Places of runs that ended.
    free: Vec<usize>,
    processors: Vec<Processors>,
    /// What the store commits now, and what waits for the next commit.
    commits: Vec<Job>,
    appends: Vec<Job>,
    under_way: usize,
    busy: [f64; 2],
    outcome: Outcome,
    ended: Vec<(f64, f64)>,
}

/// Lets so many seconds pass.
pub fn simulate(load: Load, machines: Machines, seconds: f64, seed: u64) -> Outcome {
    let processors = || Processors { idle: machines.processors, queue: VecDeque::new(), era: 0 };
    let mut simulation = Simulation {
        load,
        machines,
        random: Random(seed),
        now: 0.0,
        planned: 0,
        due: BinaryHeap::new(),
        runs: Vec::new(),
        free: Vec::new(),
        processors: (0..machines.processes).map(|_| processors()).collect(),
        commits: Vec::new(),
        appends: Vec::new(),
        under_way: 0,
        busy: [0.0; 2],
        outcome: Outcome::default(),
        ended: Vec::new(),
    };
    match load.arrivals {
        Arrivals::Closed(count) => (0..count).for_each(|_| simulation.plan(0.0, What::Arrives)),
        Arrivals::Open(rate) => {
            simulation.plan(0.0, What::Arrives);
            simulation.plan_returns(rate * load.asked * load.answered, seconds);
        }
    }
    if machines.killed.is_finite() {
        (0..machines.processes).for_each(|process| simulation.plan_kill(process));
    }
    while let Some(due) = simulation.due.pop().filter(|due| due.at < seconds) {
        simulation.now = due.at;
        simulation.happen(due.what);
    }
    simulation.conclude(seconds)
}

impl Simulation {
    fn plan(&mut self, after: f64, what: What) {
        self.planned += 1;
        self.due.push(Due { at: self.now + after, nth: self.planned, what });
    }

    /// So many runs wait for a person at the beginning, each as long as any other.
    fn plan_returns(&mut self, count: f64, seconds: f64) {
        self.outcome.waiting = count as usize;
        for _ in 0..self.outcome.waiting {
            let after = self.random.exponential(self.load.answered);
            if after < seconds {
                self.plan(after, What::Returns);
            }
        }
    }

    fn plan_kill(&mut self, process: usize) {
        let after = self.random.exponential(self.machines.killed);
        self.plan(after, What::Killed(process));
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Arrives => {
                if let Arrivals::Open(rate) = self.load.arrivals {
                    let after = self.random.exponential(1.0 / rate);
                    self.plan(after, What::Arrives);
                }
                self.begin(0);
            }
            What::Returns => {
                self.outcome.waiting -= 1;
                self.begin(self.load.appends / 2);
            }
            What::Answered((run, attempt)) if self.runs[run].attempt == attempt => {
                if std::mem::take(&mut self.runs[run].waits) {
                    self.outcome.waiting -= 1;
                    self.enter();
                }
                self.work(run);
            }
            What::Worked(job, era) => self.give_back(job, era),
            What::Committed => {
                let (mut shared, wake) =
                    (std::mem::take(&mut self.commits).into_iter(), self.machines.costs.wake);
                let first = shared.next();
                shared.for_each(|job| self.plan(wake, What::Woken(job)));
                first.into_iter().for_each(|job| self.happen(What::Woken(job)));
                self.commit();
            }
            What::Woken((run, attempt)) if self.runs[run].attempt == attempt => self.go_on(run),
            What::Killed(process) => self.kill(process),
            What::Answered(..) | What::Woken(_) => {}
        }
    }

    fn enter(&mut self) {
        self.under_way += 1;
        self.outcome.most_under_way = self.outcome.most_under_way.max(self.under_way);
    }

    fn begin(&mut self, appended: u32) {
        let at = self.free.pop().unwrap_or(self.runs.len());
        let attempt = self.runs.get(at).map_or(0, |run| run.attempt + 1);
        let process =
            (self.random.unit() * self.machines.processes as f64) as usize % self.machines.processes;
        let run = Run { process, appended, attempt, began: self.now, asked: 0.0, waits: false };
        if at == self.runs.len() {
            self.runs.push(run);
        } else {
            self.runs[at] = run;
        }
        self.enter();
        self.work(at);
    }

    /// A run waits for a processor, and has it for what an append takes.
    fn work(&mut self, run: usize) {
        self.take_turn(self.runs[run].process, (run, self.runs[run].attempt));
    }

    fn take_turn(&mut self, process: usize, job: Job) {
        let processors = &mut self.processors[process];
        if processors.idle == 0 {
            return processors.queue.push_back(job);
        }
        processors.idle -= 1;
        let era = (process, processors.era);
        self.occupy(job, era);
    }

    fn occupy(&mut self, job: Job, era: Era) {
        let Costs { processor, row, .. } = self.machines.costs;
        let cost = if job == STORE { row * self.commits.len() as f64 } else { processor };
        self.busy[0] += cost;
        self.plan(cost, What::Worked(job, era));
    }

    /// A processor is free again, and what it was used for goes to the store.
    fn give_back(&mut self, job: Job, era: Era) {
        let processors = &mut self.processors[era.0];
        if processors.era != era.1 {
            return;
        }
        match processors.queue.pop_front() {
            Some(next) => self.occupy(next, era),
            None => processors.idle += 1,
        }
        if job == STORE {
            let commit = self.machines.costs.commit;
            self.busy[1] += commit;
            return self.plan(commit, What::Committed);
        }
        self.appends.push(job);
        self.commit();
    }

    /// The store commits what waits, if it is not busy.
    fn commit(&mut self) {
        if self.commits.is_empty() && !self.appends.is_empty() {
            std::mem::swap(&mut self.commits, &mut self.appends);
            let Costs { commit, row, .. } = self.machines.costs;
            let rows = row * self.commits.len() as f64;
            if self.machines.shares {
                self.busy[1] += rows;
                return self.take_turn(0, STORE);
            }
            self.busy[1] += commit + rows;
            self.plan(commit + rows, What::Committed);
        }
    }

    /// A run whose append is durable asks for its next effect, or has ended.
    fn go_on(&mut self, at: usize) {
        let (appends, last) = (self.load.appends, self.runs[at].appended + 1);
        self.runs[at].appended = last;
        if last < appends {
            // A person is asked, if at all, in the middle of a run.
            let waits = last == appends / 2 && self.random.unit() <= self.load.asked;
            return self.ask(at, waits);
        }
        let run = &self.runs[at];
        self.ended.push((self.now, self.now - run.began - run.asked));
        self.free.push(at);
        self.under_way -= 1;
        if let Arrivals::Closed(_) = self.load.arrivals {
            self.begin(0);
        }
    }

    fn ask(&mut self, at: usize, waits: bool) {
        let Load { latency, spread, answered, .. } = self.load;
        let takes = match waits {
            true => self.random.exponential(answered),
            false => self.random.lognormal(latency, spread),
        };
        let run = &mut self.runs[at];
        run.asked += takes;
        run.waits = waits;
        let attempt = run.attempt;
        if waits {
            self.outcome.waiting += 1;
            self.under_way -= 1;
        }
        self.plan(takes + self.machines.costs.wake, What::Answered((at, attempt)));
    }

    /// The runs of a process are gone on with by the others once its lease has run out; what was under way is asked
    /// again. A run that waits for a person is nobody's.
    fn kill(&mut self, process: usize) {
        let Machines { processes, processors, lease, shares, .. } = self.machines;
        if shares {
            self.commits.clear();
            self.appends.clear();
        }
        let era = self.processors[process].era + 1;
        self.processors[process] = Processors { idle: processors, queue: VecDeque::new(), era };
        let ended: std::collections::BTreeSet<usize> = self.free.iter().copied().collect();
        for at in 0..self.runs.len() {
            let run = &mut self.runs[at];
            if run.process != process || run.waits || ended.contains(&at) {
                continue;
            }
            run.attempt += 1;
            run.process = (process + 1 + at % processes.saturating_sub(1).max(1)) % processes;
            self.outcome.repeated += 1;
            let (attempt, takes) = (run.attempt, self.random.lognormal(self.load.latency, self.load.spread));
            self.plan(lease + takes, What::Answered((at, attempt)));
        }
        self.plan_kill(process);
    }

    fn conclude(mut self, seconds: f64) -> Outcome {
        let warm = seconds / 4.0;
        self.ended.retain(|(at, _)| *at >= warm);
        let mut added: Vec<f64> = self.ended.iter().map(|(_, added)| *added).collect();
        added.sort_by(f64::total_cmp);
        let at = |percent: usize| added.get(added.len().saturating_sub(1) * percent / 100).copied();
        let processors = (self.machines.processes * self.machines.processors) as f64;
        let busy = [self.busy[0] / processors / seconds, self.busy[1] / seconds];
        let rate = self.ended.len() as f64 / (seconds - warm);
        Outcome { rate, added: [50, 99].map(|percent| at(percent).unwrap_or_default()), busy, ..self.outcome }
    }
}

/// Prints what a service needs that asks models of two seconds, of whose runs one in twenty waits for a person, and of
/// whose processes each is killed once a day. `few` has runs a second, processes, and how long a person takes.
pub fn predict(costs: Costs, processors: usize, shares: bool, few: &[(f64, usize, f64)]) {
    println!(
        "\n| runs a second | processes | processors busy | store busy | added: p50 | p99 | under way | waiting | asked again |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for &(rate, processes, answered) in few {
        let machines = Machines { processes, processors, costs, killed: 86_400.0, lease: 20.0, shares };
        let arrivals = Arrivals::Open(rate);
        let load = Load { arrivals, appends: APPENDS, latency: 2.0, spread: 0.8, asked: 0.05, answered };
        let seconds = 86_400.0_f64.min(600_000.0 / rate);
        let Outcome { busy, added, most_under_way, waiting, repeated, .. } =
            simulate(load, machines, seconds, SEED);
        let [processors, store] = busy.map(|share| share * 100.0);
        let [p50, p99] = added.map(|seconds| seconds * 1e3);
        println!(
            "| {rate} | {processes} | {processors:.2} % | {store:.2} % | {p50:.1} ms | {p99:.1} ms | {most_under_way} | {waiting} | {repeated} |"
        );
    }
}
