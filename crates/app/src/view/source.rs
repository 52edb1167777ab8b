//! A run that somebody names: a journal file, a fixture, or a turn of a thread.

use std::path::Path;

use super::RunView;
use super::fixture::{records_of_fixture, view_of_fixture};
use crate::error::{Error, Result};
use crate::known_keys;
use crate::pending::RunLocation;
use crate::store::{StorePlace, StoredThread};
use crate::turn::make_fixture_of;
use planwright::journal::{FileJournal, Fixture, Record};

/// What a file holds a run as.
pub enum RunFile {
    /// A journal.
    Journal(Vec<Record>),
    /// A fixture.
    Fixture(Box<Fixture>),
}

impl RunFile {
    /// Reads a journal or a fixture.
    ///
    /// # Errors
    /// Where the file cannot be read, or is neither.
    pub fn load(path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let bytes =
            std::fs::read(path).map_err(|error| Error::caused(format!("{place}: cannot be read"), error))?;
        let file = if is_journal(&bytes) {
            FileJournal::parse(&bytes).map(RunFile::Journal).map_err(|error| error.to_string())
        } else {
            let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned());
            text.and_then(|text| Fixture::parse(&text)).map(|fixture| RunFile::Fixture(Box::new(fixture)))
        };
        let hint = "expected a fixture (`run --record`) or a journal (`run --journal`)";
        file.map_err(|problem| Error::at(place)(problem).hint(hint))
    }

    /// The view of the run.
    fn view(self, path: &Path) -> Result<RunView> {
        let view = match self {
            RunFile::Journal(records) => {
                RunView::of(records, None, RunLocation::in_journal(path, None), false)
            }
            RunFile::Fixture(fixture) => view_of_fixture(&fixture).and_then(|(view, misfit)| match misfit {
                None => Ok(view),
                Some(misfit) => Err(misfit),
            }),
        };
        view.map_err(Error::at(path.display()))
    }
}

/// Whether a file's first line begins with its seal, or, where another version wrote it, with a header.
fn is_journal(bytes: &[u8]) -> bool {
    let seal = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    bytes.starts_with(b"{\"header\"") || seal == 32 || seal == bytes.len()
}

/// A thread and one of its turns, from 1, as `THREAD:TURN`; the last turn where none is named.
pub fn split_turn(text: &str) -> (&str, Option<u32>) {
    let named = text.rsplit_once(':').and_then(|(thread, turn)| Some((thread, turn.parse().ok()?)));
    named.map_or((text, None), |(thread, turn)| (thread, Some(turn)))
}

/// The turn of a thread that somebody names `THREAD:TURN`.
///
/// # Errors
/// Where there is no such thread, or its name is none.
pub fn find_turn(text: &str, place: &StorePlace) -> Result<(StoredThread, u32)> {
    let (thread, turn) = split_turn(text);
    if turn == Some(0) {
        return Err(Error::unusable(format!("{text}: turns are counted from 1")));
    }
    let thread = thread.parse().map_err(Error::at(text))?;
    let stored = place.thread(&thread)?;
    let turns = stored.threads.store().turns(&thread)?;
    Ok((stored, turn.unwrap_or(turns)))
}

/// A run that somebody names.
enum NamedRun {
    File(RunFile),
    Turn(StoredThread, u32),
}

impl NamedRun {
    /// Finds a file where there is one of this name, else a turn of a thread. What looks like a path and is neither is
    /// missed as a file.
    fn find(text: &str, place: &StorePlace) -> Result<Self> {
        let path = Path::new(text);
        let is_path = text.contains(['/', std::path::MAIN_SEPARATOR]) || text.ends_with(".json");
        if path.is_file() {
            return RunFile::load(path).map(NamedRun::File);
        }
        match find_turn(text, place) {
            Err(_) if is_path || text.ends_with(".jsonl") => RunFile::load(path).map(NamedRun::File),
            found => found.map(|(stored, turn)| NamedRun::Turn(stored, turn)),
        }
    }
}

impl RunView {
    /// Loads the view of a run: of a file where there is one of this name, else of a turn of a thread.
    ///
    /// # Errors
    /// Where there is neither, or it does not read.
    pub fn find(text: &str, place: &StorePlace) -> Result<Self> {
        match NamedRun::find(text, place)? {
            NamedRun::File(file) => file.view(Path::new(text)),
            NamedRun::Turn(stored, turn) => Ok(RunView::load(&stored, turn, None)?),
        }
    }
}

/// Loads the records of a run, which is named as for [`RunView::find`]. Those of a fixture are without times.
///
/// # Errors
/// Where there is none, or it does not read.
pub fn find_records(text: &str, place: &StorePlace) -> Result<Vec<Record>> {
    match NamedRun::find(text, place)? {
        NamedRun::File(RunFile::Journal(records)) => Ok(records),
        NamedRun::File(RunFile::Fixture(fixture)) => records_of_fixture(&fixture).map_err(Error::at(text)),
        NamedRun::Turn(stored, turn) => Ok(stored.records(Some(turn))?.1),
    }
}

/// Loads a run that can be replayed, which is named as for [`RunView::find`]; and the run as it is shown, where it is
/// no fixture.
///
/// # Errors
/// Where there is none, or it does not read.
pub fn find_recording(text: &str, place: &StorePlace) -> Result<(Fixture, Option<RunView>)> {
    match NamedRun::find(text, place)? {
        NamedRun::File(RunFile::Fixture(fixture)) => Ok((*fixture, None)),
        NamedRun::File(RunFile::Journal(records)) => {
            let fixture = Fixture::of_records(&records, None).map_err(Error::at(text))?;
            Ok((fixture, Some(RunFile::Journal(records).view(Path::new(text))?)))
        }
        NamedRun::Turn(stored, turn) => {
            let fixture = make_fixture_of(&stored, Some(turn), known_keys())?;
            Ok((fixture, Some(RunView::load(&stored, turn, None)?)))
        }
    }
}
