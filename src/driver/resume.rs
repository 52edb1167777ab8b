//! Resume: goes on with a journal from where it ends, be it after an interruption, with a person's answer,
//! or with their word on what is in doubt.
//!
//! **Invariant:** what a person says is checked before it is written down. If it does not fit, the journal is
//! as it was.

use std::cell::Cell;
use std::sync::Arc;

use super::agent::Agent;
use super::drive::Drive;
use super::environment::CancelToken;
use super::human_input::{HumanInput, Resolution, find_spent, token, unknown_record};
use super::run::{Run, Stopped, attach_records};
use super::teller::retell_to;
use crate::journal::system::now_ms;
use crate::journal::{
    Asked, Folded, Journal, MemoryJournal, Record, RunStatus, first_difference, fold, fold_under,
};
use crate::machine::{Effect, Effects, Event, HumanAnswer, admit, awaited, outstanding, transition};
use crate::ports::{Observer, Signal};
use crate::spec::Spec;

impl Agent {
    /// A journal to be gone on with: who watches, what a person says, under which rules. What was answered
    /// is not asked again.
    ///
    /// ```no_run
    /// use planwright::prelude::*;
    /// use planwright::journal::FileJournal;
    ///
    /// # fn go_on(agent: &Agent, token: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut journal = FileJournal::open("report.jsonl")?;
    /// let run = agent.resume(&mut journal).answer(HumanAnswer::respond("yes")).token(token).run()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume<'a>(&'a self, journal: &'a mut dyn Journal) -> Resume<'a> {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        Resume { agent: self, journal, observer: &(), cancel, changed, token: None, asked: None, input: None }
    }
}

impl Run {
    /// Goes on with a waiting run that holds its own records. This one is left as it is: a refused answer
    /// can be given otherwise.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`], [`Stopped::Refused`] if the answer does not fit, and whatever else stops a
    /// run.
    pub fn respond(&self, agent: &Agent, answer: HumanAnswer) -> Result<Run, Stopped> {
        if !self.is_waiting() {
            return Err(Stopped::NotWaiting);
        }
        let mut journal = MemoryJournal::from(self.records.clone());
        let ended = agent.resume(&mut journal).answer(answer).run();
        attach_records(ended, journal.into_records())
    }
}

/// Which rules a run goes on under if the agent's are not those it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Changed {
    /// Neither: [`Stopped::Changed`].
    #[default]
    Refuse,
    /// Those it began with.
    Keep,
    /// The agent's, written down as a record of their own. Refused if what has happened does not fit them.
    Adopt,
}

/// A journal to be gone on with.
#[must_use]
pub struct Resume<'a> {
    agent: &'a Agent,
    journal: &'a mut dyn Journal,
    observer: &'a dyn Observer,
    cancel: CancelToken,
    changed: Changed,
    pub(super) token: Option<String>,
    /// What a client asked for with what is said.
    pub(super) asked: Option<Asked>,
    input: Option<HumanInput>,
}

impl<'a> Resume<'a> {
    /// Who watches.
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Who may stop it.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Which rules it goes on under if the agent's are others.
    pub fn changed(mut self, changed: Changed) -> Self {
        self.changed = changed;
        self
    }

    /// Answers the question that the run waits with.
    pub fn answer(mut self, answer: HumanAnswer) -> Self {
        self.input = Some(HumanInput::Answer(answer));
        self
    }

    /// Resolves the write that is in doubt.
    pub fn resolve(mut self, resolution: Resolution) -> Self {
        self.input = Some(HumanInput::Resolution(resolution));
        self
    }

    /// The token of the question that is answered, or of the write that is resolved. What a person says is
    /// void for anything else.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Goes on to the end, or to the next question without an answer yet.
    ///
    /// # Errors
    /// [`Stopped`]; a write that may or may not have happened is [`Stopped::InDoubt`]. What a person says is
    /// refused with the journal left as it is: [`Stopped::NotWaiting`], [`Stopped::AlreadyAnswered`],
    /// [`Stopped::WrongToken`], [`Stopped::Refused`].
    pub fn run(self) -> Result<Run, Stopped> {
        let records = self.journal.records()?;
        let (folded, changed) = self.fold(&records)?;
        check_input(self.input.as_ref(), self.token.as_deref(), &folded, &records)?;
        if let Some(effect) = folded.find_altered_write().filter(|_| self.changed == Changed::Refuse) {
            let difference = format!("{effect} would write something else than it was asked to");
            return Err(Stopped::Changed { difference });
        }
        let observer = self.observer;
        let traced = observer.trace(&folded.run, folded.trace.as_ref());
        let retold = Cell::new(Ok(()));
        observer.recall(&|observer| {
            // What had no answer is asked again.
            let went_on = records.iter().filter(|record| !matches!(record, Record::Interrupted { .. }));
            retold.set(retell_to(&went_on.cloned().collect::<Vec<_>>(), observer));
        });
        retold.into_inner()?;
        let Folded { run, thread, compiled, mut state, ledger, .. } = folded;
        let agent = Agent::of(compiled, Arc::clone(&self.agent.environment));
        if !state.phase.name().is_terminal() {
            agent.check_complete()?;
        }
        let mut drive = Drive::new(&agent, (run, thread), self.journal, self.observer, self.cancel);
        (drive.ledger, drive.trace) = (ledger, traced);
        changed.into_iter().for_each(|record| drive.note(&state, record));
        let event = match self.input {
            None => None,
            Some(HumanInput::Answer(answer)) => Some(drive.take_answer(&state, answer)?),
            Some(HumanInput::Resolution(resolution)) => drive.take_resolution(&state, resolution)?,
        };
        drive.teller.observer.notice(Signal::Entered(state.phase.name()));
        let asked = self.asked.filter(|_| event.is_some());
        asked.into_iter().for_each(|asked| drive.note(&state, Record::Asked(asked)));
        match event {
            Some(event) => {
                if let Some(effect) = event.effect().filter(|_| drive.trace.is_some()) {
                    drive.teller.reopen(effect);
                }
                state = drive.apply(state, event, false)?;
            }
            None => drive.append(None)?,
        }
        if let Some((effect, tool)) = drive.ledger.doubts(drive.compiled, &state).next() {
            return Err(Stopped::InDoubt { effect, tool });
        }
        let effects: Effects = outstanding(&agent.compiled, &state).into();
        drive.follow(state, effects)
    }

