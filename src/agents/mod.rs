//! The shipped agents and tool contracts: TOML files beside this one, and nothing but data.

use std::path::{Path, PathBuf};

// For the other crates of this workspace and for tests.
#[doc(hidden)]
pub use crate::spec::tools::{tool, tools};
use crate::spec::{McpPins, Spec, SpecError};

const MAX_BYTES: u64 = 4 << 20;

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
pub fn shipped(name: &str) -> Option<Spec> {
    Some(Spec::from_toml(source(name)?).expect("the test `every_shipped_agent_loads` reads each of them"))
}

impl Spec {
    /// Parses and checks a spec in a TOML file; see [`Spec::from_toml`]. The pinned tools of its MCP servers stand
    /// beside it, for `mine.toml` in `mine.mcp.json`.
    ///
    /// # Errors
    /// The file's name with what is wrong: it cannot be read, is too large, or is not a sound spec.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SpecError> {
        let path = path.as_ref();
        let refuse = |problem: String| SpecError::at(path.display().to_string(), problem);
        let spec = Spec::from_toml_with_pins(&read(path)?, &read_pins(path)?);
        spec.map_err(|error| refuse(error.to_string()))
    }
}

fn read(path: &Path) -> Result<String, SpecError> {
    let refuse = |problem: String| SpecError::at(path.display().to_string(), problem);
    let size = std::fs::metadata(path).map_err(|error| refuse(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(refuse(format!("expected at most {MAX_BYTES} bytes, found {size}")));
    }
    std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))
}

/// Where the pinned tools of the MCP servers of a file stand: for `mine.toml` in `mine.mcp.json`.
pub fn pins_path(file: &Path) -> PathBuf {
    file.with_extension("mcp.json")
}

/// Reads the pinned tools of the MCP servers of a file. There are none where nothing was pinned.
///
/// # Errors
/// Where they cannot be read.
pub fn read_pins(file: &Path) -> Result<McpPins, SpecError> {
    let path = pins_path(file);
    if !path.exists() {
        return Ok(McpPins::new());
    }
    let pins = serde_json::from_slice(read(&path)?.as_bytes());
    pins.map_err(|error| SpecError::at(path.display().to_string(), error.to_string()))
}
