//! What the promises are held to with: small specs written as TOML, and runs that are told their
//! answers by hand. Every event that a run takes is checked on the way: the state that was written
//! and read again moves to the same state, what it asks for is what it waits for, and the same answer
//! does not fit twice.
#![allow(dead_code)]

use planwright::contract::{PlanStep, ToolContract, ToolEffect, Trust};
use planwright::machine::{
    Effect, EffectId, Event, FailureClass, HumanAnswer, Input, ModelFailure, ModelReply, Refusal, State,
    ToolOutcome, admit, outstanding, start, transition,
};
use planwright::prompt::{self, Message};
use planwright::spec::{CompiledSpec, Member, Role, Spec, SpecError};
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

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
        text("send", ToolEffect::Write),
        ToolContract { idempotent: Some(true), ..text("store", ToolEffect::Write) },
        ToolContract { input: object, ..text("book", ToolEffect::Read) },
    ]
}

const NOT_POLICY: [&str; 6] = ["name", "limits", "roles", "prices", "tools", "agents"];

/// A spec from the fields of its policy, as TOML; `[limits]`, `[roles.…]`, `[prices.…]` and
/// `[[agents]]` may follow. Roles that the policy needs and the text leaves out are filled in. Unless
/// it says otherwise nobody judges, a plan needs no last step, and says nothing but its steps.
#[track_caller]
pub fn spec(text: &str) -> Spec {
    written(text).expect("a spec")
}

/// The same, checked.
pub fn checked(text: &str) -> Result<CompiledSpec, SpecError> {
    written(text).expect("a spec").check()
}

fn written(text: &str) -> Result<Spec, toml::de::Error> {
    let mut given: Table = text.parse()?;
    let mut whole = Table::new();
    for key in NOT_POLICY {
        if let Some(value) = given.remove(key) {
            whole.insert(key.into(), value);
        }
    }
    let mut policy = given;
    let default = |table: &mut Table, key: &str, value: Toml| {
        table.entry(key.to_owned()).or_insert(value);
    };
    default(&mut policy, "validate", "off".into());
    let mut plan = policy.remove("plan").and_then(|plan| plan.try_into::<Table>().ok()).unwrap_or_default();
    default(&mut plan, "final_step", "none".into());
    default(&mut plan, "max_steps", 12.into());
    default(&mut plan, "says", Toml::Table([("goal".to_owned(), false.into())].into_iter().collect()));
    let roles = whole.remove("roles").and_then(|roles| roles.try_into::<Table>().ok()).unwrap_or_default();
    let roles = filled(&policy, roles);
    policy.insert("plan".into(), plan.into());
    default(&mut whole, "name", "promise".into());
    whole.insert("policy".into(), policy.into());
    whole.insert("roles".into(), roles.into());
    let mut spec: Spec = whole.try_into()?;
    if spec.tools.is_empty() {
        spec.tools = tools();
    }
    Ok(spec)
}

/// The roles that a policy asks for, with those that are given.
fn filled(policy: &Table, mut roles: Table) -> Table {
    let says = |key: &str, value: &str| policy.get(key).and_then(Toml::as_str) == Some(value);
    let mut needed = vec!["planner"];
    if !says("validate", "off") {
        needed.push("validator");
    }
    if policy.get("write").is_none() || says("write", "model") {
        needed.push("writer");
    }
    if says("orchestrate", "each_step") {
        needed.push("orchestrator");
    }
    let intake = policy.get("intake").and_then(Toml::as_array);
    needed.extend(intake.into_iter().flatten().filter_map(Toml::as_str));
    for role in needed {
        let entry = roles.entry(role.to_owned()).or_insert_with(|| Table::new().into());
        if let Toml::Table(role) = entry {
            role.entry("prompt".to_owned()).or_insert("Do your duty.".into());
        }
    }
    roles
}

/// A role that does steps.
pub fn role_agent(name: &str) -> Member {
    let role = Some(Role { prompt: format!("You are {name}."), ..Role::default() });
    Member { name: name.into(), description: "Does a step.".into(), role, spec: None }
}

/// A whole agent that does steps.
pub fn whole_agent(name: &str, spec: Spec) -> Member {
    let spec = Some(Box::new(Spec { name: name.into(), ..spec }));
    Member { name: name.into(), description: "Does a step.".into(), role: None, spec }
}

/// An agent that calls one tool and hands on what that says. Its tools change nothing.
pub fn team(name: &str) -> Member {
    team_with(name, |tool| tool.effect != ToolEffect::Write)
}

/// The same with other tools.
pub fn team_with(name: &str, keep: impl Fn(&ToolContract) -> bool) -> Member {
    let policy = "planner = 'tool_calls'\nwrite = 'last_result'\nplan = { min_steps = 0, max_steps = 1 }";
    whole_agent(name, spec(policy).with_tools(keep))
}

