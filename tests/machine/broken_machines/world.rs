//! Machines that do not count, go beyond their bounds, or do otherwise than people say.

use planwright::machine::explore::Machine;
use planwright::machine::{EffectKind, Event, HumanAnswer, Refusal, State, Step, Usage};
use planwright::spec::{Approval, OnExpiry, OnRejection, Spec};
use serde_json::json;

use super::kinds::{
    Lax, all_are_caught, bent, bent_by, judged, kind, mishears, misunderstands, nested, orchestrated, people,
    rewritten, ruled, spending, trying,
};
use crate::promise::altered;

/// A counter that stays as it was before the step, if the step is one of these.
fn uncounted(name: &'static str, which: fn(&Event) -> bool) -> Box<dyn Machine> {
    bent_by(move |before, event, step| {
        let old = serde_json::to_value(before.counters()).unwrap();
        let value = if old[name].is_null() { json!(0) } else { old[name].clone() };
        if which(event) && serde_json::to_value(step.state.counters()).unwrap()[name] != old[name] {
            step.state = altered(&step.state, |state| {
                state["task"]["counters"][name] = value;
            });
        }
    })
}

fn any(_: &Event) -> bool {
    true
}

fn is_nested(event: &Event) -> bool {
    event.effect().is_some_and(|id| id.to_string().contains('/'))
}

#[test]
fn what_is_not_counted_is_caught() {
    let free = |event: Event| match event {
        Event::ModelFailed { effect, mut failure } => {
            failure.usage = Usage::default();
            Event::ModelFailed { effect, failure }
        }
        other => other,
    };
    let unnamed = |_: &State, step: &Step| {
        let named = step.state.usage_by_name().next().is_some();
        named.then(|| vec![("/task/usage_by_role", json!({})), ("/task/usage_by_agent", json!({}))])
    };
    all_are_caught(vec![
        kind("model calls are not counted", "counted", judged(), uncounted("model_calls", any)),
        kind("tool calls are not counted", "counted", judged(), uncounted("tool_calls", any)),
        kind("transitions are not counted", "counted", judged(), uncounted("transitions", any)),
        kind("tokens are not counted", "counted", judged(), uncounted("usage", any)),
        kind("tokens of a failed reply are not counted", "counted", judged(), mishears(free)),
        kind("tokens are nobody's", "counted", judged(), rewritten(unnamed)),
        kind("replies cost nothing", "counted", spending(""), ruled(|spec| spec.prices.clear())),
        kind("added steps are not counted", "counted", orchestrated(), uncounted("added_steps", any)),
        kind(
            "model calls of nested runs are not counted",
            "counted",
            nested(),
            uncounted("model_calls", is_nested),
        ),
        kind(
            "tool calls of nested runs are not counted",
            "counted",
            nested(),
            uncounted("tool_calls", is_nested),
        ),
        kind("tokens of nested runs are not counted", "counted", nested(), uncounted("usage", is_nested)),
        kind(
            "a step is given up after one try",
            "counted",
            trying(),
            ruled(|spec| spec.policy.step_tries.tries = 1),
        ),
        kind(
            "a step is tried once too often",
            "counted",
            trying(),
            ruled(|spec| spec.policy.step_tries.tries = 3),
        ),
    ]);
}

#[test]
fn what_goes_beyond_its_bounds_is_caught() {
    let more = |change: fn(&mut Spec)| ruled(change);
    all_are_caught(vec![
        kind("there is one replan too many", "replans", judged(), more(|spec| spec.limits.max_replans += 1)),
        kind(
            "there are replans without end",
            "bounded",
            judged(),
            more(|spec| spec.limits.max_replans = 1_000),
        ),
        kind("there is one repair too many", "bounded", judged(), more(|spec| spec.limits.max_repairs += 1)),
        kind(
            "model calls have no limit",
            "bounded",
            spending("max_model_calls = 1"),
            more(|spec| spec.limits.max_model_calls = None),
        ),
        kind(
            "tool calls have no limit",
            "bounded",
            spending("max_tool_calls = 1"),
            more(|spec| spec.limits.max_tool_calls = None),
        ),
        kind(
            "transitions have no limit",
            "bounded",
            spending("max_transitions = 3"),
            more(|spec| spec.limits.max_transitions = None),
        ),
        kind(
            "tokens have no limit",
            "bounded",
            spending("max_tokens = 100"),
            more(|spec| spec.limits.max_tokens = None),
        ),
        kind(
            "money has no limit",
            "bounded",
            spending("max_cost = 100"),
            more(|spec| spec.limits.max_cost = None),
        ),
        kind(
            "an orchestrator may add what it likes",
            "counted",
            orchestrated(),
            more(|spec| spec.limits.max_added_steps = 3),
        ),
    ]);
}

