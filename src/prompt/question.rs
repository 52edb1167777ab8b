//! What a person is asked: a step's own question, a plan to approve, a call to allow. In the language
//! of the user's question as far as that is Korean or English.

use std::fmt::Write;

use serde_json::Value;

use super::call::tool_call;
use crate::contract::{PlanStep, canonical, sanitize};
use crate::machine::{Effect, EffectKind, State, local};
use crate::spec::CompiledSpec;

/// How much of a step's input is shown of a plan, in characters.
const STEP_CHARS: usize = 200;
/// How many steps of a plan are shown.
const STEPS: usize = 100;
/// How much of an input is shown of a call, in characters: all that the limits let through unless set
/// otherwise.
const INPUT_CHARS: usize = 16_384;

/// What a person is asked by an effect, in the run that it belongs to. Pure. What would act on their screen
/// instead of standing on it is shown by its number: whoever allows a call must see which.
///
/// Returns `None` where the effect asks nobody, or the run does not wait for it.
pub fn question(rules: &CompiledSpec, state: &State, effect: Effect) -> Option<String> {
    Some(sanitize(&words(rules, state, effect)?).into_owned())
}

fn words(rules: &CompiledSpec, state: &State, effect: Effect) -> Option<String> {
    let Effect::AskHuman { id, .. } = effect else { return None };
    let here = local(rules, state, id)?;
    match here.id.kind {
        EffectKind::ApprovePlan { .. } => plan(here.state),
        EffectKind::ApproveCall { step, .. } => call(here.state, step),
        EffectKind::Human { step, .. } => {
            let progress = here.state.task.progress.as_ref()?;
            Some(progress.plan.steps.get(step as usize)?.question().to_owned())
        }
        _ => None,
    }
}

/// Exactly what a person is asked about, whole: the steps of a plan, a tool with its input, a question.
/// An answer is bound to it.
///
/// Returns `None` as [`question`] does.
pub fn subject(rules: &CompiledSpec, state: &State, effect: Effect) -> Option<String> {
    let Effect::AskHuman { id, .. } = effect else { return None };
    let here = local(rules, state, id)?;
    match here.id.kind {
        EffectKind::ApprovePlan { .. } => {
            let task = &here.state.task;
            let steps = task.progress.as_ref()?.plan.steps.get(task.first_step()..)?;
            serde_json::to_string(steps).ok()
        }
        EffectKind::ApproveCall { step, .. } => {
            let (tool, input) = tool_call(here.state, step)?;
            Some(format!("{tool} {}", canonical(&input)))
        }
        _ => words(rules, state, effect),
    }
}

/// The plan, a step a line.
fn plan(state: &State) -> Option<String> {
    let task = &state.task;
    let progress = task.progress.as_ref()?;
    let korean = task.input.is_korean();
    let mut text = String::from(match korean {
        true => "이 계획을 승인해주세요:",
        false => "Please approve this plan:",
    });
    let steps: Vec<(usize, &PlanStep)> =
        progress.plan.steps.iter().enumerate().skip(task.first_step()).collect();
    for (at, step) in steps.iter().take(STEPS) {
        let _ = write!(text, "\n{}. {}", at + 1, one_line(&step.tool));
        // Others refer to a step by its name, so it is shown where it is not its number.
        if step.id.as_ref().is_some_and(|id| *id != format!("step_{}", at + 1)) {
            let _ = write!(text, " ({})", one_line(&step.name(*at)));
        }
        let what = what(step);
        if !what.is_empty() {
            let _ = write!(text, ": {what}");
        }
    }
    let more = steps.len().saturating_sub(STEPS);
    if more > 0 {
        let _ = match korean {
            true => write!(text, "\n… 외 {more}단계"),
            false => write!(text, "\n… and {more} more steps"),
        };
    }
    Some(text)
}

/// What a step is to do, in a line.
fn what(step: &PlanStep) -> String {
    let from = step.input_from.as_ref().map(|from| format!("← {from}"));
    let said = match &step.input {
        _ if step.is_hitl() => Some(step.question().to_owned()),
        Some(input) if step.task.is_none() => Some(shown(input)),
        _ => Some(step.instruction().to_owned()).filter(|told| !told.is_empty()),
    };
    one_line(&said.into_iter().chain(from).collect::<Vec<_>>().join(" "))
}

/// The call, with the very input that is sent.
fn call(state: &State, step: u32) -> Option<String> {
    let (tool, input) = tool_call(state, step)?;
    let input = cut(&shown(&input), INPUT_CHARS);
    Some(match state.task.input.is_korean() {
        true => format!("이 호출을 승인해주세요: {tool}\n입력: {input}"),
        false => format!("Please approve this call: {tool}\ninput: {input}"),
    })
}

/// A text as it is, any other value as canonical JSON.
fn shown(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        other => canonical(other),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(char::is_whitespace).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    cut(&words.join(" "), STEP_CHARS)
}

/// The beginning of a text; where something is left out, it says how long the whole is.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}… ({})", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}
