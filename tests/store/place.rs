//! The database that the tests of this binary keep threads in.

use std::path::Path;

use planwright::journal::Durability;
use planwright_sqlite::SqliteStore;

pub fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Durability::Normal).unwrap()
}
