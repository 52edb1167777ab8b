//! The state of a run while it is told: which effects are open, what they are nested in, and the spans that follow.

mod ending;

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Event as SpanEvent, SpanKind, Status};

use crate::attributes::{
    Place, finish_reason, pair, push_finish_reason, push_server, push_usage, shared, text, time,
};
use crate::messages;
use crate::metrics::Call;
use crate::sampling::Sampler;
use crate::sink::{Id, Made, Sink, Traced};
use planwright::machine::{EffectId, Event, Usage};
use planwright::ports::{Answer, Beginning, Span};
use planwright::prompt::{ModelRequest, RequestBody, TraceContext};
use planwright::spec::RoleName;

/// A run under way.
pub(crate) struct Run {
    traced: Traced,
    thread: Option<Arc<str>>,
    agent: Arc<str>,
    model: Arc<str>,
    servers: Vec<Place>,
    attributes: Vec<KeyValue>,
    began: u64,
    /// The time of what is told, in milliseconds since 1970.
    pub now: u64,
    open: Vec<Open>,
    nested: Vec<Nested>,
    events: Vec<SpanEvent>,
    usage: Usage,
    /// Names that several spans have, also those of runs before.
    pub names: Vec<Arc<str>>,
    /// Room for a text.
    room: String,
}

/// An effect that is not answered yet.
struct Open {
    effect: EffectId,
    id: Id,
    /// The id of the span around it.
    within: Id,
    name: Cow<'static, str>,
    agent: Arc<str>,
    at: u64,
    asked: Option<AskedModel>,
    attributes: Vec<KeyValue>,
    events: Vec<SpanEvent>,
}

/// The model that is asked, and the span around it: of a plan, or of an agent that does a step.
struct AskedModel {
    model: Arc<str>,
    around: Option<&'static str>,
}

/// A step that an agent does with effects of its own.
struct Nested {
    /// The step as a text.
    id: String,
    agent: Arc<str>,
    began: u64,
    ended: u64,
}

/// The most names that are known from one run to the next.
const MAX_NAMES: usize = 64;

/// The step that an effect or a step is nested in; empty for what the run itself asks.
fn around(id: &str) -> &str {
    id.rsplit_once('/').map_or("", |(around, _)| around)
}

/// The name of a span: what is done, and by what.
fn join(operation: &str, of: &str) -> String {
    let mut name = String::with_capacity(operation.len() + 1 + of.len());
    name.push_str(operation);
    name.push(' ');
    name.push_str(of);
    name
}

/// A name that several spans have.
fn share(names: &mut Vec<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.iter().find(|known| ***known == *name) {
        return Arc::clone(known);
    }
    names.push(name.into());
    names[names.len() - 1].clone()
}

/// The id of the span around a model call.
fn id_around(mut id: Id) -> Id {
    id[7] ^= 1;
    // An id of nothing but zeros is none.
    id[0] |= u8::from(id == [0; 8]);
    id
}

fn failed(class: &str) -> Status {
    Status::error(class.to_owned())
}

impl Run {
    /// A run that begins, after runs whose spans had these names.
    pub fn new(begins: Beginning<'_>, sampler: Sampler, content: bool, mut names: Vec<Arc<str>>) -> Self {
        if names.len() > MAX_NAMES {
            names.clear();
        }
        let span = TraceContext::of_run(begins.run, begins.parent);
        let id: Arc<str> = begins.run.into();
        let thread = Some(begins.thread).filter(|thread| !thread.is_empty()).map(Arc::from);
        let [agent, model] = [&begins.spec.name, begins.model].map(|name| share(&mut names, name));
        let servers: Vec<Place> = begins.servers.iter().map(Place::from).collect();
        let mut attributes = Vec::with_capacity(14);
        attributes.push(pair("gen_ai.operation.name", "invoke_agent"));
        attributes.push(shared("gen_ai.agent.name", &agent));
        attributes.push(shared("planwright.run", &id));
        attributes.extend(thread.iter().map(|thread| shared("gen_ai.conversation.id", thread)));
        if !begins.model.is_empty() {
            attributes.push(shared("gen_ai.request.model", &model));
        }
        push_server(&mut attributes, &servers, ["", begins.model]);
        if content {
            let messages = serde_json::json!([{
                "role": "user", "parts": [{"type": "text", "content": begins.question}],
            }]);
            attributes.push(text("gen_ai.input.messages", &messages.to_string()));
        }
        let parent = begins.parent.copied();
        let sampled = sampler.samples(&span, begins.parent);
        Run {
            traced: Traced { id, span, parent, sampled },
            thread,
            agent,
            model,
            servers,
            attributes,
            began: begins.at,
            now: begins.at,
            open: Vec::with_capacity(4),
            nested: Vec::new(),
            // As many as a run with a replan has. A longer list would not be kept at hand by the allocator.
            events: Vec::with_capacity(14),
            usage: Usage::default(),
            names,
            room: String::with_capacity(64),
        }
    }

