//! Preparing an effect: from its id to the request that goes out, with the digest that names it.

use std::time::Duration;

use serde_json::Value;

use crate::contract::ToolContract;
use crate::journal::{human_digest, tool_digest, wait_digest};
use crate::machine::{Effect, EffectId, State};
use crate::prompt::{self, ModelRequest};
use crate::spec::{CompiledSpec, Digest, RoleName};

/// An effect, ready to be performed.
#[derive(Debug)]
pub(super) struct Prepared<'r> {
    pub id: EffectId,
    pub digest: Digest,
    /// Whom it asks, by name: a role, a tool, a person.
    asked: String,
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
    pub fn of(rules: &'r CompiledSpec, state: &State, effect: Effect) -> Self {
        let rule = "the machine asks only for what the state holds";
        let asked = prompt::asked(rules, state, effect).expect(rule);
        let (digest, request) = match effect {
            Effect::AskModel { role, .. } => {
                let request = prompt::request(rules, state, effect).expect(rule);
                (request.digest(), Request::Model { role, request })
            }
            Effect::CallTool { step, .. } => {
                let (tool, input) = prompt::call(rules, state, effect).expect(rule);
                let (tool, input) = (tool.to_owned(), input.into_owned());
                let contract = prompt::called(rules, state, effect);
                (tool_digest(&tool, &input), Request::Tool { step, tool, input, contract })
            }
            Effect::AskHuman { step, .. } => {
                let question = prompt::question(rules, state, effect).expect(rule);
                (human_digest(&question), Request::Human { step, question })
            }
            Effect::Wait { delay_ms, .. } => {
                (wait_digest(delay_ms), Request::Wait { delay: Duration::from_millis(delay_ms) })
            }
        };
        Prepared { id: effect.id(), digest, asked, request }
    }

    /// Whom it asks, by name: a role, a tool, a person.
    pub fn asked(&self) -> &str {
        &self.asked
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
