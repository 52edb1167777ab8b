//! What a planner does next that goes on call by call: it calls something, or answers.
//!
//! At first it calls what is proposed or what the question names; later what it is told to or what is
//! missing; if nothing was found, one thing more. Else it answers with what was found. It never makes a call
//! twice.

use serde_json::{Value, json};

use super::agent;
use super::conversation::{Made, Rounds, final_answer, thought_and_action};
use super::judge::judge;
use super::lexicon::Duty;
use super::payload::{Payload, completed};
use super::planner::{CALC, MAX_QUERY, Planner};
use super::question::Question;
use super::results::Results;
use super::shape::{Shape, Step};
use super::talk;
use super::terms::{Term, hinted, query, strongest};
use super::text::{clean, line};
use super::write::write;
use planwright::contract::{ToolContract, ToolEffect, schema};
use planwright::machine::ModelReply;
use planwright::prompt::ModelRequest;

const MAX_ROUNDS: usize = 3;
const MAX_MATERIAL_CHARS: usize = 4_000;

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
    let question = Question::parse(payload.query(), shape.tool(CALC).is_some()).without_work();
    let planner = Planner::new(&shape, &question, rounds.missing.as_deref().unwrap_or_default());
    let observed = rounds.made.iter().filter_map(|made| made.record.clone()).collect();
    let records = [observed, payload.list("past_steps").to_vec(), payload.records()].concat();
    let ahead = Ahead { payload, rounds: &rounds, planner, results: Results::parse(&records) };
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
    planner: Planner<'a>,
    results: Results,
}

