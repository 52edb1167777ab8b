//! What the tables of broken machines are made of: small specs, and the ways to break the real machine.

use std::cell::RefCell;

use planwright::machine::explore::{self, Machine};
use planwright::machine::{Event, HumanAnswer, ModelReply, Refusal, Refused, State, Step, admit, transition};
use planwright::spec::{CompiledSpec, Spec};
use serde_json::Value;

use crate::promise::{altered, spec};

pub type Stepped = Result<Step, Box<Refused>>;

/// A machine that steps otherwise than the real one.
pub struct Broken<F>(pub F);

impl<F: Fn(&CompiledSpec, State, Event) -> Stepped> Machine for Broken<F> {
    fn transition(&self, compiled: &CompiledSpec, state: State, event: Event) -> Stepped {
        (self.0)(compiled, state, event)
    }
}

/// A machine that changes every step of the real one, knowing the state before it and what was fed.
pub fn bent_by(bend: impl Fn(&State, &Event, &mut Step) + 'static) -> Box<dyn Machine> {
    Box::new(Broken(move |compiled: &CompiledSpec, state: State, event: Event| {
        let before = (state.clone(), event.clone());
        let mut step = transition(compiled, state, event)?;
        bend(&before.0, &before.1, &mut step);
        Ok(step)
    }))
}

pub fn bent(bend: impl Fn(&State, &mut Step) + 'static) -> Box<dyn Machine> {
    bent_by(move |before, _, step| bend(before, step))
}

