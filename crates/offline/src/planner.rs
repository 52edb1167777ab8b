//! What is looked for, and where.
//!
//! Arithmetic goes to `calc`, everything else to the user's own documents where there are any, one
//! step for each thing asked. A plan that was sent back is followed by the next rung of a ladder:
//! single words, then the other tools, then more general words. A tool that writes is never
//! planned, and what a hint says is only ever looked for in tools that touch nothing outside.

use serde_json::Value;

use super::duties::Duty;
use super::lexicon::{NEWS, mentions};
use super::payload::Rejected;
use super::question::{Part, Question};
use super::shape::{Shape, Step};
use super::terms::{Term, Vocabulary, hinted, query};
use super::text::{clean, line};
use planwright::contract::{FINAL_ANSWER, ToolContract, ToolEffect};

/// Most terms of one query.
const MAX_QUERY_TERMS: usize = 8;
/// Most characters of a query, of one after a reply that did not fit, and whatever a tool would take.
pub(super) const MAX_QUERY: usize = 200;
const MAX_SHORT: usize = 48;
const MAX_INPUT: usize = 300;
/// Most single words that are looked for one by one.
const MAX_SINGLE: usize = 3;
/// How many rungs the ladder has.
pub(super) const RUNGS: usize = 4;
/// The tool that calculates, and those that look something up, in the order in which they are tried.
pub(super) const CALC: &str = "calc";
const DOCS: &str = "docs";
const SOURCES: [&str; 4] = [DOCS, "wiki", "search", "lookup"];

