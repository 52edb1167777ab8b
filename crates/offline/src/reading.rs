//! Reading: a passage sentence by sentence, each with what it says itself and what it goes on from.

use super::frame::{Frame, is_paraphrased};
use super::lexicon::table;
use super::markdown::{Unit, UnitKind, units};
use super::question::Part;
use super::results::Passage;
use super::stem;
use super::terms::{Term, Vocabulary, date, terms};
use super::text::{Word, is_korean, words};

/// A passage of so few sentences and characters is quoted whole.
const FEW_SENTENCES: usize = 4;
const FEW_CHARS: usize = 500;
/// So many words into a sentence it still may point back.
const MAX_BEFORE: usize = 4;

/// A sentence, list entry, row or block of code that is quoted.
pub(super) struct Pick {
    pub passage: usize,
    /// Its place in the passage, of two sentences that of the last.
    pub at: usize,
    pub unit: Unit,
}

/// A sentence, entry or row in its place.
pub(super) struct Line {
    at: usize,
    pub unit: Unit,
    /// What its clause speaks of.
    pub own: Vocabulary,
    /// Its clause in lower case, for patterns.
    pub lower: String,
    /// What it goes on from: its headings and, if it names no subject, the sentences before.
    pub around: Vocabulary,
    /// What the sentence before speaks of, for one whose subject the question names.
    before: Vocabulary,
    subject: Option<Term>,
    /// What it names dates of itself: months, days of the week.
    dates: Vec<&'static str>,
}

impl Line {
    pub(super) fn shows(&self, term: &Term) -> bool {
        self.own.has(term) || is_paraphrased(&term.key, &self.lower)
    }

    pub(super) fn speaks_of(&self, term: &Term) -> bool {
        self.shows(term) || self.around.has(term)
    }

