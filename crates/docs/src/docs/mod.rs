//! `docs`: full-text search over a folder of documents, or over documents that are built in.
//!
//! Markdown, plain text, HTML, reStructuredText and AsciiDoc, in any language; Korean is found by its
//! own rule. The folder is never written to, nothing leaves the machine, and what a document says is
//! never more than text: the results are untrusted by contract.

mod folder;
mod passages;
mod walk;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use twox_hash::XxHash3_128;

use planwright::contract::{Source, ToolContract};
use planwright::journal::system::{create_private_folder, private_options};
use planwright::ports::{Tool, ToolCall, ToolError, ToolOutput};

pub use crate::index::Passage;
use crate::index::{self, Index, Indexed, Stamp, is_damage};
use folder::{Content, Document, Found, describe_others, describe_skipped};

const MAX_RESULTS: usize = 5;

/// Full-text search over documents, best passages first.
///
/// The index is built on the first search, in memory or [in a cache folder](Docs::cached_in); a
/// document that is changed later is not read again by the same `Docs`.
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
    found: Found,
    folder: PathBuf,
    cache: Option<PathBuf>,
    progress: Option<Box<dyn Fn(usize, usize) + Send + Sync>>,
    library: Mutex<Option<Library>>,
}

impl Passage {
    /// Where it stands: `guide/intro.md#Heading > Sub`.
    pub fn source(&self) -> String {
        let mark = if self.headings.is_empty() { "" } else { "#" };
        format!("{}{mark}{}", self.path, self.headings.join(" > "))
    }

    /// The source as an answer names it, with the trail of headings as its part.
    fn to_citation(&self) -> Source {
        Source {
            title: self.headings.last().unwrap_or(&self.path).clone(),
            document: Some(self.path.clone()),
            part: (!self.headings.is_empty()).then(|| self.headings.join(" > ")),
            url: None,
        }
    }
}

impl Docs {
    /// The documents in a folder and the folders in it, or one document: `.md`, `.markdown`, `.txt`, `.html`, `.htm`,
    /// `.rst` and `.adoc`, at most 10,000 of at most 2 MiB each and 128 MiB in all. Hidden files and what
    /// a `.gitignore` in the folder names are left out, links are not followed. They are read on the
    /// first search.
    ///
    /// # Errors
    /// Names the path where it does not exist, cannot be read or holds no document.
    pub fn folder(path: impl AsRef<Path>) -> Result<Self, ToolError> {
        let path = path.as_ref();
        let fail =
            |error| ToolError::input(format!("{}: expected a folder or a document: {error}", path.display()));
        let folder = path.canonicalize().map_err(fail)?;
        Ok(Docs::over(folder::find_documents(&folder)?, folder))
    }

    /// Documents by name; the name's ending says how they are marked up.
    pub fn of(mut documents: Vec<(String, String)>) -> Self {
        documents.sort_by(|one, other| one.0.cmp(&other.0));
        // Of two documents of one name the first is searched.
        documents.dedup_by(|later, earlier| later.0 == earlier.0);
        let document =
            |(name, text)| Document { name, stamp: Stamp::default(), content: Content::Text(text) };
        let documents = documents.into_iter().map(document).collect();
        Docs::over(Found { documents, ..Found::default() }, PathBuf::new())
    }

    fn over(found: Found, folder: PathBuf) -> Self {
        Docs { found, folder, cache: None, progress: None, library: Mutex::new(None) }
    }

    /// Keeps the index of a folder in a file of `cache`, so that the next `Docs` over the same folder reads
    /// only what is new or has another size or time. The file holds the documents' text and is readable
    /// by the user alone. If it cannot be used, the index is built in memory.
    pub fn cached_in(mut self, cache: impl AsRef<Path>) -> Self {
        let folder = self.folder.as_os_str();
        let hash = XxHash3_128::oneshot(folder.as_encoded_bytes());
        self.cache = (!folder.is_empty()).then(|| cache.as_ref().join(format!("{hash:032x}.sqlite")));
        self
    }

