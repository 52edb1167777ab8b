//! A contract that can be searched: its parts, whose it is, and an index of its words.

use std::sync::{Mutex, PoisonError};

use super::{Article, Articles};
use crate::index::{Entry, Index, Stamp};
use planwright::ports::ToolError;

/// Whose contract it is. Every answer says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The contract that the run is about.
    User,
    /// The one it is compared with.
    Standard,
}

impl Whose {
    pub fn as_str(self) -> &'static str {
        match self {
            Whose::User => "the user's contract",
            Whose::Standard => "the standard contract",
        }
    }
}

pub(super) struct Shelf {
    pub whose: Whose,
    pub articles: Articles,
    index: Mutex<Option<Index>>,
}

impl Shelf {
    pub fn of(whose: Whose, articles: Articles) -> Self {
        Shelf { whose, articles, index: Mutex::default() }
    }

    /// The places of the parts that hold a word of the query, best first (BM25). The index is built in
    /// memory on the first search and kept.
    pub fn by_words(&self, query: &str, most: usize) -> Result<Vec<usize>, ToolError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let built = match index.take() {
            Some(built) => Ok(built),
            None => self.build_index(),
        };
        let found = built.and_then(|built| index.insert(built).search(query, most)).map_err(|error| {
            ToolError::new("index", format!("{} cannot be searched: {error}", self.whose.as_str()))
        })?;
        Ok(found.into_iter().map(|hit| hit.position).collect())
    }

    fn build_index(&self) -> rusqlite::Result<Index> {
        let entry = |part: &Article| Entry {
            headings: [Some(part.part()), part.chapter().map(str::to_owned)].into_iter().flatten().collect(),
            text: part.text().to_owned(),
        };
        let mut index = Index::in_memory()?;
        let changes = index.change()?;
        changes.add("", Stamp::default(), &Ok(self.articles.parts().iter().map(entry).collect()))?;
        changes.commit()?;
        Ok(index)
    }

    /// What there is, for whoever asked for something else.
    pub fn holds(&self) -> String {
        const MOST: usize = 40;
        let mut parts: Vec<String> = self.articles.parts().iter().take(MOST).map(Article::part).collect();
        let more = self.articles.parts().len().saturating_sub(MOST);
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        parts.join(", ")
    }

    /// Nothing of this name is here.
    pub fn not_found(&self, asked: &str, near: &[String]) -> ToolError {
        let asked: String = asked.chars().take(100).collect();
        let near = if near.is_empty() { String::new() } else { format!("; near it are {}", near.join(", ")) };
        let (whose, name) = (self.whose.as_str(), self.articles.name());
        let problem = format!("{whose} ({name}) has no {asked:?}{near}; it has {}", self.holds());
        ToolError::new("not_found", problem)
    }
}
