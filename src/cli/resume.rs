//! `resume`: goes on with an interrupted run from its journal, or answers the question that it waits
//! with.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::args::ResumeArgs;
use super::config::Settings;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::report::{self, Asked};
use super::run::{at_terminal, farewell};
use super::screen::Screen;
use super::style::Color;
use super::{agent, contract, interrupt, world};
use crate::contract::PlanStep;
use crate::journal::{FileJournal, Journal, fold, in_doubt};
use crate::machine::HumanAnswer;

pub fn resume(args: &ResumeArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.show.quiet, color);
    let answer = answer(args)?;
    let mut journal = FileJournal::open(&args.journal).map_err(Failure::unusable)?;
    let records = journal.records().map_err(Failure::unusable)?;
    let folded =
        fold(records).map_err(|error| Failure::unusable(format!("{}: {error}", args.journal.display())))?;
    let spec = folded.rules.spec().clone();
    let mut currency = None;
    let (agent, model) = if folded.state.phase.name().is_terminal() {
        screen.note("the run has ended; nothing is asked again");
        (agent::replaying(spec)?, "journal".to_owned())
    } else {
        let settings = Settings::read(&args.world)?;
        let (model, name) = world::model(&settings)?;
        let chosen = args.world.offline || args.world.model.is_some() || args.world.base_url.is_some();
        if !folded.model.is_empty() && folded.model != model.name() && !chosen && in_doubt(&folded).is_none()
        {
            let problem = format!(
                "the run began with the model {:?}, and now {:?} would answer",
                folded.model,
                model.name()
            );
            let hint = "give the same --base-url and --model as before, or choose with --model or --offline";
            return Err(Failure::unusable(problem).hint(hint));
        }
        screen.note(&format!("{name} answers, agent {}", spec.name));
        currency.clone_from(&settings.currency);
        let agent = world::agent(spec, &settings, model, at_terminal(color))?;
        let began_with = &folded.state.task.input.outline;
        if *began_with != contract::outline(&agent, &settings)? {
            let problem = "the run began with another contract than the one at hand";
            return Err(Failure::unusable(problem).hint("name the same --contract as before"));
        }
        (agent, name)
    };
    let token = interrupt::listen(screen.voice.clone(), farewell(Some(&args.journal))).begin();
    let watch = args.show.watch(&screen);
    let mut going = agent.resuming(&mut journal).observer(&watch).cancel(token);
    if let Some(answer) = answer {
        going = going.answer(answer);
    }
    if let Some(token) = &args.token {
        going = going.token(token);
    }
    let result = going.run();
    let asked = Asked {
        question: &folded.state.task.input.question,
        agent: &agent.rules().spec().name,
        model: &model,
        show: &args.show,
        journal: Some(&args.journal),
        record: None,
        prices: &folded.rules.spec().prices,
        currency: currency.as_deref(),
    };
    report::conclude(&asked, &watch, result)
}

/// Longest file of steps, or of an input, that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The answer that this call gives, where it gives one.
fn answer(args: &ResumeArgs) -> Outcome<Option<HumanAnswer>> {
    if let Some(text) = &args.respond {
        return Ok(Some(HumanAnswer::respond(text)));
    }
    if let Some(reason) = &args.reject {
        return Ok(Some(HumanAnswer::reject(reason)));
    }
    if args.approve {
        return Ok(Some(HumanAnswer::Approve));
    }
    if let Some(path) = &args.edit_input {
        let input = written("--edit-input", path, "a JSON value", "such as \"a text\"")?;
        return Ok(Some(HumanAnswer::EditInput { input }));
    }
    let Some(path) = &args.edit else { return Ok(None) };
    let hint = "such as [{\"tool\": \"calc\", \"input\": \"1+1\"}]";
    let steps: Vec<PlanStep> = written("--edit", path, "a JSON list of plan steps", hint)?;
    Ok(Some(HumanAnswer::Edit { steps }))
}

/// What a person wrote into a file in the place of what was planned.
fn written<T: DeserializeOwned>(flag: &str, path: &Path, expected: &str, hint: &str) -> Outcome<T> {
    let place = path.display();
    let unreadable = |error| Failure::caused(format!("{flag}: {place}: cannot be read"), error);
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST {
        return Err(Failure::unusable(format!(
            "{flag}: {place}: expected at most {MOST} bytes, found {length}"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::unusable(format!("{flag}: {place}: expected {expected}: {error}")).hint(hint)
    })
}
