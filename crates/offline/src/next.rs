//! What a planner does next that goes on call by call: calls something, or answers.
//!
//! It calls at first what is proposed or what the question names; later what it is told to, what is
//! missing, or, where nothing was found, one thing more. Else it answers with what was found. It
//! never makes a call twice.

use serde_json::{Value, json};

use super::agent;
use super::conversation::Rounds;
use super::converse;
use super::cues;
use super::duties::{Duty, leave_the_subject};
use super::judge::judge;
use super::plan::Step;
use super::planner::{Planner, RUNGS, strongest};
use super::question::Question;
use super::request::Payload;
use super::results::Results;
use super::shape::Shape;
use super::terms::{Term, query};
use super::text::{clean, line};
use super::write;
use planwright::contract::{ToolContract, ToolEffect, schema};
use planwright::spec::RequestFrame;

/// Most rounds that are spent on finding anything where nobody asks for more.
const MAX_ROUNDS: usize = 3;
/// Most characters of a query.
const MAX_QUERY: usize = 200;

/// What a planner does next.
#[derive(Debug)]
pub(super) enum Next {
    /// At least one call.
    Call(Vec<Step>),
    /// The answer.
    Say(String),
}

/// What is next, and whether it is said in Korean.
pub(super) fn next(frame: &RequestFrame, payload: &Payload<'_>, rounds: &Rounds) -> (Next, bool) {
    let shape = Shape::of(frame);
    let mut question = Question::read(payload.query(), shape.tool("calc").is_some());
    leave_the_subject(&mut question);
    let missing = rounds.note.missing.as_deref().unwrap_or_default();
    let planner = Planner::new(&shape, &question, missing);
    let mut records = rounds.records();
    records.extend(payload.past().iter().cloned());
    records.extend(payload.records());
    let evidence = Results::parse(&records);
    let ahead =
        Ahead { payload, rounds, shape: &shape, question: &question, planner: &planner, evidence: &evidence };
    (ahead.next(), question.korean)
}

struct Ahead<'a> {
    payload: &'a Payload<'a>,
    rounds: &'a Rounds,
    shape: &'a Shape<'a>,
    question: &'a Question,
    planner: &'a Planner<'a>,
    evidence: &'a Results,
}

