//! Rules: a checked spec, with all that is worked out from it once.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::{Bounds, Digest, Execution, OnExhausted, OnStepFailure, Policy, Role, RoleName, Spec, Validate};
use crate::contract::{AnswerForm, FinalStep, PlanContract, ToolContract, Verdict};

/// A contradiction or a value out of range in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SpecError {
    field: String,
    problem: String,
}

impl SpecError {
    pub(crate) fn at(field: impl Into<String>, problem: impl Into<String>) -> Self {
        SpecError { field: field.into(), problem: problem.into() }
    }

    /// The field, as a path in the spec (`limits.max_replans`).
    pub fn field(&self) -> &str {
        &self.field
    }
}

/// The part of a request that is the same for every request of one role: who is asked, under which
/// instructions, for which form of reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestFrame {
    /// The duty.
    pub role: RoleName,
    /// The model the spec asks for; `None` leaves it to the driver.
    pub model: Option<String>,
    /// The system message.
    pub system: String,
    /// The tools that the reply may name; empty for roles that plan nothing.
    pub tools: Vec<ToolContract>,
    /// JSON schema of the reply; `None` asks for plain text.
    pub schema: Option<Value>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens of the reply.
    pub max_tokens: Option<u32>,
    /// The digest of all of the above.
    #[serde(skip)]
    pub digest: Digest,
}

/// A checked spec. The journal keeps the [`Spec`], the driver an `Arc<Rules>`, the state neither.
#[derive(Clone, Debug)]
pub struct Rules {
    spec: Arc<Spec>,
    plan: PlanContract,
    form: AnswerForm,
    frames: [Option<Arc<RequestFrame>>; RoleName::ALL.len()],
    bounds: Bounds,
}

impl Rules {
    pub(super) fn of(spec: Spec) -> Result<Self, SpecError> {
        check(&spec)?;
        let policy = &spec.policy;
        let plan = PlanContract::new(
            spec.tools.clone(),
            (policy.plan.min_steps as usize, policy.plan.max_steps as usize),
            policy.plan.final_step,
            spec.limits.max_input_bytes as usize,
        );
        let form = spec.roles.writer.form.unwrap_or_default();
        let frames = RoleName::ALL.map(|name| {
            let role = spec.roles.get(name)?;
            Some(Arc::new(frame(name, role, &plan, policy, form)))
        });
        let bounds = Bounds::of(&spec);
        Ok(Rules { spec: Arc::new(spec), plan, form, frames, bounds })
    }

    /// The spec as it was written.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The same, to be kept: every run's journal begins with it.
    pub fn shared_spec(&self) -> Arc<Spec> {
        Arc::clone(&self.spec)
    }

    /// The choices.
    pub fn policy(&self) -> &Policy {
        &self.spec.policy
    }

    /// What plans must look like.
    pub fn plan(&self) -> &PlanContract {
        &self.plan
    }

    /// The contract of one tool.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        self.plan.tool(name)
    }

    /// The form of the writer's reply.
    pub fn form(&self) -> AnswerForm {
        self.form
    }

    /// Whether the agent has this role.
    pub fn has(&self, role: RoleName) -> bool {
        self.frames[role as usize].is_some()
    }

    /// The constant part of a role's requests; `None` where the agent does not have the role.
    pub fn frame(&self, role: RoleName) -> Option<&Arc<RequestFrame>> {
        self.frames[role as usize].as_ref()
    }

    /// The most that any run can do.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }
}

/// The most steps of one plan that call a tool.
pub(super) fn most_tool_steps(spec: &Spec) -> u32 {
    let plan = &spec.policy.plan;
    match plan.final_step {
        _ if spec.tools.is_empty() => 0,
        FinalStep::Required => plan.max_steps - 1,
        FinalStep::None => plan.max_steps,
    }
}

fn frame(
    name: RoleName,
    role: &Role,
    plan: &PlanContract,
    policy: &Policy,
    form: AnswerForm,
) -> RequestFrame {
    let (tools, schema) = match name {
        RoleName::Planner | RoleName::Replanner => {
            (plan.tools().to_vec(), Some(plan.schema(&policy.plan.fields)))
        }
        RoleName::Validator => (Vec::new(), Some(Verdict::schema())),
        RoleName::Writer => (Vec::new(), form.schema()),
    };
    let mut frame = RequestFrame {
        role: name,
        model: role.model.clone(),
        system: system(role, &tools),
        tools,
        schema,
        temperature: role.temperature,
        max_tokens: role.max_tokens,
        digest: Digest::of([]),
    };
    let bytes = serde_json::to_vec(&frame).expect("a frame has text keys only");
    frame.digest = Digest::of([bytes.as_slice()]);
    frame
}

/// The system message: the role's prompt and, for roles that plan, the tools it may plan with.
fn system(role: &Role, tools: &[ToolContract]) -> String {
    let mut text = role.prompt.trim().to_owned();
    if tools.is_empty() {
        return text;
    }
    text.push_str("\n\nTools:");
    for tool in tools {
        text.push_str(&format!("\n- {}: {}", tool.name, tool.description.trim()));
        if !tool.takes_text() {
            text.push_str(&format!(" Input: {}", tool.input));
        }
    }
    text
}

