//! Copies the threads of one store to another, and checks each of them record by record.

use serde::Serialize;

use planwright::journal::{
    Claim, JournalError, JournalErrorKind, Lease, Listed, Query, Record, RunStatus, Store, StoreError,
    ThreadId,
};

/// How many threads are listed at once.
const PAGE: usize = 100;

/// What a copy came to.
#[derive(Debug, Default, Serialize)]
pub struct CopyReport {
    /// How many threads were written, whole or in part.
    pub copied: u64,
    /// How many were there already, with equal records.
    pub same: u64,
    /// How many have gone on in the store that they were copied to.
    pub ahead: u64,
    /// How many turns all these threads have in the store that was read.
    pub turns: u64,
    /// How many records these turns have. Each was compared with what the other store then had.
    pub records: u64,
    /// The threads that were not copied.
    pub uncopied: Vec<UncopiedThread>,
}

/// A thread that was not copied.
#[derive(Debug, Serialize)]
pub struct UncopiedThread {
    /// Its name.
    pub thread: ThreadId,
    /// Why it was not copied.
    pub problem: String,
    /// Whether it can be once another process gives the thread back.
    pub is_held: bool,
}

/// Copies all threads. One that is there already is compared, and what is missing at its end is added: a copy that was
/// stopped is gone on with by another. A thread that cannot be read, that a process has, or that differs is left as it
/// is, and named in the report. `progress` is called after every hundred threads.
///
/// The status and the times of a thread are copied too. A thread is written whole or not at all.
///
/// # Errors
/// If a store cannot be read or written at all.
pub fn copy_threads(
    from: &dyn Store,
    to: &dyn Store,
    mut progress: impl FnMut(&CopyReport),
) -> Result<CopyReport, StoreError> {
    let (mut report, mut query) = (CopyReport::default(), Query { limit: PAGE, ..Query::default() });
    loop {
        let page = from.list(&query)?;
        for listed in &page {
            copy_listed(from, to, listed, &mut report)?;
        }
        match page.last().filter(|_| page.len() == PAGE) {
            Some(last) => query.after = Some(last.cursor(query.order)),
            None => break,
        }
        progress(&report);
    }
    for hidden in from.list_hidden()? {
        report.leave_damaged(&hidden);
    }
    Ok(report)
}

fn copy_listed(
    from: &dyn Store,
    to: &dyn Store,
    listed: &Listed,
    report: &mut CopyReport,
) -> Result<(), StoreError> {
    let turns = match read_turns(from, &listed.thread) {
        Ok(turns) => turns,
        Err(StoreError::NoThread { .. }) if report.leave_damaged(listed) => return Ok(()),
        // It was deleted since it was listed.
        Err(StoreError::NoThread { .. }) => return Ok(()),
        // The disk may fail at this thread alone.
        Err(error) if is_io(&error) && from.list(&Query { limit: 1, ..Query::default() }).is_ok() => {
            report.name_uncopied(&listed.thread, error.to_string(), false);
            return Ok(());
        }
        Err(error) => return report.leave(listed, error),
    };
    if listed.running {
        return report.leave(listed, held(&listed.thread));
    }
    match copy_turns(to, listed, &turns) {
        Ok(Copied::Now) => report.copied += 1,
        Ok(Copied::Before) => report.same += 1,
        Ok(Copied::Ahead) => report.ahead += 1,
        Err(error) => return report.leave(listed, error),
    }
    report.turns += turns.len() as u64;
    report.records += turns.iter().map(Vec::len).sum::<usize>() as u64;
    Ok(())
}

impl CopyReport {
    /// Names a thread that is listed as damaged, and says whether it is.
    fn leave_damaged(&mut self, listed: &Listed) -> bool {
        let RunStatus::Damaged { problem } = &listed.status else { return false };
        self.name_uncopied(&listed.thread, problem.clone(), false);
        true
    }

    /// Names a thread that is left, unless nothing more can be copied.
    fn leave(&mut self, listed: &Listed, error: StoreError) -> Result<(), StoreError> {
        if is_io(&error) {
            return Err(error);
        }
        let is_held = matches!(error, StoreError::AlreadyRunning { .. });
        self.name_uncopied(&listed.thread, error.to_string(), is_held);
        Ok(())
    }

