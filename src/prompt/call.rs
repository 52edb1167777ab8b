//! The requests of effects: what a model is asked, and what a tool is called with.

use std::borrow::Cow;

use serde_json::Value;

use super::payload::{common, written};
use super::results::Results;
use super::{ModelRequest, render};
use crate::contract::ToolContract;
use crate::machine::{Effect, EffectKind, State, known_by, local};
use crate::spec::{CompiledAgent, CompiledSpec, RoleName};

/// Renders the request of a model effect, in the run that it belongs to. Pure.
///
/// Returns `None` where the effect asks no model, or the run does not wait for it.
pub fn request(rules: &CompiledSpec, state: &State, effect: Effect) -> Option<ModelRequest> {
    let Effect::AskModel { id, role } = effect else { return None };
    let here = local(rules, state, id)?;
    match here.id.kind {
        EffectKind::Step { step, .. } => member(here.rules, here.state, step),
        _ => render(here.rules, here.state, role),
    }
}

/// The request to the role that does a step: what it is to do, on what, and what is known by then.
fn member(rules: &CompiledSpec, state: &State, step: u32) -> Option<ModelRequest> {
    let progress = state.task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let CompiledAgent::Role(frame) = rules.agent(&planned.tool)? else { return None };
    let source = progress.schedule.links.inputs.get(step as usize).copied().flatten();
    let mut payload = common(rules, &state.task, RoleName::Agent);
    payload.task = Some(planned.instruction()).filter(|told| !told.is_empty());
    payload.input = source.and_then(|source| progress.output(source)).or(planned.material());
    payload.tool = planned.with.as_deref();
    let known = known_by(rules, &state.task, step);
    if !known.is_empty() {
        payload.tool_results = Some(Results::only(rules, progress, known));
    }
    Some(ModelRequest { frame: frame.clone(), payload: written(&payload), conversation: Vec::new() })
}

/// The tool of a call effect and the input it is called with, in the run that it belongs to.
///
/// Returns `None` where the effect calls no tool, or the run does not wait for it.
pub fn call<'s>(rules: &CompiledSpec, state: &'s State, effect: Effect) -> Option<(&'s str, Cow<'s, Value>)> {
    let Effect::CallTool { id, step } = effect else { return None };
    tool_call(local(rules, state, id)?.state, step)
}

/// The contract of the tool that an effect calls.
pub fn called<'r>(rules: &'r CompiledSpec, state: &State, effect: Effect) -> Option<&'r ToolContract> {
    let Effect::CallTool { id, step } = effect else { return None };
    let here = local(rules, state, id)?;
    let progress = here.state.task.progress.as_ref()?;
    here.rules.tool(&progress.plan.steps.get(step as usize)?.tool)
}

/// Whom an effect asks, by name: a role (`planner`), a role that does a step (`agent:search`), a tool,
/// or `human`; in a nested run after the agents it is nested in (`search_team/planner`).
pub fn asked(rules: &CompiledSpec, state: &State, effect: Effect) -> Option<String> {
    let here = local(rules, state, effect.id())?;
    let mut name: String = here.agents.iter().flatten().map(|agent| format!("{agent}/")).collect();
    let planned = |step: u32| here.state.task.progress.as_ref()?.plan.steps.get(step as usize);
    match (effect, here.id.kind) {
        (Effect::AskModel { .. }, EffectKind::Step { step, .. }) => {
            name.push_str("agent:");
            name.push_str(&planned(step)?.tool);
        }
        (Effect::AskModel { role, .. }, _) => name.push_str(role.as_str()),
        (Effect::CallTool { step, .. }, _) => name.push_str(&planned(step)?.tool),
        (Effect::AskHuman { .. }, _) => name.push_str("human"),
        (Effect::Wait { .. }, _) => name.push_str("wait"),
    }
    Some(name)
}

/// The constant part of the requests to whom [`asked`] names.
pub fn frame<'r>(
    rules: &'r CompiledSpec,
    asked: &str,
) -> Option<&'r std::sync::Arc<crate::spec::RequestFrame>> {
    if let Some((agent, rest)) = asked.split_once('/') {
        return match rules.agent(agent)? {
            CompiledAgent::Spec(inner) => frame(inner, rest),
            CompiledAgent::Role(_) => None,
        };
    }
    match asked.strip_prefix("agent:") {
        Some(agent) => match rules.agent(agent)? {
            CompiledAgent::Role(frame) => Some(frame),
            CompiledAgent::Spec(_) => None,
        },
        None => rules.frame(RoleName::ALL.into_iter().find(|role| role.as_str() == asked)?),
    }
}

/// The tool of a step and the input it is called with: the plan's own, or an earlier step's output.
///
/// Returns `None` where the run has no such step, or the output it needs is not there yet.
pub fn tool_call(state: &State, step: u32) -> Option<(&str, Cow<'_, Value>)> {
    let progress = state.task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let input = match (&planned.input, &planned.input_from) {
        (Some(input), _) => Cow::Borrowed(input),
        (None, Some(_)) => {
            let source = (*progress.schedule.links.inputs.get(step as usize)?)?;
            Cow::Owned(Value::String(progress.output(source)?.to_owned()))
        }
        (None, None) => return None,
    };
    Some((&planned.tool, input))
}
