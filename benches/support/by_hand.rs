//! The benchmarked run as a loop written by hand: a `match` over phases, typed replies read by serde_json,
//! the checks a careful developer would make, the same trace lines. No effects, no ids, no
//! refusals, no journal: it cannot be interrupted, resumed or replayed.

use planwright::spec::RoleName;
use serde::Deserialize;

use super::{MAX_REPLANS, Replies, TOOLS};

const FINAL: &str = "final_answer";
const MAX_STEPS: usize = 6;

#[derive(Deserialize)]
pub struct Plan {
    pub goal: String,
    pub steps: Vec<PlannedStep>,
}

#[derive(Clone, Deserialize)]
pub struct PlannedStep {
    pub tool: String,
    pub input: String,
}

#[derive(Clone, Deserialize)]
pub struct Verdict {
    pub ok: bool,
    pub reason: String,
    pub fix_hint: String,
}

pub struct StepResult {
    pub step_index: usize,
    pub tool: String,
    pub input: String,
    pub output: String,
}

pub enum TraceLine {
    Plan { ok: bool, used_replan_planner: bool, steps: Option<Vec<PlannedStep>>, error: Option<String> },
    Execute { ok: bool, num_results: usize },
    Validate { ok: bool, verdict: Option<Verdict>, error: Option<String> },
    ReplanTrigger { replan_count: u32, reason: String, fix_hint: String },
    Write { ok: bool, final_chars: Option<usize> },
}

enum Phase {
    Plan,
    Execute,
    Validate,
    Write,
    Done,
    Error,
}

/// A run that ended.
#[derive(Default)]
pub struct Ended {
    pub question: String,
    pub plan: Option<Plan>,
    pub results: Vec<StepResult>,
    pub hint: Option<String>,
    pub replans: u32,
    pub answer: Option<String>,
    pub error: Option<String>,
    pub trace: Vec<TraceLine>,
}

pub fn run(question: &str, replies: &mut Replies) -> Ended {
    let mut run = Ended { question: question.to_owned(), ..Ended::default() };
    let mut phase = Phase::Plan;
    loop {
        phase = match phase {
            Phase::Plan => plan(&mut run, replies),
            Phase::Execute => execute(&mut run, replies),
            Phase::Validate => validate(&mut run, replies),
            Phase::Write => write(&mut run, replies),
            Phase::Done | Phase::Error => return run,
        };
    }
}

fn plan(run: &mut Ended, replies: &mut Replies) -> Phase {
    let used_replan_planner = run.hint.as_ref().is_some_and(|hint| !hint.is_empty());
    let role = if used_replan_planner { RoleName::Replanner } else { RoleName::Planner };
    let text = replies.model(role);
    let read = serde_json::from_str::<Plan>(&text).map_err(|error| error.to_string());
    match read.and_then(checked) {
        Ok(plan) => {
            let steps = Some(plan.steps.clone());
            run.trace.push(TraceLine::Plan { ok: true, used_replan_planner, steps, error: None });
            run.plan = Some(plan);
            run.results.clear();
            Phase::Execute
        }
        Err(problem) => {
            let error = Some(format!("PLAN_ERROR: {problem}"));
            run.trace.push(TraceLine::Plan {
                ok: false,
                used_replan_planner,
                steps: None,
                error: error.clone(),
            });
            run.error = error;
            Phase::Error
        }
    }
}

fn checked(plan: Plan) -> Result<Plan, String> {
    if plan.steps.is_empty() || plan.steps.len() > MAX_STEPS {
        return Err(format!("expected 1 to {MAX_STEPS} steps, found {}", plan.steps.len()));
    }
    for (at, step) in plan.steps.iter().enumerate() {
        let last = at + 1 == plan.steps.len();
        if last != (step.tool == FINAL) {
            return Err(format!("step {}: expected {FINAL} as the last step only", at + 1));
        }
        if !last && !TOOLS.contains(&step.tool.as_str()) {
            return Err(format!("step {}: unknown tool {:?}", at + 1, step.tool));
        }
        if step.input.is_empty() {
            return Err(format!("step {}: expected an input", at + 1));
        }
    }
    Ok(plan)
}

fn execute(run: &mut Ended, replies: &mut Replies) -> Phase {
    let Some(plan) = &run.plan else { return Phase::Error };
    for (step_index, step) in plan.steps.iter().enumerate() {
        let output = match step.tool == FINAL {
            true => "(final step - no tool execution)".to_owned(),
            false => replies.tool(step_index),
        };
        let (tool, input) = (step.tool.clone(), step.input.clone());
        run.results.push(StepResult { step_index, tool, input, output });
    }
    run.trace.push(TraceLine::Execute { ok: true, num_results: run.results.len() });
    Phase::Validate
}

fn validate(run: &mut Ended, replies: &mut Replies) -> Phase {
    let text = replies.model(RoleName::Validator);
    let verdict = match serde_json::from_str::<Verdict>(&text) {
        Ok(verdict) => verdict,
        Err(problem) => {
            let error = Some(format!("VALIDATE_ERROR: {problem}"));
            run.trace.push(TraceLine::Validate { ok: false, verdict: None, error: error.clone() });
            run.error = error;
            return Phase::Error;
        }
    };
    run.trace.push(TraceLine::Validate { ok: true, verdict: Some(verdict.clone()), error: None });
    if verdict.ok {
        return Phase::Write;
    }
    if run.replans == MAX_REPLANS {
        run.error = Some(format!("VALIDATION_FAILED_MAX_REPLANS: {}", verdict.reason));
        return Phase::Error;
    }
    run.replans += 1;
    let Verdict { reason, fix_hint, .. } = verdict;
    run.hint = Some(fix_hint.clone());
    run.trace.push(TraceLine::ReplanTrigger { replan_count: run.replans, reason, fix_hint });
    Phase::Plan
}

fn write(run: &mut Ended, replies: &mut Replies) -> Phase {
    let text = replies.model(RoleName::Writer);
    let answer = text.trim().to_owned();
    if answer.is_empty() {
        run.error = Some("WRITE_ERROR: expected an answer, found nothing".to_owned());
        run.trace.push(TraceLine::Write { ok: false, final_chars: None });
        return Phase::Error;
    }
    run.trace.push(TraceLine::Write { ok: true, final_chars: Some(answer.chars().count()) });
    run.answer = Some(answer);
    Phase::Done
}
