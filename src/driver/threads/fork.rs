//! Forks: a thread that begins with what another holds.

use super::leased_thread::LeasedThread;
use super::stored::Threads;
use crate::driver::job::run_id;
use crate::journal::{
    Header, Journal, JournalError, Origin, Record, RunStatus, StoreError, ThreadId, find_unrepeatable, fold,
};
use crate::machine::outstanding;
use crate::prompt::Request;

impl Threads {
    /// Begins a thread with what another holds up to a point: all turns before `turn`, and the first
    /// `records` records of it, or all of them. What was asked and not answered by then is asked anew
    /// where the new thread goes on; a write that may not be done twice is in doubt there, also where it
    /// only comes next: the other thread may have made it since, and what was allowed there was allowed
    /// once. The other thread is left as it is.
    ///
    /// # Errors
    /// [`StoreError::Exists`] where the new name is taken, [`StoreError::NoThread`] and
    /// [`StoreError::NoTurn`], and a [`JournalError`] where there are not so many records.
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
        let (mut copies, mut status) = (Vec::new(), None);
        for at in 0..=turn {
            let whole = self.0.records(from, at)?;
            let len = whole.len() as u64;
            let most = if at == turn { records.unwrap_or(len) } else { len };
            if most == 0 || most > len {
                let problem = format!("expected 1 to {len} records to copy, found {most}");
                return Err(JournalError::damaged(format!("thread {from}, turn {}", at + 1), problem).into());
            }
            let copy = copied(whole, most, from, to)?;
            // It must mean something before anybody goes on with it.
            let folded = fold(copy.iter().cloned())?;
            status = Some((folded.len, RunStatus::of(&folded)));
            copies.push(copy);
        }
        let mut held = LeasedThread::begin(&*self.0, to, copies)?;
        if let Some((len, status)) = status {
            // It follows from the records: a failure to note it loses nothing.
            let _ = held.turn(turn).conclude(len, Vec::new(), &status);
        }
        Ok(())
    }
}

/// The beginning of a turn under another thread's name and with another id. What is asked and not
/// answered in it is left out, but for a write that may not be done twice.
fn copied(
    mut records: Vec<Record>,
    most: u64,
    from: &ThreadId,
    to: &ThreadId,
) -> Result<Vec<Record>, StoreError> {
    records.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let folded = fold(records.iter().cloned())?;
    // A write that may not be done twice was asked for in the original: whether it happened in the world
    // is as much in doubt here as it would be there.
    let asked_anew = |record: &Record| match record {
        Record::Requested { effect, .. } => {
            folded.pending(*effect).is_some()
                && find_unrepeatable(&folded.rules, &folded.state, *effect).is_none()
        }
        _ => false,
    };
    records.retain(|record| !asked_anew(record));
    // What comes next and may not be done twice: the original has done it since, or was allowed to once.
    let next = outstanding(&folded.rules, &folded.state).into_iter();
    let once = next.filter(|effect| folded.pending(effect.id()).is_none());
    let once = once.filter(|effect| find_unrepeatable(&folded.rules, &folded.state, effect.id()).is_some());
    records.extend(once.filter_map(|effect| {
        let request = Request::of(&folded.rules, &folded.state, effect);
        request.map(|Request { effect, digest, .. }| Record::Requested { effect, digest, at: None })
    }));
    if let Some(Record::Header(header)) = records.first_mut() {
        let origin = Origin { thread: from.to_string(), turn: header.turn, records: most };
        let (run, thread) = (run_id(), to.to_string());
        **header = Header { run, thread, origin: Some(origin), ..Header::clone(header) };
    }
    Ok(records)
}