    /// What it leaves out of these terms. If the question names its subject, the sentence before counts as well,
    /// but for no more than what it says itself. A date stands in the sentence itself, unless it has none.
    pub(super) fn missing<'q>(&self, part: &'q Part, asked: &[&'q Term]) -> Vec<&'q Term> {
        let dated = |term: &Term| term.date().is_some_and(|date| self.dates.contains(&date));
        let lacks = |term: &&Term| !self.shows(term) && (dated(term) || !self.around.has(term));
        let missing: Vec<&Term> = asked.iter().copied().filter(lacks).collect();
        let weight = |terms: &[&Term]| terms.iter().map(|term| term.weight).sum::<u32>();
        let subject =
            self.subject.as_ref().is_some_and(|own| part.terms.iter().any(|term| term.key == own.key));
        let subject = subject && asked.iter().all(|term| term.date().is_none());
        match subject && weight(&missing) * 2 <= weight(asked) {
            true => missing.into_iter().filter(|term| !self.before.has(term)).collect(),
            false => missing,
        }
    }

    /// Whether it asks the same with an answer behind it, as in an FAQ.
    pub(super) fn answers(&self, part: &Part, asked: &[&Term]) -> bool {
        let Some((question, answer)) = self.unit.text.rsplit_once('?') else { return false };
        let speaks = Vocabulary::of(question);
        let same = Frame::all(&question.to_lowercase()).first().copied() == part.frame;
        same && answer.chars().nth(8).is_some() && asked.iter().all(|term| speaks.has(term))
    }

    /// Whether it may say who: someone beside what the question names, or by, to or for whom.
    pub(super) fn names_someone(&self, asked: &[Term]) -> bool {
        let named = |at: usize, word: &Word<'_>| at > 0 && word.text.starts_with(char::is_uppercase);
        let known = |word: &Word<'_>| Vocabulary::of(word.text).weight(asked) > 0 || date(word).is_some();
        let subject = self.subject.as_ref().is_some_and(|own| {
            !own.text.starts_with(char::is_numeric) && asked.iter().all(|term| term.key != own.key)
        });
        let mut words = words(&self.unit.text).enumerate();
        subject
            || table("someone").are_in(&self.lower)
            || words.any(|(at, word)| (is_topic(&word) || named(at, &word)) && !known(&word))
    }

    pub(super) fn pick(&self, passage: usize) -> Pick {
        Pick { passage, at: self.at, unit: self.unit.clone() }
    }
}

/// Whether a sentence has no subject of its own: it begins with a word that points back, or is a Korean one
/// without a topic.
pub(super) fn goes_on(text: &str) -> bool {
    let points = |word: Word<'_>| table("anaphors").has(&word.text.to_lowercase());
    words(text).take(MAX_BEFORE).any(points) || is_korean(text) && !words(text).any(|word| is_topic(&word))
}

fn is_topic(word: &Word<'_>) -> bool {
    word.text.ends_with(['은', '는', '이', '가']) && stem::korean(word.text) != word.text
}

/// What the sentences of a passage speak of, one by one.
pub(super) fn read_lines(passage: &Passage) -> Vec<Line> {
    let (mut lines, mut heading, mut lead) = (Vec::new(), passage.source.clone(), String::new());
    // The sentence before in its paragraph, and those that it went on from.
    let (mut before, mut chain) = (String::new(), String::new());
    for (at, unit) in answered(units(&passage.text)) {
        let lists = unit.kind == UnitKind::Item;
        if unit.opens && unit.kind != UnitKind::Code {
            before.clear();
            chain.clear();
        }
        if unit.is_above() {
            heading = format!("{}\n{}", passage.source, unit.text);
        }
        if !lists {
            lead = if unit.text.ends_with(':') { unit.text.clone() } else { String::new() };
        }
        let entry = if lists { lead.as_str() } else { "" };
        // What an example in code quotes is no fact.
        let code = unit.kind == UnitKind::Code;
        let says = if code { unit.text.split('"').step_by(2).collect() } else { unit.text.clone() };
        for clause in says.split_inclusive("; ") {
            if !goes_on(clause) {
                chain.clear();
            }
            lines.push(Line {
                at,
                unit: unit.clone(),
                own: Vocabulary::of(clause),
                lower: clause.to_lowercase(),
                around: Vocabulary::of(&[&heading, &unit.head, entry, &chain].join("\n")),
                before: Vocabulary::of(&before),
                subject: terms(clause).into_iter().next(),
                dates: words(clause).filter_map(|word| date(&word)).collect(),
            });
            chain.extend([clause, "\n"]);
            before = clause.to_owned();
        }
    }
    lines
}

/// Whether these are prose of a few sentences. A list of questions with their answers is about many things.
pub(super) fn are_few(lines: &[Line]) -> bool {
    let mut body: Vec<&Unit> = lines.iter().map(|line| &line.unit).collect();
    body.retain(|unit| unit.kind != UnitKind::Heading);
    body.dedup_by_key(|unit| &unit.text);
    let prose =
        |unit: &&Unit| matches!(unit.kind, UnitKind::Sentence | UnitKind::Title) && !unit.text.contains('?');
    let chars: usize = body.iter().map(|unit| unit.text.chars().count()).sum();
    body.len() <= FEW_SENTENCES && body.iter().all(prose) && chars <= FEW_CHARS
}

/// The units with their places. A question in a text (as in an FAQ) goes together with its answer.
fn answered(units: Vec<Unit>) -> Vec<(usize, Unit)> {
    let asks =
        |last: &Unit| last.text.ends_with('?') && matches!(last.kind, UnitKind::Sentence | UnitKind::Item);
    let mut joined: Vec<(usize, Unit)> = Vec::with_capacity(units.len());
    for (at, unit) in units.into_iter().enumerate() {
        match joined.last_mut() {
            Some((place, last)) if asks(last) && unit.kind == UnitKind::Sentence => {
                last.text = format!("{} {}", last.text, unit.text);
                *place = at;
            }
            _ => joined.push((at, unit)),
        }
    }
    joined
}
