//! Recording: what a run does with a fixture, and when one takes the place of another.

use std::path::Path;

use super::drive::{Followed, Halt};
use crate::journal::{Fixture, FixtureError, Outcome, Record};
use crate::machine::ErrorCode;

/// What a run does with a fixture, under the names that people know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMode {
    /// Replay only: a request that was not recorded is an error.
    None,
    /// Record where there is no fixture yet, else replay.
    Once,
    /// Replay what was recorded, record what is new.
    NewEpisodes,
    /// Record everything anew.
    All,
}

/// Saves what was recorded. A whole recording that stands there already is not given up for one
/// that broke off.
pub(super) fn save(
    path: &Path,
    records: &[Record],
    ended: &Result<Followed, Halt>,
) -> Result<(), FixtureError> {
    let interrupted = match ended {
        Ok(followed) => followed.waiting.as_ref().map(ToString::to_string),
        Err(Halt::Interrupted(interrupted)) => Some(interrupted.cause.to_string()),
        Err(Halt::Drifted(_) | Halt::Journal(_)) => return Ok(()),
    };
    let unreadable = |error: crate::journal::JournalError| FixtureError::at(path, error.to_string());
    let mut fixture = Fixture::of_records(records, interrupted).map_err(unreadable)?;
    if let Ok(before) = Fixture::load(path) {
        let richer = fixture.exchanges.len() >= before.exchanges.len();
        if broke_off(&fixture) && !(broke_off(&before) && richer) {
            return Ok(());
        }
        fixture.notes = before.notes;
    }
    fixture.save(path)
}

fn broke_off(fixture: &Fixture) -> bool {
    match &fixture.outcome {
        Outcome::Interrupted(_) | Outcome::Waiting { .. } => true,
        Outcome::Error(error) => error.code == ErrorCode::Cancelled,
        Outcome::Answer(_) => false,
    }
}
