//! What a thread holds of its earlier turns: what it remembers, and what a client asked for under a key.
//!
//! **Invariant:** what is remembered is bounded, in turns and in bytes.

use crate::journal::{Asked, Record, RunStatus, Store, StoreError, ThreadId, fold};
use crate::machine::{Event, Turn};

/// Most turns, question and answer together, that a thread remembers. The oldest go first, five at a time.
pub const MAX_TURNS: usize = 20;
/// How many turns are forgotten at a time, so that what is remembered begins alike for as many turns.
const FORGOTTEN: u32 = 5;
/// Most bytes of what a thread remembers.
pub const MAX_HISTORY_BYTES: usize = 32 << 10;
/// Most bytes of one question or answer that is remembered. A longer one is cut, and marked as cut.
pub const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Most turns that are looked through for what was asked before.
const MOST_LOOKED_AT: u32 = 100;

pub(in crate::driver) fn turns_of(store: &dyn Store, thread: &ThreadId) -> Result<u32, StoreError> {
    match store.turns(thread) {
        Err(StoreError::NoThread { .. }) => Ok(0),
        turns => turns,
    }
}

/// Where a thread holds what was asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedAt {
    /// The turn, from 0.
    pub turn: u32,
    /// How many of its records had come of it when a person said something next, if one has.
    pub until: Option<usize>,
    /// What was asked.
    pub asked: Asked,
}

/// Finds what was asked under this key, the last turn first.
///
/// # Errors
/// If the thread cannot be read.
pub fn find_asked(
    store: &dyn Store,
    thread: &ThreadId,
    asked: &Asked,
) -> Result<Option<AskedAt>, StoreError> {
    let turns = turns_of(store, thread)?;
    for turn in (turns.saturating_sub(MOST_LOOKED_AT)..turns).rev() {
        let records = store.records(thread, turn)?;
        let known = records.iter().enumerate().find_map(|(at, record)| match record {
            Record::Asked(known) if known.key == asked.key => Some((at, known)),
            _ => None,
        });
        let Some((at, known)) = known else { continue };
        let says = |record: &Record| match record {
            Record::Answered { event, .. } => matches!(event, Event::HumanAnswered { .. }),
            record => matches!(record, Record::Asked(_) | Record::Resolved { .. }),
        };
        // The answer itself stands behind its key.
        let until = records.iter().skip(at + 2).position(says).map(|next| at + 2 + next);
        return Ok(Some(AskedAt { turn, until, asked: known.clone() }));
    }
    Ok(None)
}

/// The questions of a thread's last turns with their answers, oldest first. A turn without an answer leaves
/// nothing behind.
///
/// # Errors
/// If the thread cannot be read.
pub fn history(store: &dyn Store, thread: &ThreadId) -> Result<Vec<(String, String)>, StoreError> {
    history_until(store, thread, turns_of(store, thread)?)
}

/// The history before a turn, counted from 0.
///
/// # Errors
/// If the thread cannot be read.
pub fn history_until(
    store: &dyn Store,
    thread: &ThreadId,
    turns: u32,
) -> Result<Vec<(String, String)>, StoreError> {
    let (said, _) = look_back(store, thread, turns)?;
    Ok(said.into_iter().map(|(question, answer, _)| (question, answer)).collect())
}

/// What a turn that comes next remembers: the turns and, as long as none of them is forgotten and there is room, the
/// last of what was said before the thread began.
pub(in crate::driver) fn remember(
    store: &dyn Store,
    thread: &ThreadId,
    turns: u32,
) -> Result<Vec<Turn>, StoreError> {
    let (said, room) = look_back(store, thread, turns)?;
    let mut remembered = Vec::new();
    if let Some(room) = room {
        remembered = fold(store.records(thread, 0)?)?.state.task.input.history;
        let messages = 2 * MAX_TURNS.saturating_sub(said.len());
        let bytes = |turns: &[Turn]| turns.iter().map(|turn| turn.content.len()).sum::<usize>();
        while remembered.len() > messages || bytes(&remembered) > room {
            remembered.drain(..remembered.len().min(2 * FORGOTTEN as usize));
        }
    }
    for (question, answer, trusted) in said {
        remembered.push(Turn::user(question));
        remembered.push(Turn { trusted, ..Turn::assistant(answer) });
    }
    Ok(remembered)
}

/// Questions with their answers, and whether nothing untrusted was read for them, oldest first.
type Said = Vec<(String, String, bool)>;

/// The history before a turn, and how many bytes there is room for besides if it goes back to the first.
fn look_back(store: &dyn Store, thread: &ThreadId, turns: u32) -> Result<(Said, Option<usize>), StoreError> {
    let first = turns.saturating_sub(MAX_TURNS as u32).next_multiple_of(FORGOTTEN);
    let (mut answered, mut bytes) = (Vec::new(), 0);
    for turn in (first..turns).rev() {
        let folded = fold(store.records(thread, turn)?)?;
        let RunStatus::Done { answer } = RunStatus::of(&folded) else { continue };
        let trusted = !folded.state.task.answers_from_untrusted();
        let said = (shorten(folded.state.task.input.question), shorten(answer), trusted);
        bytes += said.0.len() + said.1.len();
        if bytes > MAX_HISTORY_BYTES {
            // The rest of these five goes with it, unless that is most of what there is.
            let next = (turn + 1).next_multiple_of(FORGOTTEN);
            let kept = answered.iter().filter(|(of, _)| *of >= next).count();
            answered.truncate(if kept * 2 < answered.len() { answered.len() } else { kept });
            break;
        }
        answered.push((turn, said));
    }
    let room = MAX_HISTORY_BYTES.checked_sub(bytes).filter(|_| first == 0);
    Ok((answered.into_iter().rev().map(|(_, said)| said).collect(), room))
}

/// The last of what was said, as far as it can be remembered.
pub(in crate::driver) fn bound(history: Vec<Turn>) -> Vec<Turn> {
    let mut room = MAX_HISTORY_BYTES;
    let last = history.into_iter().rev().take(2 * MAX_TURNS);
    let kept = last.map_while(|turn| {
        let content = shorten(turn.content);
        room = room.checked_sub(content.len())?;
        Some(Turn { content, ..turn })
    });
    let mut kept: Vec<Turn> = kept.collect();
    kept.reverse();
    kept
}

/// A message as it is remembered: cut between characters, with a mark.
fn shorten(mut text: String) -> String {
    const MARK: &str = "…";
    if text.len() > MAX_MESSAGE_BYTES {
        let most = MAX_MESSAGE_BYTES - MARK.len();
        let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}
