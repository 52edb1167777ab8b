//! Channel: what can reach a planner once untrusted output was read, and what may run then, from the spec alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::contract::{Label, ToolContract, ToolEffect, Validate};
use crate::machine::state::{FAILURE_KINDS, MOST_COUNTED};
use crate::spec::{CompiledAgent, CompiledSpec, Containment, Orchestrate};

/// What can happen once untrusted output was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Channel {
    /// Whether planners are shown what was read: those that go on round by round, and those without containment.
    pub shows_results: bool,
    /// How many bits of it can reach the planner by one new plan, if there can be one.
    pub bits_per_replan: Option<u32>,
    /// How many can reach the orchestrator between two of its decisions, if there is one.
    pub bits_per_decision: Option<u32>,
    /// The most questions that a person may be asked.
    pub most_questions: u32,
    /// The most values of one plan that a model writes into calls after it has read something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_filled: Option<u32>,
    /// The tools that may run with any input, and nobody is asked.
    pub any_input: Vec<String>,
    /// Those of them that write: whoever writes what a run reads can have them called.
    pub unguarded: Vec<String>,
    /// The tools that may run as a plan from before says, and nobody is asked.
    pub planned_before: Vec<String>,
    /// The worst that each of their arguments may hold then, by its place in the input. An argument that is not here may
    /// hold anything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, BTreeMap<String, Label>>,
    /// The tools of which a person is asked, whatever the plan says.
    pub asked: Vec<String>,
    /// The agents within whose planners are shown what the run has read for them to work on. Their plans add no call that
    /// is guarded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_within: Vec<String>,
}

impl Channel {
    /// Counts it for a spec, the agents that do steps included.
    pub fn of(compiled: &CompiledSpec) -> Self {
        let policy = compiled.policy();
        let closed = policy.closes_planning();
        let mut channel = Channel {
            shows_results: !closed,
            bits_per_replan: (closed && policy.can_replan()).then(|| replan_bits(compiled)),
            bits_per_decision: (closed && policy.orchestrate == Orchestrate::EachStep).then(decision_bits),
            most_questions: compiled.most_questions(),
            most_filled: compiled.plan().offers_holes().then_some(policy.plan.max_holes),
            ..Channel::default()
        };
        channel.add_tools(compiled, "");
        channel
    }

    fn add_tools(&mut self, compiled: &CompiledSpec, within: &str) {
        for tool in &compiled.spec().tools {
            let name = format!("{within}{}", tool.name);
            if compiled.needs_approval(&tool.name) {
                self.asked.push(name);
            } else if compiled.policy().containment.guards(tool) {
                self.arguments.insert(name.clone(), arguments(tool, compiled.policy().containment));
                self.planned_before.push(name);
            } else {
                self.unguarded.extend((tool.effect == ToolEffect::Write).then(|| name.clone()));
                self.any_input.push(name);
            }
        }
        for (agent, doer) in compiled.spec().agents.iter().zip(compiled.agents()) {
            if let CompiledAgent::Spec(inner) = doer {
                let name = format!("{within}{}", agent.name);
                self.add_tools(inner, &format!("{name}/"));
                self.shown_within.extend((!self.shows_results).then_some(name));
            }
        }
    }
}

/// The worst that each argument of a guarded tool may hold, if nobody is asked.
fn arguments(tool: &ToolContract, containment: Containment) -> BTreeMap<String, Label> {
    let strict = containment == Containment::Strict;
    let named = tool.input["properties"].as_object().into_iter().flat_map(|fields| fields.keys());
    let named = named.map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
    let declared = tool.arguments.keys().chain(&tool.egress).cloned();
    let mut places: BTreeSet<String> = named.chain(declared).collect();
    if places.is_empty() {
        places.insert(String::new());
    }
    let most = |place: &str| match tool.effect {
        ToolEffect::Write => Some(Label::most_that_fills(tool.role_at(place), tool.grave, strict)),
        _ => (strict || tool.is_egress(place)).then(|| Label::most_that_leaves(strict)),
    };
    places.into_iter().filter_map(|place| Some((place.clone(), most(&place)?))).collect()
}

/// What became of each step: not begun, completed, left out, or failed in one of the kinds. Of a verdict besides: that
/// it was a no, one of four words, and which steps it is about.
fn replan_bits(compiled: &CompiledSpec) -> u32 {
    let steps = f64::from(compiled.most_working_steps());
    let states = f64::from(3 + FAILURE_KINDS.len() as u32);
    let verdict = if compiled.policy().validate == Validate::Off { 0.0 } else { 1.0 + 2.0 + steps };
    (steps * states.log2() + verdict).ceil() as u32
}

/// Of the step that ended since: that it failed, or its number of results up to the most that is told.
fn decision_bits() -> u32 {
    f64::from(MOST_COUNTED as u32 + 2).log2().ceil() as u32
}
