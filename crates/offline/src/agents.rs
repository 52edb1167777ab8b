//! Plans with agents: who works, and on whose output.
//!
//! Something is looked up first, then comes the work that the question asks for, in the order in
//! which one kind of work follows another, and last who writes. A person is asked where the question
//! wants it.

use super::duties::Duty;
use super::lexicon::{APPROVALS, mentions};
use super::planner::{MAX_QUERY, Planner, strongest};
use super::question::Question;
use super::shape::Step;
use super::terms::{Term, query};
use super::text::line;
use planwright::contract::HITL;

/// How many ways there are to word what is searched for.
const WORDINGS: usize = 3;
/// The work that follows a search, in its order.
const WORK: [Duty; 7] = [
    Duty::Validation,
    Duty::Analysis,
    Duty::Comparison,
    Duty::Critique,
    Duty::Summary,
    Duty::Translation,
    Duty::Document,
];

/// The plans that may be made, best first.
pub(super) fn drafts(planner: &Planner<'_>) -> Vec<Vec<Step>> {
    let drafts = (0..WORDINGS).filter_map(|wording| Draft { planner, wording }.steps());
    drafts.chain(Draft { planner, wording: 0 }.reworded()).collect()
}

/// A question without the clauses that only say that a person wants to be asked.
pub(super) fn without_asking(text: &str) -> String {
    let clauses = text.split_inclusive(['.', '!', '?', '\n', ',', ';']);
    let rest: String = clauses.filter(|clause| !asks_to_be_asked(clause)).collect();
    if rest.trim().is_empty() { text.to_owned() } else { rest }
}

/// Why a plan is made so.
pub(super) fn reasoning(question: &Question, steps: &[Step]) -> String {
    if steps.is_empty() {
        return question
            .say("the question names nothing to work on", "질문에 작업할 내용이 없습니다")
            .to_owned();
    }
    let names: Vec<&str> = steps.iter().map(|step| step.who.as_str()).collect();
    format!("{}: {}", question.say("in this order", "진행 순서"), line(&names.join(" → "), MAX_QUERY))
}

struct Draft<'a> {
    planner: &'a Planner<'a>,
    wording: usize,
}

impl<'a> Draft<'a> {
    fn steps(&self) -> Option<Vec<Step>> {
        let shape = self.planner.shape;
        let mut steps = self.lookups();
        let mut looked_up = steps.len();
        if steps.is_empty() && self.names_nothing() && shape.least() == 0 {
            return Some(steps);
        }
        steps.extend(self.work());
        steps.extend(self.writing());
        if steps.is_empty() {
            steps.extend(self.anyone());
        }
        // Who writes last stays, and of what is looked up the first.
        while steps.len() > shape.most() {
            looked_up = looked_up.saturating_sub(1);
            steps.remove(if looked_up > 0 { looked_up } else { steps.len().saturating_sub(2) });
        }
        looked_up = looked_up.min(steps.len());
        if shape.asks_people && asks_to_be_asked(&self.question().text) && steps.len() < shape.most() {
            steps.insert(looked_up.max(steps.len().saturating_sub(1)), self.person());
        }
        shape.fit(linked(steps, looked_up), self.planner.last_words(false))
    }

    /// The plan with the last agent's task worded differently.
    fn reworded(&self) -> Option<Vec<Step>> {
        let mut steps = self.steps()?;
        if steps.is_empty() {
            steps.extend(self.anyone());
        }
        let agents = &self.planner.shape.agents;
        let last = steps.iter_mut().rfind(|step| agents.contains(&step.who.as_str()))?;
        let more = self.question().say("in other words", "다른 말로");
        for text in [&mut last.task, &mut last.description].into_iter().flatten() {
            *text = format!("{text} ({more})");
        }
        Some(steps)
    }

