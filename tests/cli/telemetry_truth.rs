//! Telemetry tells the truth: which server answered, what failed, no key, and no variable that was taken for another.

use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use planwright::agents;
use planwright::contract::{ArgumentRole, OutputFormat, StepField, ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::journal::{FileJournal, Journal, MemoryJournal, Record};
use planwright::machine::{Event, Input, ToolOutcome};
use prost::Message;
use serde_json::json;

use crate::cli_support::{Home, Says, Script, check};
use crate::support::{Answer, Server};
use crate::telemetry::{CONTENT, attribute, bodies, collector, spans, traced};
use crate::world::{GOOD, PLAN, SUM, talkative};

#[test]
fn export_takes_out_a_key_that_was_configured_after_the_run() {
    let (home, collector, key) = (Home::new(), collector(), "sk-secret-0123456789");
    let leaks = format!("It is 300840, says {key}.");
    let model = Server::answering([PLAN, GOOD, &*leaks].map(Answer::reply));
    home.check(&["run", "--base-url", &model.url(), "--model", "m", "--thread", "t", SUM], 0);
    let export = |args: &[&str]| {
        let mut program = traced(&home, &collector);
        check(program.env(CONTENT, "true").env("OPENAI_API_KEY", key).args(args), "", 0);
    };
    export(&["export", "otlp", "t"]);
    export(&["export", "chrome", "t", "--output", "trace.json"]);
    let sent = String::from_utf8_lossy(&bodies(&collector, "/v1/traces").concat()).into_owned();
    let written = std::fs::read_to_string(home.path("trace.json")).unwrap();
    for text in [sent, written] {
        assert!(text.contains("It is 300840, says ") && !text.contains(key), "{text}");
    }
}

#[test]
fn model_of_a_role_is_found_at_its_own_server() {
    let (home, live, later) = (Home::new(), collector(), collector());
    let planner = Server::answering([Answer::reply(PLAN)]);
    let usual = Server::answering([GOOD, "It is 300840."].map(Answer::reply));
    let config = format!(
        "base_url = {:?}\nmodel = \"small\"\n[models.large]\nbase_url = {:?}\nmodel = \"big\"\n\
         [roles.planner]\nmodel = \"large\"\n",
        usual.url(),
        planner.url(),
    );
    home.write("c.toml", &config);
    check(traced(&home, &live).args(["run", "--config", "c.toml", "--thread", "t", SUM]), "", 0);
    check(traced(&home, &later).args(["export", "otlp", "t", "--config", "c.toml"]), "", 0);
    for collector in [live, later] {
        let spans = spans(&collector);
        let chats = spans.iter().filter(|span| span.name.starts_with("chat "));
        let asked: Vec<_> =
            chats.map(|span| (attribute(span, "planwright.role"), attribute(span, "server.port"))).collect();
        let of = |role: &str, server: &Server| (json!(role), json!(server.port()));
        let expected = [of("planner", &planner), of("validator", &usual), of("writer", &usual)];
        assert_eq!(asked, expected);
    }
}

#[test]
fn tool_may_call_its_failure_open_and_keeps_its_span() {
    let (home, model) = (Home::new(), talkative());
    home.check(&["run", "--base-url", &model.url(), "--model", "m", "--journal", "run.jsonl", SUM], 0);
    let mut records = FileJournal::open(home.path("run.jsonl")).unwrap().records().unwrap();
    let returned =
        |record: &Record| matches!(record, Record::Answered { event: Event::ToolReturned { .. }, .. });
    let at = records.iter().position(returned).unwrap();
    records.truncate(at + 1);
    if let Some(Record::Answered { event: Event::ToolReturned { outcome, .. }, .. }) = records.last_mut() {
        *outcome = ToolOutcome::Failed { kind: "open".into(), message: "the valve is".into() };
    }
    let spans = planwright_otel::spans_of(&records, false).unwrap();
    let tool = spans.iter().find(|span| span.name == "execute_tool calc").unwrap();
    let has_kind = |pair: &&_| format!("{pair:?}").contains("error.type");
    let kind = format!("{:?}", tool.attributes.iter().find(has_kind));
    assert!(kind.contains("\"open\""), "{kind}");
}

#[test]
fn write_says_by_what_it_was_allowed_and_who_chose_its_arguments_live_and_afterwards() {
    let fields =
        json!({"type": "object", "properties": {"to": {"type": "string"}, "say": {"type": "string"}}});
    let mut spec = agents::shipped("validated").unwrap();
    let mut read = ToolContract::text("read", "Reads.", ToolEffect::Read).output(fields.clone());
    read.output_format = Some(OutputFormat::Json);
    let send = ToolContract::json("send", "Sends.", ToolEffect::Write).input(fields);
    spec.tools = vec![read, send.argument("/to", ArgumentRole::Content)];
    spec.policy.plan.fields = vec![StepField::Id, StepField::Refs];
    let plan = r#"{"goal": "x", "steps": [
        {"id": "a", "tool": "read", "input": "x"},
        {"id": "b", "tool": "send", "input": {"to": {"$from": "a", "take": "/to"}, "say": "hi"}},
        {"tool": "final_answer", "input": "x"}]}"#;
    for (content, labelled) in [(false, "[\"/to copied\"]"), (true, "[\"/to copied: a /to\"]")] {
        let tool = |contract: &ToolContract| Says(contract.clone(), Ok(r#"{"to": "ann"}"#.to_owned()));
        let builder = Agent::builder(spec.clone()).tools(spec.tools.iter().map(tool));
        let agent = builder.model(Script::of(&[plan, GOOD, "Sent."])).build().unwrap();
        let spans = planwright_otel::RunSpans::in_memory(content);
        let mut journal = MemoryJournal::default();
        let job = agent.job(Input::question("Send it.")).observer(&spans).journal(&mut journal);
        job.run().unwrap();
        let later = planwright_otel::spans_of(&journal.records().unwrap(), content).unwrap();
        for spans in [spans.take(), later] {
            let events = &spans.last().unwrap().events;
            let event = events.iter().find(|event| event.name == "planwright.authority").expect("a write");
            let pairs = event.attributes.iter().map(|pair| format!("{}={}", pair.key, pair.value));
            let said: Vec<String> = pairs.filter(|pair| pair.starts_with("planwright.")).collect();
            let labelled = format!("planwright.arguments={labelled}");
            let step = ["planwright.step=b", "planwright.authority=b of draft 1", "planwright.label=copied"];
            assert_eq!(said, [&step[..], &[&*labelled]].concat());
        }
    }
}

#[test]
fn variable_that_does_not_read_is_told_once_and_not_replaced() {
    let (home, collector) = (Home::new(), collector());
    home.write("none.pem", "no certificate\n");
    home.check(&["run", "--thread", "t", SUM], 0);
    for (name, value, found) in [
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "expected milliseconds, found \"10s\""),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "3000000000", "expected at most 1048576 spans, found 3000000000"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "expected at least 1 spans, found 0"),
        (CONTENT, "maybe", "expected true, false, span_only, event_only, span_and_event or no_content"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "abc", "OTEL_METRIC_EXPORT_INTERVAL: expected milliseconds"),
        ("OTEL_PROPAGATORS", "b3", "OTEL_PROPAGATORS: expected tracecontext among them, found \"b3\""),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "many", "expected a number of spans, found \"many\""),
        ("OTEL_TRACES_SAMPLER", "some", "expected always_on, always_off or traceidratio"),
        ("OTEL_EXPORTER_OTLP_CERTIFICATE", "none.pem", "CERTIFICATE: none.pem: expected certificates in PEM"),
        ("OTEL_SDK_DISABLED", "1", "OTEL_SDK_DISABLED: expected true or false, found \"1\""),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "PROTOCOL: expected http/protobuf, found \"grpc\""),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json", "METRICS_PROTOCOL: expected http/protobuf"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "COMPRESSION: expected gzip or none, found \"zstd\""),
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER: expected otlp or none, found \"zipkin\""),
        ("OTEL_METRICS_EXPORTER", "prometheus", "OTEL_METRICS_EXPORTER: expected otlp or none"),
        ("OTEL_LOGS_EXPORTER", "console", "OTEL_LOGS_EXPORTER: expected otlp or none"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team", "OTEL_RESOURCE_ATTRIBUTES: expected pairs like name=value"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,Bearer sk-1", "OTLP_HEADERS: expected pairs like name=value"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a b=sk-1", "TRACES_HEADERS: expected pairs"),
        ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=%0Ask-1", "METRICS_HEADERS: expected pairs"),
    ] {
        let said = check(traced(&home, &collector).env(name, value).args(["run", SUM]), "", 0);
        said.prints(&["300840"]).complains(&["planwright: telemetry is off: ", found]);
        assert!(said.stderr.matches("telemetry is off").count() == 1 && !said.stderr.contains("sk-1"));
    }
    let mut export = traced(&home, &collector);
    export.env("OTEL_EXPORTER_OTLP_CERTIFICATE", "none.pem").args(["export", "otlp", "t"]);
    check(&mut export, "", 2).complains(&["expected certificates in PEM"]);
    assert_eq!(spans(&collector).len(), 0);
}

