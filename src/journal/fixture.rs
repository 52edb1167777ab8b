//! Fixtures: one readable JSON file for one run, with each request as it was rendered and each answer as it
//! came.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fold::{compile, find_question, render_awaited, split, walk};
use super::json_path::describe_error;
use super::whole::{check_writable, write_whole};
use super::{Exchange, JournalError, Record};
use crate::machine::explore::{Taken, taken};
use crate::machine::{EffectId, Input, PhaseName, RunError, State, TraceLine, start, transition};
use crate::prompt::{Request, RequestBody};
use crate::spec::{CompiledSpec, Digest, RequestFrame, Spec};

/// Largest fixture that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The first field of a fixture.
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
    /// The model that answered, in a recording that can be gone on with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The trace it left.
    pub trace: Vec<TraceLine>,
    /// All requests with their answers, in the order of the answers.
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
    /// It has not: a person is asked this.
    Waiting {
        /// The question.
        question: String,
    },
    /// It has not: the world did not answer, for this reason. Recording can go on under `once` and
    /// `new_episodes`.
    Interrupted(String),
}

impl Outcome {
    /// How a state has ended, or the question that it waits with; `None` if it goes on by itself.
    pub fn of(compiled: &CompiledSpec, state: &State) -> Option<Self> {
        let asks = || find_question(compiled, state).map(|(_, question)| Outcome::Waiting { question });
        Outcome::ended(state).or_else(asks)
    }

    /// How a state has ended; `None` if it has not.
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
    /// The model that the spec named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The system message, line by line.
    pub system: Vec<String>,
    /// The JSON schema of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl Frame {
    /// The frame of a request, as it is recorded.
    pub fn of(frame: &RequestFrame) -> Self {
        let RequestFrame { model, temperature, max_tokens, system, schema, .. } = frame.clone();
        let system = system.split('\n').map(str::to_owned).collect();
        Frame { model, temperature, max_tokens, system, schema }
    }
}

impl Fixture {
    /// Makes a journal readable: folds it, and renders every request as it was made. `interrupted` says why
    /// the run is unfinished.
    ///
    /// # Errors
    /// If the journal does not fold; names the record.
    pub fn of_records(records: &[Record], interrupted: Option<String>) -> Result<Self, JournalError> {
        let (header, spec) = split(records)?;
        let compiled = compile(spec.clone())?;
        let (mut exchanges, mut frames) = (Vec::new(), BTreeMap::new());
        let mut requests: HashMap<EffectId, Request<'_>> = HashMap::new();
        let mut occurrences: HashMap<Digest, u32> = HashMap::new();
        let walked = walk(&compiled, header.input.clone(), records.iter().cloned(), |_, state, record| {
            match record {
                Record::Requested { effect, .. } => {
                    let request = render_awaited(&compiled, state, *effect)
                        .ok_or("asks for something the run does not wait for")?;
                    if let RequestBody::Model { request: model, .. } = &request.body {
                        let frame = frames.entry(request.asked.to_string());
                        frame.or_insert_with(|| Frame::of(&model.frame));
                    }
                    requests.insert(*effect, request);
                }
                Record::Answered { event, .. } | Record::Happened { event, .. } => {
                    let request = event.effect().and_then(|effect| requests.remove(&effect));
                    let exchange = Exchange::new(request, event.clone(), &mut occurrences)
                        .ok_or("answers something that was not requested")?;
                    exchanges.push(exchange);
                }
                Record::Header(_)
                | Record::Resolved { .. }
                | Record::Interrupted { .. }
                | Record::Asked(_)
                | Record::SpecChanged(_) => {}
            }
            Ok(())
        });
        let (state, _) = walked.map_err(|(index, problem)| JournalError::at(index, problem))?;
        let unfinished = || Outcome::Interrupted(interrupted.unwrap_or_else(|| "unfinished".to_owned()));
        let outcome = Outcome::of(&compiled, &state).unwrap_or_else(unfinished);
        let goes_on = matches!(outcome, Outcome::Interrupted(_));
        Ok(Fixture {
            format: FORMAT.to_owned(),
            notes: Vec::new(),
            input: header.input.clone(),
            model: if goes_on { header.model.clone() } else { String::new() },
            outcome,
            trace: state.task.trace,
            exchanges,
            frames,
            spec,
        })
    }