    fn question(&self) -> &'a Question {
        self.planner.question
    }

    fn names_nothing(&self) -> bool {
        self.question().terms().is_empty() && self.question().expressions.is_empty()
    }

    /// The first agent with this duty.
    fn agent(&self, duty: Duty) -> Option<&'a str> {
        let shape = self.planner.shape;
        let does = |name: &&&str| shape.tool(name).is_some_and(|agent| Duty::of(agent) == Some(duty));
        shape.agents.iter().find(does).copied()
    }

    /// What is looked up: by the tools where there are any for it, else by who searches.
    fn lookups(&self) -> Vec<Step> {
        let steps = self.planner.rung(self.wording).into_iter();
        let mut steps: Vec<Step> = steps.map(|step| self.planner.describe(step)).collect();
        let by_tools = !self.planner.sources().is_empty();
        let nothing = self.names_nothing() && self.planner.shape.least() == 0;
        let calculated = self.question().parts.is_empty() && !steps.is_empty();
        if !by_tools
            && !nothing
            && !calculated
            && let Some(searcher) = self.agent(Duty::Search)
        {
            let label = self.question().say("search", "검색");
            steps.extend(self.searches().into_iter().map(|task| work_on(searcher, task, label)));
        }
        steps
    }

    /// What is searched for: each part by itself where searches need not wait for one another.
    fn searches(&self) -> Vec<String> {
        let question = self.question();
        let all: Vec<Term> = question.terms().into_iter().cloned().collect();
        let apart = self.planner.shape.offers("depends_on") && question.parts.len() > 1;
        let text = line(&question.text, MAX_QUERY);
        match self.wording {
            _ if all.is_empty() && text.is_empty() => vec![question.say("search", "검색").to_owned()],
            _ if all.is_empty() => vec![text],
            0 if apart => question.parts.iter().map(|part| query(&part.terms, MAX_QUERY)).collect(),
            0 => vec![query(&all, MAX_QUERY)],
            1 => vec![query(strongest(&all, 2), MAX_QUERY)],
            _ => vec![self.planner.widened(&query(strongest(&all, 1), MAX_QUERY))],
        }
    }

    /// The work that is asked for, by those who do it.
    fn work(&self) -> Vec<Step> {
        let mut asked = Duty::asked(&self.question().text);
        // Who cannot compare analyses; without a writer the report is a document.
        for (duty, other) in [(Duty::Comparison, Duty::Analysis), (Duty::Writing, Duty::Document)] {
            if asked.contains(&duty) && self.agent(duty).is_none() {
                asked.push(other);
            }
        }
        let korean = self.question().korean;
        let subject = query(self.question().terms(), MAX_QUERY);
        let subject = if subject.is_empty() { line(&self.question().text, MAX_QUERY) } else { subject };
        let does = |duty: Duty| {
            let agent = self.agent(duty).filter(|_| asked.contains(&duty))?;
            let noun = duty.noun(korean);
            let task = if korean { format!("{subject} {noun}") } else { format!("{noun} on {subject}") };
            Some(work_on(agent, task, noun))
        };
        WORK.into_iter().filter_map(does).collect()
    }

    fn writing(&self) -> Option<Step> {
        let label = self.question().say("write the answer", "답변 작성");
        let task = format!("{label}: {}", line(&self.question().text, MAX_QUERY));
        self.agent(Duty::Writing).map(|writer| work_on(writer, task, label))
    }

    /// Where no agent's duty is asked for, the first agent gets the question.
    fn anyone(&self) -> Option<Step> {
        let label = self.question().say("work on the question", "질문에 대한 작업");
        let text = line(&self.question().text, MAX_QUERY);
        let task = if text.is_empty() { label.to_owned() } else { text };
        self.planner.shape.agents.first().map(|agent| work_on(agent, task, label))
    }

    fn person(&self) -> Step {
        let ask = self
            .question()
            .say("Shall I go on with what was found so far?", "지금까지의 결과로 계속 진행할까요?");
        Step { question: Some(ask.to_owned()), ..work_on(HITL, ask.to_owned(), ask) }
    }
}

fn work_on(agent: &str, task: String, label: &str) -> Step {
    let description = if task.contains(label) { task.clone() } else { format!("{label}: {task}") };
    Step { who: agent.to_owned(), task: Some(task), description: Some(description), ..Step::default() }
}

/// What is looked up waits for nothing; everything else waits for all before, and works on the last
/// output that is no person's.
fn linked(mut steps: Vec<Step>, looked_up: usize) -> Vec<Step> {
    let mut last = None;
    for (at, step) in steps.iter_mut().enumerate() {
        let person = step.who == HITL;
        if at >= looked_up || person {
            step.after = (0..at).collect();
            step.from = last.filter(|_| !person);
        }
        last = if person { last } else { Some(at) };
    }
    steps
}

/// Whether the question wants a person to be asked on the way.
fn asks_to_be_asked(text: &str) -> bool {
    mentions(&text.to_lowercase(), APPROVALS)
}