fn check(spec: &Spec) -> Result<(), SpecError> {
    let refuse = |field: &str, problem: &str| Err(SpecError::at(field, problem));
    if spec.name.trim().is_empty() {
        return refuse("name", "expected a name, found nothing");
    }
    let plan = &spec.policy.plan;
    if plan.min_steps < 1 {
        return refuse("policy.plan.min_steps", "expected at least 1, found 0");
    }
    if plan.max_steps < plan.min_steps {
        return refuse("policy.plan.max_steps", "expected at least `min_steps`");
    }
    if plan.max_steps > MAX_PLAN_STEPS {
        return refuse("policy.plan.max_steps", "expected at most 100,000");
    }
    if plan.final_step == FinalStep::None && spec.tools.is_empty() {
        return refuse("tools", "a plan without `final_answer` needs a tool; expected at least one");
    }
    match spec.policy.execution {
        Execution::Parallel { width: 0 } => {
            return refuse("policy.execution.width", "expected at least 1, found 0");
        }
        Execution::Parallel { width } if width > MAX_WIDTH => {
            return refuse("policy.execution.width", "expected at most 256");
        }
        _ => {}
    }
    check_replans(spec)?;
    check_roles(spec)?;
    check_limits(spec)?;
    let mut names = std::collections::HashSet::new();
    for (at, tool) in spec.tools.iter().enumerate() {
        let field = format!("tools[{at}]");
        tool.check().map_err(|error| {
            SpecError::at(format!("{field}.{}", error.path()), error.problem().to_owned())
        })?;
        if !names.insert(tool.name.as_str()) {
            return Err(SpecError::at(field, format!("the name {:?} is taken", tool.name)));
        }
    }
    Ok(())
}

/// Most steps a plan may be allowed to have.
const MAX_PLAN_STEPS: u32 = 100_000;
/// Most steps that may be allowed to run side by side.
const MAX_WIDTH: u32 = 256;
/// Most replans or repairs a run may be allowed.
const MAX_TRIES: u32 = 1_000;

fn check_replans(spec: &Spec) -> Result<(), SpecError> {
    let policy = &spec.policy;
    let can_replan = policy.validate == Validate::Verdict || policy.on_step_failure == OnStepFailure::Replan;
    if policy.on_exhausted == OnExhausted::Write && !can_replan {
        return Err(SpecError::at(
            "policy.on_exhausted",
            "\"write\" has nothing to follow: nothing in this policy replans (`validate` is \"off\" and \
             `on_step_failure` is not \"replan\")",
        ));
    }
    if spec.roles.replanner.is_some() && !can_replan {
        return Err(SpecError::at(
            "roles.replanner",
            "never asked: nothing in this policy replans (`validate` is \"off\" and `on_step_failure` is \
             not \"replan\")",
        ));
    }
    Ok(())
}

fn check_roles(spec: &Spec) -> Result<(), SpecError> {
    match (spec.policy.validate, &spec.roles.validator) {
        (Validate::Verdict, None) => {
            return Err(SpecError::at("roles.validator", "needed under `validate = \"verdict\"`"));
        }
        (Validate::Off, Some(_)) => {
            return Err(SpecError::at("roles.validator", "never asked under `validate = \"off\"`"));
        }
        _ => {}
    }
    for name in RoleName::ALL {
        let Some(role) = spec.roles.get(name) else { continue };
        let refuse =
            |field: &str, problem: &str| Err(SpecError::at(format!("roles.{name}.{field}"), problem));
        if role.prompt.trim().is_empty() {
            return refuse("prompt", "expected instructions, found nothing");
        }
        if role.form.is_some() && name != RoleName::Writer {
            return refuse("form", "only the writer's reply has a choice of forms");
        }
        if role.temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
            return refuse("temperature", "expected a number from 0 to 2");
        }
        if role.max_tokens == Some(0) {
            return refuse("max_tokens", "expected at least 1, found 0");
        }
        if role.model.as_ref().is_some_and(|model| model.trim().is_empty()) {
            return refuse("model", "expected a model's name, found nothing");
        }
    }
    Ok(())
}

fn check_limits(spec: &Spec) -> Result<(), SpecError> {
    let limits = &spec.limits;
    let most = [("limits.max_replans", limits.max_replans), ("limits.max_repairs", limits.max_repairs)];
    for (field, value) in most {
        if value > MAX_TRIES {
            return Err(SpecError::at(field, format!("expected at most {MAX_TRIES}, found {value}")));
        }
    }
    let least = [
        ("limits.max_model_calls", limits.max_model_calls.unwrap_or(1)),
        ("limits.max_transitions", limits.max_transitions.unwrap_or(1)),
        ("limits.max_reply_bytes", limits.max_reply_bytes),
        ("limits.max_input_bytes", limits.max_input_bytes),
        ("limits.deadline_seconds", limits.deadline_seconds),
    ];
    for (field, value) in least {
        if value == 0 {
            return Err(SpecError::at(field, "expected at least 1, found 0"));
        }
    }
    Ok(())
}
