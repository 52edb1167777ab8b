//! What an orchestrator is shown of a plan under way: what each agent found, in short, and what remains.

use serde::Serialize;
use serde_json::Value;

use crate::machine::{Progress, StepRun};
use crate::spec::CompiledSpec;

/// One finished step of an agent.
#[derive(Serialize)]
pub(super) struct Situation<'a> {
    agent: &'a str,
    status: &'static str,
    /// How many results, insights or documents it gave.
    results: usize,
    #[serde(skip_serializing_if = "str::is_empty")]
    output_begins: &'a str,
}

/// How much of an output is shown, in characters.
const SHOWN_CHARS: usize = 600;

impl<'a> Situation<'a> {
    pub fn of(rules: &CompiledSpec, progress: &'a Progress) -> Vec<Self> {
        let steps = progress.plan.steps.iter().zip(&progress.steps);
        let steps = steps.filter(|(planned, _)| rules.plan().agent(&planned.tool).is_some());
        let finished = steps.filter(|(_, run)| run.is_finished() && run.output().is_some());
        let situation = finished.map(|(planned, run)| {
            let output = run.output().unwrap_or_default();
            let results = match run {
                StepRun::Completed { .. } => count(output, run.sources().len()),
                _ => 0,
            };
            Situation {
                agent: &planned.tool,
                status: run.status(),
                results,
                output_begins: beginning(output),
            }
        });
        situation.collect()
    }

    pub fn completed(situations: &[Self]) -> Vec<&'a str> {
        situations.iter().filter(|one| one.status == "completed").map(|one| one.agent).collect()
    }
}

/// One step that has not begun.
#[derive(Serialize)]
pub(super) struct Remaining<'a> {
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

impl<'a> Remaining<'a> {
    pub fn of(progress: &'a Progress) -> Vec<Self> {
        let steps = progress.plan.steps.iter().zip(&progress.steps);
        let pending = steps.filter(|(planned, run)| **run == StepRun::Pending && !planned.is_final());
        let remaining = pending.map(|(planned, _)| Remaining {
            agent: &planned.tool,
            task: planned.task.as_deref(),
            description: planned.description.as_deref(),
        });
        remaining.collect()
    }
}

fn beginning(text: &str) -> &str {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// How many results a text holds: the entries of a JSON list, on its own or under one of the usual
/// names; else the points of a list in words; else as many as it has sources; else one, unless it is
/// empty.
fn count(output: &str, sources: usize) -> usize {
    let text = output.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let named = ["results", "items", "insights", "documents", "passages"];
        let list = value.as_array().or_else(|| named.iter().find_map(|name| value.get(name)?.as_array()));
        if let Some(list) = list {
            return list.len();
        }
    }
    let points = text.lines().filter(|line| is_point(line.trim_start())).count();
    match (points, sources) {
        (0, 0) => usize::from(!text.is_empty()),
        (0, sources) => sources,
        (points, _) => points,
    }
}

fn is_point(line: &str) -> bool {
    let marked = ["- ", "* ", "• ", "· "].iter().any(|mark| line.starts_with(mark));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    marked || (rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") ")))
}