    /// Calls `progress` with the number of documents that have been read and the number of all that must
    /// be, after each document. It is never called if the index is up to date.
    pub fn on_progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }

    /// The passages that hold a word of the query, best first, at most `limit`. A query has no
    /// syntax: whatever is no letter or digit only separates words.
    ///
    /// # Errors
    /// Where the documents cannot be indexed.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Passage>, ToolError> {
        self.ask(|library| library.index.search(query, limit))
    }

    /// What is not searched, and why, a sentence each. Builds the index or brings it up to date.
    ///
    /// # Errors
    /// Where the documents cannot be indexed.
    pub fn skipped(&self) -> Result<Vec<String>, ToolError> {
        let unreadable = self.ask(|library| Ok(library.skipped.clone()))?;
        let Found { limits, too_large, others, .. } = &self.found;
        Ok([limits.as_slice(), too_large, &unreadable, describe_others(others).as_slice()].concat())
    }

    /// Asks the index in the cache file, emptied and filled again if it is damaged, or else one in memory.
    fn ask<T>(&self, question: impl Fn(&Library) -> rusqlite::Result<T>) -> Result<T, ToolError> {
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ask = |file| {
            let opened = library.take().map_or_else(|| self.open(file), Ok)?;
            let answer = question(&opened);
            // Else the connection is closed, before the file is emptied.
            *library = (answer.is_ok() || file.is_none()).then_some(opened);
            answer
        };
        let file = self.cache.as_deref();
        let mut answer = ask(file);
        if let (Err(error), Some(file)) = (&answer, file) {
            if is_damage(error) && Index::clear(file).is_ok() {
                answer = ask(Some(file));
            }
            answer = answer.or_else(|_| ask(None));
        }
        answer.map_err(|error| ToolError::new("index", format!("the documents cannot be searched: {error}")))
    }

    fn open(&self, file: Option<&Path>) -> rusqlite::Result<Library> {
        let Some(file) = file else { return self.update(Index::in_memory()?) };
        // Both for the user alone.
        let folder = create_private_folder(file.parent().unwrap_or(Path::new("")));
        let created = folder.and_then(|()| private_options().append(true).create(true).open(file));
        created.map_err(|_| rusqlite::Error::InvalidPath(file.to_owned()))?;
        self.update(Index::open(file)?)
    }

    /// Removes what is no longer there and reads what is new or has another stamp.
    fn update(&self, mut index: Index) -> rusqlite::Result<Library> {
        let mut known = index.documents()?;
        let (mut skipped, mut stale) = (Vec::new(), Vec::new());
        for document in &self.found.documents {
            match known.remove(&document.name) {
                Some(Indexed { stamp, unreadable }) if stamp == document.stamp => {
                    skipped.extend(unreadable.map(|reason| describe_skipped(&document.name, &reason)));
                }
                _ => stale.push(document),
            }
        }
        if known.is_empty() && stale.is_empty() {
            return Ok(Library { index, skipped });
        }
        let changes = index.change()?;
        for gone in known.keys() {
            index::remove(&changes, gone)?;
        }
        for (done, document) in (1..).zip(&stale) {
            index::remove(&changes, &document.name)?;
            // What cannot be read is tried again next time; what cannot be understood stays so.
            let passages = document.text().map(|text| document.passages(&text));
            if let Ok(passages) = &passages {
                index::add(&changes, &document.name, document.stamp, passages)?;
            }
            let reason = passages.and_then(|passages| passages).err();
            skipped.extend(reason.map(|reason| describe_skipped(&document.name, &reason)));
            if let Some(progress) = &self.progress {
                progress(done, stale.len());
            }
        }
        changes.commit()?;
        Ok(Library { index, skipped })
    }
}

struct Library {
    index: Index,
    /// Documents that could not be read, with the reason.
    skipped: Vec<String>,
}

impl Tool for Docs {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("docs").expect("agents/tools.toml holds its contract")
    }

    /// A JSON array of at most five passages, best first: `[{"source":"guide.md#Refunds","text":"…"}]`.
    /// Passages that would not fit the call's output are left out whole. If a limit keeps documents from
    /// being searched, the last record is `{"note":"14,646 of 20,000 files not searched: …"}`.
    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let found = self.search(call.nonempty_text("words to look for")?, MAX_RESULTS)?;
        let mut sources: Vec<Source> = found.iter().map(Passage::to_citation).collect();
        let passages =
            found.into_iter().map(|passage| json!({"source": passage.source(), "text": passage.text}));
        let notes = self.found.limits.iter().map(|limit| json!({"note": limit}));
        let mut records: Vec<Value> = passages.chain(notes).collect();
        let text = call.fit_json(&mut records)?;
        sources.truncate(records.len());
        Ok(ToolOutput::from_sources(text, sources))
    }
}

impl fmt::Debug for Docs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Docs").field("documents", &self.found.documents.len()).finish_non_exhaustive()
    }
}