impl Ahead<'_> {
    fn next(&self) -> Next {
        if let Some(step) = self.demanded() {
            return Next::Call(vec![step]);
        }
        if self.rounds.made.is_empty() {
            return self.first();
        }
        let more = match &self.rounds.note.missing {
            Some(_) => self.missing(),
            None => self.going_on(),
        };
        more.map_or_else(|| self.answer(), |step| Next::Call(vec![step]))
    }

    fn is_new(&self, step: &Step) -> bool {
        let arguments = self.shape.tool(&step.tool).map(|tool| tool.arguments(&step.input));
        arguments.is_some_and(|arguments| !self.rounds.has_made(&step.tool, &arguments))
    }

    fn not_made(&self, steps: Vec<Step>) -> Vec<Step> {
        steps.into_iter().filter(|step| self.is_new(step)).collect()
    }

    /// The first move: what is proposed, else what the question names, else words.
    fn first(&self) -> Next {
        if let Some(words) = converse::easy(self.payload.query()) {
            return Next::Say(words);
        }
        if let Some(words) = self.remembered() {
            return Next::Say(words);
        }
        for steps in [self.proposed(), self.handed_over()] {
            if !steps.is_empty() {
                return Next::Call(steps);
            }
        }
        // Who was given what answers the task need not look for it.
        if self.payload.material.is_some() && judge(self.question, self.evidence).ok {
            return Next::Say(agent::reply(self.payload));
        }
        let steps = self.not_made(self.planner.rung(0));
        match steps.is_empty() {
            true => self.answer(),
            false => Next::Call(self.few(steps)),
        }
    }

    /// One call where one is all there may be: within another agent, or after several did not fit.
    fn few(&self, steps: Vec<Step>) -> Vec<Step> {
        let alone = self.payload.nested || self.payload.repair || self.rounds.note.repair.is_some();
        if !alone || steps.len() < 2 {
            return steps;
        }
        let whole =
            self.planner.sources().first().and_then(|tool| self.planner.ask(tool, &self.question.terms()));
        let calculation = steps.iter().find(|step| step.tool == "calc").cloned();
        calculation.or(whole).or(steps.into_iter().next()).into_iter().collect()
    }

    /// The proposed calls that the contract takes.
    fn proposed(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (tool, input) in self.payload.suggested() {
            let input = match input {
                Value::String(text) => json!(line(&clean(text, 4_000), 1_000)),
                other => other.clone(),
            };
            let takes = |tool: &&ToolContract| schema::check(&tool.input, &input).is_ok();
            if let Some(tool) = self.shape.tool(tool).filter(takes) {
                let step = Step { tool: tool.name.clone(), input, from: None };
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
        }
        self.not_made(steps)
    }

    /// The material, for a tool that works on it: the one whose work is asked for, else the first.
    fn handed_over(&self) -> Vec<Step> {
        let Some(material) = self.payload.material else { return Vec::new() };
        let asked = Duty::asked(&self.question.text);
        let works = |tool: &&&ToolContract| {
            !matches!(Duty::of(tool), None | Some(Duty::Search)) && tool.name != "calc"
        };
        let mut tools: Vec<&ToolContract> = self.shape.tools.iter().filter(works).copied().collect();
        tools.sort_by_key(|tool| !Duty::of(tool).is_some_and(|duty| asked.contains(&duty)));
        let step = tools.into_iter().find_map(|tool| self.shape.hand_over(tool, &clean(material, 8_000)));
        self.not_made(step.into_iter().collect())
    }

    /// An answer out of what the user said earlier in this conversation, to a question about just that.
    fn remembered(&self) -> Option<String> {
        let text = &self.question.text;
        if !self.question.expressions.is_empty() || !(cues::refers(text) || cues::is_about_the_speaker(text))
        {
            return None;
        }
        let source = self.question.say("earlier in this conversation", "이 대화의 앞부분");
        let told = |text: &str| !text.ends_with('?') && !cues::asks(text) && cues::small_talk(text).is_none();
        let turns = self.payload.history();
        let turns = turns.iter().filter(|turn| turn.user && told(&turn.text));
        let records: Vec<Value> =
            turns.map(|turn| json!({"tool": source, "status": "completed", "output": turn.text})).collect();
        let evidence = Results::parse(&records);
        let names = self.question.terms().iter().any(|term| !term.verb);
        (names && !evidence.passages.is_empty() && judge(self.question, &evidence).ok)
            .then(|| write::write(self.question, &evidence))
    }

    /// The call that a repair note demands: of the tool that it names.
    fn demanded(&self) -> Option<Step> {
        let error = self.rounds.note.repair.as_deref()?;
        let words = error.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let named: Vec<&ToolContract> = words.filter_map(|word| self.shape.tool(word)).collect();
        let called = |tool: &ToolContract| self.rounds.made.iter().any(|made| made.tool == tool.name);
        let tool = named.iter().find(|tool| !called(tool)).or(named.first())?;
        self.subjects(tool)
            .iter()
            .filter_map(|subject| self.shape.step(tool, subject))
            .find(|step| self.is_new(step))
    }

    /// What a tool may be asked for, best first.
    fn subjects(&self, tool: &ToolContract) -> Vec<String> {
        let mut subjects: Vec<String> = Vec::new();
        if tool.name == "calc" {
            subjects.extend(self.question.expressions.iter().cloned());
        }
        // What wants an exact title is given one that was found.
        let lower = format!("{} {}", tool.name, tool.description).to_lowercase();
        if lower.contains("title") || lower.contains("제목") {
            let found = self.evidence.passages.iter().map(|passage| passage.source.as_str());
            let titles = found.filter(|source| self.shape.tool(source).is_none());
            subjects.extend(titles.map(|source| source.split(" (http").next().unwrap_or(source).to_owned()));
        }
        let terms: Vec<Term> = self.question.terms().into_iter().cloned().collect();
        subjects.push(query(&terms, MAX_QUERY));
        subjects.extend(strongest(&terms, 3).into_iter().map(|term| term.text.clone()));
        subjects.push(line(&self.question.text, MAX_QUERY));
        subjects.retain(|subject| !subject.trim().is_empty());
        subjects
    }

    /// One more call for what is missing. Words that are not the question's own are only ever looked
    /// for in tools that touch nothing outside.
    fn missing(&self) -> Option<Step> {
        let missing = self.rounds.note.missing.as_deref().unwrap_or_default();
        let hinted = super::terms::hinted(&clean(missing, 1_000));
        let own = self.question.terms();
        let (known, new): (Vec<&Term>, Vec<&Term>) =
            hinted.iter().partition(|term| own.iter().any(|known| known.text == term.text));
        let sources = self.planner.sources();
        let mut steps: Vec<Step> = Vec::new();
        let pure = sources.iter().find(|tool| tool.effect == ToolEffect::Pure);
        if !known.is_empty() {
            steps.extend(sources.first().and_then(|tool| self.planner.ask(tool, &known)));
        }
        if !new.is_empty() {
            let all: Vec<&Term> = hinted.iter().collect();
            steps.extend(pure.and_then(|tool| self.planner.ask(tool, &all)));
        }
        for tool in &sources {
            steps.extend(self.planner.ask(tool, &own));
        }
        steps.extend((0..RUNGS).flat_map(|rung| self.planner.rung(rung)));
        steps.into_iter().find(|step| self.is_new(step))
    }

    /// One more call where nobody asks for it: what was planned and not called yet, else other words
    /// or another tool, while nothing was found.
    fn going_on(&self) -> Option<Step> {
        let planned = self.planner.rung(0);
        if judge(self.question, self.evidence).ok {
            // Where a proposal was taken, it took the place of what the question names.
            let begun = planned.iter().any(|step| !self.is_new(step));
            return self.not_made(planned).into_iter().next().filter(|_| begun);
        }
        let spent = self.rounds.count >= MAX_ROUNDS;
        let rungs = (0..RUNGS).flat_map(|rung| self.planner.rung(rung));
        rungs.filter(|_| !spent).find(|step| self.is_new(step))
    }

    fn answer(&self) -> Next {
        Next::Say(match self.rounds.note.repair.is_some() || self.payload.repair {
            true => write::write_briefly(self.question, self.evidence),
            false => write::write(self.question, self.evidence),
        })
    }
}