    /// Folds the journal under the rules that it goes on under, with the record that says so if they are not
    /// its own.
    fn fold(&self, records: &[Record]) -> Result<(Folded, Option<Record>), Stopped> {
        let folded = fold(records.iter().cloned())?;
        let (began, now) = (folded.compiled.spec(), self.agent.compiled.shared_spec());
        if self.changed == Changed::Keep || *began == *now {
            return Ok((folded, None));
        }
        self.agent.check_secrets()?;
        if self.changed == Changed::Refuse {
            let value = |spec| serde_json::to_value(spec).unwrap_or_default();
            let difference = first_difference(&value(began), &value(&now));
            let difference = difference.map_or_else(String::new, |difference| difference.to_string());
            return Err(Stopped::Changed { difference });
        }
        if folded.state.phase.name().is_terminal() {
            return Err(Stopped::Ended);
        }
        let unfit = |problem: String| Stopped::Unfit { problem };
        let adopted = fold_under(Spec::clone(&now), records.to_vec());
        let mut adopted = adopted.map_err(|error| unfit(error.to_string()))?;
        // A question that is open is answered under the rules that asked it: no rules make it a yes.
        let mut open = outstanding(&folded.compiled, &folded.state).into_iter();
        let dropped = |effect: &Effect| awaited(&adopted.compiled, &adopted.state, effect.id()).is_none();
        if let Some(person) = open.find(|effect| matches!(effect, Effect::AskHuman { .. }) && dropped(effect))
        {
            return Err(unfit(format!("{} waits for a person, and they do not ask one", person.id())));
        }
        if !adopted.state.allowed_calls().is_subset(&folded.state.allowed_calls()) {
            return Err(unfit(
                "what a person has allowed of several calls is another call under them".to_owned(),
            ));
        }
        // What the run no longer waits for is asked anew, should it come to it again.
        let Folded { compiled, state, ledger, .. } = &mut adopted;
        ledger.pending.retain(|pending| awaited(compiled, state, pending.effect).is_some());
        // A write was asked for under the old rules: that the new ones would let it be repeated does not say
        // that this one may be.
        match folded.doubts().next().filter(|_| adopted.doubts().next().is_none()) {
            Some((effect, tool)) => Err(Stopped::InDoubt { effect, tool }),
            None => Ok((adopted, Some(Record::SpecChanged(now)))),
        }
    }
}

/// Refuses what a person says, or its token, if it does not fit what is open.
pub(super) fn check_input(
    input: Option<&HumanInput>,
    given: Option<&str>,
    folded: &Folded,
    records: &[Record],
) -> Result<(), Stopped> {
    let spent = given.and_then(|given| find_spent(records, given));
    let (is_fitting, nothing) = match (input, folded.doubts().next()) {
        (None, None) => return Ok(()),
        // An answer that comes too late does so, too, where what the first one set going is in doubt.
        (Some(HumanInput::Answer(_)), Some(_)) if spent.is_some() => (false, Stopped::NotWaiting),
        (None | Some(HumanInput::Answer(_)), Some((effect, tool))) => {
            return Err(Stopped::InDoubt { effect, tool });
        }
        (Some(HumanInput::Answer(_)), None) => (true, Stopped::NotWaiting),
        (Some(HumanInput::Resolution(_)), doubt) => (doubt.is_some(), Stopped::NotInDoubt),
    };
    let open = if is_fitting { token(folded) } else { None };
    match given {
        None => open.map(drop).ok_or(nothing),
        Some(given) if open.as_deref() == Some(given) => Ok(()),
        Some(_) => Err(spent.map_or(Stopped::WrongToken, |effect| Stopped::AlreadyAnswered { effect })),
    }
}

/// Ends a journal's run from outside. What is in doubt then is said to be unknown.
pub(super) fn cancel(journal: &mut dyn Journal, reason: String) -> Result<(), Stopped> {
    let Folded { compiled, state, mut ledger, .. } = fold(journal.records()?)?;
    let event = Event::Cancelled { reason };
    if admit(&compiled, &state, &event).is_err() {
        return Err(Stopped::Ended);
    }
    let index = ledger.len;
    let mut records: Vec<Record> =
        ledger.doubts(&compiled, &state).map(|(effect, _)| unknown_record(effect)).collect();
    records.push(Record::of_event(event.clone(), Some(now_ms())));
    records.iter().for_each(|record| ledger.note(&compiled, &state, record));
    let step = transition(&compiled, state, event).expect("admitted above");
    Ok(journal.conclude(index, records, &RunStatus::at(&compiled, &step.state, &ledger))?)
}
