//! Replay: answers out of a fixture, and how a replay differs from its recording.

use std::collections::HashMap;

use serde::Serialize;

use crate::journal::{Difference, Drift, Exchange, Fixture, Frame, Outcome, first_difference};
use crate::machine::{EffectId, EffectKind, Event, PhaseName, State, TraceLine};
use crate::prompt::{Request, RequestBody};
use crate::spec::{CompiledSpec, Digest};

/// A fixture being played.
pub(super) struct Playback {
    fixture: Fixture,
    used: Vec<bool>,
    /// Everything before this position is used.
    first_unused: usize,
    /// Positions in the order in which they were asked for.
    order: Vec<usize>,
    /// For each digest, its positions, ascending.
    index: HashMap<Digest, Vec<usize>>,
}

impl Playback {
    pub fn new(fixture: Fixture) -> Self {
        let mut index: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (at, exchange) in fixture.exchanges.iter().enumerate() {
            if let Some((_, digest)) = exchange.key() {
                index.entry(digest).or_default().push(at);
            }
        }
        let used = vec![false; fixture.exchanges.len()];
        Playback { fixture, used, first_unused: 0, order: Vec::new(), index }
    }

    /// Where the answer to an effect is: among the unused recordings of its digest the one of that very
    /// effect, else the first. A recording of another kind of effect answers nothing.
    fn find(&self, request: &Request<'_>) -> Option<usize> {
        let answers = |exchange: &Exchange| match request.body {
            RequestBody::Model { .. } => matches!(exchange, Exchange::Model { .. }),
            RequestBody::Tool { .. } => matches!(exchange, Exchange::Tool { .. }),
            RequestBody::Human { .. } => {
                matches!(exchange, Exchange::Human { .. } | Exchange::Expired { .. })
            }
            RequestBody::Wait { .. } => matches!(exchange, Exchange::Waited { .. }),
        };
        let recorded = || self.index.get(&request.digest).into_iter().flatten().copied();
        let unused = || recorded().filter(|&at| !self.used[at] && answers(&self.fixture.exchanges[at]));
        let same = |at: &usize| self.fixture.exchanges[*at].key().is_some_and(|(id, _)| id == request.effect);
        unused().find(same).or_else(|| unused().next())
    }

