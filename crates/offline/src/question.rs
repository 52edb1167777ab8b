//! The question, taken apart: what is to be calculated, and what is to be looked for in how many
//! parts.

use super::arithmetic::{self, MARK, is_measure};
use super::korean;
use super::lexicon::{COMPARES, KOREAN_PRONOUNS, PRONOUNS, QUESTION_ENDS, STARTERS, mentions};
use super::terms::{Term, terms};
use super::text::{clean, is_korean};

/// Most characters of a question that are looked at.
const MAX_CHARS: usize = 4_000;
/// Most parts; what more there is joins the last.
const MAX_PARTS: usize = 3;
/// Most places of a clause that are tried as the end of a part.
const MAX_CUTS: usize = 16;

/// A question and what it asks for.
#[derive(Debug)]
pub(super) struct Question {
    /// As asked, cleaned.
    pub text: String,
    /// Whether to answer in Korean.
    pub korean: bool,
    /// What `calc` can work out.
    pub expressions: Vec<String>,
    /// What is to be looked for beside that.
    pub parts: Vec<Part>,
}

/// One thing asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub terms: Vec<Term>,
    /// Whether it stands around an expression (`3 + 4 apples`): looked for, not insisted on.
    pub beside: bool,
}

impl Question {
    /// Takes a question apart; its arithmetic is set apart where there is a tool for it.
    pub(super) fn parse(text: &str, calc: bool) -> Self {
        let text = clean(text, MAX_CHARS).trim().to_owned();
        let found = if calc { arithmetic::find(&text) } else { arithmetic::Found::default() };
        let mut parts = parts(if found.expressions.is_empty() { &text } else { &found.rest });
        // `How long is 5 km in miles?` asks for nothing beside the calculation.
        if !found.expressions.is_empty() {
            parts.retain(|part| !part.terms.iter().all(|term| is_measure(&term.text)));
        }
        Question { korean: is_korean(&text), text, expressions: found.expressions, parts }
    }

    /// The terms of all parts, each once.
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

    /// The text in the question's language.
    pub(super) fn say<'t>(&self, english: &'t str, korean: &'t str) -> &'t str {
        if self.korean { korean } else { english }
    }
}

/// The parts of a question, in order.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for piece in clauses(text).into_iter().flat_map(pieces) {
        add(&mut parts, piece);
    }
    parts
}

fn add(parts: &mut Vec<Part>, piece: &str) {
    let mut found = terms(piece);
    if found.is_empty() {
        return;
    }
    let refers = piece.split_whitespace().any(refers_back);
    let vague = found.iter().all(|term| term.weight < 2);
    let full = parts.len() == MAX_PARTS;
    let knows = |known: &[Term], term: &Term| known.iter().any(|known| known.text == term.text);
    match parts.last_mut() {
        Some(last) if full || (vague && !refers) => {
            found.retain(|term| !knows(&last.terms, term));
            last.terms.append(&mut found);
        }
        last => {
            // `where is it stored` asks about what was named before.
            if let Some(last) = last.filter(|_| refers) {
                let before: Vec<Term> =
                    last.terms.iter().filter(|term| !knows(&found, term)).cloned().collect();
                found.splice(0..0, before);
            }
            parts.push(Part { terms: found, beside: piece.contains(MARK) });
        }
    }
}

fn refers_back(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    PRONOUNS.has(&word.to_lowercase())
        || KOREAN_PRONOUNS.split_whitespace().any(|head| word.starts_with(head))
}

/// The clauses of a text: what ends with a mark, or goes on with a question word behind a comma.
fn clauses(text: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let behind = &text[at + c.len_utf8()..];
        let gap = behind.is_empty() || behind.starts_with(char::is_whitespace);
        let ends = match c {
            '?' | ';' | '\n' | '。' => true,
            '.' | '!' => gap,
            ',' => gap && behind.split_whitespace().next().is_some_and(begins_question),
            _ => false,
        };
        if ends {
            clauses.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    clauses.push(&text[start..]);
    clauses
}

fn begins_question(word: &str) -> bool {
    STARTERS.has(&word.to_lowercase())
}

/// The pieces of a clause that ask for things of their own: what `and` joins, what is compared.
fn pieces(clause: &str) -> Vec<&str> {
    let compares = mentions(&clause.to_lowercase(), COMPARES);
    let all = terms(clause);
    let rich = all.len() >= 5 || all.iter().filter(|term| term.name).count() >= 2;
    let (mut tries, mut start) = (0, 0);
    let mut pieces = Vec::new();
    let mut words = clause.split_whitespace().map(|word| {
        let from = word.as_ptr() as usize - clause.as_ptr() as usize;
        (from, from + word.len())
    });
    let mut next = words.next();
    while let Some((from, to)) = next {
        next = words.next();
        let word = &clause[from..to];
        let lower = word.trim_end_matches(',').to_lowercase();
        let following = next.map_or("", |(from, to)| &clause[from..to]);
        let cut = match lower.as_str() {
            "and" | "&" | "및" => (compares || begins_question(following) || rich).then_some(from),
            "vs" | "vs." | "versus" | "그리고" | "또한" => Some(from),
            word if QUESTION_ENDS.split_whitespace().any(|end| word.ends_with(end)) => Some(to),
            word if korean::joins(word) && (compares || parallel(&clause[start..to], &clause[to..])) => {
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
fn parallel(left: &str, right: &str) -> bool {
    terms(left).last().is_some_and(|last| terms(right).iter().any(|term| term.text == last.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_asked_is_a_part() {
        let rows = "How does the journal survive a crash? => journal survive crash
            Who sang with Simon and Garfunkel? => sang Simon / Garfunkel
            What is salt and pepper? => salt pepper | hello =>
            What is a journal? What is a fixture? => journal / fixture
            What is a journal and how does replay work? => journal / replay work
            What do max_replans and max_repairs mean? => max_replans / max_repairs
            What is the difference between a journal and a fixture? => journal / fixture
            planner vs replanner => planner / replanner | 저널과 픽스처의 차이는? => 저널 / 픽스처
            환불 기한과 교환 기한을 알려줘 => 환불 기한 / 교환 기한 | 저널은 뭐고 픽스처는 뭐야? => 저널 / 픽스처 | 저널이 뭐야? 그리고 재생은 어떻게 해? => 저널 / 재생
            What is the journal, and where is it stored? => journal / journal stored
            저널이 뭐야? 그것은 어디에 저장되나요? => 저널 / 저널 저장 | What is 3*4? =>";
        for (question, expected) in rows.split(['|', '\n']).filter_map(|row| row.split_once("=>")) {
            let (question, expected) = (question.trim(), expected.trim());
            let words =
                |part: &Part| part.terms.iter().map(|term| term.text.clone()).collect::<Vec<_>>().join(" ");
            let parts: Vec<String> = Question::parse(question, true).parts.iter().map(words).collect();
            assert_eq!(parts.join(" / "), expected, "{question}");
        }
    }

    #[test]
    fn what_stands_around_an_expression_is_not_insisted_on() {
        let question = Question::parse("If I have 3 + 4 apples, what is a journal?", true);
        assert_eq!(question.expressions, ["3 + 4"]);
        assert_eq!(question.insisted().count(), 1);
        assert_eq!(question.parts.len(), 2);
    }
}
