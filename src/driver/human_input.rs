//! What people say: asked through the [`Human`](crate::ports::Human) port while the run goes on, or given
//! when a run is resumed. An answer that does not fit is refused and never written down.
//!
//! A question has a token: a SHA-256 digest over the run, the effect and exactly what is asked. So a token is
//! good for one question of one run, once: the effect is answered once, another run (a fork, another thread)
//! has another id, and a call with another input is another question.

use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::drive::{Drive, Next};
use super::environment::shorten;
use super::run::{Stopped, Waiting};
use crate::contract::canonical;
use crate::journal::{Folded, Ledger, Record, ResolvedAs, find_question, fold, render_awaited};
use crate::machine::{
    AllowedCall, Effect, EffectId, EffectKind, Event, HumanAnswer, Refusal, State, ToolOutcome, admit,
    awaited, local, outstanding,
};
use crate::ports::Question;
use crate::prompt::{Request, RequestBody, calls, human_digest, subject};
use crate::spec::CompiledSpec;

/// How often one question is put again because the answer was refused.
const MAX_REFUSED: u32 = 3;

/// What a person says as a run is resumed.
pub enum HumanInput {
    /// An answer to the open question.
    Answer(HumanAnswer),
    /// What became of the write in doubt.
    Resolution(Resolution),
}

/// What a person says of a write in doubt: it is not known whether it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It happened.
    Happened {
        /// What the tool would have returned.
        output: String,
    },
    /// It did not happen: it is done now.
    DidNotHappen,
    /// Whatever happened, the run ends here.
    Stop {
        /// Why.
        reason: String,
    },
}

impl<'a> Drive<'a> {
    /// Asks for the answers that only people can give, until one is given.
    pub(super) fn ask_people(&mut self, state: &State) -> Option<Next> {
        let mut open = None;
        // In the order of the run's steps, not of asking: a later answer goes to the question that was shown.
        let order: Vec<EffectId> = outstanding(self.compiled, state).iter().map(Effect::id).collect();
        let mut people: Vec<usize> = (0..self.queue.len()).filter(|&at| self.queue[at].is_human()).collect();
        people.sort_by_key(|&at| order.iter().position(|id| *id == self.queue[at].effect));
        for at in people {
            let Request { effect, body: RequestBody::Human { step, question }, .. } = &self.queue[at] else {
                continue;
            };
            let (effect, step) = (*effect, *step);
            match self.put_question(state, effect, step, question) {
                Ok(event) => {
                    self.queue.remove(at);
                    return Some(Next::Event(event));
                }
                Err(refused) => {
                    open.get_or_insert_with(|| self.waiting(state, effect, step, question, refused));
                }
            }
            if self.deadline.has_passed() {
                return Some(Next::Again);
            }
        }
        open.map(Next::Waiting)
    }

    /// The question that the run waits with, and why the last answer to it was refused.
    pub(super) fn waiting(
        &self,
        state: &State,
        effect: EffectId,
        step: u32,
        question: &str,
        refused: Option<String>,
    ) -> Waiting {
        let token = question_token(&self.teller.run, self.compiled, state, effect).unwrap_or_default();
        let calls = calls(self.compiled, state, effect);
        Waiting { effect, step, question: question.to_owned(), calls, token, refused }
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
        let (calls, mut refused) = (calls(self.compiled, state, effect).len(), None::<String>);
        for _ in 0..MAX_REFUSED {
            let asked = Instant::now();
            let question = Question { effect, step, text, calls, state, refused: refused.as_deref() };
            let answer = human.ask(&question);
            // The deadline is the run's, not the person's.
            self.deadline.pause(asked.elapsed());
            let Some(answer) = answer else { break };
            if self.has_expired(state, effect) {
                return Ok(Event::Expired { effect });
            }
            let event = environment.redactor.clean(answered(self.compiled, state, effect, answer));
            match admit_answer(self.compiled, state, &event) {
                Ok(()) => return Ok(event),
                Err(refusal) => refused = Some(refusal.to_string()),
            }
        }
        Err(refused)
    }

