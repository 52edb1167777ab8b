//! Where a store is: a file, or a database on a server.

use std::fmt;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use planwright::driver::Threads;
use planwright::journal::system::create_private_folder;
use planwright::journal::{Durability, JournalErrorKind, Store, StoreError};
use planwright::ports::Secret;
#[cfg(feature = "postgres")]
use planwright_postgres::{Address, PostgresStore};
use planwright_sqlite::SqliteStore;

/// Where a store is.
#[derive(Clone, Debug)]
pub enum StoreAddress {
    /// An SQLite file.
    File(PathBuf),
    /// A Postgres database.
    #[cfg(feature = "postgres")]
    Postgres(Box<Address>),
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::File(path) => path.display().fmt(f),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(address) => address.fmt(f),
        }
    }
}

impl StoreAddress {
    /// Takes what somebody wrote for a path, or for the address of a database if it begins as one.
    ///
    /// # Errors
    /// Where the path is a folder, or looks like an address and is none that can be used.
    pub fn parse(path: PathBuf) -> Result<Self> {
        #[cfg(feature = "postgres")]
        if let Some(address) = path.to_str().and_then(Address::parse) {
            let hint = "docs/guide/scale.md says what an address may hold";
            let wrong = |problem| Error::unusable(format!("{address}: {problem}")).hint(hint);
            address.is_encrypted().map_err(wrong)?;
            return Ok(StoreAddress::Postgres(Box::new(address)));
        }
        if is_address(&path) {
            // It may hold a password.
            let problem =
                "the store: expected an SQLite file, found what looks like the address of a database";
            let hint = match cfg!(feature = "postgres") {
                true => "an address is written postgres://USER@HOST:PORT/DATABASE",
                false => "this program was built without its default feature `postgres`",
            };
            return Err(Error::unusable(problem).hint(hint));
        }
        if path.is_dir() || path.to_string_lossy().ends_with(['/', MAIN_SEPARATOR]) {
            let problem = format!("{}: expected an SQLite file, found a folder", path.display());
            return Err(Error::unusable(problem).hint("name a file, such as --store threads.db"));
        }
        Ok(StoreAddress::File(path))
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            StoreAddress::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(_) => None,
        }
    }

    /// Brings the tables of a database to this version, or makes them. Gives a line about it.
    ///
    /// # Errors
    /// Where the server cannot be reached, or the role may not change them.
    pub fn migrate(&self) -> Result<String> {
        match self {
            StoreAddress::File(_) => Ok(format!("{self}: an SQLite store is made with its first thread")),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(address) => Ok(match PostgresStore::migrate(address)? {
                (0, now) => format!("{self}: made, in version {now}"),
                (before, now) if before == now => format!("{self}: it is of version {now} already"),
                (before, now) => format!("{self}: changed from version {before} to {now}"),
            }),
        }
    }

    /// Opens the threads there. `make` says whether a store is made if there is none.
    ///
    /// # Errors
    /// Where the store cannot be opened or made.
    pub fn open(&self, durability: Durability, make: bool) -> Result<Threads> {
        let store: std::result::Result<Arc<dyn Store>, StoreError> = match self {
            StoreAddress::File(path) => {
                let folder = path.parent().filter(|folder| make && !folder.as_os_str().is_empty());
                if let Some(folder) = folder {
                    create_private_folder(folder).map_err(|error| {
                        Error::caused(format!("{}: cannot be made", folder.display()), error)
                    })?;
                }
                SqliteStore::open(path, durability).map(|store| Arc::new(store) as _)
            }
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(address) => {
                let open = if make { PostgresStore::make } else { PostgresStore::open };
                open(address, durability).map(|store| Arc::new(store) as _)
            }
        };
        let store = store.map_err(|error| {
            let kind = if let StoreError::Journal(error) = &error { Some(error.kind()) } else { None };
            let hint = match (kind, self.file()) {
                (Some(JournalErrorKind::Io), Some(_)) => {
                    "see that its folder can be written and no process holds it, or name another with --store PATH"
                }
                (Some(JournalErrorKind::Io), None) => {
                    "see that the server runs and lets the role in; PGPASSWORD may hold its password"
                }
                (Some(JournalErrorKind::Format | JournalErrorKind::Setup), Some(_)) => "name another store with --store PATH",
                _ => return Error::from(error),
            };
            Error::from(error).hint(hint)
        });
        Ok(Threads::new(store?))
    }
}

/// Whether a setting names a database and no file, or was meant to.
pub(crate) fn is_address(path: &Path) -> bool {
    let text = path.to_string_lossy().trim_start().to_lowercase();
    let names = ["host=", "hostaddr=", "port=", "dbname=", "user=", "password=", "service="];
    text.contains("://")
        || ["postgres:", "postgresql:", "jdbc:"].iter().any(|scheme| text.starts_with(scheme))
        || text.split_whitespace().any(|word| names.iter().any(|name| word.starts_with(name)))
}

/// The passwords in these settings, as far as they name databases.
pub(crate) fn store_secrets(settings: impl IntoIterator<Item = String>) -> Vec<Secret> {
    #[cfg(feature = "postgres")]
    return settings
        .into_iter()
        .filter_map(|text| Address::parse(&text))
        .flat_map(|it| it.secrets())
        .collect();
    #[cfg(not(feature = "postgres"))]
    return settings.into_iter().take(0).map(Secret::new).collect();
}
