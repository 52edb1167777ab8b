//! The log of a service goes to the collector as well: each line as a record that belongs to its span.

use std::process::{Command, Stdio};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prost::Message;
use serde_json::json;

use crate::cli_support::Home;
use crate::serve::Service;
use crate::support::Server;
use crate::telemetry::{CONTENT, attribute, bodies, collector, spans, traced};
use crate::world::{SUM, talkative};

/// What a service sends of one question, with these variables.
fn serve(collector: &Server, variables: &[(&str, &str)]) -> Vec<LogRecord> {
    let (home, model) = (Home::new(), talkative());
    let mut program = traced(&home, collector);
    program.envs(variables.iter().copied());
    let args = ["--base-url", &model.url(), "--model", "m", "--log", "off", "--log-texts"];
    let mut service = Service::start_with(program, &args, Stdio::null());
    let body = json!({"message": SUM, "thread_id": "t"}).to_string();
    assert_eq!(service.send("POST", "/chat", &body, &[]).0, 200);
    Command::new("kill").arg(service.process.id().to_string()).status().unwrap();
    service.process.wait().unwrap();
    let requests = bodies(collector, "/v1/logs");
    let requests = requests.iter().map(|body| ExportLogsServiceRequest::decode(&**body).unwrap());
    let scopes = requests.flat_map(|request| request.resource_logs).flat_map(|logs| logs.scope_logs);
    scopes.flat_map(|scope| scope.log_records).collect()
}

fn said(record: &LogRecord) -> &str {
    match record.body.as_ref().and_then(|body| body.value.as_ref()) {
        Some(Any::StringValue(text)) => text,
        other => panic!("expected a text, found {other:?}"),
    }
}

#[test]
fn each_effect_of_a_run_has_a_record_under_its_span() {
    let collector = collector();
    let records = serve(&collector, &[]);
    let spans = spans(&collector);
    for span in spans.iter().filter(|span| !attribute(span, "planwright.effect").is_null()) {
        let of = |record: &&LogRecord| record.span_id == span.span_id && record.trace_id == span.trace_id;
        let record = records.iter().find(of).unwrap_or_else(|| panic!("{} has no record", span.name));
        assert_eq!((said(record), &*record.severity_text), ("effect", "INFO"));
    }
    let run = spans.iter().find(|span| span.name == "invoke_agent validated").unwrap();
    let of_run = records.iter().find(|record| said(record) == "run").unwrap();
    assert_eq!((&of_run.trace_id, &of_run.span_id), (&run.trace_id, &run.span_id));
    assert!(records.iter().any(|record| said(record) == "request"));
    let holds = |text: &str| format!("{records:?}").contains(text);
    assert!(!holds(SUM) && !holds("It is 300840"), "what was said was not asked for");
}

#[test]
fn records_hold_what_was_said_where_it_is_wanted_and_none_is_sent_where_they_are_turned_off() {
    let (wanted, off) = (collector(), collector());
    let records = serve(&wanted, &[(CONTENT, "true")]);
    assert!(format!("{records:?}").contains(SUM));
    assert_eq!(serve(&off, &[("OTEL_LOGS_EXPORTER", "none")]).len(), 0);
    assert!(!spans(&off).is_empty());
}
