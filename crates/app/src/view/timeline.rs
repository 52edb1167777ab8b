//! The timeline of a turn: every effect of it and of the runs nested in it, with the request as the world saw it, the
//! answer as it came, what both took, and which of them nothing else could shorten.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::{Value, json};

use planwright::contract::{ToolEffect, Trust};
use planwright::machine::{EffectId, EffectKind, Event, State, ToolOutcome, Usage, awaited, local};
use planwright::prompt::{Message, Request, RequestBody, Work};
use planwright::spec::{CompiledSpec, Digest, Money};

/// An effect: what was asked of the world, and what came of it. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TimelineEffect {
    /// Its id.
    pub effect: String,
    /// The path of the run that asks it; empty for the outermost.
    pub path: String,
    /// `model`, `tool`, `person` or `wait`.
    pub kind: &'static str,
    /// Who is asked: a role, a tool, `human` or `wait`, behind the agents that it is nested in.
    pub asked: String,
    /// The draft that it belongs to, from 1; 0 before there is one.
    pub draft: u32,
    /// The position of its step in the plan of its run, from 1.
    pub step: Option<u32>,
    /// Which try it is, or which asking for the same reply, from 1.
    pub attempt: u32,
    /// The record that asked it.
    pub requested: u64,
    /// The record that answered it.
    pub answered: Option<u64>,
    /// When it was asked.
    pub began: Option<u64>,
    /// When it was answered.
    pub ended: Option<u64>,
    /// The digest of the request: equal requests have equal digests.
    pub digest: String,
    /// The digest of the request without the time that the model is told.
    #[serde(skip)]
    pub(super) timeless: String,
    /// What was asked.
    pub request: ShownRequest,
    /// Whether the request is not as it was sent but as the present spec asks it, which was changed since.
    pub redrawn: bool,
    /// The answer as it came: the reply or failure of a model, the outcome of a tool, what a person said.
    pub reply: Value,
    /// The class of a failure; nothing where it did not fail.
    pub failure: Option<String>,
    /// The name of the model that answered, where it is known.
    pub model: Option<String>,
    /// Whether the reply came out of the cache.
    pub cached: bool,
    /// What a model read and wrote.
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::shapes::Usage>))]
    pub tokens: Option<Usage>,
    /// What that cost, where the price is known.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub cost: Option<Money>,
    /// Whether the turn would have been over sooner if this had been.
    pub critical: bool,
    /// Whether the run that asks had read untrusted output by then.
    pub tainted: bool,
    /// Whether the answer is untrusted: of a tool that anyone may have written for, or of a model that had read such.
    pub untrusted: bool,
    /// Whether it changes something in the world.
    pub writes: bool,
}

/// What was asked.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum ShownRequest {
    /// A model. What comes before its payload is in `frames`, under `asked`.
    Model {
        /// The request to the same role before, whose beginning this one shares.
        after: Option<SharedBeginning>,
        /// The payload, a JSON object, behind the part that it shares.
        payload: String,
        /// The messages behind those that it shares.
        #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
        messages: Vec<Message>,
    },
    /// A tool.
    Tool {
        /// The tool.
        tool: String,
        /// What it is called with.
        input: Value,
    },
    /// A person.
    Person {
        /// The question.
        question: String,
    },
    /// A wait until time has passed; no one is asked.
    Wait {
        /// How long, in milliseconds.
        delay_ms: u64,
    },
}

/// The beginning that a request shares with one before.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SharedBeginning {
    /// The place of that request in the timeline.
    pub of: usize,
    /// How much of its payload, in UTF-16 code units.
    pub payload: usize,
    /// How many of its messages.
    pub messages: usize,
}

/// The shortest beginning of a payload that is worth sharing, in bytes.
const SHARED: usize = 1_024;

/// A request to a role, whole.
type Asked = (usize, String, Vec<Message>);

