//! The journal: everything that happened to a run, in order, and nothing else. A state is never
//! stored; it is the fold of its journal.
//!
//! - [`Record`]: what a journal holds; [`fold`]: what it means.
//! - [`Journal`]: where records go; [`MemoryJournal`] and [`FileJournal`] keep them.
//! - [`Store`]: where threads are kept, each a sequence of journals; [`MemoryStore`] and
//!   `SqliteStore` (in `planwright-sqlite`) keep them.
//! - [`Fixture`]: a journal made readable, with each request as it was rendered.
//! - [`Drift`]: how a replay differs from its recording; [`diverges`]: where a stored run would now take
//!   another path.
//!
//! **Invariant:** a record, once appended, is never changed.

mod answered;
#[cfg(feature = "conformance")]
pub mod conformance;
mod coverage;
pub mod disk;
mod drift;
mod durability;
mod error;
mod exchange;
mod file;
mod fixture;
mod fold;
mod port;
mod record;
mod render;
mod run_status;
pub mod seal;
pub mod store;
mod verify;
mod walk;

pub use drift::{Difference, Drift, first_difference};
pub use durability::Durability;
pub use error::{JournalError, JournalErrorKind, check_format};
pub use exchange::{Exchange, ModelAnswer, ToolAnswer};
pub use file::{FileIo, FileJournal};
pub use fixture::{Fixture, FixtureError, Frame, Outcome};
pub use fold::{Folded, Pending, fold, fold_under, is_once};
pub use port::{Journal, MemoryJournal};
pub use record::{Header, JOURNAL_FORMAT, Origin, Record, ResolvedAs, Unknown};
pub use run_status::{RunStatus, altered, asks, doubts, in_doubt};

pub use store::{Claim, Cursor, Lease, Listed, MemoryStore, Order, Query, Store, StoreError, ThreadId};
pub use verify::{Divergence, diverges};
