//! The row of a thread: what it has besides its records, sealed like a record.

use crate::journal::{
    Claim, JournalError, JournalErrorKind, Listed, Record, RunStatus, Seal, StoreError, ThreadId,
    system::now_ms,
};
use crate::spec::Digest;

/// The end of a turn: how many records it has, and the seal of them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How many records.
    pub records: u64,
    /// The seal after the last.
    pub seal: Seal,
}

/// Most turns of a thread: a turn's number has 16 bits.
const MOST_TURNS: u32 = 1 << 16;

/// The number of a thread's turns.
///
/// # Errors
/// If a thread cannot have so many.
pub fn count_turns(turns: usize) -> Result<u32, JournalError> {
    u32::try_from(turns)
        .ok()
        .filter(|count| *count <= MOST_TURNS)
        .ok_or_else(|| JournalError::at(0, format!("a thread has no more than {MOST_TURNS} turns")))
}

/// What a thread has besides its records.
#[derive(Clone, Debug)]
pub struct ThreadRow {
    /// The thread's number in the database; 0 until the row is written.
    pub id: i64,
    /// The name.
    pub name: ThreadId,
    /// An excerpt of the first question.
    pub title: String,
    /// How many turns there are.
    pub turns: u32,
    /// When it was begun, in milliseconds since 1970; 0 before that.
    pub created: u64,
    /// When it was last written to, in milliseconds since 1970.
    pub updated: u64,
    /// The epoch of the last claim.
    pub epoch: u64,
    /// The epoch under which it was last written to.
    pub written: u64,
    /// Who has it.
    pub holder: Option<String>,
    /// Whether the status is that after all records.
    pub noted: bool,
    /// The status of the last turn.
    pub status: RunStatus,
    /// The end of the last turn, if the status is noted.
    pub last: Option<End>,
}

impl ThreadRow {
    /// A thread that is not there yet, claimed under an epoch.
    pub fn new(name: &ThreadId, epoch: u64) -> Self {
        let (name, title, status) = (name.clone(), String::new(), RunStatus::Unfinished);
        let (holder, noted, last) = (None, false, None);
        let (turns, created, updated, written) = (0, 0, 0, 0);
        ThreadRow { id: 0, name, title, turns, created, updated, epoch, written, holder, noted, status, last }
    }

    /// The digest of everything in the row but its number, with the status as it is stored.
    pub fn seal(&self, status: &str) -> Digest {
        let numbers = [self.created, self.updated, self.epoch, self.written];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let (records, last) = self.kept_end();
        Digest::of([
            self.name.as_str().as_bytes(),
            self.title.as_bytes(),
            &self.turns.to_le_bytes(),
            &numbers,
            &[u8::from(self.noted), u8::from(self.holder.is_some())],
            self.holder.as_deref().unwrap_or_default().as_bytes(),
            status.as_bytes(),
            &records.to_le_bytes(),
            last,
        ])
    }

    /// The error for a row of this name that is not as it was written.
    pub fn damaged(id: i64, name: &str) -> JournalError {
        let place = format!("thread {}", ThreadRow::show_name(id, name));
        JournalError::damaged(place, "what is kept of it is not as it was written")
    }

    /// A name, or the number of a thread that can have no name like that, with the name escaped.
    pub fn show_name(id: i64, name: &str) -> ThreadId {
        let escaped: String = name.escape_default().take(80).collect();
        let shown = || format!("(number {id}: \"{escaped}\")").parse();
        name.parse().or_else(|_| shown()).expect("it is short, and of ASCII")
    }

    /// A row that is not as it was written, in a list, with the times when it was begun and last written to.
    pub fn list_damaged(
        id: i64,
        name: &str,
        title: String,
        turns: u32,
        [created, updated]: [u64; 2],
        problem: String,
    ) -> Listed {
        let (thread, status) = (ThreadRow::show_name(id, name), RunStatus::Damaged { problem });
        Listed { thread, title, turns, created, updated, running: false, forked_from: None, status }
    }

    /// The number in what [`show_name`](ThreadRow::show_name) shows. A thread may be called so as well.
    pub fn find_number(shown: &ThreadId) -> Option<i64> {
        shown.as_str().strip_prefix("(number ")?.split_once(':')?.0.parse().ok()
    }

    /// The end of the last turn as two columns: 0 and no bytes if it is not noted.
    pub fn kept_end(&self) -> (u64, &[u8]) {
        self.last.as_ref().map_or((0, &[]), |end| (end.records, end.seal.as_bytes()))
    }

    /// The status as JSON.
    pub fn status_text(&self) -> String {
        serde_json::to_string(&self.status).expect("a status is plain data")
    }

