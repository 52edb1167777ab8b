//! Replay: answers out of a fixture, and how a replay differs from its recording.

use std::collections::HashMap;

use serde::Serialize;

use crate::journal::{Difference, Drift, Exchange, Fixture, Frame, Outcome, first_difference, tool_changes};
use crate::machine::{EffectId, EffectKind, Event, PhaseName, State, TraceLine};
use crate::ports::{Cause, Unanswered};
use crate::prompt::{Request, RequestBody};
use crate::spec::{CompiledSpec, Digest};

/// What a fixture is played for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To compare: nothing is asked, and every difference is drift.
    Check,
    /// To record it anew without asking: while the trace is as recorded, a reply also answers a changed request
    /// of its role at its place.
    Update,
    /// To go on where it ends unfinished: all of it is played before the environment is asked.
    GoOn,
    /// To spare questions: whatever it does not hold is asked.
    Spare,
}

/// A fixture being played.
pub(super) struct Playback {
    fixture: Fixture,
    purpose: Purpose,
    /// Whether the trace is no longer the recorded one. Watched in an update only.
    has_left_trace: bool,
    used: Vec<bool>,
    /// Everything before this position is used.
    first_unused: usize,
    /// For each digest, its positions, ascending.
    index: HashMap<Digest, Vec<usize>>,
    /// Positions in the order in which they were asked for.
    order: Vec<usize>,
}

impl Playback {
    pub fn new(fixture: Fixture, purpose: Purpose) -> Self {
        let mut index: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (at, exchange) in fixture.exchanges.iter().enumerate() {
            if let Some((_, digest)) = exchange.key() {
                index.entry(digest).or_default().push(at);
            }
        }
        let used = vec![false; fixture.exchanges.len()];
        Playback { fixture, purpose, has_left_trace: false, used, first_unused: 0, index, order: Vec::new() }
    }

    /// Whether the environment is asked for what is not recorded.
    pub fn may_ask(&self) -> bool {
        match self.purpose {
            Purpose::Check | Purpose::Update => false,
            Purpose::GoOn => self.is_used_up(),
            Purpose::Spare => true,
        }
    }

    /// Takes note of the trace that the run has left so far.
    pub fn follow(&mut self, trace: &[TraceLine]) {
        self.has_left_trace |= self.purpose == Purpose::Update && self.trace_drift(trace, false).is_some();
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
        let is_its_place = |&at: &usize| self.effect(at) == Some(request.effect);
        let found = unused().find(is_its_place).or_else(|| unused().next());
        if found.is_some() || self.purpose != Purpose::Update || self.has_left_trace {
            return found;
        }
        (self.first_unused..self.used.len()).filter(is_its_place).find(|&at| {
            let recorded = &self.fixture.exchanges[at];
            !self.used[at]
                && answers(recorded)
                && matches!(recorded, Exchange::Model { .. })
                && recorded.asked() == request.asked
        })
    }

    fn effect(&self, at: usize) -> Option<EffectId> {
        self.fixture.exchanges[at].key().map(|(effect, _)| effect)
    }

