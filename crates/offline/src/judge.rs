//! Validator: whether the results speak of what was asked.
//!
//! The judgement is by words: it says whether passages name what the question names, and never
//! whether they are right.

use super::question::{Part, Question};
use super::results::{Failure, Passage, Results};
use super::terms::{Term, Vocabulary};
use planwright::contract::Verdict;

/// Most terms that a reason or hint names.
const MAX_NAMED: usize = 6;

/// Judges the results of a plan.
pub(super) fn judge(question: &Question, evidence: &Results) -> Verdict {
    let insisted: Vec<&Part> = question.parts.iter().filter(|part| !part.beside).collect();
    if !question.expressions.is_empty() && evidence.calculations.is_empty() {
        return rejected(question, calculation_failed(question, evidence), &question.terms());
    }
    if insisted.is_empty() {
        return without_terms(question, evidence);
    }
    if evidence.passages.is_empty() {
        let reason = match failed(question, &evidence.failures) {
            Some(failed) => failed,
            None => question.say("nothing was found", "찾은 것이 없습니다").to_owned(),
        };
        return rejected(question, reason, &question.terms());
    }
    let library = Library::of(&evidence.passages);
    let found: Vec<Coverage<'_>> = insisted.iter().map(|part| library.coverage(&part.terms)).collect();
    let missing: Vec<&Term> = found.iter().flat_map(|part| part.missing.iter().copied()).collect();
    if !found.iter().any(Coverage::is_enough) {
        let named = named(question, missing.iter().copied());
        let reason = match question.korean {
            false => format!("the results do not speak of {named}"),
            true => format!("결과에 {named}에 대한 내용이 없습니다"),
        };
        return rejected(question, reason, &missing);
    }
    let covered = found.iter().flat_map(|part| part.found.iter().copied());
    let named_found = named(question, covered);
    let lacking: Vec<&Coverage<'_>> = found.iter().filter(|part| !part.is_enough()).collect();
    let mut reason = match question.korean {
        false => format!("the results speak of {named_found}"),
        true => format!("결과에 {named_found}에 대한 내용이 있습니다"),
    };
    if !lacking.is_empty() {
        let lacking = named(question, lacking.iter().flat_map(|part| part.missing.iter().copied()));
        reason += &match question.korean {
            false => format!("; they do not speak of {lacking}"),
            true => format!("; {lacking}에 대한 내용은 없습니다"),
        };
    }
    Verdict { ok: true, reason, fix_hint: String::new() }
}

/// A question that names nothing to look for, beside what was calculated.
fn without_terms(question: &Question, evidence: &Results) -> Verdict {
    let accepted = |english: &str, korean: &str| Verdict {
        ok: true,
        reason: question.say(english, korean).to_owned(),
        fix_hint: String::new(),
    };
    if !evidence.calculations.is_empty() {
        return accepted("the calculation has a result", "계산 결과가 있습니다");
    }
    if !evidence.passages.is_empty() {
        return accepted("there are results", "결과가 있습니다");
    }
    match failed(question, &evidence.failures) {
        Some(reason) => rejected(question, reason, &[]),
        None if !evidence.asked => {
            accepted("the question names nothing to look for", "질문에 찾아볼 말이 없습니다")
        }
        None => rejected(question, question.say("nothing was found", "찾은 것이 없습니다").to_owned(), &[]),
    }
}

fn rejected(question: &Question, reason: String, missing: &[&Term]) -> Verdict {
    let fix_hint = match (missing.is_empty(), question.korean) {
        (true, false) => "use another tool or more general words".to_owned(),
        (true, true) => "다른 도구나 더 일반적인 말을 쓰세요".to_owned(),
        (false, false) => {
            format!(
                "look for {} one by one, with more general words or another tool",
                named(question, missing.iter().copied())
            )
        }
        (false, true) => {
            format!(
                "{} 하나씩, 더 일반적인 말이나 다른 도구로 찾으세요",
                named(question, missing.iter().copied())
            )
        }
    };
    Verdict { ok: false, reason, fix_hint }
}

fn calculation_failed(question: &Question, evidence: &Results) -> String {
    let failure = evidence.failures.iter().find(|failure| failure.calculates);
    let why = failure.map(|failure| failure.why.as_str()).unwrap_or_default();
    let reason = question.say("the calculation has no result", "계산 결과가 없습니다");
    if why.is_empty() { reason.to_owned() } else { format!("{reason}: {why}") }
}

fn failed(question: &Question, failures: &[Failure]) -> Option<String> {
    let first = failures.first()?;
    Some(match question.korean {
        false => format!("the steps failed: {}: {}", first.tool, first.why),
        true => format!("단계가 실패했습니다: {}: {}", first.tool, first.why),
    })
}

/// The terms in quotes, each once.
pub(super) fn named<'t>(question: &Question, terms: impl IntoIterator<Item = &'t Term>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for term in terms {
        if !names.contains(&term.text.as_str()) && names.len() < MAX_NAMED {
            names.push(&term.text);
        }
    }
    if names.is_empty() {
        return question.say("the question", "질문").to_owned();
    }
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
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
        let mut all = Vocabulary::default();
        let mut each = Vec::with_capacity(passages.len());
        for passage in passages {
            let mut one = Vocabulary::of(&passage.source);
            one.add(&passage.text);
            all.add(&passage.source);
            all.add(&passage.text);
            each.push(one);
        }
        Library { each, all }
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
