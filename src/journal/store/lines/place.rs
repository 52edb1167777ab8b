//! Where things are in a folder of threads, and which folder is one.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::journal::store::random_id;
use crate::journal::{Durability, JournalError, JournalErrorKind, Record, ThreadId, disk, file};
use crate::spec::Digest;

/// What the file `=format` says.
const FORMAT: &str = "planwright threads 1\n";

pub(super) fn io(path: &Path, what: &str, error: &std::io::Error) -> JournalError {
    JournalError::io(path.display(), what, error)
}

/// Makes a folder a folder of threads, or sees that it is one.
pub(super) fn open(root: &Path, durability: Durability) -> Result<(), JournalError> {
    let path = root.join("=format");
    let other = |problem: String| {
        Err(JournalError::named(root.display().to_string(), problem).of(JournalErrorKind::Format))
    };
    match std::fs::read_to_string(&path) {
        Ok(format) if format == FORMAT => return Ok(()),
        Ok(found) => {
            return other(format!("expected {:?} in =format, found {:?}", FORMAT.trim(), found.trim()));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return other("expected a folder of threads, found a file".to_owned());
        }
        Err(error) => return Err(io(&path, "cannot be read", &error)),
    }
    // A folder in which something stands is somebody's, but for what an opening that broke off left.
    if holds_other_things(root).map_err(|error| io(root, "cannot be read", &error))? {
        return other("expected a folder of threads, found a folder with other things in it".to_owned());
    }
    make(root, &path, durability).map_err(|error| io(root, "cannot be made", &error))
}

fn holds_other_things(root: &Path) -> std::io::Result<bool> {
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        if !is_passing(&entry?.file_name().to_string_lossy()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes the folder, and says in it what it is once nothing of that can be lost but the saying.
fn make(root: &Path, path: &Path, durability: Durability) -> std::io::Result<()> {
    let full = durability == Durability::Full;
    disk::create_private_folder(root)?;
    if full {
        disk::sync_folder(root)?;
    }
    let new = root.join(format!(".format-{}", random_id()));
    let made = disk::private_options().write(true).create_new(true).open(&new).and_then(|mut file| {
        file.write_all(FORMAT.as_bytes())?;
        if full { file.sync_all() } else { Ok(()) }
    });
    made.and_then(|()| std::fs::rename(&new, path)).inspect_err(|_| drop(std::fs::remove_file(&new)))?;
    if full { disk::sync_folder(path) } else { Ok(()) }
}

/// Whether something in the root is neither a thread nor anybody's.
pub(super) fn is_passing(name: &str) -> bool {
    name.starts_with('.') || name == "=format" || name == "=lock"
}

/// The name of a thread's folder: its own where every file system keeps that, else a digest.
pub(super) fn folder(thread: &ThreadId) -> String {
    let name = thread.as_str();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let stays = name.bytes().all(plain) && !name.starts_with('.') && !name.ends_with('.');
    if stays && !is_device(name) { name.to_owned() } else { format!("={}", Digest::of([name.as_bytes()])) }
}

/// Whether some system takes a name for a device, whatever follows its first dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let numbered = |stem: &str| stem.len() == 4 && stem.ends_with(|last: char| last.is_ascii_digit());
    matches!(stem, "con" | "prn" | "aux" | "nul")
        || ((stem.starts_with("com") || stem.starts_with("lpt")) && numbered(stem))
}

pub(super) fn turn(folder: &Path, turn: u32) -> PathBuf {
    folder.join(format!("{turn:06}.jsonl"))
}

/// What stands in a thread's folder as long as its turns are half of what they are to be.
pub(super) const HALF: &str = "half";

/// How many turns stand in a thread's folder. A last one that holds no whole record was not begun.
pub(super) fn turns(folder: &Path) -> Result<u32, JournalError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(io(folder, "cannot be read", &error)),
    };
    let mut turns = 0;
    for entry in entries {
        let entry = entry.map_err(|error| io(folder, "cannot be read", &error))?;
        let name = entry.file_name();
        if name == HALF {
            return Ok(0);
        }
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        let number = number.and_then(|number| number.parse::<u32>().ok()).unwrap_or(u32::MAX);
        turns = turns.max(number.wrapping_add(1));
    }
    match turns.checked_sub(1) {
        Some(last) if file::is_begun(&turn(folder, last))? => Ok(turns),
        Some(last) => Ok(last),
        None => Ok(0),
    }
}

/// The first record of a thread: what says whose it is.
pub(super) fn header(folder: &Path) -> Result<Option<Box<crate::journal::Header>>, JournalError> {
    let path = turn(folder, 0);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(&path, "cannot be read", &error)),
    };
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line).map_err(|error| io(&path, "cannot be read", &error))?;
    match file::first(&line).map_err(|error| error.within(path.display()))? {
        Some(Record::Header(header)) => Ok(Some(header)),
        Some(_) => Err(JournalError::named(path.display().to_string(), "expected a header in line 1")),
        None => Ok(None),
    }
}