    /// Adds an event to the run's span.
    pub fn event(&mut self, name: &'static str, attributes: Vec<KeyValue>) {
        self.events.push(SpanEvent::new(name, time(self.now), attributes, 0));
    }

    /// Begins the span of an effect.
    pub fn ask(&mut self, span: Span<'_>, request: &RequestBody<'_>, content: bool) {
        if self.open.iter().any(|open| open.effect == span.effect) {
            return;
        }
        self.room.clear();
        let _ = write!(self.room, "{}", span.effect);
        let id: Arc<str> = self.room.as_str().into();
        let (agent, asked) = match span.effect.is_nested() {
            true => self.nest(&id, span),
            false => (None, span.asked),
        };
        let agent = match asked.strip_prefix("agent:").or(agent) {
            Some(agent) => share(&mut self.names, agent),
            None => Arc::clone(&self.agent),
        };
        // Models are told the id of their span, so it is known.
        let (room, told) = match request {
            RequestBody::Model { request, .. } => (16, request.trace.map(|trace| trace.span_id)),
            _ => (8, None),
        };
        let own = told.unwrap_or_else(|| self.traced.id_of(&id));
        let within = self.traced.id_of(if span.effect.is_nested() { around(&id) } else { "" });
        let mut attributes = Vec::with_capacity(room);
        let (name, asked) = match request {
            RequestBody::Model { role, request } => {
                if content {
                    attributes.extend(messages::of_request(request));
                }
                let asked = self.describe_model((*role, asked), request, &mut attributes);
                (join("chat", &asked.model).into(), Some(asked))
            }
            RequestBody::Tool { tool, input, contract, .. } => {
                attributes.push(pair("gen_ai.operation.name", "execute_tool"));
                attributes.push(pair("gen_ai.tool.name", share(&mut self.names, tool)));
                attributes.push(pair("gen_ai.tool.type", "function"));
                attributes.push(shared("gen_ai.tool.call.id", &id));
                if content {
                    attributes.push(text("gen_ai.tool.call.arguments", &input.to_string()));
                    let description =
                        contract.map(|contract| text("gen_ai.tool.description", &contract.description));
                    attributes.extend(description);
                }
                (join("execute_tool", tool).into(), None)
            }
            RequestBody::Human { question, .. } => {
                if content {
                    attributes.push(text("planwright.human.question", question));
                }
                ("planwright.human".into(), None)
            }
            _ => ("planwright.wait".into(), None),
        };
        attributes.push(pair("planwright.effect", id));
        let (effect, at, events) = (span.effect, span.at, Vec::new());
        self.open.push(Open { effect, id: own, within, name, agent, at, asked, attributes, events });
    }

