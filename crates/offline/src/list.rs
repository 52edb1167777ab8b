//! Lists of words, written as text and searched by hash.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A list of words, with blanks between them.
pub(super) struct Words {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    pub(super) const fn new(text: &'static str) -> Self {
        Words { text, set: OnceLock::new() }
    }

    /// The words, in the list's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.text.split_whitespace()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.iter().collect()).contains(word)
    }
}
