//! The journal: everything that happened to a run, in order, and nothing else. A state is never
//! stored; it is the fold of its journal.
//!
//! - [`Record`]: what a journal holds; [`fold`]: what it means.
//! - [`Journal`]: where records go; [`MemoryJournal`] and [`FileJournal`] keep them.
//! - [`Fixture`]: a journal made readable, with each request as it was rendered.
//! - [`Drift`]: how a replay differs from its recording.
//!
//! **Invariant:** a record, once appended, is never changed.

mod coverage;
mod drift;
mod exchange;
mod file;
mod fixture;
mod record;
mod render;
mod store;

pub use drift::{Difference, Drift, first_difference};
pub use exchange::{Exchange, ModelAnswer, ToolAnswer, human_digest, tool_digest, wait_digest};
pub use file::FileJournal;
pub use fixture::{Fixture, FixtureError, Frame, Outcome};
pub use record::{Folded, Header, JOURNAL_FORMAT, Record, fold};
pub use store::{Journal, JournalError, MemoryJournal};
