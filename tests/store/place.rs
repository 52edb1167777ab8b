//! The database that the tests of this binary keep threads in.

use std::path::Path;

use planwright::journal::Durability;
use planwright_sqlite::SqliteStore;

/// How many threads two processes want at once.
pub fn raced() -> usize {
    1_000
}

pub fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Durability::Normal).unwrap()
}
