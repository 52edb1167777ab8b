//! `coverage`: which edges of each agent's machine no fixture takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::CoverageArgs;
use crate::out::Exit;
use crate::replay::find_fixtures;
use crate::screen::while_waiting;
use crate::{out, text};
use planwright::agents;
use planwright::journal::Fixture;
use planwright::machine::explore::reachable;
use planwright_app::{Class, Error, Result, read_text};

/// The file beside the fixtures that says why an edge is not taken.
const REASONS: &str = "coverage.toml";

/// What the fixtures of one agent take.
struct Covered {
    agent: String,
    fixtures: usize,
    reachable: usize,
    /// Edges that no fixture takes, with the reason where one is stated.
    missing: Vec<(String, Option<String>)>,
}

/// Why an edge is not taken.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// The agent, or `*` for any.
    agent: String,
    /// The edge as it is listed.
    edge: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReasonsFile {
    #[serde(default)]
    missing: Vec<Reason>,
}

pub fn coverage(args: &CoverageArgs) -> Result<Exit> {
    let reasons = load_reasons(&args.paths)?;
    let mut fixtures: BTreeMap<String, Vec<Fixture>> = BTreeMap::new();
    for path in find_fixtures(&args.paths)? {
        let fixture = Fixture::load(&path).map_err(Error::unusable)?;
        fixtures.entry(fixture.spec.name.clone()).or_default().push(fixture);
    }
    if args.all {
        for name in agents::names() {
            fixtures.entry(name.to_owned()).or_default();
        }
    }
    let mut report = Vec::new();
    let mut stale = reasons.clone();
    for (name, fixtures) in &fixtures {
        let covered = while_waiting("exploring every reachable edge", || cover(name, fixtures, &reasons))?;
        stale.retain(|reason| !covered.missing.iter().any(|(edge, _)| reason.is_for(name, edge)));
        report.push(covered);
    }
    match args.json {
        true => out::print_json(&report_json(&report, &stale))?,
        false => out::print_lines(&report_lines(&report, &stale))?,
    }
    let unexplained = report.iter().flat_map(|covered| &covered.missing).any(|(_, why)| why.is_none());
    Ok(if unexplained || !stale.is_empty() { Exit::Of(Class::Failed) } else { Exit::Done })
}

fn cover(name: &str, fixtures: &[Fixture], reasons: &[Reason]) -> Result<Covered> {
    let mut taken = BTreeSet::new();
    for fixture in fixtures {
        taken.extend(fixture.taken().map_err(Error::at(format!("a fixture of {name}")))?);
    }
    let recorded = || fixtures.first().map(|fixture| fixture.spec.clone());
    let spec = agents::shipped(name).or_else(recorded).expect("an agent is shipped or has a fixture");
    let reachable = reachable(&spec.check().map_err(Error::at(name))?);
    let missing = reachable.difference(&taken).map(|edge| {
        let edge = edge.to_string();
        let reason = reasons.iter().find(|reason| reason.is_for(name, &edge));
        (edge, reason.map(|reason| reason.reason.clone()))
    });
    let (agent, missing) = (name.to_owned(), missing.collect());
    Ok(Covered { agent, fixtures: fixtures.len(), reachable: reachable.len(), missing })
}

fn report_lines(report: &[Covered], stale: &[Reason]) -> Vec<String> {
    let mut lines = Vec::new();
    for Covered { agent, fixtures, reachable, missing } in report {
        let taken = reachable - missing.len();
        lines.push(format!("{agent}: {taken} of {reachable} edges taken by {fixtures} fixtures"));
        for (edge, why) in missing {
            let why = why.as_ref().map_or_else(|| "not taken".to_owned(), |why| format!("({why})"));
            lines.push(format!("  {}", text::line(&format!("{edge}  {why}"))));
        }
    }
    lines.extend(stale.iter().map(|Reason { agent, edge, .. }| {
        text::line(&format!("{REASONS}: stale: {agent} {edge:?} is taken, or cannot be"))
    }));
    lines
}

fn report_json(report: &[Covered], stale: &[Reason]) -> Value {
    let agent = |Covered { agent, fixtures, reachable, missing }: &Covered| {
        let missing = missing.iter().map(|(edge, why)| json!({"edge": edge, "reason": why}));
        let missing: Value = missing.collect();
        json!({"agent": agent, "fixtures": fixtures, "reachable": reachable, "missing": missing})
    };
    let stale = stale.iter().map(|reason| json!({"agent": reason.agent, "edge": reason.edge}));
    json!({
        "agents": report.iter().map(agent).collect::<Value>(),
        "stale_reasons": stale.collect::<Value>(),
    })
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
        let text = read_text(&shown, &file)?;
        let loaded: ReasonsFile = toml::from_str(&text).map_err(Error::at(&shown))?;
        if let Some(empty) = loaded.missing.iter().find(|missing| missing.reason.trim().is_empty()) {
            let Reason { agent, edge, .. } = empty;
            let problem = format!("{shown}: {agent} {edge:?}: expected a reason, found none");
            return Err(Error::unusable(problem));
        }
        reasons.extend(loaded.missing);
    }
    Ok(reasons)
}
