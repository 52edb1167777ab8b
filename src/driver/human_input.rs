//! What people say: asked through the [`Human`](crate::ports::Human) port while the run goes on, or given
//! when a run is resumed. An answer that does not fit is refused and never written down.

use std::time::Instant;

use super::approval::{self, Resolution, open_question};
use super::drive::{Drive, Next};
use super::environment::shorten;
use super::run::{Stopped, Waiting};
use crate::journal::{Record, ResolvedAs, Unknown, find_question, find_unrepeatable};
use crate::machine::{
    Effect, EffectId, Event, HumanAnswer, State, ToolOutcome, admit, awaited, local, outstanding,
};
use crate::ports::Question;
use crate::prompt::{Request, RequestBody};

/// How often one question is put again because the answer was refused.
const MAX_REFUSED: u32 = 3;

/// What a person says as a run is resumed.
pub(super) enum HumanInput {
    Answer(HumanAnswer),
    Resolution(Resolution),
}

impl<'a> Drive<'a> {
    /// Asks for the answers that only people can give, until one is given.
    pub(super) fn ask_people(&self, state: &State, queue: &mut Vec<Request<'a>>) -> Option<Next> {
        let mut open = None;
        // In the order of the run's steps, not of asking: a later answer goes to the question that was shown.
        let order: Vec<EffectId> = outstanding(self.rules, state).iter().map(Effect::id).collect();
        let mut people: Vec<usize> = (0..queue.len()).filter(|&at| queue[at].is_human()).collect();
        people.sort_by_key(|&at| order.iter().position(|id| *id == queue[at].effect));
        for at in people {
            let Request { effect, body: RequestBody::Human { step, question }, .. } = &queue[at] else {
                continue;
            };
            let (effect, step) = (*effect, *step);
            match self.put_question(state, effect, step, question) {
                Ok(event) => {
                    queue.remove(at);
                    return Some(Next::Event(event));
                }
                Err(refused) => {
                    open.get_or_insert_with(|| {
                        let (question, token) = (question.clone(), self.question_token(state, effect));
                        Waiting { effect, step, question, token, refused }
                    });
                }
            }
            if self.deadline.has_passed() {
                return Some(Next::Again);
            }
        }
        open.map(Next::Waiting)
    }

    /// Puts one question. An answer that does not fit is refused with the reason, and asked for again.
    fn put_question(
        &self,
        state: &State,
        effect: EffectId,
        step: u32,
        text: &str,
    ) -> Result<Event, Option<String>> {
        let environment = &self.agent.environment;
        let Some(human) = &environment.human else { return Err(None) };
        let mut refused: Option<String> = None;
        for _ in 0..MAX_REFUSED {
            let asked = Instant::now();
            let question = Question { effect, step, text, state, refused: refused.as_deref() };
            let answer = human.ask(&question);
            // The deadline is the run's, not the person's.
            self.deadline.pause(asked.elapsed());
            let Some(answer) = answer else { break };
            if self.has_expired(state, effect) {
                return Ok(Event::Expired { effect });
            }
            let event = environment.redactor.event(Event::HumanAnswered { effect, answer });
            match admit(self.rules, state, &event) {
                Ok(()) => return Ok(event),
                Err(refusal) => refused = Some(refusal.to_string()),
            }
        }
        Err(refused)
    }

    /// The token of a question that the run asks.
    pub(super) fn question_token(&self, state: &State, effect: EffectId) -> String {
        approval::question_token(&self.run, self.rules, state, effect).unwrap_or_default()
    }

    /// The end of a question whose time for an answer is over.
    pub(super) fn expired_question(&self, state: &State) -> Option<Event> {
        // Most runs ask no person: what is outstanding is worked out only if one was asked.
        let (effect, _) = if self.asked_at.is_empty() { None } else { find_question(self.rules, state) }?;
        self.has_expired(state, effect).then_some(Event::Expired { effect })
    }

