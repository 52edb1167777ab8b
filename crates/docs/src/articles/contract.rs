//! A contract that can be searched, by the words and by the meaning of its parts, and answers out of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::{Article, Articles};
use crate::index::{self, Entry, Index, Stamp};
use planwright::contract::Source;
use planwright::ports::{Embedder, ToolError, ToolErrorKind, ToolOutput, first_chars};

const MAX_LISTED: usize = 40;
/// A contract of more parts is searched by words alone.
const MAX_EMBEDDED: usize = 2_000;
/// What of one part becomes its vector, in characters.
const MAX_EMBEDDED_CHARS: usize = 2_000;
const BATCH: usize = 64;

pub(super) struct Contract {
    /// Whether it is the user's contract, which the run is about, or the standard one it is compared with.
    is_users: bool,
    pub articles: Articles,
    index: Mutex<Option<Index>>,
}

impl Contract {
    pub fn of(is_users: bool, articles: Articles) -> Self {
        Contract { is_users, articles, index: Mutex::default() }
    }

    fn whose(&self) -> &'static str {
        if self.is_users { "the user's contract" } else { "the standard contract" }
    }

    /// The places of the parts that hold a word of the query, best first (BM25). Builds the index once.
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

    pub fn list_parts(&self) -> String {
        let parts = self.articles.parts();
        let more = parts.len().saturating_sub(MAX_LISTED);
        let more = (more > 0).then(|| format!("and {more} more"));
        parts.iter().take(MAX_LISTED).map(Article::part).chain(more).collect::<Vec<String>>().join(", ")
    }

    pub fn not_found(&self, asked: &str, near: &[String]) -> ToolError {
        let (whose, name, asked) = (self.whose(), self.articles.name(), first_chars(asked, 100));
        let near = if near.is_empty() { String::new() } else { format!("; near it are {}", near.join(", ")) };
        let problem = format!("{whose} ({name}) has no {asked:?}{near}; it has {}", self.list_parts());
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
        let articles = parts.iter().map(|part| {
            let text = Some(first_chars(&part.text, max_chars));
            fields([("part", Some(&part.part())), ("chapter", part.chapter.as_deref()), ("text", text)])
        });
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        let (whose, name) = (Some(self.whose()), Some(self.articles.name()));
        let mut answer = fields([("contract", whose), ("document", name), ("note", note.as_deref())]);
        answer["articles"] = articles.collect();
        answer.to_string()
    }
}

/// An object of those fields that are there, in their order.
fn fields<const N: usize>(fields: [(&str, Option<&str>); N]) -> Value {
    fields.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?)))).collect()
}

/// The vectors of a contract's parts. They are asked for on the first search and kept; a failure is not, so the
/// next search tries again.
pub(super) struct Meaning {
    pub embedder: Arc<dyn Embedder>,
    vectors: Mutex<Option<Arc<Vec<Vec<f32>>>>>,
}

impl Meaning {
    pub fn of(embedder: Arc<dyn Embedder>) -> Self {
        Meaning { embedder, vectors: Mutex::default() }
    }

    /// The places of the parts nearest to a question, nearest first, equally near ones in their order.
    pub fn nearest(
        &self,
        articles: &Articles,
        question: &str,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<usize>, ToolError> {
        let vectors = self.vectors(articles.parts(), stop)?;
        let asked = self.embed(&[first_chars(question, MAX_EMBEDDED_CHARS).to_owned()], stop)?;
        check_lengths(asked.iter().chain(vectors.first()))?;
        let near = asked.iter().flat_map(|asked| vectors.iter().map(|vector| cosine(asked, vector)));
        let mut near: Vec<(usize, f64)> = near.enumerate().filter(|(_, near)| *near > 0.0).collect();
        near.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        Ok(near.into_iter().take(most).map(|(at, _)| at).collect())
    }

    /// The vectors of the parts. Searches that run side by side wait for the one that asks.
    fn vectors(&self, parts: &[Article], stop: &dyn Fn() -> bool) -> Result<Arc<Vec<Vec<f32>>>, ToolError> {
        let mut kept = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vectors) = &*kept {
            return Ok(Arc::clone(vectors));
        }
        if parts.len() > MAX_EMBEDDED {
            let found = parts.len();
            let problem = format!("expected a contract of at most {MAX_EMBEDDED} parts, found {found}");
            return Err(ToolError::new(ToolErrorKind::Limit, problem));
        }
        let text = |part: &Article| {
            first_chars(&format!("{}\n{}", part.part(), part.text), MAX_EMBEDDED_CHARS).to_owned()
        };
        let texts: Vec<String> = parts.iter().map(text).collect();
        let mut vectors = Vec::with_capacity(parts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.embed(batch, stop)?);
        }
        check_lengths(vectors.iter())?;
        Ok(Arc::clone(kept.insert(Arc::new(vectors))))
    }

    fn embed(&self, texts: &[String], stop: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, ToolError> {
        let vectors = self.embedder.embed_until(texts, stop)?;
        if vectors.len() != texts.len() {
            return refuse(format!("expected {} vectors, found {}", texts.len(), vectors.len()));
        }
        if vectors.iter().any(|vector| vector.is_empty() || vector.iter().any(|number| !number.is_finite())) {
            return refuse("expected vectors of finite numbers, found another one");
        }
        Ok(vectors)
    }
}

fn refuse<T>(problem: impl Into<String>) -> Result<T, ToolError> {
    Err(ToolError::new(ToolErrorKind::Response, problem))
}

fn check_lengths<'a>(vectors: impl Iterator<Item = &'a Vec<f32>>) -> Result<(), ToolError> {
    let lengths: BTreeSet<usize> = vectors.map(Vec::len).collect();
    match lengths.len() {
        0 | 1 => Ok(()),
        _ => refuse(format!("expected vectors of one length, found {lengths:?}")),
    }
}

/// From -1 to 1; nothing is near a vector without direction.
fn cosine(one: &[f32], other: &[f32]) -> f64 {
    let product = |one: &[f32], other: &[f32]| -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum()
    };
    let lengths = (product(one, one) * product(other, other)).sqrt();
    if lengths > 0.0 { product(one, other) / lengths } else { 0.0 }
}
