//! What the promises are held to with: small specs written as TOML, and runs that are told their
//! answers by hand.

mod told;

use planwright::contract::{ArgumentRole, HITL, PlanStep, ToolContract, ToolEffect, Trust};
use planwright::machine::{
    AllowedCall, EffectId, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, State, ToolOutcome,
};
use planwright::spec::{CompiledSpec, Role, Spec, SpecError, SubAgent};
use serde_json::{Map, Value, json};
use toml::{Table, Value as Toml};

pub use told::Told;

pub const PARALLEL: &str = "execution = { mode = 'parallel', width = 3 }";

/// The tools of every spec here: `calc` (pure, trusted), `find` (reads, untrusted), `send` (a write
/// that may not happen twice), `store` (a write that may), `book` (takes an object).
pub fn tools() -> Vec<ToolContract> {
    let text = |name, effect| ToolContract::text(name, "Stands in for a tool.", effect);
    let object = json!({
        "type": "object",
        "properties": {"day": {"type": "string"}, "people": {"type": "integer"}},
        "required": ["day", "people"], "additionalProperties": false,
    });
    vec![
        ToolContract { trust: Trust::Trusted, ..text("calc", ToolEffect::Pure) },
        text("find", ToolEffect::Read),
        text("send", ToolEffect::Write).argument("", ArgumentRole::Content),
        text("store", ToolEffect::Write).idempotent().argument("", ArgumentRole::Content),
        ToolContract { input: object, ..text("book", ToolEffect::Read) },
    ]
}

/// A spec from the fields of its policy, as TOML; `[limits]`, `[roles.…]`, `[prices.…]` and
/// `[[agents]]` may follow. Roles that the policy needs and the text leaves out are filled in. Unless
/// it says otherwise no validator is asked, nothing is contained, and a plan is its steps alone, without a last one.
#[track_caller]
pub fn spec(text: &str) -> Spec {
    written(text).expect("a spec")
}

/// The spec of a policy, checked.
pub fn checked(text: &str) -> Result<CompiledSpec, SpecError> {
    written(text).expect("a spec").check()
}

fn written(text: &str) -> Result<Spec, toml::de::Error> {
    let mut policy: Table = text.parse()?;
    let mut whole = Table::new();
    for key in ["name", "limits", "roles", "prices", "tools", "agents"] {
        whole.extend(policy.remove(key).map(|value| (key.to_owned(), value)));
    }
    let table = |from: &mut Table, key: &str| match from.remove(key) {
        Some(Toml::Table(table)) => table,
        _ => Table::new(),
    };
    let default = |table: &mut Table, key: &str, value: Toml| {
        table.entry(key.to_owned()).or_insert(value);
    };
    default(&mut policy, "validate", "off".into());
    default(&mut policy, "containment", "off".into());
    let mut plan = table(&mut policy, "plan");
    default(&mut plan, "final_step", "none".into());
    default(&mut plan, "max_steps", 12.into());
    default(&mut plan, "says", Toml::Table([("goal".to_owned(), false.into())].into_iter().collect()));
    policy.insert("plan".into(), plan.into());
    let mut roles = table(&mut whole, "roles");
    for role in needed(&policy) {
        if let Toml::Table(role) = roles.entry(role).or_insert_with(|| Table::new().into()) {
            default(role, "prompt", "Do your duty.".into());
        }
    }
    whole.insert("roles".into(), roles.into());
    default(&mut whole, "name", "promise".into());
    whole.insert("policy".into(), policy.into());
    let mut spec: Spec = whole.try_into()?;
    if spec.tools.is_empty() {
        spec.tools = tools();
    }
    Ok(spec)
}

/// The roles that a policy asks.
fn needed(policy: &Table) -> Vec<String> {
    let says = |key: &str, value: &str| policy.get(key).and_then(Toml::as_str) == Some(value);
    let asked = [
        ("planner", true),
        ("validator", !says("validate", "off")),
        ("writer", !policy.contains_key("write") || says("write", "model")),
        ("orchestrator", says("orchestrate", "each_step")),
        ("grant", policy.get("grant").and_then(Toml::as_bool) == Some(true)),
    ];
    let asked = asked.iter().filter(|(_, asked)| *asked).map(|(role, _)| *role);
    let fields = policy.get("plan").and_then(|plan| plan.get("fields")).and_then(Toml::as_array);
    let fills = fields.is_some_and(|fields| fields.iter().any(|field| field.as_str() == Some("holes")));
    let asked = asked.chain(fills.then_some("executor"));
    let intake = policy.get("intake").and_then(Toml::as_array).into_iter().flatten();
    asked.chain(intake.filter_map(Toml::as_str)).map(str::to_owned).collect()
}

