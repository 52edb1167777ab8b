//! Terms: what a question is about, and whether a text speaks of it.
//!
//! Question and text are taken apart by the same rules, so a term is found again in whatever form
//! the text has it. Nothing here knows meanings: `car` and `automobile` are two terms.

use std::collections::HashSet;

use super::english;
use super::korean::{self, Predicate};
use super::lexicon::{GENERIC, STOP};
use super::text::is_korean;
use super::words::{Script, Word, words};

/// Most terms of one question.
pub(super) const MAX_TERMS: usize = 24;
/// Begins the key of a verb, so that it meets no noun.
const VERB: char = '~';

/// One thing a question is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    /// As a query would have it: the word as written, Hangul without its particles.
    pub text: String,
    /// What is compared: the stem, or the stem of the Hangul word.
    key: String,
    script: Script,
    /// The stems of the parts of an identifier or compound; empty where there are none.
    parts: Vec<String>,
    /// How much it says of what the question is about: 1 (generic) to 4 (a name).
    pub weight: u32,
    /// Whether it is a name: without it a text is about something else.
    pub name: bool,
    /// Whether it is a Korean verb, which no question stands or falls by.
    pub verb: bool,
}

impl Term {
    fn korean(text: &str, key: String, weight: u32, verb: bool) -> Self {
        let text = text.to_owned();
        Term { text, key, script: Script::Dense, parts: Vec::new(), weight, name: false, verb }
    }

    /// Whether it is Hangul or of another script that is compared by inclusion.
    pub(super) fn is_dense(&self) -> bool {
        self.script == Script::Dense
    }
}

/// What a question's words are about, in their order, each once. Words that ask, join or are
/// polite are left out.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let korean = is_korean(text);
    let lower;
    let text = if shouts(text) {
        lower = text.to_lowercase();
        &lower
    } else {
        text
    };
    let capitals = tells_by_capitals(text);
    let mut found: Vec<Term> = Vec::new();
    let mut first = true;
    let mut counting = false;
    for word in words(text) {
        let term = match word.script {
            // 몇 개, 몇 번까지: a counter.
            Script::Dense if std::mem::replace(&mut counting, word.text == "몇") => None,
            Script::Dense => dense(&word),
            Script::Spaced => spaced(word.text, capitals && !first, korean),
        };
        first = false;
        let Some(term) = term else { continue };
        if found.len() < MAX_TERMS && found.iter().all(|known| known.key != term.key) {
            found.push(term);
        }
    }
    found
}

/// Where most words are capitals, a capital says nothing.
fn tells_by_capitals(text: &str) -> bool {
    let upper = |word: &Word<'_>| word.text.starts_with(char::is_uppercase);
    let (mut capitals, mut all) = (0, 0);
    for word in words(text).filter(|word| word.script == Script::Spaced) {
        all += 1;
        capitals += usize::from(upper(&word));
    }
    all < 3 || capitals * 3 < all * 2
}

/// Whether a text of some words is all capitals, so that none of them is an acronym.
fn shouts(text: &str) -> bool {
    !text.contains(char::is_lowercase)
        && words(text).filter(|word| word.text.contains(char::is_uppercase)).count() > 3
}

fn dense(word: &Word<'_>) -> Option<Term> {
    if korean::is_stop(word.text) || (word.glued && korean::is_ending(word.text)) {
        return None;
    }
    let (stem, verb) = match korean::predicate(word.text) {
        Some(Predicate::Verb(stem)) => return verb(stem),
        Some(Predicate::Noun(noun)) => (noun, true),
        None => (korean::stem(word.text), false),
    };
    if korean::is_stop(stem) || korean::is_stop(word.text) {
        return None;
    }
    let weight = match stem.chars().count() {
        _ if GENERIC.has(stem) => 1,
        1 => 1,
        2 | 3 => 2,
        _ => 3,
    };
    Some(Term::korean(stem, stem.to_owned(), weight, verb))
}

/// A verb is looked for by its stem, among what may be verbs.
fn verb(stem: String) -> Option<Term> {
    let empty = korean::is_helper(&stem) || korean::is_stop(&stem);
    (!empty).then(|| Term::korean(&stem, format!("{VERB}{stem}"), 1, true))
}

