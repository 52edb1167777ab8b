//! What stores need of the system: files for their owner alone, the time, and random numbers.

use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Options that create a file which only its owner can read, on systems with file modes. A file that exists
/// keeps its mode.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder that only its owner can enter, and its missing parents.
///
/// # Errors
/// Those of the system.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes the name of a file in its folder durable, where the system can.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}

/// Milliseconds since 1970 by the system's clock.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A random number for names and ids. It is not cryptographically random.
pub fn random_id() -> u64 {
    // The standard library seeds its hash keys from the system: no further crate is needed.
    RandomState::new().build_hasher().finish()
}
