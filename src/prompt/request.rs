//! From an effect to its request: whom it asks, what, and the digest that names it in recordings. Driver,
//! fixtures and the search for drift all come through [`Request::of`].

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::ModelRequest;
use super::payload::{Work, render, render_step};
use super::question::{question, tool_call};
use crate::contract::{ToolContract, canonical, schema::Schema};
use crate::machine::{Effect, EffectId, EffectKind, State, local};
use crate::spec::{CompiledAgent, CompiledSpec, Digest, RequestFrame, RoleName};

/// The request of one effect.
///
/// ```
/// use planwright::agents;
/// use planwright::machine::{Input, start};
/// use planwright::prompt::{Request, RequestBody};
///
/// let spec = agents::shipped("validated").unwrap().check()?;
/// let step = start(&spec, Input::question("12/4+9?"));
/// let request = Request::of(&spec, &step.state, step.effects[0]).unwrap();
/// assert_eq!(request.asked, "planner");
/// let RequestBody::Model { request, .. } = request.body else { unreachable!() };
/// assert_eq!(request.payload, r#"{"user_question":"12/4+9?"}"#);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The effect.
    pub effect: EffectId,
    /// Whom it asks: a role (`planner`), an agent that is one role (`agent:search`), a tool, `human` or
    /// `wait`; in a nested run after the agents it is nested in (`search_team/planner`).
    pub asked: Cow<'r, str>,
    /// The digest that names the request in a recording: equal requests have equal digests.
    pub digest: Digest,
    /// What is asked.
    pub body: RequestBody<'r>,
}

/// The content of a [`Request`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RequestBody<'r> {
    /// Ask a model.
    Model {
        /// The role.
        role: RoleName,
        /// What it is sent.
        request: ModelRequest,
    },
    /// Call a tool.
    Tool {
        /// The step's position in its plan, from 0.
        step: u32,
        /// The tool.
        tool: Cow<'r, str>,
        /// What it is called with.
        input: Value,
        /// The tool's contract.
        contract: Option<&'r ToolContract>,
        #[doc(hidden)]
        output: Option<&'r Schema>,
    },
    /// Ask a person.
    Human {
        /// The step's position in its plan, from 0.
        step: u32,
        /// The question.
        question: String,
    },
    /// Let time pass before another try.
    Wait {
        /// How long, in milliseconds.
        delay_ms: u64,
    },
}

impl<'r> Request<'r> {
    /// Renders the request of an effect, in the run that it belongs to. Pure.
    ///
    /// Returns `None` if the run does not wait for the effect.
    pub fn of(spec: &'r CompiledSpec, state: &State, effect: Effect) -> Option<Self> {
        Request::of_with(spec, state, effect, &mut Work::default())
    }

    /// The request of an effect of a run that goes on: what an earlier one shares with it is not written again.
    #[doc(hidden)]
    pub fn of_with(spec: &'r CompiledSpec, state: &State, effect: Effect, work: &mut Work) -> Option<Self> {
        let here = local(spec, state, effect.id())?;
        let (name, digest, body) = match effect {
            Effect::AskModel { role, .. } => {
                let (frame, request) = if let EffectKind::Step { step, .. } = here.id.kind {
                    let agent = here.compiled.agent(&here.state.task.planned(step)?.tool)?;
                    let CompiledAgent::Role(frame) = agent else { return None };
                    (frame, render_step(here.compiled, here.state, step, frame, work)?)
                } else {
                    let frame = here.compiled.frame(role)?;
                    (frame, render(here.compiled, here.state, effect.id(), frame, work)?)
                };
                (Cow::Borrowed(&*frame.asked), request.digest(), RequestBody::Model { role, request })
            }
            Effect::CallTool { step, .. } => {
                let (tool, input) = tool_call(here.state, step)?;
                let (digest, contract) = (tool_digest(tool, &input), here.compiled.tool(tool));
                let tool = contract.map_or(Cow::Owned(tool.to_owned()), |known| Cow::Borrowed(&*known.name));
                let output = contract.and_then(|_| here.compiled.plan().output(&tool));
                let input = input.into_owned();
                (tool.clone(), digest, RequestBody::Tool { step, tool, input, contract, output })
            }
            Effect::AskHuman { step, .. } => {
                let question = question(here.compiled, here.state, here.id)?;
                ("human".into(), human_digest(&question), RequestBody::Human { step, question })
            }
            Effect::Wait { delay_ms, .. } => {
                ("wait".into(), wait_digest(delay_ms), RequestBody::Wait { delay_ms })
            }
        };
        let asked =
            here.agents.iter().flatten().rev().fold(name, |asked, agent| format!("{agent}/{asked}").into());
        Some(Request { effect: effect.id(), asked, digest, body })
    }

    /// Whether a person is asked.
    pub fn is_human(&self) -> bool {
        matches!(self.body, RequestBody::Human { .. })
    }

    /// The question, if a person is asked.
    pub fn into_question(self) -> Option<String> {
        match self.body {
            RequestBody::Human { question, .. } => Some(question),
            _ => None,
        }
    }
}

/// The constant part of a role's requests, by the name in [`Request::asked`].
pub fn role_frame<'r>(compiled: &'r CompiledSpec, asked: &str) -> Option<&'r Arc<RequestFrame>> {
    if let Some((agent, rest)) = asked.split_once('/') {
        let CompiledAgent::Spec(inner) = compiled.agent(agent)? else { return None };
        return role_frame(inner, rest);
    }
    if let Some(agent) = asked.strip_prefix("agent:") {
        let CompiledAgent::Role(frame) = compiled.agent(agent)? else { return None };
        return Some(frame);
    }
    compiled.frame(RoleName::ALL.into_iter().find(|role| role.to_string() == asked)?)
}

pub(crate) fn human_digest(question: &str) -> Digest {
    Digest::of([b"human".as_slice(), question.as_bytes()])
}

pub(crate) fn wait_digest(delay_ms: u64) -> Digest {
    Digest::of([b"wait".as_slice(), &delay_ms.to_le_bytes()])
}

/// The digest of a tool call. The order of the input's keys does not count.
fn tool_digest(tool: &str, input: &Value) -> Digest {
    let (form, text) = match input {
        Value::String(text) => (b"text", Cow::Borrowed(text.as_str())),
        other => (b"json", Cow::Owned(canonical(other))),
    };
    Digest::of([b"tool".as_slice(), tool.as_bytes(), form, text.as_bytes()])
}
