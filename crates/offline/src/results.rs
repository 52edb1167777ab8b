//! Results: what a plan brought back, as an answer can use it.
//!
//! What a tool returned is data, whatever it says. Its form is told by its shape alone: records in JSON,
//! pages with summaries, an answer with sources, the value of an expression, else a text.

use serde_json::Value;

use super::payload::str_of;
use super::planner::CALC;
use super::talk::articles;
use super::text::{clean, line};
use planwright::contract::FINAL_ANSWER;

const MAX_RESULTS: usize = 64;
const MAX_OUTPUT_CHARS: usize = 64_000;
const MAX_PASSAGES: usize = 120;
const MAX_PASSAGE_CHARS: usize = 12_000;
const MAX_SOURCE_CHARS: usize = 200;
/// How the output of a step begins that had nothing to work on.
const NOTHING_FOUND: &str = "ERROR: nothing_found:";
const TEXTS: [&str; 4] = ["text", "content", "summary", "snippet"];
const SOURCES: [&str; 2] = ["\nSources:\n", "\n출처:\n"];

#[derive(PartialEq)]
pub(super) struct Passage {
    pub source: String,
    pub text: String,
}

pub(super) struct Failure {
    pub tool: String,
    pub why: String,
}

#[derive(Default)]
pub(super) struct Results {
    /// In the order of the steps; within a step, best first.
    pub passages: Vec<Passage>,
    /// `expression = value`, each once.
    pub calculations: Vec<String>,
    pub failures: Vec<Failure>,
    /// Whether a tool was asked and did not fail, with or without a result.
    pub asked: bool,
}

impl Results {
    pub(super) fn parse(records: &[Value]) -> Self {
        let mut results = Results::default();
        for record in records.iter().take(MAX_RESULTS) {
            let tool = line(&field(record, "tool", 80), 64);
            if tool.is_empty() || tool == FINAL_ANSWER {
                continue;
            }
            let output = field(record, "output", MAX_OUTPUT_CHARS);
            let input = line(&field(record, "input", 400), 320);
            results.add(tool, input, str_of(record, "status") == "failed", output.trim());
        }
        results
    }

    /// Whether something was calculated, well or not.
    pub(super) fn calculated(&self) -> bool {
        !self.calculations.is_empty() || self.failures.iter().any(|failure| failure.tool == CALC)
    }

    /// Whether there is nothing to work on.
    pub(super) fn have_nothing(&self) -> bool {
        self.passages.is_empty() && self.calculations.is_empty()
    }

    /// Whether articles were asked for, found or not.
    pub(super) fn are_of_articles(&self) -> bool {
        let is_article = |passage: &Passage| !articles(&passage.source).is_empty();
        self.failures.iter().any(|failure| failure.why.contains("not_found"))
            || self.passages.iter().any(is_article)
    }

    fn add(&mut self, tool: String, input: String, failed: bool, output: &str) {
        if failed && !output.starts_with(NOTHING_FOUND) {
            return self.failures.push(Failure { tool, why: line(output, 160) });
        }
        self.asked = true;
        if failed {
            return;
        }
        if tool == CALC {
            let equation = format!("{input} = {}", line(output, 300));
            let new = !self.calculations.contains(&equation);
            return self.calculations.extend(new.then_some(equation));
        }
        let passages = records(output).or_else(|| pages(output)).or_else(|| extracts(output));
        // A text that begins with what was asked for is the article of that title.
        let titled = !input.is_empty() && output.starts_with(&input);
        let source = if titled { input } else { tool };
        for (name, text) in passages.unwrap_or_else(|| vec![(String::new(), output.to_owned())]) {
            let source = line(if name.is_empty() { &source } else { &name }, MAX_SOURCE_CHARS);
            let passage = Passage { source, text: clean(&text, MAX_PASSAGE_CHARS).trim().to_owned() };
            let known = passage.text.is_empty() || self.passages.contains(&passage);
            if !known && self.passages.len() < MAX_PASSAGES {
                self.passages.push(passage);
            }
        }
    }
}

fn field(record: &Value, key: &str, most: usize) -> String {
    clean(str_of(record, key).trim(), most)
}

/// The source and the text of each record of a JSON list, or of the articles of a document.
fn records(output: &str) -> Option<Vec<(String, String)>> {
    let (document, records) = match serde_json::from_str(output) {
        Ok(Value::Object(found)) => {
            let document = found.get("document").and_then(Value::as_str).unwrap_or_default();
            (document.trim().to_owned(), found.get("articles")?.as_array()?.clone())
        }
        Ok(Value::Array(records)) => (String::new(), records),
        _ => (String::new(), first_records(output)?),
    };
    let passage = |record: &Value| {
        let text = TEXTS.into_iter().find_map(|key| record.get(key)?.as_str())?;
        let names = ["part", "title", "url", "source"];
        let [part, title, url, source] = names.map(|key| field(record, key, MAX_SOURCE_CHARS));
        let both = (!title.is_empty() && !url.is_empty()).then(|| format!("{title} ({url})"));
        let one = || [source, title, url].into_iter().find(|name| !name.is_empty());
        let source = both.or_else(one).unwrap_or_default();
        let names = [document.clone(), part, source].into_iter().filter(|name| !name.is_empty());
        Some((names.collect::<Vec<String>>().join(", "), text.to_owned()))
    };
    // A record that an earlier result holds is there already.
    let records = records.iter().filter(|record| record.get("same_as").is_none());
    records.take(MAX_PASSAGES).map(passage).collect()
}

/// The complete records at the beginning of a JSON list that was cut short.
fn first_records(output: &str) -> Option<Vec<Value>> {
    let mut rest = output.strip_prefix('[')?;
    let mut records = Vec::new();
    while records.len() < MAX_PASSAGES {
        rest = rest.trim_start_matches([' ', '\n', ',']);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value @ Value::Object(_))) = values.next() else { break };
        records.push(value);
        rest = &rest[values.byte_offset()..];
    }
    (!records.is_empty()).then_some(records)
}

fn pages(output: &str) -> Option<Vec<(String, String)>> {
    let page = |block: &str| {
        let (title, text) = block.split_once('\n').unwrap_or((block, ""));
        (title.to_owned(), text.trim_start_matches("Summary: ").to_owned())
    };
    Some(output.strip_prefix("Page: ")?.split("\nPage: ").map(page).collect())
}

/// The passages of an answer of this model with their sources: one agent's answer is another's material.
fn extracts(output: &str) -> Option<Vec<(String, String)>> {
    let (body, sources) = SOURCES.iter().find_map(|heading| output.rsplit_once(heading))?;
    // `[1] source`
    let source = |number: &str| {
        let named =
            |line: &str| Some(line.strip_prefix('[')?.strip_prefix(number)?.strip_prefix("] ")?.to_owned());
        sources.lines().find_map(named)
    };
    // `text [1]`; a block without a number is the answer's own words.
    let passage = |block: &str| {
        let (text, number) = block.trim().strip_suffix(']')?.rsplit_once('[')?;
        // The gaps between sentences of one source are paragraphs again.
        Some((source(number)?, text.trim_end().replace(" … ", "\n\n")))
    };
    let passages: Vec<(String, String)> = body.split("\n\n").filter_map(passage).collect();
    (!passages.is_empty()).then_some(passages)
}