    /// Of several effects that wait, the one that was answered first in the recording.
    pub fn first_recorded(&self, queue: &[Request<'_>]) -> Option<usize> {
        let found = queue.iter().enumerate().filter_map(|(nth, request)| Some((self.find(request)?, nth)));
        found.min().map(|(_, nth)| nth)
    }

    /// The recorded answer to an effect.
    pub fn answer(&mut self, request: &Request<'_>) -> Option<Event> {
        let at = self.find(request)?;
        self.mark_used(at);
        self.order.push(at);
        Some(self.fixture.exchanges[at].event().addressed(request.effect))
    }

    fn mark_used(&mut self, at: usize) {
        self.used[at] = true;
        while self.used.get(self.first_unused) == Some(&true) {
            self.first_unused += 1;
        }
    }

    /// Whether there is nothing left to play.
    pub fn is_used_up(&self) -> bool {
        self.first_unused == self.used.len()
    }

    /// What happened unasked at this point of the recording.
    pub fn happened(&mut self) -> Option<Event> {
        let Exchange::Happened(event) = self.fixture.exchanges.get(self.first_unused)? else { return None };
        let event = event.clone();
        self.mark_used(self.first_unused);
        Some(event)
    }

    /// Why the recorded run did not go on from here, if it is unfinished and this is where it ends.
    pub fn interruption(&self, state: &State) -> Option<Unanswered> {
        let Outcome::Interrupted(why) = &self.fixture.outcome else { return None };
        let is_same =
            || self.purpose == Purpose::Update || self.trace_drift(&state.task.trace, true).is_none();
        let ends_here = self.is_used_up() && is_same();
        let message = || format!("the recording ends here, unfinished: {why}");
        ends_here.then(|| Unanswered::new(Cause::Unavailable, message()))
    }

    /// Why there is no recording for an effect.
    pub fn missing(&self, compiled: &CompiledSpec, state: &State, request: &Request<'_>) -> Drift {
        if self.purpose == Purpose::Update {
            let Request { effect, asked, .. } = request;
            let what = format!("the run now asks {asked} ({effect}), and no recorded answer fits");
            return Drift::Transition { what, difference: None };
        }
        if let Some(drift) = self.trace_drift(&state.task.trace, false) {
            return drift;
        }
        let Request { effect, asked, .. } = request;
        let nearest = self.fixture.exchanges.iter().zip(&self.used).find_map(|(exchange, used)| {
            let (recorded, digest) = exchange.key()?;
            let is_near = !used && recorded == *effect && exchange.asked() == asked;
            is_near.then_some((exchange, digest))
        });
        if let Some((nearest, digest)) = nearest
            && let Some(difference) = self.request_difference(request, nearest, digest)
        {
            let (effect, asked) = (*effect, asked.to_string());
            let tools = match &request.body {
                RequestBody::Model { request, .. } if !request.frame.tools.is_empty() => {
                    tool_changes(&self.fixture.spec, compiled.spec())
                }
                _ => Vec::new(),
            };
            return Drift::Request { effect, asked, nearest: effect, tools, difference };
        }
        let next = self.first_unused;
        let what = match self.fixture.exchanges.get(next) {
            Some(holds) => {
                format!("exchange {} asks {asked} ({effect}), the fixture holds {}", next + 1, holds.asked())
            }
            None => {
                let count = self.used.len();
                format!("the run asks {asked} ({effect}), the fixture ends after {count} exchanges")
            }
        };
        Drift::Transition { what, difference: None }
    }

    fn request_difference(
        &self,
        request: &Request<'_>,
        nearest: &Exchange,
        digest: Digest,
    ) -> Option<Difference> {
        let difference = match (&request.body, nearest) {
            (
                RequestBody::Model { request, .. },
                Exchange::Model { role, request: recorded, conversation, .. },
            ) => {
                let now = serde_json::from_str(&request.payload).ok()?;
                let (frame, frame_now) = (self.fixture.frames.get(role)?, Frame::of(&request.frame));
                // A schema may also be spelled out in the system message, where it is harder to read.
                difference_at(&format!("{role} frame.schema"), &frame.schema, &frame_now.schema)
                    .or_else(|| difference_at(&format!("{role} frame"), frame, &frame_now))
                    .or_else(|| first_difference(recorded, &now))
                    .or_else(|| difference_at("conversation", conversation, &request.conversation))
            }
            (RequestBody::Tool { input, .. }, Exchange::Tool { input: recorded, .. }) => {
                first_difference(recorded, input)
            }
            _ => None,
        };
        Some(difference.unwrap_or_else(|| {
            Difference {
                // The texts are the same: what differs is what the file does not spell out.
                path:
                    "the digest alone (the tools' contracts, the order of the keys, or the file was edited)"
                        .to_owned(),
                recorded: format!("digest {digest}"),
                now: format!("digest {}", request.digest),
            }
        }))
    }

    /// How the whole replay differs from the recording.
    pub fn drifts(&self, compiled: &CompiledSpec, state: &State, parallel: bool) -> Vec<Drift> {
        if self.purpose != Purpose::Check {
            return Vec::new();
        }
        let path = self.trace_drift(&state.task.trace, true).or_else(|| self.outcome_drift(compiled, state));
        let mut drifts: Vec<Drift> = path.into_iter().chain(self.order_drift(parallel)).collect();
        let first = self.first_unused;
        if let (Some(unused), true) = (self.fixture.exchanges.get(first), drifts.is_empty()) {
            let count = self.used.iter().filter(|used| !**used).count();
            drifts.push(Drift::Unused { count, exchange: first + 1, asked: unused.asked().to_owned() });
        }
        drifts
    }

    /// The first trace line that differs. While a replay goes on, the recording may hold more.
    fn trace_drift(&self, now: &[TraceLine], whole: bool) -> Option<Drift> {
        let recorded = &self.fixture.trace;
        let most = if whole { recorded.len().max(now.len()) } else { now.len() };
        let at = (0..most).find(|&at| recorded.get(at) != now.get(at))?;
        let difference = difference_at(&format!("trace line {}", at + 1), &recorded.get(at), &now.get(at))?;
        if tells_of_unread_reply(recorded.get(at)) || tells_of_unread_reply(now.get(at)) {
            return Some(Drift::Contract { line: at + 1, difference });
        }
        let what = format!("the run left another trace line {}", at + 1);
        Some(Drift::Transition { what, difference: Some(difference) })
    }

    fn outcome_drift(&self, compiled: &CompiledSpec, state: &State) -> Option<Drift> {
        let now = Outcome::of(compiled, state)?;
        // A recording that was interrupted has no ending to compare with.
        if matches!(self.fixture.outcome, Outcome::Interrupted(_)) || now == self.fixture.outcome {
            return None;
        }
        let difference = difference_at("outcome", &self.fixture.outcome, &now)?;
        Some(Drift::Transition { what: "the run ended otherwise".to_owned(), difference: Some(difference) })
    }

    fn order_drift(&self, parallel: bool) -> Option<Drift> {
        let mut recorded = self.order.clone();
        recorded.sort_unstable();
        let is_beside = |recorded: EffectId, now: EffectId| match (recorded.kind, now.kind) {
            (EffectKind::Step { draft: left, .. }, EffectKind::Step { draft: right, .. }) => left == right,
            _ => false,
        };
        recorded.iter().zip(&self.order).find_map(|(&at, &asked)| {
            let (recorded, now) = (self.effect(at)?, self.effect(asked)?);
            let differs = recorded != now && !(parallel && is_beside(recorded, now));
            differs.then_some(Drift::Order { exchange: at + 1, recorded, now })
        })
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
fn tells_of_unread_reply(line: Option<&TraceLine>) -> bool {
    match line {
        Some(TraceLine::Repair { of, .. }) => *of != PhaseName::Execute,
        Some(
            TraceLine::Plan { error, .. }
            | TraceLine::Validate { error, .. }
            | TraceLine::Write { error, .. }
            | TraceLine::Execute { error, .. },
        ) => error.as_ref().is_some_and(|text| text.contains("_ERROR: contract: ")),
        Some(TraceLine::Fallback { .. }) => true,
        Some(_) | None => false,
    }
}
