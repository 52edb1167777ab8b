//! Where threads are kept: which store, and opened how. Nothing is made before something is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::args::StoreArgs;
use super::config::{ConfigFile, usual_data, variable};
use super::failure::{Failure, Outcome};
use super::pending::Stored;
use super::screen::Screen;
use super::text::quoted;
use planwright::driver::Threads;
use planwright::journal::store::random_id;
use planwright::journal::{Durability, LinesStore, MemoryStore, Store, ThreadId, disk};
use planwright_sqlite::SqliteStore;

/// Which runs are kept, and as what: `mode` of `[persistence]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only what names a thread.
    #[default]
    Memory,
    /// Every run, in an SQLite file.
    Sqlite,
    /// Every run, in a folder of JSON lines.
    Lines,
}

/// What a path holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sqlite,
    Lines,
}

/// The place where this call of the program keeps threads.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    kind: Kind,
    durability: Durability,
    /// Whether somebody named it.
    named: bool,
    /// Whether a run without a thread is kept too.
    pub keeps_all: bool,
    /// The flag, where it was given: whoever is told a command is told it too.
    flag: Option<PathBuf>,
}

impl Place {
    /// The place, by flag, environment and configuration file.
    pub fn find(args: &StoreArgs, config: Option<&Path>) -> Outcome<Self> {
        let file = ConfigFile::find(config)?.persistence;
        let mode = file.mode.unwrap_or_default();
        let durability = match (args.durability, variable("PLANWRIGHT_DURABILITY")?) {
            (Some(flag), _) => flag.into(),
            (None, Some(text)) => text.parse().map_err(|problem: String| {
                Failure::unusable(format!("the environment variable PLANWRIGHT_DURABILITY: {problem}"))
            })?,
            (None, None) => file.durability.unwrap_or_default(),
        };
        let flag = args.store.clone();
        let given = flag.clone().or(variable("PLANWRIGHT_STORE")?.map(PathBuf::from));
        let named = given.is_some() || file.path.is_some();
        let (path, kind) = match (given, file.path, mode) {
            (Some(path), ..) | (None, Some(path), Mode::Memory) => (path.clone(), kind(&path)?),
            (None, path, mode) => {
                let kind = if mode == Mode::Lines { Kind::Lines } else { Kind::Sqlite };
                let usual = || usual_data().map(|folder| folder.join(usual_name(kind)));
                let missing = || {
                    Failure::unusable("there is no home folder to keep threads in").hint("name --store PATH")
                };
                (path.or_else(usual).ok_or_else(missing)?, kind)
            }
        };
        if kind == Kind::Sqlite && path.is_dir() {
            let problem = format!("{}: expected an SQLite file, found a folder", path.display());
            return Err(Failure::unusable(problem).hint("a folder is a store under mode = \"lines\""));
        }
        Ok(Place { path, kind, durability, named, keeps_all: mode != Mode::Memory, flag })
    }

    /// The threads there, to be read and gone on with. Where there is no store, and nobody named one,
    /// there are none.
    pub fn threads(&self) -> Outcome<Threads> {
        if self.exists() {
            return self.open();
        }
        if self.named {
            let problem = format!("{}: there is no store", self.path.display());
            let hint = "`planwright run --thread NAME` with the same --store begins one";
            return Err(Failure::unusable(problem).hint(hint));
        }
        Ok(Threads::new(Arc::new(MemoryStore::new())))
    }

    /// Whether there is something: an empty folder is nothing yet.
    fn exists(&self) -> bool {
        match self.kind {
            Kind::Sqlite => self.path.exists(),
            Kind::Lines => std::fs::read_dir(&self.path).map_or_else(
                |error| error.kind() != std::io::ErrorKind::NotFound,
                |mut entries| entries.next().is_some(),
            ),
        }
    }

    /// The threads there, to be written to: a store is made where there is none.
    pub fn threads_or_new(&self) -> Outcome<Threads> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            disk::create_private_folder(folder)
                .map_err(|error| Failure::caused(format!("{}: cannot be made", folder.display()), error))?;
        }
        self.open()
    }

    /// The thread that a run is kept in: the one that is named, or where every run is kept, a new one.
    pub fn thread(&self, named: Option<&ThreadId>, screen: &Screen) -> Outcome<Option<Stored>> {
        let thread = match named {
            Some(thread) => thread.clone(),
            None if !self.keeps_all => return Ok(None),
            None => {
                let thread = new_name();
                screen.note(&format!("kept as the thread {thread} in {}", self.path.display()));
                thread
            }
        };
        Ok(Some(Stored { threads: self.threads_or_new()?, thread, flag: self.flag() }))
    }

    fn open(&self) -> Outcome<Threads> {
        let unusable = |error| Failure::from(error).hint("name a store with --store PATH");
        let store: Arc<dyn Store> = match self.kind {
            Kind::Sqlite => Arc::new(SqliteStore::open(&self.path, self.durability).map_err(unusable)?),
            Kind::Lines => Arc::new(LinesStore::open(&self.path, self.durability).map_err(unusable)?),
        };
        Ok(Threads::new(store))
    }

    /// What a command names it by, with a blank before it; nothing where it need not.
    pub fn flag(&self) -> String {
        self.flag.as_ref().map_or_else(String::new, |path| format!(" --store {}", quoted(path.display())))
    }
}

fn usual_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "threads.db",
        Kind::Lines => "threads",
    }
}

/// A name that no thread has: the time, and a number that nobody else has drawn.
fn new_name() -> ThreadId {
    let chance = random_id() & 0xffff_ffff;
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    format!("run-{now}-{chance:08x}").parse().expect("a name of letters, digits and dashes")
}

/// What a path holds, or would: a folder, or a name that ends in `/`, holds JSON lines.
fn kind(path: &Path) -> Outcome<Kind> {
    let text = path.to_string_lossy();
    let ends = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    if path.is_dir() || text.ends_with(['/', std::path::MAIN_SEPARATOR]) {
        return Ok(Kind::Lines);
    }
    if path.exists() || ["db", "sqlite", "sqlite3"].into_iter().any(ends) {
        return Ok(Kind::Sqlite);
    }
    let problem = format!("{text}: expected a store, and its name does not say of which kind");
    Err(Failure::unusable(problem)
        .hint(format!("{text}.db is an SQLite file, {text}/ a folder of JSON lines")))
}
