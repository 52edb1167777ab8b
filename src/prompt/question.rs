//! What a person is asked: a step's own question, a plan to approve, a call to allow. In Korean if the
//! user's question is, else in English.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::contract::{Label, LabelledPart, PlanStep, canonical, first_chars, sanitize};
use crate::machine::{Effect, EffectId, EffectKind, State, asked_calls, asked_instead, local};
use crate::spec::{CompiledSpec, Containment};

/// How much of a step is shown in a plan, in characters.
const STEP_CHARS: usize = 200;
/// How many steps of a plan are shown.
const STEPS: usize = 100;
/// How much of a call's input is shown, in characters. The default limits let no more through.
const INPUT_CHARS: usize = 16_384;

/// The tool of a step and its input: the plan's own, or an earlier step's output. `None` if the run has no
/// such step, or that output is not there yet.
pub(super) fn tool_call(state: &State, step: u32) -> Option<(&str, Cow<'_, Value>)> {
    let progress = state.task.progress.as_ref()?;
    Some((&progress.plan.steps.get(step as usize)?.tool, progress.input(step)?))
}

/// The question of an effect of this run. What would act on a screen instead of standing on it is shown
/// by its number: a person who allows a call must see which.
pub(super) fn question(compiled: &CompiledSpec, state: &State, id: EffectId) -> Option<String> {
    let text = match id.kind {
        EffectKind::ApprovePlan { .. } => plan_question(compiled, state)?,
        EffectKind::ApproveCall { .. } => calls_question(compiled, state)?,
        EffectKind::Pick { step, .. } => pick_question(compiled, state, step)?,
        _ => step_question(state, id)?.to_owned(),
    };
    let writes = if matches!(id.kind, EffectKind::Human { .. }) { String::new() } else { list_writes(state) };
    Some(tell_spaces(&sanitize(&(text + &writes))))
}

/// Writes spaces that look like another as their numbers. The wide one belongs to Chinese, Japanese and Korean text.
fn tell_spaces(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_whitespace() && !c.is_ascii() && c != '\u{3000}' {
            true => told.extend(c.escape_unicode()),
            false => told.push(c),
        }
    }
    told
}

/// The writes that the run has made, so that nobody allows one in the belief that nothing has happened yet.
fn list_writes(state: &State) -> String {
    let written = &state.task.written;
    let lines = written.keys().take(STEPS).map(|call| format!("\n- {}", one_line(call)));
    match (written.is_empty(), state.task.input.is_korean()) {
        (true, _) => String::new(),
        (_, true) => lines
            .fold("\n이미 실행되어 다시 실행되지 않는 호출:".to_owned(), |text, line| {
                text + &line
            }),
        _ => lines.fold("\nAlready made, and not made again:".to_owned(), |text, line| text + &line),
    }
}

/// Exactly what a person is asked about: the steps of a plan, a tool with its whole input, a question. An
/// answer is bound to it.
pub(crate) fn subject(compiled: &CompiledSpec, state: &State, effect: Effect) -> Option<String> {
    let Effect::AskHuman { id, .. } = effect else { return None };
    let here = local(compiled, state, id)?;
    match here.id.kind {
        EffectKind::ApprovePlan { .. } => {
            let task = &here.state.task;
            let steps = task.progress.as_ref()?.plan.steps.get(task.first_step()..)?;
            serde_json::to_string(steps).ok()
        }
        EffectKind::ApproveCall { .. } => match &*calls_of(here.compiled, here.state) {
            [(tool, input)] => Some(format!("{tool} {}", canonical(input))),
            calls => Some(canonical(&json!(calls))),
        },
        EffectKind::Pick { step, .. } => {
            let (planned, choices) = (here.state.task.planned(step)?, choices(compiled, state, id));
            Some(format!("{} {}", planned.tool, canonical(&json!([planned.input, choices]))))
        }
        _ => step_question(here.state, here.id).map(str::to_owned),
    }
}

/// The values of which a person is to pick one, as they are shown; none where they are asked something else. The
/// answer is one of them, word for word.
pub fn choices(compiled: &CompiledSpec, state: &State, effect: EffectId) -> Vec<String> {
    let Some(here) = local(compiled, state, effect) else { return Vec::new() };
    let EffectKind::Pick { step, .. } = here.id.kind else { return Vec::new() };
    here.state.task.choices(here.compiled, step).into_iter().map(|choice| choice.text).collect()
}

