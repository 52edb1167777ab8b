//! Going on with a run that was begun before: `resume` for a journal, `threads resume`, `answer` and `resolve` for
//! a thread.

use std::path::Path;

use clap::ColorChoice;

use crate::args::{
    AnswerThreadArgs, ResolveArgs, ResumeArgs, ResumeThreadArgs, RulesArgs, ShowArgs, StoreArgs,
};
use crate::out::Exit;
use crate::person::{at_terminal, confirm_token, is_typed, read_answer, show_question};
use crate::session::{Session, resolve_settings};
use crate::watch::Watch;
use planwright::driver::{Agent, CancelToken, Changed, Resolution, Run, Stopped};
use planwright::journal::{FileJournal, Folded, Journal, JournalError, JournalErrorKind, fold};
use planwright::machine::HumanAnswer;
use planwright_app::{Class, Error, Overrides, Pending, PreparedAgent, Result, RunLocation, StoredThread};

/// What a person says as a run goes on, and the token of what they mean.
enum Reply {
    Nothing,
    Answer(HumanAnswer, String),
    Resolution(Resolution, String),
}

/// A call of one of these commands.
struct Call<'a> {
    session: Session<'a>,
    overrides: &'a Overrides,
    config: Option<&'a Path>,
    color: ColorChoice,
}

/// What is wrong with a journal in a file of its own.
pub fn journal_error(error: JournalError) -> Error {
    match error.kind() {
        JournalErrorKind::Locked => error.into(),
        _ => Error::unusable(error),
    }
}

pub fn resume_journal(args: &ResumeArgs, color: ColorChoice) -> Result<Exit> {
    let call = Call::new(&args.show, &args.settings, args.config.as_deref(), color);
    let (answer, resolution) = (args.answer.answer()?, args.doubt.resolution());
    let mut journal = FileJournal::open(&args.journal).map_err(journal_error)?;
    let records = journal.records().map_err(Error::unusable)?;
    let unusable = |error| Error::unusable(format!("{}: {error}", args.journal.display()));
    let folded = fold(records).map_err(unusable)?;
    let location = RunLocation::Journal(&args.journal);
    // An answer that fits nothing is refused by the run.
    let meant = Pending::of(&folded)
        .filter(|pending| if pending.is_doubt() { resolution.is_some() } else { answer.is_some() });
    let token = match (&args.answer.token, meant) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(pending)) => Some(confirm_token(&pending, location, call.session.style)?),
        (None, None) => None,
    };
    call.go_on(&folded, location, None, |agent, _, watch, cancel| {
        let mut resume = agent.resume(&mut journal).observer(watch).cancel(cancel);
        resume = answer.into_iter().fold(resume, |resume, answer| resume.answer(answer));
        resume = resolution.into_iter().fold(resume, |resume, resolution| resume.resolve(resolution));
        token.into_iter().fold(resume, |resume, token| resume.token(token)).run()
    })
}

pub fn resume_thread(store: &StoreArgs, args: &ResumeThreadArgs, color: ColorChoice) -> Result<Exit> {
    let (call, stored) = Call::on_thread(store, args, color)?;
    call.go_on_with_thread(&stored, &args.rules, Reply::Nothing)
}

pub fn answer_thread(store: &StoreArgs, args: &AnswerThreadArgs, color: ColorChoice) -> Result<Exit> {
    let given = args.answer.answer()?;
    let (call, stored) = Call::on_thread(store, &args.thread, color)?;
    let reply = match (given, &args.answer.token) {
        (Some(answer), Some(token)) => Reply::Answer(answer, token.clone()),
        (given, _) => {
            let pending = pending_question(&stored)?;
            let (location, style) = (RunLocation::Thread(&stored), call.session.style);
            match given {
                Some(answer) => Reply::Answer(answer, confirm_token(&pending, location, style)?),
                None if !is_typed() => return Err(location.missing_token(&pending)),
                None => {
                    show_question(&pending.text(), None, style);
                    let answer = read_answer(pending.effect.kind)?.ok_or_else(|| {
                        Error::new(Class::Waiting, "nothing was said, and the run waits on")
                    })?;
                    Reply::Answer(answer, pending.token)
                }
            }
        }
    };
    call.go_on_with_thread(&stored, &args.thread.rules, reply)
}

