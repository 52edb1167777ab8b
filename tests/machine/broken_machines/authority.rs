//! Machines that let a text choose what is written: they start a call without a look, take no authority for it,
//! give authority where none may, or let a refusal quote what it refuses.

use planwright::machine::explore::Machine;
use planwright::machine::{AllowedCall, Event, HumanAnswer, State, Step, transition};
use planwright::spec::{CompiledSpec, Containment, Spec};
use serde_json::{Value, json};

use super::kinds::{Broken, all_are_caught, bent, bent_by, kind, misunderstands, ruled};
use crate::promise::{altered, spec, team_with, with_agents, with_risky};

/// Untrusted reads and writes, with a replan after a failed step.
fn guarded(policy: &str) -> Spec {
    let policy = format!(
        "on_step_failure = 'replan'\nplan = {{ max_steps = 2 }}\n{policy}\n[limits]\nmax_replans = 1"
    );
    spec(&policy).with_tools(|tool| ["find", "send"].contains(&&*tool.name))
}

fn standard() -> Spec {
    guarded("containment = 'standard'")
}

/// What is planned round by round.
fn rounds() -> Spec {
    let policy = "containment = 'standard'\nhorizon = 'next'\nplanner = 'tool_calls'\nwrite = 'planner'\n\
                  plan = { max_steps = 1 }\n[limits]\nmax_iterations = 2";
    spec(policy).with_tools(|tool| ["find", "send"].contains(&&*tool.name))
}

fn with_team() -> Spec {
    let outer =
        spec("containment = 'standard'\nplan = { max_steps = 2 }").with_tools(|tool| tool.name == "find");
    with_agents(outer, [team_with("team", |tool| ["find", "send"].contains(&&*tool.name))])
}

/// The grants of a state, each as good as new.
fn renew(step: &mut Step) {
    step.state = altered(&step.state, |state| {
        let grants = state.pointer_mut("/task/authority/grants").and_then(Value::as_array_mut);
        let grants = grants.into_iter().flatten().filter_map(Value::as_object_mut);
        grants.for_each(|grant| drop(grant.remove("spent")));
    });
}

/// A machine that takes every draft for clean.
fn takes_for_clean() -> Box<dyn Machine> {
    Box::new(Broken(|compiled: &CompiledSpec, state: State, event: Event| {
        let is_tainted = state.is_tainted();
        if !is_tainted || planwright::machine::admit(compiled, &state, &event).is_err() {
            return transition(compiled, state, event);
        }
        let clean = altered(&state, |state| {
            let drafts = state["task"]["drafts"].as_array_mut().expect("drafts");
            drafts.last_mut().expect("a draft")["tainted"] = json!(false);
        });
        transition(compiled, clean, event)
    }))
}

#[test]
fn a_write_without_authority_is_caught() {
    let off = |spec: &mut Spec| {
        spec.policy.containment = Containment::Off;
        let inner = spec.agents.iter_mut().filter_map(|agent| agent.spec.as_mut());
        inner.for_each(|inner| inner.policy.containment = Containment::Off);
    };
    all_are_caught(vec![
        kind("a write starts without a look", "authority", standard(), ruled(off)),
        kind("a nested run is not contained", "authority", with_team(), ruled(off)),
        kind("a write takes no authority", "authority", standard(), bent(|_, step| renew(step))),
        kind("a tainted plan grants", "containment", standard(), takes_for_clean()),
        kind("a second round grants", "containment", rounds(), takes_for_clean()),
        kind(
            "strict is taken for standard",
            "authority",
            guarded("containment = 'strict'"),
            ruled(|spec| spec.policy.containment = Containment::Standard),
        ),
    ]);
}

/// What is planned round by round, where a role says before what the question calls for.
fn granting() -> Spec {
    let policy = "containment = 'standard'\ngrant = true\nhorizon = 'next'\nplanner = 'tool_calls'\n\
                  write = 'planner'\nplan = { max_steps = 2 }\n[limits]\nmax_iterations = 3";
    spec(policy).with_tools(|tool| ["find", "send"].contains(&&*tool.name))
}

/// Agents that carry out what the question calls for.
fn granting_team() -> Spec {
    let outer = spec("containment = 'standard'\ngrant = true\nplan = { max_steps = 2 }");
    let outer = outer.with_tools(|tool| tool.name == "find");
    with_agents(outer, [team_with("team", |tool| ["find", "send"].contains(&&*tool.name))])
}

/// A machine that changes a state after each event of a model.
fn after_replies(change: fn(&mut Value)) -> Box<dyn Machine> {
    bent_by(move |_, event, step| {
        if matches!(event, Event::ModelReplied { .. }) {
            step.state = altered(&step.state, change);
        }
    })
}

