//! What the bytes of a journal file mean, and which of them are damage.

use crate::journal::seal::{self, Seal};
use crate::journal::{JOURNAL_FORMAT, JournalError, Record};

/// What a file holds.
pub(super) struct Contents {
    pub records: Vec<Record>,
    pub seal: Seal,
    pub end: u64,
    pub size: u64,
    pub unended: bool,
}

/// Reads the lines of a file.
///
/// # Errors
/// Names the line that does not read.
pub(super) fn contents(bytes: &[u8]) -> Result<Contents, JournalError> {
    let (records, seal, size) = (Vec::new(), Seal::new(), bytes.len() as u64);
    let mut contents = Contents { records, seal, end: 0, size, unended: false };
    for (at, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let damaged = |problem: String| JournalError::named(format!("line {}", at + 1), problem);
        let whole = line.strip_suffix(b"\n");
        // A last line without its end may be all there but for that.
        let text = whole.unwrap_or(line);
        let sealed = sealed(contents.seal, text).or_else(|| match whole {
            Some(_) => None,
            None => sealed(contents.seal, &text[..text.len().saturating_sub(1)]),
        });
        let Some((text, seal)) = sealed else {
            match (whole, at) {
                (None, _) if is_torn(text, at) => break,
                (_, 0) => return Err(foreign(text).unwrap_or_else(|| damaged(UNSEALED.to_owned()))),
                _ => return Err(damaged(UNSEALED.to_owned())),
            }
        };
        if at == 0
            && let Some(other) = seal::header_format(text).filter(|format| *format != JOURNAL_FORMAT)
        {
            return Err(JournalError::format(other));
        }
        contents.records.push(seal::decode(text).map_err(damaged)?);
        contents.seal = seal;
        contents.unended = whole.is_none();
        contents.end += (Seal::WIDTH + 1 + text.len() + usize::from(whole.is_some())) as u64;
    }
    Ok(contents)
}

const UNSEALED: &str = "the seal does not fit: this line, or one before it, is not as it was written";

/// The record's text and the seal after it, where the line's own seal is that one.
fn sealed(before: Seal, line: &[u8]) -> Option<(&[u8], Seal)> {
    let (written, rest) = line.split_at_checked(Seal::WIDTH)?;
    let text = rest.strip_prefix(b" ")?;
    let seal = before.with(text);
    (seal.to_string().as_bytes() == written).then_some((text, seal))
}

/// Whether a last line can be the beginning of one whose writer was stopped. A block of zeros, or a line
/// whose record reads whole, is damage.
fn is_torn(line: &[u8], at: usize) -> bool {
    let (seal, rest) = line.split_at(line.len().min(Seal::WIDTH));
    let begun = match at {
        0 => b" {\"header\":{".as_slice(),
        _ => b" {\"".as_slice(),
    };
    let common = rest.len().min(begun.len());
    let whole = || serde_json::from_slice::<serde_json::Value>(&rest[1..]).is_ok();
    seal.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && rest[..common] == begun[..common]
        && !rest.contains(&0)
        && !(rest.len() > begun.len() && whole())
}

/// What is said of a first line that another version has written: sealed or not, whatever the seal.
fn foreign(line: &[u8]) -> Option<JournalError> {
    let sealed = line.get(Seal::WIDTH + 1..).and_then(seal::header_format);
    sealed
        .or_else(|| seal::header_format(line))
        .filter(|format| *format != JOURNAL_FORMAT)
        .map(JournalError::format)
}

/// Whether a file holds the beginning of a journal's first line and no more: nothing of anybody's.
pub(super) fn is_torn_header(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n') && is_torn(bytes, 0) && sealed(Seal::new(), bytes).is_none()
}
