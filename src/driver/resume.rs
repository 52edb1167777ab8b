//! Resume: goes on with a journal from where it ends.

use std::sync::Arc;
use std::time::Instant;

use super::agent::Agent;
use super::drive::Drive;
use super::job::{CancelToken, conclude};
use super::observer::{Nobody, Observer, Signal};
use super::run::{Run, Stopped};
use crate::contract::ToolEffect;
use crate::journal::{Folded, Journal, fold};
use crate::machine::{Effect, EffectId, awaited, outstanding};

/// Goes on with a journal.
pub(super) fn resume(
    agent: &Agent,
    journal: &mut dyn Journal,
    observer: Option<&dyn Observer>,
    cancel: CancelToken,
) -> Result<Run, Stopped> {
    let folded = fold(journal.records()?)?;
    if let Some((effect, tool)) = in_doubt(&folded) {
        return Err(Stopped::InDoubt { effect, tool });
    }
    let agent = Agent { rules: Arc::new(folded.rules), world: Arc::clone(&agent.world) };
    let rules = &*agent.rules;
    let effects = outstanding(rules, &folded.state);
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

/// The effect, and its tool, that was requested, never answered, and may not be done twice.
pub fn in_doubt(folded: &Folded) -> Option<(EffectId, String)> {
    folded.unanswered.iter().find_map(|&id| {
        let Effect::CallTool { step, .. } = awaited(&folded.rules, &folded.state, id)? else { return None };
        let (name, _) = crate::prompt::tool_call(&folded.state, step)?;
        let contract = folded.rules.tool(name)?;
        let once = contract.effect == ToolEffect::Write && !contract.is_idempotent();
        once.then(|| (id, name.to_owned()))
    })
}