#[test]
fn each_signal_is_turned_off_alone_and_the_service_is_called_what_its_variable_says() {
    let (home, collector) = (Home::new(), collector());
    let mut program = traced(&home, &collector);
    program.env("OTEL_TRACES_EXPORTER", "none").args(["run", SUM]);
    check(&mut program, "", 0);
    assert_eq!((spans(&collector).len(), bodies(&collector, "/v1/metrics").len()), (0, 1));
    let mut program = traced(&home, &collector);
    program.env("OTEL_METRICS_EXPORTER", "none").env("OTEL_SERVICE_NAME", "이름");
    check(program.env("OTEL_RESOURCE_ATTRIBUTES", "service.name=other").args(["run", SUM]), "", 0);
    assert_eq!(bodies(&collector, "/v1/metrics").len(), 1);
    let sent = bodies(&collector, "/v1/traces").concat();
    let holds = |text: &str| sent.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("이름") && !holds("other"));
    let mut program = traced(&home, &collector);
    program.env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=%EC%8B%9C%ED%97%98, te%61m=a%2Cb");
    check(program.env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b").args(["run", SUM]), "", 0);
    let sent = collector.seen().pop().unwrap();
    let holds = |text: &str| sent.body.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds("시험") && holds("team") && holds("a,b") && holds("planwright"));
    assert_eq!(sent.header("x-team"), Some("a b"));
}

#[test]
fn what_a_collector_rejects_though_it_answers_with_success_is_counted_and_said() {
    let home = Home::new();
    home.check(&["run", "--thread", "t", SUM], 0);
    let partial = ExportTracePartialSuccess { rejected_spans: 2, error_message: "두 개 거절".to_owned() };
    let partial = ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    for (kind, body, count, found) in [
        ("application/x-protobuf", partial, "2 spans", "/v1/traces rejected 2: \"두 개 거절\""),
        ("text/html", b"<html>".to_vec(), "6 spans", "something else than OTLP (\"text/html\")"),
    ] {
        let collector = Server::start(move |_, _| Answer::body(200, kind, body.clone()));
        let live = &mut traced(&home, &collector);
        let live = live.env("OTEL_METRICS_EXPORTER", "none").args(["run", SUM]);
        check(live, "", 0).complains(&[&format!("{count} dropped: "), found]);
        check(traced(&home, &collector).args(["export", "otlp", "t"]), "", 1).complains(&[found]);
    }
}
