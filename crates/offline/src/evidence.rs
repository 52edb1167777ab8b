//! Evidence: which passages answer a question, and which of their sentences are quoted.
//!
//! A passage answers a part of a question if it speaks of all that the part insists on: its subjects, names
//! and numbers. One that leaves out any of them is about something else, and is at most the nearest.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::lexicon::table;
use super::markdown::{Unit, UnitKind, units};
use super::question::{Part, Question};
use super::results::Passage;
use super::talk::articles;
use super::terms::{Term, Vocabulary};

const MAX_PICKS: usize = 5;
const MAX_CHARS: usize = 900;
const MAX_CODE_CHARS: usize = 600;
/// A passage of so few sentences and characters is quoted whole.
const FEW_SENTENCES: usize = 4;
const FEW_CHARS: usize = 500;

/// A sentence, list entry, row or block of code that is quoted.
pub(super) struct Pick {
    pub passage: usize,
    /// Its place in the passage, of two sentences that of the last.
    pub at: usize,
    pub unit: Unit,
}

#[derive(Default)]
pub(super) struct Evidence<'q> {
    /// In reading order.
    pub picks: Vec<Pick>,
    /// The terms of the parts that have an answer.
    pub found: Vec<&'q Term>,
    /// What the nearest passages leave out of the other parts.
    pub lacking: Vec<&'q Term>,
    /// Of a question without an answer, the sentence that speaks most of it.
    pub nearest: Option<Pick>,
}

impl<'q> Evidence<'q> {
    pub(super) fn find(question: &'q Question, passages: &[Passage]) -> Self {
        let shelf: Vec<Reading<'_>> = passages.iter().map(Reading::of).collect();
        let picks = quote_articles(question, passages);
        let terms = question.terms();
        if !picks.is_empty() {
            return Evidence { picks, found: terms, ..Evidence::default() };
        }
        let lower = question.text.to_lowercase();
        let asked = Asked {
            terms: &terms,
            shows_code: table("shows_code").are_in(&lower),
            counts: table("counts").are_in(&lower),
            places: table("asks_where").are_in(&lower),
        };
        if question.parts.is_empty() {
            let all: Vec<usize> = (0..shelf.len()).collect();
            return Evidence { picks: asked.select(&shelf, &all), ..Evidence::default() };
        }
        let mut evidence = Evidence::default();
        let (mut answering, mut near) = (Vec::new(), Vec::new());
        for part in &question.parts {
            let (best, missing) = best_passages(part, &shelf);
            if missing.is_empty() && !best.is_empty() {
                evidence.found.extend(&part.terms);
                answering.extend(best);
            } else if !part.beside {
                evidence.lacking.extend(missing);
                near.extend(best.first());
            }
        }
        answering.sort_unstable();
        answering.dedup();
        evidence.picks = asked.select(&shelf, &answering);
        if evidence.picks.is_empty() {
            evidence.lacking = question.insisted().flat_map(|part| best_passages(part, &shelf).1).collect();
            evidence.nearest = asked.choose(asked.gather(&shelf, &near)).into_iter().next();
        }
        evidence
    }
}

/// A passage with what it speaks of.
struct Reading<'p> {
    passage: &'p Passage,
    units: Vec<(usize, Unit)>,
    /// Its source, text, and rows with their headings.
    all: Vocabulary,
}

impl<'p> Reading<'p> {
    fn of(passage: &'p Passage) -> Self {
        let units = answered(units(&passage.text));
        let mut all = Vocabulary::of(&passage.source);
        all.add(&passage.text);
        units.iter().filter(|(_, unit)| !unit.head.is_empty()).for_each(|(_, row)| all.add(&row.text));
        Reading { passage, units, all }
    }

    /// Whether it is prose of a few sentences.
    fn is_short(&self) -> bool {
        let body: Vec<&Unit> =
            self.units.iter().map(|(_, unit)| unit).filter(|unit| !unit.is_heading()).collect();
        // A list of questions with their answers is about many things.
        let prose = |unit: &&Unit| unit.kind == UnitKind::Sentence && !unit.text.contains('?');
        body.len() <= FEW_SENTENCES
            && body.iter().all(prose)
            && self.passage.text.chars().count() <= FEW_CHARS
    }
}

