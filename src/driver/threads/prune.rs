//! Prune: deletes what has ended long ago.

use super::stored::Threads;
use crate::journal::{Claim, JournalErrorKind, Listed, Query, RunStatus, StoreError};

/// Which threads are pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prune {
    /// Those last written to before this, in milliseconds since 1970.
    pub before: u64,
    /// How they have ended: words of [`RunStatus::name`]. What has not ended is never pruned.
    pub statuses: Vec<String>,
    /// Whether they are looked at only, and none is deleted.
    pub dry_run: bool,
}

impl Prune {
    /// All that have ended, and were last written to before a time in milliseconds since 1970.
    pub fn before(before: u64) -> Self {
        let statuses = ["done", "failed"].map(str::to_owned).to_vec();
        Prune { before, statuses, dry_run: false }
    }

    /// Whether a thread of this status is meant.
    fn means(&self, status: &RunStatus) -> bool {
        status.has_ended() && self.statuses.iter().any(|name| name == status.name())
    }
}

impl Threads {
    /// Deletes the threads whose last turn has ended. One that a process has is left, and so is one that
    /// was written to after it was listed, or whose records do not say that it has ended. Gives those
    /// deleted, as they were listed.
    ///
    /// # Errors
    /// Where the store cannot be read or written; what was deleted by then is gone.
    pub fn prune(&self, what: &Prune) -> Result<Vec<Listed>, StoreError> {
        let mut query = Query { statuses: what.statuses.clone(), ..Query::default() };
        let mut gone = Vec::new();
        loop {
            let page = self.list(&query)?;
            let Some(last) = page.last() else { return Ok(gone) };
            query.after = Some(last.cursor(query.order));
            for listed in page {
                if what.means(&listed.status)
                    && listed.updated < what.before
                    && self.prune_one(&listed, what)?
                {
                    gone.push(listed);
                }
            }
        }
    }

    fn prune_one(&self, listed: &Listed, what: &Prune) -> Result<bool, StoreError> {
        let store = self.store();
        if what.dry_run {
            return Ok(!listed.running && self.is_as_listed(listed, what)?);
        }
        let lease = match store.claim(&listed.thread, Claim::Known) {
            Err(StoreError::AlreadyRunning { .. } | StoreError::NoThread { .. }) => return Ok(false),
            lease => lease?,
        };
        match self.is_as_listed(listed, what) {
            Ok(true) => store.delete(lease).map(|()| true),
            other => store.release(lease).and(other),
        }
    }

    /// Whether a thread is as it was when it was listed, and its records say that it has ended:
    /// a list is old as it is read, and goes by what was noted.
    fn is_as_listed(&self, listed: &Listed, what: &Prune) -> Result<bool, StoreError> {
        let now = self.store().find(&listed.thread)?;
        if now.is_none_or(|now| (now.turns, now.updated) != (listed.turns, listed.updated)) {
            return Ok(false);
        }
        match self.folded(&listed.thread, None) {
            Ok(folded) => Ok(what.means(&RunStatus::of(&folded))),
            Err(StoreError::Journal(error)) if error.kind() == JournalErrorKind::Io => Err(error.into()),
            // What does not read has not ended.
            Err(_) => Ok(false),
        }
    }
}
