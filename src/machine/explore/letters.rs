//! The alphabet: every kind of event that a state can be fed, fitting or not.

use std::collections::BTreeSet;

use serde_json::Value;

use super::replies::{replies, sample};
use crate::contract::{FINAL_ANSWER, FinalStep, HITL, PlanStep, schema};
use crate::machine::{
    Effect, EffectId, EffectKind, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, State,
    ToolOutcome, outstanding,
};
use crate::spec::CompiledSpec;

/// One kind of event, by name.
pub(super) struct Letter {
    pub name: String,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
    /// Whether it fits only if the budgets leave room for it.
    pub needs_room: bool,
}

/// Every kind of event for a state.
pub(super) fn letters(compiled: &CompiledSpec, state: &State) -> Vec<Letter> {
    let waiting = outstanding(compiled, state);
    let live = !state.phase.name().is_terminal();
    let mut events = vec![
        ("cancelled".to_owned(), Event::Cancelled { reason: "…".into() }, live),
        ("deadline passed".to_owned(), Event::DeadlinePassed, live),
    ];
    for effect in &waiting {
        add_answers(compiled, state, *effect, &mut events);
    }
    add_strays(state, &waiting, &mut events);
    let letter = |(name, event, fits): (String, _, _)| {
        let needs_room = name == SAME_PLAN;
        Letter { name, event, fits, needs_room }
    };
    events.into_iter().map(letter).collect()
}

/// Events by name, and whether they fit.
type Events = Vec<(String, Event, bool)>;

/// Every kind of answer to one effect.
fn add_answers(compiled: &CompiledSpec, state: &State, asked: Effect, events: &mut Events) {
    let effect = asked.id();
    let mut add = |name: String, event, fits| events.push((name, event, fits));
    match asked {
        Effect::CallTool { .. } => {
            let failed = ToolOutcome::Failed { kind: "timeout".into(), message: "…".into() };
            let outcome = ToolOutcome::returned("found");
            add("step returned".into(), Event::ToolReturned { effect, outcome }, true);
            add("step failed".into(), Event::ToolReturned { effect, outcome: failed }, true);
        }
        Effect::Wait { .. } => add("time passed".into(), Event::TimePassed { effect }, true),
        Effect::AskHuman { .. } => {
            for (name, answer, fits) in human_answers(compiled, state, effect.kind) {
                add(name.into(), Event::HumanAnswered { effect, answer }, fits);
            }
            add("nobody answered".into(), Event::Expired { effect }, true);
        }
        Effect::AskModel { role, .. } => {
            for (name, reply) in replies(compiled, state, role) {
                add(format!("{role}: {name}"), Event::ModelReplied { effect, reply }, true);
            }
            for class in FailureClass::ALL {
                let failure = ModelFailure::new(class, "…");
                add(format!("{role}: {class}"), Event::ModelFailed { effect, failure }, true);
            }
        }
    }
}

/// An edit of a plan to itself: it fits if the budgets leave room for the plan.
const SAME_PLAN: &str = "edited to the same";

/// What a person may say, by name, and whether it fits.
fn human_answers(
    compiled: &CompiledSpec,
    state: &State,
    asked: EffectKind,
) -> Vec<(&'static str, HumanAnswer, bool)> {
    let plan = &compiled.policy().plan;
    let edit = |tools: &[&str]| {
        let step = |tool: &&str| PlanStep { tool: (*tool).into(), ..PlanStep::default() };
        HumanAnswer::Edit { steps: tools.iter().map(step).collect() }
    };
    let is_plan = matches!(asked, EffectKind::ApprovePlan { .. });
    let mut answers = vec![
        ("approved", HumanAnswer::Approve, true),
        ("rejected", HumanAnswer::reject("no"), true),
        ("rejected without a word", HumanAnswer::reject(""), true),
        ("responded", HumanAnswer::respond("yes"), !is_plan),
        ("edited to something unknown", edit(&["no such tool"]), false),
    ];
    match asked {
        EffectKind::ApproveCall { step, .. } => {
            let tool = state.task.planned(step).and_then(|planned| compiled.tool(&planned.tool));
            let schema = tool.map_or(&Value::Null, |tool| &tool.input);
            for (name, input) in
                [("edited the input", sample(schema)), ("edited the input away", Value::Null)]
            {
                let fits = tool.is_some() && schema::check(schema, &input).is_ok();
                answers.push((name, HumanAnswer::EditInput { input }, fits));
            }
        }
        _ => answers.push(("edited the input", HumanAnswer::EditInput { input: "x".into() }, false)),
    }
    if is_plan {
        let steps = state.task.drafted().map(|(_, planned, _)| planned.clone()).collect();
        let ends = plan.final_step == FinalStep::Required && plan.min_steps <= 1;
        if ends && compiled.policy().required_calls.is_empty() {
            answers.push(("edited to only the final step", edit(&[FINAL_ANSWER]), true));
        }
        answers.push((SAME_PLAN, HumanAnswer::Edit { steps }, true));
        answers.push(("edited to nothing", edit(&[]), false));
    } else if matches!(asked, EffectKind::Human { .. }) && plan.final_step == FinalStep::None {
        answers.push(("edited to nothing", edit(&[]), true));
        // There may be no room for one more.
        answers.push(("edited to another question", edit(&[HITL; 99]), false));
    }
    answers
}

/// Events that answer nothing outstanding: late, repeated, foreign, of the wrong kind.
fn add_strays(state: &State, waiting: &[Effect], events: &mut Events) {
    let task = &state.task;
    let mut ids = BTreeSet::new();
    for draft in [0, 1, task.draft, task.draft + 1] {
        for ask in [0, 1, 2, u32::MAX] {
            let step = ask.wrapping_sub(1);
            ids.extend([
                EffectKind::Plan { draft, ask },
                EffectKind::Validate { draft, ask },
                EffectKind::Write { draft, ask },
                EffectKind::Step { draft, step, attempt: 1 },
                EffectKind::Step { draft, step: 0, attempt: ask },
                EffectKind::Wait { draft, step: 0, attempt: ask },
                EffectKind::Human { draft, step },
                EffectKind::ApproveCall { draft, step },
                EffectKind::ApprovePlan { draft },
                EffectKind::Orchestrate { draft, nth: ask, ask: 1 },
                EffectKind::Scope { ask },
                EffectKind::PreviousContext { ask },
                EffectKind::Intent { ask },
            ]);
        }
    }
    for effect in ids.into_iter().map(EffectId::from) {
        let asked = waiting.iter().find(|asked| asked.id() == effect);
        let failure = ModelFailure::new(FailureClass::Refusal, "…");
        let strays = [
            ("stray reply", Event::ModelReplied { effect, reply: ModelReply::text("{}") }),
            ("stray result", Event::ToolReturned { effect, outcome: ToolOutcome::returned("late") }),
            ("stray failure", Event::ModelFailed { effect, failure }),
            ("stray word", Event::HumanAnswered { effect, answer: HumanAnswer::respond("late") }),
            ("stray time", Event::TimePassed { effect }),
            ("stray expiry", Event::Expired { effect }),
        ];
        // An answer to what was not asked is refused whatever its kind; two kinds will do.
        let kinds = if asked.is_some() { 6 } else { 2 };
        for (name, event) in strays.into_iter().take(kinds) {
            if !asked.is_some_and(|asked| event.is_answer_to(asked)) {
                events.push((name.into(), event, false));
            }
        }
    }
}
