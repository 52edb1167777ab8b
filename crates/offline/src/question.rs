//! The question, taken apart: what is to be calculated, and what is to be looked for in how many parts.

use super::arithmetic::{self, MARK};
use super::frame::Frame;
use super::lexicon::{say, table};
use super::stem;
use super::terms::{Term, terms};
use super::text::{clean, is_korean};

const MAX_CHARS: usize = 4_000;
const MAX_PARTS: usize = 3;
const MAX_CUTS: usize = 16;

#[derive(Debug)]
pub(super) struct Question {
    pub text: String,
    pub korean: bool,
    pub expressions: Vec<String>,
    pub parts: Vec<Part>,
    /// Why this model cannot answer it, as the key of what is said.
    pub declined: Option<&'static str>,
    /// Whether no document answers it either.
    pub is_beyond: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub terms: Vec<Term>,
    /// Whether it stands around an expression (`3 + 4 apples`): looked for, not insisted on.
    pub beside: bool,
    /// What kind of answer it asks for.
    pub frame: Option<Frame>,
    /// Whether it is only joined to what asks (`환불 기한과`).
    joined: bool,
}

impl Question {
    /// Takes a question apart; its arithmetic is set apart if there is a tool for it.
    pub(super) fn parse(text: &str, calc: bool) -> Self {
        let text = clean(text, MAX_CHARS).trim().to_owned();
        let (expressions, rest) = if calc { arithmetic::find(&text) } else { (Vec::new(), text.clone()) };
        let mut parts = parts(&rest);
        // `How long is 5 km in miles?` asks for nothing beside the calculation.
        if !expressions.is_empty() {
            parts.retain(|part| !part.terms.iter().all(|term| table("measures").has(&term.text)));
        }
        let [beyond, declined] = arithmetic::declines(&text);
        let declined = beyond.or(declined.filter(|_| expressions.is_empty()));
        let is_number = |term: &Term| term.text.bytes().all(|byte| byte.is_ascii_digit());
        let sum = parts.iter().flat_map(|part| &part.terms).all(is_number);
        let is_beyond = beyond.is_some() || declined.is_some() && sum;
        Question { korean: is_korean(&text), text, expressions, parts, declined, is_beyond }
    }

    pub(super) fn without_work(mut self) -> Self {
        if self.terms().iter().any(|term| !is_work(&term.text)) {
            self.parts.iter_mut().for_each(|part| part.terms.retain(|term| !is_work(&term.text)));
            self.parts.retain(|part| !part.terms.is_empty());
        }
        self
    }

    pub(super) fn terms(&self) -> Vec<&Term> {
        let mut all: Vec<&Term> = Vec::new();
        for term in self.parts.iter().flat_map(|part| &part.terms) {
            if all.iter().all(|known| known.text != term.text) {
                all.push(term);
            }
        }
        all
    }

    /// The parts that an answer must speak of.
    pub(super) fn insisted(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| !part.beside)
    }

    pub(super) fn say(&self, key: &str) -> &'static str {
        say(key, self.korean)
    }

    /// The text of this key, with `what` in the place of its `{}`.
    pub(super) fn tell(&self, key: &str, what: &str) -> String {
        self.say(key).replacen("{}", what, 1)
    }
}

pub(super) fn is_work(word: &str) -> bool {
    table("work").are_in(&word.to_lowercase())
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for piece in clauses(text).into_iter().flat_map(pieces) {
        add(&mut parts, piece);
    }
    // `the fee of A and of B`: what asks stands in one of them.
    if let Some(frame) = Frame::all(&text.to_lowercase()).first().copied() {
        parts.iter_mut().for_each(|part| part.frame = part.frame.or(Some(frame).filter(|_| part.joined)));
    }
    parts
}

fn add(parts: &mut Vec<Part>, piece: &str) {
    let mut found = terms(piece);
    if found.is_empty() {
        return;
    }
    let mut words = piece.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let refers =
        words.any(|word| table("pronouns").has(&word.to_lowercase()) || table("korean_pronouns").begin(word));
    let frame = Frame::all(&piece.to_lowercase()).first().copied();
    let vague = found.iter().all(|term| term.weight < 2);
    let full = parts.len() == MAX_PARTS;
    let new = |known: &[Term], term: &Term| known.iter().all(|known| known.text != term.text);
    match parts.last_mut() {
        Some(last) if full || (vague && !refers) => {
            found.retain(|term| new(&last.terms, term));
            last.terms.append(&mut found);
            last.frame = last.frame.or(frame);
        }
        last => {
            // `where is it stored` asks about what was named before.
            let before = last.filter(|_| refers).map_or(&[][..], |last| &last.terms);
            let mut terms: Vec<Term> = before.iter().filter(|term| new(&found, term)).cloned().collect();
            terms.append(&mut found);
            let joined = !piece.split_whitespace().next().is_some_and(begins_question);
            parts.push(Part { terms, beside: piece.contains(MARK), frame, joined });
        }
    }
}

/// The clauses of a text: what ends with a mark, or goes on with a question word behind a comma.
fn clauses(text: &str) -> Vec<&str> {
    let mut start = 0;
    let mut clauses = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let gap = text[end..].is_empty() || text[end..].starts_with(char::is_whitespace);
        let ends = match c {
            '?' | ';' | '\n' | '。' => true,
            '.' | '!' => gap,
            ',' => gap && text[end..].split_whitespace().next().is_some_and(begins_question),
            _ => false,
        };
        if ends {
            clauses.push(&text[start..at]);
            start = end;
        }
    }
    clauses.push(&text[start..]);
    clauses
}

fn begins_question(word: &str) -> bool {
    table("starters").has(&word.to_lowercase())
}

/// The pieces of a clause that ask for things of their own: what `and` joins, what is compared.
fn pieces(clause: &str) -> Vec<&str> {
    let compares = table("compares").are_in(&clause.to_lowercase());
    let all = terms(clause);
    let rich = all.len() >= 5 || all.iter().filter(|term| term.name).count() >= 2;
    let (mut tries, mut start) = (0, 0);
    let mut pieces = Vec::new();
    let mut words = clause.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let from = word.as_ptr() as usize - clause.as_ptr() as usize;
        let to = from + word.len();
        let cut = match word.trim_end_matches(',').to_lowercase().as_str() {
            "and" | "&" | "및" => {
                let asks = words.peek().is_some_and(|next| begins_question(next));
                (compares || asks || rich).then_some(from)
            }
            "vs" | "vs." | "versus" | "그리고" | "또한" => Some(from),
            word if table("question_ends").end(word) => Some(to),
            word if stem::joins(word) && (compares || is_parallel(&clause[start..to], &clause[to..])) => {
                Some(to)
            }
            _ => None,
        };
        let Some(cut) = cut.filter(|_| tries < MAX_CUTS) else { continue };
        tries += 1;
        let halves = [&clause[start..cut], &clause[to..]];
        let both = halves.iter().all(|half| half.contains(MARK) || !terms(half).is_empty());
        if both && pieces.len() + 1 < MAX_PARTS {
            pieces.push(halves[0]);
            start = to;
        }
    }
    pieces.push(&clause[start..]);
    pieces
}

/// Whether two halves end in the same word (환불 기한과 교환 기한).
fn is_parallel(left: &str, right: &str) -> bool {
    terms(left).last().is_some_and(|last| terms(right).iter().any(|term| term.text == last.text))
}
