//! Every invariant holds in every reachable state of every shipped agent, and of agents with other
//! policies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use planwright::agents;
use planwright::contract::{FinalStep, StepField, ToolContract, ToolEffect};
use planwright::machine::PhaseName;
use planwright::machine::explore;
use planwright::spec::{
    Approval, Bounds, CompiledSpec, Containment, Execution, OnExhausted, OnExpiry, OnRejection,
    OnStepFailure, OnUnauthorised, Orchestrate, Spec, Write,
};
use serde_json::json;

fn compiled(name: &str) -> CompiledSpec {
    agents::shipped(name).expect("a shipped agent").check().expect("which checks")
}

/// What is asked of one walk, edges left out.
struct Walked {
    states: usize,
    edges: usize,
    longest: Bounds,
    /// The bounds of the spec with the numbers that it was walked with.
    walked_bounds: Bounds,
    bounds: Bounds,
    checks: Vec<explore::Check>,
}

/// The walk of a shipped agent, made once for all the tests that look at it.
fn walked(name: &str) -> &'static Walked {
    static WALKED: LazyLock<BTreeMap<&'static str, OnceLock<Walked>>> =
        LazyLock::new(|| agents::names().map(|name| (name, OnceLock::new())).collect());
    WALKED[name].get_or_init(|| {
        let compiled = compiled(name);
        let report = explore::explore(&compiled);
        let small = explore::reduced(compiled.spec().clone(), &mut Vec::new()).check().expect("checks");
        Walked {
            states: report.states,
            edges: report.edges,
            longest: report.longest.expect("no cycle"),
            walked_bounds: small.bounds(),
            bounds: report.bounds,
            checks: report.checks,
        }
    })
}

/// Small numbers for an agent: a step, a round or a member more adds states of the same kinds, and the walk
/// of the agent itself has them.
fn small(spec: &mut Spec, most_steps: u32) {
    spec.policy.plan.max_steps = most_steps;
    // A planner that answers itself may have to make two calls before.
    let rounds = if spec.policy.write == Write::Planner { 3 } else { 2 };
    spec.limits.max_iterations = spec.limits.max_iterations.map(|_| rounds);
    if spec.policy.orchestrate == Orchestrate::EachStep {
        spec.limits.max_added_steps = 1;
    }
    // A limit that nothing reads is refused.
    if spec.policy.can_replan() {
        spec.limits.max_replans = 1;
    }
}

/// An agent with every policy that the tables of the agents combine.
fn variants(name: &str) -> Vec<(String, Spec)> {
    let spec = agents::shipped(name).expect("a shipped agent");
    let few = spec.limits.max_iterations.is_some() || !spec.agents.is_empty();
    let mut variants = Vec::new();
    for on_step_failure in [OnStepFailure::Record, OnStepFailure::Replan, OnStepFailure::Abort] {
        for execution in [Execution::Sequential, Execution::Parallel { width: 2 }] {
            for on_exhausted in [OnExhausted::Fail, OnExhausted::Write] {
                let mut variant = spec.clone();
                let policy = &mut variant.policy;
                (policy.on_step_failure, policy.execution) = (on_step_failure, execution);
                policy.on_exhausted = on_exhausted;
                small(&mut variant, if few { 2 } else { 4 });
                if variant.clone().check().is_ok() {
                    let name = format!("{name} {on_step_failure:?} {execution:?} {on_exhausted:?}");
                    variants.push((name, variant));
                }
            }
        }
    }
    assert!(!variants.is_empty(), "{name}: no mix of policies checks");
    variants
}

/// An agent with a person in every place that there is, and every way in which they count.
fn with_people(name: &str) -> Vec<(String, Spec)> {
    let mut spec = agents::shipped(name).expect("a shipped agent");
    let most_steps = if spec.policy.execution == Execution::Sequential { 3 } else { 2 };
    spec.tools.iter_mut().take(1).for_each(|tool| tool.needs_approval = true);
    // Between one step and the next there is room for an orchestrator, side by side there is none.
    let beside = match spec.policy.orchestrate {
        Orchestrate::EachStep => Execution::Sequential,
        Orchestrate::Never => Execution::Parallel { width: 2 },
    };
    let mut variants = Vec::new();
    for approval in [Approval::PLAN, Approval::RISKY, Approval::ALL] {
        for (on_rejection, on_expiry, execution) in [
            (OnRejection::Stop, OnExpiry::Reject, Execution::Sequential),
            (OnRejection::Replan, OnExpiry::Stop, beside),
        ] {
            let mut variant = spec.clone();
            let policy = &mut variant.policy;
            (policy.approval, policy.on_rejection, policy.on_expiry) = (approval, on_rejection, on_expiry);
            policy.execution = execution;
            policy.plan.fields.retain(|field| *field != StepField::HitlQuestion || approval.steps);
            small(&mut variant, most_steps);
            let name = format!("{name} {approval:?} {on_rejection:?} {on_expiry:?} {execution:?}");
            variants.push((name, variant));
        }
    }
    variants
}

