//! Planner and re-planner: the plan in JSON, by tools alone or with agents.
//!
//! With agents, something is looked up first. Then comes the work that the question asks for, in the order
//! in which one kind of work follows another, and last the writer. A person is asked if the question wants
//! it.

use serde_json::Value;

use super::lexicon::{Duty, table};
use super::payload::{Payload, str_of};
use super::planner::{CALC, MAX_QUERY, Planner, is_step};
use super::question::Question;
use super::shape::Shape;
use super::terms::{query, strongest};
use super::text::line;
use planwright::contract::{HITL, PlanStep};
use planwright::spec::RequestFrame;

/// As it is asked, and in other words.
const WORDINGS: usize = 2;

/// The reply of planner and re-planner; an error if a tool must be called and none can be by rule.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Result<String, String> {
    let mut shape = Shape::of(frame);
    let past = payload.list("past_steps");
    let index = |record: &Value| usize::try_from(record.get("step_index")?.as_u64()?).ok();
    shape.kept = past.iter().filter_map(index).max().map_or(0, |last| last.saturating_add(1)).max(past.len());
    let calc = shape.tool(CALC).is_some();
    let mut question = Question::parse(payload.query(), calc);
    if shape.asks_people {
        // What only says that a person wants to be asked is not looked for.
        let clauses = payload.query().split_inclusive(['.', '!', '?', '\n', ',', ';']);
        let rest: String = clauses.filter(|clause| !asks_to_be_asked(clause)).collect();
        let rest = Question::parse(if rest.trim().is_empty() { payload.query() } else { &rest }, calc);
        question = Question { text: question.text, ..rest };
    }
    if !shape.agents.is_empty() || shape.offers("input_from") {
        question = question.without_work();
    }
    let (rejected, by_tools) = (payload.rejected.as_deref(), shape.agents.is_empty());
    // A new plan that does nothing is none, nor is the one that was sent back.
    if rejected.is_some() && !shape.ends {
        shape.least = shape.least.max(1);
    }
    let planner = Planner::new(&shape, &question);
    let mut drafts = match by_tools {
        true => planner.drafts(rejected, payload.hint),
        false => (0..WORDINGS).filter_map(|wording| planner.steps(wording)).collect(),
    };
    if drafts.is_empty() {
        return Err("no tool of this agent can be called by rule".to_owned());
    }
    let is_new = |steps: &Vec<PlanStep>| {
        let same = |one: &[PlanStep]| one.iter().zip(steps).all(|(rejected, step)| is_step(rejected, step));
        !rejected.is_some_and(|rejected| rejected.len() == steps.len() && same(rejected))
    };
    let mut steps = drafts.swap_remove(drafts.iter().position(is_new).unwrap_or(0));
    if by_tools {
        steps = leave_out_done(steps, past, shape.least);
        steps = steps.into_iter().map(|step| planner.describe(step)).collect();
    }
    let names: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
    let reasoning = match names.is_empty() {
        _ if by_tools => question.say("looked_up_step_by_step").to_owned(),
        true => question.say("nothing_to_work_on").to_owned(),
        false => question.tell("in_this_order", &line(&names.join(" → "), MAX_QUERY)),
    };
    Ok(shape.plan(&planner.question_or("answer_the_question"), &reasoning, &steps).to_string())
}

/// The steps without those that are done already, if enough of a plan is left then.
fn leave_out_done(steps: Vec<PlanStep>, past: &[Value], least: usize) -> Vec<PlanStep> {
    let done = |step: &PlanStep| {
        let asked = |record: &Value| {
            str_of(record, "tool") == step.tool && record.get("input") == step.input.as_ref()
        };
        !step.is_final() && past.iter().any(|record| asked(record) && str_of(record, "status") == "completed")
    };
    // A step that works on another's output needs it in the same plan.
    if steps.iter().any(|step| step.input_from.is_some()) {
        return steps;
    }
    let open: Vec<PlanStep> = steps.iter().filter(|step| !done(step)).cloned().collect();
    if open.len() >= least { open } else { steps }
}

fn asks_to_be_asked(text: &str) -> bool {
    table("approvals").are_in(&text.to_lowercase())
}

