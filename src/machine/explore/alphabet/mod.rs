//! The alphabet: every kind of event a state can be fed, fitting or not.

mod letter;
mod people;
mod plans;
mod replies;

use std::collections::BTreeSet;

pub(super) use letter::Letter;
use letter::letter;

use crate::machine::{
    Effect, EffectId, EffectKind, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, State,
    ToolOutcome, outstanding,
};
use crate::spec::CompiledSpec;

/// Every kind of event for a state.
pub(super) fn letters(rules: &CompiledSpec, state: &State) -> Vec<Letter> {
    let mut letters = Vec::new();
    let waiting = outstanding(rules, state);
    for effect in &waiting {
        answers(rules, state, *effect, &mut letters);
    }
    let live = !state.phase.name().is_terminal();
    letters.push(letter("cancelled", Event::Cancelled { reason: "…".into() }, live));
    letters.push(letter("deadline passed", Event::DeadlinePassed, live));
    strays(state, &waiting, &mut letters);
    letters
}

/// Every kind of answer to one effect.
fn answers(rules: &CompiledSpec, state: &State, effect: Effect, letters: &mut Vec<Letter>) {
    let id = effect.id();
    match effect {
        Effect::CallTool { .. } => {
            let outcomes = [
                ("step returned", ToolOutcome::returned("found")),
                ("step failed", ToolOutcome::Failed { kind: "timeout".into(), message: "…".into() }),
            ];
            for (name, outcome) in outcomes {
                letters.push(letter(name, Event::ToolReturned { effect: id, outcome }, true));
            }
        }
        Effect::Wait { .. } => letters.push(letter("time passed", Event::TimePassed { effect: id }, true)),
        Effect::AskHuman { .. } => people::answers(rules, state, id, letters),
        Effect::AskModel { role, .. } => {
            for (name, reply) in replies::of(rules, state, role) {
                let name = format!("{role}: {name}");
                letters.push(letter(name, Event::ModelReplied { effect: id, reply }, true));
            }
            for class in FailureClass::ALL {
                let failure = ModelFailure::new(class, "…");
                let event = Event::ModelFailed { effect: id, failure };
                letters.push(letter(format!("{role}: {class}"), event, true));
            }
        }
    }
}

/// Events that answer nothing outstanding: late, repeated, foreign, of the wrong kind.
fn strays(state: &State, waiting: &[Effect], letters: &mut Vec<Letter>) {
    let task = &state.task;
    let mut ids = BTreeSet::new();
    for draft in [0, 1, task.draft, task.draft + 1] {
        for ask in [0, 1, 2, u32::MAX] {
            ids.extend([
                EffectKind::Plan { draft, ask },
                EffectKind::Validate { draft, ask },
                EffectKind::Write { draft, ask },
                EffectKind::Step { draft, step: ask.wrapping_sub(1), attempt: 1 },
                EffectKind::Step { draft, step: 0, attempt: ask },
                EffectKind::Wait { draft, step: 0, attempt: ask },
                EffectKind::Human { draft, step: ask.wrapping_sub(1) },
                EffectKind::ApproveCall { draft, step: ask.wrapping_sub(1) },
                EffectKind::ApprovePlan { draft },
                EffectKind::Orchestrate { draft, nth: ask, ask: 1 },
                EffectKind::Scope { ask },
                EffectKind::PreviousContext { ask },
                EffectKind::Intent { ask },
            ]);
        }
    }
    for id in ids.into_iter().map(EffectId::from) {
        let asked = waiting.iter().find(|effect| effect.id() == id);
        for (name, event) in of_every_kind(id) {
            let answers = asked.is_some_and(|effect| effect.is_answered_by(&event));
            // What was not asked for is refused before anybody looks at the kind of the answer.
            let telling =
                asked.is_some() || matches!(event, Event::ModelReplied { .. } | Event::ToolReturned { .. });
            if telling && !answers {
                letters.push(letter(name, event, false));
            }
        }
    }
}

fn of_every_kind(effect: EffectId) -> [(&'static str, Event); 6] {
    let failure = ModelFailure::new(FailureClass::Refusal, "…");
    [
        ("stray reply", Event::ModelReplied { effect, reply: ModelReply::text("{}") }),
        ("stray failure", Event::ModelFailed { effect, failure }),
        ("stray result", Event::ToolReturned { effect, outcome: ToolOutcome::returned("late") }),
        ("stray word", Event::HumanAnswered { effect, answer: HumanAnswer::respond("late") }),
        ("stray time", Event::TimePassed { effect }),
        ("stray expiry", Event::Expired { effect }),
    ]
}
