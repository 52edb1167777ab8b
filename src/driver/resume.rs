//! Resume: goes on with a journal from where it ends, be it after an interruption, with a person's
//! answer, or with their word on what is in doubt.
//!
//! **Invariant:** what a person says is checked before it is written down. Where it does not fit, the
//! journal is as it was.

use std::sync::Arc;

use super::agent::Agent;
use super::approval::{self, Settlement, Token};
use super::drive::{Drive, Halt};
use super::human_input::{Said, unknown};
use super::job::conclude;
use super::prepare::{Prepared, Request};
use super::run::{Run, Stopped, Waiting};
use super::stop::{CancelToken, Sitting};
use crate::journal::{
    Folded, Header, Journal, Record, RunStatus, Unknown, altered, doubts, first_difference, fold, fold_under,
    in_doubt, is_once,
};
use crate::machine::{Effect, Effects, Event, HumanAnswer, State, admit, outstanding, transition};
use crate::ports::{Nobody, Observer, Signal};
use crate::spec::{CompiledSpec, Spec};

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
    said: Option<Said>,
}

impl<'a> Resume<'a> {
    pub(super) fn new(agent: &'a Agent, journal: &'a mut dyn Journal) -> Self {
        let (cancel, changed) = (CancelToken::new(), Changed::Refuse);
        Resume { agent, journal, observer: &Nobody, cancel, changed, token: None, said: None }
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
        self.said = Some(Said::Answer(answer));
        self
    }

    /// Says what became of the write that is in doubt.
    #[must_use]
    pub fn settle(mut self, settlement: Settlement) -> Self {
        self.said = Some(Said::Settlement(settlement));
        self
    }

    /// The token of the question that is answered, or of the doubt that is settled: what is said is void
    /// for anything else.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Goes on to the end, or to the next question that nobody answers yet.
    ///
    /// # Errors
    /// [`Stopped`]. What a person says is refused with the journal left as it is:
    /// [`Stopped::NotWaiting`], [`Stopped::AlreadyAnswered`], [`Stopped::WrongToken`],
    /// [`Stopped::Refused`].
    pub fn run(self) -> Result<Run, Stopped> {
        let records = self.journal.records()?;
        let (folded, mut first) = self.fold(&records)?;
        self.fits(&folded, &records)?;
        if let Some(effect) = altered(&folded).filter(|_| self.changed == Changed::Refuse) {
            let difference = format!("{effect} would write something else than it was asked to");
            return Err(Stopped::Changed { difference });
        }
        let agent = Agent { rules: Arc::new(folded.rules), world: Arc::clone(&self.agent.world) };
        let rules = &*agent.rules;
        if !folded.state.phase.name().is_terminal() {
            agent.complete()?;
        }
        let asked_at = folded.pending.iter().filter_map(|asked| Some((asked.effect, asked.at?))).collect();
        let mut drive = Drive {
            agent: &agent,
            rules,
            run: folded.run,
            journal: self.journal,
            index: folded.len,
            observer: self.observer,
            sitting: Arc::new(Sitting::new(rules, self.cancel)),
            playback: None,
            may_ask: true,
            nested_calls: Vec::new(),
            is_noted: false,
            asked_at,
            unknown: folded.unknown,
        };
        let (mut state, mut asked) = (folded.state, Vec::new());
        asked.extend(folded.pending.iter().map(|pending| pending.effect));
        let said = match self.said {
            None => None,
            Some(said) => drive.heard(&state, said, &mut asked, &mut first)?,
        };
        drive.observer.notice(Signal::Entered(state.phase.name()));
        let taken = match said {
            Some(event) => drive.apply_after(first, state, event, None),
            None => drive.append(first).map(|()| state),
        };
        match taken {
            Ok(taken) => state = taken,
            Err(halt) => return conclude(Err(halt), Vec::new()),
        }
        if let Some(effect) = drive.doubted(&state, &asked) {
            let tool = is_once(rules, &state, effect).unwrap_or_default();
            return Err(Stopped::InDoubt { effect, tool });
        }
        let effects: Effects = outstanding(rules, &state).into();
        let ended = drive.follow(Vec::new(), state, effects, &asked);
        drive.note_standing(&ended);
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
        self.agent.keeps_its_keys()?;
        if self.changed == Changed::Refuse {
            let value = |spec| serde_json::to_value(spec).unwrap_or_default();
            let difference = first_difference(&value(began), &value(&now));
            let difference = difference.map_or_else(String::new, |difference| difference.to_string());
            return Err(Stopped::Changed { difference });
        }
        if folded.state.phase.name().is_terminal() {
            return Err(Stopped::Ended);
        }
        let Some(Record::Header(header)) = records.first() else { return Ok((folded, Vec::new())) };
        let adopted = fold_under(Spec::clone(&now), Header::clone(header), records.to_vec())?;
        // It was asked for under the old rules: that the new ones would let it be repeated does not say
        // that this one may be.
        match in_doubt(&folded).filter(|_| in_doubt(&adopted).is_none()) {
            Some((effect, tool)) => Err(Stopped::InDoubt { effect, tool }),
            None => Ok((adopted, vec![Record::SpecChanged(now)])),
        }
    }

