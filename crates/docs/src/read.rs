//! From a file to its text.

use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// The text of a file (UTF-8, or UTF-16 by its mark) and whether all was decoded; `None` if it is larger.
pub(crate) fn read_text(path: &Path, max_bytes: u64) -> Result<Option<(String, bool)>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        (String::from_utf16_lossy(&units), String::from_utf16(&units).is_ok())
    };
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            (String::from_utf8_lossy(rest).into_owned(), str::from_utf8(rest).is_ok())
        }
    };
    Ok((bytes.len() as u64 <= max_bytes).then_some(text))
}
