//! What the runs of a store have spent, added up.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::ConfigFile;
use crate::error::{Error, Result};
use planwright::driver::Threads;
use planwright::journal::{FileJournal, Listed, Query, Record, fold};
use planwright::machine::{Effect, EffectId, Event, State, Usage, awaited, start, transition};
use planwright::spec::{Money, Price, RoleName};

/// What is added up into one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SpendingBy {
    /// The days, of the local time zone.
    #[default]
    Day,
    /// The agents that were asked.
    Agent,
    /// The threads.
    Thread,
    /// The models.
    Model,
    /// The roles within the runs.
    Role,
}

/// What was spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Spent {
    /// The runs.
    pub runs: u64,
    /// The model calls that were answered, by a server or the offline model.
    pub calls: u64,
    /// The tokens.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::Usage))]
    pub tokens: Usage,
    /// What those calls cost whose price is known; `None` where that is none.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub cost: Option<Money>,
    /// The calls that cost tokens of an unknown price.
    pub unpriced_calls: u64,
}

impl Spent {
    /// Adds what else was spent.
    pub fn add(&mut self, other: &Spent) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.tokens.add(other.tokens);
        self.cost = self.cost.into_iter().chain(other.cost).reduce(Money::plus);
        self.unpriced_calls += other.unpriced_calls;
    }
}

/// What was spent, as `cost --json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SpendingReport {
    /// What a line adds up.
    pub by: SpendingBy,
    /// Since when, in milliseconds since 1970.
    pub since: Option<u64>,
    /// The currency of the prices.
    pub currency: Option<String>,
    /// What was spent, the most first; days in their order.
    pub lines: Vec<SpendingLine>,
    /// All of it.
    pub total: Spent,
    /// What does not read, and why.
    pub unreadable: Vec<String>,
}

/// What was spent under a name.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SpendingLine {
    /// The day, agent, thread, model or role.
    pub name: String,
    /// What was spent.
    #[serde(flatten)]
    pub spent: Spent,
}

/// What was spent in which runs.
#[derive(Debug, Default)]
pub struct Spending {
    by: SpendingBy,
    /// Since when, in milliseconds since 1970.
    since: u64,
    prices: BTreeMap<String, Price>,
    currency: Option<String>,
    lines: BTreeMap<String, Spent>,
    /// The runs in which a model was asked.
    runs: u64,
    problems: Vec<String>,
}

impl Spending {
    /// Nothing yet. `config` names the configuration file, whose prices serve for runs whose spec has none.
    ///
    /// # Errors
    /// Where the configuration file cannot be used.
    pub fn new(by: SpendingBy, since: u64, config: Option<&Path>) -> Result<Self> {
        let ConfigFile { prices, currency, .. } = ConfigFile::find(config)?;
        Ok(Spending { by, since, prices, currency, ..Spending::default() })
    }

