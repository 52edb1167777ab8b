//! A cache in front of a model: an equal request, asked again, is answered from disk.
//!
//! Only whole replies are kept; a failure is asked again. The folder has one file for each entry, written
//! aside and renamed into place, so that a reader sees all of one or none. There is no lock: two writers of
//! one reply write the same, and two that make room at once remove the oldest twice.
//!
//! **Invariant:** a problem with the folder is no problem of the run. What cannot be read is asked for, and
//! what cannot be kept is answered all the same.
//!
//! **Invariant:** no entry holds a key of the model, and no file is removed that has not an entry's name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::redact::Redactor;
use crate::journal::system::{create_private_folder, private_options, random_id};
use crate::machine::{ModelReply, Usage};
use crate::ports::{Model, ModelError, ModelServer, RetrySink, Secret, TokenSink};
use crate::prompt::ModelRequest;
use crate::spec::Digest;

/// The format that every entry names.
const FORMAT: &str = "planwright reply 1";
/// Largest entry that is kept or read.
const MAX_ENTRY_BYTES: u64 = 8 << 20;
/// Most files that are looked at in a folder.
const MAX_LISTED: usize = 100_000;
/// An older file that was written aside belongs to a process that ended.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// A model whose replies are kept in a folder, and given again when an equal request is asked. Two requests
/// are equal if instructions, tools, schema, sampling, payload, conversation and the model's name are.
///
/// Threads and processes may share a folder. Beyond its limits the entries that were unused for longest go
/// first. A replay never asks a model, so it never uses the cache; a reply from here is marked as
/// [`cached`](ModelReply::cached). A reply that holds a key of the model is not kept.
pub struct Cached {
    inner: Box<dyn Model>,
    folder: PathBuf,
    max_entries: usize,
    max_bytes: u64,
    keys: Redactor,
    problem: OnceLock<String>,
    is_told: AtomicBool,
}

/// One request with its reply.
#[derive(Serialize, Deserialize)]
struct Entry {
    format: String,
    /// Tells a damaged entry: the digest of request and reply.
    sum: Digest,
    request: String,
    reply: ModelReply,
}

fn sum(request: &str, reply: &ModelReply) -> Digest {
    let reply = serde_json::to_vec(reply).expect("a reply has text keys only");
    Digest::of([request.as_bytes(), reply.as_slice()])
}

