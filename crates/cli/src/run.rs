//! `run`: answers a question, out of the world or out of a fixture.

use std::path::Path;

use clap::ColorChoice;

use crate::args::RunArgs;
use crate::chat::{Conversation, open_thread};
use crate::editor::is_typed;
use crate::out::Exit;
use crate::person::{at_terminal, confirm, read_answer, read_json, read_question, show_question};
use crate::resume::journal_error;
use crate::screen::Stdout;
use crate::session::Session;
use crate::{out, text};
use planwright::driver::{RecordMode, Run, Stopped, time_for};
use planwright::journal::{FileJournal, Fixture, JournalErrorKind, Outcome};
use planwright::machine::{Input, Turn};
use planwright::spec::Memory;
use planwright_app::{Error, PreparedAgent, Result, RunInfo, RunLocation, Spool, spec_for_fixture};

pub fn run(args: &RunArgs, color: ColorChoice) -> Result<Exit> {
    let session = Session::new(&args.show, color);
    let question = args.question.as_deref().map(read_question).transpose()?;
    let recorded = load_recording(args, question.as_deref())?;
    let goes_on = |fixture: &Fixture| match args.record_mode {
        RecordMode::Once if args.replay.is_none() => matches!(fixture.outcome, Outcome::Interrupted(_)),
        mode => mode == RecordMode::NewEpisodes,
    };
    match recorded {
        Some((path, fixture)) if !goes_on(&fixture) => {
            let again = if args.record.is_some() { " (--record-mode all records anew)" } else { "" };
            session.screen.note(&format!("every answer comes from {}{again}", path.display()));
            replay(args, &session, path, fixture)
        }
        recorded => ask(args, &session, &question.unwrap_or_default(), recorded.map(|(_, fixture)| fixture)),
    }
}

/// The fixture that answers come from, if there is one. It must be of the same question: recording another over it
/// would lose it.
fn load_recording<'a>(args: &'a RunArgs, question: Option<&str>) -> Result<Option<(&'a Path, Fixture)>> {
    let path = match (&args.replay, &args.record) {
        (Some(path), _) => path,
        (None, Some(path)) if args.record_mode == RecordMode::None => path,
        (None, Some(path)) if args.record_mode != RecordMode::All && path.exists() => path,
        _ => return Ok(None),
    };
    let fixture = Fixture::load(path).map_err(|error| match args.replay.is_none() && !path.exists() {
        true => Error::unusable(error).hint("`none` only replays: --record-mode once records it first"),
        false => Error::unusable(error),
    })?;
    let recorded = &fixture.input.question;
    if let Some(question) = question.filter(|question| question != recorded) {
        let path = path.display();
        let problem = format!("{path} answers another question: expected {recorded:?}, found {question:?}");
        return Err(Error::unusable(problem).hint(match args.replay.is_some() {
            true => "leave the question out: it is in the fixture",
            false => "name another fixture, or replace this one with --record-mode all",
        }));
    }
    Ok(Some((path, fixture)))
}

fn replay(args: &RunArgs, session: &Session<'_>, path: &Path, fixture: Fixture) -> Result<Exit> {
    let known = spec_for_fixture(&fixture, args.choice.agent.as_deref())?;
    let spec = known.unwrap_or_else(|| {
        let name = &fixture.spec.name;
        session
            .screen
            .note(&format!("as recorded: no agent is called {name:?}; --agent FILE names its spec"));
        fixture.spec.clone()
    });
    let prepared = PreparedAgent::replaying(args.choice.limit(spec), "replay")?;
    // A replay asks nobody: there is nothing to trace.
    session.screen.traced.take();
    let mut journal = args.journal.as_deref().map(create_journal).transpose()?;
    let input = fixture.input.clone();
    let info = session.info(&prepared, &input.question, location(args.journal.as_deref(), args));
    session.run(&RunInfo { fixture: Some(path), ..info }, |screen, _| {
        let job = prepared.agent.job(input.clone()).observer(screen).replay(fixture);
        journal.iter_mut().fold(job, |job, journal| job.journal(journal)).run()
    })
}

