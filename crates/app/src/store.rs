//! Where threads are kept. Nothing is made before something is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::config::{ConfigFile, Mode, user_folder, variable};
use crate::error::{Error, Result};
use crate::store_address::StoreAddress;
use planwright::driver::{MAX_TURNS, Threads};
use planwright::journal::system::random_id;
use planwright::journal::{
    Cursor, Durability, Folded, Header, Listed, MemoryStore, Query, Record, StoreError, ThreadId,
};

/// The store of this call.
#[derive(Debug)]
pub struct StorePlace {
    /// Where the store is.
    pub address: StoreAddress,
    durability: Durability,
    /// Whether somebody named it.
    named: bool,
    keeps_all: bool,
    /// The flags that name the store in a command, each with a blank before it; empty for the usual store.
    pub flags: String,
}

impl StorePlace {
    /// Finds the store: the one the caller names, else that of the environment, else that of the configuration
    /// file, else the usual one.
    ///
    /// # Errors
    /// Where a setting cannot be used, or the path is a folder.
    pub fn find(store: Option<&Path>, durability: Option<Durability>, config: Option<&Path>) -> Result<Self> {
        let file = ConfigFile::find(config)?.persistence;
        let set = match (durability, variable("PLANWRIGHT_DURABILITY")?) {
            (None, Some(text)) => {
                Some(text.parse().map_err(Error::at("the environment variable PLANWRIGHT_DURABILITY"))?)
            }
            _ => durability,
        };
        let given = store.map(Path::to_owned).or(variable("PLANWRIGHT_STORE")?.map(PathBuf::from));
        let is_set = given.is_none();
        let given = given.or(file.path);
        let (named, keeps_all) = (given.is_some(), file.mode != Mode::Memory);
        let path = given.or_else(|| usual_store(None)).ok_or_else(no_home)?;
        let address = StoreAddress::parse(path)?;
        let expected = match (file.mode, address.file()) {
            (Mode::Sqlite, None) => Some(("mode = \"sqlite\"", "an SQLite file")),
            (Mode::Postgres, Some(_)) => Some(("mode = \"postgres\"", "postgres://USER@HOST:PORT/DATABASE")),
            _ => None,
        };
        if let Some((mode, expected)) = expected.filter(|_| is_set) {
            let problem = format!("[persistence]: {mode} and `path` name two kinds of store");
            return Err(Error::unusable(problem).hint(format!("expected `path` to be {expected}")));
        }
        // As they were typed, but for a password.
        let flags = store.map(|_| flag("store", &address)).into_iter();
        let flags = flags.chain(config.map(|path| flag("config", path.display()))).collect();
        Ok(StorePlace {
            address,
            durability: set.or(file.durability).unwrap_or_default(),
            named,
            keeps_all,
            flags,
        })
    }

    /// Opens the threads there, to be read and gone on with. The usual store may be missing: it has no threads.
    ///
    /// # Errors
    /// Where the store cannot be opened, or a store that somebody named does not exist.
    pub fn threads(&self) -> Result<Threads> {
        if self.address.file().is_none_or(Path::exists) {
            return self.address.open(self.durability, false);
        }
        if self.named {
            let problem = format!("{}: there is no store", self.address);
            let hint = "`planwright run --thread NAME` with the same --store begins one";
            return Err(Error::unusable(problem).hint(hint));
        }
        Ok(Threads::new(Arc::new(MemoryStore::new())))
    }

    /// Opens a thread to be read or gone on with.
    ///
    /// # Errors
    /// Where there is no such thread.
    pub fn thread(&self, thread: &ThreadId) -> Result<StoredThread> {
        let stored = self.thread_of(&self.threads()?, thread.clone());
        stored.threads.store().turns(thread)?;
        Ok(stored)
    }

    /// A thread of threads that were opened here.
    pub fn thread_of(&self, threads: &Threads, thread: ThreadId) -> StoredThread {
        StoredThread { threads: threads.clone(), thread, flags: self.flags.clone() }
    }

    /// Opens the thread for a new run: the named one, or a new one where every run is stored. A store is made if
    /// there is none.
    ///
    /// # Errors
    /// Where the store cannot be opened or made.
    pub fn thread_for_run(&self, named: Option<&ThreadId>) -> Result<Option<StoredThread>> {
        if named.is_none() && !self.keeps_all {
            return Ok(None);
        }
        let thread = named.cloned().unwrap_or_else(new_thread_id);
        Ok(Some(self.thread_of(&self.make()?, thread)))
    }

    /// Opens the threads there to be added to. A store is made if there is none.
    ///
    /// # Errors
    /// Where the store cannot be opened or made.
    pub fn make(&self) -> Result<Threads> {
        self.address.open(self.durability, true)
    }

    /// The file of the keys of a service over this store: beside the store, or where the usual store is.
    ///
    /// # Errors
    /// Where there is no home folder.
    pub fn key_file(&self) -> Result<PathBuf> {
        let path = usual_store(self.address.file()).ok_or_else(no_home)?;
        Ok(path.with_extension("keys.json"))
    }
}

/// The file of a store, or of the usual one.
fn usual_store(named: Option<&Path>) -> Option<PathBuf> {
    let usual = || Some(user_folder("LOCALAPPDATA", "XDG_DATA_HOME", ".local/share")?.join("threads.db"));
    named.map(Path::to_owned).or_else(usual)
}

fn no_home() -> Error {
    Error::unusable("there is no home folder to keep threads in").hint("name --store PATH")
}

