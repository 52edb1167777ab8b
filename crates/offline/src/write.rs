//! Writer: the answer, put together out of the results word for word.
//!
//! It says where each sentence is from and what was not found. It never says a thing that no
//! result says.

use super::judge::{Coverage, Library, named};
use super::markdown::UnitKind;
use super::question::Question;
use super::results::{Passage, Results};
use super::select::{Pick, go_on, select};
use super::terms::Term;
use super::text::line;

/// Most failures that are told of.
const MAX_FAILURES: usize = 3;
/// Longest answer after a reply that did not fit.
const MAX_SHORT: usize = 300;

/// The answer to a question.
pub(super) fn write(question: &Question, evidence: &Results) -> String {
    let terms = question.terms();
    let mut picks = select(&evidence.passages, &terms, question.parts.len(), shows_code(question));
    if asks_what_to_do(question) {
        go_on(&mut picks, &evidence.passages);
    }
    let mut blocks: Vec<String> = Vec::new();
    let calculations = calculations(evidence);
    if !calculations.is_empty() {
        blocks.push(calculations);
    }
    let mut sources: Vec<&str> = Vec::new();
    blocks.extend(extracts(&evidence.passages, &picks, &mut sources));
    let missing = missing(question, evidence, &picks);
    let honest = missing.is_some();
    blocks.extend(missing);
    blocks.extend(failures(question, evidence));
    if !sources.is_empty() {
        let entries = sources.iter().enumerate().map(|(at, source)| format!("\n[{}] {source}", at + 1));
        blocks.push(format!("{}{}", question.say("Sources:", "출처:"), entries.collect::<String>()));
    }
    if blocks.is_empty() {
        blocks.push(question.say(NOTHING.0, NOTHING.1).to_owned());
    }
    if honest {
        blocks.push(question.say(WHAT_THIS_IS.0, WHAT_THIS_IS.1).to_owned());
    }
    blocks.join("\n\n")
}

const WHAT_THIS_IS: (&str, &str) = (
    "(An extractive answer, put together by rule and without a language model.)",
    "(언어 모델 없이 규칙으로 찾아낸 발췌 답변입니다.)",
);

const NOTHING: (&str, &str) = ("Nothing was found.", "찾은 것이 없습니다.");

/// The shortest answer: the first result, or that there is none.
pub(super) fn write_briefly(question: &Question, evidence: &Results) -> String {
    if let Some(first) = evidence.calculations.first() {
        return line(&format!("{} = {}", first.expression, first.result), MAX_SHORT);
    }
    let picks = select(&evidence.passages, &question.terms(), question.parts.len(), false);
    match picks.first().and_then(|pick| Some((pick, evidence.passages.get(pick.passage)?))) {
        Some((pick, passage)) => line(&format!("{} ({})", pick.unit.text, passage.source), MAX_SHORT),
        None => question.say(NOTHING.0, NOTHING.1).to_owned(),
    }
}

