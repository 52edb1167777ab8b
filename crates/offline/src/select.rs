//! Selection: the few sentences of the passages that speak most of what was asked.

use std::collections::HashSet;

use super::markdown::{Unit, UnitKind, units};
use super::results::Passage;
use super::terms::{Term, Vocabulary};

/// Most sentences of an answer.
const MAX_PICKS: usize = 5;
/// Most characters of an answer's sentences.
const MAX_CHARS: usize = 900;
/// Longest code block, in characters.
const MAX_CODE: usize = 600;
/// Most units that are weighed.
const MAX_UNITS: usize = 2_000;

/// A question of no more terms than this asks what something is.
const DEFINES: usize = 2;

/// A sentence that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pick {
    /// The position of its passage.
    pub passage: usize,
    /// Its position in the passage, that of its last sentence where it has two.
    pub at: usize,
    pub unit: Unit,
}

struct Candidate {
    pick: Pick,
    /// The terms it names.
    names: Vec<bool>,
    /// The weight of the terms that it or what stands above it names.
    covers: u32,
    /// Whether its passage has none of the names that are asked for.
    aside: bool,
    /// What it is worth beside the terms it names.
    bonus: u32,
}

/// The best sentences on the terms of so many parts of a question, in reading order. Without
/// terms, the first ones.
pub(super) fn select(passages: &[Passage], terms: &[&Term], parts: usize, shows_code: bool) -> Vec<Pick> {
    let mut candidates = candidates(passages, terms, shows_code);
    let mut seen = vec![false; terms.len()];
    let mut picks: Vec<Pick> = Vec::new();
    let mut room = MAX_CHARS;
    let mut first = 0;
    let widest = candidates.iter().map(|one| one.covers).max().unwrap_or(0);
    // Of two things asked, a sentence need not speak of both.
    let enough = if parts > 1 { widest.div_ceil(2) } else { widest / 2 + 1 };
    while picks.len() < MAX_PICKS {
        let fits =
            |candidate: &&Candidate| picks.is_empty() || candidate.pick.unit.text.chars().count() <= room;
        let worth = |candidate: &Candidate| match gain(candidate, terms, &seen) {
            // What says nothing new, of half of what the others speak of, only fills the page.
            _ if !picks.is_empty() && says_nothing_new(candidate, &picks, &seen, enough) => 0,
            gain => gain,
        };
        let scored = candidates.iter().enumerate().filter(|(_, one)| fits(one));
        // The first among equals: best passage, reading order.
        let best =
            scored.map(|(at, one)| (worth(one), at)).max_by_key(|(gain, at)| (*gain, std::cmp::Reverse(*at)));
        let Some((gain, at)) = best else { break };
        first = first.max(gain);
        // What says far less than the best only fills the page.
        if gain * if picks.len() < 2 { 4 } else { 3 } < first {
            break;
        }
        let chosen = candidates.remove(at);
        room = room.saturating_sub(chosen.pick.unit.text.chars().count());
        for (seen, names) in seen.iter_mut().zip(&chosen.names) {
            *seen |= names;
        }
        picks.push(chosen.pick);
    }
    picks.sort_by_key(|pick| (pick.passage, pick.at));
    picks
}

/// Adds the sentence that goes on where the first passage's picks end: of what is to be done, the
/// second half seldom names it again.
pub(super) fn go_on(picks: &mut Vec<Pick>, passages: &[Passage]) {
    let Some(passage) = picks.first().map(|pick| pick.passage) else { return };
    let Some(place) = picks.iter().rposition(|pick| pick.passage == passage) else { return };
    let (last, text) = (picks[place].at, passages.get(passage).map_or("", |found| found.text.as_str()));
    let next = answered(units(text)).into_iter().find(|(at, _)| *at > last);
    let goes_on = |unit: &Unit| unit.kind == UnitKind::Sentence && !unit.opens;
    if let Some((at, unit)) = next.filter(|(at, unit)| *at == last + 1 && goes_on(unit))
        && picks.iter().all(|pick| pick.unit.text != unit.text)
        && picks.len() < MAX_PICKS
    {
        picks.insert(place + 1, Pick { passage, at, unit });
    }
}

/// Whether a candidate of a new passage names nothing that was not named, and is about less than
/// others are.
fn says_nothing_new(candidate: &Candidate, picks: &[Pick], seen: &[bool], enough: u32) -> bool {
    let new = candidate.names.iter().zip(seen).any(|(names, seen)| *names && !seen);
    let apart = picks.iter().all(|pick| pick.passage != candidate.pick.passage);
    !new && apart && (candidate.aside || candidate.covers < enough)
}

