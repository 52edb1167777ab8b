//! Grounds: whether what a run has done outside rests on its plan and its results, worked out once more.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::fold::{compile, render_awaited, split, walk};
use super::{JournalError, Record};
use crate::contract::{Returned, ToolEffect, resolve_input};
use crate::machine::{
    Concern, EffectId, EffectKind, GrantedBy, HumanAnswer, Progress, State, TraceLine, local,
};
use crate::prompt::RequestBody;
use crate::spec::{CompiledSpec, Digest};

/// A call of a run that changes something, or tells something to the outside, and that does not rest on the run's plan
/// and results: a literal that is not the frozen plan's, or a value that no reference stands for.
///
/// A journal that was written by a run has none. One is found where records were altered and sealed anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UngroundedCall {
    /// The call.
    pub effect: EffectId,
    /// The tool; empty where the plan does not call for the effect at all.
    pub tool: String,
    /// The arguments that it is about, as JSON pointers; `""` is the whole input. All of them where the digest of the
    /// call is another, which does not say what the call held.
    pub arguments: Vec<String>,
}

impl fmt::Display for UngroundedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UngroundedCall { effect, tool, arguments } = self;
        if tool.is_empty() {
            return write!(f, "{effect} was asked, and the plan does not call for it");
        }
        let named = |argument: &String| if argument.is_empty() { "input" } else { argument }.to_owned();
        let arguments = arguments.iter().map(named).collect::<Vec<_>>().join(", ");
        write!(f, "{effect} called {tool} with another {arguments} than the plan and the results give")
    }
}

impl UngroundedCall {
    /// Finds the calls of a journal that write, or whose arguments leave, and do not rest on its plan and results.
    /// Nothing is said of what was called before the spec was changed on purpose.
    ///
    /// # Errors
    /// If the records do not fold; names the record.
    pub fn find_all(records: &[Record]) -> Result<Vec<Self>, JournalError> {
        let (header, spec) = split(records)?;
        let compiled = compile(spec)?;
        let changed = records.iter().rposition(|record| matches!(record, Record::SpecChanged(_)));
        let changed = changed.unwrap_or(0) as u64;
        let mut found = Vec::new();
        let walked =
            walk(&compiled, header.input.clone(), records.iter().cloned(), |index, state, record| {
                if let Record::Requested { effect, digest, .. } = record
                    && index >= changed
                {
                    found.extend(check_call(&compiled, state, *effect, *digest));
                }
                Ok(())
            });
        walked.map_err(|(index, problem)| JournalError::at(index, problem))?;
        Ok(found)
    }
}

fn check_call(
    compiled: &CompiledSpec,
    state: &State,
    effect: EffectId,
    digest: Digest,
) -> Option<UngroundedCall> {
    let EffectKind::Step { .. } = effect.kind else { return None };
    let (Some(request), Some(here)) =
        (render_awaited(compiled, state, effect), local(compiled, state, effect))
    else {
        return Some(UngroundedCall { effect, tool: String::new(), arguments: Vec::new() });
    };
    let RequestBody::Tool { step, tool, input, contract, .. } = request.body else { return None };
    if contract.is_some_and(|tool| tool.effect != ToolEffect::Write && tool.egress.is_empty()) {
        return None;
    }
    // What a person has edited is theirs.
    let granted = matches!(here.state.granted_by(step), Some(GrantedBy::Question { .. }));
    let granted = if granted { here.state.task.granted_call(here.compiled, step) } else { None };
    let mut arguments = match granted {
        Some(granted) => find_others(granted.as_ref(), &input),
        None => find_strays(here.state, step, &input),
    };
    if arguments.is_empty() && request.digest != digest {
        arguments.extend(pair(&input, &input, false).into_iter().map(|(place, ..)| place));
    }
    let arguments: Vec<String> = arguments.into_iter().collect();
    (!arguments.is_empty()).then(|| UngroundedCall { effect, tool: tool.into_owned(), arguments })
}

