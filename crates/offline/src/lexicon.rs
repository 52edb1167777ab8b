//! The words that rules go by, English and Korean: `tables/words.toml`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// The words of `words.toml`, which says what each table is for.
static TABLES: LazyLock<HashMap<String, Words>> = LazyLock::new(|| {
    toml::from_str(include_str!("tables/words.toml")).expect("every test of this crate reads words.toml")
});

/// One table of words. Every name in this crate is one that `words.toml` has.
pub(super) fn table(name: &str) -> &'static Words {
    &TABLES[name]
}

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
