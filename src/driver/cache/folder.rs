//! The folder of a cache: one file for each entry, bounded in number and size.
//!
//! An entry is written aside and renamed into place, so that a reader sees the whole of one or none,
//! also while others read or write. No lock is held: two that keep the same reply write the same, and
//! two that make room at once remove what is oldest twice.
//!
//! **Invariant:** no file is removed that does not bear an entry's name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::journal::system;
use crate::machine::ModelReply;
use crate::spec::Digest;

/// What every entry says it is.
const FORMAT: &str = "planwright reply 1";
/// Largest entry that is kept or read.
const MAX_ENTRY_BYTES: u64 = 8 << 20;
/// Most names that are looked at in a folder. More of them are not ours.
const MAX_LISTED: usize = 100_000;
/// A file written aside that is older was left there by a process that ended.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// How many names are tried for a file written aside.
const MAX_NAMES: u32 = 16;

/// One request with its reply.
#[derive(Serialize, Deserialize)]
pub(super) struct Entry {
    format: String,
    /// Tells an entry that was damaged: the digest of request and reply.
    sum: Digest,
    request: String,
    reply: ModelReply,
}

impl Entry {
    pub(super) fn new(request: String, reply: &ModelReply) -> Self {
        let sum = sum(&request, reply);
        Entry { format: FORMAT.to_owned(), sum, request, reply: reply.clone() }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an entry has text keys only")
    }

    /// The reply, where this is an entry, whole, and of that request.
    fn reply_to(bytes: &[u8], request: &str) -> Option<ModelReply> {
        let entry: Entry = serde_json::from_slice(bytes).ok()?;
        let holds = entry.format == FORMAT
            && entry.request == request
            && entry.sum == sum(&entry.request, &entry.reply);
        holds.then_some(entry.reply)
    }
}

fn sum(request: &str, reply: &ModelReply) -> Digest {
    let reply = serde_json::to_vec(reply).expect("a reply has text keys only");
    Digest::of([request.as_bytes(), reply.as_slice()])
}

/// A folder of entries with its limits.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    pub(super) max_entries: usize,
    pub(super) max_bytes: u64,
}

/// An entry as the folder lists it.
struct Listed {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Folder { path, max_entries: 1_000, max_bytes: 64 << 20 }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn entry(&self, key: Digest) -> PathBuf {
        self.path.join(format!("reply-{key}.json"))
    }

    /// The reply to a request, where it was kept. It counts as used then.
    ///
    /// # Errors
    /// Where there is something that may not be read. What can be read and is no entry is none.
    pub(super) fn get(&self, key: Digest, request: &str) -> io::Result<Option<ModelReply>> {
        let path = self.entry(key);
        let read = || -> io::Result<Vec<u8>> {
            // Looked at first: opening a pipe would wait for a writer.
            let about = fs::symlink_metadata(&path)?;
            if !about.is_file() || about.len() > MAX_ENTRY_BYTES {
                return Ok(Vec::new());
            }
            let mut bytes = Vec::new();
            File::open(&path)?.take(MAX_ENTRY_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let reply = Entry::reply_to(&bytes, request);
        if reply.is_some() {
            // Where it may not be written, it merely looks unused.
            let _ = OpenOptions::new().write(true).open(&path).and_then(|file| touch(&file));
        }
        Ok(reply)
    }

    /// Keeps an entry, in place of what was there, and makes room.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub(super) fn put(&self, key: Digest, entry: &[u8]) -> io::Result<()> {
        let bytes = entry.len() as u64;
        if self.max_entries == 0 || bytes > self.max_bytes.min(MAX_ENTRY_BYTES) {
            return Ok(());
        }
        system::create_private_folder(&self.path)?;
        let (aside, mut file) = self.aside(key)?;
        let written = file
            .write_all(entry)
            .and_then(|()| touch(&file))
            .and_then(|()| fs::rename(&aside, self.entry(key)));
        if written.is_err() {
            let _ = fs::remove_file(&aside);
        }
        written.and_then(|()| self.make_room())
    }

    /// A new file beside the entries, which no one else writes.
    fn aside(&self, key: Digest) -> io::Result<(PathBuf, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut options = system::private_options();
        options.write(true).create_new(true);
        let mut last = io::Error::from(ErrorKind::AlreadyExists);
        for _ in 0..MAX_NAMES {
            let (process, next) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = self.path.join(format!(".reply-{key}.{process}.{next}.tmp"));
            match options.open(&path) {
                Ok(file) => return Ok((path, file)),
                // A process of the same number once stopped here, or runs on another machine.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Removes what was not used for longest, until the rest is within the limits.
    fn make_room(&self) -> io::Result<()> {
        let mut entries = self.list()?;
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        let mut count = entries.len();
        for entry in entries {
            if count <= self.max_entries && bytes <= self.max_bytes {
                break;
            }
            remove(&entry.path)?;
            count -= 1;
            bytes -= entry.bytes;
        }
        Ok(())
    }

    /// All entries. What was left behind by processes that ended is removed on the way.
    fn list(&self) -> io::Result<Vec<Listed>> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.path)?.take(MAX_LISTED) {
            let found = found?;
            let name = found.file_name();
            let Some(kind) = name.to_str().and_then(kind_of) else { continue };
            // Gone meanwhile: someone else made room.
            let Ok(about) = found.metadata() else { continue };
            if !about.is_file() {
                continue;
            }
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match kind {
                Kind::Entry => entries.push(Listed { used, path: found.path(), bytes: about.len() }),
                Kind::Aside if used.elapsed().is_ok_and(|age| age > LEFT_BEHIND) => remove(&found.path())?,
                Kind::Aside => {}
            }
        }
        Ok(entries)
    }
}

/// The files that are ours.
enum Kind {
    Entry,
    Aside,
}

fn kind_of(name: &str) -> Option<Kind> {
    let is_digest = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(key) = name.strip_prefix("reply-").and_then(|rest| rest.strip_suffix(".json")) {
        return is_digest(key).then_some(Kind::Entry);
    }
    let aside = name.strip_prefix(".reply-")?.strip_suffix(".tmp")?;
    aside.split('.').next().is_some_and(is_digest).then_some(Kind::Aside)
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
