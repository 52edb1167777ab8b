//! The one mapping: what an observer is told of a run, as finished spans.
//!
//! ```text
//! invoke_agent AGENT                      the run
//! ├─ plan AGENT                           asking a planner
//! │  └─ chat MODEL
//! ├─ execute_tool TOOL
//! ├─ invoke_agent AGENT                   a step that an agent does, with spans of its own in it
//! └─ planwright.human                     waiting for a person
//! ```
//!
//! Phases, replans, verdicts and the like are events of the run's span.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use opentelemetry::trace::{
    Event as SpanEvent, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::attributes::{
    Place, count, finish_reason, pair, push_finish_reason, push_server, push_usage, shared, text, time,
};
use crate::messages;
use crate::metrics::{Call, Metrics};
use crate::pipeline::Pipeline;
use crate::sampling::Sampler;
use planwright::driver::retell_to;
use planwright::journal::{JournalError, Record};
use planwright::machine::{EffectId, Event, PhaseName, State, TraceLine, Usage};
use planwright::ports::{Answer, Beginning, Observer, Signal, Span};
use planwright::prompt::{ModelRequest, RequestBody, TraceContext};
use planwright::spec::RoleName;

/// The spans of a stored run that are finished, in the order in which they were, and those of what is still under way
/// as far as it came. `content` says whether what was said stands in them.
///
/// # Errors
/// Names the record that does not fit, by its index.
pub fn spans_of(records: &[Record], content: bool) -> Result<Vec<SpanData>, JournalError> {
    let spans = RunSpans::in_memory(content);
    retell_to(records, &spans)?;
    if let Some(mut run) = spans.run.take() {
        run.end(&spans, Status::Unset, vec![pair("planwright.run.unfinished", true)]);
    }
    Ok(spans.take())
}

/// Makes spans of what it is told of runs, one after the other.
pub struct RunSpans {
    pipeline: Option<Arc<Pipeline>>,
    sampler: Sampler,
    content: bool,
    scope: InstrumentationScope,
    run: RefCell<Option<Run>>,
    /// Whether what is told happened before, and its spans were made then.
    recalls: Cell<bool>,
    kept: RefCell<Vec<SpanData>>,
}

/// A run under way.
struct Run {
    id: String,
    span: TraceContext,
    parent: Option<TraceContext>,
    sampled: bool,
    thread: Option<Arc<str>>,
    agent: Arc<str>,
    model: Arc<str>,
    servers: Vec<Place>,
    attributes: Vec<KeyValue>,
    began: u64,
    now: u64,
    open: Vec<Open>,
    nested: Vec<Nested>,
    events: Vec<SpanEvent>,
    usage: Usage,
}

/// An effect that is not answered yet.
struct Open {
    effect: EffectId,
    /// The effect as a text.
    id: String,
    agent: Arc<str>,
    at: u64,
    what: What,
    attributes: Vec<KeyValue>,
    events: Vec<SpanEvent>,
}

enum What {
    /// The model that is asked, and the span around it: of a plan, or of an agent that does a step.
    Model {
        model: Arc<str>,
        around: Option<&'static str>,
    },
    Tool(String),
    Human,
    Wait,
}

/// A step that an agent does with effects of its own.
struct Nested {
    /// The step as a text.
    id: String,
    agent: Arc<str>,
    began: u64,
    ended: u64,
}

/// What a span is made of.
struct Made<'a> {
    /// What its id follows from.
    of: &'a str,
    /// What the id of the span around it follows from.
    within: &'a str,
    name: String,
    kind: SpanKind,
    times: [u64; 2],
    attributes: Vec<KeyValue>,
    events: Vec<SpanEvent>,
    status: Status,
}

/// The step that an effect or a step is nested in; empty for what the run itself asks.
fn around(id: &str) -> &str {
    id.rsplit_once('/').map_or("", |(around, _)| around)
}

/// What the id of the span around a model call follows from.
fn id_around(id: &str) -> String {
    ["around ", id].concat()
}

fn name_phase(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Plan => "PLAN",
        PhaseName::Execute => "EXECUTE",
        PhaseName::Validate => "VALIDATE",
        PhaseName::Write => "WRITE",
        PhaseName::Done => "DONE",
        PhaseName::Error => "ERROR",
    }
}

fn failed(class: &str) -> Status {
    Status::error(class.to_owned())
}

