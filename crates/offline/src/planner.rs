//! What is looked for, and where.
//!
//! Arithmetic goes to `calc`, everything else to the user's own documents if there are any, one step for
//! each thing asked. A plan that was sent back is followed by the next rung of a ladder: single words and the
//! other tools, then a more general word. A tool that writes is never planned, and what a hint says is only
//! looked for in tools that touch nothing outside.

use serde_json::Value;

use super::lexicon::{Duty, table};
use super::payload::as_text;
use super::question::Question;
use super::shape::{Shape, call, each_once};
use super::terms::{Term, Vocabulary, hinted, query, strongest};
use super::text::{clean, line};
use planwright::contract::{FINAL_ANSWER, PlanStep, ToolContract, ToolEffect};

const MAX_QUERY_TERMS: usize = 8;
/// Most characters of a query.
pub(super) const MAX_QUERY: usize = 200;
const MAX_INPUT: usize = 300;
/// Most single words, and most other tools, that one plan asks.
const MAX_SINGLE: usize = 3;
const RUNGS: usize = 3;
/// The rung that asks the same in other words.
const OTHER_WORDS: usize = 2;
/// The tool that calculates, and those that look something up, in the order in which they are tried.
pub(super) const CALC: &str = "calc";
const DOCS: &str = "docs";
const SOURCES: [&str; 4] = [DOCS, "wiki", "search", "lookup"];

pub(super) struct Planner<'a> {
    pub shape: &'a Shape<'a>,
    pub question: &'a Question,
    /// The tools that look something up, in the order in which they are tried.
    pub sources: Vec<&'a ToolContract>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(shape: &'a Shape<'a>, question: &'a Question) -> Self {
        Planner { shape, question, sources: sources(shape, question) }
    }

    /// The plans that may be made, best first. After one that was sent back, the next rungs come first.
    pub(super) fn drafts(&self, rejected: Option<&[PlanStep]>, hint: &str) -> Vec<Vec<PlanStep>> {
        let Some(rejected) = rejected else { return self.plan(0, "").into_iter().collect() };
        let asked = |step: &PlanStep| rejected.iter().any(|rejected| is_step(rejected, step));
        let contains = |rung: &Vec<PlanStep>| !rung.is_empty() && rung.iter().all(asked);
        let next = (0..RUNGS).rev().find(|rung| contains(&self.rung(*rung))).map_or(0, |rung| rung + 1);
        (next..RUNGS).chain(0..next).filter_map(|rung| self.plan(rung, hint)).collect()
    }

    /// A rung and what a hint says as a plan: brought to length, and ended.
    fn plan(&self, rung: usize, hint: &str) -> Option<Vec<PlanStep>> {
        let mut steps = self.rung(rung);
        if steps.is_empty() && self.shape.least > 0 {
            steps.extend(self.anything(rung));
        }
        let mut steps = each_once(steps.into_iter().chain(self.hinted_step(hint)));
        steps.extend(self.chained(&steps));
        self.shape.fit(steps, self.last_words(rung))
    }

    pub(super) fn last_words(&self, rung: usize) -> &'static str {
        self.question.say(if rung < OTHER_WORDS { "answer_and_name_sources" } else { "say_what_was_found" })
    }

    pub(super) fn describe(&self, mut step: PlanStep) -> PlanStep {
        let text = as_text(&step.input.clone().unwrap_or_default());
        let does = match (step.tool.as_str(), &step.input_from) {
            (FINAL_ANSWER, _) => text,
            (tool, Some(_)) => self.question.tell("on_what_was_found", tool),
            (CALC, None) => self.question.tell("work_out", &text),
            _ => self.question.tell("look_for", &text),
        };
        let does = line(&does, MAX_QUERY);
        (step.task, step.description) = (Some(does.clone()), Some(does));
        step
    }

    /// What is asked rung by rung, each calculation once.
    pub(super) fn ladder(&self) -> impl Iterator<Item = PlanStep> {
        let others = (1..RUNGS).flat_map(|rung| self.rung(rung)).filter(|step| step.tool != CALC);
        self.rung(0).into_iter().chain(others)
    }

    /// The steps of one rung of the ladder, each once.
    pub(super) fn rung(&self, rung: usize) -> Vec<PlanStep> {
        let calculate = |expression: &String| {
            let again = format!("({expression})");
            let text = if rung == OTHER_WORDS { &again } else { expression };
            self.shape.step(self.shape.tool(CALC)?, text, MAX_INPUT)
        };
        let steps: Vec<PlanStep> = self.question.expressions.iter().filter_map(calculate).collect();
        let Some((first, others)) = self.sources.split_first() else { return steps };
        let asked = self.question.terms();
        let words = strongest(&asked, MAX_SINGLE);
        let found: Vec<Option<PlanStep>> = match rung {
            // Every part as it is asked, and tools whose name is in the question.
            0 => {
                let parts = self.question.parts.iter();
                let parts = parts.map(|part| self.ask(first, &part.terms.iter().collect::<Vec<_>>()));
                let names = |name: &str| Vocabulary::of(name).weight(asked.iter().copied()) > 1;
                let named =
                    others.iter().filter(|tool| !SOURCES.contains(&tool.name.as_str()) && names(&tool.name));
                parts.chain(named.map(|tool| self.ask(tool, &asked))).collect()
            }
            // The words that say most, one by one, and the other tools with all of them.
            1 => {
                let others = others.iter().take(MAX_SINGLE).map(|tool| self.ask(tool, &words));
                words.iter().map(|term| self.ask(first, &[term])).chain(others).collect()
            }
            // The word that says most, with a word that widens it.
            _ => {
                let best = words.first().map(|term| self.question.tell("overview", &term.text));
                vec![best.and_then(|text| self.shape.step(first, &text, MAX_INPUT))]
            }
        };
        each_once(steps.into_iter().chain(found.into_iter().flatten()))
    }

    /// A tool that the question wants to have what was found: it summarises or translates.
    fn chained(&self, steps: &[PlanStep]) -> Option<PlanStep> {
        let last = steps.len().checked_sub(1).filter(|_| self.shape.offers("input_from"))?;
        let asked = Duty::asked(&self.question.text);
        let mut tools = self.shape.tools.iter().filter(|tool| works_on_text(tool));
        let tool = tools.find(|tool| Duty::of(tool).is_some_and(|duty| asked.contains(&duty)))?;
        Some(PlanStep { input_from: Some(self.shape.name(last)), ..call(&tool.name, Value::Null) })
    }

    /// What a hint says beyond the question, for a tool that touches nothing outside.
    pub(super) fn hinted_step(&self, hint: &str) -> Option<PlanStep> {
        let (hinted, known) = (hinted(&clean(hint, 1_000)), self.question.terms());
        let new = |term: &Term| term.is_insisted() && known.iter().all(|known| known.text != term.text);
        let pure = self.sources.iter().find(|tool| tool.effect == ToolEffect::Pure)?;
        let asked = hinted.iter().any(new).then(|| hinted.iter().collect::<Vec<&Term>>())?;
        self.ask(pure, &asked)
    }

    /// Asks a tool for these terms, without those that only name the tool itself.
    pub(super) fn ask(&self, tool: &ToolContract, terms: &[&Term]) -> Option<PlanStep> {
        let name = Vocabulary::of(&tool.name);
        let telling: Vec<&Term> = terms.iter().filter(|term| !name.has(term)).copied().collect();
        let terms = if telling.is_empty() { terms } else { &telling };
        let text = query(terms.iter().take(MAX_QUERY_TERMS).copied(), MAX_QUERY);
        self.shape.step(tool, &text, MAX_INPUT)
    }

    /// The step of a plan that must call a tool for a question that names nothing to look for.
    fn anything(&self, rung: usize) -> Option<PlanStep> {
        let text = line(&self.question.text, MAX_QUERY);
        let text = if rung == OTHER_WORDS { self.question.tell("overview", &text) } else { text };
        let text = if text.is_empty() { self.question.say("overview_word") } else { &text };
        self.sources.iter().chain(&self.shape.tools).find_map(|tool| self.shape.step(tool, text, MAX_INPUT))
    }
}

