//! What a planner does next that goes on call by call: calls something, or answers.
//!
//! It calls at first what is proposed or what the question names; later what it is told to, what is
//! missing, or, where nothing was found, one thing more. Else it answers with what was found. It
//! never makes a call twice.

use serde_json::{Value, json};

use super::agent;
use super::conversation::{Rounds, final_answer, thought_and_action};
use super::cues;
use super::duties::{Duty, leave_the_subject};
use super::judge::judge;
use super::payload::{Payload, completed};
use super::planner::{CALC, MAX_QUERY, Planner, RUNGS, strongest};
use super::question::Question;
use super::results::Results;
use super::shape::{Shape, Step};
use super::talk;
use super::terms::{Term, hinted, query};
use super::text::{clean, line};
use super::write::write;
use planwright::contract::{ToolContract, ToolEffect, schema};
use planwright::machine::ModelReply;
use planwright::prompt::ModelRequest;

/// Most rounds that are spent on finding anything where none is asked for.
const MAX_ROUNDS: usize = 3;
/// Most characters of a text that is handed over to be worked on.
const MAX_MATERIAL: usize = 4_000;

/// What a planner does next.
enum Next {
    /// At least one call.
    Call(Vec<Step>),
    /// The answer.
    Say(String),
}

/// The reply of the role: as native calls, or as thought and action.
pub(super) fn reply(request: &ModelRequest, payload: &Payload<'_>) -> ModelReply {
    let frame = &request.frame;
    let rounds = Rounds::parse(&request.conversation, &frame.tools);
    let shape = Shape::of(frame);
    let mut question = Question::parse(payload.query(), shape.tool(CALC).is_some());
    leave_the_subject(&mut question);
    let missing = rounds.note.missing.as_deref().unwrap_or_default();
    let planner = Planner::new(&shape, &question, missing);
    let mut records = rounds.records();
    records.extend(payload.list("past_steps").iter().cloned());
    records.extend(payload.records());
    let results = Results::parse(&records);
    let ahead = Ahead {
        payload,
        rounds: &rounds,
        shape: &shape,
        question: &question,
        planner: &planner,
        results: &results,
    };
    let korean = question.korean;
    match ahead.next() {
        Next::Call(steps) if frame.native_calls => ModelReply::calls(steps.into_iter().filter_map(|step| {
            let arguments = shape.tool(&step.who)?.arguments(&step.input.unwrap_or_default());
            Some((step.who, arguments))
        })),
        Next::Call(steps) => {
            ModelReply::text(steps.first().map(|step| thought_and_action(step, korean)).unwrap_or_default())
        }
        Next::Say(words) if frame.native_calls => ModelReply::text(words),
        Next::Say(words) => ModelReply::text(final_answer(&words, korean)),
    }
}

