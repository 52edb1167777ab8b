//! What a planner does next that goes on call by call: it calls something, or answers.
//!
//! At first it calls what is proposed or what the question names; later what it is told to or what is
//! missing; if nothing was found, one thing more. Else it answers with what was found. It never makes a call
//! twice. What it called before, what came of it and what it is told last stands in the conversation: as native calls, or
//! as thought and action in a text.

use serde_json::{Value, json};

use super::agent;
use super::answer::{judge, write};
use super::lexicon::{Duty, say, table};
use super::payload::{Payload, as_text, completed, str_of};
use super::planner::{CALC, MAX_QUERY, Planner};
use super::question::Question;
use super::results::Results;
use super::shape::{Shape, call, each_once};
use super::talk;
use super::terms::{Term, hinted, query, strongest};
use super::text::{clean, line, words};
use planwright::contract::schema::Schema;
use planwright::contract::{PlanStep, ToolContract};
use planwright::machine::ModelReply;
use planwright::prompt::{Message, ModelRequest};

/// After so many calls none is made that nobody asked for.
const MAX_CALLS: usize = 3;
const MAX_MATERIAL_CHARS: usize = 4_000;
const MAX_THOUGHT_CHARS: usize = 200;

enum Next {
    /// At least one call.
    Call(Vec<PlanStep>),
    /// The answer.
    Say(String),
}

