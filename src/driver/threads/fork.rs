//! Forks: a thread that begins with what another holds.

use super::Threads;
use super::leased_thread::LeasedThread;
use crate::driver::job::make_run_id;
use crate::journal::system::now_ms;
use crate::journal::{
    Header, Journal, JournalError, Origin, Record, RunStatus, StoreError, ThreadId, find_unrepeatable, fold,
};
use crate::machine::outstanding;
use crate::prompt::Request;

impl Threads {
    /// Begins a thread with what another holds: all turns before `turn`, and the first `records` records of
    /// it, or all of them. What was asked and not answered by then is asked anew when the new thread goes
    /// on. A write that may not be done twice is in doubt there, also one that only comes next: the other
    /// thread may have made it since. The other thread is left as it is.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the new name is taken, [`StoreError::NoThread`] and
    /// [`StoreError::NoTurn`], and a [`JournalError`] if there are not so many records.
    pub fn fork(
        &self,
        from: &ThreadId,
        turn: Option<u32>,
        records: Option<u64>,
        to: &ThreadId,
    ) -> Result<(), StoreError> {
        let turn = match turn {
            Some(turn) => turn,
            None => self.0.turns(from)?.saturating_sub(1),
        };
        let (mut copies, mut last) = (Vec::new(), None);
        for at in 0..=turn {
            let whole = self.0.records(from, at)?;
            let len = whole.len() as u64;
            let most = if at == turn { records.unwrap_or(len) } else { len };
            if most == 0 || most > len {
                let problem = format!("expected 1 to {len} records to copy, found {most}");
                return Err(JournalError::damaged(format!("thread {from}, turn {}", at + 1), problem).into());
            }
            let copy = copy_records(whole, most, from, to)?;
            // A copy that does not fold is refused here, and not when the new thread goes on.
            let folded = fold(copy.iter().cloned())?;
            last = Some((folded.len, RunStatus::of(&folded)));
            copies.push(copy);
        }
        let mut begun = LeasedThread::begin(&*self.0, to, copies)?;
        if let Some((len, status)) = last {
            // It follows from the records: a failure to note it loses nothing.
            let _ = begun.turn(turn).conclude(len, Vec::new(), &status);
        }
        Ok(())
    }
}

/// The beginning of a turn under another thread's name and another id. What is asked and not answered in it
/// is left out, except for a write that may not be done twice.
fn copy_records(
    mut records: Vec<Record>,
    most: u64,
    from: &ThreadId,
    to: &ThreadId,
) -> Result<Vec<Record>, StoreError> {
    records.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let folded = fold(records.iter().cloned())?;
    let (rules, state) = (&folded.rules, &folded.state);
    // Whether such a write happened in the world is as much in doubt here as in the original.
    records.retain(|record| match record {
        Record::Requested { effect, .. } => {
            folded.pending(*effect).is_none() || find_unrepeatable(rules, state, *effect).is_some()
        }
        _ => true,
    });
    // The original has made the writes that come next, or was allowed to once.
    let next = outstanding(rules, state).into_iter().filter(|effect| {
        folded.pending(effect.id()).is_none() && find_unrepeatable(rules, state, effect.id()).is_some()
    });
    records.extend(next.filter_map(|effect| Request::of(rules, state, effect)).map(|request| {
        Record::Requested { effect: request.effect, digest: request.digest, at: Some(now_ms()) }
    }));
    if let Some(Record::Header(header)) = records.first_mut() {
        let origin = Origin { thread: from.to_string(), turn: header.turn, records: most };
        let (run, thread) = (make_run_id(), to.to_string());
        **header = Header { run, thread, origin: Some(origin), ..Header::clone(header) };
    }
    Ok(records)
}