/// The arguments of a call that are not what the question calls for.
fn find_others(granted: Option<&Value>, input: &Value) -> BTreeSet<String> {
    let Some(granted) = granted else { return BTreeSet::from([String::new()]) };
    let differ = pair(granted, input, false).into_iter().filter(|(_, wanted, given)| wanted != given);
    differ.map(|(place, ..)| place).collect()
}

/// The arguments of a call that are neither what the frozen plan has there nor what its references stand for.
fn find_strays(state: &State, step: u32, input: &Value) -> BTreeSet<String> {
    let mut strays = BTreeSet::new();
    let Some(plan) = state.task.progress.as_ref() else { return strays };
    let Some(planned) = state.task.planned(step) else { return strays };
    let refers = plan.schedule.links.references.contains_key(&step);
    let Some(template) = &planned.input else {
        let given = plan.source(step).and_then(|from| plan.output(from));
        strays.extend((given != input.as_str()).then(String::new));
        return strays;
    };
    let evaluated = if refers { evaluate(plan, step, template) } else { Some(template.clone()) };
    let Some(evaluated) = evaluated else { return BTreeSet::from([String::new()]) };
    let differ = pair(&evaluated, input, false).into_iter().filter(|(_, wanted, given)| wanted != given);
    strays.extend(differ.map(|(place, ..)| place));
    let frozen = find_frozen(state, step).map(|frozen| pair(frozen, template, refers)).unwrap_or_default();
    let picked = find_picks(state, step);
    let other = frozen.into_iter().filter(|(_, frozen, now)| !is_frozen(frozen, now, &picked));
    strays.extend(other.map(|(place, ..)| place));
    strays
}

/// What a person has picked for the references of a step.
fn find_picks(state: &State, step: u32) -> Vec<&str> {
    let name = state.task.step_name(step);
    let picks = state.trace().iter().filter_map(|line| match line {
        TraceLine::Human { step, about: Concern::Value, answer: HumanAnswer::Respond { text } } => {
            (*step == name).then_some(text.as_str())
        }
        _ => None,
    });
    picks.collect()
}

/// What an input stands for by what earlier steps returned. A name is that of the nearest step before.
fn evaluate(plan: &Progress, step: u32, template: &Value) -> Option<Value> {
    let earlier = plan.plan.steps.get(..step as usize)?;
    let returned = |name: &str| {
        let at = (0..earlier.len()).rev().find(|at| earlier[*at].name(*at) == name)?;
        let run = plan.result(at as u32)?;
        Some(Returned { text: run.output()?, data: run.data(), tool: None })
    };
    resolve_input(template, &returned, plan.filled(step)).ok()
}

/// The input of a step in the plan that allows its call.
fn find_frozen(state: &State, step: u32) -> Option<&Value> {
    let Some(GrantedBy::Plan { draft, step: name }) = state.granted_by(step) else { return None };
    let nth = (*draft as usize).checked_sub(1)?;
    let mut plans = state.trace().iter().filter_map(|line| match line {
        TraceLine::Plan { steps, .. } => Some(steps.as_ref()),
        _ => None,
    });
    let (steps, first) = (plans.nth(nth)??.as_slice(), state.task.drafts.get(nth)?.first_step as usize);
    let named = steps.iter().enumerate().find(|(at, planned)| planned.name(first + at) == *name);
    named?.1.input.as_ref()
}

fn is_expression(value: &Value) -> bool {
    ["$from", "$template", "$calc", "$fill"].into_iter().any(|name| value.get(name).is_some())
}

/// Whether a part of an input is as it was frozen, but for the names of steps, as another plan may give them others, and
/// for references in whose place a person has picked a value.
fn is_frozen(frozen: &Value, now: &Value, picked: &[&str]) -> bool {
    let is_pick = |now: &Value| match now {
        Value::String(text) => picked.contains(&text.as_str()),
        Value::Number(_) | Value::Bool(_) => picked.contains(&now.to_string().as_str()),
        _ => false,
    };
    match (frozen, now) {
        (frozen, now) if is_expression(frozen) && is_pick(now) => true,
        (Value::Object(frozen), Value::Object(now)) => {
            let names_steps =
                |name: &str| name == "$from" || (name == "from" && frozen.contains_key("$fill"));
            let is_inner = |(name, inner): (&String, &Value)| {
                now.get(name).is_some_and(|now| names_steps(name) || is_frozen(inner, now, picked))
            };
            frozen.len() == now.len() && frozen.iter().all(is_inner)
        }
        (Value::Array(frozen), Value::Array(now)) => {
            let mut inner = frozen.iter().zip(now);
            frozen.len() == now.len() && inner.all(|(inner, now)| is_frozen(inner, now, picked))
        }
        (frozen, now) => frozen == now,
    }
}