/// The same spec with agents.
pub fn with_agents(mut spec: Spec, agents: impl IntoIterator<Item = Member>) -> Spec {
    spec.agents.extend(agents);
    spec
}

/// A plan of these steps.
pub fn plan(steps: Value) -> Say {
    text(json!({"steps": steps}).to_string())
}

/// The steps of a person's edit.
pub fn steps(steps: Value) -> Vec<PlanStep> {
    serde_json::from_value(steps).expect("steps")
}

/// An answer of the world.
#[derive(Clone, Debug)]
pub enum Say {
    Reply(ModelReply),
    Class(FailureClass),
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
    let wanted: Vec<(&str, Value)> =
        wanted.iter().map(|&(tool, input)| (tool, json!({"input": input}))).collect();
    calls(&wanted)
}

pub fn found(output: &str) -> Say {
    Say::Found(ToolOutcome::returned(output))
}

pub fn broken() -> Say {
    Say::Found(ToolOutcome::Failed { kind: "http".into(), message: "status 500".into() })
}

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

/// The same spec, with a person who must allow the calls of this tool.
pub fn with_risky(mut spec: Spec, tool: &str) -> Spec {
    spec.tools.iter_mut().filter(|known| known.name == tool).for_each(|known| known.needs_approval = true);
    spec
}

pub fn edit(edited: Value) -> Say {
    Say::Human(HumanAnswer::Edit { steps: steps(edited) })
}

pub fn verdict(ok: bool, reason: &str, fix_hint: &str) -> Say {
    text(json!({"ok": ok, "reason": reason, "fix_hint": fix_hint}).to_string())
}

pub fn decision(decision: Value) -> Say {
    text(decision.to_string())
}

pub fn go_on() -> Say {
    decision(json!({"action": "continue"}))
}

