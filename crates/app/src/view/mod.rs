//! A turn as a page draws it: one document, made of its records by the fold that everything is made by.
//!
//! **Invariant:** equal records give an equal document. Its length is in proportion to them, and the work to the requests
//! that they made: each is rendered once.

mod align;
mod asked;
mod compare;
mod difference;
mod fixture;
mod lines;
mod part;
mod replay;
mod source;
mod summary;
mod timeline;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

use self::part::{EffectsOfSteps, PartWalk, draw};
use self::timeline::Timeline;
use crate::pending::{Pending, RunLocation};
use crate::store::StoredThread;
use crate::turn::record_kind;
use planwright::journal::{Folded, JournalError, Record, RunStatus, StoreError, Unknown, fold};
use planwright::machine::{Counters, EffectId, Event, local, start};
use planwright::spec::{CompiledSpec, Digest};

pub use compare::{ComparedPair, ComparedReplay, ComparedRun, ComparedSide, Comparison, Parting, compare};
pub use difference::{Difference, diff_text};
pub use fixture::records_of_fixture;
pub use part::{PhaseEdge, RunPart, SentBack, ShownDraft, ShownLine, ShownStep, TakenEdge};
pub use replay::compare_replay;
pub use source::{RunFile, find_recording, find_records, find_turn, split_turn};
pub use summary::{AskedOf, FailedStep, RunSummary, SummedDraft};
pub use timeline::{SharedBeginning, ShownRequest, TimelineEffect};

/// A turn as a page draws it. Times are in milliseconds since 1970.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunView {
    /// The thread; nothing where the run stands alone.
    pub thread: Option<String>,
    /// The turn, from 1.
    pub turn: u32,
    /// The run's id.
    pub run: String,
    /// The agent.
    pub agent: String,
    /// The model that it began with.
    pub model: Option<String>,
    /// Where it stands after the records that are shown.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::TurnStatus))]
    pub status: &'static str,
    /// What was asked.
    pub question: String,
    /// The time that models are told, where they are told one.
    pub now: Option<String>,
    /// The answer.
    pub answer: Option<String>,
    /// Why there is none.
    pub error: Option<String>,
    /// The answer, or why there is none, as the user is told.
    pub result: Option<String>,
    /// When the first effect was asked.
    pub began: Option<u64>,
    /// When it ended.
    pub ended: Option<u64>,
    /// Whether it has read untrusted output.
    pub tainted: bool,
    /// Where the beginning of a fork comes from.
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::shapes::Origin>))]
    pub origin: Option<Value>,
    /// How many records are shown.
    pub shown_records: usize,
    /// How many there are.
    pub all_records: usize,
    /// What a person is asked, or the write that is in doubt.
    pub pending: Option<Pending>,
    /// The writes of which nobody knows whether they happened.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::shapes::UnknownWrite>))]
    pub unknown: Vec<Unknown>,
    /// What it has spent.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub counters: Counters,
    /// The currency of its costs, where the configuration names one. No record says it.
    pub currency: Option<String>,
    /// The run at a glance.
    pub summary: RunSummary,
    /// The phase graph of each agent, found by walking its machine.
    pub graphs: BTreeMap<String, Vec<PhaseEdge>>,
    /// The run itself, and behind it those nested in its steps.
    pub runs: Vec<RunPart>,
    /// The effects of all runs, in the order in which they were asked.
    pub timeline: Vec<TimelineEffect>,
    /// What is the same in all requests of a role: the system message, the tools, the schema.
    #[cfg_attr(feature = "schema", schema(value_type = BTreeMap<String, Object>))]
    pub frames: BTreeMap<String, Value>,
    /// The records by number.
    pub records: Vec<ShownRecord>,
}

/// A record without what it says.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownRecord {
    /// From 0.
    pub record: usize,
    /// What kind of record it is.
    pub kind: &'static str,
    /// The effect that it is about.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub effect: Option<EffectId>,
    /// When it was written.
    pub at: Option<u64>,
}

impl RunView {
    /// Loads the view of a turn of a thread, which people count from 1.
    ///
    /// # Errors
    /// Where there is no such turn, or its records do not read.
    pub fn load(stored: &StoredThread, turn: u32, most: Option<usize>) -> Result<Self, StoreError> {
        let (store, thread) = (stored.threads.store(), &stored.thread);
        let turns = store.turns(thread)?;
        if !(1..=turns).contains(&turn) {
            return Err(StoreError::NoTurn { thread: thread.clone(), turn: turn.saturating_sub(1), turns });
        }
        let running = turn == turns && store.find(thread).ok().flatten().is_some_and(|listed| listed.running);
        let records = store.records(thread, turn - 1)?;
        Ok(RunView::of(records, most, RunLocation::in_thread(stored), running)?)
    }

