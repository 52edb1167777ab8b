//! Resume: goes on with a journal from where it ends, be it after an interruption, with a person's
//! answer, or with their word on what is in doubt.
//!
//! **Invariant:** what a person says is checked before it is written down. If it does not fit, the
//! journal is as it was.

use std::sync::Arc;

use super::agent::Agent;
use super::approval::{self, Resolution};
use super::deadline::{CancelToken, Deadline};
use super::drive::Drive;
use super::human_input::{HumanInput, unknown_record};
use super::job::conclude;
use super::run::Run;
use super::stopped::{Interrupted, Stopped};
use crate::journal::{
    Folded, Journal, MemoryJournal, Record, RunStatus, Unknown, find_unrepeatable, first_difference, fold,
    fold_under,
};
use crate::machine::{Effects, Event, HumanAnswer, State, admit, outstanding, transition};
use crate::ports::{Nobody, Observer, Signal};
use crate::spec::Spec;

impl Agent {
    /// A journal to be gone on with: who watches, what a person says, under which rules.
    ///
    /// ```no_run
    /// use planwright::prelude::*;
    /// use planwright::journal::FileJournal;
    ///
    /// # fn go_on(agent: &Agent, token: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut journal = FileJournal::open("report.jsonl")?;
    /// let run = agent.resuming(&mut journal).answer(HumanAnswer::respond("yes")).token(token).run()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resuming<'a>(&'a self, journal: &'a mut dyn Journal) -> Resume<'a> {
        Resume::new(self, journal)
    }

    /// Goes on with a journal. What was answered is not asked again.
    ///
    /// # Errors
    /// [`Stopped`]; a write that may or may not have happened is [`Stopped::InDoubt`].
    pub fn resume(&self, journal: &mut dyn Journal, observer: Option<&dyn Observer>) -> Result<Run, Stopped> {
        self.resuming(journal).observer(observer.unwrap_or(&Nobody)).run()
    }

    /// Answers the question that a journal's run waits with, and goes on with it.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`]; [`Stopped::Refused`] if the answer does not fit, with the journal left as
    /// it is; else as [`resume`](Agent::resume).
    pub fn answer(
        &self,
        journal: &mut dyn Journal,
        answer: HumanAnswer,
        observer: Option<&dyn Observer>,
    ) -> Result<Run, Stopped> {
        self.resuming(journal).answer(answer).observer(observer.unwrap_or(&Nobody)).run()
    }

    /// Ends a journal's run from outside, without going on with it.
    ///
    /// # Errors
    /// [`Stopped::Ended`], and what is wrong with the journal.
    pub fn cancel(&self, journal: &mut dyn Journal, reason: impl Into<String>) -> Result<(), Stopped> {
        cancel(journal, self.environment.redactor.text(reason.into())).map(drop)
    }
}

impl Run {
    /// Goes on with a waiting run that holds its own records. This one is left as it is: a refused
    /// answer can be given otherwise.
    ///
    /// # Errors
    /// [`Stopped::NotWaiting`], [`Stopped::Refused`] if the answer does not fit, and whatever else
    /// stops a run.
    pub fn respond(&self, agent: &Agent, answer: HumanAnswer) -> Result<Run, Stopped> {
        self.respond_with(agent, answer, &Nobody, CancelToken::new())
    }

    /// Goes on with a waiting run as [`respond`](Run::respond) does, watched and with a token that stops it.
    ///
    /// # Errors
    /// As [`respond`](Run::respond).
    pub fn respond_with(
        &self,
        agent: &Agent,
        answer: HumanAnswer,
        observer: &dyn Observer,
        cancel: CancelToken,
    ) -> Result<Run, Stopped> {
        if !self.is_waiting() {
            return Err(Stopped::NotWaiting);
        }
        let mut journal = MemoryJournal::from(self.records.clone());
        let ended = agent.resuming(&mut journal).answer(answer).observer(observer).cancel(cancel).run();
        let records = journal.into_records();
        match ended {
            Ok(run) => Ok(Run { records, ..run }),
            Err(Stopped::Interrupted(interrupted)) => {
                Err(Stopped::Interrupted(Box::new(Interrupted { records, ..*interrupted })))
            }
            Err(stopped) => Err(stopped),
        }
    }
}

/// Which rules a run goes on under where the agent's are not those it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Changed {
    /// Neither: [`Stopped::Changed`].
    #[default]
    Refuse,
    /// Those it began with.
    Keep,
    /// The agent's, written down as a record of their own; refused where what has happened does not
    /// fit them.
    Adopt,
}

/// A journal to be gone on with.
pub struct Resume<'a> {
    agent: &'a Agent,
    journal: &'a mut dyn Journal,
    observer: &'a dyn Observer,
    cancel: CancelToken,
    changed: Changed,
    token: Option<String>,
    input: Option<HumanInput>,
}

impl<'a> Resume<'a> {
    pub(super) fn new(agent: &'a Agent, journal: &'a mut dyn Journal) -> Self {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        Resume { agent, journal, observer: &Nobody, cancel, changed, token: None, input: None }
    }

