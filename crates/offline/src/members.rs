//! Plans with agents: who works, and on whose output.
//!
//! Something is looked up first, then comes the work that the question asks for, in the order in
//! which one kind of work follows another, and last who writes. A person is asked where the question
//! wants to be asked.

use serde_json::Value;

use super::duties::Duty;
use super::plan::Step;
use super::planner::{Planner, strongest};
use super::question::Question;
use super::shape::Entry;
use super::terms::{Term, query};
use super::text::line;
use planwright::contract::{FINAL_ANSWER, HITL};

/// Most characters of a task.
const MAX_TASK: usize = 200;
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

/// The plan, other than the rejected one; `None` where the contract wants steps and there are none.
pub(super) fn plan(planner: &Planner<'_>, rejected: Option<&[Step]>) -> Option<Vec<Entry>> {
    let told = |entry: &Entry| entry.input.clone().unwrap_or_else(|| Value::from(entry.task.clone()));
    let same = |entries: &[Entry], rejected: &[Step]| {
        entries.len() == rejected.len()
            && entries.iter().zip(rejected).all(|(entry, step)| {
                entry.who == step.tool
                    && (told(entry) == step.input || step.input.as_str() == entry.description.as_deref())
            })
    };
    let drafts = (0..WORDINGS).filter_map(|wording| Draft { planner, wording }.whole());
    let mut drafts = drafts.collect::<Vec<_>>().into_iter();
    match rejected {
        None => drafts.next(),
        Some(rejected) => drafts.find(|entries| !same(entries, rejected)).or_else(|| {
            let other = Draft { planner, wording: 0 }.otherwise()?;
            Some(other)
                .filter(|entries| !same(entries, rejected))
                .or_else(|| Draft { planner, wording: 0 }.whole())
        }),
    }
}

/// A question without the clauses that only say that a person wants to be asked.
pub(super) fn without_asking(text: &str) -> String {
    let clauses = text.split_inclusive(['.', '!', '?', '\n', ',', ';']);
    let rest: String = clauses.filter(|clause| !asks_to_be_asked(clause)).collect();
    if rest.trim().is_empty() { text.to_owned() } else { rest }
}

/// Why the plan is made so.
pub(super) fn reasoning(question: &Question, entries: &[Entry]) -> String {
    let names: Vec<&str> = entries.iter().map(|entry| entry.who.as_str()).collect();
    match names.is_empty() {
        true => {
            question.say("the question names nothing to work on", "질문에 작업할 내용이 없습니다").to_owned()
        }
        false => {
            format!("{}: {}", question.say("in this order", "진행 순서"), line(&names.join(" → "), MAX_TASK))
        }
    }
}

struct Draft<'a> {
    planner: &'a Planner<'a>,
    wording: usize,
}

