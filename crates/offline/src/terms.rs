//! Terms: what a question is about, and whether a text speaks of it.
//! Both are taken apart by the same rules; `car` and `automobile` are two terms.

use std::collections::HashSet;

use super::lexicon::table;
use super::stem::{self, Predicate};
use super::text::{Script, Word, is_korean, words};

const MAX_TERMS: usize = 24;
/// Begins the key of a verb, so that it meets no noun.
const VERB: char = '~';

/// One thing a question is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    /// As a query would have it: the word as written, Hangul without its particles.
    pub text: String,
    /// The stem, which is what is compared.
    key: String,
    script: Script,
    /// The stems of the parts of an identifier or compound; empty if it has one part only.
    parts: Vec<String>,
    /// How much it says of what the question is about: 1 (generic) to 4 (a name).
    pub weight: u32,
    /// Whether it is a name: without it a text is about something else.
    pub name: bool,
    /// Whether it is a Korean verb, which no question stands or falls by.
    pub verb: bool,
}

impl Term {
    /// Whether it is Hangul or of another script that is compared by inclusion.
    pub(super) fn is_dense(&self) -> bool {
        self.script == Script::Dense
    }

    pub(super) fn is_noun(&self) -> bool {
        self.weight > 1 && !self.verb
    }
}

/// What a question's words are about, in their order, each once. Words that ask, join or are polite are
/// left out.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let korean = is_korean(text);
    let capital = |word: &Word<'_>| word.text.starts_with(char::is_uppercase);
    // In a text that is all capitals, no word is an acronym.
    let loud = words(text).filter(|word| word.text.contains(char::is_uppercase)).count() > 3;
    let text = if loud && !text.contains(char::is_lowercase) { &text.to_lowercase() } else { text };
    // If most words begin with a capital, a capital says nothing.
    let spaced_words: Vec<Word<'_>> = words(text).filter(|word| word.script == Script::Spaced).collect();
    let capitals = spaced_words.iter().filter(|word| capital(word)).count();
    let tells = spaced_words.len() < 3 || capitals * 3 < spaced_words.len() * 2;
    let mut found: Vec<Term> = Vec::new();
    let mut counting = false;
    for (at, word) in words(text).enumerate() {
        let term = match word.script {
            // 몇 개, 몇 번까지: a counter.
            Script::Dense if std::mem::replace(&mut counting, word.text == "몇") => None,
            Script::Dense => dense(&word),
            Script::Spaced => spaced(word.text, tells && at > 0, korean),
        };
        let new = term.filter(|term| found.iter().all(|known| known.key != term.key));
        found.extend(new.filter(|_| found.len() < MAX_TERMS));
    }
    found
}

fn dense(word: &Word<'_>) -> Option<Term> {
    if stem::is_stop(word.text) || (word.glued && stem::is_ending(word.text)) {
        return None;
    }
    let term = |text: &str, key: String, weight: u32, verb: bool| {
        let text = text.to_owned();
        Some(Term { text, key, script: Script::Dense, parts: Vec::new(), weight, name: false, verb })
    };
    let (noun, verb) = match stem::predicate(word.text) {
        Some(Predicate::Verb(verb)) if table("helpers").has(&verb) || stem::is_stop(&verb) => return None,
        Some(Predicate::Verb(verb)) => return term(&verb, format!("{VERB}{verb}"), 1, true),
        Some(Predicate::Noun(noun)) => (noun, true),
        None => (stem::korean(word.text), false),
    };
    let weight = match noun.chars().count() {
        _ if stem::is_stop(noun) => return None,
        _ if table("generic").has(noun) => 1,
        1 => 1,
        2 | 3 => 2,
        _ => 3,
    };
    term(noun, noun.to_owned(), weight, verb)
}