    /// Whether the time for an answer is over.
    fn has_expired(&self, state: &State, effect: EffectId) -> bool {
        let limits = local(self.rules, state, effect).map(|here| &here.rules.spec().limits);
        let seconds = limits.and_then(|limits| limits.answer_seconds);
        seconds.zip(self.asked_at(effect)).is_some_and(|(seconds, at)| {
            self.agent.environment.clock.now_ms() >= at.saturating_add(seconds.saturating_mul(1_000))
        })
    }

    /// When a person was asked, if that is known.
    pub(super) fn asked_at(&self, effect: EffectId) -> Option<u64> {
        self.asked_at.iter().find(|(id, _)| *id == effect).map(|(_, at)| *at)
    }

    /// Turns a person's answer to a resumed run into its event.
    pub(super) fn take_answer(
        &self,
        state: &State,
        answer: HumanAnswer,
        asked: &[EffectId],
        records: &mut Vec<Record>,
    ) -> Result<Event, Stopped> {
        let Waiting { effect, question, .. } =
            open_question(&self.run, self.rules, state).ok_or(Stopped::NotWaiting)?;
        if self.has_expired(state, effect) {
            return Err(Stopped::Expired { question });
        }
        let environment = &self.agent.environment;
        let event = environment.redactor.event(Event::HumanAnswered { effect, answer });
        if let Err(refusal) = admit(self.rules, state, &event) {
            return Err(Stopped::Refused { question, refusal: refusal.to_string() });
        }
        // The journal may end before it says that the question was asked.
        if !asked.contains(&effect)
            && let Some(request) = self.request_of(state, effect)
        {
            let at = Some(environment.clock.now_ms());
            records.push(Record::Requested { effect, digest: request.digest, at });
        }
        Ok(event)
    }

    /// Turns a person's word on a write in doubt into its event, or into a record alone if the write is to be
    /// made now.
    pub(super) fn take_resolution(
        &mut self,
        state: &State,
        resolution: Resolution,
        asked: &mut Vec<EffectId>,
        records: &mut Vec<Record>,
    ) -> Result<Option<Event>, Stopped> {
        let redactor = &self.agent.environment.redactor;
        let (effect, _) = self.find_doubted(state, asked).ok_or(Stopped::NotInDoubt)?;
        self.unknown.retain(|left| left.effect != effect);
        Ok(match resolution {
            Resolution::Happened { output } => {
                records.push(Record::Resolved { effect, resolution: ResolvedAs::Happened });
                let mut output = redactor.text(output);
                // Cut like what a call returns.
                if let Some(RequestBody::Tool { contract: Some(contract), .. }) =
                    self.request_of(state, effect).map(|request| request.body)
                {
                    output = shorten(output, contract);
                }
                Some(Event::ToolReturned { effect, outcome: ToolOutcome::returned(output) })
            }
            Resolution::DidNotHappen => {
                records.push(Record::Resolved { effect, resolution: ResolvedAs::DidNotHappen });
                asked.retain(|id| *id != effect);
                None
            }
            // That it is unknown is written down before the end of the run.
            Resolution::Stop { reason } => {
                let left = asked.iter().filter_map(|&effect| {
                    Some(Unknown { effect, tool: find_unrepeatable(self.rules, state, effect)? })
                });
                self.unknown = left.collect();
                records.extend(self.unknown.iter().map(unknown_record));
                Some(redactor.event(Event::Cancelled { reason }))
            }
        })
    }

    fn request_of(&self, state: &State, effect: EffectId) -> Option<Request<'a>> {
        Request::of(self.rules, state, awaited(self.rules, state, effect)?)
    }

    /// The effect among those asked that may not be done twice, and its tool.
    pub(super) fn find_doubted(&self, state: &State, asked: &[EffectId]) -> Option<(EffectId, String)> {
        asked.iter().find_map(|&id| Some((id, find_unrepeatable(self.rules, state, id)?)))
    }
}

/// The record that says of a write in doubt that it is unknown whether it happened.
pub(super) fn unknown_record(left: &Unknown) -> Record {
    Record::Resolved { effect: left.effect, resolution: ResolvedAs::Unknown }
}