fn spaced(word: &str, capital_tells: bool, korean: bool) -> Option<Term> {
    let word = without_ending(word).trim_matches('_');
    let lower = word.to_lowercase();
    if lower.is_empty() || STOP.has(&lower) && !is_acronym(word) {
        return None;
    }
    let parts = parts(word);
    let number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let code = !number && word.contains(['_', '.', ':', '+', '#']) || has_hump(word);
    let capital = word.starts_with(char::is_uppercase);
    let name = code || is_acronym(word) || capital && (capital_tells || korean);
    let weight = match lower.chars().count() {
        _ if name => 4,
        _ if GENERIC.has(&lower) => 1,
        _ if number => 2,
        _ if korean => 3,
        1 => 1,
        2..=7 => 2,
        _ => 3,
    };
    Some(Term {
        text: word.to_owned(),
        key: english::stem(&lower),
        script: Script::Spaced,
        parts,
        weight,
        name,
        verb: false,
    })
}

/// Cuts `'s`, `'re`, … off.
fn without_ending(word: &str) -> &str {
    match word.find(['\'', '’']) {
        Some(at) if word[at..].chars().count() <= 3 => &word[..at],
        _ => word,
    }
}

fn is_acronym(word: &str) -> bool {
    word.chars().count() >= 2
        && word.chars().any(char::is_uppercase)
        && word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit())
}

/// `TaskState`, `iPhone`.
fn has_hump(word: &str) -> bool {
    word.chars().zip(word.chars().skip(1)).any(|(before, c)| before.is_lowercase() && c.is_uppercase())
}

/// The stems of the parts of an identifier or a compound; empty where it has one part only.
fn parts(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in word.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty()) {
        let mut from = 0;
        let mut before = ' ';
        for (at, c) in piece.char_indices() {
            if before.is_lowercase() && c.is_uppercase() {
                parts.push(english::stem(&piece[from..at].to_lowercase()));
                from = at;
            }
            before = c;
        }
        parts.push(english::stem(&piece[from..].to_lowercase()));
    }
    if parts.len() < 2 { Vec::new() } else { parts }
}

/// What a text speaks of, made to be asked often.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    stems: HashSet<String>,
    /// The dense words, a line each.
    lines: String,
    /// The dense words without anything between them, for compounds that are written apart.
    joined: String,
}

impl Vocabulary {
    pub(super) fn of(text: &str) -> Self {
        let mut vocabulary = Vocabulary::default();
        vocabulary.add(text);
        vocabulary
    }

    pub(super) fn add(&mut self, text: &str) {
        for word in words(text) {
            match word.script {
                Script::Dense => {
                    self.lines.push('\n');
                    self.lines.push_str(word.text);
                    self.joined.push_str(word.text);
                    self.stems.insert(korean::stem(word.text).to_owned());
                    self.stems.insert(format!("{VERB}{}", korean::verb_stem(word.text)));
                }
                Script::Spaced => {
                    let bare = without_ending(word.text).trim_matches('_');
                    self.stems.extend(parts(bare));
                    self.stems.insert(english::stem(&bare.to_lowercase()));
                }
            }
        }
        // A word of this text never joins one of the next.
        self.lines.push('\n');
        self.joined.push('\n');
    }

    pub(super) fn has(&self, term: &Term) -> bool {
        if self.stems.contains(&term.key) {
            return true;
        }
        if let Some(stem) = term.key.strip_prefix(VERB) {
            return stem.chars().nth(1).is_some() && self.lines.contains(stem);
        }
        match (term.script, term.key.chars().count()) {
            (Script::Spaced, _) => {
                // A compound is also found apart (`re-planner`, `re planner`), code only as it is.
                let apart = !term.name && !term.parts.is_empty();
                apart && term.parts.iter().all(|part| self.stems.contains(part))
            }
            // Korean compounds change at the seams: the longer the stem, the safer the inclusion.
            (Script::Dense, 0 | 1) => false,
            (Script::Dense, 2) => self.lines.contains(&term.key),
            (Script::Dense, _) => {
                let has = |key: &str| self.lines.contains(key);
                has(&term.key)
                    || self.joined.contains(&term.key)
                    || korean::made_of(&term.key).is_some_and(has)
            }
        }
    }