/// Plans with agents, in one of [`WORDINGS`].
impl<'a> Planner<'a> {
    fn steps(&self, wording: usize) -> Option<Vec<PlanStep>> {
        let mut steps = self.lookups(wording);
        let mut looked_up = steps.len();
        if steps.is_empty() && self.may_be_empty() {
            return Some(steps);
        }
        steps.extend(self.work());
        let label = self.question.say("write_the_answer");
        let write = format!("{label}: {}", line(&self.question.text, MAX_QUERY));
        steps.extend(self.agent(Duty::Writing).map(|writer| work_on(writer, write, label)));
        if steps.is_empty() {
            // No agent's duty is asked for: the first agent gets the question.
            let label = self.question.say("work_on_the_question");
            let task = self.question_or("work_on_the_question");
            steps.extend(self.shape.agents.first().map(|agent| work_on(agent, task, label)));
        }
        let mut agents =
            steps.iter_mut().rev().filter(|step| self.shape.agents.contains(&step.tool.as_str()));
        if let Some(last) = agents.next().filter(|_| wording > 0) {
            for text in [&mut last.task, &mut last.description].into_iter().flatten() {
                *text = self.question.tell("in_other_words", text);
            }
        }
        // Who writes last stays, and of what is looked up the first.
        while steps.len() > self.shape.most {
            looked_up = looked_up.saturating_sub(1);
            steps.remove(if looked_up > 0 { looked_up } else { steps.len().saturating_sub(2) });
        }
        looked_up = looked_up.min(steps.len());
        if self.shape.asks_people && asks_to_be_asked(&self.question.text) && steps.len() < self.shape.most {
            let ask = self.question.say("shall_i_go_on");
            let person =
                PlanStep { hitl_question: Some(ask.to_owned()), ..work_on(HITL, ask.to_owned(), ask) };
            steps.insert(looked_up.max(steps.len().saturating_sub(1)), person);
        }
        self.shape.fit(self.linked(steps, looked_up), self.last_words(wording))
    }

    /// What is looked up waits for nothing; the rest waits for all before it and works on the last output.
    fn linked(&self, mut steps: Vec<PlanStep>, looked_up: usize) -> Vec<PlanStep> {
        let mut last = None;
        for (at, step) in steps.iter_mut().enumerate() {
            let person = step.is_hitl();
            if at >= looked_up || person {
                step.depends_on = (0..at).map(|at| self.shape.name(at)).collect();
                step.input_from = last.clone().filter(|_| !person);
            }
            last = if person { last } else { Some(self.shape.name(at)) };
        }
        steps
    }

    fn may_be_empty(&self) -> bool {
        self.question.terms().is_empty() && self.question.expressions.is_empty() && self.shape.least == 0
    }

    fn agent(&self, duty: Duty) -> Option<&'a str> {
        let does = |name: &&&str| self.shape.tool(name).is_some_and(|agent| Duty::of(agent) == Some(duty));
        self.shape.agents.iter().find(does).copied()
    }

    fn lookups(&self, wording: usize) -> Vec<PlanStep> {
        let steps = self.rung(wording).into_iter();
        let mut steps: Vec<PlanStep> = steps.map(|step| self.describe(step)).collect();
        let calculated = self.question.parts.is_empty() && !steps.is_empty();
        let searcher = self.agent(Duty::Search);
        let needed = self.sources.is_empty() && !self.may_be_empty() && !calculated;
        if let Some(searcher) = searcher.filter(|_| needed) {
            let label = self.question.say("search");
            steps.extend(self.searches(wording).into_iter().map(|task| work_on(searcher, task, label)));
        }
        steps
    }

    /// What is searched for: each part by itself if searches need not wait for one another.
    fn searches(&self, wording: usize) -> Vec<String> {
        let (question, all) = (self.question, self.question.terms());
        let apart = self.shape.offers("depends_on") && question.parts.len() > 1;
        match wording {
            _ if all.is_empty() => vec![self.question_or("search")],
            0 if apart => question.parts.iter().map(|part| query(&part.terms, MAX_QUERY)).collect(),
            0 => vec![query(all, MAX_QUERY)],
            _ => vec![query(strongest(&all, 2), MAX_QUERY)],
        }
    }

    fn work(&self) -> Vec<PlanStep> {
        let mut asked = Duty::asked(&self.question.text);
        // An analyst compares if no one else does; without a writer the report is a document.
        for (duty, other) in [(Duty::Comparison, Duty::Analysis), (Duty::Writing, Duty::Document)] {
            if asked.contains(&duty) && self.agent(duty).is_none() {
                asked.push(other);
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let subject = query(self.question.terms(), MAX_QUERY);
        let subject = if subject.is_empty() { line(&self.question.text, MAX_QUERY) } else { subject };
        let does = |duty: Duty| {
            let agent = self.agent(duty)?;
            let noun = duty.noun(self.question.korean);
            let task = self.question.say("noun_on_subject");
            Some(work_on(agent, task.replace("{noun}", noun).replace("{subject}", &subject), noun))
        };
        asked.retain(|duty| !matches!(duty, Duty::Search | Duty::Writing));
        asked.into_iter().filter_map(does).collect()
    }

    /// The question on one line, or what is said in the place of an empty one.
    fn question_or(&self, key: &str) -> String {
        let text = line(&self.question.text, MAX_QUERY);
        if text.is_empty() { self.question.say(key).to_owned() } else { text }
    }
}

fn work_on(agent: &str, task: String, label: &str) -> PlanStep {
    let description = if task.contains(label) { task.clone() } else { format!("{label}: {task}") };
    PlanStep {
        tool: agent.to_owned(),
        task: Some(task),
        description: Some(description),
        ..PlanStep::default()
    }
}
