//! The shipped agents and tool contracts: TOML files beside this one, and nothing but data.

mod file;

use crate::spec::Spec;
pub use crate::spec::tools::{tool, tools};

const AGENTS: [(&str, &str); 11] = [
    ("plan-then-execute", include_str!("plan-then-execute.toml")),
    ("validated", include_str!("validated.toml")),
    ("intent-first", include_str!("intent-first.toml")),
    ("evaluate-loop", include_str!("evaluate-loop.toml")),
    ("orchestrated", include_str!("orchestrated.toml")),
    ("supervised", include_str!("supervised.toml")),
    ("react", include_str!("react.toml")),
    ("conversational", include_str!("conversational.toml")),
    ("self-ask", include_str!("self-ask.toml")),
    ("docstore", include_str!("docstore.toml")),
    ("research-team", include_str!("research-team.toml")),
];

/// The agent that runs if none is named.
pub const DEFAULT: &str = "validated";

/// The names of the shipped agents.
pub fn names() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|(name, _)| *name)
}

/// The TOML of a shipped agent.
pub fn source(name: &str) -> Option<&'static str> {
    AGENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The spec of a shipped agent.
///
/// ```
/// let spec = planwright::agents::shipped("plan-then-execute").unwrap();
/// assert_eq!(spec.roles.len(), 2);
/// ```
pub fn shipped(name: &str) -> Option<Spec> {
    Some(Spec::from_toml(source(name)?).expect("the test `every_shipped_agent_loads` reads each of them"))
}