/// An agent with a tool that writes, here and in the agents that do its steps, under every way to contain it.
fn with_writes(name: &str) -> Vec<(String, Spec)> {
    let contained = [
        (Containment::Standard, OnUnauthorised::Refuse),
        (Containment::Standard, OnUnauthorised::Ask),
        (Containment::Strict, OnUnauthorised::Refuse),
        (Containment::Off, OnUnauthorised::Refuse),
    ];
    let send = || ToolContract::text("send", "Sends a text.", ToolEffect::Write);
    let variant = |(containment, on_unauthorised)| {
        let mut spec = agents::shipped(name).expect("a shipped agent");
        spec.tools.push(send());
        spec.policy.plan.fields.retain(|field| *field != StepField::With);
        for inner in spec.agents.iter_mut().filter_map(|agent| agent.spec.as_mut()) {
            inner.tools.push(send());
        }
        (spec.policy.containment, spec.policy.on_unauthorised) = (containment, on_unauthorised);
        spec.limits.max_questions = (on_unauthorised == OnUnauthorised::Ask).then_some(1);
        let ends = spec.policy.plan.final_step == FinalStep::Required;
        small(&mut spec, if ends { 3 } else { 2 });
        (format!("{name} {containment:?} {on_unauthorised:?}"), spec)
    };
    contained.map(variant).into()
}

/// The agents that do steps of this one, and those that do steps of theirs.
fn inside(name: &str, spec: &Spec) -> Vec<(String, Spec)> {
    let members = spec.agents.iter().filter_map(|member| Some((member.name.as_str(), member.spec.as_ref()?)));
    members
        .flat_map(|(member, inner)| {
            let name = format!("{name}/{member}");
            let deeper = inside(&name, inner);
            [(name, (**inner).clone())].into_iter().chain(deeper)
        })
        .collect()
}

#[track_caller]
fn holds(name: &str, spec: &Spec, checks: &[explore::Check]) {
    for check in checks {
        // Where the planner writes the answer itself, no run enters WRITE and nothing gates it.
        let must_be_tried = check.invariant != "gated" || spec.policy.write != Write::Planner;
        assert!(check.cases > 0 || !must_be_tried, "{name}: nothing was tried for `{}`", check.invariant);
        let (invariant, claim) = (&check.invariant, &check.claim);
        assert!(check.violations.is_empty(), "{name}: {invariant} ({claim}): {:#?}", check.violations);
    }
}

fn holds_as_shipped(name: &str) {
    holds(name, compiled(name).spec(), &walked(name).checks);
}

fn holds_in_variants(name: &str) {
    for (name, spec) in variants(name) {
        let compiled = spec.check().expect("checked above");
        holds(&name, compiled.spec(), &explore::explore(&compiled).checks);
    }
}

/// A walk that never gets to a person proves nothing of them.
fn holds_with_people(name: &str) {
    for (name, spec) in with_people(name) {
        let compiled = spec.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        let walked = explore::explore(&compiled);
        holds(&name, compiled.spec(), &walked.checks);
        let stages: BTreeSet<&str> = walked.keys.iter().map(|key| key.stage).collect();
        let approval = compiled.policy().approval;
        assert_eq!(stages.contains("approve"), approval.plan, "{name}: {stages:?}");
        let risky = approval.risky && !compiled.spec().tools.is_empty();
        assert_eq!(stages.contains("permit"), risky, "{name}: {stages:?}");
    }
}

fn holds_with_writes(name: &str) {
    for (name, spec) in with_writes(name) {
        let compiled = spec.check().unwrap_or_else(|error| panic!("{name}: {error}"));
        holds(&name, compiled.spec(), &explore::explore(&compiled).checks);
    }
}

for_every_agent!(every_invariant_holds_in_every_reachable_state_of, super::holds_as_shipped);
for_every_agent!(every_invariant_holds_under_every_mix_of_policies_of, super::holds_in_variants);
for_every_agent!(every_invariant_holds_where_tools_write_in, super::holds_with_writes);
for_every_agent!(every_invariant_holds_wherever_people_are_asked_by, super::holds_with_people);

