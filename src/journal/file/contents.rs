//! What the bytes of a journal file mean: which are records, which an incomplete end, and which damage.

use crate::journal::seal::{self, Seal};
use crate::journal::{JournalError, Record, check_format};

/// What a file holds.
pub(super) struct Contents {
    pub records: Vec<Record>,
    /// The seal of the last record.
    pub seal: Seal,
    /// Where the last whole line ends.
    pub end: u64,
    /// How many bytes there are, with the incomplete end.
    pub size: u64,
    /// Whether the last line lacks nothing but its line break.
    pub unended: bool,
}

/// Reads the lines of a file.
///
/// # Errors
/// Names the line that does not read.
pub(super) fn parse(bytes: &[u8]) -> Result<Contents, JournalError> {
    let (records, seal, size) = (Vec::new(), Seal::new(), bytes.len() as u64);
    let mut contents = Contents { records, seal, end: 0, size, unended: false };
    // JSON has no zero bytes: at the end they are space that was reserved and never written.
    let written = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    for (at, line) in bytes[..written].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let whole = line.strip_suffix(b"\n");
        let text = whole.unwrap_or(line);
        // A spoilt line break at the end spoils no record.
        let cut = || text.split_last().filter(|_| whole.is_none()).map(|(_, text)| text);
        let unsealed_text = unseal(contents.seal, text);
        let Some((text, seal)) = unsealed_text.or_else(|| unseal(contents.seal, cut()?)) else {
            match whole {
                None if is_torn(text, at) => break,
                _ => return Err(unsealed(at, text)),
            }
        };
        if at == 0 {
            seal::header_format(text).map_or(Ok(()), check_format)?;
        }
        let damaged = |problem: String| JournalError::damaged(format!("line {}", at + 1), problem);
        contents.records.push(seal::decode(text).map_err(damaged)?);
        contents.seal = seal;
        contents.unended = whole.is_none();
        contents.end += (Seal::WIDTH + 1 + text.len() + usize::from(whole.is_some())) as u64;
    }
    Ok(contents)
}

/// The record's text and the seal after it, if the line begins with that seal.
fn unseal(before: Seal, line: &[u8]) -> Option<(&[u8], Seal)> {
    let (written, rest) = line.split_at_checked(Seal::WIDTH)?;
    let text = rest.strip_prefix(b" ")?;
    let seal = before.with(text);
    (seal.to_string().as_bytes() == written).then_some((text, seal))
}

/// Whether a last line can be the beginning of one whose writer was stopped. A line whose record reads whole
/// is not.
fn is_torn(line: &[u8], at: usize) -> bool {
    let (seal, rest) = line.split_at(line.len().min(Seal::WIDTH));
    let begun = match at {
        0 => b" {\"header\":{".as_slice(),
        _ => b" {\"".as_slice(),
    };
    let common = rest.len().min(begun.len());
    let reads_whole = || serde_json::from_slice::<serde_json::Value>(&rest[1..]).is_ok();
    seal.iter().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte))
        && rest[..common] == begun[..common]
        && !rest.contains(&0)
        && !(rest.len() > begun.len() && reads_whole())
}

/// Whether a file holds no whole record yet: nothing, or the beginning of a journal's first line.
pub(super) fn is_torn_header(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n') && parse(bytes).is_ok_and(|contents| contents.records.is_empty())
}

/// What is said of a line whose seal does not fit. Another version's first line is named by its format.
fn unsealed(at: usize, line: &[u8]) -> JournalError {
    let sealed = line.get(Seal::WIDTH + 1..).and_then(seal::header_format);
    let format = sealed.or_else(|| seal::header_format(line)).filter(|_| at == 0);
    if let Some(Err(error)) = format.map(check_format) {
        return error;
    }
    let mut problem =
        "the seal does not fit: this line, or one before it, is not as it was written".to_owned();
    if at > 0 {
        problem.push_str(&format!("; `head -n {at} FILE > NEW` keeps the {at} lines before it"));
    }
    JournalError::damaged(format!("line {}", at + 1), problem)
}
