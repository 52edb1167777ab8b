//! What is looked for, and where.
//!
//! Arithmetic goes to `calc`, everything else to the user's own documents where there are any, one
//! step for each thing asked. A plan that was sent back is followed by the next rung of a ladder:
//! single words, then the other tools, then more general words. A tool that writes is never
//! planned, and what a hint says is only ever looked for in tools that touch nothing outside.

use serde_json::{Value, json};

use super::duties::Duty;
use super::plan::Step;
use super::question::{Part, Question};
use super::shape::{Entry, Shape};
use super::terms::{Term, Vocabulary, hinted, query};
use super::text::{clean, line};
use planwright::contract::{FINAL_ANSWER, ToolContract, ToolEffect};

/// Most terms of one query.
const MAX_QUERY_TERMS: usize = 8;
/// Most characters of a query.
const MAX_QUERY: usize = 200;
/// Most characters of a query after a reply that did not fit.
const MAX_SHORT: usize = 48;
/// Most single words that are looked for one by one.
const MAX_SINGLE: usize = 3;
/// How many rungs the ladder has.
pub(super) const RUNGS: usize = 4;
/// The tools that look something up, in the order in which they are tried.
const SOURCES: [&str; 4] = ["docs", "wiki", "search", "lookup"];

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

    /// A step with the words that the contract may want beside it.
    pub(super) fn entry(&self, step: &Step) -> Entry {
        let text = step.input.as_str().map_or_else(|| step.input.to_string(), str::to_owned);
        let does = match (step.tool.as_str(), step.from) {
            (FINAL_ANSWER, _) => text,
            (tool, Some(_)) => {
                format!("{}: {tool}", self.question.say("on what was found", "찾은 내용으로"))
            }
            ("calc", None) => format!("{}: {text}", self.question.say("work out", "계산")),
            _ => format!("{}: {text}", self.question.say("look for", "찾기")),
        };
        let does = line(&does, MAX_QUERY);
        Entry {
            who: step.tool.clone(),
            input: Some(step.input.clone()),
            from: step.from,
            after: Vec::new(),
            task: Some(does.clone()),
            description: Some(does),
            question: None,
        }
    }
}