    /// The edges of the machine that the recorded run took.
    ///
    /// # Errors
    /// If its spec does not check, or its answers no longer fit the machine; names the exchange.
    pub fn taken(&self) -> Result<BTreeSet<Taken>, JournalError> {
        let compiled = compile(self.spec.clone())?;
        let begun = start(&compiled, self.input.clone());
        let mut edges: BTreeSet<Taken> = taken(&begun, 0).collect();
        let mut state = begun.state;
        for (number, exchange) in (1..).zip(&self.exchanges) {
            let before = state.task.trace.len();
            let step = transition(&compiled, state, exchange.event()).map_err(|refused| {
                JournalError::damaged(format!("exchange {number}"), refused.to_string())
            })?;
            edges.extend(taken(&step, before));
            state = step.state;
        }
        Ok(edges)
    }

    /// Reads a fixture from a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not JSON, is of another format, or does not fit; names the place.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref();
        let place = || path.display().to_string();
        let fail = |error| JournalError::io(path.display(), "cannot be read", &error);
        let about = std::fs::metadata(path).map_err(fail)?;
        if !about.is_file() {
            return Err(fail(std::io::Error::other("it is not a file")));
        }
        if about.len() > MAX_BYTES {
            let problem = format!("expected at most {MAX_BYTES} bytes, found {}", about.len());
            return Err(JournalError::damaged(place(), problem));
        }
        let text = std::fs::read_to_string(path).map_err(fail)?;
        Self::parse(&text).map_err(|problem| JournalError::damaged(place(), problem))
    }

    /// Reads a fixture from its text.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Named {
            format: String,
        }
        match serde_json::from_str(text) {
            Ok(Named { format }) if format == FORMAT => {}
            Ok(Named { format }) => return Err(format!("expected the format {FORMAT:?}, found {format:?}")),
            Err(error) if error.is_data() => {
                return Err(format!("is no fixture: expected a field \"format\" that says {FORMAT:?}"));
            }
            Err(error) => return Err(format!("is not JSON: {error}")),
        }
        let fixture: Fixture =
            serde_json::from_slice(text.as_bytes()).map_err(|error| describe_error(text, &error))?;
        fixture.check_exchanges()?;
        Ok(fixture)
    }

    fn check_exchanges(&self) -> Result<(), String> {
        for (at, exchange) in self.exchanges.iter().enumerate() {
            let (place, problem) = match exchange {
                Exchange::Model { role, .. } if !self.frames.contains_key(role) => {
                    let known: Vec<&str> = self.frames.keys().map(String::as_str).collect();
                    let known = known.join(", ");
                    ("model.role", format!("expected one of `frames` ({known}), found {role:?}"))
                }
                Exchange::Happened(event) if event.effect().is_some() => {
                    ("happened", format!("expected what answers no effect, found {:?}", event.kind()))
                }
                _ => continue,
            };
            return Err(format!("$.exchanges[{at}].{place}: {problem}"));
        }
        Ok(())
    }

    /// The fixture as it is written: pretty-printed JSON with a line break at the end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a fixture has text keys only") + "\n"
    }

    /// Checks, before a run that is to be recorded, that a fixture could be written there.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn check_writable(path: impl AsRef<Path>) -> Result<(), JournalError> {
        check_writable(path.as_ref())
    }

    /// Writes the fixture, whole or not at all: into a file beside the target that then takes its place.
    /// Missing folders are made.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), JournalError> {
        write_whole(path.as_ref(), self.to_json().as_bytes())
    }
}