/// Mixes that no shipped agent is like: drafts that keep what was done, in each way in which a branch
/// may look back at it.
#[test]
fn every_invariant_holds_where_drafts_look_back_at_what_was_done() {
    const ROLES: &str = "[roles.planner]\nprompt = 'p'\n[roles.conversation]\nprompt = 'c'\n";
    const JUDGE: &str = "[roles.validator]\nprompt = 'v'\n";
    const ORCHESTRATOR: &str = "[roles.orchestrator]\nprompt = 'o'\n\
        [[agents]]\nname = 'a'\ndescription = 'd'\nrole = { prompt = 'a' }\n\
        [[agents]]\nname = 'b'\ndescription = 'd'\nrole = { prompt = 'b' }\n";
    let judged = "on_replan = 'keep'\nvalidate = 'verdict'\nvalidate_at = 'answer'\nwrite = 'last_result'";
    let rounds = "horizon = 'next'\nplanner = 'tool_calls'\nvalidate = 'off'\nwrite = 'last_result'";
    let orchestrated = format!("{rounds}\norchestrate = 'each_step'");
    let skipping = |policy: &str| format!("{policy}\nduplicates = 'skip'");
    let two = "max_iterations = 2\nmax_added_steps = 1";
    let mixes = [
        ("tools = ['calc', 'search']", judged, "max_replans = 1", JUDGE),
        ("tools = ['calc']", &skipping(judged), "max_replans = 2", JUDGE),
        ("tools = ['calc', 'search']", rounds, "max_iterations = 2", ""),
        ("", &orchestrated, two, ORCHESTRATOR),
        ("", &skipping(&orchestrated), two, ORCHESTRATOR),
    ];
    for (tools, policy, limits, roles) in mixes {
        let plan = "plan = { min_steps = 0, max_steps = 2, final_step = 'none' }";
        let text =
            format!("name = 'mine'\n{tools}\n[policy]\n{policy}\n{plan}\n[limits]\n{limits}\n{ROLES}{roles}");
        let compiled = Spec::from_toml(&text).expect(&text).check().expect("checked as it was read");
        holds(policy, compiled.spec(), &explore::explore(&compiled).checks);
    }
}

#[test]
fn every_invariant_holds_in_the_agents_that_do_steps_of_others() {
    let shipped = |name| agents::shipped(name).expect("a shipped agent");
    let inner: Vec<(String, Spec)> = agents::names().flat_map(|name| inside(name, &shipped(name))).collect();
    assert!(!inner.is_empty(), "some shipped agent has agents of its own");
    for (name, spec) in inner {
        let compiled = spec.check().expect("checked as a part");
        holds(&name, compiled.spec(), &explore::explore(&compiled).checks);
    }
}

/// A change of the rules that adds or loses states shows here: the states and edges of each agent as
/// it was walked, and the bounds of the agent as it is shipped.
#[test]
fn the_number_of_reachable_states_is_known() {
    let counts: Vec<(&str, usize, usize, Bounds)> = agents::names()
        .map(|name| {
            let walked = walked(name);
            (name, walked.states, walked.edges, walked.bounds)
        })
        .collect();
    insta::assert_debug_snapshot!(counts);
}

#[test]
fn the_longest_run_is_exactly_as_long_as_the_bounds_worked_out_from_the_spec() {
    for name in agents::names() {
        let walked = walked(name);
        let (longest, bounds) = (walked.longest, walked.walked_bounds);
        assert_eq!(
            (longest.model_calls, longest.tool_calls),
            (bounds.model_calls, bounds.tool_calls),
            "{name}"
        );
        let spec = agents::shipped(name).expect("a shipped agent");
        let one_kind = spec.tools.is_empty() || spec.agents.is_empty();
        if one_kind && spec.policy.approval.is_never() {
            assert_eq!(longest.transitions, bounds.transitions, "{name}");
        } else {
            // A step is a tool call, a model call or a question to a person; the bounds allow for each.
            assert!(longest.transitions <= bounds.transitions, "{name}: {longest:?} of {bounds:?}");
        }
        assert_eq!(walked.bounds, compiled(name).bounds(), "{name}");
    }
    let of = |name| walked(name).bounds;
    assert_eq!(of("plan-then-execute"), Bounds { model_calls: 2, tool_calls: 5, transitions: 7 });
    assert_eq!(of("validated"), Bounds { model_calls: 14, tool_calls: 15, transitions: 29 });
    for name in ["plan-then-execute", "validated"] {
        assert_eq!(walked(name).longest, of(name), "{name} is walked with the numbers it is shipped with");
    }
}

