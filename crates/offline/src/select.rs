//! Selection: the few sentences of the passages that speak most of what was asked.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::markdown::{Unit, UnitKind, units};
use super::results::Passage;
use super::terms::{Term, Vocabulary};

const MAX_PICKS: usize = 5;
const MAX_CHARS: usize = 900;
const MAX_CODE_CHARS: usize = 600;
const MAX_UNITS: usize = 2_000;

const DEFINES: usize = 2;

pub(super) struct Pick {
    pub passage: usize,
    /// Its position in the passage, of two sentences that of the last.
    pub at: usize,
    pub unit: Unit,
}

struct Candidate {
    pick: Pick,
    names: Vec<bool>,
    /// The weight of the terms that it or what stands above it names.
    covers: u32,
    /// Whether its passage has none of the names that are asked for.
    aside: bool,
    /// What it is worth beside the terms it names.
    bonus: u32,
}

impl Candidate {
    fn len(&self) -> usize {
        self.pick.unit.text.chars().count()
    }

    /// A term that was not named yet counts twice one that was.
    fn gain(&self, terms: &[&Term], seen: &[bool]) -> u32 {
        let named = terms.iter().zip(&self.names).zip(seen).filter(|((_, names), _)| **names);
        self.bonus + named.map(|((term, _), seen)| term.weight * if *seen { 2 } else { 4 }).sum::<u32>()
    }
}

/// The best sentences on the terms of so many parts of a question, in reading order. Without terms, the
/// first ones.
pub(super) fn select(passages: &[Passage], terms: &[&Term], parts: usize, shows_code: bool) -> Vec<Pick> {
    let mut candidates = candidates(passages, terms, shows_code);
    let mut seen = vec![false; terms.len()];
    let mut picks: Vec<Pick> = Vec::new();
    let (mut room, mut first) = (MAX_CHARS, 0);
    let widest = candidates.iter().map(|one| one.covers).max().unwrap_or(0);
    // Of two things asked, a sentence need not speak of both.
    let enough = if parts > 1 { widest.div_ceil(2) } else { widest / 2 + 1 };
    while picks.len() < MAX_PICKS {
        // From another passage, a sentence that names nothing new and is about less only fills the page.
        let fills = |one: &Candidate| {
            let new = one.names.iter().zip(&seen).any(|(names, seen)| *names && !seen);
            let apart = picks.iter().all(|pick| pick.passage != one.pick.passage);
            !picks.is_empty() && !new && apart && (one.aside || one.covers < enough)
        };
        let worth = |one: &Candidate| if fills(one) { 0 } else { one.gain(terms, &seen) };
        let fitting = candidates.iter().enumerate().filter(|(_, one)| picks.is_empty() || one.len() <= room);
        // The first among equals: best passage, reading order.
        let best = fitting.map(|(at, one)| (worth(one), at)).max_by_key(|(gain, at)| (*gain, Reverse(*at)));
        let Some((gain, at)) = best else { break };
        first = first.max(gain);
        // What says far less than the best only fills the page.
        if gain * if picks.len() < 2 { 4 } else { 3 } < first {
            break;
        }
        let chosen = candidates.remove(at);
        room = room.saturating_sub(chosen.len());
        seen.iter_mut().zip(&chosen.names).for_each(|(seen, names)| *seen |= names);
        picks.push(chosen.pick);
    }
    picks.sort_by_key(|pick| (pick.passage, pick.at));
    picks
}

/// Adds the sentence that goes on where the first passage's picks end: of what is to be done, the second
/// half seldom names it again.
pub(super) fn go_on(picks: &mut Vec<Pick>, passages: &[Passage]) {
    let Some(passage) = picks.first().map(|pick| pick.passage) else { return };
    let Some(place) = picks.iter().rposition(|pick| pick.passage == passage) else { return };
    let at = picks[place].at + 1;
    let next = answered(units(&passages[passage].text)).into_iter().find(|(place, _)| *place >= at);
    let goes_on = |unit: &Unit| unit.kind == UnitKind::Sentence && !unit.opens;
    if let Some((_, unit)) = next.filter(|(place, unit)| *place == at && goes_on(unit))
        && picks.iter().all(|pick| pick.unit.text != unit.text)
        && picks.len() < MAX_PICKS
    {
        picks.insert(place + 1, Pick { passage, at, unit });
    }
}

