//! Evidence: which passages answer a question, and which of their sentences are quoted.
//!
//! A passage answers a part of a question if it speaks of all that the part insists on: its subjects, names
//! and numbers. One that leaves out any of them is about something else, and is at most the nearest.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use super::frame::Frame;
use super::lexicon::table;
use super::markdown::{UnitKind, units};
use super::question::{Part, Question};
use super::reading::{Line, Pick, are_few, goes_on, read_lines};
use super::results::Passage;
use super::talk::{articles, has_paragraph as has, paragraph};
use super::terms::Term;

const MAX_PICKS: usize = 5;
const MAX_CHARS: usize = 900;
const MAX_CODE_CHARS: usize = 600;

#[derive(Default)]
pub(super) struct Evidence<'q> {
    /// In reading order.
    pub picks: Vec<Pick>,
    /// The terms of the parts that have an answer.
    pub found: Vec<&'q Term>,
    /// What the nearest sentences leave out of the other parts.
    pub lacking: Vec<&'q Term>,
    /// Whether some are spoken of, and what is asked about them is not said.
    pub unsaid: bool,
    /// Of a part without an answer, the sentence that speaks most of it.
    pub nearest: Option<Pick>,
}

impl<'q> Evidence<'q> {
    pub(super) fn find(question: &'q Question, passages: &[Passage]) -> Self {
        if question.is_beyond {
            return Evidence::default();
        }
        let numbers = articles(&question.text);
        // An example in quotation marks is no article.
        let speaks = |passage: &&Passage| {
            let text: String = passage.text.split(['"', '«', '»', '“', '”']).step_by(2).collect();
            numbers.is_empty() || articles(&text).iter().any(|number| numbers.contains(number))
        };
        let read = |passage| Some(passage).filter(speaks).map(read_lines).unwrap_or_default();
        let shelf: Vec<Vec<Line>> = passages.iter().map(read).collect();
        let picks = quote_articles(question, passages);
        let terms = question.terms();
        if !picks.is_empty() {
            return Evidence { picks, found: terms, ..Evidence::default() };
        }
        let shows_code = table("shows_code").are_in(&question.text.to_lowercase());
        let mut frames = Frame::all(&question.text.to_lowercase());
        frames.retain(|frame| frame.has_form());
        // If it asks for one sentence, what else speaks of it is beside that.
        let narrow = question.parts.iter().all(|part| part.frame.is_some_and(|frame| !frame.is("open")));
        let mut asked = Asked { terms: &terms, shows_code, frames, narrow, answers: Vec::new() };
        if question.parts.is_empty() {
            return Evidence { picks: asked.select(&shelf, 0..shelf.len()), ..Evidence::default() };
        }
        let mut evidence = Evidence::default();
        for part in &question.parts {
            let (best, missing, shown) = best_lines(part, &shelf);
            if missing.is_empty() && !best.is_empty() {
                evidence.found.extend(&part.terms);
                asked.answers.extend(best);
            } else if !part.beside {
                // What stands elsewhere was found, and what was asked about it was not.
                let lines = || shelf.iter().flatten();
                let says = |line: &&Line| line.unit.kind != UnitKind::Heading;
                let stands = |term: &&Term| lines().filter(says).any(|line| line.speaks_of(term));
                let nowhere: Vec<&Term> = missing.iter().copied().filter(|term| !stands(term)).collect();
                evidence.unsaid |= !shown || nowhere.is_empty();
                evidence.lacking.extend(if nowhere.is_empty() { insisted(part) } else { nowhere });
                let quote = |&(passage, line): &(usize, usize)| shelf[passage][line].pick(passage);
                evidence.nearest = evidence.nearest.or_else(|| best.first().map(quote));
            }
        }
        let answering: BTreeSet<usize> = asked.answers.iter().map(|(passage, _)| *passage).collect();
        evidence.picks = asked.select(&shelf, answering.into_iter());
        evidence
    }
}

