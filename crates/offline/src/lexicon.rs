//! The words that rules go by and the texts that people are told, English and Korean: the files in `tables/`.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use planwright::contract::ToolContract;
use regex_lite::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a table of this crate.
pub(super) fn parse<T: DeserializeOwned>(toml: &str) -> T {
    let table: Value = toml::from_str(toml).expect("the tests of this crate read every table");
    serde_json::from_value(table).expect("the tests of this crate read every table")
}

/// Compiles a pattern of this crate, with the placeholders filled in; one may hold another.
pub(super) fn regex(pattern: &str, placeholders: &BTreeMap<String, String>) -> Regex {
    let fill = |pattern: String, (name, is): (&String, &String)| pattern.replace(&format!("{{{name}}}"), is);
    let pattern = (0..2).fold(pattern.to_owned(), |pattern, _| placeholders.iter().fold(pattern, fill));
    Regex::new(&pattern).expect("the tests of this crate compile every pattern")
}

/// One table of words. Every name in this crate is one that `words.toml` has.
pub(super) fn table(name: &str) -> &'static Words {
    static ALL: LazyLock<HashMap<String, Words>> = LazyLock::new(|| parse(include_str!("tables/words.toml")));
    &ALL[name]
}

/// What is said to people. Every key in this crate is one that `texts.toml` has.
pub(super) fn say(key: &str, korean: bool) -> &'static str {
    type Texts = HashMap<String, [String; 2]>;
    static ALL: LazyLock<Texts> = LazyLock::new(|| parse(include_str!("tables/texts.toml")));
    &ALL[key][usize::from(korean)]
}

/// A list of words. In the table, `_` stands for a blank inside an entry.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Words(Vec<String>);

impl From<String> for Words {
    fn from(text: String) -> Self {
        Words(text.split_whitespace().map(|word| word.replace('_', " ")).collect())
    }
}

impl Words {
    pub(super) fn has(&self, word: &str) -> bool {
        self.iter().any(|entry| entry == word)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn begin(&self, text: &str) -> bool {
        self.iter().any(|word| text.starts_with(word))
    }

    pub(super) fn end(&self, text: &str) -> bool {
        self.iter().any(|word| text.ends_with(word))
    }

    /// Whether one begins a word of a lower-case text. Hangul and entries with blanks are found inside words.
    pub(super) fn are_in(&self, lower: &str) -> bool {
        let in_word = |c: char| c.is_alphanumeric() || c == '-';
        self.iter().any(|cue| match cue.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            true => lower.split(|c| !in_word(c)).any(|word| word.starts_with(cue)),
            false => lower.contains(cue),
        })
    }
}

/// A kind of work, in the order in which one follows another. No agent is known by its name alone.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub(super) enum Duty {
    Search,
    Validation,
    Analysis,
    Comparison,
    Critique,
    Summary,
    Translation,
    Document,
    /// Writes what is the answer.
    Writing,
}

/// The words of a duty; `duties.toml` says what each list is for.
#[derive(Deserialize)]
struct DutyWords {
    done_by: Words,
    asked_by: Words,
    kinds: Words,
    noun: [String; 2],
}

static DUTIES: LazyLock<BTreeMap<Duty, DutyWords>> =
    LazyLock::new(|| parse(include_str!("tables/duties.toml")));

impl Duty {
    /// What the kinds of an intent may call it.
    pub(super) fn is_kind(self, kind: &str) -> bool {
        DUTIES[&self].done_by.are_in(kind) || DUTIES[&self].kinds.are_in(kind)
    }

    /// The work of a tool or an agent: what its name says, else what its description says first.
    pub(super) fn of(contract: &ToolContract) -> Option<Duty> {
        let by =
            |text: &str| DUTIES.iter().find(|(_, words)| words.done_by.are_in(text)).map(|(duty, _)| *duty);
        let name = contract.name.to_lowercase().replace(['_', '-'], " ");
        by(&name).or_else(|| by(&contract.description.to_lowercase()))
    }

    pub(super) fn asked(question: &str) -> Vec<Duty> {
        let lower = question.to_lowercase();
        DUTIES.iter().filter(|(_, words)| words.asked_by.are_in(&lower)).map(|(duty, _)| *duty).collect()
    }

    pub(super) fn noun(self, korean: bool) -> &'static str {
        &DUTIES[&self].noun[usize::from(korean)]
    }
}