    /// Who watches.
    #[must_use]
    pub fn observer(mut self, observer: &'a dyn Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Who may stop it.
    #[must_use]
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Which rules it goes on under where the agent's are others.
    #[must_use]
    pub fn changed(mut self, changed: Changed) -> Self {
        self.changed = changed;
        self
    }

    /// Answers the question that the run waits with.
    #[must_use]
    pub fn answer(mut self, answer: HumanAnswer) -> Self {
        self.input = Some(HumanInput::Answer(answer));
        self
    }

    /// Resolves the write that is in doubt.
    #[must_use]
    pub fn resolve(mut self, resolution: Resolution) -> Self {
        self.input = Some(HumanInput::Resolution(resolution));
        self
    }

    /// The token of the question that is answered, or of the write that is resolved: what a person says is
    /// void for anything else.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Goes on to the end, or to the next question without an answer yet.
    ///
    /// # Errors
    /// [`Stopped`]. What a person says is refused with the journal left as it is:
    /// [`Stopped::NotWaiting`], [`Stopped::AlreadyAnswered`], [`Stopped::WrongToken`],
    /// [`Stopped::Refused`].
    pub fn run(self) -> Result<Run, Stopped> {
        let records = self.journal.records()?;
        let (folded, mut first) = self.fold(&records)?;
        self.check_input(&folded, &records)?;
        if let Some(effect) = folded.altered_write().filter(|_| self.changed == Changed::Refuse) {
            let difference = format!("{effect} would write something else than it was asked to");
            return Err(Stopped::Changed { difference });
        }
        let agent = Agent { rules: Arc::new(folded.rules), environment: Arc::clone(&self.agent.environment) };
        let rules = &*agent.rules;
        if !folded.state.phase.name().is_terminal() {
            agent.check_complete()?;
        }
        let asked_at = folded.pending.iter().filter_map(|asked| Some((asked.effect, asked.at?))).collect();
        let mut drive = Drive {
            agent: &agent,
            rules,
            run: folded.run,
            thread: folded.thread,
            journal: self.journal,
            index: folded.len,
            observer: self.observer,
            deadline: Arc::new(Deadline::new(rules, self.cancel)),
            playback: None,
            may_ask: true,
            open: Vec::new(),
            is_noted: false,
            asked_at,
            unknown: folded.unknown,
        };
        let (mut state, mut asked) = (folded.state, Vec::new());
        asked.extend(folded.pending.iter().map(|pending| pending.effect));
        let event = match self.input {
            None => None,
            Some(input) => drive.take_human_input(&state, input, &mut asked, &mut first)?,
        };
        drive.observer.notice(Signal::Entered(state.phase.name()));
        let taken = match event {
            Some(event) => drive.apply_after(first, state, event, None),
            None => drive.append(first).map(|()| state),
        };
        match taken {
            Ok(taken) => state = taken,
            Err(halt) => return conclude(Err(halt), Vec::new()),
        }
        if let Some(effect) = drive.find_doubted(&state, &asked) {
            let tool = find_unrepeatable(rules, &state, effect).unwrap_or_default();
            return Err(Stopped::InDoubt { effect, tool });
        }
        let effects: Effects = outstanding(rules, &state).into();
        let ended = drive.follow(Vec::new(), state, effects, &asked);
        drive.note_status(&ended);
        conclude(ended, Vec::new())
    }

    /// Folds the journal under the rules that it goes on under, with the record that says so where they
    /// are not its own.
    fn fold(&self, records: &[Record]) -> Result<(Folded, Vec<Record>), Stopped> {
        let folded = fold(records.iter().cloned())?;
        let (began, now) = (folded.rules.spec(), self.agent.rules.shared_spec());
        if self.changed == Changed::Keep || *began == *now {
            return Ok((folded, Vec::new()));
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
        let adopted = fold_under(Spec::clone(&now), records.to_vec())?;
        // It was asked for under the old rules: that the new ones would let it be repeated does not say
        // that this one may be.
        match folded.doubts().next().filter(|_| adopted.doubts().next().is_none()) {
            Some((effect, tool)) => Err(Stopped::InDoubt { effect, tool }),
            None => Ok((adopted, vec![Record::SpecChanged(now)])),
        }
    }

    /// Refuses what a person says, or its token, where it does not fit what is open.
    fn check_input(&self, folded: &Folded, records: &[Record]) -> Result<(), Stopped> {
        let (open, nothing) = match (&self.input, folded.doubts().next()) {
            (None, None) => return Ok(()),
            (None | Some(HumanInput::Answer(_)), Some((effect, tool))) => {
                return Err(Stopped::InDoubt { effect, tool });
            }
            (Some(HumanInput::Answer(_)), None) => (approval::open(folded), Stopped::NotWaiting),
            (Some(HumanInput::Resolution(_)), Some(_)) => (approval::open(folded), Stopped::NotInDoubt),
            (Some(HumanInput::Resolution(_)), None) => (None, Stopped::NotInDoubt),
        };
        match (open, self.token.as_deref()) {
            (Some(open), Some(token)) if open.is(token) => Ok(()),
            (_, Some(token)) => Err(match approval::spent(records, token) {
                Some(effect) => Stopped::AlreadyAnswered { effect },
                None => Stopped::WrongToken,
            }),
            (Some(_), None) => Ok(()),
            (None, None) => Err(nothing),
        }
    }
}

/// Ends a journal's run from outside. What is in doubt then is said to be unknown.
///
/// # Errors
/// [`Stopped::Ended`] where it has ended, and whatever is wrong with the journal.
pub(super) fn cancel(journal: &mut dyn Journal, reason: String) -> Result<State, Stopped> {
    let folded = fold(journal.records()?)?;
    let event = Event::Cancelled { reason };
    if admit(&folded.rules, &folded.state, &event).is_err() {
        return Err(Stopped::Ended);
    }
    let left: Vec<Unknown> = folded.doubts().map(|(effect, tool)| Unknown { effect, tool }).collect();
    let mut records: Vec<Record> = left.iter().map(unknown_record).collect();
    records.push(Record::Happened(event.clone()));
    let step = transition(&folded.rules, folded.state, event).expect("admitted above");
    let status = RunStatus::without_doubts(&folded.rules, &step.state, &left, |_| None);
    journal.conclude(folded.len, records, &status)?;
    Ok(step.state)
}
