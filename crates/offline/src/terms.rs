//! Terms: what a question is about, and whether a text speaks of it.
//! Both are taken apart by the same rules. Of synonyms it knows the few of `words.toml`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

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
    pub key: String,
    script: Script,
    /// The stems of the parts of a compound; of a short number, the pairs with its neighbours (`code 9`).
    parts: Vec<String>,
    /// How much it says of what the question is about: 1 (generic) to 4 (a name).
    pub weight: u32,
    /// Whether it is a name: without it a text is about something else.
    pub name: bool,
}

impl Term {
    fn dense(text: &str, key: String, weight: u32) -> Self {
        Term { text: text.to_owned(), key, script: Script::Dense, parts: Vec::new(), weight, name: false }
    }

    /// Whether a text without it is about something else; generic words and native verbs only help.
    pub(super) fn is_insisted(&self) -> bool {
        self.weight > 1
    }

    pub(super) fn date(&self) -> Option<&'static str> {
        let month = self.parts.iter().any(|part| part.ends_with(" 월")).then_some("months");
        month.or_else(|| words(&self.text).find_map(|word| date(&word)))
    }

    pub(super) fn is_verb(&self) -> bool {
        self.key.starts_with(VERB)
    }
}

/// What a question is about, each once, without words that ask, join or are polite.
pub(super) fn terms(text: &str) -> Vec<Term> {
    let korean = is_korean(text);
    let capital = |word: &Word<'_>| word.text.starts_with(char::is_uppercase);
    // In a text that is all capitals, no word is an acronym.
    let loud = words(text).filter(|word| word.text.contains(char::is_uppercase)).count() > 3;
    let text = if loud && !text.contains(char::is_lowercase) { &text.to_lowercase() } else { text };
    // If most words begin with a capital, a capital says nothing.
    let spaced_words: Vec<Word<'_>> = words(text).filter(|word| word.script == Script::Spaced).collect();
    let capitals = spaced_words.iter().skip(1).filter(|word| capital(word)).count();
    let tells = spaced_words.len() < 3 || capitals * 3 < spaced_words.len() * 2;
    let mut found: Vec<Term> = Vec::new();
    let mut counting = false;
    let all: Vec<Word<'_>> = words(text).collect();
    for (at, word) in all.iter().enumerate() {
        let mut term = match word.script {
            // 몇 개, 몇 번까지: a counter.
            Script::Dense if std::mem::replace(&mut counting, word.text == "몇") => None,
            Script::Dense => dense(word, all.get(at + 1).map(|next| next.text)),
            Script::Spaced if at == 0 && !is_short_number(word.text) => spaced(word.text, false, korean),
            // `zone A`, 2호선: told by what it stands beside.
            Script::Spaced if is_label(word.text) => {
                let (parts, script) = (pairs(&all, at), Script::Spaced);
                let key = format!("{} {}", word.text, parts.join(" "));
                Some(Term { parts, script, ..Term::dense(word.text, key, 2) })
            }
            Script::Spaced => spaced(word.text, tells, korean),
        };
        if let (Some(term), Some(key)) = (&mut term, ordinal(&all, at)) {
            (term.key, term.weight) = (key, 2);
        }
        if tells_apart(&all, at) && !term.as_ref().is_some_and(|term| term.name) {
            let lower = word.text.to_lowercase();
            term = Some(Term::dense(word.text, stem::english(&lower), 2));
        }
        let new = term.filter(|term| found.iter().all(|known| known.key != term.key));
        found.extend(new.filter(|_| found.len() < MAX_TERMS));
    }
    found
}

