//! The conformance suite: one call puts any [`Store`] through every check that the trait's documentation
//! promises. Behind the feature `conformance`, for the tests of a store.
//!
//! ```
//! use std::sync::Arc;
//! use planwright::journal::{MemoryStore, Store, conformance};
//!
//! conformance::check(|| {
//!     let store = Arc::new(MemoryStore::new());
//!     move || -> Arc<dyn Store> { store.clone() }
//! });
//! ```

mod support;
mod threads;
mod writers;

use std::sync::Arc;

use super::Store;
pub use support::{claim, done, id, names, records, refused, waiting, write, write_with_status};

/// Puts a store through all checks. `new_place` makes an empty place for a store, and gives what opens the
/// store there. It is called once for each check; what it gives is called more than once, also while an earlier
/// handle is in use, as another process would.
///
/// # Panics
/// At the first check that fails: the message says what was expected.
pub fn check<O: Fn() -> Arc<dyn Store>>(new_place: impl Fn() -> O) {
    for check in threads::CHECKS.iter().chain(writers::CHECKS) {
        check(&new_place());
    }
}
