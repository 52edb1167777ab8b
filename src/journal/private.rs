//! Files and folders for their owner alone: what people and models say to one another is nobody else's.
//! Where the system knows no such thing they are as it makes them, and what is there already keeps the mode
//! that somebody gave it.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Options to open a file that, where it is made, is its owner's alone.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder, and those on the way to it, where there are none.
pub fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Writes a file anew, in the place of what was there.
pub fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut options().write(true).create(true).truncate(true).open(path)?, text)
}
