//! Resume: goes on with a journal from where it ends, be it after an interruption or with a person's
//! answer.

use std::sync::Arc;

use super::agent::Agent;
use super::drive::Drive;
use super::job::conclude;
use super::observer::{Observer, Signal};
use super::prepare::{Prepared, Request};
use super::run::{Run, Stopped, Waiting};
use super::stop::{CancelToken, Sitting};
use crate::contract::ToolEffect;
use crate::journal::{Folded, Journal, fold};
use crate::machine::{Effect, EffectId, Effects, Event, HumanAnswer, State, awaited, outstanding};
use crate::spec::Rules;

/// Goes on with a journal; with a person's answer where there is one.
pub(super) fn resume(
    agent: &Agent,
    journal: &mut dyn Journal,
    observer: &dyn Observer,
    cancel: CancelToken,
    answer: Option<HumanAnswer>,
) -> Result<Run, Stopped> {
    let folded = fold(journal.records()?)?;
    if let Some((effect, tool)) = in_doubt(&folded) {
        return Err(Stopped::InDoubt { effect, tool });
    }
    let agent = Agent { rules: Arc::new(folded.rules), world: Arc::clone(&agent.world) };
    let rules = &*agent.rules;
    let question = answer.as_ref().map(|_| open_question(rules, &folded.state).ok_or(Stopped::NotWaiting));
    let question = question.transpose()?;
    if !folded.state.phase.name().is_terminal() {
        agent.complete()?;
    }
    let mut drive = Drive {
        agent: &agent,
        rules,
        run: folded.run,
        journal,
        index: folded.len,
        observer,
        sitting: Arc::new(Sitting::new(rules, cancel)),
        playback: None,
        may_ask: true,
        nested_calls: Vec::new(),
    };
    let (mut state, mut asked) = (folded.state, folded.unanswered);
    let answered = match (question, answer) {
        (Some(question), Some(answer)) => {
            let event = Event::HumanAnswered { effect: question.effect, answer };
            let event = agent.world.redactor.event(event);
            if let Err(refusal) = drive.admits(&state, &event) {
                return Err(Stopped::Refused { question: question.question, refusal: refusal.to_string() });
            }
            Some(event)
        }
        _ => None,
    };
    drive.observer.notice(Signal::Entered(state.phase.name()));
    if let Some(event) = answered {
        let taken = take(&mut drive, state, event, &mut asked);
        state = match taken {
            Ok(state) => state,
            Err(halt) => return conclude(Err(halt), Vec::new()),
        };
    }
    let effects: Effects = outstanding(rules, &state).into();
    let ended = drive.follow(state, effects, &asked);
    conclude(ended, Vec::new())
}

/// Takes a person's answer, as asked for even where the journal ends before it says so.
fn take(
    drive: &mut Drive<'_>,
    state: State,
    event: Event,
    asked: &mut [EffectId],
) -> Result<State, super::drive::Halt> {
    if let Some(effect) = event.effect().filter(|effect| !asked.contains(effect))
        && let Some(effect) = awaited(drive.rules, &state, effect)
    {
        drive.request(&state, Effects::from_elem(effect, 1), &[], &mut Vec::new())?;
    }
    Ok(drive.apply(state, event)?.0)
}

/// The question that a run waits with, where a person has to answer.
pub fn open_question(rules: &Rules, state: &State) -> Option<Waiting> {
    let of = |effect: Effect| match Prepared::of(rules, state, effect) {
        Prepared { id, request: Request::Human { step, question }, .. } => {
            Some(Waiting { effect: id, step, question, refused: None })
        }
        _ => None,
    };
    let asks = |effect: &Effect| matches!(effect, Effect::AskHuman { .. });
    outstanding(rules, state).into_iter().find(asks).and_then(of)
}

/// The effect, and its tool, that was requested, never answered, and may not be done twice.
pub fn in_doubt(folded: &Folded) -> Option<(EffectId, String)> {
    folded.unanswered.iter().find_map(|&id| {
        let effect @ Effect::CallTool { .. } = awaited(&folded.rules, &folded.state, id)? else {
            return None;
        };
        let prepared = Prepared::of(&folded.rules, &folded.state, effect);
        let Request::Tool { tool, contract, .. } = prepared.request else { return None };
        let contract = contract?;
        let once = contract.effect == ToolEffect::Write && !contract.is_idempotent();
        once.then_some((id, tool))
    })
}
