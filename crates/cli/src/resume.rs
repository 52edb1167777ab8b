//! Going on with a run that was begun before: `resume` for a journal, `threads resume`, `answer` and `resolve` for
//! a thread.

use clap::ColorChoice;

use crate::args::{AnswerArgs, ResumeArgs, ResumeThreadArgs, StoreArgs};
use crate::editor::is_typed;
use crate::out::Exit;
use crate::person::{at_terminal, confirm_token, read_answer, show_question};
use crate::screen::Screen;
use crate::session::Session;
use planwright::driver::{Agent, CancelToken, Changed, Resolution, Run, Stopped, ThreadHandle};
use planwright::journal::{FileJournal, Folded, Journal, JournalError, JournalErrorKind, fold};
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

pub fn resume_thread(store: &StoreArgs, args: &ResumeThreadArgs, color: ColorChoice) -> Result<Exit> {
    let (session, stored) = (Session::new(&args.show, color), store.place()?.thread(&args.thread)?);
    go_on_in_thread(&session, store, args, &stored, |handle, agent| handle.resume(agent))
}

pub fn answer_thread(
    store: &StoreArgs,
    answer: &AnswerArgs,
    args: &ResumeThreadArgs,
    color: ColorChoice,
) -> Result<Exit> {
    let (given, session) = (answer.answer()?, Session::new(&args.show, color));
    let stored = store.place()?.thread(&args.thread)?;
    let flags = args.settings.flags();
    let location = RunLocation::in_thread(&stored).with(&flags);
    let (answer, token) = match (given, &answer.token) {
        (Some(answer), Some(token)) => (answer, token.clone()),
        (given, _) => {
            let pending = pending_in(&stored, location)?;
            if pending.is_doubt() {
                let problem = format!("{} asks nobody: {}", stored.thread, pending.text());
                return Err(Error::new(Class::InDoubt, problem).hint(pending.command_lines()));
            }
            check_thread_first(&session, store, args, &stored)?;
            match given {
                Some(answer) => (answer, confirm_token(&pending, location, session.style)?),
                None if !is_typed() => return Err(location.missing_token(&pending)),
                None => {
                    show_question(&pending.results, &pending.text(), None, session.style);
                    let silent = || Error::new(Class::Waiting, "nothing was said, and the run waits on");
                    (read_answer(pending.effect.kind)?.ok_or_else(silent)?, pending.token)
                }
            }
        }
    };
    go_on_in_thread(&session, store, args, &stored, |handle, agent| handle.token(token).answer(agent, answer))
}

pub fn resolve_thread(
    store: &StoreArgs,
    resolution: Resolution,
    token: Option<String>,
    args: &ResumeThreadArgs,
    color: ColorChoice,
) -> Result<Exit> {
    let (session, stored) = (Session::new(&args.show, color), store.place()?.thread(&args.thread)?);
    let flags = args.settings.flags();
    let location = RunLocation::in_thread(&stored).with(&flags);
    let token = match token {
        Some(token) => token,
        None => match pending_in(&stored, location)? {
            pending if pending.is_doubt() => {
                check_thread_first(&session, store, args, &stored)?;
                confirm_token(&pending, location, session.style)?
            }
            pending => return Err(location.missing_token(&pending)),
        },
    };
    go_on_in_thread(&session, store, args, &stored, |handle, agent| {
        handle.token(token).resolve(agent, resolution)
    })
}

fn pending_in(stored: &StoredThread, location: RunLocation<'_>) -> Result<Pending> {
    Pending::of(&stored.fold(None)?, location).ok_or_else(|| {
        let problem = format!("the thread {} waits for nobody", stored.thread);
        Error { hint: location.show_hint(), ..Error::unusable(problem) }
    })
}

fn go_on_in_thread(
    session: &Session<'_>,
    store: &StoreArgs,
    args: &ResumeThreadArgs,
    stored: &StoredThread,
    go: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
) -> Result<Exit> {
    let folded = stored.fold(None)?;
    let (changed, spec) = rules(&folded, args);
    let settings = || session.resolve_settings(&args.settings, store.config.as_deref());
    go_on(session, &folded, RunLocation::in_thread(stored), settings, spec, |agent, screen, cancel| {
        let handle = stored.threads.at(&stored.thread).observer(screen).cancelled_by(cancel).changed(changed);
        go(if args.compiled.take_over { handle.take_over() } else { handle }, agent)
    })
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

fn check_thread_first(
    session: &Session<'_>,
    store: &StoreArgs,
    args: &ResumeThreadArgs,
    stored: &StoredThread,
) -> Result<()> {
    let folded = stored.fold(None)?;
    let settings = || session.resolve_settings(&args.settings, store.config.as_deref());
    check_first(&folded, settings, rules(&folded, args).1)
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