impl Ahead<'_> {
    fn next(&self) -> Next {
        if let Some(step) = self.demanded() {
            return Next::Call(vec![step]);
        }
        if self.rounds.made.is_empty() {
            return self.first();
        }
        let more = match &self.rounds.missing {
            Some(missing) => self.for_missing(missing),
            None => self.going_on(),
        };
        more.map_or_else(|| self.answer(), |step| Next::Call(vec![step]))
    }

    fn is_new(&self, step: &Step) -> bool {
        let input = step.input.clone().unwrap_or_default();
        let arguments = self.planner.shape.tool(&step.who).map(|tool| tool.arguments(&input));
        let same = |made: &Made| made.tool == step.who && Some(&made.arguments) == arguments.as_ref();
        arguments.is_some() && !self.rounds.made.iter().any(same)
    }

    /// The first move: what is proposed, else what the question names, else an answer.
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
        // Material that answers the task makes a search needless.
        if self.payload.text("material").is_some() && judge(self.planner.question, &self.results).ok {
            return Next::Say(agent::work(self.payload));
        }
        let mut steps = self.planner.rung(0);
        steps.retain(|step| self.is_new(step));
        if steps.is_empty() { self.answer() } else { Next::Call(self.few(steps)) }
    }

    /// One call if there may be no more: within another agent, or after several did not fit.
    fn few(&self, steps: Vec<Step>) -> Vec<Step> {
        let nested = self.payload.text("on_behalf_of").is_some();
        let alone = nested || self.payload.repair || self.rounds.repair.is_some();
        if !alone || steps.len() < 2 {
            return steps;
        }
        let all = || self.planner.ask(self.planner.sources.first()?, &self.planner.question.terms());
        let calculation = steps.iter().find(|step| step.who == CALC).cloned();
        calculation.or_else(all).or(steps.into_iter().next()).into_iter().collect()
    }

    fn proposed(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for call in self.payload.list("suggested_calls") {
            let tool =
                call.get("tool").and_then(Value::as_str).and_then(|name| self.planner.shape.tool(name));
            let (Some(tool), Some(input)) = (tool, call.get("input")) else { continue };
            let input = match input {
                Value::String(text) => json!(line(&clean(text, 4_000), 1_000)),
                other => other.clone(),
            };
            let takes = schema::check(&tool.input, &input).is_ok();
            let step = Step::call(&tool.name, input);
            if takes && !step.is_in(&steps) {
                steps.push(step);
            }
        }
        steps
    }

    /// The material, for a tool that works on it: the one whose work is asked for, else the first.
    fn handed_over(&self) -> Vec<Step> {
        let Some(material) = self.payload.text("material") else { return Vec::new() };
        let asked = Duty::asked(&self.planner.question.text);
        let works =
            |tool: &&ToolContract| !matches!(Duty::of(tool), None | Some(Duty::Search)) && tool.name != CALC;
        let mut tools: Vec<&ToolContract> = self.planner.shape.tools.iter().copied().filter(works).collect();
        tools.sort_by_key(|tool| !Duty::of(tool).is_some_and(|duty| asked.contains(&duty)));
        let text = clean(material, 2 * MAX_MATERIAL_CHARS);
        tools
            .into_iter()
            .find_map(|tool| self.planner.shape.step(tool, &text, MAX_MATERIAL_CHARS))
            .into_iter()
            .collect()
    }

    /// An answer out of what the user said earlier in this conversation, to a question about just that.
    fn remembered(&self) -> Option<String> {
        let text = &self.planner.question.text;
        let refers = talk::refers(text) || talk::is_about_the_speaker(text);
        if !self.planner.question.expressions.is_empty() || !refers {
            return None;
        }
        let source = self.planner.question.say("earlier_in_this_conversation");
        let told = |text: &str| !text.ends_with('?') && !talk::asks(text) && talk::small_talk(text).is_none();
        let turns = self.payload.history().into_iter().filter(|turn| turn.user && told(&turn.text));
        let records: Vec<Value> = turns.map(|turn| completed(source, &turn.text)).collect();
        let results = Results::parse(&records);
        let names = self.planner.question.terms().iter().any(|term| !term.is_verb());
        (names && !results.passages.is_empty() && judge(self.planner.question, &results).ok)
            .then(|| write(self.planner.question, &results, false))
    }

    fn demanded(&self) -> Option<Step> {
        let error = self.rounds.repair.as_deref()?;
        let words = error.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let named: Vec<&ToolContract> = words.filter_map(|word| self.planner.shape.tool(word)).collect();
        let called = |tool: &ToolContract| self.rounds.made.iter().any(|made| made.tool == tool.name);
        let tool = named.iter().find(|tool| !called(tool)).or(named.first())?;
        let step = |subject: String| self.planner.shape.step(tool, &subject, MAX_QUERY);
        self.subjects(tool).into_iter().filter_map(step).find(|step| self.is_new(step))
    }

    fn subjects(&self, tool: &ToolContract) -> Vec<String> {
        let mut subjects: Vec<String> = Vec::new();
        if tool.name == CALC {
            subjects.extend(self.planner.question.expressions.iter().cloned());
        }
        // What wants an exact title is given one that was found.
        let lower = format!("{} {}", tool.name, tool.description).to_lowercase();
        if lower.contains("title") || lower.contains("제목") {
            let found = self.results.passages.iter().map(|passage| passage.source.as_str());
            let titles = found.filter(|source| self.planner.shape.tool(source).is_none());
            subjects.extend(titles.map(|source| source.split(" (http").next().unwrap_or(source).to_owned()));
        }
        let terms = self.planner.question.terms();
        subjects.push(query(terms.iter().copied(), MAX_QUERY));
        subjects.extend(strongest(&terms, 3).into_iter().map(|term| term.text.clone()));
        subjects.push(line(&self.planner.question.text, MAX_QUERY));
        subjects.retain(|subject| !subject.trim().is_empty());
        subjects
    }

    /// One more call for what is missing. Only the question's own words ever leave the machine.
    fn for_missing(&self, missing: &str) -> Option<Step> {
        let hinted = hinted(&clean(missing, 1_000));
        let own = self.planner.question.terms();
        let all: Vec<&Term> = hinted.iter().collect();
        let is_known = |term: &&Term| own.iter().any(|known| known.text == term.text);
        let known: Vec<&Term> = all.iter().copied().filter(is_known).collect();
        let sources = &self.planner.sources;
        let first = sources.first().filter(|_| !known.is_empty()).map(|tool| (tool, &known));
        let pure = sources.iter().find(|tool| tool.effect == ToolEffect::Pure && known.len() < all.len());
        let asked = first.into_iter().chain(pure.map(|tool| (tool, &all)));
        let asked = asked.chain(sources.iter().map(|tool| (tool, &own)));
        let asked = asked.filter_map(|(tool, terms)| self.planner.ask(tool, terms));
        asked.chain(self.planner.ladder()).find(|step| self.is_new(step))
    }

    /// One more call if none is asked for: what was planned, or while nothing was found, the next rung.
    fn going_on(&self) -> Option<Step> {
        if judge(self.planner.question, &self.results).ok {
            // If a proposal was taken, it took the place of what the question names.
            let planned = self.planner.rung(0);
            let begun = planned.iter().any(|step| !self.is_new(step));
            return planned.into_iter().find(|step| begun && self.is_new(step));
        }
        let spent = self.rounds.count >= MAX_ROUNDS;
        self.planner.ladder().find(|step| !spent && self.is_new(step))
    }

    fn answer(&self) -> Next {
        let brief = self.rounds.repair.is_some() || self.payload.repair;
        Next::Say(write(self.planner.question, &self.results, brief))
    }
}
