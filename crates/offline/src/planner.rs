//! What is looked for, and where.
//!
//! Arithmetic goes to `calc`, everything else to the user's own documents if there are any, one step for
//! each thing asked. A plan that was sent back is followed by the next rung of a ladder: single words,
//! then the other tools, then more general words. A tool that writes is never planned, and what a hint
//! says is only looked for in tools that touch nothing outside.

use serde_json::Value;

use super::lexicon::{Duty, table};
use super::payload::Rejected;
use super::question::Question;
use super::shape::{Shape, Step};
use super::terms::{Term, Vocabulary, hinted, query, strongest};
use super::text::{clean, line};
use planwright::contract::{FINAL_ANSWER, ToolContract, ToolEffect};

const MAX_QUERY_TERMS: usize = 8;
/// Most characters of a query.
pub(super) const MAX_QUERY: usize = 200;
/// Most characters of a question that is looked for as it is.
const MAX_SHORT: usize = 48;
const MAX_INPUT: usize = 300;
const RUNGS: usize = 4;
/// The tool that calculates, and those that look something up, in the order in which they are tried.
pub(super) const CALC: &str = "calc";
const DOCS: &str = "docs";
const SOURCES: [&str; 4] = [DOCS, "wiki", "search", "lookup"];

pub(super) struct Planner<'a> {
    pub shape: &'a Shape<'a>,
    pub question: &'a Question,
    /// The tools that look something up, in the order in which they are tried.
    pub sources: Vec<&'a ToolContract>,
    /// The terms of the question; of one that is all arithmetic, its numbers.
    wanted: Vec<Term>,
    hint: Vec<Term>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(shape: &'a Shape<'a>, question: &'a Question, hint: &str) -> Self {
        let numbers = question.parts.is_empty().then(|| Question::parse(&question.text, false));
        let asked = numbers.as_ref().unwrap_or(question);
        let wanted = asked.terms().into_iter().cloned().collect();
        Planner {
            shape,
            question,
            sources: sources(shape, question),
            wanted,
            hint: hinted(&clean(hint, 1_000)),
        }
    }

    pub(super) fn drafts(&self, rejected: Option<&[Rejected]>) -> Vec<Vec<Step>> {
        let first = self.end(self.rung(0), false);
        let Some(rejected) = rejected else { return first.into_iter().collect() };
        let asked = |step: &Step| rejected.iter().any(|rejected| is_step(rejected, step));
        let contains = |rung: &Vec<Step>| !rung.is_empty() && rung.iter().all(asked);
        let next = (0..RUNGS).rev().find(|rung| contains(&self.rung(*rung))).map_or(0, |rung| rung + 1);
        let rungs = (next..RUNGS).chain(0..next).filter_map(|rung| {
            let mut steps = self.rung(rung);
            steps.extend(self.hinted_step(&steps));
            self.end(steps, false).filter(|plan| plan.len() > usize::from(self.shape.ends))
        });
        let again = self.end(self.varied(self.rung(0)), true);
        let any = self.anything();
        let any = [any.clone(), self.varied(any)].into_iter().filter(|_| !self.shape.ends);
        rungs.chain(again).chain(first).chain(any).collect()
    }

    /// The steps as a plan: brought to length, and ended.
    fn end(&self, mut steps: Vec<Step>, again: bool) -> Option<Vec<Step>> {
        if steps.is_empty() && self.shape.least > 0 {
            steps = self.anything();
        }
        steps.extend(self.chained(&steps));
        self.shape.fit(steps, self.last_words(again))
    }

    pub(super) fn last_words(&self, again: bool) -> &'static str {
        match again {
            false => self.question.say("answer_and_name_sources"),
            true => self.question.say("say_what_was_found"),
        }
    }

    pub(super) fn describe(&self, mut step: Step) -> Step {
        let input = step.input.clone().unwrap_or_default();
        let text = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
        let does = match (step.who.as_str(), step.from) {
            (FINAL_ANSWER, _) => text,
            (tool, Some(_)) => self.question.tell("on_what_was_found", tool),
            (CALC, None) => self.question.tell("work_out", &text),
            _ => self.question.tell("look_for", &text),
        };
        let does = line(&does, MAX_QUERY);
        (step.task, step.description) = (Some(does.clone()), Some(does));
        step
    }

    pub(super) fn ladder(&self) -> impl Iterator<Item = Step> {
        (0..RUNGS).flat_map(|rung| self.rung(rung))
    }

    /// The steps of one rung of the ladder, each once.
    pub(super) fn rung(&self, rung: usize) -> Vec<Step> {
        let calculate = |expression| self.shape.step(self.shape.tool(CALC)?, expression, MAX_INPUT);
        let mut steps: Vec<Step> =
            self.question.expressions.iter().filter_map(|expression| calculate(expression)).collect();
        // What cannot be worked out may be written in the documents, and nowhere else.
        let declined = self.question.declined.is_some();
        let found = self.sources.split_first().filter(|(first, _)| !declined || first.name == DOCS);
        let Some((first, others)) = found else { return steps };
        let others = if declined { &[] } else { others };
        let asked = self.question.terms();
        let words = strongest(&self.wanted.iter().collect::<Vec<&Term>>(), RUNGS - rung.max(1));
        let found: Vec<Option<Step>> = match rung {
            // Every part as it is asked, and tools whose name is in the question.
            0 => {
                let parts = self.question.parts.iter();
                let parts = parts.map(|part| self.ask(first, &part.terms.iter().collect::<Vec<_>>()));
                let names = |name: &str| Vocabulary::of(name).weight(asked.iter().copied()) > 1;
                let named =
                    others.iter().filter(|tool| !SOURCES.contains(&tool.name.as_str()) && names(&tool.name));
                parts.chain(named.map(|tool| self.ask(tool, &asked))).collect()
            }
            // The words that say most, one by one, and the second tool with all of them.
            1 => {
                let second = others.first().map(|tool| self.ask(tool, &words));
                words.iter().map(|term| self.ask(first, &[term])).chain(second).collect()
            }
            // The other tools, and the first one with the word that says most.
            2 => {
                let best = words.get(..1).map(|word| self.ask(first, word));
                others.iter().take(3).map(|tool| self.ask(tool, &words)).chain(best).collect()
            }
            // The word that says most, with a word that widens it.
            _ => words
                .iter()
                .map(|term| self.shape.step(first, &self.widened(&term.text), MAX_INPUT))
                .collect(),
        };
        for step in found.into_iter().flatten() {
            if !step.is_in(&steps) {
                steps.push(step);
            }
        }
        steps
    }

    /// A tool that the question wants to have what was found: it summarises or translates.
    fn chained(&self, steps: &[Step]) -> Option<Step> {
        let last = steps.len().checked_sub(1).filter(|_| self.shape.offers("input_from"))?;
        let asked = Duty::asked(&self.question.text);
        let mut tools = self.shape.tools.iter().filter(|tool| works_on_text(tool));
        let tool = tools.find(|tool| Duty::of(tool).is_some_and(|duty| asked.contains(&duty)))?;
        Some(Step { from: Some(last), ..Step::call(&tool.name, Value::Null) })
    }

    pub(super) fn widened(&self, text: &str) -> String {
        self.question.tell("overview", text)
    }

    fn hinted_step(&self, steps: &[Step]) -> Option<Step> {
        let known = self.question.terms();
        let new = |term: &&Term| term.weight > 1 && known.iter().all(|known| known.text != term.text);
        let terms: Vec<&Term> = self.hint.iter().filter(new).collect();
        let first =
            self.sources.first().filter(|tool| tool.effect == ToolEffect::Pure && !terms.is_empty())?;
        self.ask(first, &terms).filter(|step| !step.is_in(steps))
    }

    /// Asks a tool for these terms, without those that only name the tool itself.
    pub(super) fn ask(&self, tool: &ToolContract, terms: &[&Term]) -> Option<Step> {
        let name = Vocabulary::of(&tool.name);
        let telling: Vec<&Term> = terms.iter().filter(|term| !name.has(term)).copied().collect();
        let terms = if telling.is_empty() { terms } else { &telling };
        let text = query(terms.iter().take(MAX_QUERY_TERMS).copied(), MAX_QUERY);
        self.shape.step(tool, &text, MAX_INPUT)
    }

    fn varied(&self, mut steps: Vec<Step>) -> Vec<Step> {
        let vary = |last: &Step| {
            let text = last.text()?;
            let text = if last.who == CALC { format!("({text})") } else { self.widened(text) };
            self.shape.step(self.shape.tool(&last.who)?, &text, MAX_INPUT)
        };
        if let Some(last) = steps.last_mut()
            && let Some(varied) = vary(last)
        {
            *last = varied;
        }
        steps
    }

    /// The step of a plan that must call a tool for a question that names nothing to look for.
    fn anything(&self) -> Vec<Step> {
        let text = line(&self.question.text, MAX_SHORT);
        let text = if text.is_empty() { self.question.say("overview_word") } else { &text };
        let tools = SOURCES.iter().filter_map(|name| self.shape.tool(name));
        let mut tools = tools.chain(self.shape.tools.iter().copied());
        tools.find_map(|tool| self.shape.step(tool, text, MAX_INPUT)).into_iter().collect()
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
    let tools: Vec<&ToolContract> = shape.tools.iter().copied().filter(fits).collect();
    let mut sources: Vec<&ToolContract> = tools.iter().copied().filter(|tool| rank(tool).is_some()).collect();
    sources.sort_by_key(rank);
    // An agent of nothing but its author's own tools is asked through them, whatever they say.
    if sources.is_empty() { tools } else { sources }
}

pub(super) fn is_step(rejected: &Rejected, step: &Step) -> bool {
    let told = step.input.clone().unwrap_or_else(|| Value::from(step.told()));
    let described = || rejected.input.is_string() && rejected.input.as_str() == step.description.as_deref();
    rejected.who == step.who && (rejected.input == told || described())
}

fn works_on_text(tool: &ToolContract) -> bool {
    tool.takes_text() && matches!(Duty::of(tool), Some(Duty::Summary | Duty::Translation))
}
