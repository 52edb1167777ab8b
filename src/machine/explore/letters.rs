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
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub name: String,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
    /// Whether it fits only if the budgets leave room for it.
    pub needs_room: bool,
}

fn letter(name: impl Into<String>, event: Event, fits: bool) -> Letter {
    Letter { name: name.into(), event, fits, needs_room: false }
}

/// Every kind of event for a state.
pub(super) fn letters(rules: &CompiledSpec, state: &State) -> Vec<Letter> {
    let mut letters = Vec::new();
    let waiting = outstanding(rules, state);
    for effect in &waiting {
        add_answers(rules, state, *effect, &mut letters);
    }
    let live = !state.phase.name().is_terminal();
    letters.push(letter("cancelled", Event::Cancelled { reason: "…".into() }, live));
    letters.push(letter("deadline passed", Event::DeadlinePassed, live));
    add_strays(state, &waiting, &mut letters);
    letters
}

/// Every kind of answer to one effect.
fn add_answers(rules: &CompiledSpec, state: &State, asked: Effect, letters: &mut Vec<Letter>) {
    let effect = asked.id();
    match asked {
        Effect::CallTool { .. } => {
            let failed = ToolOutcome::Failed { kind: "timeout".into(), message: "…".into() };
            for (name, outcome) in
                [("step returned", ToolOutcome::returned("found")), ("step failed", failed)]
            {
                letters.push(letter(name, Event::ToolReturned { effect, outcome }, true));
            }
        }
        Effect::Wait { .. } => letters.push(letter("time passed", Event::TimePassed { effect }, true)),
        Effect::AskHuman { .. } => {
            let answers = match effect.kind {
                EffectKind::ApprovePlan { .. } => about_plan(rules, state),
                EffectKind::ApproveCall { step, .. } => about_call(rules, state, step),
                _ => about_step(rules),
            };
            for (name, answer, fits) in answers {
                let needs_room = name == SAME_PLAN;
                let event = Event::HumanAnswered { effect, answer };
                letters.push(Letter { needs_room, ..letter(name, event, fits) });
            }
            letters.push(letter("nobody answered", Event::Expired { effect }, true));
        }
        Effect::AskModel { role, .. } => {
            for (name, reply) in replies(rules, state, role) {
                letters.push(letter(format!("{role}: {name}"), Event::ModelReplied { effect, reply }, true));
            }
            for class in FailureClass::ALL {
                let event = Event::ModelFailed { effect, failure: ModelFailure::new(class, "…") };
                letters.push(letter(format!("{role}: {class}"), event, true));
            }
        }
    }
}

/// What a person may say, by name, and whether it fits.
type Answers = Vec<(&'static str, HumanAnswer, bool)>;

/// An edit of a plan to itself: it fits if the budgets leave room for the plan.
const SAME_PLAN: &str = "edited to the same";

fn edit(tools: &[&str]) -> HumanAnswer {
    let step = |tool: &&str| PlanStep { tool: (*tool).into(), ..PlanStep::default() };
    HumanAnswer::Edit { steps: tools.iter().map(step).collect() }
}

fn about_step(rules: &CompiledSpec) -> Answers {
    let mut answers = vec![
        ("approved", HumanAnswer::Approve, true),
        ("responded", HumanAnswer::respond("yes"), true),
        ("rejected", HumanAnswer::reject("no"), true),
        ("edited to something unknown", edit(&["no such tool"]), false),
        ("edited the input", HumanAnswer::EditInput { input: "x".into() }, false),
    ];
    if rules.policy().plan.final_step == FinalStep::None {
        answers.push(("edited to nothing", edit(&[]), true));
        // There may be no room for one more.
        answers.push(("edited to another question", edit(&[HITL; 99]), false));
    }
    answers
}

fn about_plan(rules: &CompiledSpec, state: &State) -> Answers {
    let progress = state.task.progress.iter();
    let planned = progress.flat_map(|progress| &progress.plan.steps).skip(state.task.first_step());
    let mut answers = vec![
        ("approved", HumanAnswer::Approve, true),
        (SAME_PLAN, HumanAnswer::Edit { steps: planned.cloned().collect() }, true),
        ("rejected", HumanAnswer::reject("no"), true),
        ("rejected without a word", HumanAnswer::reject(""), true),
        ("responded", HumanAnswer::respond("yes"), false),
        ("edited to nothing", edit(&[]), false),
        ("edited to something unknown", edit(&["no such tool"]), false),
        ("edited the input", HumanAnswer::EditInput { input: "x".into() }, false),
    ];
    let policy = rules.policy();
    let ends = policy.plan.final_step == FinalStep::Required && policy.plan.min_steps <= 1;
    if ends && policy.required_calls.is_empty() {
        answers.push(("edited to only the final step", edit(&[FINAL_ANSWER]), true));
    }
    answers
}

fn about_call(rules: &CompiledSpec, state: &State, at: u32) -> Answers {
    let mut answers = vec![
        ("approved", HumanAnswer::Approve, true),
        ("responded", HumanAnswer::respond("yes"), true),
        ("rejected", HumanAnswer::reject("no"), true),
        ("edited the rest", edit(&[]), false),
    ];
    if let Some(tool) = state.task.planned(at).and_then(|planned| rules.tool(&planned.tool)) {
        for (name, input) in
            [("edited the input", sample(&tool.input)), ("edited the input away", Value::Null)]
        {
            let fits = schema::check(&tool.input, &input).is_ok();
            answers.push((name, HumanAnswer::EditInput { input }, fits));
        }
    }
    answers
}

/// Events that answer nothing outstanding: late, repeated, foreign, of the wrong kind.
fn add_strays(state: &State, waiting: &[Effect], letters: &mut Vec<Letter>) {
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
        let events = [
            ("stray reply", Event::ModelReplied { effect, reply: ModelReply::text("{}") }),
            ("stray failure", Event::ModelFailed { effect, failure }),
            ("stray result", Event::ToolReturned { effect, outcome: ToolOutcome::returned("late") }),
            ("stray word", Event::HumanAnswered { effect, answer: HumanAnswer::respond("late") }),
            ("stray time", Event::TimePassed { effect }),
            ("stray expiry", Event::Expired { effect }),
        ];
        for (name, event) in events {
            let answers = asked.is_some_and(|asked| asked.is_answered_by(&event));
            // An answer to what was not asked is refused whatever its kind; two kinds will do.
            let telling =
                asked.is_some() || matches!(event, Event::ModelReplied { .. } | Event::ToolReturned { .. });
            if telling && !answers {
                letters.push(letter(name, event, false));
            }
        }
    }
}