/// The timeline while the records are walked.
#[derive(Default)]
pub(super) struct Timeline {
    pub effects: Vec<TimelineEffect>,
    /// What is the same in all requests of a role.
    pub frames: BTreeMap<String, Value>,
    /// The effects that are not answered.
    open: HashMap<EffectId, usize>,
    /// The last request of each role of each run.
    last: HashMap<(String, String), Asked>,
    /// For each effect, the one whose answer came last before it.
    causes: Vec<Option<usize>>,
    last_answered: Option<usize>,
    /// What the requests of a run share is written once.
    work: Work,
}

impl Timeline {
    /// Notes that an effect is asked, and the digest it was sent with. One that is asked again after its process ended is still the one.
    pub fn ask(
        &mut self,
        compiled: &CompiledSpec,
        state: &State,
        (id, sent): (EffectId, Digest),
        record: u64,
        at: Option<u64>,
    ) {
        let effect = awaited(compiled, state, id).filter(|_| !self.open.contains_key(&id));
        let request = effect.and_then(|effect| Request::of_with(compiled, state, effect, &mut self.work));
        let (Some(request), Some(here)) = (request, local(compiled, state, id)) else { return };
        let redrawn = request.digest != sent;
        let (tainted, number) = (here.state.is_tainted(), self.effects.len());
        let (text, asked, digest) = (id.to_string(), request.asked.to_string(), request.digest.to_string());
        let path = text.rsplit_once('/').map_or_else(String::new, |(path, _)| path.to_owned());
        let (mut kind, mut writes, mut timeless) = ("wait", false, digest.clone());
        let request = match request.body {
            RequestBody::Model { mut request, .. } => {
                kind = "model";
                if let Some(payload) = without_now(&request.payload, Some(&here.state.input().now)) {
                    let told = std::mem::replace(&mut request.payload, payload);
                    timeless = request.digest().to_string();
                    request.payload = told;
                }
                self.frames.entry(asked.clone()).or_insert_with(|| json!(*request.frame));
                let key = (path.clone(), asked.clone());
                let before = self.last.insert(key.clone(), (number, request.payload, request.conversation));
                show_model(before, &self.last[&key])
            }
            RequestBody::Tool { tool, input, contract, .. } => {
                (kind, writes) = ("tool", contract.is_some_and(|known| known.effect == ToolEffect::Write));
                ShownRequest::Tool { tool: tool.into_owned(), input }
            }
            RequestBody::Human { question, .. } => {
                kind = "person";
                ShownRequest::Person { question }
            }
            RequestBody::Wait { delay_ms } => ShownRequest::Wait { delay_ms },
            _ => return,
        };
        let (draft, step, attempt) = place_of(id.kind);
        self.open.insert(id, number);
        self.causes.push(self.last_answered);
        self.effects.push(TimelineEffect {
            effect: text,
            path,
            kind,
            asked,
            draft,
            step,
            attempt,
            requested: record,
            answered: None,
            began: at,
            ended: None,
            digest,
            timeless,
            request,
            redrawn,
            reply: Value::Null,
            failure: None,
            model: None,
            cached: false,
            tokens: None,
            cost: None,
            critical: false,
            tainted,
            untrusted: false,
            writes,
        });
    }

    /// Notes that an effect was answered. `began_with` is the model that the turn began with.
    pub fn answer(
        &mut self,
        compiled: &CompiledSpec,
        event: &Event,
        record: u64,
        at: Option<u64>,
        began_with: &str,
    ) {
        let Some(number) = event.effect().and_then(|id| self.open.remove(&id)) else { return };
        self.last_answered = Some(number);
        let effect = &mut self.effects[number];
        (effect.answered, effect.ended) = (Some(record), at);
        let mut spent = |usage: Usage, model: &str| {
            let model = if model.is_empty() { began_with } else { model };
            let price = compiled.spec().prices.get(model).filter(|_| !usage.is_zero() && !effect.cached);
            effect.cost = price.map(|price| usage.cost(price));
            effect.model = Some(model.to_owned()).filter(|model| !model.is_empty());
            effect.tokens = Some(usage);
        };
        match event {
            Event::ModelReplied { reply, .. } => {
                spent(reply.usage, &reply.model);
                (effect.reply, effect.cached, effect.untrusted) =
                    (json!(reply), reply.cached, effect.tainted);
                effect.cost = effect.cost.filter(|_| !reply.cached);
            }
            Event::ModelFailed { failure, .. } => {
                spent(failure.usage, &failure.model);
                (effect.reply, effect.failure) = (json!(failure), Some(failure.class.to_string()));
            }
            Event::ToolReturned { outcome, .. } => {
                effect.reply = json!(outcome);
                if let ToolOutcome::Failed { kind, .. } = outcome {
                    effect.failure = Some(kind.clone());
                }
                if let ShownRequest::Tool { tool, .. } = &effect.request {
                    effect.untrusted = find_trust(compiled, &effect.asked, tool) == Trust::Untrusted;
                }
            }
            Event::HumanAnswered { answer, .. } => effect.reply = json!(answer),
            Event::Expired { .. } => effect.failure = Some("expired".to_owned()),
            _ => {}
        }
    }

