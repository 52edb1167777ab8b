//! `verify` and `diagram`: walk every reachable state of an agent, and report what was checked or draw it.

use serde_json::{Value, json};

use crate::args::{DiagramArgs, Format, VerifyArgs};
use crate::exit::Exit;
use crate::screen::while_waiting;
use crate::{out, text};
use planwright::agents;
use planwright::machine::explore::{Check, Report, explore_within, sketch};
use planwright::machine::explore::{dot, mermaid};
use planwright::spec::Bounds;
use planwright_app::{Class, Result, compile_agent};

pub fn draw_diagram(args: &DiagramArgs) -> Result<Exit> {
    let rules = compile_agent(args.agent.as_deref().unwrap_or(agents::DEFAULT))?;
    let report = while_waiting("exploring every edge", || sketch(&rules));
    let drawing = match args.format {
        Format::Mermaid => mermaid(&report),
        Format::Dot => dot(&report),
    };
    out::print_text(drawing.trim_end())?;
    Ok(Exit::Done)
}

pub fn verify(args: &VerifyArgs) -> Result<Exit> {
    let rules = compile_agent(args.agent.as_deref().unwrap_or(agents::DEFAULT))?;
    let report = while_waiting("exploring every reachable state", || explore_within(&rules, args.max_states));
    let agent = &rules.spec().name;
    match args.json {
        true => out::print_json(&object(agent, &report))?,
        false => out::print_lines(&lines(agent, &report))?,
    }
    Ok(match report.undecided() {
        Some(_) => Exit::Of(Class::Undecided),
        None if report.holds() => Exit::Done,
        None => Exit::Of(Class::Failed),
    })
}

fn lines(agent: &str, report: &Report) -> Vec<String> {
    let mut lines = vec![format!("{agent}: {} states, {} edges explored", report.states, report.edges.len())];
    lines.extend(report.explored_as.iter().map(|how| format!("  {}", text::line(how))));
    lines.push(String::new());
    let row = |name: &str, of: fn(&Bounds) -> u32| {
        vec![name.to_owned(), of(&report.bounds).to_string(), of(&report.longest).to_string()]
    };
    let bounds = [
        ["bounds", "of the spec", "longest path explored"].map(str::to_owned).to_vec(),
        row("model calls", |bounds| bounds.model_calls),
        row("tool calls", |bounds| bounds.tool_calls),
        row("transitions", |bounds| bounds.transitions),
    ];
    lines.extend(text::table(&bounds, None));
    lines.push(String::new());
    let mut checks = vec![["invariant", "result", "cases", "claim"].map(str::to_owned).to_vec()];
    checks.extend(report.checks.iter().map(|check| {
        let holds = match (check.violations.is_empty(), check.is_about_the_walk()) {
            (true, _) if report.whole => "holds",
            (true, _) => "not all tried",
            (false, true) => "undecided",
            (false, false) => "VIOLATED",
        };
        let claim = text::line(check.claim);
        vec![check.invariant.to_owned(), holds.to_owned(), check.cases.to_string(), claim]
    }));
    lines.extend(text::table(&checks, None));
    lines.extend(report.undecided().map(|why| format!("undecided: {}", text::clean(&why))));
    for check in report.checks.iter().filter(|check| !check.is_about_the_walk()) {
        let said = check.violations.iter();
        lines.extend(
            said.map(|violation| format!("violated: {}: {}", check.invariant, text::clean(violation))),
        );
    }
    lines
}

fn object(agent: &str, report: &Report) -> Value {
    let check = |check: &Check| {
        json!({
            "invariant": check.invariant, "claim": check.claim, "cases": check.cases,
            "holds": report.whole && check.violations.is_empty(), "violations": check.violations,
        })
    };
    json!({
        "agent": agent, "states": report.states, "edges": report.edges.len(),
        "bounds": report.bounds, "longest": report.longest, "explored_as": report.explored_as,
        "whole": report.whole, "undecided": report.undecided(),
        "checks": report.checks.iter().map(check).collect::<Vec<Value>>(),
    })
}