/// The calls that a person is asked to approve together, in the order of the question: each tool with its input. None
/// where they are asked something else.
pub fn calls(compiled: &CompiledSpec, state: &State, effect: EffectId) -> Vec<(String, Value)> {
    local(compiled, state, effect).map(|here| calls_of(here.compiled, here.state)).unwrap_or_default()
}

fn calls_of(compiled: &CompiledSpec, state: &State) -> Vec<(String, Value)> {
    let steps = asked_calls(compiled, state).into_iter();
    let calls = steps.filter_map(|step| tool_call(state, step));
    calls.map(|(tool, input)| (tool.to_owned(), input.into_owned())).collect()
}

fn step_question(state: &State, id: EffectId) -> Option<&str> {
    let EffectKind::Human { step, .. } = id.kind else { return None };
    Some(state.task.planned(step)?.question())
}

fn plan_question(compiled: &CompiledSpec, state: &State) -> Option<String> {
    let (task, korean) = (&state.task, state.task.input.is_korean());
    let is_contained = compiled.policy().containment != Containment::Off;
    let is_later = is_contained && task.drafts.last().is_some_and(|draft| draft.tainted);
    let mut text = match (korean, is_later) {
        (true, true) => "이 계획은 신뢰할 수 없는 글을 읽은 뒤 세워졌습니다. 승인해주세요:",
        (true, false) => "이 계획을 승인해주세요:",
        (false, true) => "This plan was made after untrusted text was read. Please approve it:",
        (false, false) => "Please approve this plan:",
    }
    .to_owned();
    let steps = &task.progress.as_ref()?.plan.steps;
    for (at, step) in steps.iter().enumerate().skip(task.first_step()).take(STEPS) {
        text += &format!("\n{}", step_line(at, step));
    }
    Some(match steps.len().saturating_sub(task.first_step() + STEPS) {
        0 => text,
        more if korean => format!("{text}\n… 외 {more}단계"),
        more => format!("{text}\n… and {more} more steps"),
    })
}

fn step_line(at: usize, step: &PlanStep) -> String {
    let mut line = format!("{}. {}", at + 1, one_line(&step.tool));
    // Other steps refer to it by its name, so a name that is not the number is shown.
    if step.id.as_ref().is_some_and(|id| *id != format!("step_{}", at + 1)) {
        line += &format!(" ({})", one_line(&step.name(at)));
    }
    let task = match &step.input {
        _ if step.is_hitl() => step.question().into(),
        Some(input) if step.task.is_none() => input_text(input),
        _ => step.instruction().into(),
    };
    let from = step.input_from.as_ref().map(|from| format!(" ← {from}")).unwrap_or_default();
    let detail = one_line(&format!("{task}{from}"));
    if detail.is_empty() { line } else { line + ": " + &detail }
}

/// The calls, each with the very input that is sent, and where each part of it comes from.
fn calls_question(compiled: &CompiledSpec, state: &State) -> Option<String> {
    let (steps, korean) = (asked_calls(compiled, state), state.task.input.is_korean());
    let (one, several) = match korean {
        true => ("이 호출을 승인해주세요:", "이 호출들을 승인해주세요:"),
        false => ("Please approve this call:", "Please approve these calls:"),
    };
    if let [step] = steps[..] {
        return Some(format!("{one} {}", call_text(compiled, state, step)?));
    }
    let calls = steps
        .iter()
        .zip(1..)
        .map(|(step, position)| Some(format!("\n{position}. {}", call_text(compiled, state, *step)?)));
    Some(several.to_owned() + &calls.collect::<Option<String>>()?)
}

