//! Agent, executor and orchestrator: work on what the run has read, and whether the plan goes on.
//!
//! Whatever the work is called, one thing can be done by rule: to take from the material the sentences that
//! speak of the task, word for word and with their sources. The orchestrator adds a second search in other
//! words if the first found nothing. It never leaves out what remains, for no rule can tell that it is not
//! needed.

use serde_json::{Value, json};
use toml::value::Datetime;

use super::answer::{judge, write};
use super::lexicon::Duty;
use super::payload::{Payload, as_text, completed, str_of};
use super::planner::MAX_QUERY;
use super::question::{Question, is_work};
use super::results::Results;
use super::terms::{query, strongest};
use super::text::{clean, line};
use planwright::contract::HITL;
use planwright::spec::RequestFrame;

const MAX_TASK_CHARS: usize = 120;

/// What comes of the work; or that there was nothing to work on, which is no result.
pub(super) fn work(payload: &Payload<'_>) -> Result<String, String> {
    let task = clean(payload.text("task").unwrap_or(payload.question), 2_000);
    let results = Results::parse(&material(payload));
    let question = subject(&task, payload, &results);
    let shown = line(&task, MAX_TASK_CHARS);
    if results.have_nothing() {
        return Err(question.tell("no_material", &shown));
    }
    let text = write(&question, &results, payload.repair);
    let asked = Duty::asked(&task);
    Ok(match () {
        _ if payload.repair => text,
        _ if asked.contains(&Duty::Document) => format!("# {shown}\n\n{text}"),
        _ if asked.iter().any(|duty| matches!(duty, Duty::Validation | Duty::Critique)) => {
            let label = question.say("checked_by_words");
            format!("{label}: {}\n\n{text}", judge(&question, &results).reason)
        }
        _ => text,
    })
}

/// The results so far, and the input if it is none of them. What a person said comes last.
fn material(payload: &Payload<'_>) -> Vec<Value> {
    let mut records = payload.results.to_vec();
    records.sort_by_key(|record| str_of(record, "tool") == HITL);
    let task = payload.text("task").unwrap_or_default();
    let input = payload.text("input").filter(|input| *input != task && *input != payload.question);
    let input = input.filter(|input| records.iter().all(|record| str_of(record, "output") != *input));
    let first = [("material", payload.text("material")), ("input", input)];
    let first = first.into_iter().filter_map(|(name, text)| Some(completed(name, text?)));
    first.chain(records).collect()
}

/// What the task is about. A task that holds the question or names nothing but work is about the question.
fn subject(task: &str, payload: &Payload<'_>, results: &Results) -> Question {
    let parse = |text| Question::parse(text, results.calculated()).without_work();
    let subject = parse(task);
    let asks = line(payload.question, MAX_QUERY);
    let hands_on = task.contains(asks.trim_end_matches('…').trim());
    if !hands_on && subject.terms().iter().any(|term| term.weight > 1 && !is_work(&term.text)) {
        return subject;
    }
    Question { text: subject.text, korean: subject.korean, ..parse(payload.question) }
}

pub(super) fn orchestrate(frame: &RequestFrame, payload: &Payload<'_>) -> Value {
    let question = Question::parse(payload.query(), false).without_work();
    let done = payload.list("situation_summary");
    let found_nothing = |entry: &&Value| entry.get("results").and_then(Value::as_u64) == Some(0);
    let last = done.last().filter(found_nothing).and_then(|entry| entry.get("agent")?.as_str());
    let searches = frame.tools.iter().filter(|known| Duty::of(known) == Some(Duty::Search));
    let decided = |decision: &&Value| str_of(decision, "action") == "add_agent";
    let mut added = payload.list("decisions").iter().filter(decided);
    let added = added.any(|decision| last == Some(str_of(decision, "next_agent")));
    let again = last.filter(|agent| !added && searches.clone().any(|known| known.name == *agent));
    let (action, reasoning, confidence) = match again {
        Some(agent) => ("add_agent", question.tell("searches_again", agent), 0.7),
        None => ("continue", question.say("plan_goes_on").to_owned(), 0.9),
    };
    let terms = question.terms();
    let words = if terms.is_empty() { line(&question.text, 200) } else { query(strongest(&terms, 2), 160) };
    json!({
        "action": action, "reasoning": reasoning, "confidence": confidence, "next_agent": again,
        "task": again.map(|_| question.tell("overview", &words)), "collaboration_needed": null,
    })
}

/// The value that an executor is to write, or why there is none. What can be told by rule is found word for word: a
/// number, a date, an address, one of the words that are allowed; of a text, the sentences that speak of what is wanted.
pub(super) fn fill(payload: &Payload<'_>) -> Result<String, String> {
    let shown: Vec<(&str, String)> =
        payload.list("view").iter().map(|one| (str_of(one, "from"), as_text(&one["value"]))).collect();
    let (wanted, schema) = (payload.text("wanted").unwrap_or_default(), payload.field("type"));
    let is_day =
        |word: &str| word.parse().is_ok_and(|day: Datetime| day.date.is_some() && day.time.is_none());
    let words = || shown.iter().flat_map(|(_, text)| text.split_whitespace().map(bare));
    let found = if let Some(choices) = schema["enum"].as_array() {
        let is_shown = |choice: &&Value| {
            let choice = as_text(choice).to_lowercase();
            shown.iter().any(|(_, text)| text.to_lowercase().contains(&choice))
        };
        choices.iter().find(is_shown).cloned()
    } else {
        match (str_of(schema, "type"), str_of(schema, "format")) {
            ("integer", _) => words().find_map(|word| word.parse::<i64>().ok()).map(Value::from),
            ("number", _) => words().find_map(|word| word.parse::<f64>().ok()).map(Value::from),
            ("string", "date") => words().find(|word| is_day(word)).map(Value::from),
            ("string", "email") => words().find(|word| word.contains('@')).map(Value::from),
            ("string", _) => quote(wanted, &shown),
            _ => None,
        }
    };
    let value = found.ok_or_else(|| format!("nothing that is shown is by rule {wanted:?}"))?;
    Ok(json!({"value": value}).to_string())
}

/// The sentences that speak of what is wanted.
fn quote(wanted: &str, shown: &[(&str, String)]) -> Option<Value> {
    let records: Vec<Value> = shown.iter().map(|(from, text)| completed(from, text)).collect();
    let results = Results::parse(&records);
    let question = Question::parse(wanted, false).without_work();
    (!results.have_nothing()).then(|| write(&question, &results, true).into())
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-')
}
