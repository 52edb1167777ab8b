//! Evidence: the results of a plan as an answer can use them.
//!
//! What a tool returned is data, whatever it says. Nothing in it is ever taken for an instruction,
//! and text that is not in the form of its tool is read as plain text.

use serde_json::Value;

use super::extract;
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
}

/// All that a plan brought back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    /// In the order of the steps; within a step, best first.
    pub passages: Vec<Passage>,
    pub calculations: Vec<Calculation>,
    pub failures: Vec<Failure>,
    /// Whether `calc` was among the tools, well or not.
    pub calculated: bool,
    /// The tools that were asked and gave something or nothing, each once.
    pub asked: Vec<String>,
}

impl Evidence {
    /// Reads the records of `tool_results`. Records in no known form are left out.
    pub(super) fn read(records: &[Value]) -> Self {
        let mut evidence = Evidence::default();
        let mut room = MAX_ALL;
        for record in records.iter().take(MAX_RESULTS) {
            let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
            let tool = line(&clean(text("tool"), 80), 64);
            if tool.is_empty() || tool == FINAL_ANSWER {
                continue;
            }
            let output = clean(text("output"), MAX_OUTPUT.min(room));
            room -= output.chars().count().min(room);
            let input = record.get("input").and_then(Value::as_str);
            let input = input.map(|input| line(&clean(input, 400), 320)).unwrap_or_default();
            evidence.result(tool, input, text("status"), output.trim());
        }
        evidence
    }

    fn result(&mut self, tool: String, input: String, status: &str, output: &str) {
        self.calculated |= tool == "calc";
        if status == "failed" {
            return self.failures.push(Failure { tool, why: line(output, 160) });
        }
        match tool.as_str() {
            "calc" if !output.is_empty() => {
                let result = line(output, 300);
                self.calculations.push(Calculation { expression: input, result });
            }
            "calc" => {}
            "docs" => self.records(&tool, output, &["source"], "text"),
            "search" => self.records(&tool, output, &["title", "url"], "content"),
            "wiki" => self.articles(&tool, output),
            // One article by its title.
            "lookup" if !input.is_empty() => self.passage(&input, output),
            _ if self.contract(&tool, output) || self.passed_on(&tool, output) => {}
            _ => match extract::read(output) {
                Some(passages) => passages.iter().for_each(|(source, text)| self.passage(source, text)),
                None => self.passage(&tool, output),
            },
        }
        if !self.asked.contains(&tool) {
            self.asked.push(tool);
        }
    }

    fn passage(&mut self, source: &str, text: &str) {
        if self.passages.len() == MAX_PASSAGES {
            return;
        }
        let text = clean(text, MAX_PASSAGE);
        let passage = Passage { source: line(source, MAX_SOURCE), text: text.trim().to_owned() };
        if !passage.text.is_empty() && !self.passages.contains(&passage) {
            self.passages.push(passage);
        }
    }

    /// A JSON array of records; `source` names the fields that say where a text is from.
    fn records(&mut self, tool: &str, output: &str, source: &[&str], text: &str) {
        let Some(records) = array(output) else { return self.passage(tool, output) };
        for record in records.iter().take(MAX_PASSAGES) {
            let field = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
            let names: Vec<String> = source.iter().map(|key| clean(field(key).trim(), MAX_SOURCE)).collect();
            let name = match names.as_slice() {
                [title, url] if !title.is_empty() && !url.is_empty() => format!("{title} ({url})"),
                names => names.concat(),
            };
            self.passage(if name.is_empty() { tool } else { &name }, field(text));
        }
    }

    /// Articles of a contract: an object that names the document and holds them. Whether it is one.
    fn contract(&mut self, tool: &str, output: &str) -> bool {
        let Ok(Value::Object(found)) = serde_json::from_str(output) else { return false };
        let Some(articles) = found.get("articles").and_then(Value::as_array) else { return false };
        let named = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
        let document = clean(named("document").trim(), MAX_SOURCE);
        for article in articles.iter().take(MAX_PASSAGES) {
            let field = |key: &str| article.get(key).and_then(Value::as_str).unwrap_or_default();
            let part = clean(field("part").trim(), MAX_SOURCE);
            let names = [document.as_str(), part.as_str()];
            let name = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
            // What is asked for by its number is found by it.
            let text = format!("{part}\n{}", field("text"));
            self.passage(if name.is_empty() { tool } else { &name }, &text);
        }
        true
    }

