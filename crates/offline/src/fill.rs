//! Executor: a value out of what it is shown. What can be told by rule is found there word for word: a number, a
//! date, an address, one of the words that are allowed; of a text, the sentences that speak of what is wanted.

use serde_json::{Value, json};

use super::payload::{Payload, completed, str_of};
use super::question::Question;
use super::results::Results;
use super::write::write;

/// The value that is wanted; or why there is none.
pub(super) fn reply(payload: &Payload<'_>) -> Result<String, String> {
    let shown: Vec<(&str, String)> =
        payload.list("view").iter().map(|one| (str_of(one, "from"), as_text(&one["value"]))).collect();
    let (wanted, schema) = (payload.text("wanted").unwrap_or_default(), payload.field("type"));
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
            ("string", "date") => words().find(|word| is_date(word)).map(Value::from),
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

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-')
}

/// Whether a word is a day such as `2026-05-17`.
fn is_date(word: &str) -> bool {
    let digits =
        |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    word.len() == 10 && word.bytes().enumerate().all(digits)
}
