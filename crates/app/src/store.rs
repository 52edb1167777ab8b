//! Where threads are stored, and the threads there. Nothing is made before something is written.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::pending::{Pending, shell_word};
use crate::settings::{ConfigFile, Mode, user_data_folder, variable};
use planwright::driver::{ThreadHandle, Threads};
use planwright::journal::system::{create_private_folder, random_id};
use planwright::journal::{Durability, Folded, Listed, MemoryStore, Order, Query, StoreError, ThreadId};
use planwright_sqlite::SqliteStore;

/// The store of this call.
#[derive(Debug)]
pub struct StorePlace {
    path: PathBuf,
    durability: Durability,
    /// Whether somebody named it.
    named: bool,
    keeps_all: bool,
    /// The path that the caller named: commands that are shown repeat it.
    flag: Option<PathBuf>,
}

impl StorePlace {
    /// Finds the store: the one the caller names, else that of the environment, else that of the configuration
    /// file, else the usual one.
    ///
    /// # Errors
    /// Where a setting cannot be used, or the path is a folder.
    pub fn find(store: Option<&Path>, durability: Option<Durability>, config: Option<&Path>) -> Result<Self> {
        let file = ConfigFile::find(config)?.persistence;
        let durability = match (durability, variable("PLANWRIGHT_DURABILITY")?) {
            (Some(durability), _) => durability,
            (None, Some(text)) => text.parse().map_err(|problem: String| {
                Error::unusable(format!("the environment variable PLANWRIGHT_DURABILITY: {problem}"))
            })?,
            (None, None) => file.durability.unwrap_or_default(),
        };
        let flag = store.map(Path::to_owned);
        let given = flag.clone().or(variable("PLANWRIGHT_STORE")?.map(PathBuf::from)).or(file.path);
        let named = given.is_some();
        let usual = || user_data_folder().map(|folder| folder.join("threads.db"));
        let missing =
            || Error::unusable("there is no home folder to keep threads in").hint("name --store PATH");
        let path = given.or_else(usual).ok_or_else(missing)?;
        if path.is_dir() || path.to_string_lossy().ends_with(['/', MAIN_SEPARATOR]) {
            let problem = format!("{}: expected an SQLite file, found a folder", path.display());
            return Err(Error::unusable(problem).hint("name a file, such as --store threads.db"));
        }
        let keeps_all = file.mode.unwrap_or_default() != Mode::Memory;
        Ok(StorePlace { path, durability, named, keeps_all, flag })
    }

    /// The threads there, to be read and gone on with. The usual store may be missing: it has no threads.
    ///
    /// # Errors
    /// Where the store cannot be opened, or a store that somebody named does not exist.
    pub fn threads(&self) -> Result<Threads> {
        if self.path.exists() {
            return self.open();
        }
        if self.named {
            let problem = format!("{}: there is no store", self.path.display());
            let hint = "`planwright run --thread NAME` with the same --store begins one";
            return Err(Error::unusable(problem).hint(hint));
        }
        Ok(Threads::new(Arc::new(MemoryStore::new())))
    }

    /// A thread to be read or gone on with.
    ///
    /// # Errors
    /// Where there is no such thread.
    pub fn thread(&self, thread: &ThreadId) -> Result<StoredThread> {
        let stored = self.thread_of(&self.threads()?, thread.clone());
        stored.turns()?;
        Ok(stored)
    }

    /// A thread of threads that were opened here.
    pub fn thread_of(&self, threads: &Threads, thread: ThreadId) -> StoredThread {
        StoredThread { threads: threads.clone(), thread, flag: self.flag() }
    }

