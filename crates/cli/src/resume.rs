//! `resume`: goes on with an interrupted run from its journal, or answers the question that it waits
//! with.

use super::answer::{answer, settlement};
use super::args::ResumeArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::interrupt;
use super::pending::{Kept, Open, What};
use super::person;
use super::report::{self, Asked};
use super::resume_setup::{self, GoingOn};
use super::run::{at_terminal, farewell};
use super::screen::Screen;
use super::style::{Color, Style};
use planwright::journal::{FileJournal, Folded, Journal, fold};

pub fn resume(args: &ResumeArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.show.quiet, color);
    let answer = answer(&args.answer)?;
    let mut journal = FileJournal::open(&args.journal).map_err(Failure::journal)?;
    let records = journal.records().map_err(Failure::unusable)?;
    let folded =
        fold(records).map_err(|error| Failure::unusable(format!("{}: {error}", args.journal.display())))?;
    let kept = Kept::Journal(&args.journal);
    let doubt = &args.doubt;
    let settlement = settlement(doubt.happened.as_ref(), doubt.did_not_happen, doubt.stop.as_ref());
    let said_for = match (&args.answer.token, open_to(&folded, answer.is_some(), settlement.is_some())) {
        (Some(token), _) => Some(token.clone()),
        (None, Some(open)) => Some(person::confirmed(&open, kept, Style::of(color, &std::io::stderr()))?),
        (None, None) => None,
    };
    let GoingOn { agent, model, currency, .. } =
        resume_setup::prepare(&folded, &args.world, None, at_terminal(color), &screen)?;
    let token = interrupt::listen(screen.voice.clone(), farewell(kept)).begin();
    let watch = args.show.watch(&screen);
    let mut going = agent.resuming(&mut journal).observer(&watch).cancel(token);
    if let Some(answer) = answer {
        going = going.answer(answer);
    }
    if let Some(settlement) = settlement {
        going = going.resolve(settlement);
    }
    if let Some(token) = said_for {
        going = going.token(token);
    }
    let result = going.run();
    let asked = Asked {
        question: &folded.state.task.input.question,
        agent: &agent.rules().spec().name,
        model: &model,
        show: &args.show,
        kept,
        record: None,
        prices: &folded.rules.spec().prices,
        currency: currency.as_deref(),
    };
    report::conclude(&asked, &watch, result)
}

/// What is open that an answer or a settlement is for, where one is said. What fits nothing is refused
/// by whoever takes it.
fn open_to(folded: &Folded, is_answered: bool, is_settled: bool) -> Option<Open> {
    Open::of(folded).filter(|open| match open.what {
        What::Question(_) => is_answered,
        What::Doubt { .. } => is_settled,
    })
}
