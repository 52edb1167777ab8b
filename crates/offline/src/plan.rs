//! Planner and re-planner: the plan in JSON.
//!
//! What is looked for is [`Planner`]'s to say, who works on it is said in `agents`; here one of their
//! drafts is chosen and brought into the form that the contract wants.

use serde_json::Value;

use super::agents;
use super::duties::leave_the_subject;
use super::payload::{Payload, Rejected};
use super::planner::{CALC, Planner, is_step};
use super::question::Question;
use super::shape::{Shape, Step};
use super::text::line;
use planwright::contract::FINAL_ANSWER;
use planwright::spec::RequestFrame;

/// The reply of planner and re-planner.
///
/// # Errors
/// Where the contract wants a tool called and there is none that a rule can call.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Result<String, String> {
    let mut shape = Shape::of(frame);
    let past = payload.list("past_steps");
    shape.kept = count_kept(past);
    let calc = shape.tool(CALC).is_some();
    let mut question = Question::parse(payload.query(), calc);
    if shape.asks_people {
        let rest = Question::parse(&agents::without_asking(payload.query()), calc);
        question = Question { text: question.text, ..rest };
    }
    if !shape.agents.is_empty() || shape.offers("input_from") {
        leave_the_subject(&mut question);
    }
    let planner = Planner::new(&shape, &question, &payload.hint);
    let rejected = payload.rejected.as_deref();
    let by_tools = shape.agents.is_empty();
    let mut drafts = if by_tools { planner.drafts(rejected) } else { agents::drafts(&planner) };
    // A new plan that does nothing is none, nor is the one that was sent back.
    let new = |steps: &Vec<Step>| {
        let does_nothing = by_tools && steps.is_empty();
        rejected.is_none_or(|rejected| !(does_nothing || is_plan(rejected, steps)))
    };
    let chosen = drafts.iter().position(new).unwrap_or(0);
    if drafts.is_empty() {
        return Err("no tool of this agent can be called by rule".to_owned());
    }
    let mut steps = drafts.swap_remove(chosen);
    let mut reasoning = agents::reasoning(&question, &steps);
    if by_tools {
        if payload.repair {
            let short = planner.shortened(&steps);
            steps = if rejected.is_some_and(|rejected| is_plan(rejected, &short)) { steps } else { short };
        }
        steps = leave_out_done(steps, past, shape.least(), rejected.is_none());
        steps = steps.into_iter().map(|step| planner.describe(step)).collect();
        reasoning = question
            .say("what is asked is looked up, step by step", "묻는 내용을 하나씩 찾습니다")
            .to_owned();
    }
    let goal = if payload.repair { String::new() } else { line(&question.text, 200) };
    let goal =
        if goal.is_empty() { question.say("answer the question", "질문에 답하기") } else { &goal };
    Ok(shape.plan(goal, &reasoning, &steps).to_string())
}

fn is_plan(rejected: &[Rejected], steps: &[Step]) -> bool {
    rejected.len() == steps.len()
        && rejected.iter().zip(steps).all(|(rejected, step)| is_step(rejected, step))
}

/// How many steps stand before a new plan.
fn count_kept(past: &[Value]) -> usize {
    let index = |record: &Value| usize::try_from(record.get("step_index")?.as_u64()?).ok();
    past.iter().filter_map(index).max().map_or(past.len(), |last| last.saturating_add(1).max(past.len()))
}

/// The steps without those that are done already, where a plan is left then. Where nothing was sent
/// back and all is done, an empty plan says so.
fn leave_out_done(steps: Vec<Step>, past: &[Value], least: usize, may_be_empty: bool) -> Vec<Step> {
    let is = |record: &Value, key: &str, text: &str| record.get(key).and_then(Value::as_str) == Some(text);
    let done = |step: &Step| {
        let same = |record: &Value| {
            let asked = is(record, "tool", &step.who) && record.get("input") == step.input.as_ref();
            asked && is(record, "status", "completed")
        };
        step.who != FINAL_ANSWER && past.iter().any(same)
    };
    // A step that works on another's output needs it in the same plan.
    if steps.iter().any(|step| step.from.is_some()) {
        return steps;
    }
    let open: Vec<Step> = steps.iter().filter(|step| !done(step)).cloned().collect();
    if open.len() >= least && (!open.is_empty() || may_be_empty) { open } else { steps }
}