/// Whether a word right before a noun tells one thing from another of its kind: the old server, 큰 사물함.
fn tells_apart(words: &[Word<'_>], at: usize) -> bool {
    let lower = |at: usize| words.get(at).map(|word| word.text.to_lowercase()).unwrap_or_default();
    let before = at.checked_sub(1).map(lower).unwrap_or_default();
    let tells = match lower(at).as_str() {
        "other" => before == "the",
        word => !before.starts_with("year") && before != "how" && table("modifiers").has(word),
    };
    tells && terms(&lower(at + 1)).iter().any(|noun| noun.is_insisted() && !noun.is_verb())
}

/// What a word is the date of, a month or a day of the week. `may` is a verb, May a month.
pub(super) fn date(word: &Word<'_>) -> Option<&'static str> {
    let lower = stem::korean(word.text).to_lowercase();
    let of = |kind: &&str| {
        let names = table(kind).has(lower.strip_suffix('s').unwrap_or(&lower));
        names && word.text != "may" || *kind == "months" && word.glued && lower == "월"
    };
    ["months", "weekdays"].into_iter().find(of)
}

fn dense(word: &Word<'_>, next: Option<&str>) -> Option<Term> {
    if stem::is_stop(word.text) || (word.glued && stem::is_ending(word.text)) {
        return None;
    }
    let verb = |text: &str, stem: &str| Some(Term::dense(text, format!("{VERB}{stem}"), 1));
    let noun = match stem::predicate(word.text) {
        None if stem::stands_as_verb(word.text, next) => {
            return verb(word.text, &stem::verb(word.text));
        }
        Some(Predicate::Verb(stem)) if table("helpers").has(&stem) || stem::is_stop(&stem) => return None,
        Some(Predicate::Verb(stem)) => return verb(&stem, &stem),
        Some(Predicate::Noun(noun)) => noun,
        None => stem::korean(word.text),
    };
    let weight = match noun.chars().count() {
        _ if stem::is_stop(noun) => return None,
        _ if table("generic").has(noun) => 1,
        // 새 is an adjective, 새도 is a bird.
        1 => 1 + u32::from(noun != word.text),
        2 | 3 => 2,
        _ => 3,
    };
    Some(Term::dense(noun, noun.to_owned(), weight))
}

fn spaced(word: &str, capital_tells: bool, korean: bool) -> Option<Term> {
    let word = without_ending(word);
    let lower = word.to_lowercase();
    let upper = |c: char| c.is_uppercase() || c.is_ascii_digit();
    let long = word.chars().nth(1).is_some();
    let acronym = long && word.contains(char::is_uppercase) && word.chars().all(upper);
    // Inside a sentence `May` and `Will` are names, and found as such.
    let asks = word == "I'm" || table("starters").has(&lower);
    let named = long && capital_tells && word.starts_with(char::is_uppercase) && !asks;
    let stop = table("stop").has(&lower);
    if lower.is_empty() || stop && !acronym && !named {
        return None;
    }
    let number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let code = !number && word.contains(['_', '.', ':', '+', '#']);
    let name = code || acronym || word.starts_with(char::is_uppercase) && (capital_tells || korean);
    let weight = match lower.chars().count() {
        _ if name => 4,
        _ if table("generic").has(&lower) || table("measures").has(&lower) => 1,
        _ if number => 2,
        _ if korean => 3,
        1 => 1,
        2..=7 => 2,
        _ => 3,
    };
    let parts = if number { Vec::new() } else { parts(word) };
    let (text, key) = (word.to_owned(), if stop && named { word.to_owned() } else { stem::english(&lower) });
    Some(Term { text, key, script: Script::Spaced, parts, weight, name })
}

/// Whether a word is a number that counts something or is told by what it stands beside.
fn is_short_number(word: &str) -> bool {
    word.len() < 3 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is such a number, or a letter that is used as one.
fn is_label(word: &str) -> bool {
    is_short_number(word)
        || word.len() == 1 && word != "I" && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A number with the word before it, and with the one behind it.
fn pairs(words: &[Word<'_>], at: usize) -> Vec<String> {
    let number = words[at].text;
    let stem = |at: usize| {
        let word = words.get(at).filter(|word| !is_label(word.text))?;
        Some(stem_of(word)).filter(|_| word.script == Script::Spaced || !stem::is_ending(word.text))
    };
    let before = at.checked_sub(1).and_then(stem).map(|before| format!("{before} {number}"));
    let behind = stem(at + 1).map(|behind| format!("{number} {behind}"));
    before.into_iter().chain(behind).collect()
}

/// 세 번째, as one key.
fn ordinal(words: &[Word<'_>], at: usize) -> Option<String> {
    let before = at.checked_sub(1).filter(|_| words[at].text.starts_with("번째"))?;
    Some(format!("{} 번째", words[before].text))
}

/// What a word of a text is compared by; of several words for one thing the first.
fn stem_of(word: &Word<'_>) -> String {
    let stem = match word.script {
        Script::Dense => stem::korean(word.text).to_owned(),
        Script::Spaced => stem::english(&without_ending(word.text).to_lowercase()),
    };
    SAME.get(&stem).cloned().unwrap_or(stem)
}

/// The words that stand for one thing, each under its stem.
static SAME: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let stem = |word: &str| if is_korean(word) { word.to_owned() } else { stem::english(word) };
    let pairs = table("same").iter().flat_map(|entry| {
        let first = stem(entry.split('/').next().unwrap_or_default());
        entry.split('/').map(move |word| (stem(word), first.clone()))
    });
    pairs.collect()
});

/// A word without `'s`, `'re`, … and underscores at its ends.
fn without_ending(word: &str) -> &str {
    let end = word.find(['\'', '’']).filter(|at| word[*at..].chars().count() <= 3);
    word[..end.unwrap_or(word.len())].trim_matches('_')
}

/// The stems of the parts of an identifier or a compound; empty if it has one part only.
fn parts(word: &str) -> Vec<String> {
    let mut apart = String::new();
    let mut before = ' ';
    for c in word.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            apart.push(' ');
        }
        apart.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    let stems = apart.split_whitespace().map(|part| stem::english(&part.to_lowercase()));
    Some(stems.collect()).filter(|parts: &Vec<String>| parts.len() > 1).unwrap_or_default()
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
        let all: Vec<Word<'_>> = words(text).collect();
        for (at, word) in all.iter().enumerate() {
            vocabulary.stems.insert(stem_of(word));
            if is_label(word.text) {
                vocabulary.stems.extend(pairs(&all, at));
            }
            if word.text.starts_with(char::is_uppercase) {
                vocabulary.stems.insert(without_ending(word.text).to_owned());
            }
            if word.script == Script::Dense {
                vocabulary.lines.extend(["\n", word.text]);
                vocabulary.joined.push_str(word.text);
                vocabulary.stems.insert(format!("{VERB}{}", stem::verb(word.text)));
                vocabulary.stems.extend(ordinal(&all, at));
            } else {
                vocabulary.stems.extend(parts(without_ending(word.text)));
            }
        }
        vocabulary
    }

    pub(super) fn has(&self, term: &Term) -> bool {
        let has = |key: &str| self.lines.contains(key);
        let (key, len) = (&term.key, term.key.chars().count());
        let known = self.stems.contains(key) || SAME.get(key).is_some_and(|first| self.stems.contains(first));
        match term.script {
            _ if is_label(&term.text) => {
                let pairs = term.parts.iter().any(|pair| self.stems.contains(pair));
                pairs || term.parts.is_empty() && self.stems.contains(&term.text)
            }
            _ if known => true,
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
                    || len > 3 && has_halves(key, has)
            }
        }
    }

    pub(super) fn weight<'t>(&self, terms: impl IntoIterator<Item = &'t Term>) -> u32 {
        terms.into_iter().filter(|term| self.has(term)).map(|term| term.weight).sum()
    }
}

/// Whether a compound is there in two parts, each of two syllables or more (청소비용: 청소, 비용).
fn has_halves(compound: &str, has: impl Fn(&str) -> bool) -> bool {
    let seams = compound.char_indices().skip(2).map(|(at, _)| compound.split_at(at));
    seams.filter(|(_, rest)| rest.chars().nth(1).is_some()).any(|(head, rest)| has(head) && has(rest))
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
        let longer = format!("{query} {}", term.text).trim_start().to_owned();
        if longer.chars().count() > max_chars {
            break;
        }
        query = longer;
    }
    query
}

pub(super) fn strongest<'t>(terms: &[&'t Term], count: usize) -> Vec<&'t Term> {
    let mut terms = terms.to_vec();
    terms.sort_by_key(|term| std::cmp::Reverse(term.weight));
    terms.truncate(count);
    terms
}
