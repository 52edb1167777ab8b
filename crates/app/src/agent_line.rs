//! An agent in a list.

use serde::Serialize;

use planwright::spec::{Horizon, Orchestrate, Spec, Validate, ValidateAt, Write};

/// An agent, as `agents --json` lists it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentLine {
    /// Its name.
    pub name: String,
    /// Whether it answers where none is named.
    pub default: bool,
    /// Its phases in one line.
    pub flow: String,
    /// What it does, in a sentence.
    pub description: String,
    /// The tools that its plans may name.
    pub tools: Vec<String>,
}

impl AgentLine {
    /// Describes an agent, where the default one has this name.
    pub fn of(spec: &Spec, default: &str) -> Self {
        AgentLine {
            default: spec.name == default,
            flow: describe_flow(spec),
            tools: spec.all_tools().iter().map(|tool| tool.name.to_string()).collect(),
            name: spec.name.clone(),
            description: spec.description.clone(),
        }
    }
}

/// The phases of an agent in one line, out of its policy.
fn describe_flow(spec: &Spec) -> String {
    let (policy, limits) = (&spec.policy, &spec.limits);
    let intake = policy.intake.iter().map(|intake| variant(intake).replace('_', " "));
    let plan = match intake.collect::<Vec<_>>().join(", ") {
        intake if intake.is_empty() => "PLAN".to_owned(),
        intake => format!("PLAN ({intake})"),
    };
    let execute = match policy.orchestrate {
        Orchestrate::Never => "EXECUTE",
        Orchestrate::EachStep => "EXECUTE (orchestrated)",
    };
    let validate = (policy.validate != Validate::Off).then_some("VALIDATE");
    let write = match policy.write {
        Write::Model => Some("WRITE"),
        Write::LastResult => Some("WRITE (last result)"),
        Write::Summary => Some("WRITE (summary)"),
        Write::Planner => None,
    };
    let judged = match policy.validate_at {
        ValidateAt::Results => [validate, write],
        ValidateAt::Answer => [write, validate],
    };
    let phases: Vec<&str> = [&*plan, execute].into_iter().chain(judged.into_iter().flatten()).collect();
    let phases = phases.join(" ");
    match (policy.horizon, limits.max_iterations) {
        (Horizon::Next, Some(most)) => format!("{phases}, at most {most} rounds"),
        _ if policy.can_replan() => format!("{phases}, at most {} replans", limits.max_replans),
        _ => phases,
    }
}

/// A variant by its name in specs and replies, such as `add_agent`.
pub fn variant(choice: &impl Serialize) -> String {
    let name = serde_json::to_value(choice).ok();
    name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}