fn candidates(passages: &[Passage], terms: &[&Term], shows_code: bool) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (passage, found) in passages.iter().enumerate() {
        let place = found.source.split_once('#').map_or("", |(_, place)| place);
        let mut context = Vocabulary::of(place);
        let all = Vocabulary::of(&format!("{place}\n{}", found.text));
        let named = terms.iter().any(|term| term.name && all.has(term));
        let aside = !named && terms.iter().any(|term| term.name);
        let (mut leads, mut listed) = (true, false);
        for (at, mut unit) in answered(units(&found.text)) {
            if candidates.len() >= MAX_UNITS {
                return candidates;
            }
            if unit.kind == UnitKind::Heading {
                context = Vocabulary::of(&format!("{place}\n{}", unit.text));
                (leads, listed) = (true, false);
                continue;
            }
            let code = unit.kind == UnitKind::Code;
            if code {
                unit.text = unit.text.chars().take(MAX_CODE_CHARS).collect();
            }
            let near = context.weight(terms.iter().copied());
            // What a heading names, the sentence right below it is about, and so are the entries of a list
            // right below it.
            let first = std::mem::take(&mut leads);
            listed = unit.kind == UnitKind::Item && (first || listed);
            let opens = near > 1 && (listed || first && unit.kind == UnitKind::Sentence);
            let defines = opens && first && terms.len() <= DEFINES;
            let own = Vocabulary::of(&unit.text);
            let names: Vec<bool> =
                terms.iter().map(|term| own.has(term) || (defines && context.has(term))).collect();
            let about = names.contains(&true) || opens || terms.is_empty();
            let shown = !code || is_worth_showing(&unit.text, &names, terms, shows_code);
            if !about || !shown || !known.insert(unit.text.clone()) {
                continue;
            }
            let rank = 3u32.saturating_sub(u32::try_from(passage).unwrap_or(u32::MAX));
            let definition = terms.len() <= DEFINES && is_definition(&unit, terms);
            let worth = |fits: bool, worth: u32| if fits { worth } else { 0 };
            let bonus = rank
                + worth(near > 0, 1)
                + worth(code && shows_code, 4)
                + worth(definition, 4)
                + worth(opens, 3);
            let covered = terms.iter().filter(|term| own.has(term) || context.has(term));
            let covers = covered.map(|term| term.weight).sum();
            candidates.push(Candidate { pick: Pick { passage, at, unit }, names, covers, aside, bonus });
        }
    }
    candidates
}

/// The units with their places. A question that a document asks itself (as in an FAQ) goes together with the
/// sentence that answers it.
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

/// Whether a sentence begins with what is asked for and says what it is.
fn is_definition(unit: &Unit, terms: &[&Term]) -> bool {
    let words: Vec<&str> = unit.text.split(' ').collect();
    let names = |text: &str| Vocabulary::of(text).weight(terms.iter().copied()) > 1;
    let is = words.iter().take(5).position(|word| matches!(*word, "is" | "are" | "means"));
    let korean = words[0].ends_with(['은', '는', '란']) && unit.text.ends_with("다.") && names(words[0]);
    korean || is.is_some_and(|is| names(&words[..is].join(" ")))
}

/// Whether a code block is worth a place: it is asked for or has a name that is asked for, and is no drawing.
fn is_worth_showing(code: &str, names: &[bool], terms: &[&Term], shows_code: bool) -> bool {
    let named = terms.iter().zip(names).any(|(term, names)| *names && term.name);
    let drawn = code.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}'));
    (shows_code || named) && !drawn
}
