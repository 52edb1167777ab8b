//! From an effect to its request: whom it asks, what, and the digest that names it in recordings. The
//! driver, the fixtures and the search for drift all come through here.

use serde_json::Value;

use super::ModelRequest;
use super::call::{asked, call, called, request};
use super::question::question;
use crate::contract::{ToolContract, canonical};
use crate::machine::{Effect, EffectId, State};
use crate::spec::{CompiledSpec, Digest, RoleName};

/// The request of one effect.
///
/// ```
/// use planwright::agents;
/// use planwright::machine::{Input, start};
/// use planwright::prompt::{Request, RequestBody};
///
/// let spec = agents::shipped("validated").unwrap().check()?;
/// let step = start(&spec, Input::question("Who serviced the boiler?"));
/// let request = Request::of(&spec, &step.state, step.effects[0]).unwrap();
/// assert_eq!(request.asked, "planner");
/// assert!(matches!(request.body, RequestBody::Model { .. }));
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The effect.
    pub effect: EffectId,
    /// Whom it asks, by name: a role (`planner`), a role that does a step (`agent:search`), a tool, `human`
    /// or `wait`; in a nested run after the agents it is nested in (`search_team/planner`).
    pub asked: String,
    /// What names the request in a recording: equal requests have equal digests.
    pub digest: Digest,
    /// What is asked.
    pub body: RequestBody<'r>,
}

/// What is asked by a [`Request`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RequestBody<'r> {
    /// A model is asked.
    Model {
        /// The role.
        role: RoleName,
        /// What it is sent.
        request: ModelRequest,
    },
    /// A tool is called.
    Tool {
        /// The step's position in its plan, from 0.
        step: u32,
        /// The tool.
        tool: String,
        /// What it is called with.
        input: Value,
        /// The tool's contract.
        contract: Option<&'r ToolContract>,
    },
    /// A person is asked.
    Human {
        /// The step's position in its plan, from 0.
        step: u32,
        /// The question.
        question: String,
    },
    /// Time is to pass before another try.
    Wait {
        /// How long, in milliseconds.
        delay_ms: u64,
    },
}

impl<'r> Request<'r> {
    /// Renders the request of an effect, in the run that it belongs to. Pure.
    ///
    /// Returns `None` where the run does not wait for the effect.
    pub fn of(spec: &'r CompiledSpec, state: &State, effect: Effect) -> Option<Self> {
        let asked = asked(spec, state, effect)?;
        let (digest, body) = match effect {
            Effect::AskModel { role, .. } => {
                let request = request(spec, state, effect)?;
                (request.digest(), RequestBody::Model { role, request })
            }
            Effect::CallTool { step, .. } => {
                let (tool, input) = call(spec, state, effect)?;
                let (tool, input) = (tool.to_owned(), input.into_owned());
                let contract = called(spec, state, effect);
                (tool_digest(&tool, &input), RequestBody::Tool { step, tool, input, contract })
            }
            Effect::AskHuman { step, .. } => {
                let question = question(spec, state, effect)?;
                (human_digest(&question), RequestBody::Human { step, question })
            }
            Effect::Wait { delay_ms, .. } => (wait_digest(delay_ms), RequestBody::Wait { delay_ms }),
        };
        Some(Request { effect: effect.id(), asked, digest, body })
    }

    /// Whether a person is asked.
    pub fn is_human(&self) -> bool {
        matches!(self.body, RequestBody::Human { .. })
    }
}

/// The digest of a question to a person.
pub(crate) fn human_digest(question: &str) -> Digest {
    Digest::of([b"human".as_slice(), question.as_bytes()])
}

/// The digest of a wait.
pub(crate) fn wait_digest(delay_ms: u64) -> Digest {
    Digest::of([b"wait".as_slice(), &delay_ms.to_le_bytes()])
}

/// The digest of a tool call: the tool's name and the input with its keys in alphabetical order.
///
/// ```
/// use planwright::prompt::tool_digest;
/// use serde_json::json;
///
/// assert_eq!(tool_digest("t", &json!({"a": 1, "b": 2})), tool_digest("t", &json!({"b": 2, "a": 1})));
/// ```
pub fn tool_digest(tool: &str, input: &Value) -> Digest {
    match input {
        Value::String(text) => Digest::of([b"tool".as_slice(), tool.as_bytes(), b"text", text.as_bytes()]),
        other => {
            let canonical = canonical(other);
            Digest::of([b"tool".as_slice(), tool.as_bytes(), b"json", canonical.as_bytes()])
        }
    }
}