fn spaced(word: &str, capital_tells: bool, korean: bool) -> Option<Term> {
    let word = without_ending(word);
    let lower = word.to_lowercase();
    let upper = |c: char| c.is_uppercase() || c.is_ascii_digit();
    let long = word.chars().nth(1).is_some();
    let acronym = long && word.contains(char::is_uppercase) && word.chars().all(upper);
    if lower.is_empty() || table("stop").has(&lower) && !acronym {
        return None;
    }
    let number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let mut pairs = word.chars().zip(word.chars().skip(1));
    // `TaskState`, `iPhone`.
    let hump = pairs.any(|(before, c)| before.is_lowercase() && c.is_uppercase());
    let code = hump || !number && word.contains(['_', '.', ':', '+', '#']);
    let name = code || acronym || word.starts_with(char::is_uppercase) && (capital_tells || korean);
    let weight = match lower.chars().count() {
        _ if name => 4,
        _ if table("generic").has(&lower) => 1,
        _ if number => 2,
        _ if korean => 3,
        1 => 1,
        2..=7 => 2,
        _ => 3,
    };
    let (text, key, parts) = (word.to_owned(), stem::english(&lower), parts(word));
    Some(Term { text, key, script: Script::Spaced, parts, weight, name, verb: false })
}

/// A word without `'s`, `'re`, … and underscores at its ends.
fn without_ending(word: &str) -> &str {
    let end = word.find(['\'', '’']).filter(|at| word[*at..].chars().count() <= 3);
    word[..end.unwrap_or(word.len())].trim_matches('_')
}

/// The stems of the parts of an identifier or a compound; empty if it has one part only.
fn parts(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in word.chars() {
        let begins = !before.is_alphanumeric() || before.is_lowercase() && c.is_uppercase();
        match parts.last_mut().filter(|_| !begins) {
            _ if !c.is_alphanumeric() => {}
            Some(part) => part.push(c),
            None => parts.push(c.to_string()),
        }
        before = c;
    }
    let stems = parts.iter().map(|part| stem::english(&part.to_lowercase()));
    if parts.len() < 2 { Vec::new() } else { stems.collect() }
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
            if word.script == Script::Dense {
                self.lines.extend(["\n", word.text]);
                self.joined.push_str(word.text);
                self.stems.insert(stem::korean(word.text).to_owned());
                self.stems.insert(format!("{VERB}{}", stem::verb(word.text)));
            } else {
                let bare = without_ending(word.text);
                self.stems.extend(parts(bare));
                self.stems.insert(stem::english(&bare.to_lowercase()));
            }
        }
        // A word of this text never joins one of the next.
        self.lines.push('\n');
        self.joined.push('\n');
    }

    pub(super) fn has(&self, term: &Term) -> bool {
        let has = |key: &str| self.lines.contains(key);
        let (key, len) = (&term.key, term.key.chars().count());
        match term.script {
            _ if self.stems.contains(key) => true,
            // A compound is also found apart (`re-planner`, `re planner`), code only as it is.
            Script::Spaced => {
                let apart = !term.name && !term.parts.is_empty();
                apart && term.parts.iter().all(|part| self.stems.contains(part))
            }
            Script::Dense if key.starts_with(VERB) => len > 2 && has(&key[1..]),
            // Korean compounds change at the seams: the longer the stem, the safer the inclusion.
            Script::Dense => {
                len > 1 && has(key)
                    || len > 2 && (self.joined.contains(key) || stem::made_of(key).is_some_and(has))
            }
        }
    }

    pub(super) fn weight<'t>(&self, terms: impl IntoIterator<Item = &'t Term>) -> u32 {
        terms.into_iter().filter(|term| self.has(term)).map(|term| term.weight).sum()
    }
}

/// The terms of a hint or reason: those that it quotes, or all of them if it quotes none.
pub(super) fn hinted(text: &str) -> Vec<Term> {
    let quoted: Vec<&str> = text.split(['"', '“', '”', '‘', '’']).skip(1).step_by(2).collect();
    if quoted.is_empty() { terms(text) } else { terms(&quoted.join(" / ")) }
}

/// The terms as one query of at most `max_chars` characters.
pub(super) fn query<'t>(terms: impl IntoIterator<Item = &'t Term>, max_chars: usize) -> String {
    let mut query = String::new();
    for term in terms {
        let gap = if query.is_empty() { "" } else { " " };
        if query.chars().count() + gap.len() + term.text.chars().count() > max_chars {
            break;
        }
        query.extend([gap, &term.text]);
    }
    query
}

pub(super) fn strongest<'t>(terms: &[&'t Term], count: usize) -> Vec<&'t Term> {
    let mut terms = terms.to_vec();
    terms.sort_by_key(|term| std::cmp::Reverse(term.weight));
    terms.truncate(count);
    terms
}
