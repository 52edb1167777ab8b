//! The questions: the file they are kept in, and the command line each of them becomes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The folder of this harness.
const HOME: &str = env!("CARGO_MANIFEST_DIR");
/// The time every run is told, so that a score does not change overnight.
const NOW: &str = "2026-03-12T09:00:00+09:00[Asia/Seoul]";

/// One question with the facts its answer must and must not state. What the fields mean is in the README.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    pub id: String,
    pub group: String,
    pub language: String,
    pub kind: Kind,
    #[serde(default)]
    pub expect: Expect,
    documents: Option<String>,
    contract: Option<String>,
    agent: Option<String>,
    pub ask: String,
    #[serde(default)]
    pub must: Vec<Fact>,
    #[serde(default)]
    pub must_not: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Fact,
    Trap,
    Arithmetic,
    Article,
    #[serde(rename = "self")]
    Planwright,
}

#[derive(Clone, Copy, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    #[default]
    Answer,
    Decline,
}

/// A fact, in one wording or in any of several.
#[derive(Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Fact {
    One(String),
    AnyOf(Vec<String>),
}

/// Every question, in the order of the files.
pub fn load() -> Result<Vec<Question>, String> {
    let mut questions = Vec::new();
    for text in [include_str!("../questions.toml"), include_str!("../held_out.toml")] {
        let file: BTreeMap<String, Vec<Question>> =
            toml::from_str(text).map_err(|error| format!("questions: {error}"))?;
        questions.extend(file.into_values().flatten());
    }
    Ok(questions)
}

impl Question {
    /// The flag and the path of what the question is asked over; `None` where that is the built-in handbook.
    pub fn material(&self) -> Option<(&'static str, PathBuf)> {
        let all = Path::new(HOME).join(if self.group == "held_out" { "held_out" } else { "documents" });
        match (&self.documents, &self.contract) {
            (Some(folder), _) if folder == "all" => Some(("--docs", all)),
            (Some(folder), _) => Some(("--docs", all.join(folder))),
            (None, Some(file)) => Some(("--contract", all.join("contracts").join(file))),
            (None, None) => None,
        }
    }

    /// The run of this question. No setting, key or cache of the machine reaches it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().args(["run", "--offline", "--json", "--quiet", "--now", NOW]);
        if let Some((flag, path)) = self.material() {
            command.arg(flag).arg(path);
        }
        let agent = self.agent.as_deref().or(self.contract.as_ref().map(|_| "evaluate-loop"));
        command.args(agent.map(|agent| ["--agent", agent]).iter().flatten());
        command.args(["--", &self.ask]);
        command
    }
}