    /// Whether what is said, and its token, fit what is open.
    fn fits(&self, folded: &Folded, records: &[Record]) -> Result<(), Stopped> {
        let (open, nothing) = match (&self.said, in_doubt(folded)) {
            (None, None) => return Ok(()),
            (None | Some(Said::Answer(_)), Some((effect, tool))) => {
                return Err(Stopped::InDoubt { effect, tool });
            }
            (Some(Said::Answer(_)), None) => (approval::open(folded), Stopped::NotWaiting),
            (Some(Said::Settlement(_)), Some(_)) => (approval::open(folded), Stopped::NotInDoubt),
            (Some(Said::Settlement(_)), None) => (None, Stopped::NotInDoubt),
        };
        match (open, self.token.as_deref()) {
            (Some(open), Some(token)) if open.is(token) => Ok(()),
            (_, Some(token)) => Err(self.void(token, records)),
            (Some(_), None) => Ok(()),
            (None, None) => Err(nothing),
        }
    }

    /// Why a token is not that of what is open.
    fn void(&self, token: &str, records: &[Record]) -> Stopped {
        match approval::spent(records, token) {
            Some(effect) => Stopped::AlreadyAnswered { effect },
            None => Stopped::WrongToken,
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
    let left: Vec<Unknown> = doubts(&folded).map(|(effect, tool)| Unknown { effect, tool }).collect();
    let mut records: Vec<Record> = left.iter().map(unknown).collect();
    records.push(Record::Happened(event.clone()));
    let step = transition(&folded.rules, folded.state, event).expect("admitted above");
    let standing = RunStatus::at(&folded.rules, &step.state, |_| None).leaving(&left);
    journal.conclude(folded.len, records, &standing)?;
    Ok(step.state)
}

/// The question that a run of this id waits with, where a person has to answer.
pub fn open_question(run: &str, rules: &CompiledSpec, state: &State) -> Option<Waiting> {
    let of = |effect: Effect| match Prepared::of(rules, state, effect) {
        Prepared { id, request: Request::Human { step, question }, .. } => {
            let token = approval::of_question(run, rules, state, id).map(Token::into_text)?;
            Some(Waiting { effect: id, step, question, token, refused: None })
        }
        _ => None,
    };
    let asks = |effect: &Effect| matches!(effect, Effect::AskHuman { .. });
    outstanding(rules, state).into_iter().find(asks).and_then(of)
}

impl From<Halt> for Stopped {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Interrupted(interrupted) => Stopped::Interrupted(interrupted),
            Halt::Drifted(drifts) => Stopped::Drifted(drifts),
            Halt::Journal(error) => Stopped::Journal(error),
        }
    }
}