/// The terms that an answer to a part must speak of; if there are none, all of them.
fn insisted(part: &Part) -> Vec<&Term> {
    let insists = part.terms.iter().any(Term::is_insisted);
    part.terms.iter().filter(|term| term.is_insisted() || !insists).collect()
}

/// The sentences that speak most of a part, what they leave out of what it insists on, and whether they have the
/// form of an answer or leave something out.
fn best_lines<'q>(part: &'q Part, shelf: &[Vec<Line>]) -> (Vec<(usize, usize)>, Vec<&'q Term>, bool) {
    let asked = insisted(part);
    let mut ranked = Vec::new();
    let weigh = |has: &dyn Fn(&&Term) -> bool| part.terms.iter().filter(has).map(|term| term.weight).sum();
    for (passage, lines) in shelf.iter().enumerate() {
        let says = |(_, line): &(usize, &Line)| line.unit.kind != UnitKind::Heading;
        for (at, line) in lines.iter().enumerate().filter(says) {
            let missing = line.missing(part, &asked);
            let lacks: u32 = missing.iter().map(|term| term.weight).sum();
            let denies = table("negations").are_in(&line.lower);
            let shown = part.frame.is_none_or(|frame| denies || frame.is_shown_in(&line.lower));
            let who = part.frame.is_some_and(|frame| frame.is("person"));
            let shown = shown && (!who || line.names_someone(&part.terms)) || line.answers(part, &asked);
            let own: u32 = weigh(&|term| line.shows(term));
            let all: u32 = weigh(&|term| line.speaks_of(term));
            let around = line.around.weight(&part.terms);
            if own > 0 || part.frame.is_some() && around > 0 || line.unit.opens && around > 1 {
                // Who did it stands where it is said.
                let rank = (Reverse(lacks), if who { all } else { 0 }, shown, all, own);
                ranked.push((rank, (passage, at), missing));
            }
        }
    }
    let Some((most, place, missing)) = ranked.iter().max_by_key(|(rank, ..)| *rank).cloned() else {
        return (Vec::new(), asked, true);
    };
    if most.0 == Reverse(0) && !most.2 {
        return (vec![place], asked, false);
    }
    let best = ranked.iter().filter(|(rank, ..)| (rank.0, rank.2, rank.3) == (most.0, most.2, most.3));
    (best.map(|(_, place, _)| *place).collect(), missing, true)
}

/// The articles that a question names by their numbers, whole.
fn quote_articles(question: &Question, passages: &[Passage]) -> Vec<Pick> {
    let asked = articles(&question.text);
    let lacks = |passage: &Passage| paragraph(&question.text).is_some_and(|mark| !has(&passage.text, mark));
    let is_asked = |passage: &Passage| {
        articles(&passage.source).iter().any(|own| asked.contains(own)) && !lacks(passage)
    };
    let found = passages.iter().enumerate().filter(|(_, passage)| is_asked(passage)).take(MAX_PICKS);
    let quote = |(passage, found): (usize, &Passage)| {
        units(&found.text).into_iter().enumerate().map(move |(at, unit)| Pick { passage, at, unit })
    };
    found.flat_map(quote).collect()
}

/// What sentences are chosen by.
struct Asked<'t> {
    terms: &'t [&'t Term],
    shows_code: bool,
    frames: Vec<Frame>,
    /// Whether each part asks for one sentence.
    narrow: bool,
    /// The sentences that answer a part by themselves.
    answers: Vec<(usize, usize)>,
}

