//! The journal: everything that happened to a run, in order, and nothing else. A state is never
//! stored; it is the fold of its journal.
//!
//! - [`Record`]: what a journal holds; [`fold`]: what it means.
//! - [`Journal`]: where records go; [`MemoryJournal`] and [`FileJournal`] keep them.
//! - [`Store`]: where threads are kept, each a sequence of journals; [`MemoryStore`] and
//!   `SqliteStore` (in `planwright-sqlite`) keep them.
//! - [`Fixture`]: a journal made readable, with each request as it was rendered.
//! - [`Drift`]: how a replay differs from its recording; [`Divergence`]: where a stored run would now take
//!   another path.
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
mod list;
mod memory;
mod port;
mod record;
mod run_status;
mod seal;
mod store;
pub mod system;
mod thread_id;

pub use drift::{Difference, Divergence, Drift, first_difference};
pub use error::{JournalError, JournalErrorKind};
pub use exchange::{Exchange, ModelAnswer};
pub use file::FileJournal;
pub use fixture::{Fixture, FixtureError, Frame, Outcome};
pub(crate) use fold::fold_under;
pub use fold::{Folded, Pending, find_unrepeatable, fold};
pub use list::{Cursor, Listed, Order, Query};
pub use memory::MemoryStore;
pub use port::{Durability, Journal, MemoryJournal};
pub use record::{Header, JOURNAL_FORMAT, Origin, Record, ResolvedAs, Unknown};
pub use run_status::RunStatus;
pub(crate) use run_status::find_question;
pub use seal::Seal;
pub use store::{Claim, Lease, Store, StoreError, drop_empty_turns};
pub use thread_id::ThreadId;
