//! What is said in a simulated world. A straight run is played by the machine alone; whoever asks for
//! the same again is told the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::{Agent, Clock};
use planwright::machine::{
    Effect, EffectId, Event, HumanAnswer, Input, ModelReply, State, ToolOutcome, outstanding, start,
    transition,
};
use planwright::ports::{Cause, Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput};
use planwright::prompt::{ModelRequest, Request, RequestBody};
use planwright::spec::{Approval, CompiledSpec, Digest, Execution, OnRejection, Spec};

use super::store::Faulty;
use super::{Dice, drawn};
use crate::repertoire::{Answer, PLANS, event};

/// What a person does with a question.
#[derive(Clone, Debug)]
pub enum Word {
    Says(HumanAnswer),
    /// No answer comes in time.
    Nothing,
}

/// A run without a fault, and all that was said in it.
pub struct Straight {
    pub spec: Spec,
    pub input: Input,
    pub state: State,
    models: HashMap<Digest, Event>,
    tools: BTreeMap<String, ToolOutcome>,
    people: BTreeMap<EffectId, Word>,
}

/// How long a person may take.
const SECONDS: u64 = 60;

/// One of the shipped agents, with people and writes where chance puts them.
fn spec(dice: &mut Dice) -> Spec {
    let names: Vec<&str> = agents::names().collect();
    let mut spec = agents::shipped(names[dice.below(names.len() as u64) as usize]).expect("a shipped agent");
    tools(&mut spec, dice, &mut BTreeMap::new());
    let mut choose = |spec: &mut Spec, choice: &dyn Fn(&mut Spec)| {
        let mut changed = spec.clone();
        choice(&mut changed);
        if dice.one_in(2) && changed.clone().check().is_ok() {
            *spec = changed;
        }
    };
    choose(&mut spec, &|spec| spec.policy.execution = Execution::Parallel { width: 2 });
    choose(&mut spec, &|spec| {
        spec.policy.approval.plan = true;
        spec.limits.answer_seconds = Some(SECONDS);
    });
    choose(&mut spec, &|spec| {
        spec.policy.approval = Approval { risky: true, ..spec.policy.approval };
        spec.limits.answer_seconds = Some(SECONDS);
    });
    choose(&mut spec, &|spec| spec.policy.on_rejection = OnRejection::Replan);
    spec
}

/// Makes the tools of a spec, and of the agents in it, change something here and there: those of one name alike.
fn tools(spec: &mut Spec, dice: &mut Dice, made: &mut BTreeMap<String, (bool, u64)>) {
    for tool in &mut spec.tools {
        // Long enough for any machine: how late an answer may be is not what is simulated.
        tool.timeout_ms = Some(600_000);
        let drawn = || (dice.one_in(3), dice.below(4));
        let (needs_approval, effect) = *made.entry(tool.name.clone()).or_insert_with(drawn);
        tool.needs_approval = needs_approval;
        match effect {
            0 => (tool.effect, tool.idempotent) = (ToolEffect::Write, None),
            1 => (tool.effect, tool.idempotent) = (ToolEffect::Write, Some(true)),
            _ => {}
        }
    }
    for member in &mut spec.agents {
        if let Some(inner) = member.spec.as_mut() {
            tools(inner, dice, made);
        }
    }
}

impl Straight {
    /// Plays the run of a seed.
    pub fn of(seed: u64) -> Self {
        let spec = spec(&mut Dice::of(seed));
        let compiled = spec.clone().check().expect("a shipped agent checks");
        let input =
            Input { now: "2026-11-21T09:30:00+09:00[Asia/Seoul]".to_owned(), ..Input::question("질문?") };
        let step = start(&compiled, input.clone());
        let (models, tools, people) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut straight = Straight { spec, input, state: step.state, models, tools, people };
        while let Some(&effect) = outstanding(&compiled, &straight.state).first() {
            let event = straight.says(seed, &compiled, effect);
            straight.state = match transition(&compiled, straight.state.clone(), event) {
                Ok(step) => step.state,
                Err(refused) => panic!("seed {seed}: {refused}"),
            };
        }
        straight
    }

    /// What an effect is answered with: the same to the same, whenever it is asked.
    fn says(&mut self, seed: u64, compiled: &CompiledSpec, effect: Effect) -> Event {
        let (state, id) = (&self.state, effect.id());
        let draw = |name: &str| match drawn(seed, name) {
            chance if chance % 16 == 0 => Answer::Failed((chance >> 8) as u8),
            chance if chance % 16 == 1 => Answer::Bad("무엇?".to_owned()),
            chance => Answer::Good((chance >> 8) as u8),
        };
        match effect {
            Effect::AskModel { .. } => {
                let digest = Request::of(compiled, state, effect).expect("it is asked").digest;
                let said = event(compiled, state, effect, &draw(&digest.to_string()), &PLANS);
                self.models.entry(digest).or_insert(said).clone().addressed(id)
            }
            Effect::CallTool { .. } => {
                let body = Request::of(compiled, state, effect).expect("it is called").body;
                let once =
                    matches!(body, RequestBody::Tool { contract: Some(contract), .. } if is_once(contract));
                // All tries of a call are one to whoever is called. What a person says of a write in doubt is
                // what came of it, and never a failure.
                let answer = match draw(&id.first_try().to_string()) {
                    Answer::Failed(n) if once => Answer::Good(n | 1),
                    Answer::Good(n) if once => Answer::Good(n | 1),
                    answer => answer,
                };
                let said = event(compiled, state, effect, &answer, &PLANS);
                if let Event::ToolReturned { outcome, .. } = &said {
                    self.tools.insert(id.first_try().to_string(), outcome.clone());
                }
                said
            }
            Effect::AskHuman { .. } => {
                let said = match event(compiled, state, effect, &draw(&id.to_string()), &PLANS) {
                    // Not every agent gives people a time.
                    Event::Expired { effect } if !expires(compiled, state, effect) => {
                        Event::HumanAnswered { effect, answer: HumanAnswer::reject("아니요") }
                    }
                    said => said,
                };
                let said = match planwright::machine::admit(compiled, state, &said) {
                    Ok(()) => said,
                    // What does not fit is what is said to something else.
                    Err(_) => Event::HumanAnswered { effect: id, answer: HumanAnswer::reject("아니요") },
                };
                let word = match &said {
                    Event::HumanAnswered { answer, .. } => Word::Says(answer.clone()),
                    _ => Word::Nothing,
                };
                self.people.insert(id, word);
                said
            }
            Effect::Wait { .. } => Event::TimePassed { effect: id },
            other => panic!("nothing answers {other:?}"),
        }
    }

