//! Selection: the few sentences of the passages that speak most of what was asked.

use std::collections::HashSet;

use super::evidence::Passage;
use super::markdown::{Unit, UnitKind, units};
use super::terms::{Term, Vocabulary};

/// Most sentences of an answer.
const MAX_PICKS: usize = 5;
/// Most characters of an answer's sentences.
const MAX_CHARS: usize = 900;
/// Longest code block, in characters.
const MAX_CODE: usize = 600;
/// Most units that are weighed.
const MAX_UNITS: usize = 2_000;

/// A sentence that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pick {
    /// The position of its passage.
    pub passage: usize,
    /// Its position in the passage.
    pub at: usize,
    pub unit: Unit,
}

struct Candidate {
    pick: Pick,
    /// The terms it names.
    names: Vec<bool>,
    /// What it is worth beside the terms it names.
    bonus: u32,
}

/// The best sentences, in reading order. Without terms, the first ones.
pub(super) fn select(passages: &[Passage], terms: &[&Term], shows_code: bool) -> Vec<Pick> {
    let mut candidates = candidates(passages, terms, shows_code);
    let mut seen = vec![false; terms.len()];
    let mut picks: Vec<Pick> = Vec::new();
    let mut room = MAX_CHARS;
    let mut first = 0;
    while picks.len() < MAX_PICKS {
        let fits =
            |candidate: &&Candidate| picks.is_empty() || candidate.pick.unit.text.chars().count() <= room;
        let worth = |candidate: &Candidate| gain(candidate, terms, &seen);
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
        let mut first = true;
        for (at, mut unit) in units(&found.text).into_iter().enumerate() {
            if candidates.len() >= MAX_UNITS {
                return candidates;
            }
            if unit.kind == UnitKind::Heading {
                context = Vocabulary::of(place);
                context.add(&unit.text);
                first = true;
                continue;
            }
            if unit.kind == UnitKind::Code {
                unit.text = unit.text.chars().take(MAX_CODE).collect();
            }
            let own = Vocabulary::of(&unit.text);
            let names: Vec<bool> = terms.iter().map(|term| own.has(term)).collect();
            let near = context.weight(terms.iter().copied());
            // What a heading names, the sentence right below it is about.
            let opens = std::mem::take(&mut first) && unit.kind == UnitKind::Sentence;
            let about = names.contains(&true) || (opens && near > 1) || terms.is_empty();
            if !about || !known.insert(unit.text.clone()) {
                continue;
            }
            let rank = u32::try_from(3usize.saturating_sub(passage)).unwrap_or(0);
            let code = if unit.kind == UnitKind::Code && shows_code { 4 } else { 0 };
            let bonus = u32::from(near > 0) + rank + code + u32::from(opens);
            candidates.push(Candidate { pick: Pick { passage, at, unit }, names, bonus });
        }
    }
    candidates
}
