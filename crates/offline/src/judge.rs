//! Validator: whether results, or an answer, speak of what was asked.
//!
//! The judgement is by words: it says whether passages name what the question names, and never
//! whether they are right.

use serde_json::{Value, json};

use super::payload::Payload;
use super::question::Question;
use super::results::{Failure, Passage, Results};
use super::terms::{Term, Vocabulary, terms};
use super::text::{clean, line};
use planwright::contract::Verdict;
use planwright::spec::RequestFrame;

const MAX_NAMED: usize = 6;

pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Value {
    let results = Results::parse(&payload.records());
    let question = Question::parse(payload.query(), results.calculated());
    let verdict = match payload.answer() {
        Some(answer) => judge_answer(&question, answer),
        None => judge(&question, &results),
    };
    let sufficient = |schema: &Value| schema.pointer("/properties/sufficient").is_some();
    if !frame.schema.as_ref().is_some_and(sufficient) {
        return json!({"ok": verdict.ok, "reason": verdict.reason, "fix_hint": verdict.fix_hint});
    }
    let missing = if verdict.ok { String::new() } else { missing_info(&question, &verdict, payload) };
    json!({"sufficient": verdict.ok, "missing_info": missing, "reason": verdict.reason})
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
    let vocabulary = Vocabulary::of(&answer);
    let (found, missing): (Vec<_>, Vec<_>) =
        question.terms().into_iter().partition(|term| vocabulary.has(term));
    let empty = answer.trim().is_empty();
    let calculated = !question.expressions.is_empty() && answer.chars().any(|c| c.is_ascii_digit());
    if !empty && (!found.is_empty() || calculated || terms(&question.text).is_empty()) {
        return accepted(question.say("answer_speaks_of_it"));
    }
    let key = if empty { "the_answer_is_empty" } else { "answer_does_not_speak_of_it" };
    let fix_hint = question.tell("write_about", &quote(question, missing));
    Verdict { ok: false, reason: question.say(key).to_owned(), fix_hint }
}

pub(super) fn judge(question: &Question, results: &Results) -> Verdict {
    if !question.expressions.is_empty() && results.calculations.is_empty() {
        let reason = question.say("the_calculation_has_no_result");
        let why = results.failures.iter().find(|failure| failure.calculates && !failure.why.is_empty());
        let reason = why.map_or_else(|| reason.to_owned(), |failure| format!("{reason}: {}", failure.why));
        return rejected(question, reason, &question.terms());
    }
    let library = Library::of(&results.passages);
    let found: Vec<Coverage<'_>> = question.insisted().map(|part| library.coverage(&part.terms)).collect();
    if found.is_empty() {
        return judge_without_terms(question, results);
    }
    if results.passages.is_empty() {
        return rejected(question, nothing_found(question, results), &question.terms());
    }
    let missing: Vec<&Term> = found.iter().flat_map(|part| part.missing.iter().copied()).collect();
    if !found.iter().any(Coverage::is_enough) {
        let named = quote(question, missing.iter().copied());
        let reason = question.tell("results_do_not_speak_of", &named);
        return rejected(question, reason, &missing);
    }
    let named = quote(question, found.iter().flat_map(|part| part.found.iter().copied()));
    let mut reason = question.tell("results_speak_of", &named);
    let mut lacking = found.iter().filter(|part| !part.is_enough()).peekable();
    if lacking.peek().is_some() {
        let lacking = quote(question, lacking.flat_map(|part| part.missing.iter().copied()));
        reason += &question.tell("they_do_not_speak_of", &lacking);
    }
    accepted(&reason)
}

/// A question that names nothing to look for, beside what was calculated.
fn judge_without_terms(question: &Question, results: &Results) -> Verdict {
    let key = match results {
        _ if !results.calculations.is_empty() => "the_calculation_has_a_result",
        _ if !results.passages.is_empty() => "there_are_results",
        _ if results.failures.is_empty() && !results.asked => "nothing_to_look_for",
        _ => return rejected(question, nothing_found(question, results), &[]),
    };
    accepted(question.say(key))
}

fn accepted(reason: &str) -> Verdict {
    Verdict { ok: true, reason: reason.to_owned(), fix_hint: String::new() }
}

fn rejected(question: &Question, reason: String, missing: &[&Term]) -> Verdict {
    let named = quote(question, missing.iter().copied());
    let key = if missing.is_empty() { "use_another_tool" } else { "look_for_one_by_one" };
    Verdict { ok: false, reason, fix_hint: question.tell(key, &named) }
}

fn nothing_found(question: &Question, results: &Results) -> String {
    match results.failures.first() {
        Some(Failure { tool, why, .. }) => question.tell("the_steps_failed", &format!("{tool}: {why}")),
        None => question.say("nothing_was_found").to_owned(),
    }
}

pub(super) fn quote<'t>(question: &Question, terms: impl IntoIterator<Item = &'t Term>) -> String {
    let mut names: Vec<String> = Vec::new();
    for term in terms {
        let name = format!("\"{}\"", term.text);
        if !names.contains(&name) && names.len() < MAX_NAMED {
            names.push(name);
        }
    }
    if names.is_empty() { question.say("the_question").to_owned() } else { names.join(", ") }
}

/// What the passages speak of, one by one and together.
pub(super) struct Library {
    each: Vec<Vocabulary>,
    all: Vocabulary,
}

/// How far the passages speak of some terms.
pub(super) struct Coverage<'t> {
    pub found: Vec<&'t Term>,
    pub missing: Vec<&'t Term>,
    /// The weight of the terms that the best passage speaks of.
    best: u32,
}

impl Library {
    pub(super) fn of(passages: &[Passage]) -> Self {
        let mut library = Library { each: Vec::new(), all: Vocabulary::default() };
        for passage in passages {
            let text = format!("{}\n{}", passage.source, passage.text);
            library.all.add(&text);
            library.each.push(Vocabulary::of(&text));
        }
        library
    }

    pub(super) fn coverage<'t>(&self, terms: &'t [Term]) -> Coverage<'t> {
        let (found, missing) = terms.iter().partition(|term| self.all.has(term));
        let best = self.each.iter().map(|one| one.weight(terms)).max().unwrap_or(0);
        Coverage { found, missing, best }
    }
}

impl Coverage<'_> {
    /// Whether the passages are about what was asked: every name is there, one of the terms that
    /// say most, half of the weight all in all and a third of it in one passage.
    pub(super) fn is_enough(&self) -> bool {
        let weight = |terms: &[&Term]| terms.iter().map(|term| term.weight).sum::<u32>();
        let most = |terms: &[&Term]| terms.iter().map(|term| term.weight).max().unwrap_or(0);
        // A verb has more forms than rules know: one that is missing counts for nothing, beside a
        // noun that is there.
        let noun = self.found.iter().any(|term| !term.verb && term.weight > 1);
        let missing: Vec<&Term> = self.missing.iter().filter(|term| !(noun && term.verb)).copied().collect();
        let found = weight(&self.found);
        let all = found + weight(&missing);
        // Two nouns outweigh a long one.
        let outweighed =
            self.found.len() > 1 && found * 2 > all && missing.iter().all(|term| term.is_dense());
        let only_verbs = !noun && missing.iter().any(|term| !term.verb && term.weight > 1 && term.is_dense());
        !only_verbs
            && missing.iter().all(|term| !term.name)
            && (most(&self.found) >= most(&missing) || outweighed)
            && found * 2 >= all
            && self.best * 3 >= all
            && found > 0
    }
}
