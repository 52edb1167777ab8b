//! The user message of each role, as one JSON object with its own key order.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ModelRequest;
use crate::contract::{Plan, ToolContract, Trust};
use crate::machine::{Asking, Phase, PlanStage, Progress, State, StepRun};
use crate::spec::{RoleName, Rules};

/// The keys a model may find in its payload, in this order; what does not apply is left out.
#[derive(Serialize)]
struct Payload<'a> {
    user_question: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    now: &'a str,
    /// The plan whose results these are, for validator and writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_results: Option<Results<'a>>,
    /// The plan that was sent back, for planner and re-planner.
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_plan: Option<&'a Plan>,
    /// The failed steps of that plan, where they sent it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_steps: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<RepairNote<'a>>,
}

#[derive(Serialize)]
struct RepairNote<'a> {
    your_reply: &'a str,
    error: String,
    instruction: &'static str,
}

/// Room for most payloads: growing into it from nothing takes as long as writing it.
const PAYLOAD_BYTES: usize = 2_048;

const REPAIR_INSTRUCTION: &str = "Your reply did not fit the contract. Reply again, with the error mended.";

/// Renders the request that a run's state asks of `role`. Pure.
///
/// ```
/// use planwright::machine::{Input, start};
/// use planwright::{agents, prompt, spec::RoleName};
///
/// let rules = agents::shipped("validated").unwrap().check()?;
/// let step = start(&rules, Input::question("12/4+9?"));
/// let request = prompt::render(&rules, &step.state, RoleName::Planner).expect("every agent has a planner");
/// assert_eq!(request.payload, r#"{"user_question":"12/4+9?"}"#);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
///
/// Returns `None` where the agent does not have the role.
pub fn render(rules: &Rules, state: &State, role: RoleName) -> Option<ModelRequest> {
    let frame = rules.frame(role)?.clone();
    let task = &state.task;
    let plans = matches!(role, RoleName::Planner | RoleName::Replanner);
    let current = task.progress.as_ref().filter(|_| !plans);
    let rejected = task.feedback.as_ref().filter(|_| plans);
    let past = rejected.and_then(|_| task.artifacts.past.last());
    let payload = Payload {
        user_question: &task.input.question,
        now: &task.input.now,
        plan: current.map(|progress| &*progress.plan),
        tool_results: current.map(|progress| Results { rules, progress, only_failed: false }),
        rejected_plan: past.map(|past| &*past.plan),
        failed_steps: past.filter(|past| past.verdict_asks == 0).map(|progress| Results {
            rules,
            progress,
            only_failed: true,
        }),
        rejected_because: rejected.map(|feedback| feedback.reason.as_str()),
        fix_hint: rejected.map(|feedback| feedback.fix_hint.trim()).filter(|hint| !hint.is_empty()),
        repair: repair(&state.phase),
    };
    let mut text = Vec::with_capacity(PAYLOAD_BYTES);
    serde_json::to_writer(&mut text, &payload).expect("a payload has text keys only");
    let payload = String::from_utf8(text).expect("JSON is UTF-8");
    Some(ModelRequest { frame, payload, conversation: Vec::new() })
}

fn repair(phase: &Phase) -> Option<RepairNote<'_>> {
    let asking: &Asking = match phase {
        Phase::Plan(PlanStage::Drafting(asking)) | Phase::Validate(asking) => asking,
        Phase::Write(writing) => &writing.asking,
        Phase::Execute(_) | Phase::Done | Phase::Error => return None,
    };
    let repair = asking.repair.as_ref()?;
    Some(RepairNote {
        your_reply: &repair.reply,
        error: repair.error.to_string(),
        instruction: REPAIR_INSTRUCTION,
    })
}

/// The results of a plan, as records `{step_index, tool, input, status, trust?, output}`.
struct Results<'a> {
    rules: &'a Rules,
    progress: &'a Progress,
    only_failed: bool,
}

#[derive(Serialize)]
struct ResultRecord<'a> {
    step_index: usize,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_from: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    output: &'a str,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        let steps = self.progress.plan.steps.iter().zip(&self.progress.steps).enumerate();
        let mut list = sink.serialize_seq(None)?;
        for (step_index, (step, run)) in steps {
            let Some(output) = run.output() else { continue };
            if self.only_failed && !matches!(run, StepRun::Failed { .. }) {
                continue;
            }
            list.serialize_element(&ResultRecord {
                step_index,
                tool: &step.tool,
                input: step.input.as_ref(),
                input_from: step.input_from.as_deref(),
                status: StepRun::status(run),
                trust: self.rules.tool(&step.tool).map(|tool: &ToolContract| tool.trust),
                output,
            })?;
        }
        list.end()
    }
}
