//! Asking a person. They are asked when nothing else moves, so that they see all there is to see; and
//! where nobody answers, the run waits.

use std::time::Instant;

use super::approval::{self, Token};
use super::drive::{Drive, Next};
use super::prepare::{Prepared, Request};
use super::run::Waiting;
use crate::journal::asks;
use crate::machine::{Effect, EffectId, Event, State, local, outstanding};
use crate::ports::Question;

/// How often one question is put again because the answer was refused.
const MOST_REFUSED: u32 = 3;

impl<'a> Drive<'a> {
    /// Asks for the answers that only people can give, until one does.
    pub(super) fn ask_people(&self, state: &State, queue: &mut Vec<Prepared<'a>>) -> Option<Next> {
        let mut open = None;
        // In the order in which the run names them, whichever was asked first: an answer that is given
        // later goes to the question that was shown.
        let order: Vec<EffectId> = outstanding(self.rules, state).iter().map(Effect::id).collect();
        let mut people: Vec<usize> = (0..queue.len()).filter(|&at| queue[at].is_human()).collect();
        people.sort_by_key(|&at| order.iter().position(|id| *id == queue[at].id));
        for at in people {
            let Request::Human { step, question } = &queue[at].request else { continue };
            let (effect, step) = (queue[at].id, *step);
            match self.put(state, effect, step, question) {
                Ok(event) => {
                    queue.remove(at);
                    return Some(Next::Event(event));
                }
                Err(refused) => {
                    open.get_or_insert_with(|| {
                        let (question, token) = (question.clone(), self.token(state, effect));
                        Waiting { effect, step, question, token, refused }
                    });
                }
            }
            if self.sitting.is_over() {
                return Some(Next::Again);
            }
        }
        open.map(Next::Waiting)
    }

    /// The token of a question that the run asks.
    pub(super) fn token(&self, state: &State, effect: EffectId) -> String {
        let token = approval::of_question(&self.run, self.rules, state, effect);
        token.map(Token::into_text).unwrap_or_default()
    }

    /// That a person had their time, where they had and have not answered.
    pub(super) fn expired(&self, state: &State) -> Option<Event> {
        // Most runs ask nobody: what is outstanding is worked out only where somebody was asked.
        let (effect, _) = if self.asked_at.is_empty() { None } else { asks(self.rules, state) }?;
        self.has_expired(state, effect).then_some(Event::Expired { effect })
    }

    /// Whether the time for an answer is over.
    pub(super) fn has_expired(&self, state: &State, effect: EffectId) -> bool {
        let limits = local(self.rules, state, effect).map(|here| &here.rules.spec().limits);
        let seconds = limits.and_then(|limits| limits.answer_seconds);
        let end = seconds
            .zip(self.asked_at(effect))
            .map(|(seconds, at)| at.saturating_add(seconds.saturating_mul(1_000)));
        end.is_some_and(|end| self.agent.world.now_ms() >= end)
    }

    /// When a person was asked, where that is known.
    pub(super) fn asked_at(&self, effect: EffectId) -> Option<u64> {
        self.asked_at.iter().find(|(id, _)| *id == effect).map(|(_, at)| *at)
    }

    /// Puts one question. An answer that does not fit is refused with the reason, and asked for again.
    fn put(&self, state: &State, effect: EffectId, step: u32, text: &str) -> Result<Event, Option<String>> {
        let world = &self.agent.world;
        let Some(human) = &world.human else { return Err(None) };
        let mut refused: Option<String> = None;
        for _ in 0..MOST_REFUSED {
            let asked = Instant::now();
            let answer = human.ask(&Question { effect, step, text, state, refused: refused.as_deref() });
            // The deadline is the run's, not the person's.
            self.sitting.pause(asked.elapsed());
            let Some(answer) = answer else { break };
            if self.has_expired(state, effect) {
                return Ok(Event::Expired { effect });
            }
            let event = world.redactor.event(Event::HumanAnswered { effect, answer });
            match self.admits(state, &event) {
                Ok(()) => return Ok(event),
                Err(refusal) => refused = Some(refusal.to_string()),
            }
        }
        Err(refused)
    }
}
