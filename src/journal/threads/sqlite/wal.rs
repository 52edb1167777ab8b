//! The write-ahead log, before SQLite reads it. SQLite takes the first frame that does not fit its
//! checksum for the end of what was written, as it is after a crash; where it is damage, all that was
//! committed behind it would be lost without a word.
//!
//! The format is SQLite's, which promises to keep it: a header of 32 bytes, then frames of 24 bytes and a
//! page each. Checksums go on from frame to frame.

use std::path::{Path, PathBuf};

use crate::journal::JournalError;

const HEADER: usize = 32;
const FRAME: usize = 24;

/// Refuses a log that is damaged before its end.
pub(super) fn whole(database: &Path) -> Result<(), JournalError> {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    let path = PathBuf::from(path);
    let mut tries = 0;
    loop {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(JournalError::io("the write-ahead log", "cannot be read", &error)),
        };
        match damage(&bytes) {
            None => return Ok(()),
            // Somebody may be writing just now, and what was read is half of the one and half of the other.
            Some(_) if tries < 5 => std::thread::sleep(std::time::Duration::from_millis(20)),
            Some(problem) => return Err(JournalError::named("the write-ahead log", problem)),
        }
        tries += 1;
    }
}

/// What is damaged in a log. A last transaction that does not fit is none of it: its writer was stopped.
fn damage(log: &[u8]) -> Option<String> {
    let (header, frames) = log.split_at_checked(HEADER)?;
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map_or(0, u32::from_be_bytes)
    };
    let page = number(header, 8) as usize;
    let sums = Sums { big: number(header, 0) & 1 == 1, sums: (0, 0) }.with(&header[..24]);
    let sound = number(header, 0) & !1 == 0x377f_0682
        && page.is_power_of_two()
        && (512..=65_536).contains(&page)
        && sums.sums == (number(header, 24), number(header, 28));
    if !sound {
        // A log that was begun and holds no whole frame holds nothing.
        let some = frames.len() > FRAME + 512 && frames.iter().any(|byte| *byte != 0);
        return some.then(|| "its header is damaged, and what was written ahead cannot be read".to_owned());
    }
    let salt = &header[16..24];
    let (mut sums, mut broken, mut commits, mut zeros) = (sums, None, 0, false);
    // Whether what is whole ends with a transaction, and what stands behind it as far as it hangs together.
    let (mut ended, mut behind, mut most) = (true, Behind::default(), 0);
    for (at, frame) in frames.chunks_exact(FRAME + page).enumerate() {
        let next = sums.with(&frame[..8]).with(&frame[FRAME..]);
        // The salt says of which log a frame is, as long as it is not what was damaged.
        let (salted, summed) = (&frame[8..16] == salt, next.sums == (number(frame, 16), number(frame, 20)));
        if broken.is_none() && salted && summed {
            (sums, ended) = (next, number(frame, 4) != 0);
            continue;
        }
        // SQLite writes no such frame, and what an older log left behind is none either.
        zeros |= frame[..FRAME].iter().all(|byte| *byte == 0);
        let is_ours = salted || (broken.is_none() && summed);
        let stored = Sums { sums: (number(frame, 16), number(frame, 20)), ..sums };
        behind = behind.with(frame, stored, broken.is_none().then_some(next));
        broken = broken.or(Some(at));
        if is_ours && number(frame, 4) != 0 {
            (commits, behind.commits) = (commits + 1, behind.commits + 1);
        }
        most = most.max(behind.commits);
    }
    // One commit: that of the last transaction, whose frames did not all reach the disk. Two: the first of
    // them was whole once, for only then was the second begun. Unless they do not hang together, and stand
    // behind a whole transaction: then each may be of one that failed, and that was written over in part.
    let is_damage = if ended { most > 1 } else { commits > 1 };
    let broken = broken.filter(|_| is_damage || zeros)?;
    let cut = HEADER + broken * (FRAME + page);
    let said = if zeros { "zeros".to_owned() } else { format!("{commits} commits") };
    Some(format!(
        "frame {} is damaged, and {said} stand behind it; cut to {cut} bytes, it holds what was written \
         before",
        broken + 1
    ))
}

/// Frames behind one that does not fit, each of which fits the one before it.
#[derive(Default)]
struct Behind {
    commits: usize,
    /// The checksums that the next may go on from: the one that stands in the last frame, and the one that
    /// should, of which either may be what was damaged.
    from: Vec<Sums>,
}

impl Behind {
    /// With one more frame, or begun anew with it. The first of all is known for what it should be.
    fn with(self, frame: &[u8], stored: Sums, should: Option<Sums>) -> Self {
        let mut found = self.from.iter().map(|from| from.with(&frame[..8]).with(&frame[FRAME..]));
        if found.any(|sums| sums.sums == stored.sums) {
            return Behind { from: vec![stored], ..self };
        }
        Behind { commits: 0, from: [Some(stored), should].into_iter().flatten().collect() }
    }
}

/// SQLite's running checksum.
#[derive(Clone, Copy)]
struct Sums {
    big: bool,
    sums: (u32, u32),
}

impl Sums {
    fn with(self, bytes: &[u8]) -> Self {
        let number = |bytes: &[u8]| {
            let bytes = <[u8; 4]>::try_from(bytes).unwrap_or_default();
            if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let (mut one, mut two) = self.sums;
        for pair in bytes.chunks_exact(8) {
            one = one.wrapping_add(number(&pair[..4])).wrapping_add(two);
            two = two.wrapping_add(number(&pair[4..])).wrapping_add(one);
        }
        Sums { sums: (one, two), ..self }
    }
}
