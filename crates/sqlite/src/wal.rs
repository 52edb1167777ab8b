//! The write-ahead log, before SQLite reads it. SQLite takes the first frame that does not fit its
//! checksum for the end of what was written, as it is after a crash; where it is damage, all that was
//! committed from there on would be lost without a word.
//!
//! The format is SQLite's, which promises to keep it: a header of 32 bytes, then frames of 24 bytes and a
//! page each. Checksums go on from frame to frame. A log that was moved into the database is begun anew
//! over its old frames, and ends with its first commit then (`journal_size_limit`).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::beside;
use planwright::journal::JournalError;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// What stands in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// Nothing.
    Empty,
    /// Commits, and nothing else.
    Whole,
    /// Behind the commits, what a writer that was stopped had begun. It is as if it had never been.
    Torn,
}

/// What is known of who used a log last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Somebody has the database open: SQLite goes by their account of the log, which names the frames that
    /// count, and whatever else stands there is nobody's.
    pub in_use: bool,
    /// The computer was stopped under who wrote it last, and not only they.
    pub computer_stopped: bool,
    /// How many frames were committed, by the account that processes leave which are killed.
    pub committed: Option<Committed>,
}

/// Looks at the log of a database.
///
/// # Errors
/// Where it is damaged; names the frame.
pub(super) fn look(database: &Path, known: impl Fn() -> Known) -> Result<Log, JournalError> {
    let path = beside(database, "-wal");
    let mut before = None;
    for _ in 0..50 {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Log::Empty),
            Err(error) => return Err(JournalError::io("the write-ahead log", "cannot be read", &error)),
        };
        let known = known();
        match read(&bytes, known) {
            Ok(log) => return Ok(log),
            Err(_) if known.in_use => return Ok(Log::Torn),
            Err(problem) if before.as_ref() == Some(&bytes) => {
                return Err(JournalError::named("the write-ahead log", problem));
            }
            // What was read may be half of the one and half of the other, where somebody writes.
            Err(_) => {
                if before.is_some() {
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
                before = Some(bytes);
            }
        }
    }
    // It changes all the time: somebody uses it.
    Ok(Log::Torn)
}

fn read(log: &[u8], known: Known) -> Result<Log, String> {
    let Some((header, frames)) = log.split_at_checked(HEADER) else {
        return Ok(if log.is_empty() { Log::Empty } else { Log::Torn });
    };
    let page = number(header, 8) as usize;
    let mut sums = Sums { big: number(header, 0) & 1 == 1, sums: (0, 0) }.with(&header[..24]);
    let sound = number(header, 0) & !1 == 0x377f_0682
        && page.is_power_of_two()
        && (512..=65_536).contains(&page)
        && sums.sums == (number(header, 24), number(header, 28));
    if !sound {
        // A log that was begun and holds no whole frame holds nothing.
        let some = frames.len() > FRAME + 512 && frames.iter().any(|byte| *byte != 0);
        let lost = "its header is damaged, and what was written ahead cannot be read";
        return if some { Err(lost.to_owned()) } else { Ok(Log::Torn) };
    }
    let (mut commits, mut is_open) = (0, false);
    let mut all = frames.chunks_exact(FRAME + page).enumerate();
    let rest = all.len() * (FRAME + page) < frames.len();
    while let Some((at, frame)) = all.next() {
        let next = sums.with(&frame[..8]).with(&frame[FRAME..]);
        let is_summed = next.sums == (number(frame, 16), number(frame, 20));
        let whose = Whose::frame(frame, header);
        if is_summed && whose.is_ours() {
            (sums, is_open) = (next, whose != Whose::Commit);
            commits += usize::from(!is_open);
            continue;
        }
        // The sums do not cover what says whose it is.
        let first = if is_summed { Whose::Nobodys } else { whose };
        let behind: Vec<Whose> = all.map(|(_, frame)| Whose::frame(frame, header)).collect();
        // What was not committed was not confirmed, and nothing was done on its word.
        let committed = known.committed.filter(|committed| committed.log[..] == header[16..24]);
        if committed.is_some_and(|committed| at >= committed.frames) {
            return Ok(Log::Torn);
        }
        let problem = damage(first, &behind, commits, known.computer_stopped);
        let Some(problem) = problem else { return Ok(Log::Torn) };
        let cut = HEADER + at * (FRAME + page);
        return Err(format!(
            "frame {} is damaged, {problem}; cut to {cut} bytes, it holds what was written before",
            at + 1
        ));
    }
    Ok(if is_open || rest { Log::Torn } else { Log::Whole })
}

