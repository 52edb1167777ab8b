//! Results: what a plan brought back, as an answer can use it.
//!
//! What a tool returned is data, whatever it says, and its form is told by its shape alone: records
//! in JSON, pages with summaries, an answer with sources, the value of an expression, else a text.

use serde_json::Value;

use super::arithmetic;
use super::text::{clean, line};
use planwright::contract::FINAL_ANSWER;

/// Most results that are read.
const MAX_RESULTS: usize = 64;
/// Most characters of one result's output.
const MAX_OUTPUT: usize = 64_000;
/// Most characters of all outputs.
const MAX_ALL: usize = 400_000;
/// Most passages of all results.
const MAX_PASSAGES: usize = 120;
/// Most characters of one passage.
const MAX_PASSAGE: usize = 12_000;
/// Most characters of a source's name.
const MAX_SOURCE: usize = 200;
/// The keys under which a record holds its text.
const TEXTS: [&str; 4] = ["text", "content", "summary", "snippet"];
/// Headings of an answer's list of sources.
const SOURCES: [&str; 2] = ["Sources:", "출처:"];

/// A text with its source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    pub source: String,
    pub text: String,
}

/// A calculation that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calculation {
    pub expression: String,
    pub result: String,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub tool: String,
    pub why: String,
    /// Whether it was to work out an expression.
    pub calculates: bool,
}

/// All that a plan brought back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Results {
    /// In the order of the steps; within a step, best first.
    pub passages: Vec<Passage>,
    pub calculations: Vec<Calculation>,
    pub failures: Vec<Failure>,
    /// Whether a tool was asked that gave something or nothing.
    pub asked: bool,
}

impl Results {
    /// Reads the records of `tool_results`.
    pub(super) fn parse(records: &[Value]) -> Self {
        let mut results = Results::default();
        let mut room = MAX_ALL;
        for record in records.iter().take(MAX_RESULTS) {
            let tool = line(&field(record, "tool", 80), 64);
            if tool.is_empty() || tool == FINAL_ANSWER {
                continue;
            }
            let output = field(record, "output", MAX_OUTPUT.min(room));
            room -= output.chars().count().min(room);
            let input = line(&field(record, "input", 400), 320);
            let failed = record.get("status").and_then(Value::as_str) == Some("failed");
            results.add(tool, input, failed, output.trim());
        }
        results
    }

    /// Whether something was calculated, well or not.
    pub(super) fn calculated(&self) -> bool {
        !self.calculations.is_empty() || self.failures.iter().any(|failure| failure.calculates)
    }

    /// Whether there is nothing to work with.
    pub(super) fn is_empty(&self) -> bool {
        self.passages.is_empty() && self.calculations.is_empty() && self.failures.is_empty()
    }

    fn add(&mut self, tool: String, input: String, failed: bool, output: &str) {
        if failed {
            let calculates = arithmetic::is_expression(&input);
            return self.failures.push(Failure { tool, why: line(output, 160), calculates });
        }
        self.asked = true;
        if is_value(output) && arithmetic::is_expression(&input) {
            return self.calculations.push(Calculation { expression: input, result: line(output, 300) });
        }
        let passages = records(output).or_else(|| pages(output)).or_else(|| extracts(output));
        // A text that begins with what was asked for is the article of that title.
        let titled = !input.is_empty() && output.starts_with(&input);
        let source = if titled { input } else { tool };
        for (name, text) in passages.unwrap_or_else(|| vec![(String::new(), output.to_owned())]) {
            self.passage(if name.is_empty() { &source } else { &name }, &text);
        }
    }

    fn passage(&mut self, source: &str, text: &str) {
        let text = clean(text, MAX_PASSAGE);
        let passage = Passage { source: line(source, MAX_SOURCE), text: text.trim().to_owned() };
        let known = passage.text.is_empty() || self.passages.contains(&passage);
        if !known && self.passages.len() < MAX_PASSAGES {
            self.passages.push(passage);
        }
    }
}

fn field(record: &Value, key: &str, most: usize) -> String {
    clean(record.get(key).and_then(Value::as_str).unwrap_or_default().trim(), most)
}

/// Whether an output is one line that begins like a value.
fn is_value(output: &str) -> bool {
    let output = output.trim_start_matches("approx. ").trim_start_matches('-');
    !output.contains('\n')
        && output.starts_with(|c: char| c.is_alphanumeric() && !c.is_alphabetic() || c == 'π')
}

/// The source and the text of each record of a JSON list, or of the articles of a document.
fn records(output: &str) -> Option<Vec<(String, String)>> {
    let (document, records) = match serde_json::from_str(output) {
        Ok(Value::Object(found)) => {
            let document = found.get("document").and_then(Value::as_str).unwrap_or_default();
            (document.trim().to_owned(), found.get("articles")?.as_array()?.clone())
        }
        Ok(Value::Array(records)) => (String::new(), records),
        _ => (String::new(), whole_records(output)?),
    };
    let passage = |record: &Value| {
        let key = TEXTS.into_iter().find(|key| record.get(key).is_some_and(Value::is_string))?;
        let text = record.get(key)?.as_str()?;
        let name = |key: &str| Some(field(record, key, MAX_SOURCE)).filter(|name| !name.is_empty());
        // What is asked for by its number is found by it.
        let part = name("part");
        let text = part.as_ref().map_or_else(|| text.to_owned(), |part| format!("{part}\n{text}"));
        let source = match (name("title"), name("url")) {
            (Some(title), Some(url)) => format!("{title} ({url})"),
            (title, url) => name("source").or(title).or(url).unwrap_or_default(),
        };
        let names = [Some(document.clone()), part, Some(source)].into_iter().flatten();
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        Some((names.join(", "), text))
    };
    records.iter().take(MAX_PASSAGES).map(passage).collect()
}