fn calculations(evidence: &Results) -> String {
    let mut lines: Vec<String> = Vec::new();
    for one in &evidence.calculations {
        let line = match one.expression.as_str() {
            "" => one.result.clone(),
            expression => format!("{expression} = {}", one.result),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// One block for each source, in the order of the passages, with its number.
fn extracts<'a>(passages: &'a [Passage], picks: &[Pick], sources: &mut Vec<&'a str>) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut last: Option<&Pick> = None;
    for pick in picks {
        let Some(passage) = passages.get(pick.passage) else { continue };
        let number = match sources.iter().position(|source| *source == passage.source) {
            Some(at) => at,
            None => {
                sources.push(&passage.source);
                blocks.push(String::new());
                sources.len() - 1
            }
        };
        let block = &mut blocks[number];
        append(block, pick, last);
        last = Some(pick);
    }
    let numbered = blocks.into_iter().enumerate();
    numbered.map(|(at, block)| close(block, at + 1)).collect()
}

/// Sentences that follow each other stay together, entries and code have lines of their own, and a
/// gap is marked.
fn append(block: &mut String, pick: &Pick, last: Option<&Pick>) {
    let text = &pick.unit.text;
    let follows = last.is_some_and(|last| last.passage == pick.passage && last.at + 1 == pick.at);
    let after_sentence = last.is_some_and(|last| last.unit.kind == UnitKind::Sentence);
    match pick.unit.kind {
        _ if block.is_empty() => {}
        UnitKind::Sentence if follows && !block.ends_with('\n') && (after_sentence || !pick.unit.opens) => {
            block.push(' ');
        }
        UnitKind::Sentence if after_sentence => block.push_str(" … "),
        _ if block.ends_with('\n') => {}
        _ => block.push('\n'),
    }
    match pick.unit.kind {
        UnitKind::Code => {
            for line in text.lines() {
                block.push_str("    ");
                block.push_str(line);
                block.push('\n');
            }
        }
        UnitKind::Item => {
            block.push_str("- ");
            block.push_str(text);
        }
        UnitKind::Sentence | UnitKind::Heading => block.push_str(text),
    }
}

/// Puts the number of the source behind the last word.
fn close(block: String, number: usize) -> String {
    let code_last = block.lines().next_back().is_some_and(|line| line.starts_with("    "));
    let gap = if code_last { "\n" } else { " " };
    format!("{}{gap}[{number}]", block.trim_end())
}

/// What was asked and not found.
fn missing(question: &Question, evidence: &Results, picks: &[Pick]) -> Option<String> {
    if question.parts.is_empty() {
        let nothing = picks.is_empty() && evidence.calculations.is_empty() && evidence.failures.is_empty();
        let text = question.say(
            "The question names nothing that could be looked for or calculated.",
            "질문에 찾아보거나 계산할 말이 없습니다.",
        );
        return nothing.then(|| text.to_owned());
    }
    let library = Library::of(&evidence.passages);
    let insisted = question.parts.iter().filter(|part| !part.beside);
    let covered: Vec<Coverage<'_>> = insisted.map(|part| library.coverage(&part.terms)).collect();
    let looked = evidence.asked || !evidence.failures.is_empty();
    if picks.is_empty() && evidence.calculations.is_empty() && !looked {
        let text = question.say("Nothing was looked up.", "찾아본 것이 없습니다.");
        return Some(text.to_owned());
    }
    let lacking: Vec<&Term> = covered
        .iter()
        .filter(|part| picks.is_empty() || !part.is_enough())
        .flat_map(|part| {
            if picks.is_empty() { [&part.found[..], &part.missing].concat() } else { part.missing.clone() }
        })
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let names = named(question, lacking);
    Some(match question.korean {
        false => format!("Nothing was found about {names}."),
        true => format!("{names}에 대한 내용은 찾지 못했습니다."),
    })
}

fn failures(question: &Question, evidence: &Results) -> Option<String> {
    let lines: Vec<String> = evidence
        .failures
        .iter()
        .take(MAX_FAILURES)
        .map(|failure| match question.korean {
            false => format!("One step failed ({}): {}", failure.tool, failure.why),
            true => format!("실패한 단계({}): {}", failure.tool, failure.why),
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Whether the question asks what is to be done.
fn asks_what_to_do(question: &Question) -> bool {
    let lower = question.text.to_lowercase();
    [
        "how do ",
        "how can ",
        "how to ",
        "what should",
        "what happens",
        "what can i",
        "error",
        "어떻게",
        "오류",
        "방법",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

/// Whether the question asks to be shown something.
fn shows_code(question: &Question) -> bool {
    let lower = question.text.to_lowercase();
    ["how", "example", "code", "command", "show", "install", "설치", "어떻게", "예시", "예제", "코드", "명령"]
        .iter()
        .any(|word| lower.contains(word))
}