impl Say {
    pub fn event(&self, effect: EffectId) -> Event {
        match self.clone() {
            Say::Reply(reply) => Event::ModelReplied { effect, reply },
            Say::Class(class) => {
                let failure = ModelFailure::new(class, "said so");
                Event::ModelFailed { effect, failure }
            }
            Say::Found(outcome) => Event::ToolReturned { effect, outcome },
            Say::Human(answer) => Event::HumanAnswered { effect, answer },
            Say::Expired => Event::Expired { effect },
            Say::Passed => Event::TimePassed { effect },
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

/// A run that is told its answers.
pub struct Told {
    pub rules: CompiledSpec,
    pub state: State,
    pub input: Input,
    /// Everything it took.
    pub events: Vec<Event>,
    /// Whom it asked, in the order in which that was answered: roles, `agent:…`, tools, `human`,
    /// `wait`.
    pub asked: Vec<String>,
}

impl Told {
    #[track_caller]
    pub fn begin(spec: Spec) -> Self {
        Told::begin_with(spec, Input::question("왜?"))
    }

    #[track_caller]
    pub fn begin_with(spec: Spec, input: Input) -> Self {
        let rules = spec.check().expect("checks");
        let begun = start(&rules, input.clone());
        assert_eq!(begun.effects.to_vec(), outstanding(&rules, &begun.state), "it waits for what it asked");
        Told { rules, state: begun.state, input, events: Vec::new(), asked: Vec::new() }
    }

    /// Begins and tells.
    #[track_caller]
    pub fn run(spec: Spec, answers: impl IntoIterator<Item = Say>) -> Self {
        let mut told = Told::begin(spec);
        told.tell(answers);
        told
    }

    /// The ids of what it waits for.
    pub fn waits(&self) -> Vec<String> {
        self.outstanding().iter().map(|effect| effect.id().to_string()).collect()
    }

    pub fn outstanding(&self) -> Vec<Effect> {
        outstanding(&self.rules, &self.state)
    }

    fn effect(&self, wanted: EffectId) -> Option<Effect> {
        self.outstanding().into_iter().find(|effect| effect.id() == wanted)
    }

    /// Answers each time what it waits for first.
    #[track_caller]
    pub fn tell(&mut self, answers: impl IntoIterator<Item = Say>) -> &mut Self {
        for answer in answers {
            let waits = self.outstanding();
            let first = waits.first().unwrap_or_else(|| {
                panic!("the run waits for nothing, and there is {answer:?}; {}", self.error())
            });
            let first = first.id().to_string();
            self.answer(&first, answer);
        }
        self
    }

    /// Answers one effect.
    #[track_caller]
    pub fn answer(&mut self, to: &str, answer: Say) -> &mut Self {
        let effect = id(to);
        let asked = self.effect(effect).unwrap_or_else(|| panic!("{to} is not asked: {:?}", self.waits()));
        self.asked.push(prompt::asked(&self.rules, &self.state, asked).expect("somebody is asked"));
        self.take(answer.event(effect))
    }

    /// Takes an event.
    #[track_caller]
    pub fn take(&mut self, event: Event) -> &mut Self {
        let waited = self.outstanding();
        let written = serde_json::to_string(&self.state).expect("a state is written");
        let read: State = serde_json::from_str(&written).expect("and read");
        let step = transition(&self.rules, self.state.clone(), event.clone())
            .unwrap_or_else(|refused| panic!("{refused}"));
        let again = transition(&self.rules, read, event.clone()).expect("the state that was read, too");
        assert_eq!(
            serde_json::to_string(&again.state).expect("written"),
            serde_json::to_string(&step.state).expect("written"),
            "written, read and stepped is the same as stepped"
        );
        self.state = step.state;
        let waits = self.outstanding();
        let asked: Vec<Effect> = waits.iter().filter(|effect| !waited.contains(effect)).copied().collect();
        let mut effects = step.effects.to_vec();
        effects.sort_by_key(|effect| effect.id().to_string());
        let mut expected = asked;
        expected.sort_by_key(|effect| effect.id().to_string());
        assert_eq!(effects, expected, "it waits for what it asked");
        let ended = self.state.phase.name().is_terminal();
        assert_eq!(waits.is_empty(), ended, "a run that goes on waits for something: {:?}", self.state.phase);
        assert!(admit(&self.rules, &self.state, &event).is_err() || event.effect().is_none(), "fits twice");
        self.events.push(event);
        self
    }

    /// Why an answer does not fit.
    #[track_caller]
    pub fn refusal(&self, to: &str, answer: Say) -> Refusal {
        admit(&self.rules, &self.state, &answer.event(id(to))).expect_err("it is refused")
    }

    /// The same run, folded again from its events.
    pub fn folded(&self) -> State {
        let mut state = start(&self.rules, self.input.clone()).state;
        for event in self.events.clone() {
            state = transition(&self.rules, state, event).expect("it fitted before").state;
        }
        state
    }

    pub fn trace(&self) -> Vec<Value> {
        self.state.task.trace.iter().map(|line| serde_json::to_value(line).expect("serialises")).collect()
    }

    pub fn phases(&self) -> Vec<String> {
        self.trace().iter().map(|line| line["phase"].as_str().expect("a phase").to_owned()).collect()
    }

    /// The first line of the trace with this name.
    #[track_caller]
    pub fn line(&self, phase: &str) -> Value {
        self.trace().into_iter().find(|line| line["phase"] == phase).expect("such a line")
    }

    pub fn error(&self) -> String {
        self.state.task.error().map(ToString::to_string).unwrap_or_default()
    }

    pub fn said(&self) -> &str {
        self.state.task.artifacts.final_answer.as_deref().unwrap_or_default()
    }

    /// `name: status: output` of the steps that count.
    pub fn results(&self) -> Vec<String> {
        let progress = self.state.task.progress.iter();
        let steps = progress.flat_map(|progress| progress.plan.steps.iter().zip(&progress.steps).enumerate());
        steps
            .map(|(at, (step, run))| {
                format!("{}: {}: {}", step.name(at), run.status(), run.output().unwrap_or("-"))
            })
            .collect()
    }

    /// What a person is asked by what it waits for first.
    #[track_caller]
    pub fn question(&self) -> String {
        let first = self.outstanding().first().copied().expect("it waits for something");
        prompt::question(&self.rules, &self.state, first).expect("a person is asked")
    }

    /// Why what it waits for first is not answered so; and nothing changes by it.
    #[track_caller]
    pub fn refuses(&self, answer: Say) -> String {
        let first = self.waits().first().cloned().expect("it waits for something");
        let event = answer.event(id(&first));
        let refused = transition(&self.rules, self.state.clone(), event.clone()).expect_err("it is refused");
        assert_eq!((&refused.state, &refused.event), (&self.state, &event), "nothing changes");
        refused.refusal.to_string()
    }

    /// What one effect asks a model with.
    #[track_caller]
    pub fn request(&self, of: &str) -> prompt::ModelRequest {
        let effect = self.effect(id(of)).unwrap_or_else(|| panic!("{of} is not asked: {:?}", self.waits()));
        prompt::request(&self.rules, &self.state, effect).expect("a model is asked")
    }

    /// The payload of what it waits for first.
    #[track_caller]
    pub fn payload(&self) -> Value {
        let first = self.waits().first().cloned().expect("it waits for something");
        serde_json::from_str(&self.request(&first).payload).expect("JSON")
    }

    /// The conversation of what it waits for first.
    #[track_caller]
    pub fn conversation(&self) -> Vec<Message> {
        let first = self.waits().first().cloned().expect("it waits for something");
        self.request(&first).conversation
    }

    /// What the tool of a step is called with.
    #[track_caller]
    pub fn input(&self, of: &str) -> Value {
        let effect = self.effect(id(of)).unwrap_or_else(|| panic!("{of} is not asked: {:?}", self.waits()));
        prompt::call(&self.rules, &self.state, effect).expect("a tool is called").1.into_owned()
    }
}
