//! References as a person would work them out by hand: the measure of what the engine makes of them.

use std::collections::BTreeMap;

use serde_json::Value;

/// What steps returned, by their ids.
pub type Outputs = BTreeMap<String, Value>;

/// The value that an input stands for. `None` as long as it refers to what is not there.
pub fn evaluate(input: &Value, outputs: &Outputs) -> Option<Value> {
    if input.get("$from").is_some() {
        return refer(input, outputs);
    }
    if input.get("$fill").is_some() {
        let shown: Option<Vec<Value>> =
            input["from"].as_array()?.iter().map(|one| show(one, outputs)).collect();
        return fill(&input["type"], &shown?);
    }
    if let Some(text) = input["$template"].as_str() {
        return compose(text, &input["with"], outputs).map(Value::from);
    }
    if let Some(formula) = input["$calc"].as_str() {
        return calculate(&compose(formula, &input["with"], outputs)?);
    }
    match input {
        Value::Array(items) => items.iter().map(|item| evaluate(item, outputs)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| Some((name.clone(), evaluate(field, outputs)?))).collect()
        }
        value => Some(value.clone()),
    }
}

/// What a model is shown by a part of a view: a step's id is all that it returned.
fn show(part: &Value, outputs: &Outputs) -> Option<Value> {
    part.as_str().map_or_else(|| evaluate(part, outputs), |id| outputs.get(id).cloned())
}

/// What an honest model writes after reading these.
pub fn fill(schema: &Value, shown: &[Value]) -> Option<Value> {
    let text = shown.iter().map(as_text).collect::<Vec<_>>().join(" ");
    if let Some(choices) = schema["enum"].as_array() {
        return choices.iter().find(|one| is_grounded(one, &text)).cloned();
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("number"), _) => extract("amount", &text),
        (_, Some(kind)) => extract(kind, &text),
        _ => Some(format!("In short: {}", text.chars().take(60).collect::<String>()).into()),
    }
}

/// Whether a model's reply to such a type is taken from what it was shown, and is no text of its own.
pub fn is_extracted(schema: &Value) -> bool {
    schema.get("enum").is_some() || schema.get("format").is_some() || schema["type"] == "number"
}

/// Whether a value is found in a text.
pub fn is_grounded(value: &Value, text: &str) -> bool {
    text.to_lowercase().contains(&as_text(value).to_lowercase())
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The one value that a reference stands for.
fn refer(input: &Value, outputs: &Outputs) -> Option<Value> {
    let data = outputs.get(input["$from"].as_str()?)?;
    let record = if input.get("where").is_some() || input.get("order_by").is_some() {
        let list = data.pointer(input["in"].as_str().unwrap_or_default())?.as_array()?;
        let conditions = input["where"].as_array().cloned().unwrap_or_default();
        let found = list.iter().filter(|it| conditions.iter().all(|condition| holds(it, condition)));
        pick(found.collect(), &input["order_by"], &input["first"])?
    } else {
        data
    };
    let taken = record.pointer(input["take"].as_str().unwrap_or_default())?;
    match input["extract"].as_str() {
        Some(kind) => extract(kind, taken.as_str()?),
        None => Some(taken.clone()),
    }
}

fn holds(record: &Value, condition: &Value) -> bool {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_lowercase);
    let found = record.pointer(condition[0].as_str().expect("a field")).map(text).unwrap_or_default();
    let wanted = text(&condition[2]);
    match condition[1].as_str() {
        Some("equals") => found == wanted,
        Some("contains") => found.contains(&wanted),
        _ => found.starts_with(&wanted),
    }
}

/// The one record, or the one that comes first.
fn pick<'a>(mut found: Vec<&'a Value>, order_by: &Value, first: &Value) -> Option<&'a Value> {
    if let Some(field) = order_by.as_str() {
        let key = |it: &Value| {
            it.pointer(field).map(|it| it.as_f64().map_or(it.to_string(), |n| format!("{n:09.2}")))
        };
        found.sort_by_key(|it| key(it));
        if first == "largest" {
            found.reverse();
        }
        let is_tied = found.len() > 1 && key(found[0]) == key(found[1]);
        return found.first().filter(|_| !is_tied).copied();
    }
    if found.len() == 1 { found.pop() } else { None }
}

/// The one match of a kind in a text.
fn extract(kind: &str, text: &str) -> Option<Value> {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';'])).collect();
    let is_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "-:.T".contains(c));
    let fits = |at: &usize| match kind {
        "email" => words[*at].contains('@'),
        "url" => words[*at].starts_with("http"),
        "iban" => words[*at].len() > 14 && words[*at][2..4].chars().all(|c| c.is_ascii_digit()),
        "date" => words[*at].len() == 10 && words[*at].contains('-') && is_digits(words[*at]),
        _ => words.get(at + 1).is_some_and(|unit| *unit == "EUR") && is_digits(words[*at]),
    };
    let mut found: Vec<&str> = (0..words.len()).filter(fits).map(|at| words[at]).collect();
    found.dedup();
    let [only] = found[..] else { return None };
    Some(if kind == "amount" { number(only.parse().ok()?) } else { only.into() })
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 { (value as i64).into() } else { value.into() }
}

/// A text or a sum of two, with the values in their places.
fn compose(text: &str, with: &Value, outputs: &Outputs) -> Option<String> {
    let mut text = text.to_owned();
    for (at, inner) in with.as_array()?.iter().enumerate() {
        let value = evaluate(inner, outputs)?;
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text = text.replace(&format!("{{{}}}", at + 1), &shown);
    }
    Some(text)
}

fn calculate(formula: &str) -> Option<Value> {
    let (left, right) = formula.split_once(" * ")?;
    let product = left.parse::<f64>().ok()? * right.parse::<f64>().ok()?;
    Some(number((product * 1e6).round() / 1e6))
}

/// An input whose references name steps otherwise.
pub fn rename(input: &Value, names: &BTreeMap<String, String>) -> Value {
    match input {
        Value::Array(items) => items.iter().map(|item| rename(item, names)).collect(),
        Value::Object(fields) => {
            let renamed = fields.iter().map(|(field, value)| match value.as_str() {
                Some(id) if field == "$from" => {
                    (field.clone(), names.get(id).map_or(id, String::as_str).into())
                }
                _ => (field.clone(), rename(value, names)),
            });
            renamed.collect()
        }
        value => value.clone(),
    }
}
