//! Resume: goes on with a journal from where it ends.

use std::sync::Arc;
use std::time::Instant;

use super::agent::Agent;
use super::drive::Drive;
use super::job::{CancelToken, conclude};
use super::observer::{Nobody, Observer, Signal};
use super::run::{Run, Stopped};
use crate::contract::ToolEffect;
use crate::journal::{Journal, fold};
use crate::machine::{Effect, EffectId, State, outstanding};
use crate::spec::Rules;

/// Goes on with a journal.
pub(super) fn resume(
    agent: &Agent,
    journal: &mut dyn Journal,
    observer: Option<&dyn Observer>,
    cancel: CancelToken,
) -> Result<Run, Stopped> {
    let folded = fold(journal.records()?)?;
    let agent = Agent { rules: Arc::new(folded.rules), world: Arc::clone(&agent.world) };
    let rules = &*agent.rules;
    let effects = outstanding(rules, &folded.state);
    for effect in &effects {
        if let Some(tool) = in_doubt(rules, &folded.state, effect, &folded.unanswered) {
            return Err(Stopped::InDoubt { effect: effect.id(), tool });
        }
    }
    if !folded.state.phase.name().is_terminal() {
        agent.complete()?;
    }
    let mut drive = Drive {
        agent: &agent,
        rules,
        run: folded.run,
        journal,
        index: folded.len,
        observer: observer.unwrap_or(&Nobody),
        cancel,
        began: Instant::now(),
        playback: None,
        may_ask: true,
    };
    drive.observer.notice(Signal::Entered(folded.state.phase.name()));
    let ended = drive.follow(folded.state, effects.into(), &folded.unanswered);
    conclude(ended, Vec::new())
}

/// The tool of an effect that was requested, never answered, and may not be done twice.
fn in_doubt(rules: &Rules, state: &State, effect: &Effect, unanswered: &[EffectId]) -> Option<String> {
    let Effect::CallTool { id, step } = effect else { return None };
    let (name, _) = crate::prompt::tool_call(state, *step)?;
    let contract = rules.tool(name)?;
    let once = contract.effect == ToolEffect::Write && !contract.is_idempotent();
    (once && unanswered.contains(id)).then(|| name.to_owned())
}
