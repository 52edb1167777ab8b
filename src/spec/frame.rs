//! Frames: the part of each role's requests that never changes, worked out and digested once.

use serde::Serialize;
use serde_json::Value;

use super::{Digest, Member, Planner, Policy, Role, RoleName};
use crate::contract::{AnswerForm, Decision, Intent, PlanContract, PreviousContext, Scope, ToolContract};

/// The part of a request that is the same for every request of one role: who is asked, under which
/// instructions, for which form of reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestFrame {
    /// The duty.
    pub role: RoleName,
    /// Which of the spec's agents it is, for [`RoleName::Agent`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model the spec asks for; `None` leaves it to the driver.
    pub model: Option<String>,
    /// The system message.
    pub system: String,
    /// The tools and agents that the reply may name; empty for roles that name none.
    pub tools: Vec<ToolContract>,
    /// Whether they are offered as native tool calls, and not as a list in the system message.
    #[serde(skip_serializing_if = "is_false")]
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
}

fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn frame(
    name: RoleName,
    role: &Role,
    plan: &PlanContract,
    policy: &Policy,
    form: AnswerForm,
) -> RequestFrame {
    let native = name.plans() && policy.planner == Planner::ToolCalls;
    let (tools, schema) = match name {
        RoleName::Scope => (Vec::new(), Some(Scope::schema())),
        RoleName::PreviousContext => (Vec::new(), Some(PreviousContext::schema())),
        RoleName::Intent => (Vec::new(), Intent::schema(policy.intent.form, &policy.intent.kinds)),
        RoleName::Planner | RoleName::Replanner => {
            let schema = (policy.planner == Planner::Json).then(|| plan.schema());
            (plan.all().to_vec(), schema)
        }
        RoleName::Orchestrator => {
            let names: Vec<&str> = plan.agents().iter().map(|agent| agent.name.as_str()).collect();
            (plan.agents().to_vec(), Some(Decision::schema(&names)))
        }
        RoleName::Validator => (Vec::new(), policy.validate.form().map(|form| form.schema())),
        RoleName::Writer => (Vec::new(), form.schema()),
        RoleName::Conversation | RoleName::Agent => (Vec::new(), None),
    };
    let system = match native {
        true => role.prompt.trim().to_owned(),
        false => system(role, plan, &tools),
    };
    let (model, temperature, max_tokens) = (role.model.clone(), role.temperature, role.max_tokens);
    digested(RequestFrame {
        role: name,
        agent: None,
        model,
        system,
        tools,
        native_calls: native,
        schema,
        temperature,
        max_tokens,
        digest: Digest::of([]),
    })
}

pub(super) fn member_frame(member: &Member, role: &Role) -> RequestFrame {
    digested(RequestFrame {
        role: RoleName::Agent,
        agent: Some(member.name.clone()),
        model: role.model.clone(),
        system: role.prompt.trim().to_owned(),
        tools: Vec::new(),
        native_calls: false,
        schema: None,
        temperature: role.temperature,
        max_tokens: role.max_tokens,
        digest: Digest::of([]),
    })
}

fn digested(mut frame: RequestFrame) -> RequestFrame {
    let bytes = serde_json::to_vec(&frame).expect("a frame has text keys only");
    frame.digest = Digest::of([bytes.as_slice()]);
    frame
}

/// The system message: the role's prompt and, for roles that plan, whom it may plan with.
fn system(role: &Role, plan: &PlanContract, offered: &[ToolContract]) -> String {
    let mut text = role.prompt.trim().to_owned();
    let (agents, tools): (Vec<&ToolContract>, Vec<&ToolContract>) =
        offered.iter().partition(|offered| plan.agent(&offered.name).is_some());
    for (title, list) in [("Tools", tools), ("Agents", agents)] {
        if list.is_empty() {
            continue;
        }
        text.push_str(&format!("\n\n{title}:"));
        for tool in list {
            text.push_str(&format!("\n- {}: {}", tool.name, tool.description.trim()));
            if !tool.takes_text() {
                text.push_str(&format!(" Input: {}", tool.input));
            }
        }
    }
    text
}