#[test]
fn a_budget_below_what_the_plan_needs_ends_the_run_and_breaks_no_invariant() {
    for (calls, tools, transitions) in [(1, 1, 1), (2, 1, 3), (3, 0, 9), (5, 4, 6)] {
        let mut spec = agents::shipped("validated").expect("shipped");
        spec.limits.max_model_calls = Some(calls);
        spec.limits.max_tool_calls = Some(tools);
        spec.limits.max_transitions = Some(transitions);
        let report = explore::explore(&spec.check().expect("checks"));
        let violations: Vec<&String> = report.checks.iter().flat_map(|check| &check.violations).collect();
        assert!(violations.is_empty(), "{calls} {tools} {transitions}: {violations:#?}");
    }
}

#[test]
fn tools_of_every_kind_are_walked_whatever_their_input() {
    let mut booking = ToolContract::text("book", "Books a table.", ToolEffect::Write);
    booking.input = json!({
        "type": "object",
        "properties": {"people": {"type": "integer", "minimum": 2}, "day": {"enum": ["today", "tomorrow"]}},
        "required": ["people", "day"], "additionalProperties": false,
    });
    let mut report = ToolContract::text("report", "Reports, and may be repeated.", ToolEffect::Write);
    report.idempotent = Some(true);
    for final_step in [FinalStep::Required, FinalStep::None] {
        let mut spec = agents::shipped("validated").expect("shipped").with_tools(|tool| tool.name == "calc");
        spec.tools.extend([booking.clone(), report.clone()]);
        spec.policy.execution = Execution::Parallel { width: 2 };
        spec.policy.plan.final_step = final_step;
        spec.policy.plan.max_steps = 3;
        spec.limits.max_replans = 1;
        let compiled = spec.check().expect("checks");
        let explored = explore::explore(&compiled);
        holds(&format!("{final_step:?}"), compiled.spec(), &explored.checks);
        for tool in ["calc", "book", "report"] {
            let runs = |key: &explore::Key| {
                let steps = key.progress.iter().flat_map(|progress| &progress.steps);
                key.phase == PhaseName::Execute && steps.into_iter().any(|(name, _)| name.starts_with(tool))
            };
            assert!(explored.keys.iter().any(runs), "no plan with {tool} was walked");
        }
        // What may not happen twice never runs beside another step.
        let running = |key: &explore::Key| -> usize {
            let Some(plan) = &key.progress else { return 0 };
            let counted = plan.counts.iter().filter(|((status, _), _)| *status == "running");
            let listed =
                plan.steps.iter().filter(|(_, status)| status.is_some_and(|(status, _)| status == "running"));
            counted.map(|(_, count)| *count).sum::<usize>() + listed.count()
        };
        // Where steps are counted, all of them are alike, so one that runs is any of them.
        let books = |key: &explore::Key| {
            let mut steps = key.progress.iter().flat_map(|plan| &plan.steps);
            steps.any(|(tool, run)| {
                tool.starts_with("book") && run.is_none_or(|(status, _)| status == "running")
            })
        };
        assert!(!explored.keys.iter().any(|key| running(key) > 1 && books(key)));
        assert!(explored.keys.iter().any(|key| running(key) == 2));
        assert!(explored.keys.iter().any(|key| running(key) == 1 && books(key)));
    }
}

#[test]
fn a_spec_without_tools_still_has_a_graph() {
    let spec = agents::shipped("plan-then-execute").expect("shipped").with_tools(|_| false);
    let compiled = spec.check().expect("checks");
    let report = explore::explore(&compiled);
    holds("no tools", compiled.spec(), &report.checks);
    assert_eq!(report.longest.unwrap().tool_calls, 0);
}

#[test]
fn a_walk_that_takes_different_states_for_the_same_decides_nothing() {
    let compiled = agents::shipped("plan-then-execute").expect("shipped").check().expect("checks");
    let mut report = explore::explore(&compiled);
    assert_eq!((report.holds(), report.undecided()), (true, None));
    let fail = |report: &mut explore::Report, about_the_walk: bool| {
        let mut checks = report.checks.iter_mut();
        let check = checks.find(|check| check.is_about_the_walk() == about_the_walk).expect("a check");
        check.violations.push("state 1".into());
    };
    fail(&mut report, true);
    assert!(!report.holds());
    let why = "the walk took states for the same that are not: state 1";
    assert_eq!(report.undecided().as_deref(), Some(why));
    fail(&mut report, false);
    assert_eq!(report.undecided(), None, "what is violated for certain is decided");
}
