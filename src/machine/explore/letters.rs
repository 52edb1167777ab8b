//! The alphabet: every kind of event that a state can be fed, fitting or not.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::replies::replies;
use super::sample::{CANARY, sample};
use crate::contract::{FINAL_ANSWER, FinalStep, HITL, PlanStep, Trust};
use crate::machine::{
    AllowedCall, Effect, EffectId, EffectKind, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply,
    State, ToolOutcome, Usage, asked_calls, local, outstanding,
};
use crate::spec::CompiledSpec;

pub(super) struct Letter {
    pub name: Rc<str>,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
}

impl Letter {
    /// Whether it fits only if the budgets leave room for it.
    pub fn needs_room(&self) -> bool {
        &*self.name == SAME_PLAN
    }
}

/// What every reply costs, so that it can be seen to be counted.
const USAGE: Usage = Usage {
    input_tokens: 3,
    output_tokens: 2,
    cached_tokens: 1,
    cache_written_tokens: 0,
    estimated_tokens: 0,
};

/// Every kind of event that a state can be fed but for the [`strays`].
pub(super) fn letters(compiled: &CompiledSpec, state: &State) -> Vec<Letter> {
    let fits = !state.phase.name().is_terminal();
    let cancelled = Event::Cancelled { reason: "…".into() };
    let mut letters = vec![
        Letter { name: "cancelled".into(), event: cancelled, fits },
        Letter { name: "deadline passed".into(), event: Event::DeadlinePassed, fits },
    ];
    for effect in outstanding(compiled, state) {
        // A nested run is answered by its own rules.
        if let Some(here) = local(compiled, state, effect.id()) {
            add_answers(here.compiled, here.state, effect, &mut letters);
        }
    }
    letters
}