    fn name_uncopied(&mut self, thread: &ThreadId, problem: String, is_held: bool) {
        self.uncopied.push(UncopiedThread { thread: thread.clone(), problem, is_held });
    }
}

fn is_io(error: &StoreError) -> bool {
    matches!(error, StoreError::Journal(fault) if fault.kind() == JournalErrorKind::Io)
}

fn held(thread: &ThreadId) -> StoreError {
    StoreError::AlreadyRunning { thread: thread.clone(), holder: String::new(), can_take_over: false }
}

enum Copied {
    Now,
    Before,
    Ahead,
}

fn copy_turns(to: &dyn Store, listed: &Listed, turns: &[Vec<Record>]) -> Result<Copied, StoreError> {
    let thread = &listed.thread;
    let there = match read_turns(to, thread) {
        Err(StoreError::NoThread { .. }) => Vec::new(),
        there => there?,
    };
    let is_listed_alike = |found: Listed| {
        (&found.status, found.created, found.updated) == (&listed.status, listed.created, listed.updated)
    };
    match compare(thread, turns, &there)? {
        Fit::Longer => return Ok(Copied::Ahead),
        Fit::Equal if to.find(thread)?.is_some_and(is_listed_alike) => return Ok(Copied::Before),
        Fit::Equal | Fit::Shorter => {}
    }
    let lease = match there.is_empty() {
        true => to.begin(thread, turns.to_vec())?,
        false => to.claim(thread, Claim::Known)?,
    };
    let there = if there.is_empty() { turns } else { &there };
    let written = write_missing(to, &lease, listed, turns, there);
    to.release(lease).and(written)?;
    match compare(thread, turns, &read_turns(to, thread)?)? {
        Fit::Equal => Ok(Copied::Now),
        _ => Err(held(thread)),
    }
}

/// Writes what is missing of the turns that are there, the turns that are missing, the status and the times.
fn write_missing(
    to: &dyn Store,
    lease: &Lease,
    listed: &Listed,
    turns: &[Vec<Record>],
    there: &[Vec<Record>],
) -> Result<(), StoreError> {
    let mut end = (0, 0);
    for (turn, records) in (0..).zip(turns) {
        let known = there.get(turn as usize).map_or(0, Vec::len);
        if known < records.len() {
            to.append(lease, turn, known as u64, records[known..].to_vec(), None)?;
        }
        end = (turn, records.len() as u64);
    }
    // An unfinished run has none: who goes on with it sets one.
    if listed.status != RunStatus::Unfinished {
        to.append(lease, end.0, end.1, Vec::new(), Some(&listed.status))?;
    }
    to.set_times(lease, listed.created, listed.updated)
}

fn read_turns(store: &dyn Store, thread: &ThreadId) -> Result<Vec<Vec<Record>>, StoreError> {
    (0..store.turns(thread)?).map(|turn| store.records(thread, turn)).collect()
}

/// What a copy has of its original.
enum Fit {
    Equal,
    Shorter,
    Longer,
}

/// Compares records one by one.
fn compare(thread: &ThreadId, original: &[Vec<Record>], copy: &[Vec<Record>]) -> Result<Fit, StoreError> {
    let (mut original, mut copy) = (number(original), number(copy));
    loop {
        match (original.next(), copy.next()) {
            (None, None) => return Ok(Fit::Equal),
            (Some(_), None) => return Ok(Fit::Shorter),
            (None, Some(_)) => return Ok(Fit::Longer),
            (Some(one), Some(other)) if one == other => {}
            (Some((turn, at, _)), Some(_)) => {
                let place = format!("thread {thread}, turn {}, journal record {at}", turn + 1);
                let problem = "the store that is copied to has another record there";
                return Err(JournalError::damaged(place, problem).into());
            }
        }
    }
}

fn number(turns: &[Vec<Record>]) -> impl Iterator<Item = (usize, usize, &Record)> {
    turns
        .iter()
        .enumerate()
        .flat_map(|(turn, records)| records.iter().enumerate().map(move |(at, record)| (turn, at, record)))
}
