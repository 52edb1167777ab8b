//! Each check of the walk is able to fail: a machine broken on purpose is caught by the check that is
//! about it. `kinds.rs` says how machines are broken and with which specs they are walked; the tables in
//! `models.rs`, `world.rs`, `contained.rs` and `authority.rs` name each kind and the claim that catches it.
//!
//! What a walk does not catch, because it is not in a step: the words of a request (`prompts.rs`), what
//! depends on the order in which answers arrive (`properties.rs`), and a transition that never returns.

mod authority;
mod contained;
mod kinds;
mod models;
mod world;

use planwright::agents;
use planwright::machine::explore::{self, Machine};
use planwright::machine::{
    Effect, EffectKind, Event, PhaseName, Refusal, State, Step, outstanding, transition,
};
use planwright::spec::{CompiledSpec, RoleName};
use serde_json::json;

use self::kinds::{Broken, bent};
use crate::promise::altered;

/// Walks a broken machine and expects the check of this name to catch it.
#[track_caller]
fn caught_by(invariant: &str, machine: &dyn Machine) {
    let mut spec = agents::shipped("validated").expect("shipped");
    spec.policy.plan.max_steps = 2;
    spec.limits.max_replans = 1;
    let report = explore::explore_with(machine, &spec.check().expect("checks"), usize::MAX);
    let check = report.checks.iter().find(|check| check.invariant == invariant);
    assert!(!check.expect("a check of this name").violations.is_empty(), "{invariant} did not catch it");
}

#[test]
fn a_machine_that_panics_or_starts_a_step_without_asking_is_not_total() {
    let panics = |compiled: &CompiledSpec, state, event: Event| {
        assert!(!matches!(event, Event::DeadlinePassed), "a deadline is not thought of");
        transition(compiled, state, event)
    };
    caught_by("total", &Broken(panics));
    let asks_nothing = |_: &State, step: &mut Step| {
        step.effects.retain(|effect| !matches!(effect, Effect::CallTool { .. }));
    };
    caught_by("total", &*bent(asks_nothing));
}

/// Refusals are looked at together first, and one by one where something was changed.
#[test]
fn a_machine_that_changes_what_it_refuses_is_caught_at_that_very_event() {
    let changes = |compiled: &CompiledSpec, state, event: Event| {
        let is_outcome = matches!(event, Event::ToolReturned { .. });
        transition(compiled, state, event).map_err(|mut refused| {
            if is_outcome {
                refused.state = altered(&refused.state, |state| state["task"]["tainted"] = json!(true));
            }
            refused
        })
    };
    let compiled = agents::shipped("react").expect("shipped").check().expect("checks");
    let report = explore::explore_with(&Broken(changes), &compiled, usize::MAX);
    let total = report.checks.iter().find(|check| check.invariant == "total").expect("a check of this name");
    assert!(!total.violations.is_empty());
    let named = total.violations.iter().all(|violation| violation.contains("(tool_returned of"));
    assert!(named, "{:?}", total.violations);
}

#[test]
fn a_machine_that_forgets_to_count_replans_or_asks_twice_is_not_bounded() {
    let forgets = |_: &State, step: &mut Step| {
        step.state = altered(&step.state, |state| {
            let task = &mut state["task"];
            (task["counters"]["replans"], task["draft"]) = (json!(0), json!(1));
            (task["drafts"], task["artifacts"]["past"]) = (json!([task["drafts"][0]]), json!([]));
        });
    };
    caught_by("bounded", &*bent(forgets));
    caught_by("bounded", &*bent(|_, step| step.effects.extend(step.effects.clone())));
}

#[test]
fn a_machine_that_allows_one_replan_too_many_is_caught() {
    let lax = std::cell::OnceCell::new();
    let one_more = |compiled: &CompiledSpec, state, event| {
        let lax = lax.get_or_init(|| {
            let mut spec = compiled.spec().clone();
            spec.limits.max_replans += 1;
            spec.check().expect("checks")
        });
        transition(lax, state, event)
    };
    caught_by("replans", &Broken(one_more));
}

