//! Lists out of a folder: a little is read of every thread.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::super::make_title;
use super::place::{self, io};
use super::standing::Noted;
use super::{LinesStore, Store};
use crate::journal::{JournalError, JournalErrorKind, Listed, Query, RunStatus, StoreError, ThreadId};

/// A thread as its folder says it.
struct Found {
    listed: Listed,
    noted: bool,
}

impl LinesStore {
    pub(super) fn listed(&self, query: &Query) -> Result<Vec<Listed>, StoreError> {
        Ok(query.page(self.found()?.into_iter().map(|found| found.listed)))
    }

    pub(super) fn one(&self, thread: &ThreadId) -> Result<Option<Listed>, StoreError> {
        let _gate = self.gate(true)?;
        Ok(found(&self.folder(thread))?.map(|found| found.listed))
    }

    pub(super) fn not_noted(&self) -> Result<Vec<ThreadId>, StoreError> {
        let unnoted = self.found()?.into_iter().filter(|found| !found.noted && !found.listed.running);
        let mut threads: Vec<ThreadId> = unnoted.map(|found| found.listed.thread).collect();
        threads.sort();
        Ok(threads)
    }

    /// Takes away what is left of deleted threads, and of those that were never begun.
    pub(super) fn cleared(&self) -> Result<(), StoreError> {
        let _gate = self.gate(false)?;
        for folder in self.folders(|name| name.starts_with(".gone-"))? {
            std::fs::remove_dir_all(&folder).map_err(|error| io(&folder, "cannot be taken away", &error))?;
        }
        for folder in self.folders(|name| !place::is_passing(name))? {
            if place::turns(&folder)? == 0 && Noted::last(&folder)?.is_none() && !is_held(&folder)? {
                self.take_away(&folder)?;
            }
        }
        Ok(())
    }

    /// What is damaged, a line each.
    pub(super) fn checked(&self) -> Result<Vec<String>, StoreError> {
        let mut lines = Vec::new();
        for folder in self.folders(|name| !place::is_passing(name))? {
            let looked = self.look(&folder).map(|problems| lines.extend(problems));
            match looked {
                Err(StoreError::Journal(error)) if error.kind() != JournalErrorKind::Io => {
                    lines.push(error.to_string());
                }
                looked => looked?,
            }
        }
        Ok(lines)
    }

    fn look(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        let turns = place::turns(folder)?;
        lost(folder, turns)?;
        let Some(header) = place::header(folder)? else {
            let lost = format!("{}: the first of {turns} turns is lost", folder.display());
            return Ok(if turns == 0 { Vec::new() } else { vec![lost] });
        };
        let named = header.thread.parse::<ThreadId>().ok();
        let Some(thread) = named.filter(|thread| self.folder(thread) == folder) else {
            return Ok(vec![format!("{}: is not the folder of thread {}", folder.display(), header.thread)]);
        };
        let problem = |turn| self.records(&thread, turn).err().map(|error| error.to_string());
        Ok((0..turns).filter_map(problem).collect())
    }

    fn folders(&self, is_asked_for: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, JournalError> {
        let fail = |error: std::io::Error| io(&self.root, "cannot be read", &error);
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(&self.root).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            // A file that stands here is somebody's, and no thread.
            if entry.file_type().map_err(fail)?.is_dir() && is_asked_for(&entry.file_name().to_string_lossy())
            {
                folders.push(entry.path());
            }
        }
        folders.sort();
        Ok(folders)
    }

    fn found(&self) -> Result<Vec<Found>, JournalError> {
        let _gate = self.gate(true)?;
        let mut all = Vec::new();
        for folder in self.folders(|name| !place::is_passing(name))? {
            all.extend(match found(&folder) {
                // One thread that does not read is no reason to list none.
                Err(error) if error.kind() != JournalErrorKind::Io => Some(damaged(&folder, &error)),
                found => found?,
            });
        }
        Ok(all)
    }
}

/// A thread of which nothing reads but, perhaps, what was noted of it.
fn damaged(folder: &Path, error: &JournalError) -> Found {
    let problem = error.to_string();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let noted = Noted::last(folder).ok().flatten();
    let thread = noted.as_ref().map(|noted| noted.thread.clone()).or_else(|| name.parse().ok());
    let thread = thread.unwrap_or_else(|| "damaged".parse().expect("a name"));
    let (title, turns) = noted.map(|noted| (noted.title, noted.turns)).unwrap_or_default();
    let standing = RunStatus::Damaged { problem };
    let listed = Listed { thread, title, turns, created: 0, updated: 0, running: false, standing };
    Found { listed, noted: true }
}

/// What a folder says of its thread; nothing, where none was begun.
fn found(folder: &Path) -> Result<Option<Found>, JournalError> {
    let turns = place::turns(folder)?;
    lost(folder, turns)?;
    let Some(last) = turns.checked_sub(1) else { return Ok(None) };
    let noted = Noted::read(folder, turns)?;
    let is_noted = noted.is_some();
    let (thread, title, standing) = match noted {
        Some(noted) => (noted.thread, noted.title, noted.standing),
        None => {
            let damaged = |problem: &str| JournalError::named(folder.display().to_string(), problem);
            let header = place::header(folder)?.ok_or_else(|| damaged("its first turn is lost"))?;
            let thread = header.thread.parse().map_err(|problem: String| damaged(&problem))?;
            (thread, make_title(&header.input.question), RunStatus::Unfinished)
        }
    };
    let (first, last) = (place::turn(folder, 0), place::turn(folder, last));
    let first = std::fs::metadata(&first).map_err(|error| io(&first, "cannot be read", &error))?;
    let last = std::fs::metadata(&last).map_err(|error| io(&last, "cannot be read", &error))?;
    let created = first.created().or_else(|_| first.modified()).map_or(0, since);
    let updated = last.modified().map_or(created, since);
    let running = is_held(folder)?;
    let listed = Listed { thread, title, turns, created, updated, running, standing };
    Ok(Some(Found { listed, noted: is_noted }))
}

/// That turns which were noted are there no more.
pub(super) fn lost(folder: &Path, turns: u32) -> Result<(), JournalError> {
    match Noted::last(folder)?.map(|noted| noted.turns) {
        Some(noted) if noted > turns => {
            let problem = format!("expected {noted} turns, found {turns}");
            Err(JournalError::named(folder.display().to_string(), problem))
        }
        _ => Ok(()),
    }
}

/// Whether somebody has the thread of a folder. Whoever looks has the gate.
fn is_held(folder: &Path) -> Result<bool, JournalError> {
    let path = folder.join("lock");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io(&path, "cannot be looked at", &error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(io(&path, "cannot be looked at", &error)),
    }
}

fn since(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
