//! `resume`: goes on with an interrupted run from its journal.

use super::args::ResumeArgs;
use super::config::Settings;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::report::{self, Asked};
use super::run::farewell;
use super::screen::Screen;
use super::style::Color;
use super::{agent, interrupt, world};
use crate::driver::{CancelToken, in_doubt};
use crate::journal::{FileJournal, Journal, fold};

pub fn resume(args: &ResumeArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.show.quiet, color);
    let mut journal = FileJournal::open(&args.journal).map_err(Failure::unusable)?;
    let records = journal.records().map_err(Failure::unusable)?;
    let folded =
        fold(records).map_err(|error| Failure::unusable(format!("{}: {error}", args.journal.display())))?;
    let spec = folded.rules.spec().clone();
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
        (world::agent(spec, &settings, model)?, name)
    };
    let cancel = CancelToken::new();
    interrupt::listen(Some(cancel.clone()), screen.voice.clone(), farewell(Some(&args.journal)));
    let result = agent.resume_with(&mut journal, Some(&screen), cancel);
    let asked = Asked {
        question: &folded.state.task.input.question,
        agent: &agent.rules().spec().name,
        model: &model,
        show: &args.show,
        journal: Some(&args.journal),
        record: None,
    };
    report::conclude(&asked, &screen, result)
}
