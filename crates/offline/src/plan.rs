//! Planner and re-planner: the plan in JSON.
//!
//! What is looked for is [`Planner`]'s to say; here a plan is brought into the form that the contract
//! wants. A plan with agents is made in `members`.

use serde_json::Value;

use super::duties::leave_the_subject;
use super::members;
use super::planner::Planner;
use super::question::Question;
use super::request::Payload;
use super::shape::{Entry, Shape};
use super::text::line;
use planwright::contract::FINAL_ANSWER;
use planwright::spec::RequestFrame;

/// One step of a plan.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub tool: String,
    pub input: Value,
    /// The step of this plan whose output is the input.
    pub from: Option<usize>,
}

/// Steps that ask the same are equal, whichever step feeds them.
impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.tool == other.tool && self.input == other.input && self.from.is_some() == other.from.is_some()
    }
}

/// The reply of planner and re-planner.
///
/// # Errors
/// Where the contract wants a tool called and there is none that a rule can call.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Result<String, String> {
    let mut shape = Shape::of(frame);
    shape.kept = kept(payload.past());
    let mut question = Question::read(payload.query(), shape.tool("calc").is_some());
    if shape.asks_people {
        let text = std::mem::take(&mut question.text);
        question = Question {
            text,
            ..Question::read(&members::without_asking(payload.query()), shape.tool("calc").is_some())
        };
    }
    if !shape.agents.is_empty() || shape.offers("input_from") {
        leave_the_subject(&mut question);
    }
    let planner = Planner::new(&shape, &question, &payload.hint);
    let rejected = payload.rejected.as_deref();
    let none = "no tool of this agent can be called by rule";
    let goal = if payload.repair { String::new() } else { line(&question.text, 200) };
    let goal = if goal.is_empty() {
        question.say("answer the question", "질문에 답하기").to_owned()
    } else {
        goal
    };
    if !shape.agents.is_empty() {
        let entries = members::plan(&planner, rejected).ok_or(none)?;
        return Ok(shape.plan(&goal, &members::reasoning(&question, &entries), &entries).to_string());
    }
    let mut steps = planner.plan(rejected).ok_or(none)?;
    // A new plan that does nothing is none.
    if let Some(rejected) = rejected.filter(|_| steps.is_empty()) {
        let any = planner.anything();
        steps = if any == rejected { planner.varied(any) } else { any };
    }
    if payload.repair {
        let short = planner.shortened(&steps);
        if rejected != Some(&short[..]) {
            steps = short;
        }
    }
    let steps = not_done(steps, payload.past(), shape.least(), rejected.is_none());
    let entries: Vec<Entry> = steps.iter().map(|step| planner.entry(step)).collect();
    let reasoning = question.say("what is asked is looked up, step by step", "묻는 내용을 하나씩 찾습니다");
    Ok(shape.plan(&goal, reasoning, &entries).to_string())
}

/// How many steps stand before a new plan.
fn kept(past: &[Value]) -> usize {
    let index = |record: &Value| usize::try_from(record.get("step_index")?.as_u64()?).ok();
    past.iter().filter_map(index).max().map_or(past.len(), |last| last.saturating_add(1).max(past.len()))
}

/// The steps without those that are done already, where a plan is left then. Where nothing was sent
/// back and all is done, an empty plan says so.
fn not_done(steps: Vec<Step>, past: &[Value], least: usize, may_be_empty: bool) -> Vec<Step> {
    let text =
        |record: &Value, key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let done = |step: &Step| {
        let same = |record: &Value| {
            text(record, "tool") == step.tool
                && record.get("input") == Some(&step.input)
                && text(record, "status") == "completed"
        };
        step.from.is_none() && step.tool != FINAL_ANSWER && past.iter().any(same)
    };
    // A step that works on another's output needs it in the same plan.
    if steps.iter().any(|step| step.from.is_some()) {
        return steps;
    }
    let open: Vec<Step> = steps.iter().filter(|step| !done(step)).cloned().collect();
    if open.len() >= least && (!open.is_empty() || may_be_empty) { open } else { steps }
}