    pub fn word(&self, effect: EffectId) -> Word {
        self.people.get(&effect).cloned().expect("the straight run asked this")
    }

    /// What a tool said to an effect.
    pub fn returned(&self, effect: EffectId) -> String {
        match &self.tools[&effect.first_try().to_string()] {
            ToolOutcome::Returned { output, .. } => output.clone(),
            ToolOutcome::Failed { .. } => unreachable!("no write that may not be repeated fails here"),
        }
    }
}

fn is_once(contract: &ToolContract) -> bool {
    contract.effect == ToolEffect::Write && !contract.is_idempotent()
}

fn expires(compiled: &CompiledSpec, state: &State, id: EffectId) -> bool {
    let here = planwright::machine::local(compiled, state, id).expect("it is asked");
    here.compiled.spec().limits.answer_seconds.is_some()
}

/// The world of a run that meets faults.
pub struct World {
    pub straight: Straight,
    pub store: Arc<Faulty>,
    /// What tools were really called for: the keys, with how often.
    pub done: Mutex<BTreeMap<String, u32>>,
    pub now_ms: AtomicU64,
}

impl World {
    /// Lets a person's time run out.
    pub fn a_week_passes(&self) {
        self.now_ms.fetch_add(7 * 24 * 3_600_000, Ordering::SeqCst);
    }

    /// How often a tool was called for an effect.
    pub fn times(&self, effect: &str) -> u32 {
        let done = self.done.lock().unwrap();
        done.iter()
            .filter(|(key, _)| key.split_once('/').is_some_and(|(_, id)| id == effect))
            .map(|(_, n)| n)
            .sum()
    }

    pub fn agent(self: &Arc<Self>) -> Agent {
        let spec = self.straight.spec.clone();
        let mut contracts = Vec::new();
        all_tools(&spec, &mut contracts);
        let builder = Agent::builder(spec).model(Says(self.clone())).clock(Says(self.clone()));
        // What care a tool needs is for the contract of each agent to say.
        let bare = |contract| ToolContract { effect: ToolEffect::Pure, idempotent: None, ..contract };
        let tool = |contract| Does { contract: bare(contract), world: self.clone() };
        contracts
            .into_iter()
            .fold(builder, |builder, contract| builder.tool(tool(contract)))
            .build()
            .expect("checks")
    }
}

fn all_tools(spec: &Spec, found: &mut Vec<ToolContract>) {
    for tool in &spec.tools {
        if !found.iter().any(|known| known.name == tool.name) {
            found.push(tool.clone());
        }
    }
    for inner in spec.agents.iter().filter_map(|member| member.spec.as_deref()) {
        all_tools(inner, found);
    }
}

struct Says(Arc<World>);

impl Model for Says {
    fn name(&self) -> &str {
        "simulated"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let (straight, store) = (&self.0.straight, &self.0.store);
        if store.is_dead() || store.breaks(25) {
            return Err(ModelError::unanswered(Cause::Timeout, "no answer in time"));
        }
        if store.breaks(40) {
            store.dies();
        }
        match straight.models.get(&request.digest()) {
            Some(Event::ModelReplied { reply, .. }) => Ok(reply.clone()),
            Some(Event::ModelFailed { failure, .. }) => Err(ModelError::Failed(failure.clone())),
            _ => panic!("the straight run asked nothing like {}", request.payload),
        }
    }
}

impl Clock for Says {
    fn sleep(&self, _: Duration, _: &dyn Fn() -> bool) {}

    fn now_ms(&self) -> u64 {
        self.0.now_ms.load(Ordering::SeqCst)
    }
}

struct Does {
    contract: ToolContract,
    world: Arc<World>,
}

impl Tool for Does {
    fn contract(&self) -> ToolContract {
        self.contract.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let (world, key) = (&self.world, call.idempotency_key);
        if world.store.breaks(25) {
            world.store.dies();
        }
        if world.store.is_dead() {
            return Err(ToolError::new("dead", "the process died before the call"));
        }
        *world.done.lock().unwrap().entry(key.to_owned()).or_default() += 1;
        if world.store.breaks(25) {
            world.store.dies();
        }
        let (_, effect) = key.split_once('/').expect("a run and an effect");
        let effect: EffectId = effect.parse().expect("an effect");
        match &world.straight.tools[&effect.first_try().to_string()] {
            ToolOutcome::Returned { output, .. } => Ok(output.clone().into()),
            ToolOutcome::Failed { kind, message } => Err(ToolError::new(kind.as_str(), message.clone())),
        }
    }
}
