//! Where a thread stands, noted beside its turns. Nothing rests on it: where it does not fit what stands
//! there, it is worked out from the records.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::place;
use crate::journal::{JournalError, RunStatus, ThreadId, disk};
use crate::spec::Digest;

/// What `standing.json` holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Noted {
    pub thread: ThreadId,
    pub title: String,
    pub turns: u32,
    /// How many records and bytes the last turn had.
    pub records: u64,
    pub bytes: u64,
    pub standing: RunStatus,
    /// Of all of the above.
    seal: Digest,
}

impl Noted {
    pub fn new(thread: ThreadId, title: String, turns: u32, at: (u64, u64), standing: RunStatus) -> Self {
        let (records, bytes) = at;
        let seal = Digest::of([]);
        let noted = Noted { thread, title, turns, records, bytes, standing, seal };
        Noted { seal: noted.sealed(), ..noted }
    }

    fn sealed(&self) -> Digest {
        let numbers = (self.turns, self.records, self.bytes);
        let text = serde_json::to_vec(&(&self.thread, &self.title, numbers, &self.standing));
        Digest::of([text.unwrap_or_default().as_slice()])
    }

    /// What was last noted, whatever stands in the folder now. Another thread's note is none.
    ///
    /// # Errors
    /// Where it cannot be read. What reads and is no note is none.
    pub fn last(folder: &Path) -> Result<Option<Noted>, JournalError> {
        let path = folder.join(NAME);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(place::io(&path, "cannot be read", &error)),
        };
        let noted: Option<Noted> = serde_json::from_slice(&text).ok();
        let is_its = |noted: &Noted| {
            folder.file_name().is_some_and(|name| name == place::folder(&noted.thread).as_str())
        };
        Ok(noted.filter(|noted| noted.seal == noted.sealed() && is_its(noted)))
    }

    /// What was noted, where it is of all that stands in the folder now.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(folder: &Path, turns: u32) -> Result<Option<Noted>, JournalError> {
        let (Some(noted), Some(last)) = (Noted::last(folder)?, turns.checked_sub(1)) else { return Ok(None) };
        let path = place::turn(folder, last);
        let bytes =
            std::fs::metadata(&path).map_err(|error| place::io(&path, "cannot be read", &error))?.len();
        Ok((noted.turns == turns && noted.bytes == bytes).then_some(noted))
    }

    /// Puts it in the place of what was noted before.
    pub fn save(&self, folder: &Path) -> Result<(), JournalError> {
        let (path, new) = (folder.join(NAME), folder.join("standing.new"));
        let fail = |error: std::io::Error| place::io(&path, "cannot be written", &error);
        let text = serde_json::to_vec(self).map_err(|error| fail(error.into()))?;
        std::io::Write::write_all(
            &mut disk::private_options().write(true).create(true).truncate(true).open(&new).map_err(fail)?,
            &text,
        )
        .map_err(fail)?;
        // What somebody let others read, they may go on reading.
        if let Ok(before) = std::fs::metadata(&path) {
            std::fs::set_permissions(&new, before.permissions()).map_err(fail)?;
        }
        std::fs::rename(&new, &path).map_err(fail)
    }
}

const NAME: &str = "standing.json";