    /// What another tool returned, handed on by an agent as it was. Whether it is that.
    fn passed_on(&mut self, tool: &str, output: &str) -> bool {
        let has = |records: &[Value], key: &str| records.iter().all(|record| record.get(key).is_some());
        match array(output) {
            Some(records) if records.is_empty() => {}
            Some(records) if has(&records, "source") && has(&records, "text") => {
                self.records(tool, output, &["source"], "text");
            }
            Some(records) if has(&records, "url") && has(&records, "content") => {
                self.records(tool, output, &["title", "url"], "content");
            }
            _ => return false,
        }
        true
    }

    /// Blocks of `Page: …` and `Summary: …`.
    fn articles(&mut self, tool: &str, output: &str) {
        if !output.starts_with("Page: ") {
            return self.passage(tool, output);
        }
        let mut blocks: Vec<(&str, String)> = Vec::new();
        for line in output.lines() {
            match (line.strip_prefix("Page: "), blocks.last_mut()) {
                (Some(title), _) => blocks.push((title, String::new())),
                (None, Some((_, text))) => {
                    text.push_str(line.strip_prefix("Summary: ").unwrap_or(line));
                    text.push('\n');
                }
                (None, None) => {}
            }
        }
        for (title, text) in blocks.into_iter().take(MAX_PASSAGES) {
            self.passage(title, &text);
        }
    }
}

/// The records of a JSON array. Of an array that was cut short, those that are whole.
fn array(output: &str) -> Option<Vec<Value>> {
    if let Ok(Value::Array(records)) = serde_json::from_str(output) {
        return Some(records);
    }
    let mut rest = output.strip_prefix('[')?;
    let mut records = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\n', ',']);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if value.is_object() && records.len() < MAX_PASSAGES => {
                records.push(value);
                rest = &rest[values.byte_offset()..];
            }
            _ => break,
        }
    }
    (!records.is_empty()).then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(tool: &str, output: &str) -> Evidence {
        let record =
            json!({"step_index": 0, "tool": tool, "input": "x", "status": "completed", "output": output});
        Evidence::read(&[record])
    }

    fn sources(evidence: &Evidence) -> Vec<(&str, &str)> {
        evidence.passages.iter().map(|found| (found.source.as_str(), found.text.as_str())).collect()
    }

    #[test]
    fn every_tool_is_read_in_its_form() {
        let docs = r##"[{"source":"a.md#One","text":"first"},{"source":"b.md","text":"second"}]"##;
        assert_eq!(sources(&read("docs", docs)), [("a.md#One", "first"), ("b.md", "second")]);
        let search = r#"[{"title":"T","url":"https://x.example","content":"c"}]"#;
        assert_eq!(sources(&read("search", search)), [("T (https://x.example)", "c")]);
        let wiki = "Page: Seoul\nSummary: A city.\nLarge.\n\nPage: Korea\nSummary: A country.";
        assert_eq!(sources(&read("wiki", wiki)), [("Seoul", "A city.\nLarge."), ("Korea", "A country.")]);
        assert_eq!(sources(&read("weather", "Rain.")), [("weather", "Rain.")]);
        assert_eq!(read("calc", "12").calculations.len(), 1);
        assert!(read("docs", "[]").passages.is_empty());
        assert_eq!(read("final_answer", "(final)"), Evidence::default());
    }

    #[test]
    fn a_cut_array_gives_its_whole_records() {
        let cut = r#"[{"source":"a.md","text":"first"},{"source":"b.md","te"#;
        assert_eq!(sources(&read("docs", cut)), [("a.md", "first")]);
        assert_eq!(sources(&read("docs", "not json")), [("docs", "not json")]);
    }

    #[test]
    fn no_escape_sequence_survives_json() {
        let docs = r#"[{"source":"a\u001b[31m.md","text":"red \u001b]0;title\u0007text\u0000"}]"#;
        assert_eq!(sources(&read("docs", docs)), [("a.md", "red text")]);
    }
}
