//! Writer: the answer, put together out of the results word for word.
//!
//! It says where each sentence is from and what was not found. It never says a thing that no
//! result says.

use super::judge::{Coverage, Library, quote};
use super::lexicon::LEXICON;
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
const NOTHING: (&str, &str) = ("Nothing was found.", "찾은 것이 없습니다.");
const WHAT_THIS_IS: (&str, &str) = (
    "(An extractive answer, put together by rule and without a language model.)",
    "(언어 모델 없이 규칙으로 찾아낸 발췌 답변입니다.)",
);

/// The answer to a question; a brief one is the first result, or that there is none.
pub(super) fn write(question: &Question, results: &Results, brief: bool) -> String {
    if brief {
        return write_briefly(question, results);
    }
    let lower = question.text.to_lowercase();
    let terms = question.terms();
    let mut picks =
        select(&results.passages, &terms, question.parts.len(), LEXICON.shows_code.are_in(&lower));
    if LEXICON.instructions.are_in(&lower) {
        go_on(&mut picks, &results.passages);
    }
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend(calculations(results));
    let mut sources: Vec<&str> = Vec::new();
    blocks.extend(extracts(&results.passages, &picks, &mut sources));
    let missing = missing(question, results, &picks);
    let honest = missing.is_some();
    blocks.extend(missing);
    blocks.extend(failures(question, results));
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

fn write_briefly(question: &Question, results: &Results) -> String {
    if let Some(first) = results.calculations.first() {
        return line(&format!("{} = {}", first.expression, first.result), MAX_SHORT);
    }
    let picks = select(&results.passages, &question.terms(), question.parts.len(), false);
    match picks.first().and_then(|pick| Some((pick, results.passages.get(pick.passage)?))) {
        Some((pick, passage)) => line(&format!("{} ({})", pick.unit.text, passage.source), MAX_SHORT),
        None => question.say(NOTHING.0, NOTHING.1).to_owned(),
    }
}

fn calculations(results: &Results) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for one in &results.calculations {
        let line = format!("{} = {}", one.expression, one.result);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// One block for each source, in the order of the passages, with its number.
fn extracts<'a>(passages: &'a [Passage], picks: &[Pick], sources: &mut Vec<&'a str>) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut last: Option<&Pick> = None;
    for pick in picks {
        let Some(passage) = passages.get(pick.passage) else { continue };
        let number = sources.iter().position(|source| *source == passage.source).unwrap_or(sources.len());
        if number == sources.len() {
            sources.push(&passage.source);
            blocks.push(String::new());
        }
        append(&mut blocks[number], pick, last);
        last = Some(pick);
    }
    // The number of the source stands behind the last word.
    let close = |(at, block): (usize, String)| {
        let code_last = block.lines().next_back().is_some_and(|line| line.starts_with("    "));
        format!("{}{}[{}]", block.trim_end(), if code_last { "\n" } else { " " }, at + 1)
    };
    blocks.into_iter().enumerate().map(close).collect()
}

/// Sentences that follow each other stay together, entries and code have lines of their own, and a
/// gap is marked.
fn append(block: &mut String, pick: &Pick, last: Option<&Pick>) {
    let text = &pick.unit.text;
    let follows = last.is_some_and(|last| last.passage == pick.passage && last.at + 1 == pick.at);
    let after_sentence = last.is_some_and(|last| last.unit.kind == UnitKind::Sentence);
    let sentence = pick.unit.kind == UnitKind::Sentence;
    block.push_str(match block.ends_with('\n') {
        _ if block.is_empty() => "",
        false if sentence && follows && (after_sentence || !pick.unit.opens) => " ",
        _ if sentence && after_sentence => " … ",
        true => "",
        false => "\n",
    });
    match pick.unit.kind {
        UnitKind::Code => text.lines().for_each(|line| block.extend(["    ", line, "\n"])),
        UnitKind::Item => block.extend(["- ", text]),
        UnitKind::Sentence | UnitKind::Heading => block.push_str(text),
    }
}

/// What was asked and not found.
fn missing(question: &Question, results: &Results, picks: &[Pick]) -> Option<String> {
    let nothing = picks.is_empty() && results.calculations.is_empty();
    if question.parts.is_empty() {
        let text = question.say(
            "The question names nothing that could be looked for or calculated.",
            "질문에 찾아보거나 계산할 말이 없습니다.",
        );
        return (nothing && results.failures.is_empty()).then(|| text.to_owned());
    }
    if nothing && !results.asked && results.failures.is_empty() {
        return Some(question.say("Nothing was looked up.", "찾아본 것이 없습니다.").to_owned());
    }
    let library = Library::of(&results.passages);
    let covered: Vec<Coverage<'_>> = question.insisted().map(|part| library.coverage(&part.terms)).collect();
    let lacking = covered.iter().filter(|part| picks.is_empty() || !part.is_enough());
    let lacking: Vec<&Term> = lacking
        .flat_map(|part| part.found.iter().filter(|_| picks.is_empty()).chain(&part.missing).copied())
        .collect();
    if lacking.is_empty() {
        return None;
    }
    let names = quote(question, lacking);
    Some(question.tell("Nothing was found about {}.", "{}에 대한 내용은 찾지 못했습니다.", &names))
}

fn failures(question: &Question, results: &Results) -> Option<String> {
    let label = question.say("One step failed (", "실패한 단계(");
    let failures = results.failures.iter().take(MAX_FAILURES);
    let lines: Vec<String> =
        failures.map(|failure| format!("{label}{}): {}", failure.tool, failure.why)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
