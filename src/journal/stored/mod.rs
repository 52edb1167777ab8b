//! What stores in databases have in common: the row of a thread with its seal, how a turn is read back and
//! checked, and how a spec is stored once for all turns that began with it. None of it speaks to a database.

mod row;
mod spec;
mod turn;

pub use row::{End, ThreadRow, count_turns};
pub use spec::{SpecCache, decode_with_spec, digest_of_spec, encode_with_spec, spec_in};
pub use turn::{TurnReader, check_header};
