//! What a thread remembers of its earlier turns.
//!
//! **Invariant:** what is remembered is bounded, in turns and in bytes.

use crate::journal::{RunStatus, Store, StoreError, ThreadId, fold};
use crate::machine::{Input, Speaker, Turn};

/// Most turns, question and answer together, that a thread remembers. The oldest go first.
pub const MAX_TURNS: usize = 20;
/// Most bytes of what a thread remembers.
pub const MAX_HISTORY_BYTES: usize = 32 << 10;
/// Most bytes of one question or answer that is remembered; what is longer is cut, and marked as cut.
pub const MAX_MESSAGE_BYTES: usize = 8 << 10;

/// Each question of a thread's last turns with its answer, oldest first. A turn without an answer leaves
/// nothing behind.
///
/// # Errors
/// Where the thread cannot be read.
pub fn history(store: &dyn Store, thread: &ThreadId) -> Result<Vec<(String, String)>, StoreError> {
    let turns = match store.turns(thread) {
        Err(StoreError::NoThread { .. }) => 0,
        turns => turns?,
    };
    let mut answered = Vec::new();
    for turn in turns.saturating_sub(MAX_TURNS as u32)..turns {
        let folded = fold(store.records(thread, turn)?)?;
        if let RunStatus::Done { answer } = RunStatus::of(&folded) {
            answered.push((folded.state.task.input.question, answer));
        }
    }
    Ok(trim_history(answered))
}

/// What is remembered of these turns: the last of them, each cut to size.
fn trim_history(mut turns: Vec<(String, String)>) -> Vec<(String, String)> {
    for (question, answer) in &mut turns {
        (*question, *answer) = (shorten(question), shorten(answer));
    }
    let bytes = |(question, answer): &(String, String)| question.len() + answer.len();
    let (mut all, mut first) = (turns.iter().map(bytes).sum::<usize>(), 0);
    while turns.len() - first > MAX_TURNS || all > MAX_HISTORY_BYTES {
        all -= bytes(&turns[first]);
        first += 1;
    }
    turns.split_off(first)
}

/// Puts the earlier turns into an input.
pub(super) fn remember(input: &mut Input, turns: &[(String, String)]) {
    let turn = |role, content: &String| Turn { role, content: content.clone() };
    let pair = |(question, answer): &(String, String)| {
        [turn(Speaker::User, question), turn(Speaker::Assistant, answer)]
    };
    input.history = turns.iter().flat_map(pair).collect();
}

/// A message as it is remembered: cut between characters, with a mark.
fn shorten(text: &str) -> String {
    const MARK: &str = "…";
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_MESSAGE_BYTES - MARK.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}
