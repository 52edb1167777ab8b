//! `resume`: goes on with an interrupted run from its journal, or answers the question that it waits
//! with.

use super::answer::{answer, settlement};
use super::args::ResumeArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::going_on::{self, GoingOn};
use super::interrupt;
use super::kept::Kept;
use super::report::{self, Asked};
use super::run::{at_terminal, farewell};
use super::screen::Screen;
use super::style::Color;
use crate::journal::{FileJournal, Journal, fold};

pub fn resume(args: &ResumeArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.show.quiet, color);
    let answer = answer(&args.answer)?;
    let mut journal = FileJournal::open(&args.journal).map_err(Failure::unusable)?;
    let records = journal.records().map_err(Failure::unusable)?;
    let folded =
        fold(records).map_err(|error| Failure::unusable(format!("{}: {error}", args.journal.display())))?;
    let GoingOn { agent, model, currency, .. } =
        going_on::prepare(&folded, &args.world, None, at_terminal(color), &screen)?;
    let kept = Kept::Journal(&args.journal);
    let token = interrupt::listen(screen.voice.clone(), farewell(kept)).begin();
    let watch = args.show.watch(&screen);
    let mut going = agent.resuming(&mut journal).observer(&watch).cancel(token);
    if let Some(answer) = answer {
        going = going.answer(answer);
    }
    let doubt = &args.doubt;
    if let Some(settlement) = settlement(doubt.happened.as_ref(), doubt.did_not_happen, doubt.stop.as_ref()) {
        going = going.settle(settlement);
    }
    if let Some(token) = &args.answer.token {
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
