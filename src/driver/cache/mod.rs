//! A cache in front of a model: the same request, asked again, is answered from disk.
//!
//! Only replies are kept, whole ones; a failure is asked again. A request is found by its digest
//! and answered only where the whole of it agrees: instructions, tools, schema, sampling, payload,
//! conversation and the model's name.
//!
//! A replay never asks a model, so it never uses the cache. The cache is for runs that are asked
//! again while one works on an agent, and it is no record of any: what a run was answered is in its
//! journal, the reply marked as [`cached`](ModelReply::cached).
//!
//! **Invariant:** no trouble with the folder is trouble for the run. What cannot be read is asked
//! for, and what cannot be kept is answered all the same.
//!
//! **Invariant:** no entry holds a key of the model. A reply in which one stands is not kept at all:
//! with the key taken out it would be another reply than the model's.

mod folder;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use self::folder::{Entry, Folder};
use crate::driver::redact::Redactor;
use crate::machine::{ModelReply, Usage};
use crate::ports::{Model, ModelError, Secret, TokenSink};
use crate::prompt::{Message, ModelRequest};
use crate::spec::{Digest, RequestFrame};

/// A model whose replies are kept in a folder and given again where the same is asked.
///
/// Threads and processes may share a folder. Beyond its limits, what was not used for longest goes
/// first.
///
/// ```
/// use planwright::driver::Cached;
/// use planwright::ports::Model;
/// use planwright_offline::Offline;
///
/// let folder = std::env::temp_dir().join("planwright-replies");
/// let model = Cached::new(Offline::new(), folder).max_entries(100).max_bytes(1 << 20);
/// assert_eq!(model.name(), Offline::new().name());
/// ```
pub struct Cached {
    inner: Arc<dyn Model>,
    folder: Folder,
    keys: Redactor,
    trouble: Mutex<Trouble>,
}

/// What went wrong with the folder.
#[derive(Default)]
enum Trouble {
    #[default]
    None,
    First(String),
    Told,
}

/// All that a reply may depend on.
#[derive(Serialize)]
struct Asked<'a> {
    model: &'a str,
    frame: &'a RequestFrame,
    payload: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conversation: &'a [Message],
}

impl Cached {
    /// A model in front of which stands a cache in this folder, which is made at the first reply
    /// that is kept. At most 1,000 entries and 64 MiB unless set.
    pub fn new(model: impl Model + 'static, folder: impl Into<PathBuf>) -> Self {
        Cached::shared(Arc::new(model), folder)
    }

    /// A cache in front of a model that is shared with others; see [`new`](Cached::new).
    pub fn shared(model: Arc<dyn Model>, folder: impl Into<PathBuf>) -> Self {
        let keys = Redactor::new(model.secrets());
        Cached { inner: model, folder: Folder::new(folder.into()), keys, trouble: Mutex::default() }
    }

    /// Most entries of the folder.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.folder.max_entries = entries;
        self
    }

    /// Most bytes of all entries together.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.folder.max_bytes = bytes;
        self
    }

    /// The first trouble there was with the folder, told once: later calls give `None`, whether or
    /// not it lasts.
    pub fn warning(&self) -> Option<String> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *trouble, Trouble::Told) {
            Trouble::First(text) => Some(text),
            Trouble::Told => None,
            Trouble::None => {
                *trouble = Trouble::None;
                None
            }
        }
    }

    fn warn(&self, what: &str, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Trouble::None = *trouble {
            let folder = self.folder.path().display();
            *trouble = Trouble::First(format!("{folder}: {what} ({error}); the model is asked every time"));
        }
    }

    /// The whole request as one text.
    fn text_of(&self, request: &ModelRequest) -> String {
        let ModelRequest { frame, payload, conversation } = request;
        let asked = Asked { model: self.inner.name(), frame, payload, conversation };
        serde_json::to_string(&asked).expect("a request has text keys only")
    }

    fn keep(&self, key: Digest, request: String, reply: &ModelReply) {
        let entry = Entry::new(request, reply).to_json();
        if self.keys.text(entry.clone()) != entry {
            return;
        }
        if let Err(error) = self.folder.put(key, entry.as_bytes()) {
            self.warn("replies cannot be kept", &error);
        }
    }
}

impl Model for Cached {
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// On a hit the sink gets the whole text at once, and the reply cost nothing.
    fn ask(
        &self,
        request: &ModelRequest,
        mut tokens: Option<TokenSink<'_>>,
    ) -> Result<ModelReply, ModelError> {
        let text = self.text_of(request);
        let key = Digest::of([text.as_bytes()]);
        let found = self.folder.get(key, &text).unwrap_or_else(|error| {
            self.warn("replies that were kept cannot be read", &error);
            None
        });
        if let Some(reply) = found {
            if let Some(tokens) = tokens.as_mut().filter(|_| !reply.text.is_empty()) {
                tokens(&reply.text);
            }
            return Ok(ModelReply { usage: Usage::default(), cached: true, ..reply });
        }
        let reply = self.inner.ask(request, tokens)?;
        self.keep(key, text, &reply);
        Ok(reply)
    }

    fn secrets(&self) -> Vec<Secret> {
        self.inner.secrets()
    }
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("model", &self.inner.name())
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