    /// The end of a question whose time for an answer is over.
    pub(super) fn expired_question(&self, state: &State) -> Option<Event> {
        // Most runs ask no person: what is outstanding is worked out only while one is asked.
        let mut asked = self.ledger.pending.iter().map(|pending| pending.effect.kind);
        if !asked.any(EffectKind::asks_a_person) {
            return None;
        }
        let (effect, _) = find_question(self.compiled, state)?;
        self.has_expired(state, effect).then_some(Event::Expired { effect })
    }

    /// Whether the time for an answer is over.
    fn has_expired(&self, state: &State, effect: EffectId) -> bool {
        answer_due(self.compiled, state, &self.ledger, effect).is_some_and(|due| self.now_ms() >= due)
    }

    /// Turns a person's answer to a resumed run into its event.
    pub(super) fn take_answer(&mut self, state: &State, answer: HumanAnswer) -> Result<Event, Stopped> {
        let Waiting { effect, question, .. } =
            open_question(&self.teller.run, self.compiled, state).ok_or(Stopped::NotWaiting)?;
        if self.has_expired(state, effect) {
            return Err(Stopped::Expired { question });
        }
        let environment = &self.agent.environment;
        let event = environment.redactor.clean(answered(self.compiled, state, effect, answer));
        if let Err(refusal) = admit_answer(self.compiled, state, &event) {
            return Err(Stopped::Refused { question, refusal: refusal.to_string() });
        }
        // The journal may end before it says that the question was asked.
        if self.ledger.find_pending(effect).is_none() {
            let (digest, at) = (human_digest(&question), Some(self.now_ms()));
            self.note(state, Record::Requested { effect, digest, at });
        }
        Ok(event)
    }

    /// Turns a person's word on a write in doubt into its event, or into a record alone if the write is to be
    /// made now.
    pub(super) fn take_resolution(
        &mut self,
        state: &State,
        resolution: Resolution,
    ) -> Result<Option<Event>, Stopped> {
        let redactor = &self.agent.environment.redactor;
        let doubts: Vec<EffectId> = self.ledger.doubts(self.compiled, state).map(|(id, _)| id).collect();
        let effect = *doubts.first().ok_or(Stopped::NotInDoubt)?;
        Ok(match resolution {
            Resolution::Happened { output } => {
                self.note(state, Record::Resolved { effect, resolution: ResolvedAs::Happened });
                let mut output = redactor.text(output);
                // Cut like what a call returns.
                if let Some(RequestBody::Tool { contract: Some(contract), .. }) =
                    render_awaited(self.compiled, state, effect).map(|request| request.body)
                {
                    output = shorten(output, contract);
                }
                Some(Event::ToolReturned { effect, outcome: ToolOutcome::returned(output) })
            }
            Resolution::DidNotHappen => {
                self.note(state, Record::Resolved { effect, resolution: ResolvedAs::DidNotHappen });
                None
            }
            // That it is unknown is written down before the end of the run.
            Resolution::Stop { reason } => {
                doubts.into_iter().for_each(|effect| self.note(state, unknown_record(effect)));
                Some(redactor.clean(Event::Cancelled { reason }))
            }
        })
    }
}

/// The event of an answer. A yes to several calls names them all, so that the journal says what was allowed.
fn answered(compiled: &CompiledSpec, state: &State, effect: EffectId, answer: HumanAnswer) -> Event {
    let shown = calls(compiled, state, effect).len() as u32;
    let answer = match answer {
        HumanAnswer::Approve if shown > 1 => {
            HumanAnswer::ApproveCalls { calls: (1..=shown).map(AllowedCall::AsShown).collect() }
        }
        answer => answer,
    };
    Event::HumanAnswered { effect, answer }
}

