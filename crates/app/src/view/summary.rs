//! A long run at a glance: who did what, what was tried again or sent back and why, what failed, what cost most.

use std::collections::BTreeMap;

use serde::Serialize;

use super::part::RunPart;
use super::timeline::TimelineEffect;
use planwright::machine::Usage;
use planwright::spec::Money;

/// What a turn did, added up.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunSummary {
    /// All that was asked.
    pub all: AskedOf,
    /// What each role, tool and person was asked, the costliest first.
    pub by: Vec<AskedOf>,
    /// The drafts that were sent back.
    pub sent_back: Vec<SummedDraft>,
    /// The steps that failed.
    pub failed: Vec<FailedStep>,
    /// The steps that were left out.
    pub skipped: usize,
    /// The effect that cost most, by its place in the timeline.
    pub costliest: Option<usize>,
    /// The effect that took longest.
    pub slowest: Option<usize>,
}

/// What one role, tool or person was asked.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AskedOf {
    /// Who: as in the timeline.
    pub asked: String,
    /// `model`, `tool`, `person` or `wait`.
    pub kind: &'static str,
    /// How often.
    pub calls: usize,
    /// Of these, the further tries and the repairs.
    pub again: usize,
    /// Of these, those that failed.
    pub failed: usize,
    /// What it took in all, in milliseconds, where that is on record.
    pub ms: u64,
    /// What was read and written.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::Usage))]
    pub tokens: Usage,
    /// What that cost, where prices are known.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub cost: Option<Money>,
}

/// A draft that was sent back.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SummedDraft {
    /// The path of the run whose draft it is.
    pub path: String,
    /// Which, from 1.
    pub draft: u32,
    /// Why.
    pub reason: String,
    /// Whether the run had read untrusted output by then.
    pub tainted: bool,
}

/// A step that failed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FailedStep {
    /// The path of the run whose step it is.
    pub path: String,
    /// Its draft, from 1.
    pub draft: u32,
    /// Its position, from 1.
    pub step: usize,
    /// Its name.
    pub id: String,
    /// How it failed.
    pub output: String,
    /// Whether what came of it is untrusted.
    pub untrusted: bool,
}

impl AskedOf {
    fn add(&mut self, effect: &TimelineEffect) {
        self.calls += 1;
        self.again += usize::from(effect.attempt > 1 && effect.kind != "wait");
        self.failed += usize::from(effect.failure.is_some());
        self.ms += effect.ms().unwrap_or(0);
        self.tokens.add(effect.tokens.filter(|_| !effect.cached).unwrap_or_default());
        self.cost = self.cost.into_iter().chain(effect.cost).reduce(Money::plus);
    }

    fn tokens_in_all(&self) -> u64 {
        self.tokens.input_tokens + self.tokens.output_tokens
    }
}

impl TimelineEffect {
    /// What it took, in milliseconds, where that is on record.
    pub fn ms(&self) -> Option<u64> {
        Some(self.ended?.saturating_sub(self.began?))
    }
}

impl RunSummary {
    /// Adds up a timeline and the runs that it is of.
    pub(super) fn of(timeline: &[TimelineEffect], runs: &[RunPart]) -> Self {
        let mut summary = RunSummary::default();
        summary.all.asked = "all".to_owned();
        let mut by: BTreeMap<&str, AskedOf> = BTreeMap::new();
        for effect in timeline {
            summary.all.add(effect);
            let of = by.entry(&effect.asked).or_default();
            (of.asked, of.kind) = (effect.asked.clone(), effect.kind);
            of.add(effect);
        }
        summary.by = by.into_values().collect();
        let cost = |of: &AskedOf| (of.cost, of.tokens_in_all(), of.ms);
        summary.by.sort_by_key(|of| std::cmp::Reverse(cost(of)));
        let most = |of: fn(&TimelineEffect) -> (u64, u64)| {
            let most = timeline.iter().map(of).enumerate().filter(|(_, most)| *most > (0, 0));
            most.max_by_key(|(at, most)| (*most, std::cmp::Reverse(*at))).map(|(at, _)| at)
        };
        summary.costliest = most(|effect| {
            let tokens = effect.tokens.map_or(0, |tokens| tokens.input_tokens + tokens.output_tokens);
            (effect.cost.map_or(0, Money::nanos), tokens)
        });
        summary.slowest = most(|effect| (effect.ms().unwrap_or(0), 0));
        for run in runs {
            let path = || run.path.clone();
            summary.sent_back.extend(run.drafts.iter().filter_map(|draft| {
                let back = draft.sent_back.as_ref()?;
                let (reason, tainted) = (back.reason.clone(), back.tainted);
                Some(SummedDraft { path: path(), draft: draft.draft, reason, tainted })
            }));
            let failed = run.steps.iter().filter(|step| step.status == "failed");
            summary.failed.extend(failed.map(|step| {
                let output = step.output.clone().unwrap_or_default();
                let (id, untrusted) = (step.id.clone(), step.gave_untrusted);
                FailedStep { path: path(), draft: step.draft, step: step.step, id, output, untrusted }
            }));
            summary.skipped += run.steps.iter().filter(|step| step.status == "skipped").count();
        }
        summary
    }
}