impl Cached {
    /// A model with a cache in this folder, which is made when the first reply is kept. At most 1,000 entries
    /// and 64 MiB unless set.
    pub fn new(model: impl Model + 'static, folder: impl Into<PathBuf>) -> Self {
        Cached {
            keys: Redactor::new(model.secrets()),
            inner: Box::new(model),
            folder: folder.into(),
            max_entries: 1_000,
            max_bytes: 64 << 20,
            problem: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// Most entries of the folder.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Most bytes of all entries together.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// The first problem there was with the folder. Told once: later calls give `None`.
    pub fn warning(&self) -> Option<String> {
        let problem = self.problem.get()?;
        (!self.is_told.swap(true, Ordering::Relaxed)).then(|| problem.clone())
    }

    fn warn(&self, what: &str, error: &io::Error) {
        let folder = self.folder.display();
        self.problem.get_or_init(|| format!("{folder}: {what} ({error}); the model is asked every time"));
    }

    /// The kept reply to a request, if there is a whole entry of it. The entry counts as used then.
    fn get(&self, key: Digest, request: &str) -> io::Result<Option<ModelReply>> {
        let path = self.entry_path(key);
        let bytes = match read_entry(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let entry = serde_json::from_slice(&bytes).ok().filter(|entry: &Entry| {
            entry.format == FORMAT && entry.request == request && entry.sum == sum(request, &entry.reply)
        });
        if entry.is_some() {
            // A file that may not be written merely looks unused.
            let _ = OpenOptions::new().write(true).open(&path).and_then(|file| touch(&file));
        }
        Ok(entry.map(|entry| entry.reply))
    }

    /// Keeps a reply, in place of what was there, and makes room.
    fn put(&self, key: Digest, request: String, reply: &ModelReply) -> io::Result<()> {
        let sum = sum(&request, reply);
        let entry = Entry { format: FORMAT.to_owned(), sum, request, reply: reply.clone() };
        let text = serde_json::to_string(&entry).expect("an entry has text keys only");
        let is_too_large = text.len() as u64 > self.max_bytes.min(MAX_ENTRY_BYTES);
        if self.max_entries == 0 || is_too_large || self.keys.finds(&text) {
            return Ok(());
        }
        create_private_folder(&self.folder)?;
        let aside = self.folder.join(format!(".reply-{key}.{:016x}.tmp", random_id()));
        let mut file = private_options().write(true).create_new(true).open(&aside)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| touch(&file));
        let kept = written.and_then(|()| fs::rename(&aside, self.entry_path(key)));
        if kept.is_err() {
            let _ = fs::remove_file(&aside);
        }
        kept.and_then(|()| self.make_room())
    }

    fn entry_path(&self, key: Digest) -> PathBuf {
        self.folder.join(format!("reply-{key}.json"))
    }

    /// Removes the entries that were unused for longest until the rest is within the limits, and the files
    /// that processes left behind when they ended.
    fn make_room(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder)?.take(MAX_LISTED) {
            let found = found?;
            let name = found.file_name();
            let Some(is_entry) = name.to_str().and_then(is_entry) else { continue };
            // It may be gone meanwhile: another process made room.
            let Some(about) = found.metadata().ok().filter(fs::Metadata::is_file) else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if is_entry {
                entries.push((used, found.path(), about.len()));
            } else if used.elapsed().is_ok_and(|age| age > LEFT_BEHIND) {
                remove(&found.path())?;
            }
        }
        entries.sort();
        let (mut count, mut bytes) = (entries.len(), entries.iter().map(|(.., bytes)| bytes).sum::<u64>());
        for (_, path, size) in entries {
            if count <= self.max_entries && bytes <= self.max_bytes {
                break;
            }
            remove(&path)?;
            count -= 1;
            bytes -= size;
        }
        Ok(())
    }
}

impl Model for Cached {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.ask_until(request, tokens, &|_, _, _| {}, &|| false)
    }

    /// A kept reply comes in one piece, and costs nothing.
    fn ask_until(
        &self,
        request: &ModelRequest,
        mut tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let ModelRequest { frame, payload, conversation, .. } = request;
        let mut whole = json!({"model": self.name(), "frame": **frame, "payload": payload});
        if !conversation.is_empty() {
            whole["conversation"] = json!(conversation);
        }
        let text = whole.to_string();
        let key = Digest::of([text.as_bytes()]);
        let found = self.get(key, &text).unwrap_or_else(|error| {
            self.warn("replies that were kept cannot be read", &error);
            None
        });
        if let Some(reply) = found {
            if let Some(tokens) = tokens.as_mut().filter(|_| !reply.text.is_empty()) {
                tokens(&reply.text);
            }
            return Ok(ModelReply { usage: Usage::default(), cached: true, ..reply });
        }
        let reply = self.inner.ask_until(request, tokens, retrying, stop)?;
        if let Err(error) = self.put(key, text, &reply) {
            self.warn("replies cannot be kept", &error);
        }
        Ok(reply)
    }

    fn secrets(&self) -> Vec<Secret> {
        self.inner.secrets()
    }

    fn servers(&self) -> Vec<ModelServer> {
        self.inner.servers()
    }
}

/// The bytes of an entry; none of what is too large or no file.
fn read_entry(path: &Path) -> io::Result<Vec<u8>> {
    // Looked at first: opening a pipe would wait for a writer.
    let about = fs::symlink_metadata(path)?;
    let mut bytes = Vec::new();
    if about.is_file() && about.len() <= MAX_ENTRY_BYTES {
        File::open(path)?.take(MAX_ENTRY_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Whether a file is an entry or one written aside; `None` if it is not ours.
fn is_entry(name: &str) -> Option<bool> {
    let entry = name.strip_prefix("reply-").and_then(|rest| rest.strip_suffix(".json"));
    let aside = name.strip_prefix(".reply-").and_then(|rest| rest.strip_suffix(".tmp"));
    let key = entry.or_else(|| aside?.split('.').next())?;
    (key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(entry.is_some())
}

fn touch(file: &File) -> io::Result<()> {
    file.set_modified(SystemTime::now())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