    /// The weight of those of the terms that the text speaks of.
    pub(super) fn weight<'t>(&self, terms: impl IntoIterator<Item = &'t Term>) -> u32 {
        terms.into_iter().filter(|term| self.has(term)).map(|term| term.weight).sum()
    }
}

/// The terms of a hint or reason: those that it quotes, or all of them where it quotes none.
pub(super) fn hinted(text: &str) -> Vec<Term> {
    let quoted: Vec<&str> = text.split(['"', '“', '”', '‘', '’']).skip(1).step_by(2).collect();
    if quoted.is_empty() { terms(text) } else { terms(&quoted.join(" / ")) }
}

/// The terms as one query of at most `max_chars` characters.
pub(super) fn query<'t>(terms: impl IntoIterator<Item = &'t Term>, max_chars: usize) -> String {
    let mut query = String::new();
    let mut count = 0;
    for term in terms {
        let len = term.text.chars().count() + usize::from(!query.is_empty());
        if count + len > max_chars {
            break;
        }
        if !query.is_empty() {
            query.push(' ');
        }
        query.push_str(&term.text);
        count += len;
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_about_its_content_words() {
        let rows = "What is a finite state machine? => finite state machine | What does max_replans do? => max_replans
            Who wrote Cargo.toml? => wrote Cargo.toml | Is C++ faster than C#? => C++ faster C#
            Explain the plan-then-execute agent, please. => plan-then-execute agent
            Which HTTP status is 404? => HTTP status 404 | Please help me =>
            What is `std::fs::read`? => std::fs::read | plan plans planning => plan | 유한 상태 기계가 뭐야? => 유한 상태 기계
            max_replans는 무엇이고 어떻게 쓰나요? => max_replans | 사과와 도로에 대해 알려줘 => 사과 도로
            LLM은 왜 계획을 먼저 세우나요? => LLM 계획 먼저 세우 | 설명서는 어디에 있나요? => 설명서 | 재계획은 몇 번까지 가능한가요? => 재계획 가능 | 안녕 =>
            문서까지만 검색하려면 어떻게 해야 하나요? => 문서 검색";
        for (question, expected) in rows.split(['|', '\n']).filter_map(|row| row.split_once("=>")) {
            let (question, expected) = (question.trim(), expected.trim());
            let texts: Vec<String> = terms(question).into_iter().map(|term| term.text).collect();
            assert_eq!(texts.join(" "), expected, "{question}");
        }
    }

    #[test]
    fn names_weigh_most_and_generic_words_least() {
        let weight = |question: &str| terms(question).pop().map(|term| term.weight);
        for (question, expected) in
            [("tall Everest", 4), ("how tall", 1), ("what is photosynthesis", 3), ("사용 방법", 1)]
        {
            assert_eq!(weight(question), Some(expected), "{question}");
        }
        assert!(terms("what is max_replans")[0].name && !terms("What Is The State Of The Art")[0].name);
    }

    #[test]
    fn a_text_speaks_of_a_term_in_whatever_form() {
        for (text, question, expected) in [
            ("It validates every plan.", "what is validation", true),
            ("상태기계는 여섯 단계를 가진다.", "상태가 뭐야", true),
            ("유한 상태 기계는 …", "유한상태기계란?", true),
            ("The field `max_replans` counts.", "max_replans?", true),
            ("산에 오른다", "산은?", true),
            ("the re planner", "re-planner", true),
            ("검사 과정이 있다", "사과는?", false),
            ("at most max replans", "max_replans?", false),
            ("The planet", "plan?", false),
            ("산업은 크다", "산은?", false),
        ] {
            assert_eq!(Vocabulary::of(text).has(&terms(question)[0]), expected, "{text}: {question}");
        }
        assert_eq!(query(&hinted("look for \"journal\", not for plans"), 99), "journal");
        assert_eq!(hinted("use broader words like journal").len(), 4);
    }
}
