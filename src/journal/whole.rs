//! Files that are there whole or not at all: written beside their place, and moved there.

use std::io::Write;
use std::path::Path;

use super::JournalError;
use super::system::random_id;

/// Writes a file, whole or not at all, in the place of one that may be there. Missing folders are made.
///
/// # Errors
/// If the file cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), JournalError> {
    write_aside(path, |aside| {
        let mut file = std::fs::File::create(aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(aside, path)
    })
}

/// Checks that a file could be written there.
///
/// # Errors
/// If it could not.
pub fn check_writable(path: &Path) -> Result<(), JournalError> {
    if path.exists() && !path.is_file() {
        let problem = std::io::Error::other("there is something that is not a file");
        return Err(JournalError::io(path.display(), "cannot be written", &problem));
    }
    write_aside(path, |aside| std::fs::File::create(aside).and_then(|_| std::fs::remove_file(aside)))
}

/// Has a file written beside the target, under a name of its own: two writers do not write into one file.
fn write_aside(path: &Path, write: impl Fn(&Path) -> std::io::Result<()>) -> Result<(), JournalError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{:016x}.tmp", random_id()));
    let folder = path.parent().unwrap_or(Path::new(""));
    let written = std::fs::create_dir_all(folder).and_then(|()| write(aside.as_ref()));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&aside);
        JournalError::io(path.display(), "cannot be written", &error)
    })
}
