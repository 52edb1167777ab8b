//! Telemetry: what a collector is sent of a run, while it goes on and afterwards, and what that costs the run.

use std::collections::BTreeSet;
use std::process::Command;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use planwright::prompt::TraceContext;
use prost::Message;
use serde_json::{Value, json};

use crate::cli_support::{Home, Said, check};
use crate::serve::Service;
use crate::support::{Answer, DeadPort, Server};
use crate::world::{GOOD, PLAN, SUM};

const BAD: &str = r#"{"ok": false, "reason": "nothing found", "fix_hint": "other words"}"#;
pub const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

pub fn collector() -> Server {
    Server::start(|_, _| Answer::body(200, "application/x-protobuf", Vec::new()))
}

fn model() -> Server {
    Server::answering([PLAN, BAD, PLAN, GOOD, "It is 300840."].map(Answer::reply))
}

/// The program with telemetry that goes there.
pub fn traced(home: &Home, collector: &Server) -> Command {
    let mut program = home.program();
    program.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.origin());
    program
}

pub fn bodies(collector: &Server, path: &str) -> Vec<Vec<u8>> {
    collector.seen().into_iter().filter(|seen| seen.target == path).map(|seen| seen.body).collect()
}

pub fn spans(collector: &Server) -> Vec<Span> {
    let requests = bodies(collector, "/v1/traces");
    let requests = requests.iter().map(|body| ExportTraceServiceRequest::decode(&**body).unwrap());
    let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|spans| spans.scope_spans);
    scopes.flat_map(|scope| scope.spans).collect()
}

pub fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| {
        panic!("no {name} among {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>())
    })
}

pub fn attribute(span: &Span, key: &str) -> Value {
    let found = span.attributes.iter().find(|pair| pair.key == key);
    match found.and_then(|pair| pair.value.as_ref()?.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::BoolValue(is)) => json!(is),
        _ => Value::Null,
    }
}

fn ids(spans: &[Span]) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    let ids: BTreeSet<_> = spans.iter().map(|span| (span.trace_id.clone(), span.span_id.clone())).collect();
    assert_eq!(ids.len(), spans.len(), "every span is sent once");
    ids
}

fn run(home: &Home, collector: &Server, model: &Server, more: &[&str]) -> Said {
    let mut program = traced(home, collector);
    check(program.args(["run", "--base-url", &model.url(), "--model", "m", SUM]).args(more), "", 0)
}

#[test]
fn stored_run_is_exported_as_it_was_sent_while_it_went_on_and_each_time_alike() {
    let (home, live, model) = (Home::new(), collector(), model());
    run(&home, &live, &model, &["--thread", "t"]);
    let (first, second) = (collector(), collector());
    for later in [&first, &second] {
        let exported = check(traced(&home, later).args(["export", "otlp", "t", "--json"]), "", 0).json();
        assert_eq!(exported["runs"][0]["spans"], spans(&live).len());
    }
    assert_eq!(bodies(&first, "/v1/traces"), bodies(&second, "/v1/traces"));
    let spans = spans(&live);
    assert_eq!(self::spans(&first), spans, "live and afterwards");
    let run = named(&spans, "invoke_agent validated");
    assert_eq!([&run.parent_span_id[..], &run.span_id[..]], [&[][..], &run.span_id[..]]);
    let events: Vec<&str> = run.events.iter().map(|event| &*event.name).collect();
    assert_eq!(events.iter().filter(|name| **name == "planwright.verdict").count(), 2);
    assert!(events.contains(&"planwright.replan") && events.contains(&"planwright.phase"), "{events:?}");
    assert_eq!(attribute(run, "gen_ai.conversation.id"), "t");
    let plan = named(&spans, "plan validated");
    assert_eq!(plan.parent_span_id, run.span_id);
    let tool = named(&spans, "execute_tool calc");
    assert_eq!(
        (&tool.parent_span_id, attribute(tool, "gen_ai.tool.call.id")),
        (&run.span_id, json!("step.1.1.1"))
    );
    // The server was told the span of each call.
    let chats: Vec<&Span> = spans.iter().filter(|span| span.name == "chat m").collect();
    let told: Vec<TraceContext> =
        model.seen().iter().map(|seen| seen.header("traceparent").unwrap().parse().unwrap()).collect();
    assert_eq!(told.len(), 5);
    for (chat, told) in chats.iter().zip(told) {
        assert_eq!((&chat.trace_id[..], &chat.span_id[..]), (&told.trace_id[..], &told.span_id[..]));
        assert_eq!(attribute(chat, "gen_ai.provider.name"), "openai");
        assert_eq!(attribute(chat, "server.address"), "127.0.0.1");
        assert_eq!(attribute(chat, "server.port"), model.port());
        assert_eq!(attribute(chat, "gen_ai.usage.input_tokens"), 11);
    }
    assert_eq!(chats[0].parent_span_id, plan.span_id);
    assert_eq!(attribute(run, "gen_ai.usage.input_tokens"), 55);
    let metrics = bodies(&live, "/v1/metrics");
    let metrics = ExportMetricsServiceRequest::decode(&**metrics.last().unwrap()).unwrap();
    let mut names: Vec<&str> =
        metrics.resource_metrics[0].scope_metrics[0].metrics.iter().map(|one| &*one.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["gen_ai.client.operation.duration", "gen_ai.client.token.usage"]);
}