impl Asked<'_> {
    /// The best sentences of these passages, each once, in reading order. Without terms, the first ones.
    fn select(&self, shelf: &[Vec<Line>], passages: impl Iterator<Item = usize>) -> Vec<Pick> {
        let ranked = passages.enumerate();
        let mut ranked: Vec<(u32, Pick)> =
            ranked.flat_map(|(rank, at)| self.weigh(rank, at, &shelf[at])).collect();
        // The first among equals: best passage, reading order.
        ranked.sort_by_key(|(worth, _)| Reverse(*worth));
        let most = ranked.first().map_or(0, |(worth, _)| *worth);
        let (mut known, mut room) = (HashSet::new(), MAX_CHARS);
        let mut picks: Vec<Pick> = Vec::new();
        // What says far less than the best only fills the page.
        for (_, pick) in ranked.into_iter().filter(|(worth, _)| worth * 4 > most) {
            let chars = pick.unit.text.chars().count();
            if picks.len() < MAX_PICKS
                && (picks.is_empty() || chars <= room)
                && known.insert(pick.unit.text.clone())
            {
                room = room.saturating_sub(chars);
                picks.push(pick);
            }
        }
        let short: HashSet<usize> = picks.iter().map(|pick| pick.passage).collect();
        for passage in short.into_iter().filter(|passage| are_few(&shelf[*passage])) {
            let lines = shelf[passage].iter().filter(|line| line.unit.kind == UnitKind::Sentence);
            let lines = lines.filter(|line| known.insert(line.unit.text.clone()));
            picks.extend(lines.map(|line| line.pick(passage)));
        }
        picks.sort_by_key(|pick| (pick.passage, pick.at));
        picks
    }

    /// What may be quoted of a passage, and what it is worth.
    fn weigh(&self, rank: usize, passage: usize, lines: &[Line]) -> Vec<(u32, Pick)> {
        let mut weighed = Vec::new();
        let answers = |line: usize| self.answers.contains(&(passage, line));
        let row_answers = (0..lines.len()).any(|line| answers(line) && !lines[line].unit.head.is_empty());
        let mut listed = false;
        for (at, line) in lines.iter().enumerate() {
            let Line { unit, own, lower, around, .. } = line;
            let near = around.weight(self.terms.iter().copied());
            // What a heading names, the sentence right below it is about, and so are the entries of a list
            // right below it.
            let below = at == 0 || lines[at - 1].unit.is_above();
            let first = below && !unit.is_above();
            listed = unit.kind == UnitKind::Item && line.unit.head.is_empty() && (first || listed);
            let opens = near > 1 && (listed || first && unit.kind == UnitKind::Sentence);
            let names = |term: &&&Term| own.has(term) || opens && first && around.has(term);
            let named: u32 = self.terms.iter().filter(names).map(|term| term.weight).sum();
            let follows = at > 0 && !unit.opens && answers(at - 1) && goes_on(&unit.text);
            let title = unit.kind == UnitKind::Title;
            let about = answers(at) || follows || named > 0 || opens || self.terms.is_empty() && !title;
            // Beside a row that answers, the others are about something else; so is most beside one sentence.
            let other = self.frames.iter().skip(1).any(|frame| frame.is_shown_in(lower));
            let narrow = self.narrow && !self.answers.is_empty() && !(follows || listed || other);
            let beside = !answers(at) && (row_answers && !line.unit.head.is_empty() || narrow);
            let code = unit.kind == UnitKind::Code;
            // Code is shown if it is asked for or has a name that is, and is no drawing.
            let asked = self.shows_code || self.terms.iter().any(|term| term.name && own.has(term));
            let drawn = lower.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}'));
            if unit.kind == UnitKind::Heading || !about || beside || code && (!asked || drawn) {
                continue;
            }
            let mut pick = line.pick(passage);
            if code {
                pick.unit.text = unit.text.chars().take(MAX_CODE_CHARS).collect();
            }
            let worth = |fits: bool, worth: u32| if fits { worth } else { 0 };
            let worth = named * 3
                + 3u32.saturating_sub(u32::try_from(rank).unwrap_or(u32::MAX))
                + worth(near > 0, 1)
                + worth(code && self.shows_code, 4)
                + worth(answers(at), 8)
                + worth(self.frames.iter().any(|frame| frame.is_shown_in(lower)), 4)
                + worth(opens || follows, 3);
            weighed.push((worth, pick));
        }
        weighed
    }
}