pub fn resolve_thread(store: &StoreArgs, args: &ResolveArgs, color: ColorChoice) -> Result<Exit> {
    let (call, stored) = Call::on_thread(store, &args.thread, color)?;
    let resolution = args.resolution.resolution().expect("clap asks for one of the flags");
    let location = RunLocation::Thread(&stored);
    let token = match (&args.token, stored.pending()?) {
        (Some(token), _) => token.clone(),
        (None, Some(pending)) if pending.is_doubt() => confirm_token(&pending, location, call.session.style)?,
        (None, Some(pending)) => return Err(location.missing_token(&pending)),
        (None, None) => return Err(nothing_pending(&stored)),
    };
    call.go_on_with_thread(&stored, &args.thread.rules, Reply::Resolution(resolution, token))
}

/// The question that a thread waits with.
fn pending_question(stored: &StoredThread) -> Result<Pending> {
    let Some(pending) = stored.pending()? else { return Err(nothing_pending(stored)) };
    if !pending.is_doubt() {
        return Ok(pending);
    }
    let problem = format!("{} asks nobody: {}", stored.thread, pending.text());
    Err(Error::new(Class::InDoubt, problem).hint(RunLocation::Thread(stored).command_lines(&pending)))
}

fn nothing_pending(stored: &StoredThread) -> Error {
    let problem = format!("the thread {} waits for nobody", stored.thread);
    Error::unusable(problem).hint(format!("{}  says how it stands", stored.command("show")))
}

impl<'a> Call<'a> {
    fn new(
        show: &'a ShowArgs,
        overrides: &'a Overrides,
        config: Option<&'a Path>,
        color: ColorChoice,
    ) -> Self {
        Call { session: Session::new(show, color), overrides, config, color }
    }

    fn on_thread(
        store: &'a StoreArgs,
        args: &'a ResumeThreadArgs,
        color: ColorChoice,
    ) -> Result<(Self, StoredThread)> {
        let call = Call::new(&args.show, &args.settings, store.config.as_deref(), color);
        Ok((call, store.place()?.thread(&args.thread)?))
    }

    fn go_on_with_thread(&self, stored: &StoredThread, rules: &RulesArgs, reply: Reply) -> Result<Exit> {
        let folded = stored.fold_turn(None)?;
        let location = RunLocation::Thread(stored);
        self.go_on(&folded, location, Some(rules), |agent, changed, watch, cancel| {
            let mut handle = stored.handle().observer(watch).cancelled_by(cancel).changed(changed);
            if rules.take_over {
                handle = handle.take_over();
            }
            match reply {
                Reply::Nothing => handle.resume(agent),
                Reply::Answer(answer, token) => handle.token(token).answer(agent, answer),
                Reply::Resolution(resolution, token) => handle.token(token).resolve(agent, resolution),
            }
        })
    }

    /// Builds the agent that goes on with a run, lets it, and shows what comes of it.
    fn go_on(
        &self,
        folded: &Folded,
        location: RunLocation<'_>,
        rules: Option<&RulesArgs>,
        go: impl FnOnce(&Agent, Changed, &Watch<'_>, CancelToken) -> Result<Run, Stopped>,
    ) -> Result<Exit> {
        let spec = rules.and_then(|rules| rules.spec.as_deref());
        let changed = match rules {
            Some(rules) if !folded.state.phase().is_terminal() => rules.changed(),
            _ => Changed::Keep,
        };
        let settings = || resolve_settings(self.overrides, self.config);
        let prepared = PreparedAgent::resume(folded, settings, spec, changed, at_terminal(self.color))?;
        self.session.introduce(&prepared);
        let info = self.session.info(&prepared, &folded.state.input().question, location);
        self.session.run(&info, |watch, cancel| go(&prepared.agent, changed, watch, cancel))
    }
}