/// A role that does steps.
pub fn role_agent(name: &str) -> SubAgent {
    let role = Some(Role { prompt: format!("You are {name}."), ..Role::default() });
    SubAgent { name: name.into(), description: "Does a step.".into(), role, spec: None }
}

/// A whole agent that does steps.
pub fn whole_agent(name: &str, spec: Spec) -> SubAgent {
    let spec = Some(Box::new(Spec { name: name.into(), ..spec }));
    SubAgent { name: name.into(), description: "Does a step.".into(), role: None, spec }
}

/// An agent that calls one tool and hands on what that says. Its tools change nothing.
pub fn team(name: &str) -> SubAgent {
    team_with(name, |tool| tool.effect != ToolEffect::Write)
}

/// A team with the tools that are kept.
pub fn team_with(name: &str, keep: impl Fn(&ToolContract) -> bool) -> SubAgent {
    let policy = "planner = 'tool_calls'\nwrite = 'last_result'\nplan = { min_steps = 0, max_steps = 1 }";
    whole_agent(name, spec(policy).with_tools(keep))
}

/// A team with one more field in its spec.
pub fn team_that(change: impl FnOnce(&mut Spec)) -> SubAgent {
    let mut team = team("team");
    change(team.spec.as_mut().expect("a team is a whole agent"));
    team
}

/// A spec with agents.
pub fn with_agents(mut spec: Spec, agents: impl IntoIterator<Item = SubAgent>) -> Spec {
    spec.agents.extend(agents);
    spec
}

/// A spec in which a person must approve the calls of this tool.
pub fn with_risky(mut spec: Spec, tool: &str) -> Spec {
    spec.tools.iter_mut().filter(|known| known.name == tool).for_each(|known| known.needs_approval = true);
    spec
}

/// The steps of a plan.
pub struct Steps(Value);

impl From<Value> for Steps {
    fn from(steps: Value) -> Self {
        Steps(steps)
    }
}

/// Steps as text, between semicolons: `tool input`, `@agent task`, `? question`. Before it may stand
/// `id = `, after it `< step` for the output it takes and `after step, step` for what it waits for.
impl From<&str> for Steps {
    fn from(text: &str) -> Self {
        Steps(text.split(';').map(str::trim).filter(|step| !step.is_empty()).map(step).collect())
    }
}

/// One step of such a text.
pub fn step(text: &str) -> Value {
    let mut step = Map::new();
    let mut put = |key: &str, value: &str| step.insert(key.to_owned(), json!(value));
    let mut text = text.trim();
    if let Some((id, rest)) = text.split_once(" = ") {
        put("id", id);
        text = rest;
    }
    let mut waits = None;
    if let Some((rest, names)) = text.split_once(" after ") {
        (text, waits) = (rest, Some(names.split(", ").collect::<Vec<_>>()));
    }
    if let Some((rest, from)) = text.split_once(" < ") {
        put("input_from", from);
        text = rest;
    }
    let (name, words) = text.split_once(' ').unwrap_or((text, ""));
    let (name, kind) = match name.strip_prefix('@') {
        Some(agent) => (agent, ("agent", "task")),
        None if name == "?" => (HITL, ("tool", "hitl_question")),
        None => (name, ("tool", "input")),
    };
    put(kind.0, name);
    match serde_json::from_str::<Value>(words) {
        Ok(input @ Value::Object(_)) => drop(step.insert(kind.1.to_owned(), input)),
        _ if words.is_empty() => {}
        _ => drop(put(kind.1, words)),
    }
    step.extend(waits.map(|names| ("depends_on".to_owned(), json!(names))));
    Value::Object(step)
}

/// A plan of these steps.
pub fn plan(steps: impl Into<Steps>) -> Say {
    text(json!({"steps": steps.into().0}).to_string())
}

