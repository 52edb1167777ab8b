//! Writer and validator. The answer is put together out of the results word for word, with its sources and what was not
//! found; a verdict says whether results, or an answer, speak of what was asked, and never whether they are right.

use serde_json::{Value, json};

use super::evidence::Evidence;
use super::markdown::UnitKind;
use super::payload::{Payload, str_of};
use super::planner::CALC;
use super::question::Question;
use super::reading::Pick;
use super::results::{Failure, Passage, Results};
use super::talk::{articles, paragraph, small_talk};
use super::terms::{Term, Vocabulary};
use super::text::{clean, line};
use planwright::contract::{Shortfall, Verdict};
use planwright::spec::RequestFrame;

const MAX_NAMED: usize = 6;
const MAX_NEAREST: usize = 300;
const MAX_FAILURES: usize = 3;
/// What an answer says that is none.
const DECLINES: [&str; 3] = ["nothing_speaks_of_all", "nothing_was_found_about", "not_said_about"];

pub(super) fn give_verdict(frame: &RequestFrame, payload: &Payload<'_>) -> Value {
    let results = Results::parse(&payload.records());
    let question = Question::parse(payload.query(), results.calculated());
    let verdict = match payload.field("answer").as_str() {
        Some(answer) => judge_answer(&question, answer),
        None => judge(&question, &results),
    };
    let sufficient = |schema: &Value| schema.pointer("/properties/sufficient").is_some();
    if !frame.schema.as_ref().is_some_and(sufficient) {
        return say(verdict, payload.results);
    }
    let missing = if verdict.ok { String::new() } else { missing_info(&question, &verdict, payload) };
    json!({"sufficient": verdict.ok, "missing_info": missing, "reason": verdict.reason})
}

/// The verdict, with the steps that failed where they are why.
fn say(verdict: Verdict, results: &[Value]) -> Value {
    let failed = results.iter().filter(|record| str_of(record, "status") == "failed");
    let steps = failed.filter_map(|record| record.get("step_index"));
    let steps: Vec<&Value> = steps.filter(|_| verdict.verdict == Some(Shortfall::Failed)).collect();
    let Verdict { ok, verdict, reason, fix_hint, .. } = verdict;
    let verdict = verdict.map_or(json!("sufficient"), |what| json!(what));
    json!({"ok": ok, "verdict": verdict, "steps": steps, "reason": reason, "fix_hint": fix_hint})
}

/// The unread part of the material that the question names, else the words that were not found.
fn missing_info(question: &Question, verdict: &Verdict, payload: &Payload<'_>) -> String {
    let asked = question.terms();
    let unexplored = payload.labels("unexplored");
    let speaks = |label: &&&str| Vocabulary::of(label).weight(asked.iter().copied()) > 1;
    if let Some(label) = unexplored.iter().find(speaks) {
        return line(&clean(label, 200), 120);
    }
    // The hint quotes them.
    let quoted: Vec<&str> = verdict.fix_hint.split('"').skip(1).step_by(2).collect();
    if quoted.is_empty() { question.say("anything_on_the_question").to_owned() } else { quoted.join(", ") }
}

/// Judges a written answer: whether there is one, and whether it speaks of what was asked.
fn judge_answer(question: &Question, answer: &str) -> Verdict {
    let answer = clean(answer, 40_000);
    let terms = question.terms();
    let calculated = !question.expressions.is_empty() && answer.contains(|c: char| c.is_ascii_digit());
    let speaks = calculated || terms.is_empty() || Vocabulary::of(&answer).weight(terms.iter().copied()) > 0;
    let says = |key: &&str| question.say(key).split("{}").all(|piece| answer.contains(piece));
    let declines = !answer.contains(question.say("sources")) && DECLINES.iter().any(says);
    let key = match answer.trim().is_empty() {
        true => "the_answer_is_empty",
        false if speaks && !declines => return accepted(question.say("answer_speaks_of_it")),
        false => "answer_does_not_speak_of_it",
    };
    let fix_hint = question.tell("write_about", &quote(question, terms));
    // A decline says by itself what was not found.
    let reason = if declines { line(&answer, MAX_NEAREST) } else { question.say(key).to_owned() };
    let what = if speaks { Shortfall::Insufficient } else { Shortfall::WrongSubject };
    Verdict { verdict: Some(what), reason, fix_hint, ..Verdict::default() }
}

