//! A contract that can be searched: its parts, whose it is, an index of its words, and answers out of it.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::{Article, Articles};
use crate::index::{self, Entry, Index, Stamp};
use planwright::contract::Source;
use planwright::ports::{ToolError, ToolErrorKind, ToolOutput, first_chars};

/// Most parts that are listed if something else was asked for.
const MAX_LISTED: usize = 40;

pub(super) struct Contract {
    /// Whether it is the user's contract, which the run is about, or the standard one it is compared with.
    is_users: bool,
    pub articles: Articles,
    index: Mutex<Option<Index>>,
}

/// An answer as models read it, its fields in this order.
#[derive(Serialize)]
struct Answer<'a> {
    contract: &'static str,
    document: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    articles: Vec<Record<'a>>,
}

#[derive(Serialize)]
struct Record<'a> {
    part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    chapter: Option<&'a str>,
    text: &'a str,
}

impl Contract {
    pub fn of(is_users: bool, articles: Articles) -> Self {
        Contract { is_users, articles, index: Mutex::default() }
    }

    /// Whose contract it is. Every answer says so.
    fn whose(&self) -> &'static str {
        if self.is_users { "the user's contract" } else { "the standard contract" }
    }

    /// The places of the parts that hold a word of the query, best first (BM25). The index is built in
    /// memory on the first search and kept.
    pub fn search(&self, query: &str, most: usize) -> Result<Vec<usize>, ToolError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let built = index.take().map_or_else(|| self.build_index(), Ok);
        let found = built.and_then(|built| index.insert(built).search(query, most)).map_err(|error| {
            ToolError::new("index", format!("{} cannot be searched: {error}", self.whose()))
        })?;
        Ok(found.into_iter().map(|passage| passage.position).collect())
    }

    fn build_index(&self) -> rusqlite::Result<Index> {
        let entry = |part: &Article| Entry {
            headings: std::iter::once(part.part()).chain(part.chapter.clone()).collect(),
            text: part.text.clone(),
        };
        let mut index = Index::in_memory()?;
        let changes = index.change()?;
        let entries = Ok(self.articles.parts().iter().map(entry).collect());
        index::add(&changes, "", Stamp::default(), &entries)?;
        changes.commit()?;
        Ok(index)
    }

    /// What there is, if something else was asked for.
    pub fn list_parts(&self) -> String {
        let parts = self.articles.parts();
        let more = parts.len().saturating_sub(MAX_LISTED);
        let more = (more > 0).then(|| format!("and {more} more"));
        parts.iter().take(MAX_LISTED).map(Article::part).chain(more).collect::<Vec<String>>().join(", ")
    }

    /// Nothing of this name is here.
    pub fn not_found(&self, asked: &str, near: &[String]) -> ToolError {
        let asked = first_chars(asked, 100);
        let near = if near.is_empty() { String::new() } else { format!("; near it are {}", near.join(", ")) };
        let (whose, name, parts) = (self.whose(), self.articles.name(), self.list_parts());
        let problem = format!("{whose} ({name}) has no {asked:?}{near}; it has {parts}");
        ToolError::new(ToolErrorKind::NotFound, problem)
    }

    /// A JSON object that says whose contract it is from, with the parts that were found and their sources.
    /// It fits the call's output: long texts are cut alike, and the note says which.
    ///
    /// A source of the standard contract has no `part`: parts are what has been read of the run's outline,
    /// and that is the user's contract's.
    pub fn answer(&self, found: &[usize], notes: &[String], most_bytes: usize) -> ToolOutput {
        let mut parts: Vec<&Article> = found.iter().filter_map(|at| self.articles.parts().get(*at)).collect();
        let render = |parts: &[&Article], max_chars: usize| {
            self.render(parts, found.len() - parts.len(), notes, max_chars)
        };
        let mut text = render(&parts, usize::MAX);
        // Half of the room is for texts.
        while text.len() > most_bytes && parts.len() > 1 && render(&parts, 0).len() > most_bytes / 2 {
            parts.pop();
            text = render(&parts, usize::MAX);
        }
        if text.len() > most_bytes {
            // The longest beginnings that fit: a character is a byte or more.
            let lengths: Vec<usize> = (1..most_bytes).collect();
            text = render(&parts, lengths.partition_point(|most| render(&parts, *most).len() <= most_bytes));
        }
        let sources = parts.iter().map(|part| Source {
            title: part.part(),
            document: Some(self.articles.name().to_owned()),
            part: self.is_users.then(|| part.part()),
            url: None,
        });
        ToolOutput::from_sources(text, sources.collect())
    }

    /// The answer with at most so many characters of each part; so many other parts were left out.
    fn render(&self, parts: &[&Article], left_out: usize, notes: &[String], max_chars: usize) -> String {
        let mut notes = notes.to_vec();
        let is_cut = |part: &&&Article| first_chars(&part.text, max_chars).len() < part.text.len();
        let cut: Vec<String> = parts.iter().filter(is_cut).map(|part| part.part()).collect();
        if !cut.is_empty() {
            notes.push(format!("cut, only the beginning is shown: {}", cut.join(", ")));
        }
        if left_out > 0 {
            notes.push(format!("left out for want of room: {left_out} more"));
        }
        let articles = parts.iter().map(|part| Record {
            part: part.part(),
            chapter: part.chapter.as_deref(),
            text: first_chars(&part.text, max_chars),
        });
        let answer = Answer {
            contract: self.whose(),
            document: self.articles.name(),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            articles: articles.collect(),
        };
        serde_json::to_string(&answer).expect("records of texts are JSON")
    }
}
