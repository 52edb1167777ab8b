//! `export`: stored runs as traces, to a collector or into a file.

use std::path::Path;

use serde_json::json;

use crate::args::{ChromeArgs, ExportCommand, ExportedArgs, OtlpArgs};
use crate::{out, text};
use planwright::driver::Redactor;
use planwright::journal::Record;
use planwright_app::{Class, Error, Result, RunFile, configured_keys, find_turn, split_turn};
use planwright_otel::{Exporter, SpanData, captures_content, chrome_trace, spans_of};

pub fn export(command: &ExportCommand) -> Result<()> {
    match command {
        ExportCommand::Otlp(args) => send(args),
        ExportCommand::Chrome(args) => write(args),
    }
}

/// The spans of each run, by the run's name, without the values of any key that is configured now.
fn load(args: &ExportedArgs) -> Result<Vec<(String, Vec<SpanData>)>> {
    let keys = Redactor::new(configured_keys(args.store.config.as_deref())?);
    let content = captures_content().map_err(Error::unusable)?;
    let mut runs = Vec::new();
    for name in &args.runs {
        let mut add = |name: String, records: Vec<Record>| -> Result<()> {
            let spans = spans_of(&keys.records(records), content).map_err(Error::at(&name))?;
            runs.push((name, spans));
            Ok(())
        };
        if Path::new(name).is_file() {
            let RunFile::Journal(records) = RunFile::load(Path::new(name))? else {
                let problem = format!("{name}: expected a journal, found a fixture, which has no times");
                return Err(
                    Error::unusable(problem).hint("name the thread or the journal that it was made of")
                );
            };
            add(name.clone(), records)?;
            continue;
        }
        let (stored, last) = find_turn(name, &args.store.place()?)?;
        let first = split_turn(name).1.unwrap_or(1);
        for turn in first..=last {
            let (turn, records) = stored.records(Some(turn))?;
            add(format!("{}:{turn}", stored.thread), records)?;
        }
    }
    Ok(runs)
}

fn send(args: &OtlpArgs) -> Result<()> {
    let is_named = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !is_named {
        let hint = "set OTEL_EXPORTER_OTLP_ENDPOINT, such as to http://localhost:4318";
        return Err(Error::unusable("no collector is named").hint(hint));
    }
    let runs = load(&args.exported)?;
    let exporter = Exporter::from_env().map_err(Error::unusable)?;
    let mut sent = Vec::new();
    for (run, spans) in runs {
        let (count, trace) =
            (spans.len(), spans.first().map(|span| span.span_context.trace_id().to_string()));
        exporter.export(spans).map_err(|problem| {
            let sent = text::count(sent.len() as u64, "run");
            Error::new(Class::Failed, format!("{run}: {problem}")).hint(format!("{sent} arrived before it"))
        })?;
        sent.push(json!({"run": run, "trace_id": trace, "spans": count}));
    }
    if args.json {
        return out::print_json(&json!({"runs": sent}));
    }
    let line = |run: &serde_json::Value| {
        let spans = text::count(run["spans"].as_u64().unwrap_or_default(), "span");
        let [name, trace] = ["run", "trace_id"].map(|key| run[key].as_str().unwrap_or_default().to_owned());
        format!("{}  {spans}  trace {trace}", text::line(&name))
    };
    out::print_lines(&sent.iter().map(line).collect::<Vec<_>>())
}

fn write(args: &ChromeArgs) -> Result<()> {
    let trace = chrome_trace(&load(&args.exported)?).to_string();
    let Some(path) = &args.output else { return out::print_text(&trace) };
    out::write_file(path, args.force, &trace)
}