impl RunSpans {
    /// Spans that are kept until they are taken, and go nowhere.
    ///
    /// ```
    /// use planwright::prelude::*;
    /// use planwright_offline::Offline;
    /// use planwright_otel::RunSpans;
    ///
    /// let spec = planwright::agents::shipped("plan-then-execute").unwrap().with_tools(|_| false);
    /// let agent = Agent::builder(spec).model(Offline::new()).build()?;
    /// let spans = RunSpans::in_memory(false);
    /// agent.job(Input::question("hello")).observer(&spans).run()?;
    /// assert_eq!(spans.take().last().unwrap().name, "invoke_agent plan-then-execute");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(content: bool) -> Self {
        RunSpans::new(None, Sampler::ALL, content)
    }

    /// Takes the spans that are finished, in the order in which they were.
    pub fn take(&self) -> Vec<SpanData> {
        self.kept.take()
    }

    pub(crate) fn new(pipeline: Option<Arc<Pipeline>>, sampler: Sampler, content: bool) -> Self {
        let scope = InstrumentationScope::builder("planwright").with_version(env!("CARGO_PKG_VERSION"));
        let scope = scope.with_schema_url("https://opentelemetry.io/schemas/1.42.0").build();
        let (run, recalls, kept) = (RefCell::default(), Cell::new(false), RefCell::default());
        RunSpans { pipeline, sampler, content, scope, run, recalls, kept }
    }

    fn begin(&self, begins: Beginning<'_>) {
        let span = TraceContext::of_run(begins.run, begins.parent);
        let thread = Some(begins.thread).filter(|thread| !thread.is_empty()).map(Arc::from);
        let (agent, model): (Arc<str>, Arc<str>) = (begins.spec.name.as_str().into(), begins.model.into());
        let servers: Vec<Place> = begins.servers.iter().map(Place::from).collect();
        let mut attributes = Vec::with_capacity(14);
        attributes.push(pair("gen_ai.operation.name", "invoke_agent"));
        attributes.push(shared("gen_ai.agent.name", &agent));
        attributes.push(text("planwright.run", begins.run));
        attributes.extend(thread.iter().map(|thread| shared("gen_ai.conversation.id", thread)));
        if !begins.model.is_empty() {
            attributes.push(shared("gen_ai.request.model", &model));
        }
        push_server(&mut attributes, &servers, ["", begins.model]);
        if self.content {
            let messages = serde_json::json!([{
                "role": "user", "parts": [{"type": "text", "content": begins.question}],
            }]);
            attributes.push(text("gen_ai.input.messages", &messages.to_string()));
        }
        *self.run.borrow_mut() = Some(Run {
            id: begins.run.to_owned(),
            span,
            parent: begins.parent.copied(),
            sampled: self.sampler.samples(&span, begins.parent),
            thread,
            agent,
            model,
            servers,
            attributes,
            began: begins.at,
            now: begins.at,
            open: Vec::new(),
            nested: Vec::new(),
            events: Vec::with_capacity(16),
            usage: Usage::default(),
        });
    }

    fn finish(&self, run: &Run, made: Made<'_>) {
        if self.recalls.get() || !run.sampled {
            return;
        }
        let is_run = made.of.is_empty();
        let id = |of: &str| match of.is_empty() {
            true => SpanId::from_bytes(run.span.span_id),
            false => SpanId::from_bytes(run.span.child(&run.id, of).span_id),
        };
        let parent = match (is_run, run.parent) {
            (true, Some(parent)) => SpanId::from_bytes(parent.span_id),
            (true, None) => SpanId::INVALID,
            (false, _) => id(made.within),
        };
        let trace_id = TraceId::from_bytes(run.span.trace_id);
        let mut events = SpanEvents::default();
        events.events = made.events;
        let span = SpanData {
            span_context: SpanContext::new(
                trace_id,
                id(made.of),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: parent,
            parent_span_is_remote: is_run && run.parent.is_some(),
            span_kind: made.kind,
            name: made.name.into(),
            start_time: time(made.times[0]),
            end_time: time(made.times[1].max(made.times[0])),
            attributes: made.attributes,
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            status: made.status,
            instrumentation_scope: self.scope.clone(),
        };
        match &self.pipeline {
            Some(pipeline) => pipeline.send(span),
            None => self.kept.borrow_mut().push(span),
        }
    }

    /// Where calls are measured, unless they happened before.
    fn metrics(&self) -> Option<&Metrics> {
        self.pipeline.as_ref().filter(|_| !self.recalls.get()).map(|pipeline| &pipeline.metrics)
    }
}