    /// The row in a list.
    pub fn list(self, running: bool, forked_from: Option<String>) -> Listed {
        let ThreadRow { name: thread, title, turns, created, updated, status, .. } = self;
        Listed { thread, title, turns, created, updated, running, forked_from, status }
    }

    /// Refuses a claim that does not fit. `find_holder` gives the name of the holder for people, if it is alive.
    ///
    /// # Errors
    /// Those of [`Store::claim`](crate::journal::Store::claim).
    pub fn check_claim<E: From<StoreError>>(
        row: Option<&ThreadRow>,
        claim: Claim,
        thread: &ThreadId,
        find_holder: impl FnOnce(&ThreadRow) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        let thread = thread.clone();
        match (claim, row.is_some_and(|row| row.turns > 0)) {
            (Claim::New, true) => return Err(StoreError::Exists { thread }.into()),
            (Claim::Known | Claim::TakeOver, false) => return Err(StoreError::NoThread { thread }.into()),
            _ => {}
        }
        if claim != Claim::TakeOver
            && let Some(row) = row
            && let Some(holder) = find_holder(row)?
        {
            return Err(StoreError::AlreadyRunning { thread, holder, can_take_over: true }.into());
        }
        Ok(())
    }

    /// The end of a turn that is to have `len` records, as `find` finds it. `None` for one that is to begin.
    ///
    /// # Errors
    /// Those of `find`; [`Stale`](JournalErrorKind::Stale) if the turn has another number of records;
    /// [`Damaged`](JournalErrorKind::Damaged) if the turn and the row do not fit.
    pub fn check_end<E: From<JournalError>>(
        &self,
        turn: u32,
        len: u64,
        find: impl FnOnce() -> Result<Option<End>, E>,
    ) -> Result<Option<End>, E> {
        count_turns((turn as usize).saturating_add(1))?;
        let damaged = |problem: &str| Err(JournalError::at(len, problem).into());
        match find()? {
            Some(_) if turn >= self.turns => {
                damaged("there are records of a turn that its thread does not have")
            }
            Some(end) if end.records != len => Err(JournalError::stale(len, end.records).into()),
            Some(end) => Ok(Some(end)),
            None if turn < self.turns => damaged("the turn is lost"),
            None if turn == self.turns && len == 0 => Ok(None),
            None => Err(JournalError::stale(len, 0).into()),
        }
    }

    /// Notes that a turn is written to, and by whom unless the thread has a holder. The first record is `first`.
    /// `keep` keeps the end of the turn that was the last until now; a writer that was stopped noted none. Gives
    /// whether the row has changed.
    ///
    /// # Errors
    /// Those of `keep`.
    pub fn open_turn<E>(
        &mut self,
        turn: u32,
        first: Option<&Record>,
        holder: Option<&str>,
        keep: impl FnOnce(i64, u32, Option<End>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(first) = first else { return Ok(false) };
        if turn < self.turns && !self.noted && self.written == self.epoch {
            return Ok(false);
        }
        if turn >= self.turns {
            if let Some(last) = self.turns.checked_sub(1) {
                keep(self.id, last, self.last.take())?;
            }
            self.turns = turn + 1;
        }
        (self.updated, self.written) = (now_ms(), self.epoch);
        (self.noted, self.status) = (false, RunStatus::Unfinished);
        if self.created == 0 {
            self.created = self.updated;
            if let Record::Header(header) = first {
                self.title = Listed::make_title(&header.input.question);
            }
        }
        self.holder = self.holder.take().or_else(|| holder.map(str::to_owned));
        Ok(true)
    }

    /// Notes the status of a turn that ends here, if it is the last.
    pub fn set_status(&mut self, turn: u32, end: End, status: &RunStatus) {
        if self.turns.checked_sub(1) == Some(turn) {
            self.touch();
            (self.noted, self.status, self.last) = (true, status.clone(), Some(end));
        }
    }

    /// Sets both times, as those of a copy: the claim that copies does not count as a write.
    pub fn set_times(&mut self, created: u64, updated: u64) {
        (self.created, self.updated, self.written) = (created, updated, 0);
    }

    /// Sets the time of the last write, if there was one under this lease.
    pub fn touch(&mut self) {
        if self.written == self.epoch && !self.noted {
            self.updated = now_ms();
        }
    }
}

impl StoreError {
    /// The error with the turn in which it was found.
    #[must_use]
    pub fn in_turn(self, thread: &ThreadId, turn: u32) -> Self {
        match self {
            StoreError::Journal(error) => {
                error.within(format!("thread {thread}, turn {}", u64::from(turn) + 1)).into()
            }
            other => other,
        }
    }

    /// Whether it is damage, which a check reports before it goes on.
    pub fn is_damage(&self) -> bool {
        matches!(self, StoreError::Journal(error) if error.kind() != JournalErrorKind::Io)
    }
}
