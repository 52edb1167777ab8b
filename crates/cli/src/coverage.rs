//! `coverage`: which edges of each agent's machine no fixture takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::args::CoverageArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::screen::while_waiting;
use super::{agent, out, replay, text};
use planwright::agents;
use planwright::journal::Fixture;
use planwright::machine::explore::coverage::{Taken, reachable};
use planwright::spec::Spec;

/// The file beside the fixtures that says why an edge is not taken.
const REASONS: &str = "coverage.toml";

/// What the fixtures of one agent take.
struct Covered {
    agent: String,
    fixtures: usize,
    reachable: usize,
    /// Edges that no fixture takes, with the reason where one is stated.
    missing: Vec<(Taken, Option<String>)>,
}

pub fn coverage(args: &CoverageArgs) -> Outcome<Exit> {
    let reasons = Reasons::read(&args.paths)?;
    let mut fixtures: BTreeMap<String, Vec<Fixture>> = BTreeMap::new();
    for path in replay::files(&args.paths)? {
        let fixture = Fixture::load(&path).map_err(Failure::unusable)?;
        fixtures.entry(fixture.spec.name.clone()).or_default().push(fixture);
    }
    if args.all {
        for name in agents::names() {
            fixtures.entry(name.to_owned()).or_default();
        }
    }
    let mut report = Vec::new();
    let mut stale = reasons.0.clone();
    for (name, fixtures) in &fixtures {
        let covered = while_waiting("exploring every reachable edge", || cover(name, fixtures, &reasons))?;
        let used = |reason: &Reason| covered.missing.iter().any(|(edge, _)| reason.is_for(name, edge));
        stale.retain(|reason| !used(reason));
        report.push(covered);
    }
    match args.json {
        true => out::print_json(&object(&report, &stale))?,
        false => out::print(&(lines(&report, &stale).join("\n") + "\n"))?,
    }
    let unexplained = report.iter().flat_map(|covered| &covered.missing).any(|(_, why)| why.is_none());
    Ok(if unexplained || !stale.is_empty() { Exit::Failed } else { Exit::Done })
}

fn cover(name: &str, fixtures: &[Fixture], reasons: &Reasons) -> Outcome<Covered> {
    let mut taken = BTreeSet::new();
    for fixture in fixtures {
        let problem = |error| Failure::unusable(format!("a fixture of {name}: {error}"));
        taken.extend(fixture.taken().map_err(problem)?);
    }
    let recorded = fixtures.first().map(|fixture| fixture.spec.clone());
    let Some(spec): Option<Spec> = agents::shipped(name).or(recorded) else {
        return Err(Failure::unusable(format!("no agent is called {name:?}")));
    };
    let reachable = reachable(&agent::rules(name, spec)?);
    let missing = reachable.difference(&taken).cloned();
    let missing = missing.map(|edge| (edge.clone(), reasons.of(name, &edge))).collect();
    Ok(Covered { agent: name.to_owned(), fixtures: fixtures.len(), reachable: reachable.len(), missing })
}

fn lines(report: &[Covered], stale: &[Reason]) -> Vec<String> {
    let mut lines = Vec::new();
    for covered in report {
        let Covered { agent, fixtures, reachable, missing } = covered;
        let taken = reachable - missing.len();
        lines.push(format!("{agent}: {taken} of {reachable} edges taken by {fixtures} fixtures"));
        for (edge, why) in missing {
            let why = why.as_ref().map_or_else(|| "not taken".to_owned(), |why| format!("({why})"));
            lines.push(format!("  {}", text::line(&format!("{edge}  {why}"))));
        }
    }
    for reason in stale {
        let said = format!("{REASONS}: stale: {} {:?} is taken, or cannot be", reason.agent, reason.edge);
        lines.push(text::line(&said));
    }
    lines
}

fn object(report: &[Covered], stale: &[Reason]) -> Value {
    let edge = |(edge, why): &(Taken, Option<String>)| json!({"edge": edge.to_string(), "reason": why});
    let agents: Vec<Value> = report
        .iter()
        .map(|covered| {
            json!({
                "agent": covered.agent, "fixtures": covered.fixtures, "reachable": covered.reachable,
                "missing": covered.missing.iter().map(edge).collect::<Vec<Value>>(),
            })
        })
        .collect();
    let stale: Vec<Value> =
        stale.iter().map(|reason| json!({"agent": reason.agent, "edge": reason.edge})).collect();
    json!({"agents": agents, "stale_reasons": stale})
}

/// Why edges are not taken.
struct Reasons(Vec<Reason>);

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

impl Reason {
    fn is_for(&self, agent: &str, edge: &Taken) -> bool {
        (self.agent == "*" || self.agent == agent) && self.edge == edge.to_string()
    }
}

impl Reasons {
    /// Reads the reasons that stand in the folders.
    fn read(paths: &[PathBuf]) -> Outcome<Self> {
        let mut reasons = Vec::new();
        for file in paths.iter().filter(|path| path.is_dir()).map(|folder| folder.join(REASONS)) {
            if file.exists() {
                reasons.extend(Reasons::load(&file)?.missing);
            }
        }
        Ok(Reasons(reasons))
    }

    fn load(file: &Path) -> Outcome<ReasonsFile> {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::caused(format!("{shown}: cannot be read"), error))?;
        let file: ReasonsFile =
            toml::from_str(&text).map_err(|error| Failure::unusable(format!("{shown}: {error}")))?;
        match file.missing.iter().find(|missing| missing.reason.trim().is_empty()) {
            Some(Reason { agent, edge, .. }) => {
                Err(Failure::unusable(format!("{shown}: {agent} {edge:?}: expected a reason, found none")))
            }
            None => Ok(file),
        }
    }

    fn of(&self, agent: &str, edge: &Taken) -> Option<String> {
        let found = self.0.iter().find(|reason| reason.is_for(agent, edge));
        found.map(|reason| reason.reason.clone())
    }
}