#[test]
fn a_machine_that_writes_after_a_rejection_is_not_gated() {
    let writes = |_: &State, step: &mut Step| {
        if let Some(last) = step.moves.last_mut()
            && last.to == PhaseName::Plan
        {
            last.to = PhaseName::Write;
            let writing = json!({"WRITE": {"gate": "exhausted", "ask": 1}});
            step.state = altered(&step.state, |state| state["phase"] = writing);
        }
    };
    caught_by("gated", &*bent(writes));
}

#[test]
fn a_machine_that_takes_an_answer_twice_or_under_any_id_is_caught() {
    struct Forgetful;
    impl Machine for Forgetful {
        fn admit(&self, compiled: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
            match planwright::machine::admit(compiled, state, event) {
                Err(Refusal::NotAwaited(_)) => Ok(()),
                other => other,
            }
        }
    }
    caught_by("answered once", &Forgetful);
    let trusting = |compiled: &CompiledSpec, state, mut event| {
        if let Some(Effect::AskModel { id, .. }) = outstanding(compiled, &state).first()
            && let Event::ModelReplied { effect, .. } = &mut event
        {
            *effect = *id;
        }
        transition(compiled, state, event)
    };
    caught_by("answered once", &Broken(trusting));
}

#[test]
fn a_machine_that_goes_on_after_the_end_is_not_terminal() {
    let goes_on = |_: &State, step: &mut Step| {
        if step.state.phase() == PhaseName::Done {
            let id = EffectKind::Write { draft: 1, ask: 1 }.into();
            step.effects.push(Effect::AskModel { id, role: RoleName::Writer });
        }
    };
    caught_by("terminal", &*bent(goes_on));
}

#[test]
fn a_machine_that_remembers_outside_its_state_is_not_faithful() {
    let calls = std::cell::Cell::new(0);
    let counts = move |_: &State, step: &mut Step| {
        calls.set(calls.get() + 1);
        step.state = altered(&step.state, |state| {
            state["task"]["counters"]["usage"]["cached_tokens"] = json!(calls.get());
        });
    };
    caught_by("faithful", &*bent(counts));
}

/// The reason of a rejection is dropped; a machine that reads it acts differently in states that are
/// told to be the same.
#[test]
fn a_branch_on_something_the_abstraction_drops_is_caught() {
    let branches = |before: &State, step: &mut Step| {
        let task = &serde_json::to_value(before).expect("serialises")["task"];
        let failed = task["failures"] != json!([]) && task["draft"].as_u64() > Some(1);
        if step.state.phase() == PhaseName::Execute && failed {
            step.state = altered(&step.state, |state| {
                state["phase"] = json!("ERROR");
                state["task"]["artifacts"]["error"] = json!({"code": "CANCELLED", "message": "…"});
            });
            step.effects.clear();
            step.moves.clear();
        }
    };
    caught_by("abstraction", &*bent(branches));
}

/// A walk that would not end is given up: decided where a run is longer than its bounds, undecided where there
/// are only too many states.
#[test]
fn a_walk_that_does_not_end_is_given_up() {
    let spec = kinds::judged();
    let endless = kinds::ruled(|spec| spec.limits.max_replans = 1_000);
    let report = explore::explore_with(&*endless, &spec.clone().check().expect("checks"), usize::MAX);
    let bounded = report.checks.iter().find(|check| check.invariant == "bounded").expect("a claim");
    assert!(!report.whole && !bounded.violations.is_empty(), "{:?}", bounded.violations);
    assert_eq!(report.undecided(), None, "that a run is too long is decided");

    let report = explore::explore_with(&explore::Real, &spec.check().expect("checks"), 10);
    assert!(
        !report.holds() && report.undecided().is_some_and(|why| why.starts_with("the walk was given up"))
    );
}