/// The tools that look something up: what searches the material at hand comes before the world outside.
fn sources<'a>(shape: &Shape<'a>, question: &Question) -> Vec<&'a ToolContract> {
    let lower = question.text.to_lowercase();
    let news = shape.tool(DOCS).is_none() && table("news").are_in(&lower);
    let about = |tool: &ToolContract| Vocabulary::of(&format!("{} {}", tool.name, tool.description));
    let rank = |tool: &&ToolContract| match SOURCES.iter().position(|name| *name == tool.name) {
        Some(0) => Some(0),
        Some(2) if news => Some(3),
        Some(at) => Some(at + 3),
        // What a document is compared with never answers in its place.
        None if tool.name.contains("standard") => table("standards").are_in(&lower).then_some(10),
        None if Duty::of(tool) == Some(Duty::Search) => {
            let place = if tool.effect == ToolEffect::Pure { 1 } else { 7 };
            Some(place + usize::from(!tool.name.contains("search")))
        }
        None => (about(tool).weight(question.terms()) > 1).then_some(9),
    };
    let feeds = |tool: &ToolContract| shape.offers("input_from") && works_on_text(tool);
    let fits = |tool: &&ToolContract| {
        // An agent may have the name of a tool, and is none.
        let agent = shape.agents.contains(&tool.name.as_str());
        tool.name != CALC && !agent && (SOURCES.contains(&tool.name.as_str()) || !feeds(tool))
    };
    // What cannot be worked out may be written in the documents, and nowhere else.
    if question.declined.is_some() {
        return shape.tool(DOCS).into_iter().collect();
    }
    let tools: Vec<&ToolContract> = shape.tools.iter().copied().filter(fits).collect();
    let mut sources: Vec<&ToolContract> = tools.iter().copied().filter(|tool| rank(tool).is_some()).collect();
    sources.sort_by_key(rank);
    // An agent of nothing but its author's own tools is asked through them, whatever they say.
    if sources.is_empty() { tools } else { sources }
}

/// Whether a step of a plan that was sent back is this one.
pub(super) fn is_step(rejected: &PlanStep, step: &PlanStep) -> bool {
    let texts = [&rejected.task, &rejected.description].into_iter().flatten().cloned().map(Value::from);
    let told = rejected.input.iter().cloned().chain(texts).next().unwrap_or_default();
    let tells = step.input.clone().unwrap_or_else(|| Value::from(step.task.as_deref()));
    let described = || told.is_string() && told.as_str() == step.description.as_deref();
    rejected.tool == step.tool && (told == tells || described())
}

fn works_on_text(tool: &ToolContract) -> bool {
    tool.takes_text() && matches!(Duty::of(tool), Some(Duty::Summary | Duty::Translation))
}
