//! Request frames: the constant part of each role's requests, built and digested once.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use twox_hash::xxhash3_128::{Hasher, RawHasher, SecretBuffer};

use super::{Planner, Policy, Role, RoleName};
use crate::contract::{
    AnswerForm, Decision, Filling, Intent, PlanContract, PreviousContext, Scope, ToolContract,
};

/// The part that all requests of one role share: who is asked, how, and for which form of reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestFrame {
    /// The duty.
    pub role: RoleName,
    /// The name of the agent, for [`RoleName::Agent`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model the spec asks for; `None` leaves it to the driver.
    pub model: Option<String>,
    /// The system message.
    pub system: String,
    /// The tools and agents that the reply may name; empty for roles that name none.
    pub tools: Vec<ToolContract>,
    /// Whether the tools are offered as native tool calls, and not as a list in the system message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub native_calls: bool,
    /// JSON schema of the reply; `None` asks for plain text.
    pub schema: Option<Value>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens of the reply.
    pub max_tokens: Option<u32>,
    /// The digest of all of the above.
    #[serde(skip)]
    pub digest: Digest,
    /// The role or agent as requests name it: `planner`, `agent:search`.
    #[serde(skip)]
    pub asked: String,
}

impl RequestFrame {
    /// The frame of a role that a spec has under its own name.
    pub(super) fn of_role(
        name: RoleName,
        role: &Role,
        plan: &PlanContract,
        policy: &Policy,
        form: &AnswerForm,
    ) -> Self {
        let (tools, schema) = match name {
            RoleName::Grant => (plan.all(), Some(plan.schema())),
            RoleName::Scope => (&[][..], Some(Scope::schema())),
            RoleName::PreviousContext => (&[][..], Some(PreviousContext::schema())),
            RoleName::Intent => (&[][..], Intent::schema(policy.intent.form, &policy.intent.kinds)),
            RoleName::Planner | RoleName::Replanner => {
                (plan.all(), (policy.planner == Planner::Json).then(|| plan.schema()))
            }
            RoleName::Orchestrator => (plan.agents(), Some(Decision::schema(plan.agents()))),
            RoleName::Executor => (&[][..], Some(Filling::schema())),
            RoleName::Validator => (&[][..], policy.validate.schema()),
            RoleName::Writer => (&[][..], form.schema()),
            RoleName::Conversation | RoleName::Agent => (&[][..], None),
        };
        let native_calls = name.plans() && policy.planner == Planner::ToolCalls;
        let mut frame = RequestFrame { native_calls, schema, ..RequestFrame::bare(name, role) };
        if !native_calls {
            list_tools(&mut frame.system, plan, tools);
        }
        frame.tools = tools.to_vec();
        frame.digested()
    }

    /// The frame of an agent that is one role.
    pub(super) fn of_agent(name: &str, role: &Role) -> Self {
        let (agent, asked) = (Some(name.to_owned()), format!("agent:{name}"));
        RequestFrame { agent, asked, ..RequestFrame::bare(RoleName::Agent, role) }.digested()
    }

    fn bare(name: RoleName, role: &Role) -> Self {
        RequestFrame {
            role: name,
            agent: None,
            model: role.model.clone(),
            system: role.prompt.trim().to_owned(),
            tools: Vec::new(),
            native_calls: false,
            schema: None,
            temperature: role.temperature,
            max_tokens: role.max_tokens,
            digest: Digest::of([]),
            asked: name.to_string(),
        }
    }

    fn digested(mut self) -> Self {
        let bytes = serde_json::to_vec(&self).expect("a frame has text keys only");
        self.digest = Digest::of([bytes.as_slice()]);
        self
    }
}