impl Draft<'_> {
    fn whole(&self) -> Option<Vec<Entry>> {
        let shape = self.planner.shape;
        let mut entries = self.found();
        let mut looked_up = entries.len();
        if entries.is_empty() && self.names_nothing() && shape.least() == 0 {
            return Some(entries);
        }
        entries.extend(self.work());
        entries.extend(self.written());
        if entries.is_empty() {
            entries.extend(self.anyone());
        }
        // Who writes last stays, and of what is looked up the first.
        while entries.len() > shape.most() {
            looked_up = looked_up.saturating_sub(1);
            let spare = if looked_up > 0 { looked_up } else { entries.len().saturating_sub(2) };
            entries.remove(spare);
        }
        looked_up = looked_up.min(entries.len());
        if shape.asks_people && asks_to_be_asked(&self.question().text) && entries.len() < shape.most() {
            let place = looked_up.max(entries.len().saturating_sub(1));
            entries.insert(place, self.person());
        }
        let mut entries = shape.fit(linked(entries, looked_up))?;
        if shape.ends {
            let say = self.question().say(
                "Answer from what was found and name the sources.",
                "찾은 내용으로 답하고 출처를 밝힙니다.",
            );
            entries.push(Entry { who: FINAL_ANSWER.to_owned(), input: Some(say.into()), ..Entry::default() });
        }
        Some(entries)
    }

    /// The plan with the last agent's task worded differently.
    fn otherwise(&self) -> Option<Vec<Entry>> {
        let mut entries = self.whole()?;
        if entries.is_empty() {
            entries.extend(self.anyone());
        }
        let agents = &self.planner.shape.agents;
        let last = entries.iter_mut().rfind(|entry| agents.contains(&entry.who.as_str()))?;
        let more = self.question().say("in other words", "다른 말로");
        for text in [&mut last.task, &mut last.description].into_iter().flatten() {
            *text = format!("{text} ({more})");
        }
        Some(entries)
    }

    fn question(&self) -> &Question {
        self.planner.question
    }

    fn names_nothing(&self) -> bool {
        self.question().terms().is_empty() && self.question().expressions.is_empty()
    }

    /// The first agent with this duty.
    fn agent(&self, duty: Duty) -> Option<&str> {
        let shape = self.planner.shape;
        let does = |name: &&&str| shape.tool(name).is_some_and(|agent| Duty::of(agent) == Some(duty));
        shape.agents.iter().find(does).copied()
    }

    /// What is looked up: by the tools where there are any for it, else by who searches.
    fn found(&self) -> Vec<Entry> {
        let steps = self.planner.rung(self.wording);
        let tools = self.planner.sources();
        let mut entries: Vec<Entry> = steps.iter().map(|step| self.planner.entry(step)).collect();
        if !tools.is_empty() || self.names_nothing() && self.planner.shape.least() == 0 {
            return entries;
        }
        let Some(searcher) = self.agent(Duty::Search) else { return entries };
        if self.question().parts.is_empty() && !entries.is_empty() {
            return entries;
        }
        let label = self.question().say("search", "검색");
        entries.extend(self.searches().into_iter().map(|task| step(searcher, task, label)));
        entries
    }

    /// What is searched for: each part by itself where searches need not wait for one another.
    fn searches(&self) -> Vec<String> {
        let question = self.question();
        let all: Vec<Term> = question.terms().into_iter().cloned().collect();
        let apart = self.planner.shape.offers("depends_on") && question.parts.len() > 1;
        match self.wording {
            _ if all.is_empty() => {
                let text = line(&question.text, MAX_TASK);
                vec![if text.is_empty() { question.say("search", "검색").to_owned() } else { text }]
            }
            0 if apart => question.parts.iter().map(|part| query(&part.terms, MAX_TASK)).collect(),
            0 => vec![query(&all, MAX_TASK)],
            1 => vec![query(strongest(&all, 2), MAX_TASK)],
            _ => {
                vec![format!("{} {}", query(strongest(&all, 1), MAX_TASK), question.say("overview", "개요"))]
            }
        }
    }

    /// The work that is asked for, by those who do it.
    fn work(&self) -> Vec<Entry> {
        let mut asked = Duty::asked(&self.question().text);
        // Who cannot compare analyses; who has nobody to write has it put into a document.
        let stands_in = |asked: &mut Vec<Duty>, duty: Duty, other: Duty| {
            if asked.contains(&duty) && self.agent(duty).is_none() {
                asked.push(other);
            }
        };
        stands_in(&mut asked, Duty::Comparison, Duty::Analysis);
        stands_in(&mut asked, Duty::Writing, Duty::Document);
        let does = |duty: Duty| {
            let agent = self.agent(duty).filter(|_| asked.contains(&duty))?;
            let noun = duty.noun(self.question().korean);
            Some(step(agent, self.task(noun), noun))
        };
        WORK.into_iter().filter_map(does).collect()
    }

    /// The work and what it is on.
    fn task(&self, noun: &str) -> String {
        let subject = query(self.question().terms(), MAX_TASK);
        let subject = if subject.is_empty() { line(&self.question().text, MAX_TASK) } else { subject };
        match self.question().korean {
            false => format!("{noun} on {subject}"),
            true => format!("{subject} {noun}"),
        }
    }

    fn written(&self) -> Option<Entry> {
        let writer = self.agent(Duty::Writing)?;
        let label = self.question().say("write the answer", "답변 작성");
        let task = format!("{label}: {}", line(&self.question().text, MAX_TASK));
        Some(step(writer, task, label))
    }

    /// Where nobody's duty is asked for, the first agent gets the question.
    fn anyone(&self) -> Option<Entry> {
        let agent = self.planner.shape.agents.first()?;
        let label = self.question().say("work on the question", "질문에 대한 작업");
        let text = line(&self.question().text, MAX_TASK);
        Some(step(agent, if text.is_empty() { label.to_owned() } else { text }, label))
    }

    fn person(&self) -> Entry {
        let ask = self
            .question()
            .say("Shall I go on with what was found so far?", "지금까지의 결과로 계속 진행할까요?");
        let ask = Some(ask.to_owned());
        Entry {
            who: HITL.to_owned(),
            task: ask.clone(),
            description: ask.clone(),
            question: ask,
            ..Entry::default()
        }
    }
}

fn step(agent: &str, task: String, label: &str) -> Entry {
    let description = if task.contains(label) { task.clone() } else { format!("{label}: {task}") };
    Entry { who: agent.to_owned(), task: Some(task), description: Some(description), ..Entry::default() }
}

/// What is looked up waits for nobody; everybody else waits for all before, and works on the last
/// output that is no person's.
fn linked(mut entries: Vec<Entry>, looked_up: usize) -> Vec<Entry> {
    let mut last = None;
    for (at, entry) in entries.iter_mut().enumerate() {
        let person = entry.who == HITL;
        if at >= looked_up || person {
            entry.after = (0..at).collect();
            entry.from = last.filter(|_| !person);
        }
        last = if person { last } else { Some(at) };
    }
    entries
}

/// Whether the question wants a person to be asked on the way.
fn asks_to_be_asked(text: &str) -> bool {
    const CUES: [&str; 18] = [
        "확인할게",
        "확인할께",
        "확인하고 싶",
        "확인받",
        "확인 받",
        "승인",
        "물어봐",
        "물어보고",
        "허락",
        "ask me",
        "let me check",
        "let me confirm",
        "let me review",
        "approv",
        "confirm with me",
        "check with me",
        "sign off",
        "before you go on",
    ];
    let lower = text.to_lowercase();
    CUES.iter().any(|cue| lower.contains(cue))
}
