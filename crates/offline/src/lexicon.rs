//! The words that rules go by, English and Korean: `tables/words.toml`.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::Deserialize;

/// The words of `words.toml`.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    toml::from_str(include_str!("tables/words.toml")).expect("every test of this crate reads words.toml")
});

/// A list of words. In the table, `_` stands for a blank inside an entry.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Words {
    list: Vec<String>,
    set: HashSet<String>,
}

impl From<String> for Words {
    fn from(text: String) -> Self {
        let list: Vec<String> = text.split_whitespace().map(|word| word.replace('_', " ")).collect();
        Words { set: list.iter().cloned().collect(), list }
    }
}

impl Words {
    pub(super) fn has(&self, word: &str) -> bool {
        self.set.contains(word)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(String::as_str)
    }

    pub(super) fn begin(&self, text: &str) -> bool {
        self.iter().any(|word| text.starts_with(word))
    }

    pub(super) fn end(&self, text: &str) -> bool {
        self.iter().any(|word| text.ends_with(word))
    }

    /// Whether one of the words begins a word of a lower-case text. Hangul and entries of several words
    /// are found inside words, too.
    pub(super) fn are_in(&self, lower: &str) -> bool {
        let in_word = |c: char| c.is_alphanumeric() || c == '-';
        self.iter().any(|cue| match cue.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            true => lower.split(|c| !in_word(c)).any(|word| word.starts_with(cue)),
            false => lower.contains(cue),
        })
    }
}

/// What each list is for, `words.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lexicon {
    pub stop: Words,
    pub stop_heads: Words,
    pub stop_tails: Words,
    pub generic: Words,
    pub starters: Words,
    pub question_ends: Words,
    pub pronouns: Words,
    pub korean_pronouns: Words,
    pub stand_ins: Words,
    pub compares: Words,
    pub after_any: Words,
    pub after_consonant: Words,
    pub after_vowel: Words,
    pub after_open: Words,
    pub short_ends: Words,
    pub noun_ends: Words,
    pub compound_ends: Words,
    pub verb_tails: Words,
    pub verb_endings: Words,
    pub loose_endings: Words,
    pub copulas: Words,
    pub helpers: Words,
    pub irregular: Words,
    pub greetings: Words,
    pub thanks: Words,
    pub farewells: Words,
    pub laughter: Words,
    pub fillers: Words,
    pub earlier: Words,
    pub openers: Words,
    pub clarify: Words,
    pub speaker: Words,
    pub restrict: Words,
    pub articles: Words,
    pub demands: Words,
    pub approvals: Words,
    pub news: Words,
    pub instructions: Words,
    pub shows_code: Words,
    pub wishes: Words,
    pub korean_wishes: Words,
    pub texts: Words,
    pub code: Words,
    pub definitions: Words,
    pub contracts: Words,
    pub korean_contracts: Words,
    pub work: Words,
    pub measures: Words,
    pub summary_wishes: Words,
    pub translation_wishes: Words,
    pub closed_kinds: Words,
    pub manifold_kinds: Words,
}
