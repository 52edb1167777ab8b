//! A run as the next turn of a thread.

use super::args::RunArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::interrupt::{self, Stopper};
use super::pending::{Kept, Stored};
use super::report::{self, Asked};
use super::run::farewell;
use super::screen::Screen;
use super::store::Place;
use super::style::Style;
use super::talk::StoredTalk;
use super::watch::Watch;
use super::{line, out, person, text};
use planwright::driver::{Run, Stopped};
use planwright::machine::Input;

/// The thread that the run is a turn of: the one that is named, or, where every run is kept and this
/// one is not otherwise, a new one.
pub fn thread(args: &RunArgs, screen: &Screen) -> Outcome<Option<Stored>> {
    if args.thread.is_none() && (args.journal.is_some() || args.record.is_some() || args.history.is_some()) {
        return Ok(None);
    }
    Place::find(&args.store, args.world.config.as_deref())?.thread(args.thread.as_ref(), screen)
}

/// Asks as the next turn of a thread. What is open in it is put to whoever sits at the terminal first.
pub fn ask(
    mut talk: StoredTalk,
    input: Input,
    asked: &Asked<'_>,
    screen: &Screen,
    style: Style,
) -> Outcome<Exit> {
    let (watch, before) = (asked.show.watch(screen), Watch::quietly(screen));
    let farewell = farewell(Kept::Thread(&talk.stored));
    let stopper = interrupt::listen(screen.voice.clone(), farewell);
    while line::is_typed() {
        match catch_up(&talk, &before, &stopper, style)? {
            None => break,
            Some(Ok(run)) => {
                screen.clear();
                // stdout is for the answer to what is asked now.
                run.answer().into_iter().for_each(|answer| out::complain(&text::clean(answer)));
                talk.look()?;
            }
            Some(stopped) => {
                let asked = Asked { kept: Kept::Thread(&talk.stored), ..*asked };
                return report::conclude(&asked, &watch, stopped);
            }
        }
    }
    let result = talk.ask(input, &watch, stopper.begin());
    report::conclude(&Asked { kept: Kept::Thread(&talk.stored), ..*asked }, &watch, result)
}

/// Puts what is open in a thread to the person at the terminal. `None` where nothing is, or they say
/// nothing.
fn catch_up(
    talk: &StoredTalk,
    watch: &Watch<'_>,
    stopper: &Stopper,
    style: Style,
) -> Outcome<Option<Result<Run, Stopped>>> {
    if let Some(waiting) = talk.waiting() {
        person::put(&waiting.question, waiting.refused.as_deref(), style);
        let asked = waiting.effect.kind;
        let said = line::next(&format!("answer ({})> ", line::choices(asked)))?.unwrap_or_default();
        return match line::answer(&said, asked) {
            _ if said.is_empty() => Ok(None),
            Ok(answer) => talk.respond(answer, watch, stopper.begin()).map(Some),
            Err(problem) => Err(Failure::unusable(problem)),
        };
    }
    if talk.is_unfinished() {
        let question = text::line(&talk.question);
        out::complain(&format!("the last question was stopped before its answer: {question}"));
        let said = line::next("go on with it first (yes or no)? ")?.unwrap_or_default();
        if line::is_yes(&said) {
            return talk.resume(watch, stopper.begin()).map(Some);
        }
    }
    Ok(None)
}
