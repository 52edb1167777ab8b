//! Runs on every store, and the helpers of the conformance suite.
#![allow(dead_code, unused_imports)]

mod runs;

use std::sync::Arc;

use planwright::journal::{Lease, Query, Record, RunStatus, Store, StoreError, ThreadId};
use tempfile::TempDir;

pub use planwright::journal::conformance::*;
pub use runs::*;

/// A place for one store, which can be opened more than once.
pub struct Place {
    pub folder: TempDir,
    pub open: Box<dyn Fn() -> Arc<dyn Store>>,
}

impl Place {
    pub fn store(&self) -> Arc<dyn Store> {
        (self.open)()
    }
}
