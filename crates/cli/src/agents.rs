//! `agents`, `verify`, `diagram` and `coverage`: lists or shows agents, walks every reachable state of one, draws it,
//! or says which of its edges no fixture takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{AgentsCommand, Format};
use crate::out::{Exit, stdout_columns};
use crate::replay::find_fixtures;
use crate::screen::while_waiting;
use crate::{out, text};
use planwright::agents;
use planwright::journal::Fixture;
use planwright::machine::explore::{
    Channel, Check, Real, Report, dot, explore_with, mermaid, reachable, sketch,
};
use planwright::spec::{Bounds, CompiledSpec, parse_toml};
use planwright_app::{AgentLine, Class, Error, Result, load_spec, read_text, spec_source};

pub fn agents(command: Option<AgentsCommand>, as_json: bool) -> Result<()> {
    let Some(AgentsCommand::Show { agent, json }) = command else { return list_agents(as_json) };
    // A file that does not load is not shown as if it were an agent.
    let spec = load_spec(&agent)?;
    if json || as_json { out::print_json(&spec) } else { out::print_text(spec_source(&agent)?.trim_end()) }
}

fn compile_agent(agent: Option<&str>) -> Result<CompiledSpec> {
    let agent = agent.unwrap_or(agents::DEFAULT);
    load_spec(agent)?.check().map_err(Error::at(agent))
}

fn list_agents(as_json: bool) -> Result<()> {
    let specs = agents::names().filter_map(agents::shipped);
    let lines: Vec<AgentLine> = specs.map(|spec| AgentLine::of(&spec, agents::DEFAULT)).collect();
    if as_json {
        return out::print_json(&lines);
    }
    let rows = lines.into_iter().map(|line| {
        let default = if line.default { " (default)" } else { "" };
        [format!("{}{default}", line.name), line.flow, text::line(&line.description)]
    });
    out::print_lines(&text::table(["name", "flow", "description"], rows, stdout_columns()))
}

pub fn draw_diagram(agent: Option<&str>, format: Format) -> Result<()> {
    let compiled = compile_agent(agent)?;
    let report = while_waiting("exploring every edge", || sketch(&compiled));
    let draw = match format {
        Format::Mermaid => mermaid,
        Format::Dot => dot,
    };
    out::print_text(draw(&report).trim_end())
}

pub fn verify(agent: Option<&str>, max_states: usize, as_json: bool) -> Result<Exit> {
    let compiled = compile_agent(agent)?;
    let report =
        while_waiting("exploring every reachable state", || explore_with(&Real, &compiled, max_states));
    let agent = &compiled.spec().name;
    match as_json {
        true => out::print_json(&report_json(agent, &report))?,
        false => out::print_lines(&report_lines(agent, &report))?,
    }
    let undecided = report.undecided().map(|_| Class::Undecided);
    Ok(undecided.or_else(|| (!report.holds()).then_some(Class::Failed)))
}

fn report_lines(agent: &str, report: &Report) -> Vec<String> {
    let mut lines =
        vec![format!("{}: {} states, {} edges explored", text::line(agent), report.states, report.edges)];
    lines.extend(report.explored_as.iter().map(|how| format!("  {}", text::line(how))));
    lines.push(String::new());
    let counts = |bounds: &Bounds| [bounds.model_calls, bounds.tool_calls, bounds.transitions];
    let longest = report.longest.as_ref().map(counts);
    let rows = ["model calls", "tool calls", "transitions"].iter().zip(counts(&report.bounds)).enumerate();
    let rows = rows.map(|(at, (name, of_spec))| {
        let longest = longest.map_or("not known".to_owned(), |most| most[at].to_string());
        [(*name).to_owned(), of_spec.to_string(), longest]
    });
    lines.extend(text::table(["bounds", "of the spec", "longest path explored"], rows, None));
    lines.push(String::new());
    lines.extend(channel_lines(&report.channel));
    lines.push(String::new());
    let rows = report.checks.iter().map(|check| {
        let holds = match (check.violations.is_empty(), check.is_about_the_walk()) {
            (true, _) if report.whole => "holds",
            (true, _) => "not all tried",
            (false, true) => "undecided",
            (false, false) => "VIOLATED",
        };
        let claim = text::line(check.claim);
        [check.invariant.to_owned(), holds.to_owned(), check.cases.to_string(), claim]
    });
    lines.extend(text::table(["invariant", "result", "cases", "claim"], rows, None));
    lines.extend(report.undecided().map(|why| format!("undecided: {}", text::clean(&why))));
    for check in report.checks.iter().filter(|check| !check.is_about_the_walk()) {
        let line = |found: &String| format!("violated: {}: {}", check.invariant, text::clean(found));
        lines.extend(check.violations.iter().map(line));
    }
    lines
}