#[test]
fn what_people_say_and_is_not_done_is_caught() {
    let asked = || people("on_rejection = 'replan'");
    let silent = |event| match event {
        Event::Expired { effect } => Event::HumanAnswered { effect, answer: HumanAnswer::Approve },
        other => other,
    };
    let instead = |hears: fn(&HumanAnswer) -> bool| {
        misunderstands(move |answer| if hears(&answer) { HumanAnswer::Approve } else { answer })
    };
    let beside = |_: &State, step: &mut Step| {
        let asks =
            step.effects.iter().any(|effect| matches!(effect.id().kind, EffectKind::ApproveCall { .. }));
        let waits = step.state.current_steps().any(|at| at.step_index == 1 && at.status == "pending");
        if asks && waits && step.state.current_steps().next().is_some_and(|at| at.status == "waiting_human") {
            step.state = altered(&step.state, |state| {
                let progress = &mut state["task"]["progress"];
                progress["steps"][1] = json!({"status": "running", "attempt": 1});
                progress["schedule"]["running"] = json!(2);
                progress["schedule"]["ready"] = json!([]);
            });
        }
    };
    let without = |change: fn(&mut Approval)| ruled(move |spec| change(&mut spec.policy.approval));
    all_are_caught(vec![
        kind("silence is a yes", "people", asked(), mishears(silent)),
        kind(
            "a no is a yes",
            "people",
            asked(),
            instead(|answer| matches!(answer, HumanAnswer::Reject { .. })),
        ),
        kind(
            "a yes is a no",
            "people",
            asked(),
            misunderstands(|answer| match answer {
                HumanAnswer::Approve => HumanAnswer::reject("no"),
                other => other,
            }),
        ),
        kind(
            "an edit is dropped",
            "people",
            asked(),
            instead(|answer| matches!(answer, HumanAnswer::Edit { .. })),
        ),
        kind(
            "an edited input is dropped",
            "people",
            asked(),
            instead(|answer| matches!(answer, HumanAnswer::EditInput { .. })),
        ),
        kind(
            "an answer in the place of a call is a yes",
            "people",
            asked(),
            instead(|answer| matches!(answer, HumanAnswer::Respond { .. })),
        ),
        kind(
            "an edit is not checked",
            "people",
            asked(),
            Box::new(Lax(|refusal| matches!(refusal, Refusal::BadEdit(_)))),
        ),
        kind(
            "an edited input is not checked",
            "people",
            asked(),
            Box::new(Lax(|refusal| matches!(refusal, Refusal::BadInput(_)))),
        ),
        kind("no person approves the plan", "people", asked(), without(|approval| approval.plan = false)),
        kind("no person approves the call", "people", asked(), without(|approval| approval.risky = false)),
        kind("a step runs beside a question", "people", asked(), bent(beside)),
        kind(
            "a no that ends the run plans anew",
            "people",
            people("on_rejection = 'stop'"),
            ruled(|spec| spec.policy.on_rejection = OnRejection::Replan),
        ),
        kind(
            "a no that plans anew ends the run",
            "people",
            asked(),
            ruled(|spec| spec.policy.on_rejection = OnRejection::Stop),
        ),
        kind(
            "silence that ends the run plans anew",
            "people",
            people("on_rejection = 'replan'\non_expiry = 'stop'"),
            ruled(|spec| spec.policy.on_expiry = OnExpiry::Reject),
        ),
    ]);
}
