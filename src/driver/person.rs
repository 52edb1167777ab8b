//! Asking a person. They are asked when nothing else moves, so that they see all there is to see; and
//! where nobody answers, the run waits.

use std::time::Instant;

use super::drive::{Drive, Next};
use super::ports::Question;
use super::prepare::{Prepared, Request};
use super::run::Waiting;
use crate::machine::{Effect, EffectId, Event, State, outstanding};

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
