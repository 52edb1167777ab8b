//! The databases that the tests of this binary keep threads in: the file that a test opens holds the address of one.

use std::path::Path;

use planwright::journal::Durability;
use planwright_postgres::{Address, PostgresStore};

use crate::server::cluster;

/// How many threads two processes want at once: `PLANWRIGHT_RACED`, or a number that takes seconds. CI takes 1,000, a
/// minute of two cores: each of 64,000 tries asks the server about five times, through a build without the optimiser.
pub fn raced() -> usize {
    std::env::var("PLANWRIGHT_RACED").map_or(150, |count| count.parse().unwrap())
}

pub fn open(path: &Path) -> PostgresStore {
    let address = std::fs::read_to_string(path).unwrap_or_else(|_| {
        let new = cluster().database();
        std::fs::write(path, &new).unwrap();
        new
    });
    at(&address)
}

pub fn at(address: &str) -> PostgresStore {
    PostgresStore::make(&Address::parse(address).unwrap(), Durability::Normal).unwrap()
}
