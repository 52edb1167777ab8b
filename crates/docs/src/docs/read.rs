//! Reads one file of a folder as text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::decode::decode;

/// Largest document, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 2 << 20;

/// The text of a file; what is neither UTF-8 nor marked as UTF-16 is decoded as far as it goes.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("larger than {MAX_FILE_BYTES} bytes"));
    }
    Ok(decode(&bytes).0)
}
