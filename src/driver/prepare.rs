//! Preparing an effect: from its id to the request that goes out, with the digest that names it.

use serde_json::Value;

use crate::contract::ToolContract;
use crate::journal::{human_digest, tool_digest, wait_digest};
use crate::machine::{Effect, EffectId, State};
use crate::prompt::{self, ModelRequest};
use crate::spec::{Digest, RoleName, Rules};

/// An effect, ready to be performed.
#[derive(Debug)]
pub(super) struct Prepared {
    pub id: EffectId,
    pub digest: Digest,
    /// Who is asked: a role, a tool, a person.
    pub asked: String,
    pub request: Request,
}

#[derive(Debug)]
pub(super) enum Request {
    Model { role: RoleName, request: ModelRequest },
    Tool { step: u32, input: Value, contract: Box<ToolContract> },
    Human { step: u32, question: String },
    Wait { delay_ms: u64 },
}

impl Prepared {
    /// Renders the request of an effect.
    pub fn of(rules: &Rules, state: &State, effect: Effect) -> Self {
        let rule = "the machine asks only for what the state holds";
        let id = effect.id();
        let asked = prompt::asked(rules, state, effect).expect(rule);
        let (digest, request) = match effect {
            Effect::AskModel { role, .. } => {
                let request = prompt::request(rules, state, effect).expect(rule);
                (request.digest(), Request::Model { role, request })
            }
            Effect::CallTool { step, .. } => {
                let (tool, input) = prompt::call(rules, state, effect).expect(rule);
                let contract = Box::new(prompt::called(rules, state, effect).expect(rule).clone());
                let digest = tool_digest(tool, &input);
                (digest, Request::Tool { step, input: input.into_owned(), contract })
            }
            Effect::AskHuman { step, .. } => {
                let question = prompt::question(rules, state, effect).expect(rule).to_owned();
                (human_digest(&question), Request::Human { step, question })
            }
            Effect::Wait { delay_ms, .. } => (wait_digest(delay_ms), Request::Wait { delay_ms }),
        };
        Prepared { id, digest, asked, request }
    }

    /// Who is asked: a role, a tool, a person.
    pub fn asked(&self) -> &str {
        &self.asked
    }
}