    /// Of several effects that wait, the one that was answered first in the recording.
    pub fn first_recorded(&self, queue: &[Request<'_>]) -> Option<usize> {
        let found = queue.iter().enumerate().filter_map(|(nth, request)| Some((self.find(request)?, nth)));
        found.min().map(|(_, nth)| nth)
    }

    /// The recorded answer to an effect.
    pub fn answer(&mut self, request: &Request<'_>) -> Option<Event> {
        let at = self.find(request)?;
        self.used[at] = true;
        self.order.push(at);
        Some(self.fixture.exchanges[at].event().addressed(request.effect))
    }

    /// Whether there is nothing left to play.
    pub fn is_used_up(&self) -> bool {
        self.used.iter().all(|used| *used)
    }

    /// What happened unasked at this point of the recording.
    pub fn happened(&mut self) -> Option<Event> {
        while self.used.get(self.first_unused) == Some(&true) {
            self.first_unused += 1;
        }
        let next = self.first_unused;
        let Exchange::Happened(event) = self.fixture.exchanges.get(next)? else { return None };
        self.used[next] = true;
        Some(event.clone())
    }

    /// Why there is no recording for an effect.
    pub fn missing(&self, state: &State, request: &Request<'_>) -> Drift {
        if let Some(drift) = self.trace_drift(&state.task.trace, false) {
            return drift;
        }
        let mut unused = self.fixture.exchanges.iter().zip(&self.used).filter(|(_, used)| !**used);
        let nearest = unused.find_map(|(exchange, _)| {
            let is_near = exchange.key()?.0 == request.effect && exchange.asked() == request.asked;
            is_near.then_some(exchange)
        });
        if let Some(drift) = nearest.and_then(|nearest| self.request_drift(request, nearest)) {
            return drift;
        }
        let Request { effect, asked, .. } = request;
        let what = match self.used.iter().position(|used| !used) {
            Some(next) => {
                let holds = self.fixture.exchanges[next].asked();
                format!("exchange {} asks {asked} ({effect}), the fixture holds {holds}", next + 1)
            }
            None => {
                let count = self.used.len();
                format!("the run asks {asked} ({effect}), the fixture ends after {count} exchanges")
            }
        };
        Drift::Transition { what, difference: None }
    }

    fn request_drift(&self, request: &Request<'_>, nearest: &Exchange) -> Option<Drift> {
        let difference = match (&request.body, nearest) {
            (
                RequestBody::Model { request, .. },
                Exchange::Model { role, request: recorded, conversation, .. },
            ) => {
                let now = serde_json::from_str(&request.payload).ok()?;
                let frame = self.fixture.frames.get(role)?;
                difference_at(&format!("{role} frame"), frame, &Frame::of(&request.frame))
                    .or_else(|| first_difference(recorded, &now))
                    .or_else(|| difference_at("conversation", conversation, &request.conversation))
            }
            (RequestBody::Tool { input, .. }, Exchange::Tool { input: recorded, .. }) => {
                first_difference(recorded, input)
            }
            _ => None,
        };
        let difference = difference.unwrap_or_else(|| Difference {
            // The texts are the same: what differs is what the file does not spell out.
            path: "the digest alone (the tools' contracts, or the file was edited)".to_owned(),
            recorded: format!(
                "digest {}",
                nearest.key().map_or_else(String::new, |(_, digest)| digest.to_string())
            ),
            now: format!("digest {}", request.digest),
        });
        let (effect, asked) = (request.effect, request.asked.clone());
        Some(Drift::Request { effect, asked, nearest: nearest.key()?.0, difference })
    }

    /// How the whole replay differs from the recording.
    pub fn drifts(&self, rules: &CompiledSpec, state: &State, parallel: bool) -> Vec<Drift> {
        let mut drifts: Vec<Drift> = self.trace_drift(&state.task.trace, true).into_iter().collect();
        if drifts.is_empty() {
            drifts.extend(self.outcome_drift(rules, state));
        }
        drifts.extend(self.order_drift(parallel));
        let unused: Vec<usize> = (0..self.used.len()).filter(|&at| !self.used[at]).collect();
        if let (Some(&first), true) = (unused.first(), drifts.is_empty()) {
            let asked = self.fixture.exchanges[first].asked().to_owned();
            drifts.push(Drift::Unused { count: unused.len(), exchange: first + 1, asked });
        }
        drifts
    }

    /// The first trace line that differs. While a replay goes on, the recording may hold more.
    fn trace_drift(&self, now: &[TraceLine], whole: bool) -> Option<Drift> {
        let recorded = &self.fixture.trace;
        let most = if whole { recorded.len().max(now.len()) } else { now.len() };
        let at = (0..most).find(|&at| recorded.get(at) != now.get(at))?;
        let difference = difference_at(&format!("trace line {}", at + 1), &recorded.get(at), &now.get(at))?;
        let reads_differently = unread(recorded.get(at)) || unread(now.get(at));
        Some(match reads_differently {
            true => Drift::Contract { line: at + 1, difference },
            false => {
                let what = format!("the run left another trace line {}", at + 1);
                Drift::Transition { what, difference: Some(difference) }
            }
        })
    }

    fn outcome_drift(&self, rules: &CompiledSpec, state: &State) -> Option<Drift> {
        let now = Outcome::of(rules, state)?;
        // A recording that was interrupted has no ending to compare with.
        if matches!(self.fixture.outcome, Outcome::Interrupted(_)) || now == self.fixture.outcome {
            return None;
        }
        let difference = difference_at("outcome", &self.fixture.outcome, &now)?;
        Some(Drift::Transition { what: "the run ended otherwise".to_owned(), difference: Some(difference) })
    }

    fn order_drift(&self, parallel: bool) -> Option<Drift> {
        let id = |at: usize| self.fixture.exchanges[at].key().map(|(id, _)| id);
        let asked: Vec<EffectId> = self.order.iter().filter_map(|&at| id(at)).collect();
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        let recorded: Vec<(usize, EffectId)> =
            sorted.into_iter().filter_map(|at| Some((at, id(at)?))).collect();
        let is_beside = |recorded: EffectId, now: EffectId| match (recorded.kind, now.kind) {
            (EffectKind::Step { draft: left, .. }, EffectKind::Step { draft: right, .. }) => left == right,
            _ => false,
        };
        let differs = |((_, recorded), now): &(&(usize, EffectId), &EffectId)| {
            recorded != *now && !(parallel && is_beside(*recorded, **now))
        };
        let ((at, recorded), now) = recorded.iter().zip(&asked).find(differs)?;
        Some(Drift::Order { exchange: at + 1, recorded: *recorded, now: *now })
    }
}

/// The first difference between two values, under the name of what they are.
fn difference_at<T: Serialize>(name: &str, recorded: &T, now: &T) -> Option<Difference> {
    let value = |it| serde_json::to_value(it).unwrap_or_default();
    let mut difference = first_difference(&value(recorded), &value(now))?;
    difference.path = difference.path.replacen('$', name, 1);
    Some(difference)
}

/// Whether a line tells of a reply that did not read.
fn unread(line: Option<&TraceLine>) -> bool {
    let contract =
        |error: &Option<String>| error.as_ref().is_some_and(|text| text.contains("_ERROR: contract: "));
    match line {
        Some(TraceLine::Repair { of, .. }) => *of != PhaseName::Execute,
        Some(
            TraceLine::Plan { error, .. }
            | TraceLine::Validate { error, .. }
            | TraceLine::Write { error, .. }
            | TraceLine::Execute { error, .. },
        ) => contract(error),
        Some(TraceLine::Fallback { .. }) => true,
        Some(_) | None => false,
    }
}
