//! Every invariant holds in every reachable state of every shipped agent, and each check is able to
//! fail: a machine broken on purpose is caught by the check that is about it.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use planwright::agents;
use planwright::contract::{FinalStep, StepField, ToolContract, ToolEffect};
use planwright::machine::explore::{self, Machine};
use planwright::machine::{Effect, EffectKind, Event, PhaseName, Refusal, Refused, State, Step};
use planwright::spec::{
    Approval, Bounds, CompiledSpec, Execution, OnExhausted, OnExpiry, OnRejection, OnStepFailure,
    Orchestrate, Spec, Write,
};
use serde_json::json;

use crate::promise::altered;

fn rules(name: &str) -> CompiledSpec {
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
        let rules = rules(name);
        let report = explore::explore(&rules);
        let small = explore::reduced(rules.spec().clone(), &mut Vec::new()).check().expect("checks");
        Walked {
            states: report.states,
            edges: report.edges.len(),
            longest: report.longest,
            walked_bounds: small.bounds(),
            bounds: report.bounds,
            checks: report.checks,
        }
    })
}

/// An agent with every policy that the tables of the agents combine.
fn variants(name: &str) -> Vec<(String, Spec)> {
    let mut variants = Vec::new();
    let spec = agents::shipped(name).expect("a shipped agent");
    // A round or a member more adds states of the same kinds, and the walk of the agent itself has them.
    let few = spec.limits.max_iterations.is_some() || !spec.agents.is_empty();
    for on_step_failure in [OnStepFailure::Record, OnStepFailure::Replan, OnStepFailure::Abort] {
        for execution in [Execution::Sequential, Execution::Parallel { width: 2 }] {
            for on_exhausted in [OnExhausted::Fail, OnExhausted::Write] {
                let mut variant = spec.clone();
                variant.policy.on_step_failure = on_step_failure;
                variant.policy.execution = execution;
                variant.policy.on_exhausted = on_exhausted;
                variant.policy.plan.max_steps = if few { 2 } else { 4 };
                if variant.policy.can_replan() {
                    variant.limits.max_replans = 1;
                }
                // A planner that answers itself may have to make two calls before.
                let rounds = if spec.policy.write == Write::Planner { 3 } else { 2 };
                variant.limits.max_iterations = spec.limits.max_iterations.map(|_| rounds);
                if variant.policy.orchestrate == Orchestrate::EachStep {
                    variant.limits.max_added_steps = 1;
                }
                let name = format!("{name} {on_step_failure:?} {execution:?} {on_exhausted:?}");
                if variant.clone().check().is_ok() {
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
    spec.policy.plan.max_steps = if spec.policy.execution == Execution::Sequential { 3 } else { 2 };
    let rounds = if spec.policy.write == Write::Planner { 3 } else { 2 };
    spec.limits.max_iterations = spec.limits.max_iterations.map(|_| rounds);
    if spec.policy.orchestrate == Orchestrate::EachStep {
        spec.limits.max_added_steps = 1;
    }
    if let Some(tool) = spec.tools.first_mut() {
        tool.needs_approval = true;
    }
    let mut variants = Vec::new();
    // Between one step and the next there is room for an orchestrator, side by side there is none.
    let beside = match spec.policy.orchestrate {
        Orchestrate::EachStep => Execution::Sequential,
        Orchestrate::Never => Execution::Parallel { width: 2 },
    };
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
            // A limit that nothing reads is refused.
            if policy.can_replan() {
                variant.limits.max_replans = 1;
            }
            variants
                .push((format!("{name} {approval:?} {on_rejection:?} {on_expiry:?} {execution:?}"), variant));
        }
    }
    variants
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
        assert!(
            check.violations.is_empty(),
            "{name}: {} ({}): {:#?}",
            check.invariant,
            check.claim,
            check.violations
        );
    }
}

/// A walk that never gets to a person proves nothing of them.
#[track_caller]
fn asks_where_it_says<'k>(
    name: &str,
    rules: &CompiledSpec,
    keys: impl IntoIterator<Item = &'k explore::Key>,
) {
    let stages: std::collections::BTreeSet<&str> = keys.into_iter().map(|key| key.stage).collect();
    let approval = rules.policy().approval;
    assert_eq!(stages.contains("awaiting_approval"), approval.plan, "{name}: {stages:?}");
    let risky = approval.risky && !rules.spec().tools.is_empty();
    assert_eq!(stages.contains("awaiting_permit"), risky, "{name}: {stages:?}");
}

