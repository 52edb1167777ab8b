//! Preparing an effect: from its id to the request that goes out, with the digest that names it.

use serde_json::Value;

use crate::journal::tool_digest;
use crate::machine::{Effect, EffectId, State};
use crate::prompt::{self, ModelRequest};
use crate::spec::{Digest, RoleName, Rules};

/// An effect, ready to be performed.
#[derive(Debug)]
pub(super) struct Prepared {
    pub id: EffectId,
    pub digest: Digest,
    pub request: Request,
}

#[derive(Debug)]
pub(super) enum Request {
    Model { role: RoleName, request: ModelRequest },
    Tool { step: u32, tool: String, input: Value },
}

impl Prepared {
    /// Renders the request of an effect.
    pub fn of(rules: &Rules, state: &State, effect: Effect) -> Self {
        match effect {
            Effect::AskModel { id, role } => {
                let request = prompt::render(rules, state, role)
                    .expect("the machine asks only roles that the spec has");
                Prepared { id, digest: request.digest(), request: Request::Model { role, request } }
            }
            Effect::AskHuman { .. } | Effect::Wait { .. } => unreachable!("not asked yet"),
            Effect::CallTool { id, step } => {
                let (tool, input) = prompt::tool_call(state, step)
                    .expect("the machine starts a step only when its input is there");
                let (tool, input) = (tool.to_owned(), input.into_owned());
                let digest = tool_digest(&tool, &input);
                Prepared { id, digest, request: Request::Tool { step, tool, input } }
            }
        }
    }

    /// Who is asked: a role or a tool.
    pub fn asked(&self) -> &str {
        match &self.request {
            Request::Model { role, .. } => role.as_str(),
            Request::Tool { tool, .. } => tool,
        }
    }
}
