//! `docs`: full-text search over a folder of documents, or over documents that are built in.
//!
//! Markdown, plain text, HTML, reStructuredText and AsciiDoc, in any language; Korean is found by its
//! own rule. Nothing is written, nothing leaves the machine, and what a document says is
//! never more than text: the results are untrusted by contract.

mod html;
mod passages;
mod read;

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use serde::Serialize;

use planwright::contract::{Source, ToolContract};
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};

use super::index::{Entry, PassageIndex};

/// Most passages that the tool returns.
const MAX_RESULTS: usize = 5;

/// Full-text search over documents, best passages first.
///
/// The index is built in memory on the first search and kept; a document that is changed later is
/// not read again.
///
/// ```
/// use planwright_docs::Docs;
///
/// let guide = "# Refunds\nAsk within 30 days.\n# 배송\n상태기계가 순서를 정한다.".to_owned();
/// let docs = Docs::of(vec![("guide.md".to_owned(), guide)]);
///
/// assert_eq!(docs.search("refund", 5).unwrap()[0].source(), "guide.md#Refunds");
/// assert_eq!(docs.search("상태 기계는", 5).unwrap()[0].source(), "guide.md#배송");
/// assert!(docs.search("weather", 5).unwrap().is_empty());
/// ```
pub struct Docs {
    documents: Documents,
    library: OnceLock<Result<Library, ToolError>>,
}

enum Documents {
    Folder { found: Vec<read::Found>, skipped: Vec<Skipped> },
    Named(Vec<(String, String)>),
}

struct Library {
    passages: Vec<Passage>,
    index: PassageIndex,
    skipped: Vec<Skipped>,
}

/// A piece of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The document's path from the folder, with `/`, or its name.
    pub path: String,
    /// The headings above the passage, outermost first.
    pub headings: Vec<String>,
    /// Its place among the document's passages, from 0.
    pub position: usize,
    /// What it says: about 600 to 900 characters, less where a section is shorter.
    pub text: String,
    /// How well it fits the query; comparable within one search.
    pub score: f32,
}

impl Passage {
    /// Where it stands: `guide/intro.md#Heading > Sub`.
    pub fn source(&self) -> String {
        if self.headings.is_empty() {
            return self.path.clone();
        }
        format!("{}#{}", self.path, self.headings.join(" > "))
    }

    /// The same as an answer names it: the innermost heading (else the path) of the document, and the
    /// trail of headings as its part.
    fn cited(&self) -> Source {
        Source {
            title: self.headings.last().unwrap_or(&self.path).clone(),
            document: Some(self.path.clone()),
            part: (!self.headings.is_empty()).then(|| self.headings.join(" > ")),
            url: None,
        }
    }
}

/// A document that is not searched, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The document's path from the folder; empty where it is not known.
    pub path: String,
    /// Why it was left out.
    pub reason: String,
}

impl Skipped {
    fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Skipped { path: path.into(), reason: reason.into() }
    }
}

impl Docs {
    /// The documents in a folder and the folders in it: `.md`, `.markdown`, `.txt`, `.html`, `.htm`,
    /// `.rst` and `.adoc`, at most 10,000 of at most 2 MiB each. Hidden files and what a `.gitignore`
    /// in the folder names are left out, links are not followed. They are read on the first search.
    ///
    /// # Errors
    /// Names the path where it does not exist, is no folder, cannot be read or holds no document.
    pub fn folder(path: impl AsRef<Path>) -> Result<Self, ToolError> {
        let (found, skipped) = read::find(path.as_ref())?;
        Ok(Docs { documents: Documents::Folder { found, skipped }, library: OnceLock::new() })
    }

    /// Documents by name; the name's ending says how they are marked up.
    pub fn of(mut documents: Vec<(String, String)>) -> Self {
        documents.sort_by(|one, other| one.0.cmp(&other.0));
        Docs { documents: Documents::Named(documents), library: OnceLock::new() }
    }

    /// The passages that hold a word of the query, best first, at most `limit`. A query has no
    /// syntax: whatever is no letter or digit only separates words.
    ///
    /// # Errors
    /// Where the documents cannot be indexed.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Passage>, ToolError> {
        let library = self.library()?;
        let found = library.index.search(query, limit).map_err(|error| unsearchable(&error))?;
        let passage = |(at, score): (usize, f32)| {
            library.passages.get(at).map(|passage| Passage { score, ..passage.clone() })
        };
        Ok(found.into_iter().filter_map(passage).collect())
    }

    /// The documents that were left out, and why. Reads the documents where that is still to do.
    ///
    /// # Errors
    /// Where the documents cannot be indexed.
    pub fn skipped(&self) -> Result<&[Skipped], ToolError> {
        Ok(&self.library()?.skipped)
    }

    fn library(&self) -> Result<&Library, ToolError> {
        self.library.get_or_init(|| self.build()).as_ref().map_err(Clone::clone)
    }

    fn build(&self) -> Result<Library, ToolError> {
        let mut skipped = Vec::new();
        let read;
        let documents = match &self.documents {
            Documents::Named(documents) => documents,
            Documents::Folder { found, skipped: unseen } => {
                skipped.extend_from_slice(unseen);
                read = read::read(found, &mut skipped);
                &read
            }
        };
        let mut passages = Vec::new();
        for (path, text) in documents {
            let (text, form) = match read::plain(path, text) {
                Ok(plain) => plain,
                Err(reason) => {
                    skipped.push(Skipped::new(path, reason));
                    continue;
                }
            };
            for (position, piece) in passages::split(&text, form).into_iter().enumerate() {
                let (headings, text) = (piece.trail, piece.text);
                passages.push(Passage { path: path.clone(), headings, position, text, score: 0.0 });
            }
        }
        let entries = passages.iter().map(|passage| {
            let heading = format!("{}\n{}", passage.path, passage.headings.join("\n"));
            Entry { heading, body: &passage.text }
        });
        let index = PassageIndex::of(entries).map_err(|error| unsearchable(&error))?;
        Ok(Library { passages, index, skipped })
    }
}

fn unsearchable(error: &tantivy::TantivyError) -> ToolError {
    ToolError::new("index", format!("the documents cannot be searched: {error}"))
}

/// One result as it is written, its fields in this order.
#[derive(Serialize)]
struct Written {
    source: String,
    text: String,
}

impl Tool for Docs {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("docs").expect("agents/tools.toml holds its contract")
    }

    /// A JSON array of at most five passages, best first: `[{"source":"guide.md#Refunds","text":"…"}]`.
    /// Passages that would not fit the call's output are left out whole.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let found = self.search(call.nonempty_text("words to look for")?, MAX_RESULTS)?;
        let mut sources: Vec<Source> = found.iter().map(Passage::cited).collect();
        let mut results: Vec<Written> = found
            .into_iter()
            .map(|passage| Written { source: passage.source(), text: passage.text })
            .collect();
        let text = call.fit_json(&mut results)?;
        sources.truncate(results.len());
        Ok(ToolOutput::from_sources(text, sources))
    }
}

impl fmt::Debug for Docs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let documents = match &self.documents {
            Documents::Folder { found, .. } => found.len(),
            Documents::Named(documents) => documents.len(),
        };
        f.debug_struct("Docs").field("documents", &documents).finish_non_exhaustive()
    }
}
