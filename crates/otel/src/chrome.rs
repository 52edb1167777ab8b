//! Spans as a trace for Perfetto and for Chrome's own viewer: JSON of the Trace Event Format.

use std::collections::HashMap;
use std::time::SystemTime;

use opentelemetry::{KeyValue, SpanId};
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Map, Value, json};

/// The trace of several runs, each by its name. A viewer nests what lies within something else on one line. So a line
/// holds a span, what is within it, and what follows; what ran beside it is on a line of its own.
pub fn chrome_trace(runs: &[(String, Vec<SpanData>)]) -> Value {
    let mut events = Vec::new();
    for (process, (name, spans)) in (1_u64..).zip(runs) {
        events.push(json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}));
        let mut lines: Vec<Vec<&SpanData>> = Vec::new();
        for span in outermost_first(spans) {
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

/// The spans as they began. Of those that took equally long, the one within comes later.
fn outermost_first(spans: &[SpanData]) -> Vec<&SpanData> {
    let parents: HashMap<SpanId, SpanId> =
        spans.iter().map(|span| (span.span_context.span_id(), span.parent_span_id)).collect();
    let depth = |span: &SpanData| {
        let parent = |id: &SpanId| parents.get(id).copied();
        std::iter::successors(Some(span.parent_span_id), parent).take(spans.len()).count()
    };
    let mut spans: Vec<&SpanData> = spans.iter().collect();
    spans.sort_by_cached_key(|span| (span.start_time, std::cmp::Reverse(span.end_time), depth(span)));
    spans
}

/// The line on which what the span is within is still open, or else the first that is free.
fn choose_line<'a>(lines: &mut Vec<Vec<&'a SpanData>>, span: &'a SpanData) -> usize {
    let is_around = |last: &&SpanData| last.span_context.span_id() == span.parent_span_id;
    for open in lines.iter_mut() {
        while open.last().is_some_and(|last| last.end_time <= span.start_time && !is_around(last)) {
            open.pop();
        }
    }
    let is_within = |last: &&SpanData| is_around(last) && span.end_time <= last.end_time;
    let within = lines.iter().position(|open| open.last().is_some_and(is_within));
    let line = within.or_else(|| lines.iter().position(Vec::is_empty)).unwrap_or(lines.len());
    if line == lines.len() {
        lines.push(Vec::new());
    }
    lines[line].push(span);
    line
}

fn micros(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn arguments(attributes: &[KeyValue]) -> Value {
    let pairs = attributes.iter().map(|pair| (pair.key.to_string(), Value::from(pair.value.to_string())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{Made, Sink, Traced};
    use opentelemetry::trace::{SpanKind, Status};
    use planwright::prompt::TraceContext;

    /// Spans on which lines: each with its id, that of the one around it, its beginning and its end.
    fn lines(spans: &[(u8, u8, u64, u64)]) -> Vec<(u64, u64)> {
        let span = TraceContext { trace_id: [1; 16], span_id: [1; 8], sampled: true };
        let (run, sink) =
            (Traced { id: "r".into(), span, parent: None, sampled: true }, Sink::new(None, false));
        for &(id, within, start, end) in spans {
            let [id, within] = [id, within].map(|id| [id; 8]);
            let (name, kind, times) = (String::new(), SpanKind::Internal, [start, end]);
            let (attributes, events, status) = (Vec::new(), Vec::new(), Status::Unset);
            sink.finish(
                &run,
                Made { id, within, name: name.into(), kind, times, attributes, events, status },
            );
        }
        let trace = chrome_trace(&[(String::new(), sink.take())]);
        let drawn = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let line = |event: &Value| Some((event["ts"].as_u64()? / 1_000, event["tid"].as_u64()?));
        drawn.filter_map(line).collect()
    }

    #[test]
    fn call_beside_another_is_on_a_line_of_its_own_with_what_is_within_it() {
        let run = (1, 0, 0, 20);
        assert_eq!(lines(&[(2, 1, 1, 9), (3, 1, 2, 5), (4, 3, 3, 4), run]), [(0, 0), (1, 0), (2, 1), (3, 1)]);
        assert_eq!(
            lines(&[(2, 1, 1, 9), (3, 1, 9, 12), (4, 3, 9, 12), run]),
            [(0, 0), (1, 0), (9, 0), (9, 0)]
        );
        // What took no time follows what took none.
        assert_eq!(lines(&[(2, 1, 0, 0), (3, 1, 0, 0), (1, 0, 0, 0)]), [(0, 0); 3]);
    }
}
