//! Frames: what kind of answer a question asks for (a time, an amount of money), and what shows one without the
//! question's own words: `31 euros` shows a price. Both are patterns of `tables/frames.toml`.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use regex_lite::Regex;
use serde::Deserialize;

use super::lexicon::{parse, regex};
use super::stem;

#[derive(Deserialize)]
struct Tables {
    frame: Vec<BTreeMap<String, String>>,
    paraphrase: Vec<BTreeMap<String, String>>,
    placeholders: BTreeMap<String, String>,
}

/// What a question asks for, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame(usize);

struct Frames {
    /// A name, and what asks for an answer of this kind, what shows one, and what does not although it looks like it.
    frames: Vec<(String, [Regex; 3])>,
    paraphrases: HashMap<String, Vec<Regex>>,
}

static FRAMES: LazyLock<Frames> = LazyLock::new(|| {
    let tables: Tables = parse(include_str!("tables/frames.toml"));
    let regex = |pattern: &str| regex(pattern, &tables.placeholders);
    let read = |frame: &BTreeMap<String, String>| {
        let patterns = ["asks", "shows", "ignores"].map(|key| frame.get(key).map_or("^$", String::as_str));
        (frame["name"].clone(), patterns.map(regex))
    };
    let mut paraphrases: HashMap<String, Vec<Regex>> = HashMap::new();
    for entry in &tables.paraphrase {
        let shows = regex(&entry["shows"]);
        let words = entry["words"].split_whitespace();
        words.for_each(|word| paraphrases.entry(stem::english(word)).or_default().push(shows.clone()));
    }
    Frames { frames: tables.frame.iter().map(read).collect(), paraphrases }
});

impl Frame {
    /// All that a question in lower case asks for, as when and where; the first is its frame.
    pub(super) fn all(lower: &str) -> Vec<Frame> {
        let frames = FRAMES.frames.iter().enumerate();
        frames.filter(|(_, (_, [asks, ..]))| asks.is_match(lower)).map(|(at, _)| Frame(at)).collect()
    }

    /// Whether an answer has a form of its own: a time, a price.
    pub(super) fn has_form(self) -> bool {
        FRAMES.frames[self.0].1[1].as_str() != "."
    }

    /// Whether it is the one of this name in the table.
    pub(super) fn is(self, name: &str) -> bool {
        FRAMES.frames[self.0].0 == name
    }

    pub(super) fn is_shown_in(self, lower: &str) -> bool {
        let (_, [_, shows, ignores]) = &FRAMES.frames[self.0];
        shows.is_match(&ignores.replace_all(lower, " "))
    }
}

/// Whether a text in lower case shows what the word with this stem means.
pub(super) fn is_paraphrased(stem: &str, lower: &str) -> bool {
    FRAMES.paraphrases.get(stem).is_some_and(|shows| shows.iter().any(|shows| shows.is_match(lower)))
}