    /// Adds what all threads of a store have spent.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn add_threads(&mut self, threads: &Threads) -> Result<()> {
        let mut query = Query::default();
        loop {
            let page = threads.list(&query)?;
            // The last written to come first.
            let since = self.since;
            for listed in page.iter().filter(|listed| listed.updated >= since) {
                self.add_thread(threads, listed);
            }
            match page.last() {
                Some(last) if page.len() == query.limit && last.updated >= self.since => {
                    query.after = Some(last.cursor(query.order));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Adds what the turns of a thread have spent.
    pub fn add_thread(&mut self, threads: &Threads, listed: &Listed) {
        for turn in 0..listed.turns.max(1) {
            let records = threads.store().records(&listed.thread, turn);
            let records = records.map_err(|error| error.to_string());
            let add = |records| self.add_run(records, listed.thread.as_str(), listed.updated);
            if let Err(problem) = records.and_then(add) {
                self.problems.push(format!("{}, turn {}: {problem}", listed.thread, turn + 1));
            }
        }
    }

    /// What was spent, added up.
    pub fn report(self) -> SpendingReport {
        let mut total = Spent::default();
        self.lines.values().for_each(|spent| total.add(spent));
        // A run that asked two models is one run.
        total.runs = self.runs;
        let mut lines: Vec<SpendingLine> =
            self.lines.into_iter().map(|(name, spent)| SpendingLine { name, spent }).collect();
        if self.by != SpendingBy::Day {
            lines.sort_by_key(|SpendingLine { spent, .. }| {
                Reverse((spent.cost, spent.tokens.input_tokens + spent.tokens.output_tokens))
            });
        }
        let since = Some(self.since).filter(|since| *since > 0);
        SpendingReport {
            by: self.by,
            since,
            currency: self.currency,
            lines,
            total,
            unreadable: self.problems,
        }
    }

    /// Adds what the run of a journal file has spent.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn add_journal(&mut self, path: &Path) -> Result<()> {
        let place = path.display().to_string();
        let caused = |error| Error::caused(format!("{place}: cannot be read"), error);
        let bytes = std::fs::read(path).map_err(caused)?;
        let written = std::fs::metadata(path).and_then(|file| file.modified()).map_err(caused)?;
        let age = written.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let records = FileJournal::parse(&bytes).map_err(Error::at(&place))?;
        let written = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.add_run(records, &place, written).map_err(Error::at(&place))
    }

    fn add_run(&mut self, records: Vec<Record>, thread: &str, updated: u64) -> Result<(), String> {
        let lines = self.spent_in(records, thread, updated)?;
        self.runs += u64::from(!lines.is_empty());
        for (name, spent) in lines {
            self.lines.entry(name).or_default().add(&Spent { runs: 1, ..spent });
        }
        Ok(())
    }

    /// What one run has spent. An answer without a time is one of `updated`. What a fork has copied was spent by
    /// the thread that it is copied from.
    fn spent_in(
        &self,
        records: Vec<Record>,
        thread: &str,
        updated: u64,
    ) -> Result<BTreeMap<String, Spent>, String> {
        let Some(Record::Header(header)) = records.first() else { return Ok(BTreeMap::new()) };
        let copied = header.origin.as_ref().map_or(0, |origin| origin.records);
        let (agent, began_with, input) = (&header.spec.name, header.model.clone(), header.input.clone());
        let (agent, mut lines) = (agent.clone(), BTreeMap::<String, Spent>::new());
        let compiled = fold(records.iter().cloned()).map_err(|error| error.to_string())?.compiled;
        let mut state = start(&compiled, input).state;
        for (index, record) in (0..).zip(records).skip(1) {
            let at = record.time().unwrap_or(updated);
            let (Record::Answered { event, .. } | Record::Happened { event, .. }) = record else { continue };
            let asked = event.effect().and_then(|effect| awaited(&compiled, &state, effect));
            let spent = asked.filter(|_| index >= copied && at >= self.since).zip(spent_by(&event));
            if let Some((asked, (tokens, model))) = spent {
                let model = if model.is_empty() { &*began_with } else { model };
                let name = match self.by {
                    SpendingBy::Day => day_of(at),
                    SpendingBy::Agent => agent.clone(),
                    SpendingBy::Thread => thread.to_owned(),
                    SpendingBy::Model => model.to_owned(),
                    SpendingBy::Role => role_of(&asked, &state),
                };
                let price = compiled.spec().prices.get(model).or_else(|| self.prices.get(model));
                let cost = price.filter(|_| !tokens.is_zero()).map(|price| tokens.cost(price));
                let unpriced_calls = u64::from(cost.is_none() && !tokens.is_zero());
                lines.entry(name).or_default().add(&Spent {
                    runs: 0,
                    calls: 1,
                    tokens,
                    cost,
                    unpriced_calls,
                });
            }
            state = transition(&compiled, state, event).map_err(|refused| refused.to_string())?.state;
        }
        Ok(lines)
    }
}

/// The tokens of an answer that a model gave, and the model.
fn spent_by(event: &Event) -> Option<(Usage, &str)> {
    match event {
        Event::ModelReplied { reply, .. } if !reply.cached => Some((reply.usage, &reply.model)),
        Event::ModelFailed { failure, .. } => Some((failure.usage, &failure.model)),
        _ => None,
    }
}

/// The role that was asked, or the agent whose step it was asked for, under the names of `spent` in `--json`.
fn role_of(asked: &Effect, state: &State) -> String {
    // A value for a step is written by a role, unless the run of an agent asks for it.
    let is_own = asked.id() == EffectId::from(asked.id().kind);
    if let Effect::AskModel { role: RoleName::Executor, .. } = asked
        && is_own
    {
        return RoleName::Executor.to_string();
    }
    let step = asked.id().step().and_then(|at| state.current_steps().nth(at as usize));
    match (step, asked) {
        (Some(step), _) => format!("agent:{}", step.step.tool),
        (None, Effect::AskModel { role, .. }) => role.to_string(),
        (None, _) => RoleName::Agent.to_string(),
    }
}

fn day_of(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let local = time.unwrap_or_default().to_zoned(jiff::tz::TimeZone::system());
    local.date().to_string()
}
