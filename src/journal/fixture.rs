//! Fixtures: one readable JSON file for one run, with each request as it was rendered and each
//! answer as it came.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Exchange;
use crate::machine::{Input, PhaseName, RunError, State, TraceLine, outstanding, waits_for_a_person};
use crate::spec::{CompiledSpec, RequestFrame, Spec};

/// Largest fixture that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// What the first field of a fixture says.
const FORMAT: &str = "planwright-fixture/1";

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// The format and its version.
    format: String,
    /// For people: where this run comes from, and what in it is made up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the run started from.
    pub input: Input,
    /// How the run ended.
    pub outcome: Outcome,
    /// The trace it left.
    pub trace: Vec<TraceLine>,
    /// Everything that was asked and answered, in the order of the answers.
    pub exchanges: Vec<Exchange>,
    /// What was the same in every request of a role, by the role's name.
    pub frames: BTreeMap<String, Frame>,
    /// The spec it ran under.
    pub spec: Spec,
}

/// How a recorded run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// DONE, with this answer.
    Answer(String),
    /// ERROR, with this error.
    Error(RunError),
    /// Neither: a person is asked this, and nobody has answered yet.
    Waiting {
        /// The question.
        question: String,
    },
    /// Neither: the world did not answer, for this reason. Recording can go on under
    /// `new_episodes`.
    Interrupted(String),
}

impl Outcome {
    /// How a state has ended, or for whom it waits; `None` where it goes on by itself.
    pub fn of(rules: &CompiledSpec, state: &State) -> Option<Self> {
        if let Some(ended) = Outcome::ended(state) {
            return Some(ended);
        }
        if !waits_for_a_person(state) {
            return None;
        }
        let waits = outstanding(rules, state);
        let question = waits.first().and_then(|effect| crate::prompt::question(rules, state, *effect))?;
        (waits.len() == 1).then(|| Outcome::Waiting { question: question.to_owned() })
    }

    /// How a state has ended; `None` where it has not.
    pub fn ended(state: &State) -> Option<Self> {
        let artifacts = &state.task.artifacts;
        match state.phase.name() {
            PhaseName::Done => Some(Outcome::Answer(artifacts.final_answer.clone().unwrap_or_default())),
            PhaseName::Error => artifacts.error.clone().map(Outcome::Error),
            _ => None,
        }
    }
}

/// The constant part of a role's requests, as it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The model the spec named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Most tokens of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The system message, line by line.
    pub system: Vec<String>,
    /// JSON schema of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl Frame {
    /// The frame of a request, as it is recorded.
    pub fn of(frame: &RequestFrame) -> Self {
        Frame {
            model: frame.model.clone(),
            temperature: frame.temperature,
            max_tokens: frame.max_tokens,
            system: frame.system.split('\n').map(str::to_owned).collect(),
            schema: frame.schema.clone(),
        }
    }
}

/// Why a fixture cannot be read or written.
#[derive(thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct FixtureError {
    path: PathBuf,
    problem: String,
}

impl fmt::Debug for FixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FixtureError {
    /// A problem with the fixture at this path.
    pub fn at(path: &Path, problem: impl Into<String>) -> Self {
        FixtureError { path: path.to_owned(), problem: problem.into() }
    }
}

impl Fixture {
    /// A fixture without exchanges, to be filled.
    pub fn new(spec: Spec, input: Input) -> Self {
        Fixture {
            format: FORMAT.to_owned(),
            notes: Vec::new(),
            input,
            outcome: Outcome::Interrupted("nothing recorded yet".to_owned()),
            trace: Vec::new(),
            exchanges: Vec::new(),
            frames: BTreeMap::new(),
            spec,
        }
    }