pub(super) fn judge(question: &Question, results: &Results) -> Verdict {
    let evidence = Evidence::find(question, &results.passages);
    let rejected = |reason: String, missing: &[&Term]| {
        let key = if missing.is_empty() { "use_another_tool" } else { "look_for_one_by_one" };
        let fix_hint = question.tell(key, &quote(question, missing.iter().copied()));
        let what = match (results.passages.is_empty(), results.failures.is_empty()) {
            (true, false) => Shortfall::Failed,
            (true, true) => Shortfall::Insufficient,
            (false, _) => Shortfall::WrongSubject,
        };
        Verdict { verdict: Some(what), reason, fix_hint, ..Verdict::default() }
    };
    if let Some(key) = question.declined.filter(|_| evidence.picks.is_empty()) {
        return rejected(question.say(key).to_owned(), &[]);
    }
    if !question.expressions.is_empty() && results.calculations.is_empty() {
        let reason = question.say("the_calculation_has_no_result");
        let why = results.failures.iter().find(|failure| failure.tool == CALC && !failure.why.is_empty());
        let reason = why.map_or_else(|| reason.to_owned(), |failure| format!("{reason}: {}", failure.why));
        return rejected(reason, &question.terms());
    }
    if question.insisted().next().is_none() {
        // It names nothing to look for, beside what was calculated.
        let key = match results {
            _ if !results.calculations.is_empty() => "the_calculation_has_a_result",
            _ if !results.passages.is_empty() => "there_are_results",
            _ if !results.failures.is_empty() || results.asked => {
                return rejected(say_nothing_found(question, results, &Evidence::default()), &[]);
            }
            _ if small_talk(&question.text).is_some() => "nothing_to_look_for",
            _ => {
                let reason = question.say("nothing_to_look_for_or_calculate").to_owned();
                // A hint in words of its own would be looked for.
                let named = format!("\"{}\"", line(&question.text, 80));
                let fix_hint = question.tell("look_for_one_by_one", &named);
                return Verdict { fix_hint, ..rejected(reason, &[]) };
            }
        };
        return accepted(question.say(key));
    }
    if evidence.picks.is_empty() {
        return rejected(say_nothing_found(question, results, &evidence), &evidence.lacking);
    }
    let mut reason = question.tell("results_speak_of", &quote(question, evidence.found));
    if !evidence.lacking.is_empty() {
        reason += &question.tell("they_do_not_speak_of", &quote(question, evidence.lacking));
    }
    accepted(&reason)
}

fn accepted(reason: &str) -> Verdict {
    Verdict { ok: true, reason: reason.to_owned(), ..Verdict::default() }
}

/// That nothing was found and about what, or why; and what is nearest.
fn say_nothing_found(question: &Question, results: &Results, evidence: &Evidence<'_>) -> String {
    let asked = articles(&question.text);
    let is_asked = |found: &Passage| articles(&found.source).iter().any(|own| asked.contains(own));
    let lacks_article = !asked.is_empty() && results.are_of_articles();
    let said = match results.failures.first() {
        _ if lacks_article
            && paragraph(&question.text).is_some()
            && results.passages.iter().any(is_asked) =>
        {
            return question.say("there_is_no_paragraph").to_owned();
        }
        _ if lacks_article => return question.tell("there_is_no_article", &asked.join(", ")),
        Some(Failure { tool, why, .. }) if results.passages.is_empty() => {
            question.tell("the_steps_failed", &format!("{tool}: {why}"))
        }
        _ => {
            let key = match evidence.lacking.len() {
                _ if evidence.unsaid => "not_said_about",
                2.. if results.passages.is_empty() => "nothing_speaks_of_all",
                _ => "nothing_was_found_about",
            };
            question.tell(key, &quote(question, evidence.lacking.iter().copied()))
        }
    };
    let Some(Pick { passage, unit, .. }) = &evidence.nearest else { return said };
    let near = format!("{} ({})", unit.text, results.passages[*passage].source);
    format!("{said} {}", question.tell("nearest", &line(&near, MAX_NEAREST)))
}

fn quote<'t>(question: &Question, terms: impl IntoIterator<Item = &'t Term>) -> String {
    let mut names: Vec<String> = Vec::new();
    for term in terms {
        let name = format!("\"{}\"", term.text);
        if !names.contains(&name) && names.len() < MAX_NAMED {
            names.push(name);
        }
    }
    if names.is_empty() { question.say("the_question").to_owned() } else { names.join(", ") }
}

/// The answer to a question; a brief one is its beginning, on one line.
pub(super) fn write(question: &Question, results: &Results, brief: bool) -> String {
    if brief {
        return line(&write(question, results, false), MAX_NEAREST);
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
    let label = question.say("one_step_failed");
    let failures = results.failures.iter().take(MAX_FAILURES);
    let failures = failures.map(|failure| format!("{label}{}): {}", failure.tool, failure.why));
    blocks.push(failures.collect::<Vec<String>>().join("\n"));
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