/// Of a JSON list that was cut short, the records that are whole.
fn whole_records(output: &str) -> Option<Vec<Value>> {
    let mut rest = output.strip_prefix('[')?;
    let mut records = Vec::new();
    while records.len() < MAX_PASSAGES {
        rest = rest.trim_start_matches([' ', '\n', ',']);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let Some(Ok(value)) = values.next().filter(|value| value.as_ref().is_ok_and(Value::is_object)) else {
            break;
        };
        records.push(value);
        rest = &rest[values.byte_offset()..];
    }
    (!records.is_empty()).then_some(records)
}

/// Blocks of `Page: …` and `Summary: …`.
fn pages(output: &str) -> Option<Vec<(String, String)>> {
    let output = output.strip_prefix("Page: ")?;
    let page = |block: &str| {
        let (title, text) = block.split_once('\n').unwrap_or((block, ""));
        (title.to_owned(), text.trim_start_matches("Summary: ").to_owned())
    };
    Some(output.split("\nPage: ").map(page).collect())
}

/// The passages of an answer of this model, with the sources they were taken from: one agent's answer
/// is another's material, and a sentence keeps its source however many hands it goes through.
fn extracts(output: &str) -> Option<Vec<(String, String)>> {
    let lines: Vec<&str> = output.lines().collect();
    let heading = lines.iter().rposition(|line| SOURCES.contains(&line.trim()))?;
    let sources: Vec<(usize, &str)> = lines[heading + 1..].iter().map_while(|line| numbered(line)).collect();
    let mut passages = Vec::new();
    let mut block = String::new();
    for line in lines[..heading].iter().map(|line| line.trim_end()) {
        let code = block.lines().next_back().is_some_and(|line| line.starts_with("    "));
        match marked(line) {
            Some((text, number)) => {
                block.push_str(text);
                // The gaps between sentences of one source are paragraphs again.
                let text = std::mem::take(&mut block).trim().replace(" … ", "\n\n");
                let source = sources.iter().find(|(known, _)| *known == number);
                passages.extend(source.map(|(_, source)| ((*source).to_owned(), text)));
            }
            // What no number stands behind is the answer's own words; code may hold empty lines.
            None if line.is_empty() && !code => block.clear(),
            None => block.extend([line, "\n"]),
        }
    }
    (!passages.is_empty()).then_some(passages)
}

/// `[1] source`
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, source) = line.trim().strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, source.trim())).filter(|(_, source)| !source.is_empty())
}

/// `text [1]`
fn marked(line: &str) -> Option<(&str, usize)> {
    let (text, number) = line.strip_suffix(']')?.rsplit_once('[')?;
    Some((text.trim_end(), number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_form_of_an_output_is_told_by_its_shape() {
        let answer = "One thing. … Another. [1]\n\n- an entry\n- more [2]\n\nNothing was found about \"x\".\n\nSources:\n[1] a.md#B\n[2] b.md";
        for (output, expected) in [
            (
                r##"[{"source":"a.md#One","text":"first"},{"source":"b.md","text":"second"}]"##,
                &[("a.md#One", "first"), ("b.md", "second")][..],
            ),
            (r#"[{"title":"T","url":"https://x.example","content":"c"}]"#, &[("T (https://x.example)", "c")]),
            (r#"{"document":"C","articles":[{"part":"제5조","text":"t"}]}"#, &[("C, 제5조", "제5조\nt")]),
            (r#"[{"source":"a.md","text":"first"},{"source":"b.md","te"#, &[("a.md", "first")]),
            (
                r#"[{"source":"a\u001b[31m.md","text":"red \u001b]0;title\u0007text\u0000"}]"#,
                &[("a.md", "red text")],
            ),
            (
                "Page: Seoul\nSummary: A city.\nLarge.\n\nPage: Korea\nSummary: A country.",
                &[("Seoul", "A city.\nLarge."), ("Korea", "A country.")],
            ),
            (answer, &[("a.md#B", "One thing.\n\nAnother."), ("b.md", "- an entry\n- more")]),
            ("Everest is high.", &[("Everest", "Everest is high.")]),
            ("Rain.", &[("any", "Rain.")]),
            ("not json\n\nSources:\nnone", &[("any", "not json\n\nSources:\nnone")]),
            ("[]", &[]),
            ("", &[]),
        ] {
            let record = json!({"tool": "any", "input": "Everest", "status": "completed", "output": output});
            let found = Results::parse(&[record]);
            let found: Vec<(&str, &str)> =
                found.passages.iter().map(|found| (found.source.as_str(), found.text.as_str())).collect();
            assert_eq!(found, expected, "{output}");
        }
    }

    #[test]
    fn the_value_of_an_expression_is_a_calculation() {
        let parse = |input: &str, status: &str, output: &str| {
            Results::parse(&[json!({"tool": "any", "input": input, "status": status, "output": output})])
        };
        for (input, output) in
            [("3*4", "12"), ("1 km in miles", "approx. 0.621"), ("(2)", "2"), ("1/2", "0.5 inches")]
        {
            assert_eq!(parse(input, "completed", output).calculations.len(), 1, "{input}");
        }
        for (input, output) in [("3*4", "Twelve it is."), ("journal", "12"), ("10-15 pages", "12 pages")] {
            assert!(parse(input, "completed", output).calculations.is_empty(), "{input}");
        }
        assert!(parse("1/0", "failed", "division by zero").calculated());
        assert_eq!(parse("", "completed", "").passages, []);
    }
}
