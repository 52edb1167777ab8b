//! Spans as a trace for Perfetto and for Chrome's own viewer: JSON of the Trace Event Format.

use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Map, Value, json};

/// The trace of several runs, each by its name. A viewer nests what lies within something else on one line, so what
/// ran side by side is on lines of its own.
pub fn chrome_trace(runs: &[(String, Vec<SpanData>)]) -> Value {
    let mut events = Vec::new();
    for (process, (name, spans)) in (1_u64..).zip(runs) {
        events.push(json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}));
        let mut spans: Vec<&SpanData> = spans.iter().collect();
        spans.sort_by_key(|span| (span.start_time, std::cmp::Reverse(span.end_time), is_inner(span)));
        let mut lines: Vec<Vec<&SpanData>> = Vec::new();
        for span in spans {
            let line = choose_line(&mut lines, span);
            let [start, end] = [micros(span.start_time), micros(span.end_time)];
            events.push(json!({
                "ph": "X", "name": span.name, "cat": "planwright", "pid": process, "tid": line, "ts": start,
                "dur": end - start, "args": arguments(&span.attributes),
            }));
            for event in span.events.iter() {
                events.push(json!({
                    "ph": "i", "s": "t", "name": event.name, "cat": "planwright", "pid": process, "tid": line,
                    "ts": micros(event.timestamp), "args": arguments(&event.attributes),
                }));
            }
        }
    }
    json!({"traceEvents": events, "displayTimeUnit": "ms"})
}

/// Of spans that took equally long, the one within stands below.
fn is_inner(span: &SpanData) -> bool {
    span.name.starts_with("chat ")
}

/// The first line on which a span lies within what is open, or behind it.
fn choose_line<'a>(lines: &mut Vec<Vec<&'a SpanData>>, span: &'a SpanData) -> usize {
    for (at, open) in lines.iter_mut().enumerate() {
        while open
            .last()
            .is_some_and(|last| last.end_time <= span.start_time && last.end_time < span.end_time)
        {
            open.pop();
        }
        if open.last().is_none_or(|last| span.end_time <= last.end_time) {
            open.push(span);
            return at;
        }
    }
    lines.push(vec![span]);
    lines.len() - 1
}

fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn arguments(attributes: &[KeyValue]) -> Value {
    let pairs = attributes.iter().map(|pair| (pair.key.to_string(), Value::from(pair.value.to_string())));
    Value::Object(pairs.collect::<Map<_, _>>())
}