/// What a planner is told where a value of an input may be worked out from earlier steps.
const REFERENCES: &str = r#"A value of an input may be worked out from what earlier steps return. Write one of these in its place:
- {"$from": "<id of the step>", "take": "<JSON pointer into its output>"}, such as {"$from": "step_1", "take": "/items/0/price"}. Leave "take" out (or null) for the whole output.
- From one record of a list: add "where": [["/title", "equals", "Lunch"]] (equals, contains or starts_with; all must hold), or "order_by": "/price" with "first": "smallest" or "largest" (a number or a date). "in" points to the list if it is not the whole output; the other pointers start at the record. If not exactly one record fits, the step fails.
- Out of a text: add "extract": email, url, iban, number, date or amount. If not exactly one is found, the step fails.
- {"$template": "Dinner at {1}, {2}", "with": [two of these]} for a text, {"$calc": "{1} * 2 + 0.5", "with": [one of these]} for a number."#;

/// What a planner is told where a model may fill in a value.
const HOLES: &str = r#"
- Only if none of these can say it (a summary, a date in words): {"$fill": "<what is wanted>", "type": {"type": "string"}, "from": ["<id of a step>"]}. A model writes that value later. It reads your words and what "from" lists (ids, or {"$from": ...} for a part), and nothing else; "type" is the JSON schema of the value."#;

/// Appends to a system message what the role may plan with.
fn list_tools(system: &mut String, plan: &PlanContract, offered: &[ToolContract]) {
    let (agents, tools): (Vec<&ToolContract>, Vec<&ToolContract>) =
        offered.iter().partition(|offered| plan.agent(&offered.name).is_some());
    for (title, list) in [("Tools", tools), ("Agents", agents)] {
        if !list.is_empty() {
            system.push_str(&format!("\n\n{title}:"));
        }
        for tool in list {
            system.push_str(&format!("\n- {}: {}", tool.name, tool.description.trim()));
            if !tool.takes_text() {
                system.push_str(&format!(" Input: {}", tool.input));
            }
            if let Some(output) = tool.output.as_ref().filter(|_| plan.offers_references()) {
                system.push_str(&format!(" Output: {output}"));
            }
        }
    }
    if !offered.is_empty() && plan.offers_references() {
        system.push_str("\n\n");
        system.push_str(REFERENCES);
        if plan.offers_holes() {
            system.push_str(HOLES);
        }
    }
}

/// Most bytes that are digested at once.
const SHORT: usize = 240;

/// An XXH3 hash of 128 bits, written as 32 hexadecimal digits. It tells apart requests that were not
/// made to collide, so do not guard anything with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Digests a sequence of parts. Each part is preceded by its length, so that moving a byte from
    /// one part to the next changes the digest.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        // What is short is digested at once, which takes a fraction of the time and gives the same.
        let (mut short, mut filled, mut long) = ([0; SHORT], 0, None);
        for part in parts {
            let length = (part.len() as u64).to_le_bytes();
            let (at, end) = (filled + length.len(), filled + length.len() + part.len());
            if long.is_none() && end <= SHORT {
                short[filled..at].copy_from_slice(&length);
                short[at..end].copy_from_slice(part);
                filled = end;
                continue;
            }
            let hasher = long.get_or_insert_with(|| {
                let mut hasher = RawHasher::new(SecretBuffer::default());
                hasher.write(&short[..filled]);
                hasher
            });
            hasher.write(&length);
            hasher.write(part);
        }
        let hash = long.map_or_else(|| Hasher::oneshot(&short[..filled]), |hasher| hasher.finish_128());
        Digest(hash.to_be_bytes())
    }

    /// The digest of which these are the bytes.
    pub fn of_bytes(bytes: [u8; 16]) -> Self {
        Digest(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| hex);
        number.map(|number| Digest(number.to_be_bytes())).ok_or_else(|| {
            serde::de::Error::custom(format!("expected a digest of 32 hexadecimal digits, found {text:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_digested_at_once_has_the_digest_that_it_has_piece_by_piece() {
        for len in 0..2 * SHORT {
            let text: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let (one, other) = text.split_at(len / 3);
            let mut hasher = RawHasher::new(SecretBuffer::default());
            for part in [one, other] {
                hasher.write(&(part.len() as u64).to_le_bytes());
                hasher.write(part);
            }
            assert_eq!(Digest::of([one, other]).0, hasher.finish_128().to_be_bytes(), "{len} bytes");
        }
    }
}