struct Ahead<'a> {
    payload: &'a Payload<'a>,
    rounds: &'a Rounds,
    shape: &'a Shape<'a>,
    question: &'a Question,
    planner: &'a Planner<'a>,
    results: &'a Results,
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
            Some(missing) => self.for_missing(missing),
            None => self.going_on(),
        };
        more.map_or_else(|| self.answer(), |step| Next::Call(vec![step]))
    }

    fn is_new(&self, step: &Step) -> bool {
        let input = step.input.clone().unwrap_or_default();
        let arguments = self.shape.tool(&step.who).map(|tool| tool.arguments(&input));
        arguments.is_some_and(|arguments| !self.rounds.has_made(&step.who, &arguments))
    }

    /// The first move: what is proposed, else what the question names, else words.
    fn first(&self) -> Next {
        if let Some(words) = talk::answer_at_once(self.payload.query()).or_else(|| self.remembered()) {
            return Next::Say(words);
        }
        for mut steps in [self.proposed(), self.handed_over()] {
            steps.retain(|step| self.is_new(step));
            if !steps.is_empty() {
                return Next::Call(steps);
            }
        }
        // Who was given what answers the task need not look for it.
        if self.payload.text("material").is_some() && judge(self.question, self.results).ok {
            return Next::Say(agent::reply(self.payload));
        }
        let mut steps = self.planner.rung(0);
        steps.retain(|step| self.is_new(step));
        if steps.is_empty() { self.answer() } else { Next::Call(self.few(steps)) }
    }

    /// One call where one is all there may be: within another agent, or after several did not fit.
    fn few(&self, steps: Vec<Step>) -> Vec<Step> {
        let nested = self.payload.text("on_behalf_of").is_some();
        let alone = nested || self.payload.repair || self.rounds.note.repair.is_some();
        if !alone || steps.len() < 2 {
            return steps;
        }
        let first = self.planner.sources().first().copied();
        let whole = first.and_then(|tool| self.planner.ask(tool, &self.question.terms()));
        let calculation = steps.iter().find(|step| step.who == CALC).cloned();
        calculation.or(whole).or(steps.into_iter().next()).into_iter().collect()
    }

    /// The proposed calls that the contract takes.
    fn proposed(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for call in self.payload.list("suggested_calls") {
            let tool = call.get("tool").and_then(Value::as_str).and_then(|name| self.shape.tool(name));
            let (Some(tool), Some(input)) = (tool, call.get("input")) else { continue };
            let input = match input {
                Value::String(text) => json!(line(&clean(text, 4_000), 1_000)),
                other => other.clone(),
            };
            let takes = schema::check(&tool.input, &input).is_ok();
            let step = Step::call(&tool.name, input);
            if takes && !steps.iter().any(|known| known.asks_like(&step)) {
                steps.push(step);
            }
        }
        steps
    }

    /// The material, for a tool that works on it: the one whose work is asked for, else the first.
    fn handed_over(&self) -> Vec<Step> {
        let Some(material) = self.payload.text("material") else { return Vec::new() };
        let asked = Duty::asked(&self.question.text);
        let works =
            |tool: &&ToolContract| !matches!(Duty::of(tool), None | Some(Duty::Search)) && tool.name != CALC;
        let mut tools: Vec<&ToolContract> = self.shape.tools.iter().copied().filter(works).collect();
        tools.sort_by_key(|tool| !Duty::of(tool).is_some_and(|duty| asked.contains(&duty)));
        let text = clean(material, 2 * MAX_MATERIAL);
        tools.into_iter().find_map(|tool| self.shape.step(tool, &text, MAX_MATERIAL)).into_iter().collect()
    }

    /// An answer out of what the user said earlier in this conversation, to a question about just that.
    fn remembered(&self) -> Option<String> {
        let text = &self.question.text;
        let refers = cues::refers(text) || cues::is_about_the_speaker(text);
        if !self.question.expressions.is_empty() || !refers {
            return None;
        }
        let source = self.question.say("earlier in this conversation", "이 대화의 앞부분");
        let told = |text: &str| !text.ends_with('?') && !cues::asks(text) && cues::small_talk(text).is_none();
        let turns = self.payload.history().into_iter().filter(|turn| turn.user && told(&turn.text));
        let records: Vec<Value> = turns.map(|turn| completed(source, &turn.text)).collect();
        let results = Results::parse(&records);
        let names = self.question.terms().iter().any(|term| !term.verb);
        (names && !results.passages.is_empty() && judge(self.question, &results).ok)
            .then(|| write(self.question, &results, false))
    }

    /// The call that a repair note demands: of the tool that it names.
    fn demanded(&self) -> Option<Step> {
        let error = self.rounds.note.repair.as_deref()?;
        let words = error.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let named: Vec<&ToolContract> = words.filter_map(|word| self.shape.tool(word)).collect();
        let called = |tool: &ToolContract| self.rounds.made.iter().any(|made| made.tool == tool.name);
        let tool = named.iter().find(|tool| !called(tool)).or(named.first())?;
        let subjects = self.subjects(tool).into_iter();
        subjects
            .filter_map(|subject| self.shape.step(tool, &subject, MAX_QUERY))
            .find(|step| self.is_new(step))
    }

    /// What a tool may be asked for, best first.
    fn subjects(&self, tool: &ToolContract) -> Vec<String> {
        let mut subjects: Vec<String> = Vec::new();
        if tool.name == CALC {
            subjects.extend(self.question.expressions.iter().cloned());
        }
        // What wants an exact title is given one that was found.
        let lower = format!("{} {}", tool.name, tool.description).to_lowercase();
        if lower.contains("title") || lower.contains("제목") {
            let found = self.results.passages.iter().map(|passage| passage.source.as_str());
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
    fn for_missing(&self, missing: &str) -> Option<Step> {
        let hinted = hinted(&clean(missing, 1_000));
        let own = self.question.terms();
        let is_known = |term: &&Term| own.iter().any(|known| known.text == term.text);
        let (known, all): (Vec<&Term>, Vec<&Term>) =
            (hinted.iter().filter(is_known).collect(), hinted.iter().collect());
        let sources = self.planner.sources();
        let first = sources.first().filter(|_| !known.is_empty());
        let pure = sources.iter().find(|tool| tool.effect == ToolEffect::Pure && known.len() < all.len());
        let asked =
            [(first, &known), (pure, &all)].into_iter().filter_map(|(tool, terms)| Some((tool?, terms)));
        let asked = asked.chain(sources.iter().map(|tool| (tool, &own)));
        let asked = asked.filter_map(|(tool, terms)| self.planner.ask(tool, terms));
        asked.chain(self.ladder()).find(|step| self.is_new(step))
    }

    /// One more call where none is asked for: what was planned and not called yet, else other words
    /// or another tool, while nothing was found.
    fn going_on(&self) -> Option<Step> {
        if judge(self.question, self.results).ok {
            // Where a proposal was taken, it took the place of what the question names.
            let planned = self.planner.rung(0);
            let begun = planned.iter().any(|step| !self.is_new(step));
            return planned.into_iter().find(|step| begun && self.is_new(step));
        }
        let spent = self.rounds.count >= MAX_ROUNDS;
        self.ladder().find(|step| !spent && self.is_new(step))
    }

    fn ladder(&self) -> impl Iterator<Item = Step> {
        (0..RUNGS).flat_map(|rung| self.planner.rung(rung))
    }

    fn answer(&self) -> Next {
        let brief = self.rounds.note.repair.is_some() || self.payload.repair;
        Next::Say(write(self.question, self.results, brief))
    }
}