impl Run {
    fn event(&mut self, name: &'static str, attributes: Vec<KeyValue>) {
        self.events.push(SpanEvent::new(name, time(self.now), attributes, 0));
    }

    fn ask(&mut self, span: Span<'_>, request: &RequestBody<'_>, content: bool) {
        if self.open.iter().any(|open| open.effect == span.effect) {
            return;
        }
        let id = span.effect.to_string();
        // The agents that the effect is nested in, and the steps that they do.
        let (mut steps, mut asked) = (id.match_indices('/'), span.asked);
        let mut agent = None;
        while let (Some((end, _)), Some((name, rest))) = (steps.next(), asked.split_once('/')) {
            (agent, asked) = (Some(name), rest);
            if !self.nested.iter().any(|nested| nested.id == id[..end]) {
                let (began, ended) = (span.at, span.at);
                self.nested.push(Nested { id: id[..end].to_owned(), agent: name.into(), began, ended });
            }
        }
        let agent = asked.strip_prefix("agent:").or(agent);
        let agent = agent.map_or_else(|| Arc::clone(&self.agent), Arc::from);
        let mut attributes = Vec::with_capacity(16);
        let what = match request {
            RequestBody::Model { role, request } => {
                if content {
                    attributes.extend(messages::of_request(request));
                }
                self.describe_model((*role, asked), request, &mut attributes)
            }
            RequestBody::Tool { tool, input, contract, .. } => {
                attributes.push(pair("gen_ai.operation.name", "execute_tool"));
                attributes.push(text("gen_ai.tool.name", tool));
                attributes.push(pair("gen_ai.tool.type", "function"));
                attributes.push(text("gen_ai.tool.call.id", &id));
                if content {
                    attributes.push(text("gen_ai.tool.call.arguments", &input.to_string()));
                    let description =
                        contract.map(|contract| text("gen_ai.tool.description", &contract.description));
                    attributes.extend(description);
                }
                What::Tool(tool.to_string())
            }
            RequestBody::Human { question, .. } => {
                if content {
                    attributes.push(text("planwright.human.question", question));
                }
                What::Human
            }
            _ => What::Wait,
        };
        attributes.push(text("planwright.effect", &id));
        let (effect, at) = (span.effect, span.at);
        self.open.push(Open { effect, id, agent, at, what, attributes, events: Vec::new() });
    }

    fn describe_model(
        &self,
        (role, asked): (RoleName, &str),
        request: &ModelRequest,
        attributes: &mut Vec<KeyValue>,
    ) -> What {
        let frame = &request.frame;
        let model = frame.model.as_deref().map_or_else(|| Arc::clone(&self.model), Arc::from);
        attributes.push(pair("gen_ai.operation.name", "chat"));
        if !model.is_empty() {
            attributes.push(shared("gen_ai.request.model", &model));
        }
        attributes.push(pair("gen_ai.output.type", if frame.schema.is_some() { "json" } else { "text" }));
        attributes.extend(frame.temperature.map(|degrees| pair("gen_ai.request.temperature", degrees)));
        attributes.extend(frame.max_tokens.map(|most| pair("gen_ai.request.max_tokens", i64::from(most))));
        attributes.push(text("planwright.role", asked));
        let around = match role {
            RoleName::Planner | RoleName::Replanner => Some("plan"),
            RoleName::Agent => Some("invoke_agent"),
            _ => None,
        };
        What::Model { model, around }
    }