/// One test for each shipped agent, so that they run side by side.
macro_rules! for_every_agent {
    ($($test:ident: $name:literal,)*) => {
        mod every_invariant_holds_in_every_reachable_state_of {
            $(#[test] fn $test() { super::holds($name, super::rules($name).spec(), &super::walked($name).checks); })*
        }

        mod every_invariant_holds_under_every_mix_of_policies_of {
            $(#[test] fn $test() {
                for (name, spec) in super::variants($name) {
                    let rules = spec.check().expect("checked above");
                    super::holds(&name, rules.spec(), &super::explore::explore(&rules).checks);
                }
            })*
        }

        mod every_invariant_holds_wherever_people_are_asked_by {
            $(#[test] fn $test() {
                for (name, spec) in super::with_people($name) {
                    let rules = spec.check().unwrap_or_else(|error| panic!("{name}: {error}"));
                    let walked = super::explore::explore(&rules);
                    super::holds(&name, rules.spec(), &walked.checks);
                    super::asks_where_it_says(&name, &rules, &walked.keys);
                }
            })*
        }

        #[test]
        fn every_shipped_agent_is_walked() {
            assert_eq!(agents::names().collect::<Vec<_>>(), [$($name),*]);
        }
    };
}

for_every_agent! {
    plan_then_execute: "plan-then-execute",
    validated: "validated",
    intent_first: "intent-first",
    evaluate_loop: "evaluate-loop",
    orchestrated: "orchestrated",
    supervised: "supervised",
    react: "react",
    conversational: "conversational",
    self_ask: "self-ask",
    docstore: "docstore",
    research_team: "research-team",
}

/// Mixes that no shipped agent is like: drafts that keep what was done, in each way in which a branch
/// may look back at it.
#[test]
fn every_invariant_holds_where_drafts_look_back_at_what_was_done() {
    const ROLES: &str = "[roles.planner]\nprompt = 'p'\n[roles.conversation]\nprompt = 'c'\n";
    const WORKERS: &str = "[[agents]]\nname = 'a'\ndescription = 'd'\nrole = { prompt = 'a' }\n\
        [[agents]]\nname = 'b'\ndescription = 'd'\nrole = { prompt = 'b' }\n";
    let judged = "on_replan = 'keep'\nvalidate = 'verdict'\nvalidate_at = 'answer'\nwrite = 'last_result'";
    let judge = "[roles.validator]\nprompt = 'v'\n";
    let rounds = "horizon = 'next'\nplanner = 'tool_calls'\nvalidate = 'off'\nwrite = 'last_result'";
    let orchestrated = format!("{rounds}\norchestrate = 'each_step'");
    let orchestrator = format!("[roles.orchestrator]\nprompt = 'o'\n{WORKERS}");
    let mixes = [
        ("tools = ['calc', 'search']", judged, "max_replans = 1", judge),
        ("tools = ['calc']", &format!("{judged}\nduplicates = 'skip'"), "max_replans = 2", judge),
        ("tools = ['calc', 'search']", rounds, "max_iterations = 2", ""),
        ("", &orchestrated, "max_iterations = 2\nmax_added_steps = 1", &orchestrator),
        (
            "",
            &format!("{orchestrated}\nduplicates = 'skip'"),
            "max_iterations = 2\nmax_added_steps = 1",
            &orchestrator,
        ),
    ];
    for (tools, policy, limits, roles) in mixes {
        let plan = "plan = { min_steps = 0, max_steps = 2, final_step = 'none' }";
        let text =
            format!("name = 'mine'\n{tools}\n[policy]\n{policy}\n{plan}\n[limits]\n{limits}\n{ROLES}{roles}");
        let rules = agents::load(&text).expect(&text).check().expect("checked as it was read");
        holds(policy, rules.spec(), &explore::explore(&rules).checks);
    }
}