    /// Makes the view of a turn after its first `most` records, or after all. In a turn that is `running`, what is
    /// asked is being done.
    ///
    /// # Errors
    /// Where the records do not fold; names the record.
    pub fn of(
        mut records: Vec<Record>,
        most: Option<usize>,
        location: RunLocation<'_>,
        running: bool,
    ) -> Result<Self, JournalError> {
        let all_records = records.len();
        records.truncate(most.unwrap_or(all_records).max(1));
        let is_whole = records.len() == all_records;
        let folded = fold(records.iter().cloned())?;
        let Some(Record::Header(header)) = records.first() else {
            return Err(JournalError::damaged("journal record 0", "expected a header"));
        };
        let mut walk = Walk::new(&folded, header.input.clone());
        for (number, record) in (0..).zip(&records).skip(1) {
            walk.take(number, record).map_err(|problem| JournalError::at(number, problem))?;
        }
        walk.timeline.mark_critical();
        let graphs = walk.parts.iter().map(|part| (part.agent.clone(), part.compiled));
        let graphs = graphs.collect::<BTreeMap<_, _>>().into_iter();
        let graphs = graphs.map(|(agent, compiled)| (agent, graph_of(compiled))).collect();
        let Timeline { effects: timeline, frames, .. } = walk.timeline;
        let of_steps = effects_of_steps(&timeline);
        let tainted = walk.parts.iter().filter(|part| part.state.is_tainted()).map(|part| part.path.clone());
        let tainted = tainted.collect();
        let parts = walk.parts.into_iter().map(|part| part.finish(&timeline, &of_steps, &tainted));
        let mut runs: Vec<RunPart> = parts.collect();
        for (effect, _) in folded.doubts().filter(|_| !(running && is_whole)) {
            let number = timeline.iter().position(|asked| asked.effect == effect.to_string());
            let steps = runs.iter_mut().flat_map(|run| &mut run.steps);
            let asks = |step: &&mut ShownStep| number.is_some_and(|number| step.effects.contains(&number));
            steps.filter(asks).for_each(|step| step.status = "in_doubt");
        }
        let (status, state) = (RunStatus::of(&folded), &folded.state);
        let times = || records.iter().filter_map(Record::time);
        let location = if is_whole { location } else { RunLocation::default() };
        let pending = Pending::of(&folded, location).filter(|_| !(running && is_whole));
        let is_running = running && is_whole && !status.has_ended();
        Ok(RunView {
            thread: Some(header.thread.clone()).filter(|thread| !thread.is_empty()),
            turn: header.turn + 1,
            run: header.run.clone(),
            agent: header.spec.name.clone(),
            model: Some(header.model.clone()).filter(|model| !model.is_empty()),
            status: if is_running { "running" } else { status.name() },
            question: header.input.question.clone(),
            now: Some(header.input.now.clone()).filter(|now| !now.is_empty()),
            answer: state.answer().filter(|_| state.phase().is_terminal()).map(str::to_owned),
            error: state.error().map(ToString::to_string),
            result: runs.first().and_then(|run| run.result.clone()),
            began: times().next(),
            ended: times().next_back().filter(|_| status.has_ended()),
            tainted: state.is_tainted(),
            origin: header.origin.as_ref().map(
                |origin| json!({"thread": origin.thread, "turn": origin.turn + 1, "records": origin.records}),
            ),
            shown_records: records.len(),
            all_records,
            pending,
            unknown: folded.unknown().to_vec(),
            counters: *state.counters(),
            currency: None,
            summary: RunSummary::of(&timeline, &runs),
            graphs,
            runs,
            timeline,
            frames,
            records: records.iter().enumerate().map(ShownRecord::of).collect(),
        })
    }
}

impl ShownRecord {
    fn of((number, record): (usize, &Record)) -> Self {
        let (kind, effect) = record_kind(record);
        ShownRecord { record: number, kind, effect, at: record.time() }
    }
}

/// The records on their way, with every run that they are of.
struct Walk<'r> {
    folded: &'r Folded,
    parts: Vec<PartWalk<'r>>,
    /// The nested runs by their paths.
    nested: HashMap<String, usize>,
    timeline: Timeline,
}