/// A page of threads, as `threads list --json` prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThreadsPage {
    /// The threads.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::shapes::ListedThread>))]
    pub threads: Vec<Listed>,
    /// The cursor of the page that follows.
    pub next: Option<String>,
}

/// A name that no thread has: the time and a random number.
pub fn new_thread_id() -> ThreadId {
    let random = random_id() & 0xffff_ffff;
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!("run-{now}-{random:08x}").parse().expect("a name of letters, digits and dashes")
}

/// Lists a page, with the cursor of the next one. One thread more is asked for: it shows whether there is one.
///
/// # Errors
/// Where `after` is no cursor, or the store cannot be read.
pub fn list_page(
    threads: &Threads,
    query: Query,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<Listed>, Option<String>)> {
    let parse = |text: &str| {
        let (at, thread) = text.split_once(':')?;
        Some(Cursor { at: at.parse().ok()?, thread: thread.parse().ok()? })
    };
    let cursor = after.map(|text| {
        let problem = format!("after: expected a cursor, such as 1763712000000:보고서, found {text:?}");
        parse(text).ok_or_else(|| Error::unusable(problem).hint("the page before says it as `next`"))
    });
    let order = query.order;
    let mut listed = threads.list(&Query { after: cursor.transpose()?, limit: limit + 1, ..query })?;
    let more = listed.len() > limit;
    listed.truncate(limit);
    let last = listed.last().filter(|_| more).map(|last| last.cursor(order));
    Ok((listed, last.map(|Cursor { at, thread }| format!("{at}:{thread}"))))
}

/// The most turns that one search looks at. What is behind them is of the page that follows.
const MOST_SEARCHED: u32 = 5_000;
const SEARCHED_AT_ONCE: usize = 250;

/// A page of the threads that say all of these words, whole or in part and in any case: in their names, in their first
/// question, in what their last turn came to, in the questions of their last turns, or in what those remember.
///
/// # Errors
/// Those of [`list_page`].
pub fn search_page(
    threads: &Threads,
    query: &Query,
    words: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<Listed>, Option<String>)> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return list_page(threads, query.clone(), after, limit);
    }
    let (mut found, mut next, mut left) = (Vec::new(), after.map(str::to_owned), MOST_SEARCHED);
    // The store is let go of in between: others want to write.
    loop {
        let (page, further) = list_page(threads, query.clone(), next.as_deref(), SEARCHED_AT_ONCE)?;
        for listed in page {
            let Cursor { at, thread } = listed.cursor(query.order);
            left = left.saturating_sub(listed.turns.min(MAX_TURNS as u32));
            if says(threads, &listed, words.clone()) {
                found.push(listed);
            }
            if found.len() == limit || left == 0 {
                return Ok((found, Some(format!("{at}:{thread}"))));
            }
        }
        if further.is_none() {
            return Ok((found, None));
        }
        next = further;
    }
}

/// Whether a thread says all of these words. What does not read says nothing.
fn says(threads: &Threads, listed: &Listed, mut words: Vec<String>) -> bool {
    let mut look = |text: &str| {
        let text = text.to_lowercase();
        words.retain(|word| !text.contains(&**word));
        words.is_empty()
    };
    if [listed.thread.as_str(), &listed.title, listed.status.text()].into_iter().any(&mut look) {
        return true;
    }
    let turns = (0..listed.turns).rev().take(MAX_TURNS);
    turns.filter_map(|turn| threads.store().header(&listed.thread, turn).ok()).any(
        |Header { input, .. }| {
            let said = input.history.iter().map(|turn| &*turn.content);
            said.chain([&*input.question]).any(&mut look)
        },
    )
}

/// A thread in a store.
pub struct StoredThread {
    /// The threads of the store.
    pub threads: Threads,
    /// Which one.
    pub thread: ThreadId,
    flags: String,
}

impl StoredThread {
    /// Begins a thread that ends with this process.
    pub fn in_memory() -> Self {
        let threads = Threads::new(Arc::new(MemoryStore::new()));
        StoredThread { threads, thread: new_thread_id(), flags: String::new() }
    }

    /// Reads the records of a turn that people count from 1; without one, of the last. Gives its number as well.
    ///
    /// # Errors
    /// Where there is no such turn, or it cannot be read.
    pub fn records(&self, turn: Option<u32>) -> Result<(u32, Vec<Record>)> {
        let store = self.threads.store();
        let turn = turn.map_or_else(|| store.turns(&self.thread), Ok)?;
        Ok((turn, store.records(&self.thread, turn.saturating_sub(1))?))
    }

    /// Folds a turn that people count from 1; without one, the last.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn fold(&self, turn: Option<u32>) -> Result<Folded, StoreError> {
        self.threads.folded(&self.thread, turn.map(|turn| turn - 1))
    }

    /// A command of `planwright threads` on it.
    pub fn command(&self, command: &str) -> String {
        format!("planwright threads {command} {}{}", shell_word(&self.thread), self.flags)
    }
}

/// A flag as it can be typed, with a blank before it.
pub(crate) fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!(" --{name} {}", shell_word(value))
}

/// A word as it can be typed in a shell.
pub fn shell_word(word: impl std::fmt::Display) -> String {
    let word = word.to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,@%+=".contains(c);
    match (!word.is_empty() && word.chars().all(is_plain), cfg!(windows)) {
        (true, _) => word,
        (false, true) => format!("\"{}\"", word.replace('"', "\\\"")),
        (false, false) => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