/// What plans by rule.
pub(super) struct Planner<'a> {
    pub shape: &'a Shape<'a>,
    pub question: &'a Question,
    hint: Vec<Term>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(shape: &'a Shape<'a>, question: &'a Question, hint: &str) -> Self {
        Planner { shape, question, hint: hinted(&clean(hint, 1_000)) }
    }

    /// The plans that may be made, best first.
    pub(super) fn drafts(&self, rejected: Option<&[Rejected]>) -> Vec<Vec<Step>> {
        let Some(rejected) = rejected else { return self.end(self.rung(0), false).into_iter().collect() };
        let asked = |step: &Step| rejected.iter().any(|rejected| is_step(rejected, step));
        let contains = |rung: &Vec<Step>| !rung.is_empty() && rung.iter().all(asked);
        let first = (0..RUNGS).rev().find(|rung| contains(&self.rung(*rung))).map_or(0, |rung| rung + 1);
        let rungs = (first..RUNGS).chain(0..first).filter_map(|rung| {
            let mut steps = self.rung(rung);
            steps.extend(self.hinted_step(&steps));
            self.end(steps, false).filter(|plan| plan.len() > usize::from(self.shape.ends))
        });
        let again = self.end(self.varied(self.rung(0)), true);
        let (first, any) = (self.end(self.rung(0), false), self.anything());
        let any = [any.clone(), self.varied(any)].into_iter().filter(|_| !self.shape.ends);
        rungs.chain(again).chain(first).chain(any).collect()
    }

    /// The steps as a whole plan: brought to length, and ended.
    fn end(&self, mut steps: Vec<Step>, again: bool) -> Option<Vec<Step>> {
        if steps.is_empty() && self.shape.least() > 0 {
            steps = self.anything();
        }
        steps.extend(self.chained(&steps));
        self.shape.fit(steps, self.last_words(again))
    }

    /// What the last step is told.
    pub(super) fn last_words(&self, again: bool) -> &'static str {
        match (again, self.question.korean) {
            (false, false) => "Answer from what was found and name the sources.",
            (false, true) => "찾은 내용으로 답하고 출처를 밝힙니다.",
            (true, false) => "Say what was found and what was not.",
            (true, true) => "찾은 것과 찾지 못한 것을 말합니다.",
        }
    }

    /// Adds the words that the contract may want beside a step.
    pub(super) fn describe(&self, mut step: Step) -> Step {
        let text =
            step.text().map_or_else(|| step.input.clone().unwrap_or_default().to_string(), str::to_owned);
        let does = match (step.who.as_str(), step.from) {
            (FINAL_ANSWER, _) => text,
            (tool, Some(_)) => format!("{}: {tool}", self.question.say("on what was found", "찾은 내용으로")),
            (CALC, None) => format!("{}: {text}", self.question.say("work out", "계산")),
            _ => format!("{}: {text}", self.question.say("look for", "찾기")),
        };
        let does = line(&does, MAX_QUERY);
        (step.task, step.description) = (Some(does.clone()), Some(does));
        step
    }

    /// The steps of one rung of the ladder, each once.
    pub(super) fn rung(&self, rung: usize) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let calc = self.shape.tool(CALC);
        let expressions = self.question.expressions.iter();
        steps.extend(expressions.filter_map(|expression| self.shape.step(calc?, expression, MAX_INPUT)));
        let found = match rung {
            0 => self.by_part(),
            1 => self.by_word(),
            2 => self.elsewhere(),
            _ => self.more_generally(),
        };
        for step in found {
            if !steps.iter().any(|known| known.asks_like(&step)) {
                steps.push(step);
            }
        }
        steps
    }

    /// The tools that look something up, in the order in which they are tried: what searches the
    /// material at hand comes before the world outside.
    pub(super) fn sources(&self) -> Vec<&'a ToolContract> {
        let news = self.shape.tool(DOCS).is_none() && mentions(&self.question.text.to_lowercase(), NEWS);
        let about = |tool: &ToolContract| Vocabulary::of(&format!("{} {}", tool.name, tool.description));
        let rank = |tool: &ToolContract| match SOURCES.iter().position(|name| *name == tool.name) {
            Some(0) => Some(0),
            Some(2) if news => Some(3),
            Some(at) => Some(at + 3),
            None if Duty::of(tool) == Some(Duty::Search) => {
                let place = if tool.effect == ToolEffect::Pure { 1 } else { 7 };
                Some(place + usize::from(!tool.name.contains("search")))
            }
            None => (about(tool).weight(self.question.terms()) > 1).then_some(9),
        };
        let feeds = |tool: &ToolContract| self.shape.offers("input_from") && works_on_text(tool);
        let own = |tool: &&ToolContract| {
            // An agent may have the name of a tool, and is none.
            let agent = self.shape.agents.contains(&tool.name.as_str());
            let known = SOURCES.contains(&tool.name.as_str());
            tool.name != CALC && !agent && (known || !feeds(tool))
        };
        let tools = || self.shape.tools.iter().copied().filter(own);
        let mut sources: Vec<&ToolContract> = tools().filter(|tool| rank(tool).is_some()).collect();
        sources.sort_by_key(|tool| rank(tool));
        // An agent of nothing but its author's own tools is asked through them, whatever they say.
        if sources.is_empty() { tools().collect() } else { sources }
    }

    /// A tool that the question wants to have what was found: it summarises or translates.
    fn chained(&self, steps: &[Step]) -> Option<Step> {
        let last = steps.len().checked_sub(1).filter(|_| self.shape.offers("input_from"))?;
        let asked = Duty::asked(&self.question.text);
        let mut tools = self.shape.tools.iter().filter(|tool| works_on_text(tool));
        let tool = tools.find(|tool| Duty::of(tool).is_some_and(|duty| asked.contains(&duty)))?;
        Some(Step { from: Some(last), ..Step::call(&tool.name, Value::Null) })
    }

    /// Rung 0: every part as it is asked, and tools whose name is in the question.
    fn by_part(&self) -> Vec<Step> {
        let sources = self.sources();
        let Some(first) = sources.first() else { return Vec::new() };
        let ask = |part: &Part| self.ask(first, &part.terms.iter().collect::<Vec<_>>());
        let mut steps: Vec<Step> = self.question.parts.iter().filter_map(ask).collect();
        let terms = self.question.terms();
        let others = sources.iter().skip(1).filter(|tool| !SOURCES.contains(&tool.name.as_str()));
        let named = others.filter(|tool| Vocabulary::of(&tool.name).weight(terms.iter().copied()) > 1);
        steps.extend(named.filter_map(|tool| self.ask(tool, &terms)));
        steps
    }

    /// Rung 1: the words that say most, one by one, and the second tool with all of them.
    fn by_word(&self) -> Vec<Step> {
        let (terms, sources) = (self.looked_for(), self.sources());
        let Some(first) = sources.first() else { return Vec::new() };
        let words = strongest(&terms, MAX_SINGLE);
        let one_by_one = words.iter().filter_map(|term| self.ask(first, &[term]));
        let second = sources.get(1).and_then(|tool| self.ask(tool, &words));
        one_by_one.chain(second).collect()
    }

    /// Rung 2: the other tools, and the first one with the word that says most.
    fn elsewhere(&self) -> Vec<Step> {
        let (terms, sources) = (self.looked_for(), self.sources());
        let strongest = strongest(&terms, 2);
        let others = sources.iter().skip(1).take(3).filter_map(|tool| self.ask(tool, &strongest));
        others.chain(sources.first().and_then(|tool| self.ask(tool, strongest.get(..1)?))).collect()
    }

    /// Rung 3: the word that says most, with a word that widens it.
    fn more_generally(&self) -> Vec<Step> {
        let (terms, sources) = (self.looked_for(), self.sources());
        let first = sources.first().zip(strongest(&terms, 1).pop());
        first
            .and_then(|(tool, term)| self.shape.step(tool, &self.widened(&term.text), MAX_INPUT))
            .into_iter()
            .collect()
    }

    pub(super) fn widened(&self, text: &str) -> String {
        format!("{text} {}", self.question.say("overview", "개요"))
    }

    /// What the hint names and the question does not.
    fn hinted_step(&self, steps: &[Step]) -> Option<Step> {
        let known = self.question.terms();
        let new = |term: &&Term| term.weight > 1 && known.iter().all(|known| known.text != term.text);
        let terms: Vec<&Term> = self.hint.iter().filter(new).take(MAX_QUERY_TERMS).collect();
        let sources = self.sources();
        let first = sources.first().filter(|tool| tool.effect == ToolEffect::Pure && !terms.is_empty())?;
        self.ask(first, &terms).filter(|step| !steps.iter().any(|known| known.asks_like(step)))
    }

    /// Asks a tool for these terms, without those that only name the tool itself.
    pub(super) fn ask(&self, tool: &ToolContract, terms: &[&Term]) -> Option<Step> {
        let name = Vocabulary::of(&tool.name);
        let own: Vec<&Term> = terms.iter().filter(|term| !name.has(term)).copied().collect();
        let terms = if own.is_empty() { terms } else { &own };
        let text = query(terms.iter().take(MAX_QUERY_TERMS).copied(), MAX_QUERY);
        self.shape.step(tool, &text, MAX_INPUT)
    }

    /// The terms of the question; of one that is all arithmetic, its numbers.
    fn looked_for(&self) -> Vec<Term> {
        let numbers = Question::parse(&self.question.text, false);
        let own = if self.question.parts.is_empty() { &numbers } else { self.question };
        own.terms().into_iter().cloned().collect()
    }

    /// These steps with the last one written differently.
    fn varied(&self, mut steps: Vec<Step>) -> Vec<Step> {
        let vary = |last: &Step| {
            let text =
                if last.who == CALC { format!("({})", last.text()?) } else { self.widened(last.text()?) };
            self.shape.step(self.shape.tool(&last.who)?, &text, MAX_INPUT)
        };
        if let Some(last) = steps.last_mut()
            && let Some(varied) = vary(last)
        {
            *last = varied;
        }
        steps
    }

    /// Where a plan must call a tool and the question names nothing to look for.
    fn anything(&self) -> Vec<Step> {
        let text = line(&self.question.text, MAX_SHORT);
        let text = if text.is_empty() { self.question.say("overview", "개요").to_owned() } else { text };
        let tools = SOURCES.iter().filter_map(|name| self.shape.tool(name));
        let mut tools = tools.chain(self.shape.tools.iter().copied());
        tools.find_map(|tool| self.shape.step(tool, &text, MAX_INPUT)).into_iter().collect()
    }

    /// As few and as short steps as the contract takes.
    pub(super) fn shortened(&self, steps: &[Step]) -> Vec<Step> {
        let calls = steps.iter().filter(|step| step.who != FINAL_ANSWER).take(self.shape.least().max(1));
        let shorter = |step: &Step| {
            let tool = self.shape.tool(&step.who).filter(|tool| tool.name != CALC)?;
            self.shape.step(tool, step.text()?, MAX_SHORT)
        };
        let short: Vec<Step> = calls.map(|step| shorter(step).unwrap_or_else(|| step.clone())).collect();
        self.shape.fit(short, "").unwrap_or_else(|| steps.to_vec())
    }
}

/// Whether a step of a plan that was sent back is this one.
pub(super) fn is_step(rejected: &Rejected, step: &Step) -> bool {
    let told = step.task.as_ref().or(step.description.as_ref());
    let told = step.input.clone().unwrap_or_else(|| Value::from(told.cloned()));
    let described = || rejected.input.is_string() && rejected.input.as_str() == step.description.as_deref();
    rejected.who == step.who && (rejected.input == told || described())
}

/// Whether a tool makes one text of another.
fn works_on_text(tool: &ToolContract) -> bool {
    tool.takes_text() && matches!(Duty::of(tool), Some(Duty::Summary | Duty::Translation))
}

/// The terms that say most, in the question's order among equals.
pub(super) fn strongest(terms: &[Term], count: usize) -> Vec<&Term> {
    let mut terms: Vec<&Term> = terms.iter().collect();
    terms.sort_by_key(|term| std::cmp::Reverse(term.weight));
    terms.truncate(count);
    terms
}
