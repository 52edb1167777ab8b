//! What every implementation of [`Store`] needs and should not work out anew.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::{Claim, Lease, Store, StoreError, ThreadId};
use crate::journal::{JournalError, Record};

/// Claims a thread, and begins it with `put` if it does not exist. If `put` fails, the thread is deleted
/// again.
///
/// [`Store::begin`] is this by default. A store that can begin a thread in one transaction need not use it.
///
/// # Errors
/// Those of [`Store::begin`].
pub fn claim_or_begin<S: Store + ?Sized>(
    store: &S,
    thread: &ThreadId,
    put: impl FnOnce(&Lease) -> Result<(), StoreError>,
) -> Result<Lease, StoreError> {
    let lease = match store.claim(thread, Claim::New) {
        Err(StoreError::Exists { .. }) => {
            let lease = store.claim(thread, Claim::Any)?;
            if lease.turns() > 0 {
                return Ok(lease);
            }
            // The name is taken, but its turns are lost: nothing may be put in their place.
            store.release(lease)?;
            store.turns(thread)?;
            return Err(StoreError::Exists { thread: thread.clone() });
        }
        lease => lease?,
    };
    match put(&lease) {
        Ok(()) => Ok(lease),
        Err(error) => {
            // Half of a thread would look like a whole one.
            let _ = store.delete(lease);
            Err(error)
        }
    }
}

/// The turns to begin a thread with: empty turns at the end are dropped.
///
/// # Errors
/// Where an empty turn has another behind it.
pub fn drop_empty_turns(
    thread: &ThreadId,
    mut turns: Vec<Vec<Record>>,
) -> Result<Vec<Vec<Record>>, JournalError> {
    while turns.last().is_some_and(Vec::is_empty) {
        turns.pop();
    }
    match turns.iter().any(Vec::is_empty) {
        true => Err(JournalError::damaged(format!("thread {thread}"), "a turn has no records")),
        false => Ok(turns),
    }
}

/// Checks that a record may be stored at this place: a header has to name its thread and turn.
///
/// # Errors
/// [`Damaged`](super::super::JournalErrorKind::Damaged), with the thread and turn that the header names.
pub fn check_place(record: &Record, thread: &ThreadId, turn: u32, index: u64) -> Result<(), JournalError> {
    match record {
        Record::Header(header) if header.thread != thread.as_str() || header.turn != turn => {
            let problem = format!(
                "expected the header of thread {thread}, turn {}, found that of thread {}, turn {}",
                turn + 1,
                header.thread,
                u64::from(header.turn) + 1
            );
            Err(JournalError::at(index, problem))
        }
        _ => Ok(()),
    }
}

/// Milliseconds since 1970 by the system's clock, for [`Listed::created`](super::Listed::created) and
/// [`Listed::updated`](super::Listed::updated).
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The title of a thread in a list: the beginning of its first question.
pub fn make_title(question: &str) -> String {
    crate::contract::read::excerpt(question.trim(), 80)
}

/// A number that differs at every call and in every process, for names and ids. It guards nothing: it is not
/// cryptographically random.
pub fn random_id() -> u64 {
    // The standard library seeds its hash keys from the system: no further crate is needed.
    RandomState::new().build_hasher().finish()
}
