//! Preparing an effect: from its id to the request that goes out, with the digest that names it.

use std::time::Duration;

use serde_json::Value;

use crate::contract::ToolContract;
use crate::journal::tool_digest;
use crate::machine::{Effect, EffectId, State};
use crate::prompt::{self, ModelRequest};
use crate::spec::{Digest, RoleName, Rules};

/// An effect, ready to be performed.
#[derive(Debug)]
pub(super) struct Prepared<'r> {
    pub id: EffectId,
    pub digest: Digest,
    pub request: Request<'r>,
}

#[derive(Debug)]
pub(super) enum Request<'r> {
    Model { role: RoleName, request: ModelRequest },
    Tool { step: u32, tool: String, input: Value, contract: Option<&'r ToolContract> },
    Human { step: u32, question: String },
    Wait { delay: Duration },
}

impl<'r> Prepared<'r> {
    /// Renders the request of an effect.
    pub fn of(rules: &'r Rules, state: &State, effect: Effect) -> Self {
        let id = effect.id();
        match effect {
            Effect::AskModel { role, .. } => {
                let request = prompt::render(rules, state, role)
                    .expect("the machine asks only roles that the spec has");
                Prepared { id, digest: request.digest(), request: Request::Model { role, request } }
            }
            Effect::CallTool { step, .. } => {
                let (tool, input) = prompt::tool_call(state, step)
                    .expect("the machine starts a step only when its input is there");
                let (tool, input) = (tool.to_owned(), input.into_owned());
                let (digest, contract) = (tool_digest(&tool, &input), rules.tool(&tool));
                Prepared { id, digest, request: Request::Tool { step, tool, input, contract } }
            }
            Effect::AskHuman { step, .. } => {
                let question = question(state, step);
                let digest = Digest::of([b"human".as_slice(), question.as_bytes()]);
                Prepared { id, digest, request: Request::Human { step, question } }
            }
            Effect::Wait { delay_ms, .. } => {
                let digest = Digest::of([b"wait".as_slice(), &delay_ms.to_le_bytes()]);
                Prepared { id, digest, request: Request::Wait { delay: Duration::from_millis(delay_ms) } }
            }
        }
    }

    /// Who is asked: a role or a tool, a person or the clock.
    pub fn asked(&self) -> &str {
        match &self.request {
            Request::Model { role, .. } => role.as_str(),
            Request::Tool { tool, .. } => tool,
            Request::Human { .. } => crate::contract::HITL,
            Request::Wait { .. } => "wait",
        }
    }

    /// Whether a person is asked.
    pub fn is_human(&self) -> bool {
        matches!(self.request, Request::Human { .. })
    }

    /// Whether time is to pass.
    pub fn is_wait(&self) -> bool {
        matches!(self.request, Request::Wait { .. })
    }
}

/// What a person is asked about a step.
fn question(state: &State, step: u32) -> String {
    let progress = state.task.progress.as_ref();
    let planned = progress.and_then(|progress| progress.plan.steps.get(step as usize));
    planned.map(|planned| planned.question().to_owned()).unwrap_or_default()
}