/// A term that was not named yet counts twice one that was.
fn gain(candidate: &Candidate, terms: &[&Term], seen: &[bool]) -> u32 {
    let named = terms.iter().zip(&candidate.names).zip(seen).filter(|((_, names), _)| **names);
    named.map(|((term, _), seen)| if *seen { term.weight * 2 } else { term.weight * 4 }).sum::<u32>()
        + candidate.bonus
}

fn candidates(passages: &[Passage], terms: &[&Term], shows_code: bool) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (passage, found) in passages.iter().enumerate() {
        let place = found.source.split_once('#').map_or("", |(_, place)| place);
        let mut context = Vocabulary::of(place);
        let mut whole = Vocabulary::of(place);
        whole.add(&found.text);
        let aside =
            terms.iter().any(|term| term.name) && !terms.iter().any(|term| term.name && whole.has(term));
        let mut first = true;
        let mut listed = false;
        for (at, mut unit) in answered(units(&found.text)) {
            if candidates.len() >= MAX_UNITS {
                return candidates;
            }
            if unit.kind == UnitKind::Heading {
                context = Vocabulary::of(place);
                context.add(&unit.text);
                (first, listed) = (true, false);
                continue;
            }
            if unit.kind == UnitKind::Code {
                unit.text = unit.text.chars().take(MAX_CODE).collect();
            }
            let near = context.weight(terms.iter().copied());
            // What a heading names, the sentence right below it is about.
            // So are the entries of a list right below it.
            let leads = std::mem::take(&mut first);
            listed = unit.kind == UnitKind::Item && (leads || listed);
            let opens = near > 1 && (listed || leads && unit.kind == UnitKind::Sentence);
            let defines = opens && leads && terms.len() <= DEFINES;
            let own = Vocabulary::of(&unit.text);
            let names: Vec<bool> =
                terms.iter().map(|term| own.has(term) || (defines && context.has(term))).collect();
            let about = names.contains(&true) || opens || terms.is_empty();
            if !about || (unit.kind == UnitKind::Code && !says(&unit.text, &names, terms, shows_code)) {
                continue;
            }
            if !known.insert(unit.text.clone()) {
                continue;
            }
            let rank = u32::try_from(3usize.saturating_sub(passage)).unwrap_or(0);
            let code = if unit.kind == UnitKind::Code && shows_code { 4 } else { 0 };
            let about = if terms.len() <= DEFINES && is_definition(&unit, terms) { 4 } else { 0 };
            let bonus = u32::from(near > 0) + rank + code + about + if opens { 3 } else { 0 };
            let covered = terms.iter().filter(|term| own.has(term) || context.has(term));
            let covers = covered.map(|term| term.weight).sum();
            candidates.push(Candidate { pick: Pick { passage, at, unit }, names, covers, aside, bonus });
        }
    }
    candidates
}

/// The units with their places; a question that a document asks itself (and so all of an FAQ) goes
/// together with the sentence that answers it.
fn answered(units: Vec<Unit>) -> Vec<(usize, Unit)> {
    let mut joined: Vec<(usize, Unit)> = Vec::with_capacity(units.len());
    for (at, unit) in units.into_iter().enumerate() {
        match joined.last_mut() {
            Some((place, last))
                if last.text.ends_with('?')
                    && matches!(last.kind, UnitKind::Sentence | UnitKind::Item)
                    && unit.kind == UnitKind::Sentence =>
            {
                last.text = format!("{} {}", last.text, unit.text);
                *place = at;
            }
            _ => joined.push((at, unit)),
        }
    }
    joined
}

/// Whether a sentence begins with what is asked for and says what it is.
fn is_definition(unit: &Unit, terms: &[&Term]) -> bool {
    let mut words = unit.text.splitn(8, ' ');
    let mut head = String::new();
    let english = words.by_ref().take(5).any(|word| {
        let is = matches!(word, "is" | "are" | "means");
        if !is {
            head.push_str(word);
            head.push(' ');
        }
        is
    });
    let names = |text: &str| Vocabulary::of(text).weight(terms.iter().copied()) > 1;
    let first = unit.text.split(' ').next().unwrap_or_default();
    let korean = first.ends_with(['은', '는', '란']) && unit.text.ends_with("다.") && names(first);
    korean || english && names(&head)
}

/// Whether a code block is worth a place: it is asked for or has a name that is asked for, and is
/// no drawing.
fn says(code: &str, names: &[bool], terms: &[&Term], shows_code: bool) -> bool {
    let named = terms.iter().zip(names).any(|(term, names)| *names && term.name);
    let drawn = code.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}'));
    (shows_code || named) && !drawn
}