fn add_answers(compiled: &CompiledSpec, state: &State, asked: Effect, letters: &mut Vec<Letter>) {
    let effect = asked.id();
    let mut add = |name: &str, event, fits| letters.push(Letter { name: name.into(), event, fits });
    match asked {
        Effect::CallTool { step, .. } => {
            let tool = state.task.planned(step).and_then(|planned| compiled.tool(&planned.tool));
            let trusted = tool.is_some_and(|tool| tool.trust == Trust::Trusted);
            let mark = if trusted { "" } else { CANARY };
            let failed =
                ToolOutcome::Failed { kind: format!("timeout{mark}"), message: format!("…{mark}") };
            let data = tool.and_then(|tool| tool.output.as_ref()).map(|output| Box::new(sample(output)));
            let outcome = ToolOutcome::Returned { output: format!("found{mark}"), sources: Vec::new(), data };
            add("step returned", Event::ToolReturned { effect, outcome }, true);
            add("step failed", Event::ToolReturned { effect, outcome: failed }, true);
        }
        Effect::Wait { .. } => add("time passed", Event::TimePassed { effect }, true),
        Effect::AskHuman { .. } => {
            for (name, answer, fits) in human_answers(compiled, state, effect.kind) {
                add(name, Event::HumanAnswered { effect, answer }, fits);
            }
            add("nobody answered", Event::Expired { effect }, true);
        }
        Effect::AskModel { role, .. } => {
            let model = compiled.spec().prices.keys().next().cloned().unwrap_or_default();
            for (name, mut reply) in replies(compiled, state, role) {
                (reply.usage, reply.model) = (USAGE, model.clone());
                add(&format!("{role}: {name}"), Event::ModelReplied { effect, reply }, true);
            }
            for class in FailureClass::ALL {
                let text = if class == FailureClass::Length { "an answ".into() } else { String::new() };
                let (usage, model) = (USAGE, model.clone());
                let failure = ModelFailure { text, usage, model, ..ModelFailure::new(class, CANARY) };
                add(&format!("{role}: {class}"), Event::ModelFailed { effect, failure }, true);
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
    let (plan, required_calls) = (&compiled.policy().plan, &compiled.policy().required_calls);
    let edit = |tools: &[&str]| {
        let step = |tool: &&str| PlanStep { tool: (*tool).into(), ..PlanStep::default() };
        HumanAnswer::Edit { steps: tools.iter().map(step).collect() }
    };
    if let EffectKind::Pick { step, .. } = asked {
        let picks = state.task.choices(compiled, step).into_iter();
        let mut answers: Vec<_> =
            picks.map(|choice| ("picked", HumanAnswer::respond(choice.text), true)).collect();
        answers.push(("picked another", HumanAnswer::respond("none of these"), false));
        answers.push(("approved", HumanAnswer::Approve, false));
        answers.push(("rejected", HumanAnswer::reject("no"), true));
        return answers;
    }
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
            let inputs = [("edited the input", sample(schema)), ("edited the input away", Value::Null)];
            for (name, input) in inputs {
                let fits = tool.is_some_and(|tool| compiled.plan().check_value(&tool.name, &input).is_ok());
                answers.push((name, HumanAnswer::EditInput { input }, fits));
            }
            let calls = asked_calls(compiled, state);
            let last = calls.len() as u32;
            let tool = calls.last().and_then(|step| compiled.tool(&state.task.planned(*step)?.tool));
            let input = sample(tool.map_or(&Value::Null, |tool| &tool.input));
            let fits = tool.is_some_and(|tool| compiled.plan().check_value(&tool.name, &input).is_ok());
            let shown = AllowedCall::AsShown;
            answers.push(("allowed one more", allow([shown(last + 1)]), false));
            if last > 1 {
                answers.push(("allowed none", allow([]), false));
                answers.push(("allowed all", allow((1..=last).map(shown)), true));
                answers.push(("allowed the first", allow([shown(1)]), true));
                answers.push(("allowed the last", allow([shown(last)]), true));
                let edited = AllowedCall::Edited { position: last, input };
                answers.push(("edited the last", allow([shown(1), edited]), fits));
            }
        }
        _ => {
            answers.push(("edited the input", HumanAnswer::EditInput { input: "x".into() }, false));
            answers.push(("allowed a call", allow([AllowedCall::AsShown(1)]), false));
        }
    }
    if is_plan {
        let steps = state.task.drafted().map(|(_, planned, _)| planned.clone()).collect();
        if plan.final_step == FinalStep::Required && plan.min_steps <= 1 && required_calls.is_empty() {
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

fn allow(calls: impl IntoIterator<Item = AllowedCall>) -> HumanAnswer {
    HumanAnswer::ApproveCalls { calls: calls.into_iter().collect() }
}

/// Events that answer nothing outstanding: late, repeated, foreign, of the wrong kind.
pub(super) fn strays(compiled: &CompiledSpec, state: &State) -> Vec<Letter> {
    let (task, waiting) = (&state.task, outstanding(compiled, state));
    let name: Rc<str> = "a stray".into();
    let mut letters = Vec::new();
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
                EffectKind::Pick { draft, step, nth: 1 },
                EffectKind::Orchestrate { draft, nth: ask, ask: 1 },
                EffectKind::Scope { ask },
                EffectKind::PreviousContext { ask },
                EffectKind::Intent { ask },
                EffectKind::Grant { ask },
            ]);
            if compiled.plan().offers_holes() {
                let (hole, ask) = (step as u16, ask as u16);
                ids.insert(EffectKind::Fill { draft, step: 0, hole, ask });
            }
        }
    }
    for effect in ids.into_iter().map(EffectId::from) {
        let asked = waiting.iter().find(|asked| asked.id() == effect);
        let failure = ModelFailure::new(FailureClass::Refusal, "…");
        let strays = [
            Event::ModelReplied { effect, reply: ModelReply::text("{}") },
            Event::ToolReturned { effect, outcome: ToolOutcome::returned("late") },
            Event::ModelFailed { effect, failure },
            Event::HumanAnswered { effect, answer: HumanAnswer::respond("late") },
            Event::TimePassed { effect },
            Event::Expired { effect },
        ];
        // An answer to what was not asked is refused whatever its kind; two kinds will do.
        let kinds = if asked.is_some() { strays.len() } else { 2 };
        let strays = strays.into_iter().take(kinds);
        let strays =
            strays.filter(|event| !asked.is_some_and(|asked| event.answerer() == Some(asked.answerer())));
        letters.extend(strays.map(|event| Letter { name: Rc::clone(&name), event, fits: false }));
    }
    letters
}
