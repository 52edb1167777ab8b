//! The shipped agents and tool contracts: data, and nothing but.
//!
//! Each agent is a TOML file beside this one. Its `tools` may name shipped tools (`"calc"`) or hold
//! whole contracts.

mod file;

use serde::Deserialize;

use crate::contract::ToolContract;
use crate::spec::{Limits, Member, Policy, Prices, Role, Roles, Spec, SpecError};

const TOOLS: &str = include_str!("tools.toml");
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

/// A shipped agent as it was written, in TOML.
pub fn source(name: &str) -> Option<&'static str> {
    AGENTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A shipped agent.
///
/// ```
/// let spec = planwright::agents::shipped("plan-then-execute").unwrap();
/// assert!(spec.roles.validator.is_none());
/// ```
pub fn shipped(name: &str) -> Option<Spec> {
    Some(Spec::from_toml(source(name)?).expect("the test `every_shipped_agent_loads` reads each of them"))
}

/// The contract of a shipped tool: `calc`, `docs`, `wiki`, `lookup`, `search`, `hybrid_search`,
/// `get_article_by_index`, `get_article_by_title` or `lookup_standard_contract`.
pub fn tool(name: &str) -> Option<ToolContract> {
    tools().into_iter().find(|tool| tool.name == name)
}

/// The contracts of the shipped tools.
pub fn tools() -> Vec<ToolContract> {
    #[derive(Deserialize)]
    struct File {
        tools: Vec<ToolContract>,
    }
    let file: File = toml::from_str(TOOLS).expect("the test `every_shipped_tool_contract_is_sound` reads it");
    file.tools
}

/// A spec as it is written: its tools may be names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpecFile {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    limits: Limits,
    roles: Roles,
    #[serde(default)]
    tools: Vec<ToolEntry>,
    #[serde(default)]
    agents: Vec<MemberFile>,
    #[serde(default)]
    prices: Prices,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the name of a shipped tool or a tool contract")]
enum ToolEntry {
    Name(String),
    Contract(Box<ToolContract>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberFile {
    name: String,
    description: String,
    #[serde(default)]
    role: Option<Role>,
    #[serde(default)]
    spec: Option<Box<SpecFile>>,
}

impl SpecFile {
    /// Looks the names up.
    fn resolve(self) -> Result<Spec, SpecError> {
        let mut tools = Vec::with_capacity(self.tools.len());
        for (at, entry) in self.tools.into_iter().enumerate() {
            tools.push(match entry {
                ToolEntry::Contract(contract) => *contract,
                ToolEntry::Name(name) => tool(&name).ok_or_else(|| {
                    let known: Vec<String> = self::tools().into_iter().map(|tool| tool.name).collect();
                    let problem =
                        format!("expected a contract or one of {}, found {name:?}", known.join(", "));
                    SpecError::at(format!("tools[{at}]"), problem)
                })?,
            });
        }
        let member = |member: MemberFile| {
            let MemberFile { name, description, role, spec } = member;
            let spec = spec.map(|spec| spec.resolve()).transpose()?.map(Box::new);
            Ok(Member { name, description, role, spec })
        };
        Ok(Spec {
            name: self.name,
            description: self.description,
            policy: self.policy,
            limits: self.limits,
            roles: self.roles,
            tools,
            agents: self.agents.into_iter().map(member).collect::<Result<_, SpecError>>()?,
            prices: self.prices,
        })
    }
}

impl Spec {
    /// Reads a spec from TOML and checks it. Its `tools` may be names of shipped tools.
    ///
    /// ```
    /// use planwright::spec::Spec;
    ///
    /// let spec = Spec::from_toml(
    ///     r#"
    ///     name = "clerk"
    ///     tools = ["calc"]
    ///     [roles.planner]
    ///     prompt = "Plan."
    ///     [roles.writer]
    ///     prompt = "Answer."
    ///     [policy]
    ///     validate = "off"
    ///     "#,
    /// )?;
    /// assert_eq!(spec.tools[0].name, "calc");
    /// let error = Spec::from_toml("name = 'mine'\ncolour = 'red'").unwrap_err();
    /// assert!(error.to_string().contains("colour"));
    /// # Ok::<(), planwright::spec::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// What does not parse, with its line; an unknown tool; whatever [`Spec::check`] refuses.
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        let file: SpecFile = toml::from_str(text)
            .map_err(|error| SpecError::at("spec", error.to_string().trim().to_owned()))?;
        let spec = file.resolve()?;
        spec.clone().check()?;
        Ok(spec)
    }
}

/// Reads a spec from TOML; see [`Spec::from_toml`].
///
/// # Errors
/// Those of [`Spec::from_toml`].
pub fn load(text: &str) -> Result<Spec, SpecError> {
    Spec::from_toml(text)
}