/// The reply of the role: as native calls, or as thought and action.
pub(super) fn reply(request: &ModelRequest, payload: &Payload<'_>) -> ModelReply {
    let frame = &request.frame;
    let rounds = Rounds::parse(&request.conversation, &frame.tools);
    let shape = Shape::of(frame);
    let question = Question::parse(payload.query(), shape.tool(CALC).is_some()).without_work();
    let planner = Planner::new(&shape, &question);
    let observed = rounds.made.iter().filter_map(|made| made.record.clone()).collect();
    let records = [observed, payload.list("past_steps").to_vec(), payload.records()].concat();
    let ahead = Ahead { payload, rounds: &rounds, planner, results: Results::parse(&records) };
    let korean = question.korean;
    match ahead.next() {
        Next::Call(steps) if frame.native_calls => ModelReply::calls(steps.into_iter().filter_map(|step| {
            let arguments = shape.tool(&step.tool)?.arguments(&step.input.unwrap_or_default());
            Some((step.tool, arguments))
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

    fn is_new(&self, step: &PlanStep) -> bool {
        let input = step.input.clone().unwrap_or_default();
        let arguments = self.planner.shape.tool(&step.tool).map(|tool| tool.arguments(&input));
        let same = |made: &Made| made.tool == step.tool && Some(&made.arguments) == arguments.as_ref();
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
            return Next::Say(agent::work(self.payload).unwrap_or_else(|nothing| nothing));
        }
        let mut steps = self.planner.rung(0);
        steps.retain(|step| self.is_new(step));
        if steps.is_empty() { self.answer() } else { Next::Call(self.few(steps)) }
    }

    /// One call if there may be no more: within another agent, or after several did not fit.
    fn few(&self, steps: Vec<PlanStep>) -> Vec<PlanStep> {
        let nested = self.payload.text("on_behalf_of").is_some();
        let alone = nested || self.payload.repair || self.rounds.repair.is_some();
        if !alone || steps.len() < 2 {
            return steps;
        }
        let all = || self.planner.ask(self.planner.sources.first()?, &self.planner.question.terms());
        let calculation = steps.into_iter().find(|step| step.tool == CALC);
        calculation.or_else(all).into_iter().collect()
    }

    fn proposed(&self) -> Vec<PlanStep> {
        let step = |proposal: &Value| {
            let tool = self.planner.shape.tool(str_of(proposal, "tool"))?;
            let input = match proposal.get("input")? {
                Value::String(text) => json!(line(&clean(text, 4_000), 1_000)),
                other => other.clone(),
            };
            let fits = Schema::new(&tool.input).is_ok_and(|schema| schema.check(&input).is_ok());
            fits.then(|| call(&tool.name, input))
        };
        each_once(self.payload.list("suggested_calls").iter().filter_map(step))
    }

    /// The material, for a tool that works on it: the one whose work is asked for, else the first.
    fn handed_over(&self) -> Vec<PlanStep> {
        let (shape, asked) = (self.planner.shape, Duty::asked(&self.planner.question.text));
        let Some(material) = self.payload.text("material") else { return Vec::new() };
        let works =
            |tool: &&ToolContract| !matches!(Duty::of(tool), None | Some(Duty::Search)) && tool.name != CALC;
        let mut tools: Vec<&ToolContract> = shape.tools.iter().copied().filter(works).collect();
        tools.sort_by_key(|tool| !Duty::of(tool).is_some_and(|duty| asked.contains(&duty)));
        let text = clean(material, 2 * MAX_MATERIAL_CHARS);
        let step = tools.into_iter().find_map(|tool| shape.step(tool, &text, MAX_MATERIAL_CHARS));
        step.into_iter().collect()
    }

    /// An answer out of what the user said earlier in this conversation, to a question about just that.
    fn remembered(&self) -> Option<String> {
        let text = &self.planner.question.text;
        let refers =
            talk::refers(text) || words(text).any(|word| table("speaker").has(&word.text.to_lowercase()));
        if !self.planner.question.expressions.is_empty() || !refers {
            return None;
        }
        let source = self.planner.question.say("earlier_in_this_conversation");
        let tells = |turn: &String| !talk::asks(turn) && talk::small_talk(turn).is_none();
        let turns = self.payload.turns().into_iter().filter(tells);
        let records: Vec<Value> = turns.map(|turn| completed(source, &turn)).collect();
        let results = Results::parse(&records);
        let names = self.planner.question.terms().iter().any(|term| !term.is_verb());
        (names && !results.passages.is_empty() && judge(self.planner.question, &results).ok)
            .then(|| write(self.planner.question, &results, false))
    }

    /// A call of the tool that the error names, for what was not asked of it before.
    fn demanded(&self) -> Option<PlanStep> {
        let error = self.rounds.repair.as_deref()?;
        let (shape, question) = (self.planner.shape, self.planner.question);
        let words = error.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let named: Vec<&ToolContract> = words.filter_map(|word| shape.tool(word)).collect();
        let called = |tool: &ToolContract| self.rounds.made.iter().any(|made| made.tool == tool.name);
        let tool = named.iter().find(|tool| !called(tool)).or(named.first())?;
        let expressions = question.expressions.iter().map(String::as_str).filter(|_| tool.name == CALC);
        // What wants an exact title is given one that was found.
        let lower = format!("{} {}", tool.name, tool.description).to_lowercase();
        let titled = lower.contains("title") || lower.contains("제목");
        let found = self.results.passages.iter().map(|passage| passage.source.as_str()).filter(|_| titled);
        let titles = found.filter(|source| shape.tool(source).is_none());
        let titles = titles.map(|source| source.split(" (http").next().unwrap_or(source));
        let terms = question.terms();
        let all = query(terms.iter().copied(), MAX_QUERY);
        let single = strongest(&terms, 3).into_iter().map(|term| term.text.as_str());
        let subjects =
            expressions.chain(titles).chain([all.as_str()]).chain(single).chain([question.text.as_str()]);
        let subjects = subjects.filter(|subject| !subject.trim().is_empty());
        subjects.filter_map(|subject| shape.step(tool, subject, MAX_QUERY)).find(|step| self.is_new(step))
    }

    /// One more call for what is missing. Only the question's own words ever leave the machine.
    fn for_missing(&self, missing: &str) -> Option<PlanStep> {
        let hinted = hinted(&clean(missing, 1_000));
        let own = self.planner.question.terms();
        let is_known = |term: &&Term| own.iter().any(|known| known.text == term.text);
        let known: Vec<&Term> = hinted.iter().filter(is_known).collect();
        let sources = &self.planner.sources;
        let first = sources.first().filter(|_| !known.is_empty());
        let first = first.and_then(|tool| self.planner.ask(tool, &known));
        let all = sources.iter().filter_map(|tool| self.planner.ask(tool, &own));
        let asked = first.into_iter().chain(self.planner.hinted_step(missing)).chain(all);
        asked.chain(self.planner.ladder()).find(|step| self.is_new(step))
    }

    /// One more call if none is asked for: what was planned, or while nothing was found, the next rung.
    fn going_on(&self) -> Option<PlanStep> {
        if judge(self.planner.question, &self.results).ok {
            // If a proposal was taken, it took the place of what the question names.
            let planned = self.planner.rung(0);
            let begun = planned.iter().any(|step| !self.is_new(step));
            return planned.into_iter().find(|step| begun && self.is_new(step));
        }
        let spent = self.rounds.made.len() >= MAX_CALLS;
        self.planner.ladder().find(|step| !spent && self.is_new(step))
    }

    fn answer(&self) -> Next {
        let brief = self.rounds.repair.is_some() || self.payload.repair;
        Next::Say(write(self.planner.question, &self.results, brief))
    }
}

struct Made {
    id: String,
    tool: String,
    /// As a native call has them, also if the call was written as text.
    arguments: Value,
    record: Option<Value>,
}

#[derive(Default)]
struct Rounds {
    made: Vec<Made>,
    /// What does not fit in the last reply.
    repair: Option<String>,
    /// What is still missing after the last call, or why it is.
    missing: Option<String>,
}

impl Rounds {
    fn parse(messages: &[Message], tools: &[ToolContract]) -> Self {
        let mut rounds = Rounds::default();
        for message in messages {
            match message {
                Message::Assistant { text, calls, .. } => {
                    (rounds.repair, rounds.missing) = (None, None);
                    let native = calls.iter().map(|call| {
                        let (id, tool, arguments) =
                            (call.id.clone(), call.name.clone(), call.arguments.clone());
                        Made { id, tool, arguments, record: None }
                    });
                    rounds.made.extend(native.chain(parse_action(text, tools).filter(|_| calls.is_empty())));
                }
                Message::Tool { id, content, .. } => rounds.add_result(|made| made.id == *id, content),
                Message::User { content } => rounds.take_note(content),
            }
        }
        rounds
    }

    fn add_result(&mut self, is_it: impl Fn(&Made) -> bool, content: &str) {
        let Some(made) = self.made.iter_mut().find(|made| made.record.is_none() && is_it(made)) else {
            return;
        };
        let parsed: Option<Value> = serde_json::from_str(content).ok().filter(Value::is_object);
        let field = |key: &str| parsed.as_ref()?.get(key)?.as_str();
        let status = field("status").unwrap_or("completed");
        let output = if parsed.is_some() { field("output").unwrap_or_default() } else { content };
        // A call that repeated another was left out, and brought nothing.
        let output = if status == "skipped" { "" } else { output };
        let input = made.arguments.as_object().and_then(|fields| fields.values().find_map(Value::as_str));
        made.record = Some(json!({"tool": made.tool, "input": input, "status": status, "output": output}));
    }

    fn take_note(&mut self, content: &str) {
        let Ok(note) = serde_json::from_str::<Value>(content) else { return };
        if let Some(observed) = note.get("observation") {
            self.add_result(|_| true, &as_text(observed));
            (self.repair, self.missing) = (None, None);
        }
        if let Some(repair) = note.get("repair") {
            self.repair = Some(as_text(repair.get("error").unwrap_or(repair)));
        }
        if note.get("missing_info").is_some() {
            let mut reasons = ["missing_info", "reason"].map(|key| str_of(&note, key)).into_iter();
            self.missing = Some(reasons.find(|text| !text.trim().is_empty()).unwrap_or_default().to_owned());
        }
    }
}

fn thought_and_action(step: &PlanStep, korean: bool) -> String {
    let input = match &step.input {
        Some(Value::String(text)) => line(text, usize::MAX),
        other => json!(other).to_string(),
    };
    let thought = say("i_call", korean).replacen("{}", &step.tool, 1).replacen("{}", &input, 1);
    format!("Thought: {}\nAction: {}\nAction Input: {input}", line(&thought, MAX_THOUGHT_CHARS), step.tool)
}

/// The final answer. A line of it that looks like a label is set apart, so that it is not read as one.
fn final_answer(text: &str, korean: bool) -> String {
    let set_apart = |line: &str| match table("labels").begin(&line.trim_start().to_lowercase()) {
        true => format!("· {}", line.trim_start()),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(set_apart).collect();
    format!("Thought: {}\nFinal Answer: {}", say("i_answer", korean), lines.join("\n"))
}

/// The action of an earlier reply, with its arguments as a native call has them.
fn parse_action(text: &str, tools: &[ToolContract]) -> Option<Made> {
    let labelled =
        |label: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(label)).map(str::trim);
    let name = labelled("Action:")?;
    let input = labelled("Action Input:").unwrap_or_default();
    let tool = tools.iter().find(|tool| tool.name == name)?;
    let input =
        if tool.takes_text() { json!(input) } else { serde_json::from_str(input).unwrap_or_default() };
    let arguments = tool.arguments(&input);
    Some(Made { id: String::new(), tool: name.to_owned(), arguments, record: None })
}
