//! Going on with a run that was begun before: `resume` for a journal, `threads resume`, `answer` and `resolve` for
//! a thread.

use clap::ColorChoice;

use crate::args::{ResumeArgs, ResumeThreadArgs, StoreArgs};
use crate::editor::is_typed;
use crate::out::Exit;
use crate::person::{at_terminal, confirm_token, read_answer, show_question};
use crate::screen::Screen;
use crate::session::Session;
use planwright::driver::{Agent, CancelToken, Changed, Resolution, Run, Stopped, ThreadHandle};
use planwright::journal::{FileJournal, Folded, Journal, JournalError, JournalErrorKind, fold};
use planwright::machine::HumanAnswer;
use planwright_app::{
    Class, Error, Pending, PreparedAgent, Result, RunLocation, Settings, Spool, StoredThread,
};

/// What is wrong with a journal in a file of its own.
pub fn journal_error(error: JournalError) -> Error {
    match error.kind() {
        JournalErrorKind::Locked => error.into(),
        _ => Error::unusable(error),
    }
}

pub fn resume_journal(args: &ResumeArgs, color: ColorChoice) -> Result<Exit> {
    let session = Session::new(&args.show, color);
    let (answer, resolution) = (args.answer.answer()?, args.doubt.resolution());
    let mut journal = FileJournal::open(&args.journal).map_err(journal_error)?;
    let records = journal.records().map_err(Error::unusable)?;
    let folded = fold(records).map_err(Error::at(args.journal.display()))?;
    let flags = args.settings.flags();
    let location = RunLocation::in_journal(&args.journal, args.config.as_deref()).with(&flags);
    // An answer that fits nothing is refused by the run.
    let meant = Pending::of(&folded, location)
        .filter(|pending| if pending.is_doubt() { resolution.is_some() } else { answer.is_some() });
    let settings = || session.resolve_settings(&args.settings, args.config.as_deref());
    let token = match (&args.answer.token, meant) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(pending)) => {
            check_first(&folded, settings, None)?;
            Some(confirm_token(&pending, location, session.style)?)
        }
        (None, None) => None,
    };
    let exit = go_on(&session, &folded, location, settings, None, |agent, screen, cancel| {
        let mut resume = agent.resume(&mut journal).observer(screen).cancel(cancel);
        resume = answer.into_iter().fold(resume, |resume, answer| resume.answer(answer));
        resume = resolution.into_iter().fold(resume, |resume, resolution| resume.resolve(resolution));
        token.into_iter().fold(resume, |resume, token| resume.token(token)).run()
    });
    drop(journal);
    Spool::keep_unfinished(&args.journal);
    exit
}

/// A thread whose last turn is gone on with, as the command line asks for it.
pub struct InThread<'a> {
    session: Session<'a>,
    store: &'a StoreArgs,
    args: &'a ResumeThreadArgs,
    stored: StoredThread,
    flags: String,
}

impl<'a> InThread<'a> {
    pub fn open(store: &'a StoreArgs, args: &'a ResumeThreadArgs, color: ColorChoice) -> Result<Self> {
        let (session, stored) = (Session::new(&args.show, color), store.place()?.thread(&args.thread)?);
        Ok(InThread { session, store, args, stored, flags: args.settings.flags() })
    }

    pub fn resume(self) -> Result<Exit> {
        self.go_on(|handle, agent| handle.resume(agent))
    }

    pub fn answer(self, given: Option<HumanAnswer>, token: Option<String>) -> Result<Exit> {
        let (answer, token) = match (given, token) {
            (Some(answer), Some(token)) => (answer, token),
            (given, _) => {
                let pending = self.pending()?;
                if pending.is_doubt() {
                    let problem = format!("{} asks nobody: {}", self.stored.thread, pending.text());
                    return Err(Error::new(Class::InDoubt, problem).hint(pending.command_lines()));
                }
                self.check_first()?;
                match given {
                    Some(answer) => (answer, confirm_token(&pending, self.location(), self.session.style)?),
                    None if !is_typed() => return Err(self.location().missing_token(&pending)),
                    None => {
                        show_question(&pending.results, &pending.text(), None, self.session.style);
                        let silent = || Error::new(Class::Waiting, "nothing was said, and the run waits on");
                        (
                            read_answer(pending.effect.kind, pending.calls.len())?.ok_or_else(silent)?,
                            pending.token,
                        )
                    }
                }
            }
        };
        self.go_on(|handle, agent| handle.token(token).answer(agent, answer))
    }

