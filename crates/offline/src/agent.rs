//! Agent: a role that does a step on what the run has read.
//!
//! Whatever the work is called, what can be done by rule is the same: the sentences of the material
//! that speak of the task, word for word and with their sources. Where there is no material, that is
//! all there is to say.

use serde_json::Value;

use super::duties::{Duty, is_work, leave_the_subject};
use super::judge::judge;
use super::payload::{Payload, completed};
use super::question::Question;
use super::results::Results;
use super::text::{clean, line};
use super::write::write;
use planwright::contract::HITL;

/// Most characters of a task that is repeated.
const MAX_TASK: usize = 120;

/// The work.
pub(super) fn reply(payload: &Payload<'_>) -> String {
    let task = clean(payload.text("task").unwrap_or(payload.question), 2_000);
    let results = Results::parse(&material(payload));
    let question = subject(&task, payload, &results);
    if results.is_empty() {
        return match question.korean {
            false => format!("There is no material to work on for this task: {}", line(&task, MAX_TASK)),
            true => format!("이 작업에 쓸 자료가 없습니다: {}", line(&task, MAX_TASK)),
        };
    }
    let text = write(&question, &results, payload.repair);
    let asked = Duty::asked(&task);
    if asked.contains(&Duty::Document) && !payload.repair {
        return format!("# {}\n\n{text}", line(&task, MAX_TASK));
    }
    if asked.iter().any(|duty| matches!(duty, Duty::Validation | Duty::Critique)) && !payload.repair {
        let label = question.say("Checked by words", "단어 기준 검증");
        return format!("{label}: {}\n\n{text}", judge(&question, &results).reason);
    }
    text
}

/// What the work is on: the results so far, and the input where it is none of them. What a person
/// said comes last: it is seldom what a sentence should be taken from.
fn material(payload: &Payload<'_>) -> Vec<Value> {
    let output = |record: &Value| record.get("output").and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = |record: &&Value| record.get("tool").and_then(Value::as_str) == Some(HITL);
    let (people, mut records): (Vec<&Value>, Vec<&Value>) = payload.results.iter().partition(said);
    records.extend(people);
    let mut records: Vec<Value> = records.into_iter().cloned().collect();
    let task = payload.text("task").unwrap_or_default();
    let input = payload.text("input").filter(|input| *input != task && *input != payload.question);
    if let Some(input) = input.filter(|input| records.iter().all(|record| output(record) != *input)) {
        records.insert(0, completed("input", input));
    }
    if let Some(material) = payload.text("material") {
        records.insert(0, completed("material", material));
    }
    records
}

/// What the task is about. A task that names nothing but work is about the question.
fn subject(task: &str, payload: &Payload<'_>, results: &Results) -> Question {
    let mut subject = Question::parse(task, results.calculated());
    leave_the_subject(&mut subject);
    let named = subject.terms().iter().any(|term| term.weight > 1 && !is_work(&term.text));
    if named {
        return subject;
    }
    let mut asked = Question::parse(payload.question, results.calculated());
    leave_the_subject(&mut asked);
    Question { text: subject.text, korean: subject.korean, ..asked }
}