/// What can happen once untrusted output was read.
fn channel_lines(channel: &Channel) -> Vec<String> {
    let list = |tools: &[String]| match tools {
        [] => "none".to_owned(),
        tools => text::line(&tools.join(", ")),
    };
    let told = match (channel.shows_results, channel.bits_per_replan) {
        (true, _) => "all of it".to_owned(),
        (false, Some(bits)) => format!("at most {bits} bits of it per replan"),
        (false, None) => "nothing: no plan follows".to_owned(),
    };
    let decision = channel.bits_per_decision.map(|bits| {
        ["the orchestrator is told".to_owned(), format!("at most {bits} bits of it per decision")]
    });
    let filled = channel.most_filled.map(|most| {
        ["the executor writes at most".to_owned(), text::count(most.into(), "value") + " of a plan"]
    });
    let rows = [
        ["the planner is told".to_owned(), told],
        ["a person is asked at most".to_owned(), text::count(channel.most_questions.into(), "question")],
        ["run unasked, with any input".to_owned(), list(&channel.any_input)],
        ["run unasked, as planned before".to_owned(), list(&channel.planned_before)],
        ["run with a person's yes alone".to_owned(), list(&channel.asked)],
    ];
    let within = (!channel.shown_within.is_empty())
        .then(|| ["shown all that they work on".to_owned(), list(&channel.shown_within)]);
    let arguments = channel.arguments.iter().map(|(tool, places)| {
        let most = places
            .iter()
            .map(|(place, label)| format!("{}: {label}", if place.is_empty() { "the input" } else { place }));
        [format!("  {tool} at most"), most.collect::<Vec<_>>().join(", ")].map(|text| text::line(&text))
    });
    let [planner, questions, any, planned, asked] = rows;
    let told = [planner].into_iter().chain(within).chain(decision).chain(filled);
    let rows = told.chain([questions, any, planned]).chain(arguments).chain([asked]);
    let mut lines = text::table(["once untrusted output was read", ""], rows, None);
    if !channel.unguarded.is_empty() {
        let tools = text::line(&channel.unguarded.join(", "));
        lines.push(format!(
            "warning: containment is off: whoever writes what is read can have {tools} called"
        ));
    }
    lines
}

fn report_json(agent: &str, report: &Report) -> Value {
    let check = |check: &Check| {
        json!({
            "invariant": check.invariant, "claim": check.claim, "cases": check.cases,
            "holds": report.whole && check.violations.is_empty(), "violations": check.violations,
        })
    };
    json!({
        "agent": agent, "states": report.states, "edges": report.edges,
        "bounds": report.bounds, "longest": report.longest, "channel": report.channel, "explored_as": report.explored_as,
        "whole": report.whole, "undecided": report.undecided(),
        "checks": report.checks.iter().map(check).collect::<Value>(),
    })
}

/// The file beside the fixtures that says why an edge is not taken.
const REASONS: &str = "coverage.toml";

#[derive(Serialize)]
struct Covered {
    agent: String,
    fixtures: usize,
    reachable: usize,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct Missing {
    edge: String,
    reason: Option<String>,
}

/// Why an edge is not taken.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// The agent, or `*` for any.
    agent: String,
    edge: String,
    #[serde(skip_serializing)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReasonsFile {
    #[serde(default)]
    missing: Vec<Reason>,
}

