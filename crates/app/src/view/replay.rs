//! A recorded run beside its replay, up to where the replay stopped.

use std::collections::HashSet;

use super::RunView;
use super::compare::{ComparedPair, ComparedReplay, Comparison, compare, find_parting};
use super::fixture::view_of_fixture;
use crate::agent::PreparedAgent;
use crate::error::{Error, Result};
use crate::pending::RunLocation;
use crate::report::drift_json;
use planwright::driver::Stopped;
use planwright::journal::{Fixture, JournalError, Record};
use planwright::machine::EffectId;
use planwright::spec::Spec;

/// Compares a recorded run with its replay under a spec, which asks nothing of the world. The replay is shown as far
/// as the recorded answers reach. `shown` is the recorded run; it is drawn from the fixture where there is none.
///
/// # Errors
/// Where the spec cannot be used, or the recording under its own spec.
pub fn compare_replay(
    fixture: &Fixture,
    shown: Option<RunView>,
    spec: Spec,
) -> Result<(RunView, RunView, Comparison)> {
    let fail = |error: JournalError| Error::at("replay")(error);
    let agent = PreparedAgent::replaying(spec, "replay")?.agent;
    let (records, stopped) = agent.play(fixture).map_err(Error::at("replay"))?;
    let stopped = stopped.first().map(ToString::to_string);
    let is_whole = shown.is_some() || stopped.is_some();
    let (a, misfit) =
        shown.map_or_else(|| view_of_fixture(fixture), |shown| Ok((shown, None))).map_err(fail)?;
    let records = reproducible(records, is_whole);
    let mut b = RunView::of(records, None, RunLocation::default(), false).map_err(fail)?;
    if stopped.is_some() || b.status == "in_doubt" {
        // Nothing was asked of the world, so nothing is waited for, and no write is in doubt.
        (b.status, b.pending) = ("unfinished", None);
    }
    let drift = match agent.replay(fixture) {
        Err(Stopped::Drifted(drifts)) => drifts.iter().map(drift_json).collect(),
        _ => Vec::new(),
    };
    let mut comparison = compare(&a, &b);
    let last = comparison.effects.iter().rposition(|row| row.b.is_some());
    let stopped_at = last.filter(|_| stopped.is_some());
    if let Some(row) = stopped_at {
        leave_out_unreached(&mut comparison, &a, &b, row);
    }
    comparison.equal &= drift.is_empty() && stopped.is_none();
    let misfit = misfit.map(|misfit| misfit.to_string());
    comparison.replay = Some(ComparedReplay { drift, stopped, stopped_at, misfit });
    Ok((a, b, comparison))
}

/// The records of a replay without what no other replay has: its id and its times. Unless `is_whole`, requests
/// without an answer are left out, as a fixture has none, but for questions to people.
fn reproducible(records: Vec<Record>, is_whole: bool) -> Vec<Record> {
    let answered: HashSet<EffectId> = records
        .iter()
        .filter_map(|record| match record {
            Record::Answered { event, .. } => event.effect(),
            _ => None,
        })
        .collect();
    let asks_person = |effect: EffectId| effect.kind.asks_a_person();
    let kept = records.into_iter().filter_map(|record| match record {
        Record::Header(mut header) => {
            header.run.clear();
            Some(Record::Header(header))
        }
        Record::Requested { effect, digest, .. } => {
            let is_kept = is_whole || answered.contains(&effect) || asks_person(effect);
            is_kept.then_some(Record::Requested { effect, digest, at: None })
        }
        Record::Answered { event, .. } => Some(Record::Answered { event, at: None }),
        other => Some(other),
    });
    kept.collect()
}

/// Takes back what differs only because the replay stopped.
fn leave_out_unreached(comparison: &mut Comparison, a: &RunView, b: &RunView, stopped_at: usize) {
    comparison.differences.retain(|one| !["status", "answer", "error"].contains(&one.what));
    let retain = |pair: &mut ComparedPair, kept: &[&str]| {
        pair.differences.retain(|one| kept.contains(&one.what));
        pair.same = pair.a.is_some() && pair.differences.is_empty();
    };
    for pair in &mut comparison.effects {
        if pair.b.as_ref().is_some_and(|side| b.timeline[side.at].answered.is_none()) {
            retain(pair, &["instructions", "request", "input"]);
        }
    }
    comparison.steps.retain(|pair| pair.b.is_some());
    for pair in &mut comparison.steps {
        let step = pair.b.as_ref().and_then(|side| {
            b.runs.iter().find(|run| run.path == side.path).and_then(|run| run.steps.get(side.at))
        });
        if step.is_some_and(|step| !["completed", "failed", "skipped"].contains(&step.status)) {
            retain(pair, &["planned"]);
        }
    }
    comparison.parting = find_parting(a, b, &comparison.differences, &comparison.effects[..=stopped_at]);
}
