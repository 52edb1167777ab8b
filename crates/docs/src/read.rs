//! From a file to its text.

use std::fs::File;
use std::io::{Read, Result};
use std::path::Path;

/// The text of a file (UTF-8, UTF-16 by its mark, or what looks like Latin-1) and whether all was decoded; `None` if
/// it is larger.
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
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => match str::from_utf8(rest) {
            Ok(text) => (text.to_owned(), true),
            Err(_) if looks_like_latin_1(rest) => {
                (rest.iter().map(|&byte| from_latin_1(byte)).collect(), true)
            }
            Err(_) => (String::from_utf8_lossy(rest).into_owned(), false),
        },
    };
    Ok((bytes.len() as u64 <= max_bytes).then_some(text))
}

/// Whether letters beyond ASCII stand alone between others, as in French or German. Those of broken UTF-8 and of
/// Korean, Chinese or Japanese encodings stand in longer rows.
fn looks_like_latin_1(bytes: &[u8]) -> bool {
    let mut rows = bytes.split(u8::is_ascii).map(<[u8]>::len).filter(|&row| row > 0);
    let (mut alone, mut all) = (0, 0);
    let is_short = rows.all(|row| {
        (alone, all) = (alone + usize::from(row == 1), all + 1);
        row <= 3
    });
    is_short && alone * 2 > all && !bytes.contains(&0)
}

/// A character of Latin-1, with the quotes and dashes that Windows puts where that has none.
fn from_latin_1(byte: u8) -> char {
    match byte {
        0x80 => '€',
        0x85 => '…',
        0x91 | 0x92 => '\'',
        0x93 | 0x94 => '"',
        0x96 => '–',
        0x97 => '—',
        byte => char::from(byte),
    }
}