    /// Reads a fixture.
    ///
    /// # Errors
    /// Where the file cannot be read, is not JSON, is of another format, or does not fit; names
    /// the place.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FixtureError> {
        let path = path.as_ref();
        let fail = |error: std::io::Error| FixtureError::at(path, format!("cannot be read: {error}"));
        let about = std::fs::metadata(path).map_err(fail)?;
        if !about.is_file() {
            return Err(FixtureError::at(path, "cannot be read: it is not a file"));
        }
        if about.len() > MAX_BYTES {
            let problem = format!("expected at most {MAX_BYTES} bytes, found {}", about.len());
            return Err(FixtureError::at(path, problem));
        }
        let text = std::fs::read_to_string(path).map_err(fail)?;
        Self::parse(&text).map_err(|problem| FixtureError::at(path, problem))
    }

    /// Reads a fixture from its text.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut source = serde_json::Deserializer::from_str(text);
        let fixture: Fixture = match serde_path_to_error::deserialize(&mut source) {
            Ok(fixture) => fixture,
            Err(error) => {
                let format = serde_json::from_str::<Value>(text).ok();
                let format = format.as_ref().map(|value| value.get("format").and_then(Value::as_str));
                return Err(match format {
                    None => format!("is not JSON: {}", error.into_inner()),
                    Some(None) => format!("is no fixture: expected a field \"format\" that says {FORMAT:?}"),
                    Some(Some(FORMAT)) => match error.path().to_string() {
                        path if path == "." => format!("$: {}", error.inner()),
                        path => format!("$.{path}: {}", error.inner()),
                    },
                    Some(Some(other)) => format!("expected the format {FORMAT:?}, found {other:?}"),
                });
            }
        };
        source.end().map_err(|error| format!("is not one JSON value: {error}"))?;
        if fixture.format != FORMAT {
            return Err(format!("expected the format {FORMAT:?}, found {:?}", fixture.format));
        }
        for (at, exchange) in fixture.exchanges.iter().enumerate() {
            if let Exchange::Model { role, .. } = exchange
                && !fixture.frames.contains_key(role)
            {
                let known: Vec<&str> = fixture.frames.keys().map(String::as_str).collect();
                return Err(format!(
                    "$.exchanges[{at}].model.role: expected one of `frames` ({}), found {role:?}",
                    known.join(", ")
                ));
            }
            if let Exchange::Happened(event) = exchange
                && event.effect().is_some()
            {
                let kind = event.kind();
                return Err(format!(
                    "$.exchanges[{at}].happened: expected what answers no effect, found {kind:?}"
                ));
            }
        }
        Ok(fixture)
    }

    /// The fixture as it is written: pretty-printed JSON with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a fixture has text keys only");
        text.push('\n');
        text
    }

    /// Whether a fixture could be written there. Asked before a run that is to be recorded, so that
    /// no model is asked for nothing.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn check_writable(path: impl AsRef<Path>) -> Result<(), FixtureError> {
        let path = path.as_ref();
        let fail = |error: std::io::Error| FixtureError::at(path, format!("cannot be written: {error}"));
        if path.exists() && !path.is_file() {
            return Err(FixtureError::at(path, "cannot be written: there is something that is not a file"));
        }
        let beside = beside(path).map_err(fail)?;
        std::fs::File::create(&beside).and_then(|_| std::fs::remove_file(&beside)).map_err(fail)
    }

    /// Writes the fixture, whole or not at all: into a file beside the target that then takes its
    /// place. Folders on the way are made.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FixtureError> {
        let path = path.as_ref();
        let fail = |error: std::io::Error| FixtureError::at(path, format!("cannot be written: {error}"));
        let beside = beside(path).map_err(fail)?;
        let written = std::fs::File::create(&beside)
            .and_then(|mut file| file.write_all(self.to_json().as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| std::fs::rename(&beside, path));
        written.map_err(|error| {
            let _ = std::fs::remove_file(&beside);
            fail(error)
        })
    }
}

/// A file beside the target, with a name of its own, so that two who save at the same time do not
/// write into one file. Folders on the way are made.
fn beside(path: &Path) -> std::io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    Ok(PathBuf::from(beside))
}