#[test]
fn what_was_said_is_sent_only_where_it_is_wanted_and_never_with_a_key() {
    let key = "sk-secret-0123456789";
    for (wanted, is_there) in [("", false), ("false", false), ("true", true)] {
        let (home, collector) = (Home::new(), collector());
        let leaks = format!("It is 300840, says {key}.");
        let model = Server::answering([PLAN, GOOD, &*leaks].map(Answer::reply));
        let mut program = traced(&home, &collector);
        program.env(CONTENT, wanted).env("OPENAI_API_KEY", key);
        check(program.args(["run", "--base-url", &model.url(), "--model", "m", SUM]), "", 0);
        let sent = String::from_utf8_lossy(&bodies(&collector, "/v1/traces").concat()).into_owned();
        for text in [SUM, "It is 300840", "345*872", "there is a result"] {
            assert_eq!(sent.contains(text), is_there, "{text} with {wanted:?}");
        }
        assert!(!sent.contains(key));
        let chat = named(&spans(&collector), "chat m").clone();
        let messages = attribute(&chat, "gen_ai.input.messages");
        assert_eq!(
            messages.as_str().map(|text| serde_json::from_str::<Value>(text).unwrap()[0]["role"].clone()),
            is_there.then(|| json!("user"))
        );
    }
}

#[test]
fn call_without_an_answer_ends_its_span_and_its_run_with_the_cause() {
    let (home, collector, port) = (Home::new(), collector(), DeadPort::new());
    let url = format!("http://127.0.0.1:{}/v1", port.number());
    check(traced(&home, &collector).args(["run", "--base-url", &url, "--model", "m", SUM]), "", 3);
    let spans = spans(&collector);
    for name in ["chat m", "plan validated", "invoke_agent validated"] {
        let span = named(&spans, name);
        assert_eq!(attribute(span, "error.type"), "connection", "{name}");
        assert_eq!(span.status.as_ref().unwrap().code, 2, "{name}");
    }
}

#[test]
fn collector_that_is_absent_silent_or_refuses_costs_a_run_nothing_but_a_line() {
    let refusing = Server::start(|_, _| Answer::error(400, "no"));
    let silent = Server::start(|_, _| Answer::silence());
    let absent = DeadPort::new();
    let absent = format!("http://127.0.0.1:{}", absent.number());
    for (endpoint, reason) in [
        (refusing.origin(), "/v1/traces answered 400 Bad Request"),
        (silent.origin(), "the collector did not answer in time"),
        (absent, "/v1/traces: nothing listens there"),
    ] {
        let home = Home::new();
        let mut program = home.program();
        let said = check(program.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).args(["run", SUM]), "", 0);
        said.prints(&["300840"]).complains(&["planwright: 6 spans", " dropped: ", reason]);
        assert_eq!(said.stderr.matches("dropped").count(), 1, "{}", said.stderr);
    }
    // A queue that is full drops what comes, and the run goes on.
    let (home, silent) = (Home::new(), Server::start(|_, _| Answer::silence()));
    let mut program = traced(&home, &silent);
    let said = check(program.env("OTEL_BSP_MAX_QUEUE_SIZE", "2").args(["run", SUM]), "", 0);
    said.prints(&["300840"]).complains(&["6 spans dropped"]);
    assert_eq!(spans(&silent).len(), 2);
}

