//! Steps and their results, as models are shown them.

use std::borrow::Cow;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::contract::{Source, Trust};
use crate::machine::{Progress, State, StepRun, Task};
use crate::spec::CompiledSpec;

/// How much of an output an orchestrator is shown, in characters.
const BEGINNING_CHARS: usize = 600;

/// The tool of a step and its input: the plan's own, or an earlier step's output. `None` if the run has no
/// such step, or that output is not there yet.
pub(super) fn tool_call(state: &State, step: u32) -> Option<(&str, Cow<'_, Value>)> {
    let progress = state.task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let input = match (&planned.input, &planned.input_from) {
        (Some(input), _) => Cow::Borrowed(input),
        (None, Some(_)) => {
            let source = (*progress.schedule.links.inputs.get(step as usize)?)?;
            Cow::Owned(Value::String(progress.output(source)?.to_owned()))
        }
        (None, None) => return None,
    };
    Some((&planned.tool, input))
}

/// The results of a plan, as records `{step_index, tool, input, status, trust?, output, sources?}`.
pub(super) struct Results<'a> {
    rules: &'a CompiledSpec,
    progress: &'a Progress,
    shown: Shown,
}

/// Which results are shown.
pub(super) enum Shown {
    All,
    /// All, with their ids, for a plan that may refer to them.
    Named,
    Failed,
    /// Those at these positions, ascending.
    At(Vec<u32>),
}

impl<'a> Results<'a> {
    pub fn new(rules: &'a CompiledSpec, progress: &'a Progress, shown: Shown) -> Self {
        Results { rules, progress, shown }
    }
}

#[derive(Serialize)]
struct ResultRecord<'a> {
    step_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    output: Cow<'a, str>,
    #[serde(skip_serializing_if = "<[Source]>::is_empty")]
    sources: &'a [Source],
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        let steps = self.progress.plan.steps.iter().zip(&self.progress.steps).enumerate();
        let mut list = sink.serialize_seq(None)?;
        for (step_index, (step, run)) in steps {
            let is_shown = match &self.shown {
                Shown::All | Shown::Named => true,
                Shown::Failed => matches!(run, StepRun::Failed { .. }),
                Shown::At(steps) => steps.binary_search(&(step_index as u32)).is_ok(),
            };
            let Some(output) = output(self.progress, run).filter(|_| is_shown) else { continue };
            list.serialize_element(&ResultRecord {
                step_index,
                id: matches!(self.shown, Shown::Named).then(|| step.name(step_index)),
                tool: &step.tool,
                input: step.input.as_ref(),
                input_from: step.input_from.as_deref(),
                task: step.task.as_deref(),
                question: step.is_hitl().then(|| step.question()),
                status: run.status(),
                trust: self.rules.tool(&step.tool).map(|tool| tool.trust),
                output,
                sources: run.sources(),
            })?;
        }
        list.end()
    }
}

/// The output of a step as a model is shown it, if there is anything to show.
pub(super) fn output<'a>(progress: &Progress, run: &'a StepRun) -> Option<Cow<'a, str>> {
    if let StepRun::Skipped { same_as: Some(same) } = run {
        let name = progress.plan.steps.get(*same as usize)?.name(*same as usize);
        return Some(format!("(skipped: the same call as {name})").into());
    }
    run.output().map(Cow::Borrowed)
}

/// The parts of the outline that results come from, and the other parts; nothing in a run without an outline.
pub(super) fn parts(task: &Task) -> (Option<Vec<&str>>, Option<Vec<&str>>) {
    if task.input.outline.is_empty() {
        return (None, None);
    }
    let (explored, unexplored) = crate::machine::explored(task);
    (Some(explored), Some(unexplored))
}

/// A finished step of an agent, as an orchestrator is shown it.
#[derive(Serialize)]
pub(super) struct Situation<'a> {
    pub agent: &'a str,
    pub status: &'static str,
    /// How many results, insights or documents it gave.
    results: usize,
    #[serde(skip_serializing_if = "str::is_empty")]
    output_begins: &'a str,
}

/// The finished steps of agents.
pub(super) fn situation<'a>(rules: &CompiledSpec, progress: &'a Progress) -> Vec<Situation<'a>> {
    let steps = progress.plan.steps.iter().zip(&progress.steps);
    let steps = steps.filter(|(planned, run)| {
        rules.plan().agent(&planned.tool).is_some() && run.is_finished() && run.output().is_some()
    });
    let situation = steps.map(|(planned, run)| {
        let output = run.output().unwrap_or_default();
        let is_completed = matches!(run, StepRun::Completed { .. });
        let results = if is_completed { count_results(output, run.sources().len()) } else { 0 };
        let end = output.char_indices().nth(BEGINNING_CHARS).map_or(output.len(), |(end, _)| end);
        Situation { agent: &planned.tool, status: run.status(), results, output_begins: &output[..end] }
    });
    situation.collect()
}

/// A step that has not begun, as an orchestrator is shown it.
#[derive(Serialize)]
pub(super) struct Remaining<'a> {
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

/// The steps that have not begun.
pub(super) fn remaining(progress: &Progress) -> Vec<Remaining<'_>> {
    let steps = progress.plan.steps.iter().zip(&progress.steps);
    let pending = steps.filter(|(planned, run)| **run == StepRun::Pending && !planned.is_final());
    let remaining = pending.map(|(planned, _)| Remaining {
        agent: &planned.tool,
        task: planned.task.as_deref(),
        description: planned.description.as_deref(),
    });
    remaining.collect()
}

/// How many results a text holds: the entries of a JSON list, on its own or under one of the usual names;
/// else the points of a list in words; else the number of its sources; else one, unless it is empty.
fn count_results(output: &str, sources: usize) -> usize {
    let text = output.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let names = ["results", "items", "insights", "documents", "passages"];
        let list = value.as_array().or_else(|| names.iter().find_map(|name| value.get(name)?.as_array()));
        if let Some(list) = list {
            return list.len();
        }
    }
    match (text.lines().filter(|line| is_point(line.trim_start())).count(), sources) {
        (0, 0) => usize::from(!text.is_empty()),
        (0, sources) => sources,
        (points, _) => points,
    }
}

fn is_point(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    is_numbered || ["- ", "* ", "• ", "· "].iter().any(|mark| line.starts_with(mark))
}