impl Planner<'_> {
    /// The plan, other than the rejected one.
    pub(super) fn plan(&self, rejected: Option<&[Step]>) -> Option<Vec<Step>> {
        let Some(rejected) = rejected else { return self.whole(self.rung(0), false) };
        let contains = |rung: &Vec<Step>| !rung.is_empty() && rung.iter().all(|step| rejected.contains(step));
        let tried = (0..RUNGS).rev().find(|rung| contains(&self.rung(*rung)));
        let first = tried.map_or(0, |rung| rung + 1);
        for rung in (first..RUNGS).chain(0..first) {
            let mut steps = self.rung(rung);
            steps.extend(self.hinted_step(&steps));
            let plan = self
                .whole(steps, false)
                .filter(|plan| plan != rejected && plan.len() > usize::from(self.shape.ends));
            if plan.is_some() {
                return plan;
            }
        }
        let other = self.whole(self.varied(self.rung(0)), true)?;
        if other != rejected { Some(other) } else { self.whole(self.rung(0), false) }
    }

    /// The steps as a whole plan: brought to length, and ended.
    fn whole(&self, mut steps: Vec<Step>, again: bool) -> Option<Vec<Step>> {
        if steps.is_empty() && self.shape.least() > 0 {
            steps = self.anything();
        }
        steps.extend(self.chained(&steps));
        let mut steps = self.shape.fit(steps)?;
        if self.shape.ends {
            let say = match again {
                false => self.question.say(
                    "Answer from what was found and name the sources.",
                    "찾은 내용으로 답하고 출처를 밝힙니다.",
                ),
                true => self
                    .question
                    .say("Say what was found and what was not.", "찾은 것과 찾지 못한 것을 말합니다."),
            };
            steps.push(Step { tool: FINAL_ANSWER.to_owned(), input: json!(say), from: None });
        }
        Some(steps)
    }

    /// The steps of one rung of the ladder, each once.
    pub(super) fn rung(&self, rung: usize) -> Vec<Step> {
        let mut steps = self.calculations();
        let found = match rung {
            0 => self.by_part(),
            1 => self.by_word(),
            2 => self.elsewhere(),
            _ => self.more_generally(),
        };
        for step in found {
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        steps
    }

    fn calculations(&self) -> Vec<Step> {
        let Some(calc) = self.shape.tool("calc") else { return Vec::new() };
        self.question.expressions.iter().filter_map(|expression| self.shape.step(calc, expression)).collect()
    }

    /// The tool that is asked first, and the others.
    pub(super) fn sources(&self) -> Vec<&ToolContract> {
        // An agent may have the name of a tool, and is none.
        let tools = SOURCES.iter().filter(|name| !self.shape.agents.contains(*name));
        let mut sources: Vec<&ToolContract> = tools.filter_map(|name| self.shape.tool(name)).collect();
        let docs = self.shape.tool("docs").is_some();
        if !docs && asks_for_news(&self.question.text) {
            sources.sort_by_key(|tool| tool.name != "search");
        }
        let own = || {
            let tools = self.shape.tools.iter().copied();
            tools.filter(|tool| {
                let name = tool.name.as_str();
                let feeds = self.shape.offers("input_from") && works_on_text(tool);
                name != "calc" && !SOURCES.contains(&name) && !self.shape.agents.contains(&name) && !feeds
            })
        };
        let about = |tool: &ToolContract| Vocabulary::of(&format!("{} {}", tool.name, tool.description));
        let searches = |tool: &ToolContract| Duty::of(tool) == Some(Duty::Search);
        let named = |tool: &&ToolContract| searches(tool) || about(tool).weight(self.question.terms()) > 1;
        let mut others: Vec<&ToolContract> = own().filter(named).collect();
        // An agent of nothing but its author's own tools is asked through them, whatever they say.
        if sources.is_empty() && others.is_empty() {
            others.extend(own());
        }
        // What searches the material at hand is asked before the world outside.
        others.sort_by_key(|tool| (!searches(tool), !tool.name.contains("search")));
        let at_hand = |tool: &ToolContract| searches(tool) && tool.effect == ToolEffect::Pure;
        let (first, last): (Vec<_>, Vec<_>) = others.into_iter().partition(|tool| at_hand(tool));
        let place = usize::from(docs);
        sources.splice(place..place, first);
        sources.extend(last);
        sources
    }

    /// A tool that the question wants to have what was found: it summarises or translates.
    fn chained(&self, steps: &[Step]) -> Option<Step> {
        let last = steps.len().checked_sub(1).filter(|_| self.shape.offers("input_from"))?;
        let asked = Duty::asked(&self.question.text);
        let wanted = |tool: &&&ToolContract| {
            works_on_text(tool) && Duty::of(tool).is_some_and(|duty| asked.contains(&duty))
        };
        let tool = self.shape.tools.iter().find(wanted)?;
        Some(Step { tool: tool.name.clone(), input: Value::Null, from: Some(last) })
    }

    /// Rung 0: every part as it is asked, and tools whose name is in the question.
    fn by_part(&self) -> Vec<Step> {
        let sources = self.sources();
        let Some(first) = sources.first() else { return Vec::new() };
        let ask = |part: &Part| self.ask(first, &part.terms.iter().collect::<Vec<_>>());
        let mut steps: Vec<Step> = self.question.parts.iter().filter_map(ask).collect();
        let terms = self.question.terms();
        for tool in sources.iter().skip(1).filter(|tool| !SOURCES.contains(&tool.name.as_str())) {
            if Vocabulary::of(&tool.name).weight(terms.iter().copied()) > 1 {
                steps.extend(self.ask(tool, &terms));
            }
        }
        steps
    }

    /// Rung 1: the words that say most, one by one, and the second tool with all of them.
    fn by_word(&self) -> Vec<Step> {
        let terms = self.looked_for();
        let sources = self.sources();
        let Some(first) = sources.first() else { return Vec::new() };
        let mut steps: Vec<Step> =
            strongest(&terms, MAX_SINGLE).into_iter().filter_map(|term| self.ask(first, &[term])).collect();
        if let Some(second) = sources.get(1) {
            steps.extend(self.ask(second, &strongest(&terms, 3)));
        }
        steps
    }

    /// Rung 2: the other tools, and the first one with the word that says most.
    fn elsewhere(&self) -> Vec<Step> {
        let terms = self.looked_for();
        let strongest = strongest(&terms, 2);
        let sources = self.sources();
        let others = sources.iter().skip(1).take(3).filter_map(|tool| self.ask(tool, &strongest));
        let first = sources.first().and_then(|tool| self.ask(tool, strongest.get(..1)?));
        others.chain(first).collect()
    }

    /// Rung 3: the word that says most, with a word that widens it.
    fn more_generally(&self) -> Vec<Step> {
        let terms = self.looked_for();
        let sources = self.sources();
        let (Some(first), Some(term)) = (sources.first(), strongest(&terms, 1).pop()) else {
            return Vec::new();
        };
        let wider = format!("{} {}", term.text, self.question.say("overview", "개요"));
        self.shape.step(first, &wider).into_iter().collect()
    }

    /// What the hint names and the question does not.
    fn hinted_step(&self, steps: &[Step]) -> Option<Step> {
        let known = self.question.terms();
        let new = |term: &&Term| term.weight > 1 && known.iter().all(|known| known.text != term.text);
        let terms: Vec<&Term> = self.hint.iter().filter(new).take(MAX_QUERY_TERMS).collect();
        let sources = self.sources();
        let first = sources.first().filter(|tool| tool.effect == ToolEffect::Pure && !terms.is_empty())?;
        self.ask(first, &terms).filter(|step| !steps.contains(step))
    }

    /// Asks a tool for these terms, without those that only name the tool itself.
    pub(super) fn ask(&self, tool: &ToolContract, terms: &[&Term]) -> Option<Step> {
        let name = Vocabulary::of(&tool.name);
        let own: Vec<&Term> = terms.iter().filter(|term| !name.has(term)).copied().collect();
        let terms = if own.is_empty() { terms } else { &own };
        self.shape.step(tool, &query(terms.iter().take(MAX_QUERY_TERMS).copied(), MAX_QUERY))
    }

    /// The terms of the question; of one that is all arithmetic, its numbers.
    fn looked_for(&self) -> Vec<Term> {
        let own = self.question.terms();
        if own.is_empty() {
            return Question::read(&self.question.text, false).terms().into_iter().cloned().collect();
        }
        own.into_iter().cloned().collect()
    }

    /// The same steps, the last of them written differently.
    pub(super) fn varied(&self, mut steps: Vec<Step>) -> Vec<Step> {
        if let Some(last) = steps.last_mut()
            && let Some(text) = last.input.as_str()
            && let Some(tool) = self.shape.tool(&last.tool)
        {
            let text = match last.tool.as_str() {
                "calc" => format!("({text})"),
                _ => format!("{text} {}", self.question.say("overview", "개요")),
            };
            *last = self.shape.step(tool, &text).unwrap_or_else(|| last.clone());
        }
        steps
    }

    /// Where a plan must call a tool and the question names nothing to look for.
    pub(super) fn anything(&self) -> Vec<Step> {
        let text = line(&self.question.text, MAX_SHORT);
        let text = if text.is_empty() { self.question.say("overview", "개요").to_owned() } else { text };
        let tools = SOURCES.iter().filter_map(|name| self.shape.tool(name));
        let mut tools = tools.chain(self.shape.tools.iter().copied());
        tools.find_map(|tool| self.shape.step(tool, &text)).into_iter().collect()
    }

    /// As few and as short steps as the contract takes.
    pub(super) fn shortened(&self, steps: &[Step]) -> Vec<Step> {
        let keep = self.shape.least().max(1);
        let calls = steps.iter().filter(|step| step.tool != FINAL_ANSWER).take(keep);
        let shorter = |step: &Step| {
            let short = step.input.as_str().map(|text| text.chars().take(MAX_SHORT).collect::<String>());
            let tool = self.shape.tool(&step.tool).filter(|tool| tool.name != "calc");
            short
                .zip(tool)
                .and_then(|(text, tool)| self.shape.step(tool, &text))
                .unwrap_or_else(|| step.clone())
        };
        let mut short: Vec<Step> = calls.map(shorter).collect();
        if self.shape.ends {
            short.push(Step { tool: FINAL_ANSWER.to_owned(), input: json!(""), from: None });
        }
        short
    }
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

fn asks_for_news(text: &str) -> bool {
    const NEWS: [&str; 12] = [
        "today", "latest", "current", "news", "price", "recent", "오늘", "최신", "현재", "지금", "뉴스",
        "가격",
    ];
    let lower = text.to_lowercase();
    NEWS.iter().any(|word| lower.contains(word))
}