    fn answer(&mut self, spans: &RunSpans, span: Span<'_>, answer: Answer<'_>, event: Option<&Event>) {
        let Some(at) = self.open.iter().position(|open| open.effect == span.effect) else { return };
        // What is left open is finished in a later process, or not at all.
        if answer.is_open {
            return;
        }
        let mut open = self.open.swap_remove(at);
        let steps = self.nested.iter_mut().filter(|nested| {
            open.id.strip_prefix(nested.id.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        steps.for_each(|nested| nested.ended = nested.ended.max(span.at));
        let mut attributes = std::mem::take(&mut open.attributes);
        if spans.content {
            attributes.extend(event.and_then(messages::of_answer));
        }
        let error = answer.failure.map(|class| class.replace(' ', "_"));
        attributes.extend(error.as_deref().map(|class| text("error.type", class)));
        attributes.extend(self.thread.iter().map(|thread| shared("gen_ai.conversation.id", thread)));
        attributes.push(shared("gen_ai.agent.name", &open.agent));
        let status = error.as_deref().map_or(Status::Unset, failed);
        let times = [open.at, span.at];
        let name = match &open.what {
            What::Model { model, .. } => {
                let measured = self.describe_answer(&mut attributes, model, answer, event);
                if let Some(metrics) = spans.metrics() {
                    metrics.measure(&Call { error: error.as_deref(), ..measured }, &attributes);
                }
                ["chat ", model].concat()
            }
            What::Tool(tool) => ["execute_tool ", tool].concat(),
            What::Human => {
                if let Some(Event::HumanAnswered { answer, .. }) = event {
                    attributes.push(pair("planwright.human.kind", answer.kind()));
                }
                "planwright.human".to_owned()
            }
            What::Wait => "planwright.wait".to_owned(),
        };
        let kind = match open.what {
            What::Model { .. } => SpanKind::Client,
            _ => SpanKind::Internal,
        };
        let (of, within, events) = (&*open.id, around(&open.id), open.events);
        let What::Model { around: Some(operation), .. } = open.what else {
            return spans.finish(self, Made { of, within, name, kind, times, attributes, events, status });
        };
        let outer = id_around(of);
        let made = Made { of, within: &outer, name, kind, times, attributes, events, status: status.clone() };
        spans.finish(self, made);
        let mut attributes = Vec::with_capacity(6);
        attributes.push(pair("gen_ai.operation.name", operation));
        attributes.push(shared("gen_ai.agent.name", &open.agent));
        push_server(&mut attributes, &self.servers, ["", &self.model]);
        attributes.extend(error.map(|class| pair("error.type", class)));
        let (name, kind, events) = ([operation, " ", &*open.agent].concat(), SpanKind::Internal, Vec::new());
        spans.finish(self, Made { of: &outer, within, name, kind, times, attributes, events, status });
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

    /// Ends a step that an agent did, and those nested in it.
    fn end_nested(&mut self, spans: &RunSpans, step: &str, has_failed: bool) {
        let is_in = |nested: &Nested| {
            nested.id.strip_prefix(step).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        for Nested { id, agent, began, ended } in
            self.nested.extract_if(.., |nested| is_in(nested)).collect::<Vec<_>>()
        {
            let mut attributes =
                vec![pair("gen_ai.operation.name", "invoke_agent"), shared("gen_ai.agent.name", &agent)];
            push_server(&mut attributes, &self.servers, ["", &self.model]);
            attributes.push(text("planwright.effect", &id));
            let has_failed = has_failed && id == step;
            attributes.extend(has_failed.then(|| pair("error.type", "step_failed")));
            let made = Made {
                of: &id,
                within: around(&id),
                name: ["invoke_agent ", &agent].concat(),
                kind: SpanKind::Internal,
                times: [began, ended],
                attributes,
                events: Vec::new(),
                status: if has_failed { failed("step_failed") } else { Status::Unset },
            };
            spans.finish(self, made);
        }
    }

    fn trace(&mut self, line: &TraceLine, content: bool) {
        let said = |key, said: &str| content.then(|| text(key, said));
        let (name, attributes) = match line {
            TraceLine::ReplanTrigger { replan_count, reason, fix_hint } => {
                let mut attributes = vec![count("planwright.replans", u64::from(*replan_count))];
                attributes.extend(said("planwright.reason", reason));
                attributes.extend(said("planwright.fix_hint", fix_hint));
                ("planwright.replan", attributes)
            }
            TraceLine::Validate { verdict: Some(verdict), .. } => {
                let mut attributes = vec![pair("planwright.verdict.ok", verdict.ok)];
                attributes.extend(said("planwright.reason", &verdict.reason));
                ("planwright.verdict", attributes)
            }
            TraceLine::Plan { ok, steps, .. } => {
                let steps = steps.as_ref().map_or(0, |steps| steps.as_slice().len());
                let attributes =
                    vec![pair("planwright.plan.ok", *ok), count("planwright.plan.steps", steps as u64)];
                ("planwright.plan", attributes)
            }
            TraceLine::Repair { of, repair, error } => {
                let mut attributes = vec![
                    text("planwright.phase", &of.to_string()),
                    count("planwright.repair", u64::from(*repair)),
                ];
                attributes.extend(said("planwright.reason", error));
                ("planwright.repair", attributes)
            }
            TraceLine::Skip { step, tool, .. } => {
                ("planwright.skip", vec![text("planwright.step", step), text("gen_ai.tool.name", tool)])
            }
            TraceLine::Decision { after, .. } => {
                ("planwright.decision", vec![count("planwright.steps_done", u64::from(*after))])
            }
            TraceLine::Fallback { of, .. } => {
                ("planwright.fallback", vec![text("planwright.role", &of.to_string())])
            }
            _ => return,
        };
        self.event(name, attributes);
    }

    /// Ends the run's span, and with it what is nested and still open.
    fn end(&mut self, spans: &RunSpans, status: Status, more: Vec<KeyValue>) {
        for step in self.nested.iter().map(|nested| nested.id.clone()).collect::<Vec<_>>() {
            self.end_nested(spans, &step, false);
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        push_usage(&mut attributes, self.usage);
        attributes.extend(more);
        let made = Made {
            of: "",
            within: "",
            name: ["invoke_agent ", &self.agent].concat(),
            kind: SpanKind::Internal,
            times: [self.began, self.now],
            attributes,
            events: std::mem::take(&mut self.events),
            status,
        };
        spans.finish(self, made);
    }

    fn stop(&mut self, spans: &RunSpans, state: &State, failure: Option<&str>) {
        let (status, mut more) = match (state.error(), failure) {
            (Some(error), _) => {
                let code = error.code.to_string();
                (failed(&code), vec![pair("error.type", code)])
            }
            (None, Some(cause)) => {
                let cause = cause.replace(' ', "_");
                (failed(&cause), vec![pair("error.type", cause)])
            }
            (None, None) => (Status::Unset, Vec::new()),
        };
        if let Some(answer) = state.answer().filter(|_| spans.content) {
            let messages = serde_json::json!([{
                "role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop",
            }]);
            more.push(text("gen_ai.output.messages", &messages.to_string()));
        }
        self.end(spans, status, more);
    }
}

impl Observer for RunSpans {
    fn notice(&self, signal: Signal<'_>) {
        if let Signal::Began(begins) = signal {
            return self.begin(begins);
        }
        let mut slot = self.run.borrow_mut();
        let Some(run) = slot.as_mut() else { return };
        match signal {
            Signal::Asked { span, request } => {
                run.now = span.at;
                run.ask(span, request, self.content);
            }
            Signal::Answered { span, answer, event } => {
                run.now = span.at;
                run.answer(self, span, answer, event);
            }
            Signal::Retrying { span, error, .. } => {
                let cause = text("planwright.cause", &error.cause.to_string());
                let tries = count("planwright.tries", u64::from(error.tries));
                if let Some(open) = run.open.iter_mut().find(|open| open.effect == span.effect) {
                    let event = SpanEvent::new("planwright.retry", time(span.at), vec![cause, tries], 0);
                    open.events.push(event);
                }
            }
            Signal::Entered(phase) => {
                run.event("planwright.phase", vec![pair("planwright.phase", name_phase(phase))]);
            }
            Signal::Traced(line) => run.trace(line, self.content),
            Signal::Finished { effect, failed, .. } => {
                // What a nested run did ends with the run.
                let step = (!run.nested.is_empty()).then(|| effect.to_string());
                if let Some(step) = step.filter(|step| !step.contains('/')) {
                    run.end_nested(self, &step, failed);
                }
            }
            Signal::Ended { state, failure, at } => {
                run.now = run.now.max(at);
                // A run that waits for a person goes on, perhaps in another process.
                if state.phase().is_terminal() || failure.is_some() {
                    run.stop(self, state, failure);
                    *slot = None;
                }
            }
            _ => {}
        }
    }

    fn trace(&self, run: &str, parent: Option<&TraceContext>) -> Option<TraceContext> {
        let span = TraceContext::of_run(run, parent);
        Some(TraceContext { sampled: self.sampler.samples(&span, parent), ..span })
    }

    fn recall(&self, tell: &dyn Fn(&dyn Observer)) {
        self.recalls.set(true);
        tell(self);
        self.recalls.set(false);
    }
}