/// An answer of the world.
#[derive(Clone, Debug)]
pub enum Say {
    Reply(ModelReply),
    Class(FailureClass),
    /// A reply that was cut at its token limit.
    Cut(&'static str),
    Found(ToolOutcome),
    Human(HumanAnswer),
    Expired,
    Passed,
}

pub fn text(text: impl Into<String>) -> Say {
    Say::Reply(ModelReply::text(text))
}

/// Native tool calls with these arguments.
pub fn calls(calls: &[(&str, Value)]) -> Say {
    Say::Reply(ModelReply::calls(calls.iter().map(|(name, arguments)| (*name, arguments.clone()))))
}

/// Native calls of tools that take a text.
pub fn asks(wanted: &[(&str, &str)]) -> Say {
    let wanted = wanted.iter().map(|&(tool, input)| (tool, json!({"input": input})));
    calls(&wanted.collect::<Vec<_>>())
}

pub fn found(output: &str) -> Say {
    Say::Found(ToolOutcome::returned(output))
}

pub fn broken() -> Say {
    Say::Found(ToolOutcome::Failed { kind: "http".into(), message: "status 500".into() })
}

/// What a failed call of [`broken`] is shown as.
pub const BROKEN: &str = "ERROR: http: status 500";

pub fn respond(text: &str) -> Say {
    Say::Human(HumanAnswer::respond(text))
}

pub fn reject(reason: &str) -> Say {
    Say::Human(HumanAnswer::reject(reason))
}

pub fn approve() -> Say {
    Say::Human(HumanAnswer::Approve)
}

pub fn edit_input(input: Value) -> Say {
    Say::Human(HumanAnswer::EditInput { input })
}

/// Yes to these of several calls, by position.
pub fn allow(positions: &[u32]) -> Say {
    allow_calls(positions.iter().map(|position| AllowedCall::AsShown(*position)))
}

/// Yes to these of several calls, as they were shown or with another input.
pub fn allow_calls(calls: impl IntoIterator<Item = AllowedCall>) -> Say {
    Say::Human(HumanAnswer::ApproveCalls { calls: calls.into_iter().collect() })
}

pub fn edit(edited: impl Into<Steps>) -> Say {
    Say::Human(HumanAnswer::Edit { steps: steps(edited) })
}

/// The steps of a person's edit.
pub fn steps(steps: impl Into<Steps>) -> Vec<PlanStep> {
    serde_json::from_value(steps.into().0).expect("steps")
}

pub fn verdict(ok: bool, reason: &str, fix_hint: &str) -> Say {
    text(json!({"ok": ok, "reason": reason, "fix_hint": fix_hint}).to_string())
}

/// A verdict on whether enough was found.
pub fn enough(sufficient: bool) -> Say {
    text(json!({"sufficient": sufficient, "missing_info": "m", "reason": "r"}).to_string())
}

/// An intent that needs no tool.
pub fn small_talk() -> Say {
    text(json!({"intent": "chitchat", "rewritten_query": "q", "needs_tool": false}).to_string())
}

pub fn decision(decision: Value) -> Say {
    text(decision.to_string())
}

pub fn go_on() -> Say {
    decision(json!({"action": "continue"}))
}

pub fn refuses_to_say() -> Say {
    Say::Class(FailureClass::Refusal)
}

impl Say {
    pub fn event(&self, effect: EffectId) -> Event {
        match self.clone() {
            Say::Reply(reply) => Event::ModelReplied { effect, reply },
            Say::Class(class) => Event::ModelFailed { effect, failure: ModelFailure::new(class, "said so") },
            Say::Cut(text) => {
                let failure = ModelFailure::new(FailureClass::Length, "cut");
                Event::ModelFailed { effect, failure: ModelFailure { text: text.into(), ..failure } }
            }
            Say::Found(outcome) => Event::ToolReturned { effect, outcome },
            Say::Human(answer) => Event::HumanAnswered { effect, answer },
            Say::Expired => Event::Expired { effect },
            Say::Passed => Event::TimePassed { effect },
        }
    }

    /// The reply that it is.
    #[track_caller]
    pub fn reply(self) -> ModelReply {
        match self {
            Say::Reply(reply) => reply,
            other => panic!("{other:?} is no reply of a model"),
        }
    }
}

/// A copy of a state with some of what is written changed: fields that no caller may set.
#[track_caller]
pub fn altered(state: &State, alter: impl FnOnce(&mut Value)) -> State {
    let mut written = serde_json::to_value(state).expect("a state is written");
    alter(&mut written);
    serde_json::from_value(written).expect("a state that a run can be in")
}

#[track_caller]
pub fn id(text: &str) -> EffectId {
    text.parse().expect("an effect id")
}