pub fn coverage(paths: &[PathBuf], all: bool, as_json: bool) -> Result<Exit> {
    let reasons = load_reasons(paths)?;
    let mut fixtures: BTreeMap<String, Vec<Fixture>> = BTreeMap::new();
    for path in find_fixtures(paths)? {
        let fixture = Fixture::load(&path).map_err(Error::unusable)?;
        fixtures.entry(fixture.spec.name.clone()).or_default().push(fixture);
    }
    for name in agents::names().filter(|_| all) {
        fixtures.entry(name.to_owned()).or_default();
    }
    let (mut report, mut stale) = (Vec::new(), reasons.clone());
    for (name, fixtures) in &fixtures {
        let covered = while_waiting("exploring every reachable edge", || cover(name, fixtures, &reasons))?;
        stale.retain(|reason| !covered.missing.iter().any(|missing| reason.is_for(name, &missing.edge)));
        report.push(covered);
    }
    match as_json {
        true => out::print_json(&json!({"agents": report, "stale_reasons": stale}))?,
        false => out::print_lines(&coverage_lines(&report, &stale))?,
    }
    let is_explained = |covered: &Covered| covered.missing.iter().all(|missing| missing.reason.is_some());
    Ok((!stale.is_empty() || !report.iter().all(is_explained)).then_some(Class::Failed))
}

fn cover(agent: &str, fixtures: &[Fixture], reasons: &[Reason]) -> Result<Covered> {
    let mut taken = BTreeSet::new();
    for fixture in fixtures {
        taken.extend(fixture.taken().map_err(Error::at(format!("a fixture of {agent}")))?);
    }
    let recorded = || fixtures.first().map(|fixture| fixture.spec.clone());
    let spec = agents::shipped(agent).or_else(recorded).expect("an agent is shipped or has a fixture");
    let reachable = reachable(&spec.check().map_err(Error::at(agent))?);
    let missing = reachable.difference(&taken).map(|edge| {
        let edge = edge.to_string();
        let reason = reasons.iter().find(|reason| reason.is_for(agent, &edge));
        Missing { reason: reason.map(|reason| reason.reason.clone()), edge }
    });
    let (agent, missing) = (agent.to_owned(), missing.collect());
    Ok(Covered { agent, fixtures: fixtures.len(), reachable: reachable.len(), missing })
}

fn coverage_lines(report: &[Covered], stale: &[Reason]) -> Vec<String> {
    let mut lines = Vec::new();
    for Covered { agent, fixtures, reachable, missing } in report {
        let taken = reachable - missing.len();
        lines.push(format!(
            "{agent}: {taken} of {reachable} edges taken by {}",
            text::count(*fixtures as u64, "fixture")
        ));
        for Missing { edge, reason } in missing {
            let why = reason.as_ref().map_or_else(|| "not taken".to_owned(), |why| format!("({why})"));
            lines.push(format!("  {}", text::line(&format!("{edge}  {why}"))));
        }
    }
    lines.extend(stale.iter().map(|Reason { agent, edge, .. }| {
        text::line(&format!("{REASONS}: stale: {agent} {edge:?} is taken, or cannot be"))
    }));
    lines
}

impl Reason {
    fn is_for(&self, agent: &str, edge: &str) -> bool {
        (self.agent == "*" || self.agent == agent) && self.edge == edge
    }
}

/// Loads the reasons that stand in the folders.
fn load_reasons(paths: &[PathBuf]) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    let files = paths.iter().filter(|path| path.is_dir()).map(|folder| folder.join(REASONS));
    for file in files.filter(|file| file.exists()) {
        let shown = file.display().to_string();
        let loaded: ReasonsFile = parse_toml(&read_text(&shown, &file)?).map_err(Error::at(&shown))?;
        for Reason { agent, edge, reason } in &loaded.missing {
            if reason.trim().is_empty() {
                let problem = format!("{shown}: {agent} {edge:?}: expected a reason, found none");
                return Err(Error::unusable(problem));
            }
        }
        reasons.extend(loaded.missing);
    }
    Ok(reasons)
}