/// A machine that forgets or rewrites something of the task in every step for which there is a new value.
pub fn rewritten(
    rewrite: impl Fn(&State, &Step) -> Option<Vec<(&'static str, Value)>> + 'static,
) -> Box<dyn Machine> {
    bent(move |before, step| {
        let Some(values) = rewrite(before, step) else { return };
        step.state = altered(&step.state, |state| {
            for (pointer, value) in values {
                if let Some(field) = state.pointer_mut(pointer) {
                    *field = value;
                }
            }
        });
    })
}

/// A machine that hears something else than what was said.
pub fn mishears(hear: impl Fn(Event) -> Event + 'static) -> Box<dyn Machine> {
    Box::new(Broken(move |compiled: &CompiledSpec, state: State, event: Event| {
        // What is refused is refused as it came.
        if admit(compiled, &state, &event).is_err() {
            return transition(compiled, state, event);
        }
        transition(compiled, state, hear(event))
    }))
}

/// A machine that reads one text for another in what models say.
pub fn misreads(from: &'static str, to: &'static str) -> Box<dyn Machine> {
    mishears(move |event| match event {
        Event::ModelReplied { effect, reply } => {
            let text = reply.text.replace(from, to);
            Event::ModelReplied { effect, reply: ModelReply { text, ..reply } }
        }
        other => other,
    })
}

/// A machine to which people say something else.
pub fn misunderstands(hear: impl Fn(HumanAnswer) -> HumanAnswer + 'static) -> Box<dyn Machine> {
    mishears(move |event| match event {
        Event::HumanAnswered { effect, answer } => Event::HumanAnswered { effect, answer: hear(answer) },
        other => other,
    })
}

/// The real machine under other rules than those it is given.
pub fn ruled(change: impl Fn(&mut Spec) + 'static) -> Box<dyn Machine> {
    // One for each spec that is walked: as it is, and nested.
    let others: RefCell<Vec<(Spec, CompiledSpec)>> = RefCell::default();
    Box::new(Broken(move |compiled: &CompiledSpec, state, event| {
        let mut others = others.borrow_mut();
        let known = others.iter().position(|(spec, _)| spec == compiled.spec()).unwrap_or_else(|| {
            let mut spec = compiled.spec().clone();
            change(&mut spec);
            others.push((compiled.spec().clone(), spec.check().expect("other rules that check")));
            others.len() - 1
        });
        transition(&others[known].1, state, event)
    }))
}

/// A machine that also takes what should be refused.
pub struct Lax(pub fn(&Refusal) -> bool);

impl Machine for Lax {
    fn admit(&self, compiled: &CompiledSpec, state: &State, event: &Event) -> Result<(), Refusal> {
        admit(compiled, state, event)
            .or_else(|refusal| if (self.0)(&refusal) { Ok(()) } else { Err(refusal) })
    }

    fn transition(&self, compiled: &CompiledSpec, state: State, event: Event) -> Stepped {
        match transition(compiled, state, event) {
            Err(refused) if (self.0)(&refused.refusal) => {
                let Refused { state, event, .. } = *refused;
                let effect = event.effect().expect("a person's answer");
                transition(compiled, state, Event::HumanAnswered { effect, answer: HumanAnswer::Approve })
            }
            stepped => stepped,
        }
    }
}

/// One way to break the machine, the spec it is walked with, and the claim that catches it.
pub struct Kind {
    pub breaks: &'static str,
    pub caught_by: &'static str,
    pub spec: Spec,
    pub machine: Box<dyn Machine>,
}

pub fn kind(breaks: &'static str, caught_by: &'static str, spec: Spec, machine: Box<dyn Machine>) -> Kind {
    Kind { breaks, caught_by, spec, machine }
}

/// More states than a walk of the real machine has here. One that is broken may have them without end.
const MOST_STATES: usize = 2_000;

/// Walks every machine; each is caught by the claim that is about it, and the real one by none.
#[track_caller]
pub fn all_are_caught(kinds: Vec<Kind>) {
    let mut wrong = Vec::new();
    let mut walked: Vec<Spec> = Vec::new();
    for Kind { breaks, caught_by, spec, machine } in kinds {
        let compiled = spec.clone().check().unwrap_or_else(|error| panic!("{breaks}: {error}"));
        let violated = |machine: &dyn Machine| -> Vec<String> {
            let report = explore::explore_with(machine, &compiled, MOST_STATES / 4);
            let violated = report.checks.into_iter().filter(|check| !check.violations.is_empty());
            violated.map(|check| format!("{}: {}", check.invariant, check.violations[0])).collect()
        };
        if !walked.contains(&spec) {
            let real = explore::explore_with(&explore::Real, &compiled, MOST_STATES);
            assert!(real.holds(), "{breaks}: the real machine: {:#?}", violated(&explore::Real));
            walked.push(spec);
        }
        let found = violated(&*machine);
        if !found.iter().any(|found| found.starts_with(&format!("{caught_by}: "))) {
            wrong.push((breaks, caught_by, found));
        }
    }
    assert!(wrong.is_empty(), "not caught by the claim that is about it: {wrong:#?}");
}

fn with_tools(policy: &str, tools: &[&str]) -> Spec {
    spec(policy).with_tools(|tool| tools.contains(&&*tool.name))
}

/// One call, judged, with a replan and a repair.
pub fn judged() -> Spec {
    let policy = "validate = 'verdict'\non_step_failure = 'replan'\non_bad_reply = 'repair'\nplan = { max_steps = 1 }\n\
                  [limits]\nmax_replans = 1\nmax_repairs = 1\n[roles.replanner]\nprompt = 'r'";
    with_tools(policy, &["calc"])
}

/// A plan that a person approves, with a person's step and a call that needs a yes.
pub fn people(on_no: &str) -> Spec {
    let policy = format!(
        "{on_no}\non_step_failure = 'replan'\napproval = ['plan', 'risky', 'steps']\nplan = {{ max_steps = 2 }}\n[limits]\nmax_replans = 1"
    );
    crate::promise::with_risky(with_tools(&policy, &["calc"]), "calc")
}

/// Writes that may happen once, side by side if the rules let them, with a replan after a failed one.
pub fn writing() -> Spec {
    let policy = "on_step_failure = 'replan'\nstep_tries = { tries = 2 }\nexecution = { mode = 'parallel', width = 2 }\n\
                  plan = { max_steps = 2 }\n[limits]\nmax_replans = 1";
    with_tools(policy, &["calc", "send"])
}

/// Calls that may be tried again.
pub fn trying() -> Spec {
    writing().with_tools(|tool| tool.name == "calc")
}

/// Steps that wait for one another.
pub fn chained() -> Spec {
    with_tools("plan = { min_steps = 3, max_steps = 3 }", &["calc"])
}

/// A second draft after a failed step, which keeps what was done.
pub fn kept() -> Spec {
    let policy =
        "on_replan = 'keep'\non_step_failure = 'replan'\nplan = { max_steps = 2 }\n[limits]\nmax_replans = 1";
    with_tools(policy, &["calc", "find"])
}

/// Agents, and an orchestrator that looks at what they found.
pub fn orchestrated() -> Spec {
    let policy = "orchestrate = 'each_step'\nplan = { max_steps = 1 }\n[limits]\nmax_added_steps = 1";
    let agents = ["a", "b"].map(crate::promise::role_agent);
    crate::promise::with_agents(with_tools(policy, &[]), agents)
}

/// A whole agent that does steps with a tool that may not be trusted.
pub fn nested() -> Spec {
    let policy = "on_step_failure = 'replan'\nplan = { max_steps = 2 }\n[limits]\nmax_replans = 1";
    let team = crate::promise::team_with("team", |tool| ["find", "send"].contains(&&*tool.name));
    crate::promise::with_agents(with_tools(policy, &["find"]), [team])
}

/// Budgets and prices.
pub fn spending(limits: &str) -> Spec {
    let policy =
        format!("plan = {{ max_steps = 2 }}\n[limits]\n{limits}\n[prices.m]\ninput = 1000\noutput = 1000");
    with_tools(&policy, &["calc"])
}

/// What is asked before a plan.
pub fn asking_first() -> Spec {
    with_tools("intake = ['scope', 'intent']\nplan = { max_steps = 1 }", &["calc"])
}