#[test]
fn every_invariant_holds_in_the_agents_that_do_steps_of_others() {
    let shipped = |name| agents::shipped(name).expect("a shipped agent");
    let inner: Vec<(String, Spec)> = agents::names().flat_map(|name| inside(name, &shipped(name))).collect();
    assert!(!inner.is_empty(), "some shipped agent has agents of its own");
    for (name, spec) in inner {
        let rules = spec.check().expect("checked as a part");
        holds(&name, rules.spec(), &explore::explore(&rules).checks);
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
        assert_eq!(walked.bounds, rules(name).bounds(), "{name}");
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

/// Walks a broken machine and expects the check of this name to catch it.
#[track_caller]
fn caught_by(invariant: &str, machine: &dyn Machine) {
    let mut spec = agents::shipped("validated").expect("shipped");
    spec.policy.plan.max_steps = 2;
    spec.limits.max_replans = 1;
    let report = explore::explore_with(machine, &spec.check().expect("checks"));
    let check =
        report.checks.iter().find(|check| check.invariant == invariant).expect("a check of this name");
    assert!(!check.violations.is_empty(), "{invariant} did not catch it");
}

struct Panics;

impl Machine for Panics {
    fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        assert!(!matches!(event, Event::DeadlinePassed), "a deadline is not thought of");
        planwright::machine::transition(rules, state, event)
    }
}

#[test]
fn a_machine_that_panics_is_not_total() {
    caught_by("total", &Panics);
}

/// Changes every step that the real machine takes.
struct Bent<F>(F);

impl<F: Fn(&State, &CompiledSpec, &mut Step)> Machine for Bent<F> {
    fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
        let before = state.clone();
        let mut step = planwright::machine::transition(rules, state, event)?;
        (self.0)(&before, rules, &mut step);
        Ok(step)
    }
}

#[test]
fn a_machine_that_forgets_to_count_replans_is_not_bounded() {
    caught_by(
        "bounded",
        &Bent(|_: &State, _: &CompiledSpec, step: &mut Step| {
            step.state = altered(&step.state, |state| {
                let task = &mut state["task"];
                (task["counters"]["replans"], task["draft"]) = (json!(0), json!(1));
                (task["drafts"], task["artifacts"]["past"]) = (json!([task["drafts"][0]]), json!([]));
            });
        }),
    );
}

#[test]
fn a_machine_that_asks_twice_is_not_bounded() {
    caught_by(
        "bounded",
        &Bent(|_: &State, _: &CompiledSpec, step: &mut Step| {
            let again = step.effects.clone();
            step.effects.extend(again);
        }),
    );
}

#[test]
fn a_machine_that_allows_one_replan_too_many_is_caught() {
    struct OneMore(std::cell::OnceCell<CompiledSpec>);
    impl Machine for OneMore {
        fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
            let lax = self.0.get_or_init(|| {
                let mut spec = rules.spec().clone();
                spec.limits.max_replans += 1;
                spec.check().expect("checks")
            });
            planwright::machine::transition(lax, state, event)
        }
    }
    caught_by("replans", &OneMore(std::cell::OnceCell::new()));
}

#[test]
fn a_machine_that_writes_after_a_rejection_is_not_gated() {
    caught_by(
        "gated",
        &Bent(|_: &State, _: &CompiledSpec, step: &mut Step| {
            if let Some(last) = step.moves.last_mut()
                && last.to == PhaseName::Plan
            {
                last.to = PhaseName::Write;
                let writing = json!({"WRITE": {"gate": "exhausted", "ask": 1}});
                step.state = altered(&step.state, |state| state["phase"] = writing);
            }
        }),
    );
}

#[test]
fn a_machine_that_takes_an_answer_twice_is_caught() {
    struct Forgetful;
    impl Machine for Forgetful {
        fn admit(&self, rules: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
            match planwright::machine::admit(rules, state, event) {
                Err(Refusal::AlreadyAnswered(_)) => Ok(()),
                other => other,
            }
        }
    }
    caught_by("answered once", &Forgetful);
}

#[test]
fn a_machine_that_takes_any_id_is_caught() {
    struct Trusting;
    impl Machine for Trusting {
        fn transition(
            &self,
            rules: &CompiledSpec,
            state: State,
            mut event: Event,
        ) -> Result<Step, Box<Refused>> {
            if let Some(Effect::AskModel { id, .. }) = planwright::machine::outstanding(rules, &state).first()
                && let Event::ModelReplied { effect, .. } = &mut event
            {
                *effect = *id;
            }
            planwright::machine::transition(rules, state, event)
        }
    }
    caught_by("answered once", &Trusting);
}

