//! Counting the most that any run of an agent can do, from its spec alone.

use super::{
    Bounds, CompiledAgent, CompiledSpec, Horizon, Intake, Orchestrate, RoleName, Spec, Validate, ValidateAt,
    Write,
};

/// Wide enough for any product of limits; what comes out of it is cut to 32 bits.
type Count = u128;

impl CompiledSpec {
    /// Counts the most that any run can do, within the limits of the spec.
    pub fn bounds(&self) -> Bounds {
        *self.bounds.get_or_init(|| count(self))
    }

    /// Counts the most questions that any run can ask a person, those of its agents' own runs included.
    pub fn most_questions(&self) -> u32 {
        let (spec, policy) = (self.spec(), self.policy());
        let drafts = most_drafts(spec);
        let added = if policy.orchestrate == Orchestrate::EachStep { spec.limits.max_added_steps } else { 0 };
        let steps = Count::from(spec.most_working_steps()) * drafts + Count::from(added);
        let asks = policy.approval.steps || spec.tools.iter().any(|tool| self.may_ask(&tool.name));
        let asks = Count::from(asks) + Count::from(self.most_picks());
        let inner = self.agents().iter().map(|agent| match agent {
            CompiledAgent::Role(_) => 0,
            CompiledAgent::Spec(inner) => inner.most_questions(),
        });
        let nested = Count::from(inner.max().unwrap_or(0)) * Count::from(policy.step_tries.tries);
        let plans = if policy.approval.plan { drafts } else { 0 };
        u32::try_from(plans + steps * nested.max(asks)).unwrap_or(u32::MAX)
    }

    /// How often an agent begins a run once more because its first was only refused: once, if a call of it may be.
    pub(crate) fn runs_anew(&self) -> u32 {
        u32::from(self.spec().tools.iter().any(|tool| self.policy().containment.guards(tool)))
    }

    /// The most steps of one plan that a tool, an agent or a person has to do.
    pub(crate) fn most_working_steps(&self) -> u32 {
        self.spec().most_working_steps()
    }
}

fn count(compiled: &CompiledSpec) -> Bounds {
    let (spec, limits, policy) = (compiled.spec(), &compiled.spec().limits, compiled.policy());
    let drafts = most_drafts(spec);
    let orchestrated = policy.orchestrate == Orchestrate::EachStep;
    let planned = Count::from(spec.most_working_steps()) * drafts;
    let steps = planned + if orchestrated { limits.max_added_steps.into() } else { 0 };
    let tries = Count::from(policy.step_tries.tries);
    // The most of one try: it is done by a tool, a role, an agent or a person.
    let mut one = Bounds { model_calls: 0, tool_calls: u32::from(!spec.tools.is_empty()), transitions: 0 };
    one.transitions = one.tool_calls;
    let (mut besides_models, mut anew) = (0, 0);
    for agent in compiled.agents() {
        let most = match agent {
            CompiledAgent::Role(_) => Bounds { model_calls: 1, tool_calls: 0, transitions: 1 },
            CompiledAgent::Spec(inner) => {
                anew = anew.max(inner.runs_anew());
                inner.bounds()
            }
        };
        one.model_calls = one.model_calls.max(most.model_calls);
        one.tool_calls = one.tool_calls.max(most.tool_calls);
        one.transitions = one.transitions.max(most.transitions);
        besides_models = besides_models.max(most.transitions.saturating_sub(most.model_calls));
    }
    let of_tries = |each: u32| steps * (tries + Count::from(anew)) * Count::from(each);
    let answers = if policy.approval.steps { steps } else { 0 };
    // A person is asked about a tool's step once, however often it is tried, and looks at each plan once.
    let asks_first = spec.tools.iter().any(|tool| compiled.may_ask(&tool.name));
    let first = Count::from(asks_first) + Count::from(compiled.most_picks());
    let waits = steps * (tries - 1 + first);
    let approvals = if policy.approval.plan { drafts } else { 0 };
    let points = if orchestrated { planned + Count::from(limits.max_added_steps) + drafts } else { 0 };
    let replies = most_replies(compiled, drafts, points);
    let cap = |limit: Option<u32>, count: Count| {
        limit.unwrap_or(u32::MAX).min(u32::try_from(count).unwrap_or(u32::MAX))
    };
    let model_calls = cap(limits.max_model_calls, replies + of_tries(one.model_calls));
    let tool_calls = cap(limits.max_tool_calls, of_tries(one.tool_calls));
    let others = waits.max(answers) + of_tries(besides_models);
    let by_calls = Count::from(model_calls) + Count::from(tool_calls) + others;
    let by_steps = replies + (of_tries(one.transitions) + waits).max(answers);
    let transitions = cap(limits.max_transitions, by_calls.min(by_steps) + approvals);
    Bounds { model_calls, tool_calls, transitions }
}

/// How often PLAN may be entered.
fn most_drafts(spec: &Spec) -> Count {
    match spec.policy.horizon {
        Horizon::Next => spec.limits.max_iterations.unwrap_or(1).into(),
        Horizon::Whole if spec.policy.can_replan() => 1 + Count::from(spec.limits.max_replans),
        Horizon::Whole => 1,
    }
}

/// The most replies of the phases, repairs included. `points` says how often the orchestrator decides.
fn most_replies(compiled: &CompiledSpec, drafts: Count, points: Count) -> Count {
    let policy = compiled.policy();
    let repairs = |role| Count::from(compiled.repairs(role, false).max(compiled.repairs(role, true)));
    let asks = |role: RoleName| if compiled.has(role) { 1 + repairs(role) } else { 0 };
    let intake = policy.intake.iter().map(|intake| match intake {
        Intake::Scope => asks(RoleName::Scope),
        Intake::PreviousContext => asks(RoleName::PreviousContext),
        Intake::Intent => asks(RoleName::Intent),
    });
    let granting = if compiled.asks_grant() { asks(RoleName::Grant) } else { 0 };
    let planning = asks(RoleName::Planner).max(asks(RoleName::Replanner));
    let judging = if policy.validate == Validate::Off { 0 } else { asks(RoleName::Validator) };
    let writer = if policy.write == Write::Model { asks(RoleName::Writer) } else { 0 };
    let written = if policy.validate_at == ValidateAt::Answer { drafts } else { 1 };
    let writing = written * writer.max(asks(RoleName::Conversation));
    let filling = Count::from(policy.plan.max_holes) * asks(RoleName::Executor);
    let in_drafts = drafts * (planning + judging + filling);
    intake.sum::<Count>() + granting + in_drafts + writing + points * asks(RoleName::Orchestrator)
}
