//! What a planner is told once untrusted output was read: what became of the steps, in words of ours, and nothing
//! that anyone wrote whom it read of.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use planwright::agents;
use planwright::contract::ToolEffect;
use planwright::machine::explore::{self, CANARY, EARLIER_ANSWER, Machine};
use planwright::machine::{Effect, Event, Refused, State, Step, local};
use planwright::prompt::{ModelRequest, Request, RequestBody};
use planwright::spec::{
    Approval, CompiledSpec, Containment, Horizon, OnReplan, OnStepFailure, RoleName, Spec,
};
use serde_json::Value;

/// Roles on whose replies a plan rests.
const PLANNING: [RoleName; 7] = [
    RoleName::Scope,
    RoleName::PreviousContext,
    RoleName::Intent,
    RoleName::Grant,
    RoleName::Planner,
    RoleName::Replanner,
    RoleName::Orchestrator,
];

/// The real machine, whose requests to planning roles are read.
#[derive(Default)]
struct Watched {
    /// Requests that were read, of runs that had read what is untrusted.
    read: Cell<u32>,
    /// Requests that hold a canary, and where.
    leaks: RefCell<BTreeSet<String>>,
}

/// What a model is sent, but for what a nested run is given to work on: its plans have no authority for that.
fn words(request: &ModelRequest) -> String {
    let conversation = serde_json::to_string(&request.conversation).expect("text keys only");
    if !request.payload.contains(CANARY) {
        return conversation;
    }
    let mut payload: Value = serde_json::from_str(&request.payload).expect("a JSON object");
    let fields = payload.as_object_mut().expect("a JSON object");
    let given = fields.contains_key("on_behalf_of");
    fields.retain(|key, _| !(given && ["material", "findings"].contains(&key.as_str())));
    payload.to_string() + &conversation
}

impl Watched {
    fn read(&self, compiled: &CompiledSpec, state: &State, effect: Effect) {
        let Effect::AskModel { role, .. } = effect else { return };
        let Some(here) = local(compiled, state, effect.id()) else { return };
        // Round by round a planner is shown what it works on; who says what the question calls for never is.
        let whole = here.compiled.policy().horizon == Horizon::Whole || role == RoleName::Grant;
        // Before anything untrusted was read there is nothing to keep back but an earlier answer.
        let mark = if here.state.is_tainted() { CANARY } else { EARLIER_ANSWER };
        let earlier = !here.state.input().history.is_empty();
        if !PLANNING.contains(&role) || !whole || !(here.state.is_tainted() || earlier) {
            return;
        }
        let Some(Request { asked, body: RequestBody::Model { request, .. }, .. }) =
            Request::of(compiled, state, effect)
        else {
            return;
        };
        self.read.set(self.read.get() + 1);
        let words = words(&request);
        if words.contains(mark) && self.leaks.borrow().len() < 5 {
            self.leaks.borrow_mut().insert(format!("{asked}: {words}"));
        }
    }
}

impl Machine for Watched {
    fn transition(&self, compiled: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        let step = planwright::machine::transition(compiled, state, event)?;
        for effect in &step.effects {
            self.read(compiled, &step.state, *effect);
        }
        Ok(step)
    }
}

/// Walks a spec; returns how many requests were read and those that hold a canary.
fn walk(spec: Spec) -> (u32, BTreeSet<String>) {
    let watched = Watched::default();
    let report = explore::explore_with(&watched, &spec.check().expect("checks"), usize::MAX);
    assert!(report.holds(), "{report:?}");
    (watched.read.get(), watched.leaks.into_inner())
}

fn shipped(name: &str) -> Spec {
    agents::shipped(name).expect("shipped")
}

/// Small numbers: a step or a replan more adds requests of the same kinds.
fn small(mut spec: Spec) -> Spec {
    spec.policy.plan.max_steps = spec.policy.plan.max_steps.min(3);
    if spec.limits.max_replans > 2 {
        spec.limits.max_replans = 2;
    }
    spec
}

#[test]
fn no_request_to_a_planning_role_holds_a_word_that_was_read() {
    let mut read = 0;
    for name in agents::names() {
        let (of_this, leaks) = walk(small(shipped(name)));
        assert!(leaks.is_empty(), "{name}: {leaks:#?}");
        read += of_this;
    }
    // Validated plans anew, intent-first and supervised see earlier turns, and the orchestrator sees results.
    assert!(read > 1_000, "{read} requests were read");
}