fn call_text(compiled: &CompiledSpec, state: &State, step: u32) -> Option<String> {
    let (tool, input) = tool_call(state, step)?;
    let korean = state.task.input.is_korean();
    let mut text = format!("{tool}\n{}: ", if korean { "입력" } else { "input" });
    text += &shorten(&input_text(&input), INPUT_CHARS);
    if let Some(denial) = asked_instead(compiled, &state.task, step) {
        text += "\n- ";
        text += &match korean {
            true => {
                format!("신뢰할 수 없는 글을 읽기 전에 확정된 계획이 허용하지 않은 호출 ({})", denial.code())
            }
            false => {
                let why = denial.message().trim_start_matches("not called: ");
                format!(
                    "allowed by no plan that was frozen before untrusted text was read: {why} ({})",
                    denial.code()
                )
            }
        };
    }
    let parts = state.task.told_parts(compiled, step);
    for part in LabelledPart::of_whole(&input, parts) {
        let place = if part.place.is_empty() { "*" } else { &part.place };
        let chosen = who_chose(part.label, korean);
        if let Some((draft, from)) = part.planned_after() {
            let from = if from.is_empty() { String::new() } else { format!(": {from}") };
            let planned = match korean {
                true => format!("{place}: 신뢰할 수 없는 글을 읽은 뒤 계획됨 (계획 {draft}){from}"),
                false => format!("{place}: planned after untrusted text was read (plan {draft}){from}"),
            };
            text += &format!("\n- {}", one_line(&planned));
            continue;
        }
        let line = one_line(&match (part.written_after(), korean) {
            (Some(read), false) => format!("{place}: written by a model after reading {read}"),
            (Some(read), true) => format!("{place}: 모델이 {read} 내용을 읽고 작성함"),
            (None, false) if part.origin == "plan" => format!("{place}: in the plan"),
            (None, true) if part.origin == "plan" => format!("{place}: 계획에 있음"),
            (None, _) => format!("{place}: {} ({chosen})", part.origin),
        });
        text += &format!("\n- {line}");
    }
    Some(text)
}

/// The call that lacks one value, where that is to stand, and the values that fit.
fn pick_question(compiled: &CompiledSpec, state: &State, step: u32) -> Option<String> {
    let (task, planned) = (&state.task, state.task.planned(step)?);
    let choices = task.choices(compiled, step);
    let place = one_line(&choices.first()?.place);
    let parts = task.label_parts(compiled, step);
    let part = parts.iter().find(|part| part.place == choices[0].place)?;
    let from = one_line(&part.origin);
    let (tool, korean) = (one_line(&planned.tool), task.input.is_korean());
    let who = who_chose(part.label, korean);
    let question = match korean {
        true => format!("{tool} 호출의 {place}에 맞는 값이 여럿입니다 ({from}, {who}). 하나를 골라주세요:"),
        false => {
            format!("Several values fit {place} of the call of {tool} ({from}, {who}). Please pick one:")
        }
    };
    let text = choices.iter().fold(question, |text, choice| text + "\n- " + &choice.text);
    // The rest of the call, as it would be sent. Whatever stands in it stands within its line.
    let mut rest = planned.input.clone()?;
    let chosen = rest.pointer_mut(&choices[0].place).filter(|_| !choices[0].place.is_empty());
    let Some(chosen) = chosen else { return Some(text) };
    *chosen = Value::from("?");
    let rest = task.resolve_input(compiled, step, &rest).unwrap_or(rest);
    let named = if korean { "입력" } else { "input" };
    Some(format!("{text}\n{named}: {}", shorten(&canonical(&rest), INPUT_CHARS)))
}

/// Who chose a value, for people.
fn who_chose(label: Label, korean: bool) -> &'static str {
    match (label, korean) {
        (Label::Literal | Label::System | Label::Located, false) => "trusted",
        (Label::Literal | Label::System | Label::Located, true) => "신뢰함",
        (Label::Filled, false) => "written by a model that has read untrusted text",
        (Label::Filled, true) => "신뢰할 수 없는 글을 읽은 모델이 작성함",
        (_, false) => "untrusted",
        (_, true) => "신뢰할 수 없음",
    }
}

/// A text as it is, any other value as canonical JSON.
fn input_text(input: &Value) -> Cow<'_, str> {
    input.as_str().map_or_else(|| canonical(input).into(), Cow::from)
}

fn one_line(text: &str) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), STEP_CHARS)
}

/// The beginning of a text. If something is left out, it says how long the whole is.
fn shorten(text: &str, most: usize) -> String {
    match first_chars(text, most) {
        shown if shown.len() < text.len() => format!("{shown}… ({})", text.chars().count()),
        _ => text.to_owned(),
    }
}