    /// Begins the agents that an effect is nested in, with the steps that they do, and gives the innermost and what that
    /// asks.
    fn nest<'a>(&mut self, id: &str, span: Span<'a>) -> (Option<&'a str>, &'a str) {
        let (mut steps, mut asked) = (id.match_indices('/'), span.asked);
        let mut agent = None;
        while let (Some((end, _)), Some((name, rest))) = (steps.next(), asked.split_once('/')) {
            (agent, asked) = (Some(name), rest);
            if !self.nested.iter().any(|nested| nested.id == id[..end]) {
                let (began, ended) = (span.at, span.at);
                self.nested.push(Nested { id: id[..end].to_owned(), agent: name.into(), began, ended });
            }
        }
        (agent, asked)
    }

    fn describe_model(
        &mut self,
        (role, asked): (RoleName, &str),
        request: &ModelRequest,
        attributes: &mut Vec<KeyValue>,
    ) -> AskedModel {
        let frame = &request.frame;
        let model = match &frame.model {
            Some(model) => share(&mut self.names, model),
            None => Arc::clone(&self.model),
        };
        attributes.push(pair("gen_ai.operation.name", "chat"));
        if !model.is_empty() {
            attributes.push(shared("gen_ai.request.model", &model));
        }
        attributes.push(pair("gen_ai.output.type", if frame.schema.is_some() { "json" } else { "text" }));
        attributes.extend(frame.temperature.map(|degrees| pair("gen_ai.request.temperature", degrees)));
        attributes.extend(frame.max_tokens.map(|most| pair("gen_ai.request.max_tokens", i64::from(most))));
        attributes.push(pair("planwright.role", share(&mut self.names, asked)));
        let around = match role {
            RoleName::Planner | RoleName::Replanner => Some("plan"),
            RoleName::Agent => Some("invoke_agent"),
            _ => None,
        };
        AskedModel { model, around }
    }

    /// Ends the span of an effect.
    pub fn answer(&mut self, sink: &Sink, span: Span<'_>, answer: Answer<'_>, event: Option<&Event>) {
        let Some(at) = self.open.iter().position(|open| open.effect == span.effect) else { return };
        // What is left open is finished in a later process, or not at all.
        if answer.is_open {
            return;
        }
        let Open { id, within, name, agent, at, asked, mut attributes, events, .. } =
            self.open.swap_remove(at);
        if span.effect.is_nested() {
            let id = span.effect.to_string();
            let is_around =
                |nested: &&mut Nested| id.strip_prefix(&*nested.id).is_some_and(|rest| rest.starts_with('/'));
            let steps = self.nested.iter_mut().filter(is_around);
            steps.for_each(|nested| nested.ended = nested.ended.max(span.at));
        }
        if sink.content {
            attributes.extend(event.and_then(messages::of_answer));
        }
        let error = answer.failure.map(|class| class.replace(' ', "_"));
        attributes.extend(error.as_deref().map(|class| text("error.type", class)));
        attributes.extend(self.thread.iter().map(|thread| shared("gen_ai.conversation.id", thread)));
        let around = asked.as_ref().and_then(|asked| Some((asked.around?, Arc::clone(&agent))));
        attributes.push(pair("gen_ai.agent.name", agent));
        let status = error.as_deref().map_or(Status::Unset, failed);
        let times = [at, span.at];
        if let Some(AskedModel { model, .. }) = &asked {
            let measured = self.describe_answer(&mut attributes, model, answer, event);
            if let Some(metrics) = sink.metrics() {
                metrics.measure(&Call { error: error.as_deref(), ..measured }, &attributes);
            }
        }
        if let Some(Event::HumanAnswered { answer, .. }) = event {
            attributes.push(pair("planwright.human.kind", answer.kind()));
        }
        let kind = if asked.is_some() { SpanKind::Client } else { SpanKind::Internal };
        let (Some((operation, agent)), Some(AskedModel { model, .. })) = (around, asked) else {
            return sink
                .finish(&self.traced, Made { id, within, name, kind, times, attributes, events, status });
        };
        let outer = id_around(id);
        let made = Made { id, within: outer, name, kind, times, attributes, events, status: status.clone() };
        sink.finish(&self.traced, made);
        let mut attributes = self.describe_agent(operation, &agent, &model);
        attributes.extend(error.map(|class| pair("error.type", class)));
        let (name, kind, events) = (join(operation, &agent).into(), SpanKind::Internal, Vec::new());
        sink.finish(&self.traced, Made { id: outer, within, name, kind, times, attributes, events, status });
    }

    /// What the span of an agent within the run begins with.
    fn describe_agent(&self, operation: &'static str, agent: &Arc<str>, model: &Arc<str>) -> Vec<KeyValue> {
        let mut attributes = Vec::with_capacity(8);
        attributes.push(pair("gen_ai.operation.name", operation));
        attributes.push(shared("gen_ai.agent.name", agent));
        attributes.extend(self.thread.iter().map(|thread| shared("gen_ai.conversation.id", thread)));
        if !model.is_empty() {
            attributes.push(shared("gen_ai.request.model", model));
        }
        push_server(&mut attributes, &self.servers, ["", model]);
        attributes
    }

    /// What is known of a model call once it is answered.
    fn describe_answer<'a>(
        &mut self,
        attributes: &mut Vec<KeyValue>,
        model: &'a str,
        answer: Answer<'a>,
        event: Option<&'a Event>,
    ) -> Call<'a> {
        let (answered, server) = match event {
            Some(Event::ModelReplied { reply, .. }) => (&*reply.model, &*reply.server),
            Some(Event::ModelFailed { failure, .. }) => (&*failure.model, ""),
            _ => ("", ""),
        };
        push_server(attributes, &self.servers, [server, model]);
        if !answered.is_empty() {
            attributes.push(text("gen_ai.response.model", answered));
        }
        push_finish_reason(attributes, finish_reason(event));
        if answer.cached {
            attributes.push(pair("planwright.cached", true));
        }
        let usage = answer.usage.unwrap_or_default();
        push_usage(attributes, usage);
        self.usage.add(usage);
        let (duration, cached) = (answer.duration, answer.cached);
        Call { model, answered, usage, duration, cached, error: None }
    }

    /// Adds an event to the span of an effect that is not answered yet.
    pub fn event_within(&mut self, span: Span<'_>, name: &'static str, attributes: Vec<KeyValue>) {
        if let Some(open) = self.open.iter_mut().find(|open| open.effect == span.effect) {
            open.events.push(SpanEvent::new(name, time(span.at), attributes, 0));
        }
    }
}