/// Whether an answer fits. A result or an input that names no call is none where several are asked about: the machine,
/// which reads journals of a time when calls were asked about one by one, takes it for the first.
fn admit_answer(compiled: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
    if let Event::HumanAnswered { effect, answer } = event
        && matches!(answer, HumanAnswer::Respond { .. } | HumanAnswer::EditInput { .. })
        && calls(compiled, state, *effect).len() > 1
    {
        let expected = "`approve`, `approve_calls` or `reject`, for several calls";
        return Err(Refusal::WrongAnswer { effect: *effect, answer: answer.kind(), expected });
    }
    admit(compiled, state, event)
}

/// The record that says of a write in doubt that it is unknown whether it happened.
pub(super) fn unknown_record(effect: EffectId) -> Record {
    Record::Resolved { effect, resolution: ResolvedAs::Unknown }
}

/// When the time for an answer is over, in milliseconds since 1970, if it ever is.
pub(super) fn answer_due(
    compiled: &CompiledSpec,
    state: &State,
    ledger: &Ledger,
    effect: EffectId,
) -> Option<u64> {
    let limits = local(compiled, state, effect).map(|here| &here.compiled.spec().limits);
    let (seconds, at) = limits.and_then(|limits| limits.answer_seconds).zip(ledger.asked_at(effect))?;
    Some(at.saturating_add(seconds.saturating_mul(1_000)))
}

fn make_token(run: &str, effect: EffectId, what: &str) -> String {
    let mut hasher = Sha256::new();
    for part in [run, &effect.to_string(), what] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The token of a question that a run waits with.
fn question_token(run: &str, compiled: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    Some(make_token(run, id, &subject(compiled, state, awaited(compiled, state, id)?)?))
}

/// The token of a write in doubt.
fn doubt_token(
    run: &str,
    compiled: &CompiledSpec,
    (state, ledger): (&State, &Ledger),
    id: EffectId,
) -> Option<String> {
    let body = render_awaited(compiled, state, id)?.body;
    let RequestBody::Tool { tool, input, .. } = body else { return None };
    let index = ledger.find_pending(id)?.index;
    Some(make_token(run, id, &format!("in doubt at {index}: {tool} {}", canonical(&input))))
}

/// The token that an answer to a stored run must carry: of its write in doubt, or of its open question.
pub fn token(folded: &Folded) -> Option<String> {
    token_of(&folded.run, &folded.compiled, &folded.state, &folded.ledger)
}

/// The token that an answer to a run must carry.
pub(super) fn token_of(run: &str, compiled: &CompiledSpec, state: &State, ledger: &Ledger) -> Option<String> {
    match ledger.doubts(compiled, state).next() {
        Some((effect, _)) => doubt_token(run, compiled, (state, ledger), effect),
        None => question_token(run, compiled, state, find_question(compiled, state)?.0),
    }
}

/// The question that a run of this id waits with, if a person has to answer.
pub fn open_question(run: &str, compiled: &CompiledSpec, state: &State) -> Option<Waiting> {
    let asks = |effect: &Effect| matches!(effect, Effect::AskHuman { .. });
    let effect = outstanding(compiled, state).into_iter().find(asks)?;
    let Request { effect, body, .. } = Request::of(compiled, state, effect)?;
    let RequestBody::Human { step, question } = body else { return None };
    let token = question_token(run, compiled, state, effect)?;
    let calls = calls(compiled, state, effect);
    Some(Waiting { effect, step, question, calls, token, refused: None })
}

/// The effect that a token was of, if its question was answered before.
pub(super) fn find_spent(records: &[Record], token: &str) -> Option<EffectId> {
    records.iter().enumerate().find_map(|(at, record)| {
        let (Record::Answered { event: Event::HumanAnswered { effect, .. }, .. }
        | Record::Resolved { effect, .. }) = record
        else {
            return None;
        };
        let folded = fold(records[..at].iter().cloned()).ok()?;
        let open = question_token(&folded.run, &folded.compiled, &folded.state, *effect)
            .or_else(|| doubt_token(&folded.run, &folded.compiled, (&folded.state, &folded.ledger), *effect));
        open.is_some_and(|open| open == token).then_some(*effect)
    })
}
