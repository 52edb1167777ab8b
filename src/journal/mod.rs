//! The journal: everything that happened to a run, in order, and nothing else. A state is never
//! stored; it is the fold of its journal.
//!
//! - [`Record`]: what a journal holds; [`fold`]: what it means.
//! - [`Journal`]: where records go; [`MemoryJournal`] and [`FileJournal`] keep them.
//! - [`Store`]: where threads are kept, each a sequence of journals; [`MemoryStore`] and
//!   `SqliteStore` and `PostgresStore` (in `planwright-sqlite` and `planwright-postgres`) keep them.
//! - [`Fixture`]: a journal made readable, with each request as it was rendered.
//! - [`Drift`]: how a replay differs from its recording.
//!
//! **Invariant:** a record, once appended, is never changed.

#[cfg(feature = "conformance")]
pub mod conformance;
mod drift;
mod error;
mod exchange;
mod file;
mod fixture;
mod fold;
mod grounds;
mod json_path;
mod list;
mod memory;
mod record;
mod store;
#[doc(hidden)]
pub mod stored;
#[doc(hidden)]
pub mod system;
mod thread_id;
#[doc(hidden)]
pub mod whole;

pub use drift::{Difference, Drift};
pub use error::{JournalError, JournalErrorKind};
pub use file::FileJournal;
pub use fixture::{Fixture, Outcome};
pub use fold::{Folded, fold};
pub use grounds::UngroundedCall;
pub use list::{Cursor, Listed, Order, Query, RunStatus};
pub use memory::MemoryStore;
pub use record::{Header, Record, Seal};
pub use store::{Claim, Durability, Heard, Journal, Lease, MemoryJournal, Store, StoreError};
pub use thread_id::ThreadId;

pub(crate) use drift::tool_changes;
pub(crate) use fold::{Ledger, compile, find_question, fold_under, render_awaited, split};

// What the crates around the engine and the tests stand on; not for programs that run agents.
#[doc(hidden)]
pub use drift::{Divergence, first_difference};
#[doc(hidden)]
pub use exchange::{Exchange, ModelAnswer};
#[doc(hidden)]
pub use fixture::Frame;
#[doc(hidden)]
pub use fold::find_unrepeatable;
#[doc(hidden)]
pub use record::{Asked, JOURNAL_FORMAT, Origin, ResolvedAs, Unknown};
#[doc(hidden)]
pub use store::drop_empty_turns;
