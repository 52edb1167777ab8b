//! Prune: deletes what has ended long ago.

use super::threads::Threads;
use crate::journal::{Claim, Listed, Query, StoreError, ThreadId};

impl Threads {
    /// Deletes the threads whose last turn has ended and that were last written to before a time, in
    /// milliseconds since 1970. One that somebody has is left. Gives the names of those deleted.
    ///
    /// # Errors
    /// Where the store cannot be read or written; what was deleted by then is gone.
    pub fn prune(&self, before: u64) -> Result<Vec<ThreadId>, StoreError> {
        let statuses = vec!["done".to_owned(), "failed".to_owned()];
        let mut query = Query { statuses, ..Query::default() };
        let mut gone = Vec::new();
        loop {
            let page = self.list(&query)?;
            let Some(last) = page.last() else { return Ok(gone) };
            query.after = Some(last.cursor(query.order));
            for listed in page.into_iter().filter(|listed| listed.updated < before) {
                if self.prune_one(&listed)? {
                    gone.push(listed.thread);
                }
            }
        }
    }

    /// Deletes a thread, where it is still as it was listed: what has ended goes on with another turn
    /// only.
    fn prune_one(&self, listed: &Listed) -> Result<bool, StoreError> {
        let store = self.store();
        let lease = match store.claim(&listed.thread, Claim::Known) {
            Err(StoreError::AlreadyRunning { .. } | StoreError::NoThread { .. }) => return Ok(false),
            lease => lease?,
        };
        if store.turns(&listed.thread)? != listed.turns {
            store.release(lease)?;
            return Ok(false);
        }
        store.delete(lease).map(|()| true)
    }
}
