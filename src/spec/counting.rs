//! Counting: how the bounds of a run follow from its spec.

use super::{
    Bounds, CompiledSpec, Doer, Horizon, Intake, Orchestrate, RoleName, Spec, Validate, ValidateAt, Write,
};

impl CompiledSpec {
    /// The most that any run can do; the limits of the spec itself are counted in.
    pub fn bounds(&self) -> Bounds {
        *self.bounds.get_or_init(|| count(self))
    }
}

fn count(rules: &CompiledSpec) -> Bounds {
    let spec = rules.spec();
    let steps = Steps::of(rules);
    let model_calls = spec
        .limits
        .max_model_calls
        .unwrap_or(u32::MAX)
        .min(own_replies(rules, &steps).saturating_add(steps.model_calls));
    let tool_calls = spec.limits.max_tool_calls.unwrap_or(u32::MAX).min(steps.tool_calls);
    let calls = [model_calls, tool_calls, steps.others].into_iter().fold(0, u32::saturating_add);
    let all = calls.min(own_replies(rules, &steps).saturating_add(steps.transitions));
    // A person looks at each plan once.
    let approvals = if spec.policy.approval.plan { drafts(spec) } else { 0 };
    let all = all.saturating_add(approvals);
    let transitions = spec.limits.max_transitions.unwrap_or(u32::MAX).min(all);
    Bounds { model_calls, tool_calls, transitions }
}

/// The most that the steps of a run can do.
struct Steps {
    /// Steps of plans, added ones not included.
    planned: u32,
    model_calls: u32,
    tool_calls: u32,
    /// Waits, and answers of people; those about whole plans not.
    others: u32,
    /// All of it together: a step is done by a tool, by a role, by an agent or by a person.
    transitions: u32,
}

impl Steps {
    fn of(rules: &CompiledSpec) -> Self {
        let spec = rules.spec();
        let planned = spec.most_working_steps().saturating_mul(drafts(spec));
        let added =
            if spec.policy.orchestrate == Orchestrate::EachStep { spec.limits.max_added_steps } else { 0 };
        let all = planned.saturating_add(added);
        let tries = spec.policy.step_tries.tries;
        let tried = all.saturating_mul(tries);
        let (mut models, mut tools, mut others) = (0, u32::from(!spec.tools.is_empty()), 0);
        let mut moves = tools;
        for doer in rules.doers() {
            let Doer::Agent(inner) = doer else {
                (models, moves) = (models.max(1), moves.max(1));
                continue;
            };
            let bounds = inner.bounds();
            models = models.max(bounds.model_calls);
            tools = tools.max(bounds.tool_calls);
            moves = moves.max(bounds.transitions);
            others = others.max(bounds.transitions.saturating_sub(bounds.model_calls));
        }
        let waits = all.saturating_mul(tries - 1);
        let asked = if spec.policy.approval.steps { all } else { 0 };
        // Of a tool's step, a person is asked once, however often it is tried.
        let permits = if spec.tools.iter().any(|tool| rules.needs_permit(&tool.name)) { all } else { 0 };
        let waits = waits.saturating_add(permits);
        Steps {
            planned,
            model_calls: tried.saturating_mul(models),
            tool_calls: tried.saturating_mul(tools),
            others: waits.max(asked).saturating_add(tried.saturating_mul(others)),
            transitions: tried.saturating_mul(moves).saturating_add(waits).max(asked),
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

/// The most replies that the phases may ask for, repairs included; those of the steps not.
fn own_replies(rules: &CompiledSpec, steps: &Steps) -> u32 {
    let spec = rules.spec();
    let policy = &spec.policy;
    let drafts = drafts(spec);
    let asks = |role: RoleName| match rules.has(role) {
        true => 1 + rules.repairs(role),
        false => 0,
    };
    let intake = policy.intake.iter().map(|intake| {
        asks(match intake {
            Intake::Scope => RoleName::Scope,
            Intake::PreviousContext => RoleName::PreviousContext,
            Intake::Intent => RoleName::Intent,
        })
    });
    let planning = asks(RoleName::Planner).max(asks(RoleName::Replanner));
    let judging = if policy.validate == Validate::Off { 0 } else { asks(RoleName::Validator) };
    let writer = if policy.write == Write::Model { asks(RoleName::Writer) } else { 0 };
    let writing = writer.max(asks(RoleName::Conversation));
    let written = if policy.validate_at == ValidateAt::Answer { drafts } else { 1 };
    let decisions = match policy.orchestrate {
        Orchestrate::Never => 0,
        Orchestrate::EachStep => {
            let points = steps.planned.saturating_add(spec.limits.max_added_steps).saturating_add(drafts);
            points.saturating_mul(asks(RoleName::Orchestrator))
        }
    };
    let parts =
        [drafts.saturating_mul(planning.saturating_add(judging)), written.saturating_mul(writing), decisions];
    intake.chain(parts).fold(0, u32::saturating_add)
}
