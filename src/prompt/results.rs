//! The results of a plan, as records `{step_index, tool, input, status, trust?, output, sources?}`.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::contract::{Source, Trust};
use crate::machine::{Progress, StepRun, Task};
use crate::spec::CompiledSpec;

/// Which results of a plan.
pub(super) struct Results<'a> {
    rules: &'a CompiledSpec,
    progress: &'a Progress,
    shown: Shown,
    /// Whether each is shown with its id, for a plan that may refer to it.
    named: bool,
}

enum Shown {
    All,
    Failed,
    /// Those at these positions.
    Only(Vec<u32>),
}

impl<'a> Results<'a> {
    pub fn all(rules: &'a CompiledSpec, progress: &'a Progress) -> Self {
        Results { rules, progress, shown: Shown::All, named: false }
    }

    pub fn named(rules: &'a CompiledSpec, progress: &'a Progress) -> Self {
        Results { named: true, ..Results::all(rules, progress) }
    }

    pub fn failed(rules: &'a CompiledSpec, progress: &'a Progress) -> Self {
        Results { shown: Shown::Failed, ..Results::all(rules, progress) }
    }

    pub fn only(rules: &'a CompiledSpec, progress: &'a Progress, steps: Vec<u32>) -> Self {
        Results { shown: Shown::Only(steps), ..Results::all(rules, progress) }
    }

    fn shows(&self, at: usize, run: &StepRun) -> bool {
        match &self.shown {
            Shown::All => true,
            Shown::Failed => matches!(run, StepRun::Failed { .. }),
            Shown::Only(steps) => steps.binary_search(&(at as u32)).is_ok(),
        }
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
    output: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "<[Source]>::is_empty")]
    sources: &'a [Source],
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        let steps = self.progress.plan.steps.iter().zip(&self.progress.steps).enumerate();
        let mut list = sink.serialize_seq(None)?;
        for (step_index, (step, run)) in steps {
            let Some(output) = output(self.progress, run) else { continue };
            if !self.shows(step_index, run) {
                continue;
            }
            list.serialize_element(&ResultRecord {
                step_index,
                id: self.named.then(|| step.name(step_index)),
                tool: &step.tool,
                input: step.input.as_ref(),
                input_from: step.input_from.as_deref(),
                task: step.task.as_deref(),
                question: step.is_hitl().then(|| step.question()),
                status: StepRun::status(run),
                trust: self.rules.tool(&step.tool).map(|tool| tool.trust),
                output,
                sources: run.sources(),
            })?;
        }
        list.end()
    }
}

/// What a model is shown as the output of a step; none where there is nothing to show.
pub(super) fn output<'a>(progress: &Progress, run: &'a StepRun) -> Option<std::borrow::Cow<'a, str>> {
    if let StepRun::Skipped { same_as: Some(same) } = run {
        let name = progress.plan.steps.get(*same as usize)?.name(*same as usize);
        return Some(format!("(skipped: the same call as {name})").into());
    }
    run.output().map(std::borrow::Cow::Borrowed)
}

/// The parts of the outline that the results come from, and those that none comes from; nothing where
/// the run has no outline.
pub(super) fn parts(task: &Task) -> (Option<Vec<&str>>, Option<Vec<&str>>) {
    let outline = &task.input.outline;
    if outline.is_empty() {
        return (None, None);
    }
    let (explored, unexplored) = crate::machine::explored(task);
    (Some(explored), Some(unexplored))
}