/// The passages that speak most of a part, and what they leave out of what it insists on.
fn best_passages<'q>(part: &'q Part, shelf: &[Reading<'_>]) -> (Vec<usize>, Vec<&'q Term>) {
    let insists = part.terms.iter().any(Term::is_insisted);
    let asked: Vec<&Term> = part.terms.iter().filter(|term| term.is_insisted() || !insists).collect();
    let missing = |reading: &Reading<'_>| -> Vec<&'q Term> {
        asked.iter().copied().filter(|term| !reading.all.has(term)).collect()
    };
    let lacks = |at: usize| missing(&shelf[at]).iter().map(|term| term.weight).sum::<u32>();
    let weight = |at: usize| shelf[at].all.weight(&part.terms);
    let rank = |at: &usize| (Reverse(lacks(*at)), weight(*at));
    let Some(most) = (0..shelf.len()).map(|at| rank(&at)).max() else {
        return (Vec::new(), asked);
    };
    let best: Vec<usize> = (0..shelf.len()).filter(|at| rank(at) == most && weight(*at) > 0).collect();
    let missing = best.first().map_or_else(|| asked.clone(), |at| missing(&shelf[*at]));
    (best, missing)
}

/// The articles that a question names by their numbers, whole.
fn quote_articles(question: &Question, passages: &[Passage]) -> Vec<Pick> {
    let asked = articles(&question.text);
    let is_asked = |passage: &Passage| articles(&passage.source).iter().any(|own| asked.contains(own));
    let found = passages.iter().enumerate().filter(|(_, passage)| is_asked(passage)).take(MAX_PICKS);
    let quote = |(passage, found): (usize, &Passage)| {
        let units = units(&found.text).into_iter().enumerate();
        units.map(move |(at, unit)| Pick { passage, at, unit })
    };
    found.flat_map(quote).collect()
}

struct Candidate {
    pick: Pick,
    names: Vec<bool>,
    /// What it is worth beside the terms it names.
    bonus: u32,
    /// The weight of what a row names and the headings of its table do not.
    row: Option<u32>,
}

/// What sentences are chosen by.
struct Asked<'t> {
    terms: &'t [&'t Term],
    shows_code: bool,
    /// Whether it asks when, or how much.
    counts: bool,
    /// Whether it asks where.
    places: bool,
}