fn ask(args: &RunArgs, session: &Session<'_>, question: &str, recorded: Option<Fixture>) -> Result<Exit> {
    if args.record.is_some() && args.record == args.journal {
        return Err(Error::unusable("--record and --journal name the same file; expected two"));
    }
    let settings = session.resolve_settings(&args.settings, args.store.config.as_deref())?;
    let prepared = args.choice.prepare(&settings, recorded.as_ref(), at_terminal(session.style))?;
    session.introduce(&prepared);
    let input = input(args, &prepared, question)?;
    let has_place = args.journal.is_some() || args.record.is_some() || args.history.is_some();
    if args.thread.is_some() || !has_place {
        let stored = open_thread(&args.store, args.thread.as_ref(), session)?;
        if stored.is_some() {
            return ask_in_thread(session, Conversation::open(stored, prepared, settings)?, input);
        }
    }
    let mut journal = args.journal.as_deref().map(create_journal).transpose()?;
    let fixture = args.record.as_deref();
    // What nobody asked to keep is kept until it has ended.
    let mut spool = if journal.is_none() && fixture.is_none() { Spool::begin() } else { None };
    let path = spool.as_ref().map(|spool| spool.path().to_owned());
    let spooled = path.as_deref().or(args.journal.as_deref());
    let spooled = location(spooled, args);
    let mut info = RunInfo { fixture, ..session.info(&prepared, question, spooled) };
    let cancel = session.begin(info.location, fixture);
    let job = prepared.agent.job(input).observer(&session.screen).cancel(cancel);
    let job = journal.iter_mut().fold(job, |job, journal| job.journal(journal));
    let job = spool.iter_mut().fold(job, |job, spool| job.journal(spool));
    let result = fixture.iter().fold(job, |job, path| job.record(path, args.record_mode)).run();
    drop(spool);
    if !path.as_deref().is_none_or(Spool::keep_unfinished) {
        info.location = RunLocation::default();
    }
    session.conclude(&info, &result)
}

fn input(args: &RunArgs, prepared: &PreparedAgent, question: &str) -> Result<Input> {
    let compiled = prepared.agent.compiled();
    let expected = "a JSON list of {\"role\": \"user\" or \"assistant\", \"content\": TEXT}";
    let history = args.history.as_deref().map(|path| read_json::<Vec<Turn>>("", path, expected, None));
    let history = history.transpose()?.unwrap_or_default();
    if !history.is_empty() && compiled.policy().memory == Memory::None {
        let name = &compiled.spec().name;
        let problem = format!("--history: the agent {name} remembers no earlier turns (`memory = \"none\"`)");
        return Err(Error::unusable(problem).hint("take another agent, such as one of `planwright agents`"));
    }
    let now = args.now.clone().unwrap_or_else(|| time_for(compiled.policy()));
    let (session, outline) = (args.session.clone(), prepared.outline.clone());
    Ok(Input { now, history, session, outline, ..Input::question(question) })
}

/// Asks as the next turn of a thread. What is pending in it is put to the person at the terminal first.
fn ask_in_thread(session: &Session<'_>, mut talk: Conversation, input: Input) -> Result<Exit> {
    while is_typed() {
        // Stdout is for the answer to what is asked now.
        let stdout = session.screen.stdout.replace(Stdout::Result);
        let caught_up = catch_up(&talk, session)?;
        session.screen.stdout.set(stdout);
        match caught_up {
            None => break,
            Some(Ok(run)) => {
                session.screen.begin();
                let info = session.info(&talk.prepared, &input.question, talk.location());
                info.answer_text(run.state()).iter().for_each(|answer| out::complain(&text::clean(answer)));
                info.error(&Ok(run)).iter().for_each(|error| out::complain_of(error, session.style));
                talk.refresh()?;
            }
            Some(stopped) => {
                let info = session.info(&talk.prepared, &input.question, talk.location());
                return session.conclude(&info, &stopped);
            }
        }
    }
    let question = input.question.clone();
    let info = session.info(&talk.prepared, &question, talk.location());
    session.conclude(&info, &talk.ask(input, session))
}

/// Puts what is pending in a thread to the person at the terminal; nothing where nothing is, or they say nothing.
fn catch_up(talk: &Conversation, session: &Session<'_>) -> Result<Option<Result<Run, Stopped>>> {
    if let Some(waiting) = talk.waiting() {
        show_question(&waiting.results, &waiting.text(), None, session.style);
        let Some(answer) = read_answer(waiting.effect.kind, waiting.calls.len())? else { return Ok(None) };
        let answered = talk.go_on(session, |handle, agent| handle.token(waiting.token).answer(agent, answer));
        return answered.map(Some);
    }
    if let Some(question) = talk.unfinished().map(text::line) {
        out::complain(&format!("the last question was stopped before its answer: {question}"));
        if confirm("go on with it first")? {
            return talk.go_on(session, |handle, agent| handle.resume(agent)).map(Some);
        }
    }
    Ok(None)
}

fn location<'a>(journal: Option<&'a Path>, args: &'a RunArgs) -> RunLocation<'a> {
    let in_journal = |path| RunLocation::in_journal(path, args.store.config.as_deref());
    journal.map(in_journal).unwrap_or_default()
}

fn create_journal(path: &Path) -> Result<FileJournal> {
    FileJournal::create(path).map_err(|error| {
        let is_taken = error.kind() == JournalErrorKind::Stale;
        let path = path.display();
        let hint = format!("`planwright resume {path}` goes on with a journal; a new run needs a new file");
        if is_taken { journal_error(error).hint(hint) } else { journal_error(error) }
    })
}
