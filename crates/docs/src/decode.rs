//! From the bytes of a file to text.

/// The text of UTF-8 or, with a byte order mark, UTF-16; and whether all of it could be decoded.
pub(crate) fn decode(bytes: &[u8]) -> (String, bool) {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        match String::from_utf16(&units) {
            Ok(text) => (text, true),
            Err(_) => (String::from_utf16_lossy(&units), false),
        }
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => match str::from_utf8(rest) {
            Ok(text) => (text.to_owned(), true),
            Err(_) => (String::from_utf8_lossy(rest).into_owned(), false),
        },
    }
}
