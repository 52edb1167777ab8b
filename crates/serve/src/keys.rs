//! Keys: who may ask, and what. A file holds the SHA-256 of each key with its name; a key itself is shown once, when
//! it is made.
//!
//! **Invariant:** no key is written down, and none is compared byte by byte until it differs.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use planwright::journal::system::{create_private_folder, now_ms, private_options, random_id};
use planwright_app::{Error, Result};

const FORMAT: &str = "planwright-keys/1";
/// Most bytes of a key's name: it stands before the names of its threads.
const MOST_NAME: usize = 32;

/// What a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Ask, resume, fork, cancel and delete.
    Run,
    /// Answer what people are asked, and resolve writes in doubt.
    Answer,
    /// Read. Every key may.
    Read,
    /// Everything, in the threads of all.
    Admin,
}

impl FromStr for Right {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Deserialize::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text))
            .map_err(|_| format!("expected run, answer, read or admin, found {text:?}"))
    }
}

impl Right {
    /// The name, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Right::Run => "run",
            Right::Answer => "answer",
            Right::Read => "read",
            Right::Admin => "admin",
        }
    }
}

/// A key, without the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Its name.
    pub name: String,
    sha256: String,
    /// What it may do.
    pub may: Vec<Right>,
    /// The key whose threads it has; its own where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_of: Option<String>,
    /// When it ends, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl Key {
    /// A key of this name that lasts.
    pub fn new(name: impl Into<String>, may: Vec<Right>) -> Self {
        Key { name: name.into(), sha256: String::new(), may, threads_of: None, expires: None }
    }

    /// Whether its time is over.
    pub fn has_expired(&self) -> bool {
        self.expires.is_some_and(|end| now_ms() >= end)
    }

    /// Whether it may do this.
    pub(crate) fn may(&self, right: Right) -> bool {
        right == Right::Read || self.may.contains(&right) || self.is_admin()
    }

    pub(crate) fn is_admin(&self) -> bool {
        self.may.contains(&Right::Admin)
    }

    fn check(&self) -> Result<(), String> {
        let names = [Some(&self.name), self.threads_of.as_ref()];
        names.into_iter().flatten().try_for_each(|name| check_name(name))?;
        match () {
            () if self.sha256.len() != 64 => Err(format!("{}: expected the SHA-256 of a key", self.name)),
            () if self.may.is_empty() => Err(format!("{}: expected what it may do", self.name)),
            () if self.is_admin() && self.threads_of.is_some() => Err(format!(
                "{}: a key that may admin sees all threads, so it has none of another",
                self.name
            )),
            () => Ok(()),
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if (1..=MOST_NAME).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-') {
        return Ok(());
    }
    Err(format!("a key's name has 1 to {MOST_NAME} of a-z, 0-9, _ and -, the dash not first, found {name:?}"))
}

/// The key that a text is, if it is one. All are compared, each whole.
pub(crate) fn find_key<'k>(keys: &'k [Key], text: &str) -> Option<&'k Key> {
    let digest = sha256(text);
    let is_it = |key: &&Key| bool::from(key.sha256.as_bytes().ct_eq(digest.as_bytes()));
    keys.iter().fold(None, |found, key| if is_it(&key) { Some(key) } else { found })
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file of keys, for its owner alone.
#[derive(Clone, Debug)]
pub struct KeyFile(PathBuf);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: String,
    keys: Vec<Key>,
}

impl KeyFile {
    /// The file at a path. It need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        KeyFile(path.into())
    }

    /// The keys; `None` where there is no file.
    ///
    /// # Errors
    /// Where others may read the file, or it cannot be read as keys.
    pub fn load(&self) -> Result<Option<Vec<Key>>> {
        let place = &self.0.display();
        let read = std::fs::File::open(&self.0).and_then(|file| {
            let about = file.metadata()?;
            std::io::read_to_string(file).map(|text| (about, text))
        });
        let (about, text) = match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| Error::caused(format!("{place}: cannot be read"), error))?,
        };
        check_private(&about).map_err(|mode| {
            Error::unusable(format!("{place}: others may read it (mode {mode:o}), and it holds keys"))
                .hint(format!("chmod 600 {}", planwright_app::shell_word(place)))
        })?;
        let stored: Stored = serde_json::from_slice(text.as_bytes()).map_err(Error::at(place))?;
        if stored.format != FORMAT {
            let problem = format!("{place}: expected {FORMAT}, found {:?}", stored.format);
            return Err(Error::unusable(problem));
        }
        stored.keys.iter().try_for_each(Key::check).map_err(Error::at(place))?;
        Ok(Some(stored.keys))
    }

    /// Makes a key, writes down its SHA-256, and gives the key: it is never shown again.
    ///
    /// # Errors
    /// Where there is a key of this name, or the file cannot be read or written.
    pub fn add(&self, mut key: Key) -> Result<String> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| Error::caused("no key can be made", error))?;
        let text = format!("pwk_{}", hex(&random));
        key.sha256 = sha256(&text);
        key.check().map_err(Error::at("keys new"))?;
        let mut keys = self.load()?.unwrap_or_default();
        if keys.iter().any(|known| known.name == key.name) {
            let problem = format!("{}: there is a key {} already", self.0.display(), key.name);
            return Err(Error::unusable(problem).hint("remove it first, or make one of another name"));
        }
        keys.push(key);
        self.save(keys)?;
        Ok(text)
    }

    /// Removes the key of this name. A service that runs takes it no more.
    ///
    /// # Errors
    /// Where there is none, or the file cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<()> {
        let mut keys = self.load()?.unwrap_or_default();
        let known = keys.len();
        keys.retain(|key| key.name != name);
        if keys.len() == known {
            return Err(Error::unusable(format!("{}: there is no key {name:?}", self.0.display())));
        }
        self.save(keys)
    }

    /// Writes the file whole or not at all: beside the target, then in its place.
    fn save(&self, keys: Vec<Key>) -> Result<()> {
        let text = serde_json::to_string_pretty(&Stored { format: FORMAT.to_owned(), keys });
        let text = text.map_err(|error| Error::caused("the keys cannot be written", error))? + "\n";
        let mut aside = self.0.as_os_str().to_owned();
        aside.push(format!(".{:016x}.tmp", random_id()));
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        let written = folder.map_or(Ok(()), create_private_folder).and_then(|()| {
            let mut file = private_options().write(true).create_new(true).open(&aside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&aside, &self.0)
        });
        written.map_err(|error| {
            let _ = std::fs::remove_file(&aside);
            Error::caused(format!("{}: cannot be written", self.0.display()), error)
        })
    }
}

/// Refuses a file that its group or others may read or write, with its mode.
#[cfg(unix)]
fn check_private(about: &std::fs::Metadata) -> Result<(), u32> {
    let mode = std::os::unix::fs::MetadataExt::mode(about) & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(mode) }
}

#[cfg(not(unix))]
fn check_private(_: &std::fs::Metadata) -> Result<(), u32> {
    Ok(())
}
