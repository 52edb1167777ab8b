//! Counting the most that any run of an agent can do, from its spec alone.

use super::{
    Bounds, CompiledAgent, CompiledSpec, Horizon, Intake, Orchestrate, RoleName, Spec, Validate, ValidateAt,
    Write,
};

impl CompiledSpec {
    /// Counts the most that any run can do, within the limits of the spec.
    pub fn bounds(&self) -> Bounds {
        *self.bounds.get_or_init(|| count(self))
    }
}

fn count(compiled: &CompiledSpec) -> Bounds {
    let (limits, policy) = (&compiled.spec().limits, compiled.policy());
    let steps = Steps::of(compiled);
    let own = own_replies(compiled, steps.planned);
    let cap = |limit: Option<u32>, count: u32| limit.unwrap_or(u32::MAX).min(count);
    let model_calls = cap(limits.max_model_calls, own.saturating_add(steps.model_calls));
    let tool_calls = cap(limits.max_tool_calls, steps.tool_calls);
    let calls = model_calls.saturating_add(tool_calls).saturating_add(steps.others);
    let all = calls.min(own.saturating_add(steps.transitions));
    // A person looks at each plan once.
    let approvals = if policy.approval.plan { drafts(compiled.spec()) } else { 0 };
    let transitions = cap(limits.max_transitions, all.saturating_add(approvals));
    Bounds { model_calls, tool_calls, transitions }
}

/// The most that the steps of a run can do.
struct Steps {
    /// Steps of plans, without those that an orchestrator adds.
    planned: u32,
    model_calls: u32,
    tool_calls: u32,
    /// Waits, and answers of people about steps.
    others: u32,
    /// All of it together: a step is done by a tool, a role, an agent or a person.
    transitions: u32,
}

impl Steps {
    fn of(compiled: &CompiledSpec) -> Self {
        let (spec, policy) = (compiled.spec(), compiled.policy());
        let planned = spec.most_working_steps().saturating_mul(drafts(spec));
        let added = if policy.orchestrate == Orchestrate::EachStep { spec.limits.max_added_steps } else { 0 };
        let all = planned.saturating_add(added);
        let tries = policy.step_tries.tries;
        let tried = all.saturating_mul(tries);
        // The most of one try.
        let (mut models, mut tools, mut others) = (0, u32::from(!spec.tools.is_empty()), 0);
        let mut transitions = tools;
        for agent in compiled.agents() {
            let (most, beside) = match agent {
                CompiledAgent::Role(_) => (Bounds { model_calls: 1, tool_calls: 0, transitions: 1 }, 0),
                CompiledAgent::Spec(inner) => {
                    let most = inner.bounds();
                    (most, most.transitions.saturating_sub(most.model_calls))
                }
            };
            models = models.max(most.model_calls);
            tools = tools.max(most.tool_calls);
            transitions = transitions.max(most.transitions);
            others = others.max(beside);
        }
        let asked = if policy.approval.steps { all } else { 0 };
        // A person is asked about a tool's step once, however often it is tried.
        let approvals =
            if spec.tools.iter().any(|tool| compiled.needs_approval(&tool.name)) { all } else { 0 };
        let waits = all.saturating_mul(tries - 1).saturating_add(approvals);
        Steps {
            planned,
            model_calls: tried.saturating_mul(models),
            tool_calls: tried.saturating_mul(tools),
            others: waits.max(asked).saturating_add(tried.saturating_mul(others)),
            transitions: tried.saturating_mul(transitions).saturating_add(waits).max(asked),
        }
    }
}

/// How often PLAN may be entered.
fn drafts(spec: &Spec) -> u32 {
    match spec.policy.horizon {
        Horizon::Next => spec.limits.max_iterations.unwrap_or(1),
        Horizon::Whole if spec.policy.can_replan() => 1 + spec.limits.max_replans,
        Horizon::Whole => 1,
    }
}

/// The most replies that the phases may ask for, repairs included, without those of the steps.
fn own_replies(compiled: &CompiledSpec, planned: u32) -> u32 {
    let (spec, policy) = (compiled.spec(), compiled.policy());
    let drafts = drafts(spec);
    let asks = |role: RoleName| if compiled.has(role) { 1 + compiled.repairs(role) } else { 0 };
    let intake = policy.intake.iter().map(|intake| match intake {
        Intake::Scope => asks(RoleName::Scope),
        Intake::PreviousContext => asks(RoleName::PreviousContext),
        Intake::Intent => asks(RoleName::Intent),
    });
    let planning = asks(RoleName::Planner).max(asks(RoleName::Replanner));
    let judging = if policy.validate == Validate::Off { 0 } else { asks(RoleName::Validator) };
    let writer = if policy.write == Write::Model { asks(RoleName::Writer) } else { 0 };
    let writing = writer.max(asks(RoleName::Conversation));
    let written = if policy.validate_at == ValidateAt::Answer { drafts } else { 1 };
    let decisions = match policy.orchestrate {
        Orchestrate::Never => 0,
        Orchestrate::EachStep => {
            let points = planned.saturating_add(spec.limits.max_added_steps).saturating_add(drafts);
            points.saturating_mul(asks(RoleName::Orchestrator))
        }
    };
    let parts = [drafts.saturating_mul(planning.saturating_add(judging)), written.saturating_mul(writing)];
    intake.chain(parts).fold(decisions, u32::saturating_add)
}
