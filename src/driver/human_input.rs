//! What a person says as a run goes on: turned into the event that carries it, or refused.

use super::approval::Settlement;
use super::drive::Drive;
use super::live::cut;
use super::prepare::Prepared;
use super::resume::open_question;
use super::run::Stopped;
use crate::journal::{Record, Resolution, Unknown, is_once};
use crate::machine::{EffectId, Event, HumanAnswer, State, ToolOutcome, awaited};
use crate::prompt;

/// What a person says as a run goes on.
pub(super) enum Said {
    Answer(HumanAnswer),
    Settlement(Settlement),
}

impl Drive<'_> {
    /// What a person said, as the event that carries it; or as a record where it answers nothing.
    pub(super) fn heard(
        &mut self,
        state: &State,
        said: Said,
        asked: &mut Vec<EffectId>,
        records: &mut Vec<Record>,
    ) -> Result<Option<Event>, Stopped> {
        let redactor = &self.agent.world.redactor;
        match said {
            Said::Answer(answer) => {
                let question = open_question(&self.run, self.rules, state).ok_or(Stopped::NotWaiting)?;
                if self.has_expired(state, question.effect) {
                    return Err(Stopped::Expired { question: question.question });
                }
                let event = redactor.event(Event::HumanAnswered { effect: question.effect, answer });
                if let Err(refusal) = self.admits(state, &event) {
                    let refusal = refusal.to_string();
                    return Err(Stopped::Refused { question: question.question, refusal });
                }
                // Taken as asked for even where the journal ends before it says so.
                if !asked.contains(&question.effect)
                    && let Some(effect) = awaited(self.rules, state, question.effect)
                {
                    let Prepared { id, digest, .. } = Prepared::of(self.rules, state, effect);
                    records.push(Record::Requested { effect: id, digest, at: None });
                }
                Ok(Some(event))
            }
            Said::Settlement(settlement) => {
                let Some(effect) = self.doubted(state, asked) else { return Err(Stopped::NotInDoubt) };
                self.unknown.retain(|left| left.effect != effect);
                Ok(match settlement {
                    Settlement::Happened { output } => {
                        records.push(Record::Settled { effect, word: Resolution::Happened });
                        let outcome = ToolOutcome::returned(self.kept(state, effect, redactor.text(output)));
                        Some(Event::ToolReturned { effect, outcome })
                    }
                    Settlement::DidNotHappen => {
                        records.push(Record::Settled { effect, word: Resolution::DidNotHappen });
                        asked.retain(|id| *id != effect);
                        None
                    }
                    // That nobody knows is said before the end of it.
                    Settlement::Stop { reason } => {
                        let doubted = asked.iter().copied();
                        let left = doubted.filter_map(|effect| {
                            Some(Unknown { effect, tool: is_once(self.rules, state, effect)? })
                        });
                        self.unknown = left.collect();
                        records.extend(self.unknown.iter().map(unknown));
                        Some(redactor.event(Event::Cancelled { reason }))
                    }
                })
            }
        }
    }

    /// As much of what a call would have returned as is kept of what it returns.
    fn kept(&self, state: &State, effect: EffectId, output: String) -> String {
        let asked = awaited(self.rules, state, effect);
        let contract = asked.and_then(|asked| prompt::called(self.rules, state, asked));
        contract.map_or(output.clone(), |contract| cut(output, contract.max_output_bytes as usize))
    }

    /// The effect among those asked that may not be done twice.
    pub(super) fn doubted(&self, state: &State, asked: &[EffectId]) -> Option<EffectId> {
        asked.iter().copied().find(|id| is_once(self.rules, state, *id).is_some())
    }
}

/// What is written down of a write of which nobody knows whether it happened, before the run is ended.
pub(super) fn unknown(left: &Unknown) -> Record {
    Record::Settled { effect: left.effect, word: Resolution::Unknown }
}
