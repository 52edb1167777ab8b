//! Going on with a run that was begun before: under its own rules, with the model it began with.

use std::sync::Arc;

use super::args::{RulesArgs, WorldArgs};
use super::config::Settings;
use super::failure::{Failure, Outcome};
use super::screen::Screen;
use super::{agent, contract, world};
use planwright::driver::{Agent, Changed};
use planwright::journal::{Folded, in_doubt};
use planwright::ports::Human;
use planwright::spec::Spec;

/// Who goes on with a run.
pub struct GoingOn {
    pub agent: Agent,
    /// How the model is called on the screen.
    pub model: String,
    pub currency: Option<String>,
    pub changed: Changed,
}

/// Who goes on with this run. One that has ended needs nobody.
pub fn prepare(
    folded: &Folded,
    args: &WorldArgs,
    rules: Option<&RulesArgs>,
    human: Option<Arc<dyn Human>>,
    screen: &Screen,
) -> Outcome<GoingOn> {
    let own = folded.rules.spec().clone();
    if folded.state.phase.name().is_terminal() {
        screen.note("the run has ended; nothing is asked again");
        let (model, changed) = ("journal".to_owned(), Changed::Keep);
        return Ok(GoingOn { agent: agent::replaying(own)?, model, currency: None, changed });
    }
    let settings = Settings::read(args)?;
    let chosen = args.chooses_model();
    let (spec, changed) = chosen_rules(own, rules, &settings)?;
    let (agent, model) = agent_for(spec, folded, &settings, chosen, human)?;
    screen.note(&format!("{model} answers, agent {}", agent.rules().spec().name));
    Ok(GoingOn { agent, model, currency: settings.currency.clone(), changed })
}

fn chosen_rules(own: Spec, rules: Option<&RulesArgs>, settings: &Settings) -> Outcome<(Spec, Changed)> {
    let Some((name, rules)) = rules.and_then(|rules| Some((rules.spec.as_deref()?, rules))) else {
        return Ok((own, Changed::Keep));
    };
    let spec = agent::choose_tools(agent::spec(name)?, None, settings)?;
    Ok(match (rules.keep, rules.adopt) {
        (true, _) => (own, Changed::Keep),
        (_, true) => (spec, Changed::Adopt),
        (false, false) => (spec, Changed::Refuse),
    })
}

/// An agent of this spec that goes on with a run, and how its model is called. `chosen` says whether
/// somebody has chosen the model now; else it must be the one that the run began with.
pub fn agent_for(
    spec: Spec,
    folded: &Folded,
    settings: &Settings,
    chosen: bool,
    human: Option<Arc<dyn Human>>,
) -> Outcome<(Agent, String)> {
    let (model, name) = world::model(settings)?;
    let began = &folded.model;
    if !began.is_empty() && *began != model.name() && !chosen && in_doubt(folded).is_none() {
        let problem =
            format!("the run began with the model {began:?}, and now {:?} would answer", model.name());
        let hint = "give the same --base-url and --model as before, or choose with --model or --offline";
        return Err(Failure::unusable(problem).hint(hint));
    }
    let agent = world::agent(spec, settings, model, human)?;
    if folded.state.task.input.outline != contract::outline(&agent, settings)? {
        let problem = "the run began with another contract than the one at hand";
        return Err(Failure::unusable(problem).hint("name the same --contract as before"));
    }
    Ok((agent, name))
}