    /// The thread for a new run: the named one, or a new one where every run is stored. A store is made if
    /// there is none.
    ///
    /// # Errors
    /// Where the store cannot be opened or made.
    pub fn thread_for_run(&self, named: Option<&ThreadId>) -> Result<Option<StoredThread>> {
        if named.is_none() && !self.keeps_all {
            return Ok(None);
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            create_private_folder(folder)
                .map_err(|error| Error::caused(format!("{}: cannot be made", folder.display()), error))?;
        }
        let thread = named.cloned().unwrap_or_else(new_thread_id);
        Ok(Some(self.thread_of(&self.open()?, thread)))
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> Result<Threads> {
        let store = SqliteStore::open(&self.path, self.durability)
            .map_err(|error| Error::from(error).hint("name a store with --store PATH"))?;
        Ok(Threads::new(Arc::new(store)))
    }

    /// The flag that names the store in a command, with a blank before it; empty for the usual store.
    pub fn flag(&self) -> String {
        self.flag.as_ref().map_or_else(String::new, |path| format!(" --store {}", shell_word(path.display())))
    }
}

/// A name that no thread has: the time and a random number.
fn new_thread_id() -> ThreadId {
    let random = random_id() & 0xffff_ffff;
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!("run-{now}-{random:08x}").parse().expect("a name of letters, digits and dashes")
}

/// A thread in a store.
pub struct StoredThread {
    /// The threads of the store.
    pub threads: Threads,
    /// Which one.
    pub thread: ThreadId,
    flag: String,
}

impl StoredThread {
    /// A new thread that ends with this process.
    pub fn in_memory() -> Self {
        let threads = Threads::new(Arc::new(MemoryStore::new()));
        StoredThread { threads, thread: new_thread_id(), flag: String::new() }
    }

    /// Another thread in the same store.
    #[must_use]
    pub fn sibling(&self, thread: ThreadId) -> Self {
        StoredThread { threads: self.threads.clone(), thread, flag: self.flag.clone() }
    }

    /// The thread, to be asked, answered or cancelled.
    pub fn handle(&self) -> ThreadHandle<'_> {
        self.threads.at(&self.thread)
    }

    /// How many turns it has.
    ///
    /// # Errors
    /// Where there is no such thread.
    pub fn turns(&self) -> Result<u32> {
        Ok(self.threads.store().turns(&self.thread)?)
    }

    /// The index of a turn that people count from 1; without one, that of the last.
    ///
    /// # Errors
    /// Where there is no such thread.
    pub fn turn_index(&self, turn: Option<u32>) -> Result<u32> {
        match turn {
            Some(turn) => Ok(turn - 1),
            None => Ok(self.turns()?.saturating_sub(1)),
        }
    }

    /// A turn that people count from 1, folded; without one, the last.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn fold_turn(&self, turn: Option<u32>) -> Result<Folded> {
        Ok(self.threads.folded(&self.thread, turn.map(|turn| turn - 1))?)
    }

    /// The last turn, folded, if the thread exists.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn fold_last(&self) -> Result<Option<Folded>> {
        match self.threads.folded(&self.thread, None) {
            Err(StoreError::NoThread { .. }) => Ok(None),
            folded => Ok(Some(folded?)),
        }
    }

    /// What its last turn waits for.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn pending(&self) -> Result<Option<Pending>> {
        Ok(Pending::of(&self.fold_turn(None)?))
    }

    /// A command of `planwright threads` on it.
    pub fn command(&self, command: &str) -> String {
        format!("planwright threads {command} {}{}", shell_word(&self.thread), self.flag)
    }

    /// The command that goes on with the conversation.
    pub fn chat_command(&self) -> String {
        format!("planwright chat --thread {}{}", shell_word(&self.thread), self.flag)
    }
}

/// Visits all threads of a store, page by page.
///
/// # Errors
/// Where a page cannot be read.
pub fn visit_threads(threads: &Threads, mut visit: impl FnMut(&Listed)) -> Result<()> {
    const PAGE: usize = 200;
    let mut query = Query { limit: PAGE, ..Query::default() };
    loop {
        let page = threads.list(&query)?;
        page.iter().for_each(&mut visit);
        match page.last() {
            Some(last) if page.len() == PAGE => query.after = Some(last.cursor(Order::Newest)),
            _ => return Ok(()),
        }
    }
}
