//! `run`: answers a question, out of the world or out of a fixture.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::args::{Mode, RunArgs};
use super::config::Settings;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::pending::Kept;
use super::person::Person;
use super::report::{self, Asked};
use super::screen::Screen;
use super::style::{Color, Style};
use super::talk::StoredTalk;
use super::{agent, contract, interrupt, prepare, turn};
use planwright::driver::time_for;
use planwright::journal::{FileJournal, Fixture, Journal};
use planwright::machine::Input;
use planwright::ports::Human;

/// Longest question that is read from stdin, in bytes.
const MOST: u64 = 1 << 20;

pub fn run(args: &RunArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.show.quiet, color);
    let question = args.question.as_deref().map(read_question).transpose()?;
    let recorded = recorded(args, question.as_deref())?;
    let plays_only = args.replay.is_some() || args.record_mode != Mode::NewEpisodes;
    match recorded {
        Some((path, fixture)) if plays_only => {
            let again = if args.record.is_some() { " (--record-mode all records anew)" } else { "" };
            screen.note(&format!("every answer comes from {}{again}", path.display()));
            replay(args, &screen, path, fixture)
        }
        recorded => {
            let recorded = recorded.map(|(_, fixture)| fixture);
            ask(args, color, &screen, question.unwrap_or_default(), recorded)
        }
    }
}

/// The question, from the argument or from stdin.
fn read_question(argument: &str) -> Outcome<String> {
    let question = match argument {
        "-" => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(MOST + 1).read_to_string(&mut text);
            read.map_err(|error| Failure::caused("the question cannot be read from stdin", error))?;
            if text.len() as u64 > MOST {
                return Err(Failure::unusable(format!("the question on stdin is longer than {MOST} bytes")));
            }
            text
        }
        argument => argument.to_owned(),
    };
    let question = question.trim();
    if question.is_empty() {
        let hint = "planwright run \"your question\", or: echo \"your question\" | planwright run -";
        return Err(Failure::unusable("the question is empty").hint(hint));
    }
    Ok(question.to_owned())
}

/// The fixture that answers come from, where there is one. It must be of the same question:
/// recording another over it would lose it.
fn recorded<'a>(args: &'a RunArgs, question: Option<&str>) -> Outcome<Option<(&'a Path, Fixture)>> {
    let path = match (&args.replay, &args.record) {
        (Some(path), _) => path,
        (None, Some(path)) if args.record_mode == Mode::None => path,
        (None, Some(path)) if args.record_mode != Mode::All && path.exists() => path,
        _ => return Ok(None),
    };
    let fixture = Fixture::load(path).map_err(Failure::unusable)?;
    if let Some(question) = question
        && question != fixture.input.question
    {
        let problem = format!(
            "{} answers another question: expected {:?}, found {question:?}",
            path.display(),
            fixture.input.question
        );
        let hint = match args.replay.is_some() {
            true => "leave the question out: it is in the fixture",
            false => "name another fixture, or replace this one with --record-mode all",
        };
        return Err(Failure::unusable(problem).hint(hint));
    }
    Ok(Some((path, fixture)))
}

fn replay(args: &RunArgs, screen: &Screen, path: &Path, fixture: Fixture) -> Outcome<Exit> {
    let spec = agent::for_fixture(&fixture, args.of.agent.as_deref(), false)?;
    let agent = agent::replaying(prepare::adjusted(spec, &args.of))?;
    let mut journal = args.journal.as_deref().map(create_journal).transpose()?;
    let question = fixture.input.question.clone();
    let watch = args.show.watch(screen);
    let mut job = agent.job(fixture.input.clone()).observer(&watch).replay(fixture);
    if let Some(journal) = &mut journal {
        job = job.journal(journal);
    }
    let result = job.run();
    let asked = Asked {
        question: &question,
        agent: &agent.rules().spec().name,
        model: "replay",
        show: &args.show,
        kept: args.journal.as_deref().map_or(Kept::Nowhere, Kept::Journal),
        record: Some(path),
        prices: &agent.rules().spec().prices,
        currency: None,
    };
    report::conclude(&asked, &watch, result)
}

fn ask(
    args: &RunArgs,
    color: Color,
    screen: &Screen,
    question: String,
    recorded: Option<Fixture>,
) -> Outcome<Exit> {
    if args.record.is_some() && args.record == args.journal {
        return Err(Failure::unusable("--record and --journal name the same file; expected two"));
    }
    let settings = Settings::read(&args.world)?;
    let human = at_terminal(color);
    let (agent, model) = prepare::agent(&args.of, &settings, recorded.as_ref(), human)?;
    let spec = agent.rules().spec();
    prepare::introduce(&agent, &model, &settings, screen);
    let currency = settings.currency.clone();
    let now = args.now.clone().unwrap_or_else(|| time_for(agent.rules().policy()));
    let input = contract::input(Input { now, ..Input::question(question.clone()) }, args, &agent)?;
    let input = Input { outline: contract::outline(&agent, &settings)?, ..input };
    let asked = Asked {
        question: &question,
        agent: &spec.name,
        model: &model,
        show: &args.show,
        kept: args.journal.as_deref().map_or(Kept::Nowhere, Kept::Journal),
        record: args.record.as_deref(),
        prices: &spec.prices,
        currency: currency.as_deref(),
    };
    if let Some(stored) = turn::thread(args, screen)? {
        let outline = input.outline.clone();
        let talk = StoredTalk::open(stored, &agent, settings, outline, args.world.chooses_model())?;
        return turn::ask(talk, input, &asked, screen, Style::of(color, &std::io::stderr()));
    }
    let mut journal = args.journal.as_deref().map(create_journal).transpose()?;
    let token = interrupt::listen(screen.voice.clone(), farewell(asked.kept)).begin();
    let watch = args.show.watch(screen);
    let mut job = agent.job(input).observer(&watch).cancel(token);
    if let Some(journal) = &mut journal {
        job = job.journal(journal as &mut dyn Journal);
    }
    if let Some(path) = &args.record {
        job = job.record(path, args.record_mode.into());
    }
    let result = job.run();
    report::conclude(&asked, &watch, result)
}

/// The person at the terminal, where there is one.
pub fn at_terminal(color: Color) -> Option<Arc<dyn Human>> {
    let person = Person::at_terminal(Style::of(color, &std::io::stderr()))?;
    Some(Arc::new(person))
}

fn create_journal(path: &Path) -> Outcome<FileJournal> {
    FileJournal::create(path).map_err(|error| {
        let is_taken = error.kind() == planwright::journal::JournalErrorKind::Stale;
        let failure = Failure::journal(error);
        let path = path.display();
        let hint = format!("`planwright resume {path}` goes on with a journal; a new run needs a new file");
        if is_taken { failure.hint(hint) } else { failure }
    })
}

/// What to say where the program ends at once.
pub fn farewell(kept: Kept<'_>) -> String {
    kept.resume().map_or_else(String::new, |command| format!("; `{command}` goes on"))
}