#[test]
fn a_machine_that_goes_on_after_the_end_is_not_terminal() {
    caught_by(
        "terminal",
        &Bent(|_: &State, _: &CompiledSpec, step: &mut Step| {
            if step.state.phase.name() == PhaseName::Done {
                let id = EffectKind::Write { draft: 1, ask: 1 }.into();
                step.effects.push(Effect::AskModel { id, role: planwright::spec::RoleName::Writer });
            }
        }),
    );
}

#[test]
fn a_machine_that_remembers_outside_its_state_is_not_faithful() {
    struct Counting(std::cell::Cell<u32>);
    impl Machine for Counting {
        fn transition(&self, rules: &CompiledSpec, state: State, event: Event) -> Result<Step, Box<Refused>> {
            let mut step = planwright::machine::transition(rules, state, event)?;
            self.0.set(self.0.get() + 1);
            let calls = self.0.get();
            step.state = altered(&step.state, |state| {
                state["task"]["counters"]["usage"]["cached_tokens"] = json!(calls);
            });
            Ok(step)
        }
    }
    caught_by("faithful", &Counting(std::cell::Cell::new(0)));
}

#[test]
fn a_branch_on_something_the_abstraction_drops_is_caught() {
    // The reason of a rejection is dropped; a machine that reads it acts differently in states that
    // are told to be the same.
    caught_by(
        "abstraction",
        &Bent(|before: &State, _: &CompiledSpec, step: &mut Step| {
            let failures = before.task.failures.len();
            if step.state.phase.name() == PhaseName::Execute && failures > 0 && before.task.draft > 1 {
                step.state = altered(&step.state, |state| {
                    state["phase"] = json!("ERROR");
                    state["task"]["artifacts"]["error"] = json!({"code": "CANCELLED", "message": "…"});
                });
                step.effects.clear();
                step.moves.clear();
            }
        }),
    );
}

#[test]
fn tools_of_every_kind_are_walked_whatever_their_input() {
    let mut booking = ToolContract::text("book", "Books a table.", ToolEffect::Write);
    booking.input = serde_json::json!({
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
        let rules = spec.check().expect("checks");
        let explored = explore::explore(&rules);
        holds(&format!("{final_step:?}"), rules.spec(), &explored.checks);
        for tool in ["calc", "book", "report"] {
            let runs = |key: &explore::Key| {
                let steps = key.progress.iter().flat_map(|progress| &progress.steps);
                key.phase == PhaseName::Execute && steps.into_iter().any(|step| step.tool == tool)
            };
            assert!(explored.keys.iter().any(runs), "no plan with {tool} was walked");
        }
        // What may not happen twice never runs beside another step.
        let running = |key: &explore::Key| -> usize {
            let Some(plan) = &key.progress else { return 0 };
            let counted = plan.counts.iter().filter(|((status, _), _)| *status == "running");
            let listed =
                plan.steps.iter().filter(|step| step.status.is_some_and(|(status, _)| status == "running"));
            counted.map(|(_, count)| *count).sum::<usize>() + listed.count()
        };
        // Where steps are counted, all of them are alike, so one that runs is any of them.
        let books = |key: &explore::Key| {
            let mut steps = key.progress.iter().flat_map(|plan| &plan.steps);
            steps.any(|step| step.tool == "book" && step.status.is_none_or(|(status, _)| status == "running"))
        };
        assert!(!explored.keys.iter().any(|key| running(key) > 1 && books(key)));
        assert!(explored.keys.iter().any(|key| running(key) == 2));
        assert!(explored.keys.iter().any(|key| running(key) == 1 && books(key)));
    }
}

#[test]
fn a_machine_that_starts_a_step_without_asking_is_not_total() {
    caught_by(
        "total",
        &Bent(|_: &State, _: &CompiledSpec, step: &mut Step| {
            step.effects.retain(|effect| !matches!(effect, Effect::CallTool { .. }));
        }),
    );
}

#[test]
fn a_spec_without_tools_still_has_a_graph() {
    let spec = agents::shipped("plan-then-execute").expect("shipped").with_tools(|_| false);
    let rules = spec.check().expect("checks");
    let report = explore::explore(&rules);
    holds("no tools", rules.spec(), &report.checks);
    assert_eq!(report.longest.tool_calls, 0);
}

#[test]
fn a_walk_that_takes_different_states_for_the_same_decides_nothing() {
    let rules = agents::shipped("plan-then-execute").expect("shipped").check().expect("checks");
    let mut report = explore::explore(&rules);
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