    /// Marks the effects that the turn had to wait for: from the last back to what each came after.
    pub fn mark_critical(&mut self) {
        let open = self.open.values().copied().min();
        let mut at = open.or(self.last_answered);
        while let Some(number) = at {
            self.effects[number].critical = true;
            at = self.causes[number];
        }
    }
}

/// A payload without the time that the model is told; nothing where it is told none.
pub(super) fn without_now(payload: &str, now: Option<&str>) -> Option<String> {
    let field = format!(",\"now\":{}", json!(now?));
    payload.contains(&field).then(|| payload.replacen(&field, "", 1))
}

/// The draft and the step of an effect in its own run, and which try it is.
fn place_of(kind: EffectKind) -> (u32, Option<u32>, u32) {
    match kind {
        EffectKind::Step { draft, step, attempt } | EffectKind::Wait { draft, step, attempt } => {
            (draft, Some(step + 1), attempt)
        }
        EffectKind::Fill { draft, step, ask, .. } => (draft, Some(step + 1), ask.into()),
        EffectKind::Human { draft, step } | EffectKind::ApproveCall { draft, step } => {
            (draft, Some(step + 1), 1)
        }
        EffectKind::Pick { draft, step, nth } => (draft, Some(step + 1), nth),
        EffectKind::ApprovePlan { draft } => (draft, None, 1),
        EffectKind::Plan { draft, ask }
        | EffectKind::Validate { draft, ask }
        | EffectKind::Write { draft, ask }
        | EffectKind::Orchestrate { draft, ask, .. } => (draft, None, ask),
        EffectKind::Scope { ask }
        | EffectKind::PreviousContext { ask }
        | EffectKind::Intent { ask }
        | EffectKind::Grant { ask } => (0, None, ask),
        _ => (0, None, 1),
    }
}

/// Whether what a tool returns is trusted, by the contract of the agent that calls it.
fn find_trust(compiled: &CompiledSpec, asked: &str, tool: &str) -> Trust {
    use planwright::spec::CompiledAgent;
    match asked.split_once('/') {
        Some((agent, rest)) => match compiled.agent(agent) {
            Some(CompiledAgent::Spec(inner)) => find_trust(inner, rest, tool),
            _ => Trust::Untrusted,
        },
        None => compiled.tool(tool).map_or(Trust::Untrusted, |contract| contract.trust),
    }
}

/// A request to a model behind what it shares with the one before.
fn show_model(before: Option<Asked>, (_, payload, messages): &Asked) -> ShownRequest {
    let shared = before.and_then(|(of, earlier, said)| {
        let mut common = earlier.bytes().zip(payload.bytes()).take_while(|(one, other)| one == other).count();
        while !payload.is_char_boundary(common) {
            common -= 1;
        }
        let common = if common < SHARED { 0 } else { common };
        let messages = said.iter().zip(messages).take_while(|(one, other)| one == other).count();
        let shared = SharedBeginning { of, payload: payload[..common].encode_utf16().count(), messages };
        (common + messages > 0).then_some((common, shared))
    });
    let (bytes, known) = shared.map_or((0, 0), |(bytes, shared)| (bytes, shared.messages));
    let (payload, messages) = (payload[bytes..].to_owned(), messages[known..].to_vec());
    ShownRequest::Model { after: shared.map(|(_, shared)| shared), payload, messages }
}