    pub fn resolve(self, resolution: Resolution, token: Option<String>) -> Result<Exit> {
        let token = match token {
            Some(token) => token,
            None => match self.pending()? {
                pending if pending.is_doubt() => {
                    self.check_first()?;
                    confirm_token(&pending, self.location(), self.session.style)?
                }
                pending => return Err(self.location().missing_token(&pending)),
            },
        };
        self.go_on(|handle, agent| handle.token(token).resolve(agent, resolution))
    }

    fn location(&self) -> RunLocation<'_> {
        RunLocation::in_thread(&self.stored).with(&self.flags)
    }

    fn pending(&self) -> Result<Pending> {
        Pending::of(&self.stored.fold(None)?, self.location()).ok_or_else(|| {
            let problem = format!("the thread {} waits for nobody", self.stored.thread);
            Error { hint: self.location().show_hint(), ..Error::unusable(problem) }
        })
    }

    fn resolve_settings(&self) -> Result<Settings> {
        self.session.resolve_settings(&self.args.settings, self.store.config.as_deref())
    }

    fn check_first(&self) -> Result<()> {
        let folded = self.stored.fold(None)?;
        check_first(&folded, || self.resolve_settings(), rules(&folded, self.args).1)
    }

    fn go_on(self, go: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>) -> Result<Exit> {
        let (folded, stored) = (self.stored.fold(None)?, &self.stored);
        let (changed, spec) = rules(&folded, self.args);
        let (location, settings) = (RunLocation::in_thread(stored), || self.resolve_settings());
        go_on(&self.session, &folded, location, settings, spec, |agent, screen, cancel| {
            let handle =
                stored.threads.at(&stored.thread).observer(screen).cancelled_by(cancel).changed(changed);
            go(if self.args.compiled.take_over { handle.take_over() } else { handle }, agent)
        })
    }
}

/// The rules that a turn goes on under.
fn rules<'a>(folded: &Folded, args: &'a ResumeThreadArgs) -> (Changed, Option<&'a str>) {
    let changed = if folded.state.phase().is_terminal() { Changed::Keep } else { args.compiled.changed() };
    (changed, args.compiled.spec.as_deref().filter(|_| changed != Changed::Keep))
}

/// Where a person will be asked: builds the agent that goes on with a run, so that what they say is not lost because
/// of a setting.
fn check_first(
    folded: &Folded,
    settings: impl FnOnce() -> Result<Settings>,
    spec: Option<&str>,
) -> Result<()> {
    if is_typed() {
        PreparedAgent::resume(folded, &settings()?, spec, None)?;
    }
    Ok(())
}

/// Builds the agent that goes on with a run, lets it, and shows what comes of it.
fn go_on(
    session: &Session<'_>,
    folded: &Folded,
    location: RunLocation<'_>,
    settings: impl FnOnce() -> Result<Settings>,
    spec: Option<&str>,
    go: impl FnOnce(&Agent, &Screen, CancelToken) -> Result<Run, Stopped>,
) -> Result<Exit> {
    let prepared = if folded.state.phase().is_terminal() {
        let mut prepared = PreparedAgent::replaying(folded.compiled.spec().clone(), "journal")?;
        prepared.notes.push("the run has ended; nothing is asked again".to_owned());
        prepared
    } else {
        PreparedAgent::resume(folded, &settings()?, spec, at_terminal(session.style))?
    };
    session.introduce(&prepared);
    let info = session.info(&prepared, &folded.state.input().question, location);
    session.run(&info, |screen, cancel| go(&prepared.agent, screen, cancel))
}
