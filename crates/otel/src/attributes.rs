//! The attributes of spans, as the semantic conventions for generative AI name them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::{Array, KeyValue, StringValue, Value};
use planwright::contract::LabelledPart;
use planwright::machine::{Event, TraceLine, Usage};
use planwright::ports::ModelServer;

/// The value of `gen_ai.provider.name` for a model that no server is known of: it runs in this process.
const IN_PROCESS: &str = "planwright";

pub(crate) fn time(ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

pub(crate) fn pair(key: &'static str, value: impl Into<Value>) -> KeyValue {
    KeyValue::new(key, value)
}

pub(crate) fn text(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, value.to_owned())
}

/// A text that many attributes share.
pub(crate) fn shared(key: &'static str, value: &Arc<str>) -> KeyValue {
    KeyValue::new(key, Arc::clone(value))
}

/// A server of models, with texts that many attributes share.
pub(crate) struct Place {
    name: String,
    provider: Arc<str>,
    host: Arc<str>,
    port: u16,
}

impl From<&ModelServer> for Place {
    fn from(server: &ModelServer) -> Self {
        let (provider, host) = (server.provider.as_str().into(), server.host.as_str().into());
        Place { name: server.name.clone(), provider, host, port: server.port }
    }
}

/// A count, as attributes have them.
pub(crate) fn count(key: &'static str, count: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(count).unwrap_or(i64::MAX))
}

/// The tokens of a call, or of a run.
pub(crate) fn push_usage(attributes: &mut Vec<KeyValue>, usage: Usage) {
    if usage.is_zero() {
        return;
    }
    attributes.push(count("gen_ai.usage.input_tokens", usage.input_tokens));
    attributes.push(count("gen_ai.usage.output_tokens", usage.output_tokens));
    for (key, tokens) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_written_tokens),
    ] {
        if tokens > 0 {
            attributes.push(count(key, tokens));
        }
    }
}

/// The provider and the server that answers: by the name on record, by that of the model, else the usual one. An empty
/// name is none.
pub(crate) fn push_server(attributes: &mut Vec<KeyValue>, servers: &[Place], names: [&str; 2]) {
    let mut named = names.iter().filter(|name| !name.is_empty());
    let named = named.find_map(|name| servers.iter().find(|server| server.name == **name));
    let Some(server) = named.or(servers.first()) else {
        return attributes.push(pair("gen_ai.provider.name", IN_PROCESS));
    };
    attributes.push(shared("gen_ai.provider.name", &server.provider));
    attributes.push(shared("server.address", &server.host));
    attributes.push(pair("server.port", i64::from(server.port)));
}

/// Why the model stopped.
pub(crate) fn finish_reason(event: Option<&Event>) -> Option<Cow<'static, str>> {
    Some(match event? {
        Event::ModelReplied { reply, .. } if reply.tool_calls.is_empty() => "stop".into(),
        Event::ModelReplied { .. } => "tool_call".into(),
        Event::ModelFailed { failure, .. } => failure.class.to_string().into(),
        _ => return None,
    })
}

pub(crate) fn push_finish_reason(attributes: &mut Vec<KeyValue>, reason: Option<Cow<'static, str>>) {
    let reasons = reason.map(|reason| Array::String(vec![StringValue::from(reason)]));
    attributes.extend(reasons.map(|reasons| pair("gen_ai.response.finish_reasons", Value::Array(reasons))));
}

/// The event of the run's span that a trace line is; `content` says whether with what was said.
pub(crate) fn event_of(line: &TraceLine, content: bool) -> Option<(&'static str, Vec<KeyValue>)> {
    let said = |key, said: &str| content.then(|| text(key, said));
    Some(match line {
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
        TraceLine::Authority { step, tool, by, parts } => {
            let worst = parts.iter().map(|part| part.label).max().unwrap_or_default();
            let mut attributes = vec![
                text("planwright.step", step),
                text("gen_ai.tool.name", tool),
                text("planwright.authority", &by.to_string()),
                text("planwright.label", &worst.to_string()),
            ];
            let labelled = |part: &LabelledPart| {
                let place = if part.place.is_empty() { "*" } else { &part.place };
                let origin = if content { format!(": {}", part.origin) } else { String::new() };
                StringValue::from(format!("{place} {}{origin}", part.label))
            };
            if !parts.is_empty() {
                let labelled = Array::String(parts.iter().map(labelled).collect());
                attributes.push(pair("planwright.arguments", Value::Array(labelled)));
            }
            ("planwright.authority", attributes)
        }
        TraceLine::Denied { step, tool, code } => {
            let code = text("planwright.denial", code.code());
            ("planwright.denied", vec![text("planwright.step", step), text("gen_ai.tool.name", tool), code])
        }
        TraceLine::Decision { after, .. } => {
            ("planwright.decision", vec![count("planwright.steps_done", u64::from(*after))])
        }
        TraceLine::Fallback { of, .. } => {
            ("planwright.fallback", vec![text("planwright.role", &of.to_string())])
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_name_is_no_server_and_an_unknown_one_is_asked_at_the_usual() {
        let place = |name: &str, port| {
            let (provider, host) = ("openai".into(), "localhost".into());
            Place { name: name.to_owned(), provider, host, port }
        };
        let servers = [place("", 1), place("large", 2), place("backup", 3)];
        let port = |names| {
            let mut attributes = Vec::new();
            push_server(&mut attributes, &servers, names);
            attributes.pop().unwrap().value
        };
        let found = [["", "large"], ["backup", "large"], ["", ""], ["", "unknown"]].map(port);
        assert_eq!(found, [2, 3, 1, 1].map(Value::I64));
    }
}