/// The arguments of an input: its place, what was planned and what is given.
fn pair<'v>(planned: &'v Value, given: &'v Value, refers: bool) -> Vec<(String, &'v Value, &'v Value)> {
    let (Value::Object(fields), Value::Object(values), false) =
        (planned, given, refers && is_expression(planned))
    else {
        return vec![(String::new(), planned, given)];
    };
    let names: BTreeSet<&String> = fields.keys().chain(values.keys()).collect();
    let value = |of: &'v serde_json::Map<String, Value>, name: &String| of.get(name).unwrap_or(&Value::Null);
    let place = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    names.into_iter().map(|name| (place(name), value(fields, name), value(values, name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{ArgumentRole, StepField, ToolContract};
    use crate::machine::{Effect, Event, Input, ModelReply, ToolOutcome, start, transition};
    use serde_json::json;

    /// A run that has read and is about to send, with the call and its digest.
    fn sending() -> (CompiledSpec, State, EffectId, Digest) {
        let mut spec = crate::agents::shipped("validated").unwrap();
        let fields = json!({"to": {"type": "string"}, "say": {"type": "string"}});
        let fields = json!({"type": "object", "properties": fields});
        let read = ToolContract::text("read", "Reads.", ToolEffect::Read).output(fields.clone());
        let send = ToolContract::json("send", "Sends.", ToolEffect::Write).input(fields);
        spec.tools = vec![read, send.argument("/to", ArgumentRole::Content)];
        spec.policy.plan.fields = vec![StepField::Id, StepField::Refs];
        let compiled = spec.check().unwrap();
        let plan = json!({"goal": "x", "steps": [
            {"id": "a", "tool": "read", "input": "x"},
            {"id": "b", "tool": "send", "input": {"to": {"$from": "a", "take": "/to"}, "say": "hi"}},
            {"tool": "final_answer", "input": "x"},
        ]});
        let begun = start(&compiled, Input::question("Send it."));
        let effect = begun.effects[0].id();
        let reply = Event::ModelReplied { effect, reply: ModelReply::text(plan.to_string()) };
        let planned = transition(&compiled, begun.state, reply).unwrap();
        let data = Some(Box::new(json!({"to": "ann"})));
        let outcome = ToolOutcome::Returned { output: "ann".into(), sources: Vec::new(), data };
        let read = Event::ToolReturned { effect: planned.effects[0].id(), outcome };
        let step = transition(&compiled, planned.state, read).unwrap();
        let [Effect::CallTool { id, .. }] = step.effects[..] else { panic!("{:?}", step.effects) };
        let digest = render_awaited(&compiled, &step.state, id).unwrap().digest;
        (compiled, step.state, id, digest)
    }

    #[test]
    fn arguments_that_are_not_those_of_the_frozen_plan_and_the_results_are_named() {
        let (compiled, state, effect, digest) = sending();
        assert_eq!(check_call(&compiled, &state, effect, digest), None);
        for (place, value, wanted) in [
            ("/task/progress/plan/steps/1/input/say", json!("pay"), &["/say"][..]),
            ("/task/progress/plan/steps/1/input/to", json!("eve"), &["/to"]),
            ("/task/progress/steps/0/data/to", json!("eve"), &["/say", "/to"]),
        ] {
            let mut forged = serde_json::to_value(&state).unwrap();
            *forged.pointer_mut(place).expect(place) = value;
            let forged: State = serde_json::from_value(forged).unwrap();
            let found = check_call(&compiled, &forged, effect, digest).expect(place);
            assert_eq!(found.arguments, wanted, "{place}");
        }
    }
}