#[test]
fn what_the_question_calls_for_is_made_once_and_as_it_was_granted() {
    let sends_more = |state: &mut Value| {
        let steps = state.pointer_mut("/task/progress/plan/steps").and_then(Value::as_array_mut);
        let sends = steps.into_iter().flatten().filter(|step| step["tool"] == "send");
        sends.for_each(|step| step["input"] = json!("everything"));
    };
    let grants_more = |state: &mut Value| {
        let is_round = state["task"]["progress"].is_object();
        let grants = state.pointer_mut("/task/authority/grants").filter(|_| is_round);
        let more = json!({"template": "another", "by": {"plan": {"draft": 1, "step": "step_1"}}});
        grants.and_then(Value::as_array_mut).into_iter().for_each(|grants| grants.push(more.clone()));
    };
    let shares = |state: &mut Value| {
        let nested = state["task"]["nested"].as_object().and_then(|nested| nested.values().next());
        let theirs = nested.map(|inner| inner["task"]["authority"]["grants"].clone());
        if let (Some(grants), Some(theirs)) = (state.pointer_mut("/task/authority/grants"), theirs) {
            *grants = theirs;
        }
    };
    // A run of an agent that takes another's place is shown what that was shown.
    let sees_again = |before: &State, step: &mut Step| {
        let inner = |state: &Value| state.pointer("/task/nested/1/task/input").cloned();
        let before = serde_json::to_value(before).expect("a state");
        step.state = altered(&step.state, |state| {
            if let Some((had, has)) = inner(&before).zip(inner(state)).filter(|(had, has)| had != has) {
                assert!(has.get("findings").is_none());
                state["task"]["nested"]["1"]["task"]["input"] = had;
            }
        });
    };
    all_are_caught(vec![
        kind("who was refused sees again what led it astray", "authority", granting_team(), bent(sees_again)),
        kind("a granted write is good twice", "authority", granting(), bent(|_, step| renew(step))),
        kind("a round says what is sent", "authority", granting(), after_replies(sends_more)),
        kind("a round grants besides the question", "containment", granting(), after_replies(grants_more)),
        kind(
            "an agent and the run around it have the same",
            "containment",
            granting_team(),
            after_replies(shares),
        ),
    ]);
}

#[test]
fn an_approval_that_is_good_twice_or_for_another_call_is_caught() {
    let risky = || with_risky(guarded("containment = 'standard'\napproval = 'risky'"), "send");
    let twice = |_: &State, event: &Event, step: &mut Step| {
        if matches!(event, Event::HumanAnswered { .. }) {
            renew(step);
        }
    };
    let another = |_: &State, event: &Event, step: &mut Step| {
        if let Event::HumanAnswered { answer: HumanAnswer::EditInput { .. }, .. } = event {
            step.state = altered(&step.state, |state| {
                let steps = state.pointer_mut("/task/progress/plan/steps").and_then(Value::as_array_mut);
                let sends = steps.into_iter().flatten().filter(|step| step["tool"] == "send");
                sends.for_each(|step| step["input"] = json!("b"));
            });
        }
    };
    all_are_caught(vec![
        kind("an approval is good twice", "containment", risky(), bent_by(twice)),
        kind("an approval is good for another call", "people", risky(), bent_by(another)),
    ]);
}

#[test]
fn a_yes_to_several_calls_that_is_good_for_more_is_caught() {
    let risky = || with_risky(guarded("containment = 'standard'\napproval = 'risky'"), "send");
    let first = || vec![AllowedCall::AsShown(1)];
    let all = move |answer| match answer {
        HumanAnswer::ApproveCalls { calls } if calls == first() => {
            HumanAnswer::ApproveCalls { calls: [1, 2].map(AllowedCall::AsShown).to_vec() }
        }
        other => other,
    };
    let unedited = |answer| match answer {
        HumanAnswer::ApproveCalls { calls } => HumanAnswer::ApproveCalls {
            calls: calls.iter().map(|call| AllowedCall::AsShown(call.position())).collect(),
        },
        other => other,
    };
    let sends_other = |_: &State, event: &Event, step: &mut Step| {
        if let Event::HumanAnswered { answer: HumanAnswer::ApproveCalls { .. }, .. } = event {
            step.state = altered(&step.state, |state| {
                let last = state.pointer_mut("/task/progress/plan/steps/1");
                let send = last.filter(|step| step["tool"] == "send");
                send.into_iter().for_each(|step| step["input"] = json!("everything"));
            });
        }
    };
    let outlives = |_: &State, event: &Event, step: &mut Step| {
        let waits = |at: usize| step.state.current_steps().nth(at).map_or("", |step| step.status);
        if matches!(event, Event::ModelReplied { .. }) && (waits(0), waits(1)) == ("waiting_human", "pending")
        {
            step.state = altered(&step.state, |state| {
                state["task"]["progress"]["schedule"]["approved"] = json!({"1": 0});
            });
        }
    };
    all_are_caught(vec![
        kind("a yes to one call is a yes to all", "people", risky(), misunderstands(all)),
        kind("an edit of one of several calls is dropped", "people", risky(), misunderstands(unedited)),
        kind("a call of several is made with another input", "people", risky(), bent_by(sends_other)),
        kind("a yes is left for another call", "people", risky(), bent_by(outlives)),
    ]);
}

#[test]
fn a_refusal_that_quotes_what_it_refuses_is_caught() {
    let quotes = |_: &State, step: &mut Step| {
        step.state = altered(&step.state, |state| {
            let steps = state.pointer_mut("/task/progress/steps").and_then(Value::as_array_mut);
            let denied =
                steps.into_iter().flatten().filter(|run| run["failure"]["kind"] == "plan_tainted_write");
            denied.for_each(|run| run["failure"]["shown"] = json!("ERROR: plan_tainted_write: send \"x0\""));
        });
    };
    all_are_caught(vec![kind("a refusal quotes", "authority", standard(), bent(quotes))]);
}
