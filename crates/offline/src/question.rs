//! The question, taken apart: what is to be calculated, and what is to be looked for in how many
//! parts.

use super::arithmetic::{self, MARK};
use super::terms::{Term, terms};
use super::text::{clean, is_hangul};
use super::{english, korean};

/// Most characters of a question that are looked at.
const MAX_CHARS: usize = 4_000;
/// Most parts; what more there is joins the last.
const MAX_PARTS: usize = 3;

/// Most places of a clause that are tried as the end of a part.
const MAX_CUTS: usize = 16;

/// A question, read once.
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
    /// Reads a question; its arithmetic is set apart where there is a tool for it.
    pub(super) fn read(text: &str, calc: bool) -> Self {
        let text = clean(text, MAX_CHARS).trim().to_owned();
        let korean = text.chars().any(is_hangul);
        let found = if calc { arithmetic::find(&text) } else { arithmetic::Found::default() };
        let mut parts = if found.expressions.is_empty() { parts(&text) } else { parts(&found.rest) };
        // `How long is 5 km in miles?` asks for nothing beside the calculation.
        if !found.expressions.is_empty() {
            parts.retain(|part| !part.terms.iter().all(|term| arithmetic::is_measure(&term.text)));
        }
        Question { text, korean, expressions: found.expressions, parts }
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

    /// The text in the question's language.
    pub(super) fn say<'t>(&self, english: &'t str, korean: &'t str) -> &'t str {
        if self.korean { korean } else { english }
    }
}

/// The parts of a question, in order.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for clause in clauses(text) {
        for piece in pieces(clause) {
            add(&mut parts, piece);
        }
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
    english::is_pronoun(&word.to_lowercase()) || korean::refers_back(word)
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
    english::is_starter(&word.to_lowercase())
}

/// The pieces of a clause that ask for things of their own: what `and` joins, what is compared.
fn pieces(clause: &str) -> Vec<&str> {
    let lower = clause.to_lowercase();
    let compares = ["differ", "compar", "between", " vs", "versus"].iter().any(|word| lower.contains(word))
        || korean::compares(clause);
    let all = terms(clause);
    let rich = all.len() >= 5 || all.iter().filter(|term| term.name).count() >= 2;
    let mut tries = 0;
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut words = Spans { text: clause, at: 0 }.peekable();
    while let Some((from, to)) = words.next() {
        let word = &clause[from..to];
        let lower = word.trim_end_matches(',').to_lowercase();
        let next = words.peek().map_or("", |(from, to)| &clause[*from..*to]);
        let cut = match lower.as_str() {
            "and" | "&" | "및" => (compares || begins_question(next) || rich).then_some(from),
            "vs" | "vs." | "versus" | "그리고" | "또한" => Some(from),
            _ if korean::ends_question(word) => Some(to),
            _ if korean::joins(word) && (compares || parallel(&clause[start..to], &clause[to..])) => Some(to),
            _ => None,
        };
        let Some(cut) = cut else { continue };
        tries += 1;
        if tries > MAX_CUTS {
            break;
        }
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

/// Where the words of a text begin and end.
struct Spans<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Spans<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let rest = &self.text[self.at..];
        let from = self.at + rest.find(|c: char| !c.is_whitespace())?;
        let len = self.text[from..].find(char::is_whitespace).unwrap_or(self.text.len() - from);
        self.at = from + len;
        Some((from, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(question: &str, expected: &[&str]) {
        let read = Question::read(question, true);
        let parts: Vec<String> = read
            .parts
            .iter()
            .map(|part| part.terms.iter().map(|term| term.text.as_str()).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(parts, expected, "{question}");
    }

    #[test]
    fn a_question_of_one_part_stays_whole() {
        check("How does the journal survive a crash?", &["journal survive crash"]);
        check("Who sang with Simon and Garfunkel?", &["sang Simon", "Garfunkel"]);
        check("What is salt and pepper?", &["salt pepper"]);
        check("상태기계는 어떻게 동작해?", &["상태기계 동작"]);
        check("hello", &[]);
    }

    #[test]
    fn parts_are_asked_for_one_by_one() {
        check("What is a journal? What is a fixture?", &["journal", "fixture"]);
        check("What is a journal and how does replay work?", &["journal", "replay work"]);
        check("What do max_replans and max_repairs mean?", &["max_replans", "max_repairs"]);
        check("What is the difference between a journal and a fixture?", &["journal", "fixture"]);
        check("planner vs replanner", &["planner", "replanner"]);
        check("저널과 픽스처의 차이는?", &["저널", "픽스처"]);
        check("환불 기한과 교환 기한을 알려줘", &["환불 기한", "교환 기한"]);
        check("저널은 뭐고 픽스처는 뭐야?", &["저널", "픽스처"]);
        check("저널이 뭐야? 그리고 재생은 어떻게 해?", &["저널", "재생"]);
        check("A1은 뭐야? B2는 뭐야? C3는 뭐야? D4는 뭐야?", &["A1", "B2", "C3 D4"]);
    }

    #[test]
    fn a_part_that_refers_back_takes_the_name_along() {
        check("What is the journal, and where is it stored?", &["journal", "journal stored"]);
        check("저널이 뭐야? 그것은 어디에 저장되나요?", &["저널", "저널 저장"]);
    }

    #[test]
    fn what_stands_around_an_expression_is_not_insisted_on() {
        let read = Question::read("If I have 3 + 4 apples, what is a journal?", true);
        assert_eq!(read.expressions, ["3 + 4"]);
        let beside: Vec<bool> = read.parts.iter().map(|part| part.beside).collect();
        assert_eq!(beside, [true, false]);
        assert!(Question::read("What is 3*4?", true).parts.is_empty());
    }
}