impl<'r> Walk<'r> {
    fn new(folded: &'r Folded, input: planwright::machine::Input) -> Self {
        let (compiled, name) = (&folded.compiled, folded.compiled.spec().name.clone());
        let outermost = PartWalk::new(String::new(), name, compiled, start(compiled, input).state, 0);
        let (parts, nested) = (vec![outermost], HashMap::new());
        Walk { folded, parts, nested, timeline: Timeline::default() }
    }

    fn take(&mut self, number: u64, record: &Record) -> Result<(), String> {
        match record {
            Record::Requested { effect, digest, at } => {
                self.find_nested(*effect, number);
                let (compiled, state) = (&self.folded.compiled, &self.parts[0].state);
                self.timeline.ask(compiled, state, (*effect, *digest), number, *at);
            }
            Record::Answered { event, .. } | Record::Happened { event, .. } => {
                let (compiled, at, model) = (&self.folded.compiled, record.time(), &self.folded.model);
                self.timeline.answer(compiled, event, number, at, model);
                let inside = event.effect().map(|effect| self.find_nested(effect, number));
                for (part, effect) in inside.into_iter().flatten() {
                    self.step(part, number, event.clone().addressed(effect))?;
                }
                self.step(0, number, event.clone())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn step(&mut self, part: usize, number: u64, event: Event) -> Result<(), String> {
        // The order of the runs is kept: the one that is moved is put back where it was.
        let moved = self.parts.swap_remove(part).step(number, event)?;
        self.parts.push(moved);
        let last = self.parts.len() - 1;
        self.parts.swap(part, last);
        Ok(())
    }

    /// The nested runs that an effect is in, outermost first, each with the effect as that run knows it. A run that
    /// is met for the first time stands at its beginning.
    fn find_nested(&mut self, effect: EffectId, number: u64) -> Vec<(usize, EffectId)> {
        let id = effect.to_string();
        let places = id.match_indices('/').map(|(at, _)| (&id[..at], id[at + 1..].parse::<EffectId>()));
        let mut found = Vec::new();
        for (path, inner) in places {
            let Ok(inner) = inner else { continue };
            let known = self.nested.get(path).copied().or_else(|| {
                let here = format!("{path}/{}", inner.to_string().rsplit('/').next()?).parse().ok()?;
                let here = local(&self.folded.compiled, &self.parts[0].state, here)?;
                let agents: Vec<&str> = here.agents.iter().flatten().copied().collect();
                let (agent, state) = (agents.join("/"), here.state.clone());
                let part = PartWalk::new(path.to_owned(), agent, here.compiled, state, number);
                self.parts.push(part);
                self.nested.insert(path.to_owned(), self.parts.len() - 1);
                Some(self.parts.len() - 1)
            });
            found.extend(known.map(|part| (part, inner)));
        }
        found
    }
}

/// The phase graph of an agent. To find it takes longer than all the rest, so it is kept for the next view.
fn graph_of(compiled: &CompiledSpec) -> Vec<PhaseEdge> {
    static KNOWN: Mutex<Vec<(Digest, Vec<PhaseEdge>)>> = Mutex::new(Vec::new());
    let spec = serde_json::to_vec(compiled.spec()).unwrap_or_default();
    let digest = Digest::of([spec.as_slice()]);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().iter().find(|(known, _)| *known == digest).map(|(_, graph)| graph.clone());
    found.unwrap_or_else(|| {
        let graph = draw(compiled);
        let mut known = known();
        if known.len() >= KNOWN_GRAPHS {
            known.remove(0);
        }
        known.push((digest, graph.clone()));
        graph
    })
}

/// How many phase graphs are kept.
const KNOWN_GRAPHS: usize = 64;

/// Which effects and which nested runs are of which step.
fn effects_of_steps(timeline: &[timeline::TimelineEffect]) -> EffectsOfSteps {
    let mut found = EffectsOfSteps::new();
    for (number, effect) in timeline.iter().enumerate() {
        if let Some(step) = effect.step {
            let key = (effect.path.clone(), effect.draft, step - 1);
            found.entry(key).or_default().0.push(number);
        }
        // The step that the run of the effect is nested in.
        let (outside, nested) = effect.path.rsplit_once('/').unwrap_or(("", &effect.path));
        let mut numbers = nested.split('.').skip(1).map(str::parse::<u32>);
        if let (Some(Ok(draft)), Some(Ok(step))) = (numbers.next(), numbers.next()) {
            let runs = &mut found.entry((outside.to_owned(), draft, step - 1)).or_default().1;
            if runs.last() != Some(&effect.path) {
                runs.push(effect.path.clone());
            }
        }
    }
    found
}