/// Every way to plan anew: with or without the steps before, after a verdict or a failure.
#[test]
fn whatever_a_new_plan_keeps_the_planner_is_told_of_it_in_the_closed_form() {
    for name in ["validated", "research-team", "intent-first"] {
        for on_replan in [OnReplan::Restart, OnReplan::Keep] {
            for on_step_failure in [OnStepFailure::Record, OnStepFailure::Replan] {
                let mut spec = small(shipped(name));
                spec.policy.plan.max_steps = 2;
                spec.limits.max_replans = 1;
                (spec.policy.on_replan, spec.policy.on_step_failure) = (on_replan, on_step_failure);
                if spec.clone().check().is_ok() {
                    let (read, leaks) = walk(spec);
                    let of = format!("{name} {on_replan:?} {on_step_failure:?}");
                    assert!(read > 0 && leaks.is_empty(), "{of}: {read} read, {leaks:#?}");
                }
            }
        }
    }
}

/// A planner that calls is shown no output either: each call has its result, which says how it ended and not what it gave.
#[test]
fn a_planner_that_calls_is_told_how_its_calls_ended() {
    let mut spec =
        small(shipped("orchestrated").agents.swap_remove(0).spec.map(|spec| *spec).expect("an agent"));
    spec.policy.on_step_failure = OnStepFailure::Replan;
    spec.policy.on_replan = OnReplan::Keep;
    spec.limits.max_replans = 2;
    let (read, leaks) = walk(spec.clone());
    assert!(read > 0 && leaks.is_empty(), "{read} read, {leaks:#?}");
    spec.policy.containment = Containment::Off;
    assert!(!walk(spec).1.is_empty());
}

/// The watch sees what it is to see: without containment there are leaks in every way to plan anew.
#[test]
fn without_containment_the_words_arrive() {
    for name in ["validated", "research-team", "intent-first", "orchestrated"] {
        let mut spec = small(shipped(name));
        spec.policy.containment = Containment::Off;
        let (_, leaks) = walk(spec);
        assert!(!leaks.is_empty(), "{name}");
    }
}

/// What a planner can be told by what was read, per new plan, and an orchestrator per decision, in bits.
#[test]
fn what_can_reach_a_planner_is_counted() {
    for (name, replan, decision) in [
        ("plan-then-execute", None, None),
        ("validated", Some(34), None),
        ("intent-first", Some(31), None),
        ("research-team", Some(40), None),
        ("supervised", None, None),
        ("orchestrated", None, Some(3)),
    ] {
        let channel = explore::Channel::of(&shipped(name).check().expect("checks"));
        assert!(!channel.shows_results, "{name}");
        assert_eq!((channel.bits_per_replan, channel.bits_per_decision), (replan, decision), "{name}");
        assert!(channel.planned_before.is_empty(), "{name} writes: {channel:?}");
    }
    for name in ["react", "conversational", "docstore", "self-ask", "evaluate-loop"] {
        let channel = explore::Channel::of(&shipped(name).check().expect("checks"));
        assert!(channel.shows_results && channel.bits_per_replan.is_none(), "{name}");
    }
}

/// Without containment every tool that writes is one that a text can have called, and `verify` says so.
#[test]
fn tools_that_a_text_can_have_called_are_named() {
    let mut spec = shipped("validated");
    spec.tools[0].effect = ToolEffect::Write;
    let channel = |spec: &Spec| explore::Channel::of(&spec.clone().check().expect("checks"));
    assert_eq!(channel(&spec).planned_before, ["docs"]);
    assert!(channel(&spec).unguarded.is_empty());
    // So is a read whose argument leaves for a place that it names.
    spec.tools[0] = spec.tools[0].clone().egress("");
    spec.tools[0].effect = ToolEffect::Read;
    assert_eq!(channel(&spec).planned_before, ["docs"]);
    spec.tools[0].effect = ToolEffect::Write;
    spec.policy.containment = Containment::Off;
    assert_eq!(channel(&spec).unguarded, ["docs"]);
}

/// The questions that a run can ask are counted in advance.
#[test]
fn questions_to_a_person_are_counted() {
    let mut spec = shipped("validated");
    spec.tools[0].needs_approval = true;
    spec.policy.approval = Approval::ALL;
    let channel = explore::Channel::of(&spec.check().expect("checks"));
    // Three plans of five steps, and each plan is looked at.
    assert_eq!(channel.most_questions, 3 * 5 + 3);
    assert_eq!(channel.asked, ["docs"]);
}