/// Why a frame that does not fit is none of what a writer that was stopped leaves behind: a last frame
/// that breaks off, or a first commit, unconfirmed, over some of an older log. A whole last frame may be a
/// commit that was confirmed, and what was done on its word must not be done again. Where the computer was
/// stopped, and not the writer alone, what of the last commit had not reached the disk may be anything.
fn damage(first: Whose, behind: &[Whose], commits: usize, computer_stopped: bool) -> Option<String> {
    let lost = behind.iter().filter(|whose| **whose == Whose::Commit).count();
    // Its frames reach the disk in any order, that of its end perhaps first.
    if computer_stopped && lost + usize::from(first == Whose::Commit) <= 1 {
        return None;
    }
    if lost > 0 {
        return Some(format!("and {lost} commits stand behind it"));
    }
    if first == Whose::Nobodys || behind.contains(&Whose::Nobodys) {
        return Some("and nobody wrote what stands there".to_owned());
    }
    let over_older = commits == 0 && behind.contains(&Whose::Older);
    let torn = first == Whose::Older || over_older;
    (!torn).then(|| "and no writer that was stopped leaves it so".to_owned())
}

/// How much of a log was committed, as SQLite's account of it says (`-shm`). It is not of what was there before
/// a loss of power.
#[derive(Clone, Copy, Debug)]
pub(super) struct Committed {
    frames: usize,
    /// The salts of the log that it is of.
    log: [u8; 8],
}

/// Reads SQLite's account of a log. It is in the computer's own order of bytes, and stands there twice: where
/// the two differ, it was being changed.
pub(super) fn committed(database: &Path) -> Option<Committed> {
    const LEN: usize = 48;
    let mut account = [0; 2 * LEN];
    File::open(beside(database, "-shm")).and_then(|mut file| file.read_exact(&mut account)).ok()?;
    let (one, two) = account.split_at(LEN);
    let sums = Sums { big: cfg!(target_endian = "big"), sums: (0, 0) }.with(&one[..40]);
    let at = |at: usize| one.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let sound = one == two && one[12] == 1 && (at(40)?, at(44)?) == sums.sums;
    let frames = usize::try_from(at(16)?).ok()?;
    sound.then_some(Committed { frames, log: one[32..40].try_into().ok()? })
}

/// Of which log a frame says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// This one's.
    Ours,
    /// This one's, and the last of a transaction.
    Commit,
    /// One's that this one is written over.
    Older,
    Nobodys,
}

impl Whose {
    fn frame(frame: &[u8], header: &[u8]) -> Self {
        // The first salt counts the logs.
        let older = number(header, 16).wrapping_sub(number(frame, 8));
        match (number(frame, 0), number(frame, 4)) {
            (0, _) => Whose::Nobodys,
            (_, 0) if frame[8..16] == header[16..24] => Whose::Ours,
            (_, _) if frame[8..16] == header[16..24] => Whose::Commit,
            _ if (1..=number(header, 12)).contains(&older) => Whose::Older,
            _ => Whose::Nobodys,
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Whose::Ours | Whose::Commit)
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    bytes.map_or(0, u32::from_be_bytes)
}

/// SQLite's running checksum.
#[derive(Clone, Copy)]
struct Sums {
    big: bool,
    sums: (u32, u32),
}

impl Sums {
    fn with(self, bytes: &[u8]) -> Self {
        let (mut one, mut two) = self.sums;
        for &[a, b, c, d, e, f, g, h] in bytes.as_chunks().0 {
            let pair = [[a, b, c, d], [e, f, g, h]];
            let [first, second] = pair.map(if self.big { u32::from_be_bytes } else { u32::from_le_bytes });
            one = one.wrapping_add(first).wrapping_add(two);
            two = two.wrapping_add(second).wrapping_add(one);
        }
        Sums { sums: (one, two), ..self }
    }
}