impl Asked<'_> {
    /// What may be quoted of these passages, each sentence once.
    fn gather(&self, shelf: &[Reading<'_>], passages: &[usize]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        for (rank, at) in passages.iter().enumerate() {
            let mut own = self.candidates(rank, *at, &shelf[*at]);
            // Beside a row that names what is asked for, the others are about something else.
            let most = own.iter().filter_map(|one| one.row).max().unwrap_or(0);
            own.retain(|one| {
                one.row.is_none_or(|row| row == most) && known.insert(one.pick.unit.text.clone())
            });
            candidates.append(&mut own);
        }
        candidates
    }

    /// The best sentences of these passages, in reading order. Without terms, the first ones.
    fn select(&self, shelf: &[Reading<'_>], passages: &[usize]) -> Vec<Pick> {
        let mut picks = self.choose(self.gather(shelf, passages));
        let mut quoted: Vec<usize> = picks.iter().map(|pick| pick.passage).collect();
        quoted.dedup();
        for passage in quoted.into_iter().filter(|passage| shelf[*passage].is_short()) {
            let others = picks.iter().filter(|pick| pick.passage != passage);
            let mut known: HashSet<&str> = others.map(|pick| pick.unit.text.as_str()).collect();
            let units = shelf[passage].units.iter();
            let units = units.filter(|(_, unit)| !unit.is_heading() && known.insert(&unit.text));
            let units: Vec<Pick> =
                units.map(|(at, unit)| Pick { passage, at: *at, unit: unit.clone() }).collect();
            picks.retain(|pick| pick.passage != passage);
            picks.extend(units);
        }
        picks.sort_by_key(|pick| (pick.passage, pick.at));
        picks
    }

    /// Takes the candidate that is worth most, again and again. A term that is quoted already counts half.
    fn choose(&self, mut candidates: Vec<Candidate>) -> Vec<Pick> {
        let count = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
        let worth: Vec<u32> = (0..self.terms.len())
            .map(|term| {
                let naming = candidates.iter().filter(|one| one.names[term]).count();
                // What few sentences name says more.
                let rarity = (count / u32::try_from(naming).unwrap_or(u32::MAX).max(1)).max(1).ilog2();
                self.terms[term].weight * (2 + rarity.min(4))
            })
            .collect();
        let mut seen = vec![false; self.terms.len()];
        let mut picks: Vec<Pick> = Vec::new();
        let (mut room, mut first) = (MAX_CHARS, 0);
        while picks.len() < MAX_PICKS {
            let gain = |one: &Candidate| {
                let named = (0..seen.len()).filter(|term| one.names[*term]);
                let new = |term: usize| if seen[term] { worth[term] / 2 } else { worth[term] };
                one.bonus + named.map(new).sum::<u32>()
            };
            let is_new = |one: &Candidate| one.names.iter().zip(&seen).any(|(names, seen)| *names && !seen);
            let fits = |one: &Candidate| picks.is_empty() || one.pick.unit.text.chars().count() <= room;
            // The first among equals: best passage, reading order.
            let fitting = candidates.iter().enumerate().filter(|(_, one)| fits(one));
            let best = fitting.max_by_key(|(at, one)| (gain(one), Reverse(*at)));
            let Some((at, gain)) = best.map(|(at, one)| (at, gain(one))) else { break };
            first = first.max(gain);
            // What says far less than the best only fills the page.
            if gain * 4 < first && !is_new(&candidates[at]) {
                break;
            }
            let Candidate { pick, names, .. } = candidates.remove(at);
            room = room.saturating_sub(pick.unit.text.chars().count());
            seen.iter_mut().zip(&names).for_each(|(seen, names)| *seen |= names);
            picks.push(pick);
        }
        picks
    }

    fn candidates(&self, rank: usize, passage: usize, reading: &Reading<'_>) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let source = &reading.passage.source;
        let mut context = Vocabulary::of(source);
        let (mut leads, mut listed) = (true, false);
        for (at, unit) in &reading.units {
            let mut unit = unit.clone();
            if unit.is_heading() {
                context = Vocabulary::of(&format!("{source}\n{}", unit.text));
                (leads, listed) = (true, false);
                continue;
            }
            let code = unit.kind == UnitKind::Code;
            if code {
                unit.text = unit.text.chars().take(MAX_CODE_CHARS).collect();
            }
            let near = context.weight(self.terms.iter().copied());
            // What a heading names, the sentence right below it is about, and so are the entries of a list
            // right below it.
            let first = std::mem::take(&mut leads);
            listed = unit.kind == UnitKind::Item && unit.head.is_empty() && (first || listed);
            let opens = near > 1 && (listed || first && unit.kind == UnitKind::Sentence);
            let own = Vocabulary::of(&unit.text);
            let names: Vec<bool> =
                self.terms.iter().map(|term| own.has(term) || opens && first && context.has(term)).collect();
            let about = names.contains(&true) || opens || self.terms.is_empty();
            if !about || code && !self.is_worth_showing(&unit.text, &names) {
                continue;
            }
            let head = Vocabulary::of(&unit.head);
            let row = || own.weight(self.terms.iter().filter(|term| !head.has(term)).copied());
            let row = (!unit.head.is_empty()).then(row);
            let lower = unit.text.to_lowercase();
            let tells = unit.text.contains(|c: char| c.is_ascii_digit());
            let worth = |fits: bool, worth: u32| if fits { worth } else { 0 };
            let bonus = 3u32.saturating_sub(u32::try_from(rank).unwrap_or(u32::MAX))
                + worth(near > 0, 1)
                + worth(code && self.shows_code, 4)
                + worth(self.counts && tells || self.places && table("places").are_in(&lower), 4)
                + worth(opens, 3);
            candidates.push(Candidate { pick: Pick { passage, at: *at, unit }, names, bonus, row });
        }
        candidates
    }

    /// Whether a block of code is asked for or has a name that is asked for, and is no drawing.
    fn is_worth_showing(&self, code: &str, names: &[bool]) -> bool {
        let named = self.terms.iter().zip(names).any(|(term, names)| *names && term.name);
        let drawn = code.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}'));
        (self.shows_code || named) && !drawn
    }
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
