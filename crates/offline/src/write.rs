//! Writer: the answer, put together out of the results word for word, with its sources and what was not found.

use super::evidence::Evidence;
use super::judge::{quote, say_nothing_found};
use super::markdown::UnitKind;
use super::question::Question;
use super::reading::Pick;
use super::results::{Passage, Results};
use super::text::line;

const MAX_FAILURES: usize = 3;
const MAX_SHORT: usize = 300;

/// The answer to a question; a brief one is its beginning, on one line.
pub(super) fn write(question: &Question, results: &Results, brief: bool) -> String {
    if brief {
        return line(&write(question, results, false), MAX_SHORT);
    }
    let evidence = Evidence::find(question, &results.passages);
    if let Some(key) = question.declined.filter(|_| evidence.picks.is_empty()) {
        return question.say(key).to_owned();
    }
    // What is not there is said before anything is quoted that could be taken for it.
    let missing = missing(question, results, &evidence);
    let what_this_is = missing.is_some().then(|| question.say("extractive_answer").to_owned());
    let mut blocks: Vec<String> = missing.into_iter().collect();
    blocks.push(results.calculations.join("\n"));
    let mut sources: Vec<&str> = Vec::new();
    blocks.extend(extracts(&results.passages, &evidence.picks, &mut sources));
    blocks.push(failures(question, results));
    if !sources.is_empty() {
        let entries = sources.iter().enumerate().map(|(at, source)| format!("\n[{}] {source}", at + 1));
        blocks.push(format!("{}{}", question.say("sources"), entries.collect::<String>()));
    }
    blocks.retain(|block| !block.is_empty());
    if blocks.is_empty() {
        blocks.push(question.say("nothing_found_sentence").to_owned());
    }
    blocks.extend(what_this_is);
    blocks.join("\n\n")
}

/// One block for each source, in the order of the passages, with its number.
fn extracts<'a>(passages: &'a [Passage], picks: &[Pick], sources: &mut Vec<&'a str>) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut last: Option<&Pick> = None;
    for pick in picks {
        let passage = &passages[pick.passage];
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

/// Adds a pick: entries and code on lines of their own, and a gap between sentences marked.
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
        UnitKind::Sentence | UnitKind::Title | UnitKind::Heading => block.push_str(text),
    }
}

/// What the results do not speak of.
fn missing(question: &Question, results: &Results, evidence: &Evidence<'_>) -> Option<String> {
    let nothing = evidence.picks.is_empty() && results.calculations.is_empty() && results.failures.is_empty();
    if question.parts.is_empty() {
        return nothing.then(|| question.say("nothing_to_look_for_or_calculate").to_owned());
    }
    if nothing && !results.asked {
        return Some(question.say("nothing_was_looked_up").to_owned());
    }
    if evidence.picks.is_empty() && question.insisted().next().is_some() {
        return Some(say_nothing_found(question, results, evidence));
    }
    let lacking = quote(question, evidence.lacking.iter().copied());
    (!evidence.lacking.is_empty()).then(|| question.tell("nothing_was_found_about", &lacking))
}

fn failures(question: &Question, results: &Results) -> String {
    let label = question.say("one_step_failed");
    let failures = results.failures.iter().take(MAX_FAILURES);
    let lines = failures.map(|failure| format!("{label}{}): {}", failure.tool, failure.why));
    lines.collect::<Vec<String>>().join("\n")
}