#[test]
fn variables_turn_telemetry_off_and_one_that_does_not_read_is_told() {
    let (home, collector) = (Home::new(), collector());
    for (name, value) in [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ] {
        check(traced(&home, &collector).env(name, value).args(["run", SUM]), "", 0);
    }
    check(home.program().args(["run", SUM]), "", 0);
    assert_eq!(spans(&collector).len(), 0);
    let mut program = home.program();
    let said = check(program.env("OTEL_EXPORTER_OTLP_ENDPOINT", "not a url").args(["run", SUM]), "", 0);
    said.prints(&["300840"]).complains(&["planwright: telemetry is off: "]);
    home.refuses(&["export", "otlp", "t"], &["no collector is named", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
}

#[test]
fn service_goes_on_in_the_trace_of_a_request_and_keeps_it_for_later() {
    let (home, collector, model) = (Home::new(), collector(), model());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00";
    let mut program = traced(&home, &collector);
    program.env("OTEL_BSP_SCHEDULE_DELAY", "50");
    let service = Service::of(program, &["--base-url", &model.url(), "--model", "m", "--store", "t.db"]);
    let ask = |thread: &str, header: &str| {
        let body = json!({"message": SUM, "thread_id": thread}).to_string();
        assert_eq!(service.send("POST", "/chat", &body, &[("traceparent", header)]).0, 200);
    };
    ask("traced", parent);
    let told: TraceContext = model.seen()[0].header("traceparent").unwrap().parse().unwrap();
    assert_eq!(told.trace_id, parent.parse::<TraceContext>().unwrap().trace_id);
    ask("malformed", "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01");
    ask("unsampled", unsampled);
    let figures = ureq::get(format!("{}/metrics", service.address))
        .call()
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    assert!(figures.contains("planwright_spans_dropped 0"), "{figures}");
    let mut service = service;
    Command::new("kill").arg(service.process.id().to_string()).status().unwrap();
    service.process.wait().unwrap();

    let sent = spans(&collector);
    let of = |thread: &str| -> Vec<Span> {
        let runs = sent.iter().filter(|span| attribute(span, "gen_ai.conversation.id") == thread);
        runs.cloned().collect()
    };
    let run = of("traced").into_iter().find(|span| span.name == "invoke_agent validated").unwrap();
    assert_eq!(hex(&run.trace_id), &parent[3..35]);
    assert_eq!(hex(&run.parent_span_id), &parent[36..52]);
    assert!(of("malformed").iter().all(|span| hex(&span.trace_id) != parent[3..35]));
    assert_eq!((of("malformed").is_empty(), of("unsampled").len()), (false, 0));
    let later = self::collector();
    check(traced(&home, &later).args(["export", "otlp", "traced", "--store", "t.db"]), "", 0);
    let again = spans(&later);
    assert!(ids(&again).is_subset(&ids(&sent)), "the ids are those of the service");
    assert_eq!(hex(&again[0].trace_id), &parent[3..35]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn run_that_waits_for_a_person_is_one_span_over_all_processes_that_had_it() {
    let (home, collector) = (Home::new(), collector());
    let asks = "Compare both offers, and ask me before you conclude.";
    let ask = ["run", "--agent", "supervised", "--thread", "t", asks];
    check(traced(&home, &collector).args(ask), "", 5);
    assert!(!spans(&collector).iter().any(|span| span.name == "invoke_agent supervised"), "it goes on");
    let mut waiting = true;
    while waiting {
        let shown = home.check(&["waiting", "--json"], 0).json();
        let Some(token) = shown["waiting"][0]["token"].as_str() else { break };
        let answer = ["threads", "answer", "t", "--token", token, "--approve"];
        let said = traced(&home, &collector).args(answer).output().unwrap();
        waiting = said.status.code() == Some(5);
        assert!(waiting || said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
    let sent = spans(&collector);
    let person = named(&sent, "planwright.human");
    let run = named(&sent, "invoke_agent supervised");
    assert_eq!(person.parent_span_id, run.span_id);
    assert!(person.start_time_unix_nano >= run.start_time_unix_nano);
    let later = self::collector();
    check(traced(&home, &later).args(["export", "otlp", "t"]), "", 0);
    assert_eq!(ids(&spans(&later)), ids(&sent));
}

#[test]
fn chrome_trace_holds_the_spans_of_a_run_within_one_another() {
    let home = Home::new();
    let asks = "Compare both offers.";
    home.check(&["run", "--agent", "research-team", "--thread", "t", asks], 0);
    home.check(&["export", "chrome", "t", "--output", "trace.json"], 0);
    home.refuses(
        &["export", "chrome", "t", "--output", "trace.json"],
        &["there is a file already", "--force"],
    );
    let trace: Value =
        serde_json::from_str(&std::fs::read_to_string(home.path("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let reach = |event: &Value| {
        let start = event["ts"].as_u64().unwrap();
        (start, start + event["dur"].as_u64().unwrap_or_default())
    };
    let (run, all) = (reach(of("X")[0]), of("X"));
    assert_eq!(all[0]["name"], "invoke_agent research-team");
    // An agent within it is of the same conversation.
    for event in all.iter().filter(|event| event["name"].as_str().unwrap().starts_with("invoke_agent ")) {
        let shared = ["gen_ai.conversation.id", "gen_ai.request.model"].map(|key| &event["args"][key]);
        assert_eq!(shared, ["t", "offline"], "{event}");
    }
    assert!(all.iter().all(|event| run.0 <= reach(event).0 && reach(event).1 <= run.1));
    assert!(all.iter().any(|event| event["name"].as_str().unwrap().starts_with("execute_tool ")));
    assert!(of("i").iter().any(|event| event["name"] == "planwright.phase"));
    // On one line a span lies within another, or beside it.
    for (at, one) in all.iter().enumerate() {
        for other in all[at + 1..].iter().filter(|other| other["tid"] == one["tid"]) {
            let (one, other) = (reach(one), reach(other));
            assert!(other.1 <= one.1 || one.1 <= other.0, "{one:?} and {other:?}");
        }
    }
    home.fixture("fixture.json");
    home.refuses(&["export", "chrome", "fixture.json"], &["expected a journal, found a fixture"]);
}
